//! A paired comparison, live: fresh pairs, slices in turn, synchronous names, the verdict, going on, shards.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::Value;

use crate::support::runner::{Ran, RunnerCommand};

/// Two comparisons of slices that take a tenth of a second. The subscriber confirms each commit of the publisher.
const PAIRS: &str = r#"title = "Pairs"
[run]
order = "paired"
[run.paired]
instances = { min = 8, max = 8 }
slices = 2
warm_up = "1ms"
[vars]
rows = 1
clients = 1
[[matrix]]
axes = { rows = [1, 50], clients = [1, 2] }
[compare]
axis = "rows"
of = 50
to = 1
metric = "load.tps"
[postgres.settings]
fsync = "off"
[nodes.p]
synchronous = { first = 1, of = ["subscriptions.feed"] }
settings = { wal_level = "logical" }
[nodes.s]
[[setup]]
name = "schema"
nodes = "all"
sql = "CREATE TABLE t (id int, x text)"
[publications.feed]
node = "p"
tables = ["t"]
[subscriptions.feed]
node = "s"
publications = ["feed"]
options = { synchronous_commit = "local" }
[workloads.w]
node = "p"
clients = "{{ clients }}"
transactions = 30
script = "INSERT INTO t SELECT n, repeat('x', 500) FROM generate_series(1, {{ rows }}) n;"
[[phases]]
name = "load"
run = ["w"]
[[phases]]
name = "drain"
wait = "applied"
[[report.tables]]
title = "TPS"
rows = "rows"
columns = "clients"
value = "load.tps"
verdict = true
[[report.charts]]
title = "TPS by clients"
kind = "bars"
x = "clients"
series = "rows"
value = "load.tps"
"#;

fn runner<'a>(folder: &Path, arguments: impl IntoIterator<Item = &'a str>) -> Ran {
    RunnerCommand::new().within(folder).arguments(arguments).run()
}

/// Measured slices that count, by cell and pair.
fn slices(ran: &Ran) -> BTreeMap<(String, u64), usize> {
    let mut out = BTreeMap::new();
    for sample in ran.samples() {
        let counts = sample["outcome"] == "completed" && sample["slice"]["warm_up"] == false;
        let key = (sample["cell"].as_str().expect("a name").to_owned(), sample["round"].as_u64().expect("a number"));
        *out.entry(key).or_default() += usize::from(counts);
    }
    out
}

#[track_caller]
fn is_whole(ran: &Ran) {
    let slices = slices(ran);
    assert_eq!(slices.len(), 4 * 8, "{slices:?}");
    assert!(slices.values().all(|count| *count == 2), "{slices:?}");
}

#[test]
fn pairs_give_a_verdict_and_what_is_not_whole_is_run_again() {
    let folder = RunnerCommand::new().file("spec.toml", PAIRS).into_folder();
    let ran = runner(folder.path(), ["spec.toml", "--out", "all"]).ended_with(0);
    let out = folder.path().join("all");
    let ran = Ran { out: out.clone(), ..ran };
    is_whole(&ran);
    // Fifty rows of 500 bytes that are confirmed take longer than one.
    let rows = ran.report()["comparison"]["rows"].as_array().expect("rows").clone();
    assert_eq!(rows.iter().map(|row| row["n"].as_u64()).collect::<Vec<_>>(), [Some(8), Some(8)]);
    for row in &rows {
        assert!(row["ratio"].as_f64().is_some_and(|ratio| ratio < 0.9), "{row}");
        assert!(row["verdict"] == "worse" || row["verdict"] == Value::Null, "{row}");
    }
    assert!(out.join("charts/tps-by-clients.svg").is_file() && out.join("report.txt").is_file());
    let converged = |sample: &Value| sample["convergence"]["tables"].as_array().is_some_and(|all| !all.is_empty());
    assert!(ran.samples().iter().all(converged));

    // A slice that is lost makes its pair be run again, and no other.
    let runs = out.join("runs");
    let lost = std::fs::read_dir(&runs).expect("runs").map(|entry| entry.expect("an entry").path()).find(|path| {
        let text = std::fs::read_to_string(path).expect("a sample");
        let sample: Value = serde_json::from_str(&text).expect("JSON");
        sample["round"] == 3 && sample["slice"]["warm_up"] == false
    });
    std::fs::remove_file(lost.expect("a slice of the third pair")).expect("it goes");
    let again = runner(folder.path(), ["resume", "all"]).ended_with(0);
    assert_eq!(again.stderr.matches(": pair ").count(), 1, "{}", again.stderr);
    is_whole(&Ran { out, ..again });
}

#[test]
fn shards_of_pairs_are_whole_comparisons_and_are_put_together() {
    let spec = PAIRS
        .replace("rows = [1, 50], clients = [1, 2]", "rows = [1, 2], clients = [1, 2]")
        .replace("of = 50", "of = 2");
    let folder = RunnerCommand::new().file("spec.toml", &spec).into_folder();
    for number in ["1", "2"] {
        let shard = format!("{number}/2");
        runner(folder.path(), ["spec.toml", "--out", number, "--shard", &shard]).ended_with(0);
    }
    let ran = runner(folder.path(), ["merge", "1", "2", "--out", "both"]).ended_with(0);
    is_whole(&Ran { out: folder.path().join("both"), ..ran });
}

#[test]
fn nodes_of_pairs_cannot_be_kept_and_nothing_is_run() {
    let folder = RunnerCommand::new().file("spec.toml", PAIRS).into_folder();
    let ran = runner(folder.path(), ["spec.toml", "--out", "kept", "--keep"]).ended_with(2);
    assert!(ran.stderr.contains("--keep") && ran.stderr.contains("run.order"), "{}", ran.stderr);
    assert!(!folder.path().join("kept").exists());
}
