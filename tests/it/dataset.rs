//! Data of set-up that is made once: real runs by the program.

use std::path::PathBuf;

use runner::lab::dataset::AREA;
use serde_json::Value;

use crate::support::postgres;
use crate::support::runner::{Ran, RunnerCommand};

/// A publisher with rows and a subscriber with its own, cached by a step of SQL; `MARK` makes the data that of one test.
const SPEC: &str = r#"
title = "A test"
[run]
rounds = 2
order = "as_written"
[postgres.settings]
fsync = "off"
autovacuum = "off"
shared_buffers = "16MB"
[nodes.a.settings]
wal_level = "logical"
[nodes.b]
[[setup]]
name = "accounts"
nodes = ["a"]
pgbench_init = { scale = 1 }
[[setup]]
name = "made"
nodes = "all"
cache = true
sql = "CREATE TABLE made AS SELECT 'MARK' AS mark, clock_timestamp() AS at"
[[setup]]
name = "tables"
nodes = ["b"]
cache = true
pgbench_init = { scale = 1, rows = false }
[publications.p]
node = "a"
tables = ["pgbench_accounts"]
[subscriptions.s]
node = "b"
publications = ["p"]
[workloads.w]
node = "a"
transactions = 10
script = "UPDATE pgbench_accounts SET abalance = 1 WHERE aid = 5;"
[[phases]]
name = "load"
run = ["w"]
[[phases]]
name = "drain"
wait = "applied"
"#;

fn run(mark: &str, more: &str) -> Ran {
    RunnerCommand::spec(&(SPEC.replace("MARK", mark) + more)).run()
}

/// A mark that no other run has.
fn mark(of: &str) -> String {
    let now = std::time::UNIX_EPOCH.elapsed().expect("the clock is past 1970");
    format!("{of} {} {}", std::process::id(), now.as_nanos())
}

#[test]
fn data_is_made_in_the_first_turn_and_copied_in_all() {
    let mark = mark("turns");
    let ran = run(&mark, "").ended_with(0);
    assert_eq!(ran.stderr.matches("made once in").count(), 2, "once a node:\n{}", ran.stderr);
    assert!(ran.stdout.contains("data of `a`: made once in"), "{}", ran.stdout);
    let samples = ran.samples();
    assert_eq!(samples.len(), 2);
    for sample in &samples {
        assert_eq!(sample["outcome"], "completed", "{sample:#}");
        let table = &sample["convergence"]["tables"][0];
        assert_eq!(table["published"]["rows"], 100_000);
        assert_eq!(table["published"], table["subscribed"]);
        assert_eq!(sample["nodes"]["a"]["data"], samples[0]["nodes"]["a"]["data"]);
    }
    let again = run(&mark, "").ended_with(0);
    assert!(!again.stderr.contains("made once in"), "{}", again.stderr);
    let other = again.samples();
    assert_eq!(other[0]["nodes"]["b"]["data"], samples[0]["nodes"]["b"]["data"]);
    for node in ["a", "b"] {
        forget(&samples[0]["nodes"][node]["data"]);
    }
}

/// Removes data that no other test will ask for from the user's cache.
#[track_caller]
fn forget(record: &Value) {
    let folders = std::fs::read_dir(postgres::cache().join(AREA)).expect("data was made");
    let own = |folder: &PathBuf| {
        let made = std::fs::read_to_string(folder.join("made.json")).ok();
        made.and_then(|text| serde_json::from_str::<Value>(&text).ok()).is_some_and(|made| made == *record)
    };
    let own = folders.map(|entry| entry.expect("an entry").path()).find(own).expect("it is in the cache");
    std::fs::remove_dir_all(own).expect("it is the user's own");
}

#[test]
fn what_is_larger_than_the_bound_serves_one_run_and_is_not_kept() {
    let mark = mark("bound");
    for _ in 0..2 {
        let spec = SPEC.replace("MARK", &mark);
        let ran = RunnerCommand::spec(&spec).environment("RUNNER_CACHE_MAX", "1MB").run().ended_with(0);
        assert_eq!(ran.stderr.matches("made once in").count(), 2, "once a node and run:\n{}", ran.stderr);
        assert!(ran.stderr.contains("RUNNER_CACHE_MAX"), "{}", ran.stderr);
        assert_eq!(ran.samples().len(), 2);
    }
    let ran = RunnerCommand::spec(SPEC).environment("RUNNER_CACHE_MAX", "a lot").run().ended_with(2);
    assert!(ran.stderr.contains("RUNNER_CACHE_MAX: a lot is no size"), "{}", ran.stderr);
}

#[test]
fn a_step_that_fails_leaves_nothing_in_the_cache() {
    let broken = "[[setup]]\nname = \"broken\"\nnodes = [\"a\"]\ncache = true\nsql = \"SELECT 1/0\"\n";
    let mark = mark("broken");
    for _ in 0..2 {
        let ran = run(&mark, broken);
        assert_ne!(ran.status, 0);
        let reason = ran.samples()[0]["outcome"].to_string();
        assert!(reason.contains("`broken`") && reason.contains("division by zero"), "{reason}");
    }
}
