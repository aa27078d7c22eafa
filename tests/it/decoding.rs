//! Real runs by the program: slots that are decoded without a subscription, and phases that wait for something else
//! than the marker being applied.

use serde_json::Value;

use crate::support::runner::{Ran, RunnerCommand, complaint};

/// A publisher and a subscriber that do not flush, one table, and a load of 200 transactions of 25 rows.
const LOAD: &str = r#"
title = "A test"
[run]
rounds = 1
order = "as_written"
[postgres]
transport = "tcp"
[postgres.settings]
fsync = "off"
synchronous_commit = "off"
autovacuum = "off"
shared_buffers = "16MB"
[nodes.a.settings]
wal_level = "logical"
[nodes.b]
[[setup]]
name = "schema"
nodes = "all"
sql = "CREATE TABLE items (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, n int, x text)"
[publications."p"]
node = "a"
tables = ["items"]
[workloads.w]
node = "a"
clients = 4
transactions = 200
script = "INSERT INTO items (n, x) SELECT i, E'a\nb' FROM generate_series(1, 25) i;"
[[phases]]
name = "load"
run = ["w"]
[[phases]]
name = "drain"
wait = "applied"
[windows]
total = ["load", "drain"]
"#;

fn run(parts: &[&str]) -> Ran {
    RunnerCommand::spec(&parts.concat()).run()
}

/// A number of the evidence of the two phases, added.
#[track_caller]
fn total(sample: &Value, pointer: &str) -> u64 {
    let of = |phase: &str| sample["phases"][phase]["evidence"].pointer(pointer).and_then(Value::as_u64);
    let sum: Option<u64> = ["load", "drain"].into_iter().map(of).sum();
    sum.unwrap_or_else(|| panic!("both phases have {pointer}: {sample:#}"))
}

#[track_caller]
fn seconds(sample: &Value, phase: &str, pointer: &str) -> f64 {
    let evidence = &sample["phases"][phase]["evidence"];
    evidence.pointer(pointer).and_then(Value::as_f64).unwrap_or_else(|| panic!("{phase} has {pointer}: {evidence:#}"))
}

#[test]
fn each_consumer_receives_all_of_each_plugin_and_its_drain_ends_with_the_marker() {
    let scenarios = r#"
[[scenarios]]
name = "own_text"
slots.decode = { node = "a", plugin = "test_decoding", options = { include-xids = false } }
[[scenarios]]
name = "own_binary"
slots.decode = { node = "a", plugin = "pgoutput", options = { publication_names = ["p"] } }
[[scenarios]]
name = "program_text"
slots.decode = { node = "a", plugin = "test_decoding", consumer = "pg_recvlogical" }
[[scenarios]]
name = "program_binary"
slots.decode = { node = "a", plugin = "pgoutput", options = { publication_names = ["p"] }, consumer = "pg_recvlogical" }
[[scenarios]]
name = "kept"
slots.decode = { node = "a", plugin = "test_decoding", consumer = "none" }
"#;
    let ran = run(&[LOAD, scenarios]).ended_with(0);
    for name in ["own_text", "own_binary", "program_text", "program_binary"] {
        let sample = ran.sample(name);
        assert_eq!(sample["outcome"], "completed", "{sample:#}");
        let received = seconds(&sample, "drain", "/marker/received_seconds/decode");
        assert!((received - seconds(&sample, "drain", "/seconds")).abs() < 1e-9, "the drain ends with it");
        assert!(total(&sample, "/nodes/a/cpu_ns/walsender") > 0);
        assert!(total(&sample, "/slots/decode/bytes") > 200 * 25 * 10);
        assert!(total(&sample, "/slots/decode/consumer_cpu_ns") > 0);
    }
    for name in ["own_text", "own_binary"] {
        let sample = ran.sample(name);
        // Nothing falls between the two phases, and the marker is there.
        assert_eq!(total(&sample, "/slots/decode/changes"), 200 * 25 + 1, "{name}");
        assert_eq!(total(&sample, "/slots/decode/transactions"), 201, "{name}");
    }
    let kept = ran.sample("kept");
    assert_eq!(kept["phases"]["drain"]["evidence"]["no_downstream"], true);
    assert_eq!(kept["phases"]["drain"]["evidence"]["slots"], serde_json::json!({}));
}

#[test]
fn a_slot_on_a_subscriber_gets_the_marker_by_replication() {
    let scenarios = r#"
[nodes.b.settings]
wal_level = "logical"
[subscriptions.s]
node = "b"
publications = ["p"]
[[scenarios]]
name = "below"
slots.below = { node = "b", plugin = "test_decoding" }
"#;
    let spec = LOAD.replace("[nodes.b]\n", "");
    let ran = run(&[&spec, scenarios]).ended_with(0);
    let sample = ran.sample("below");
    assert_eq!(total(&sample, "/slots/below/changes"), 200 * 25 + 1);
    assert!(seconds(&sample, "drain", "/marker/visible_seconds/b") > 0.0);
    assert!(seconds(&sample, "drain", "/marker/received_seconds/below") > 0.0);
}

#[test]
fn a_consumer_that_cannot_begin_or_go_on_is_told_in_the_servers_words() {
    let scenarios = r#"
[[scenarios]]
name = "option"
slots.decode = { node = "a", plugin = "test_decoding", options = { include-xid = false } }
[[scenarios]]
name = "program"
slots.decode = { node = "a", plugin = "test_decoding", consumer = "pg_recvlogical", options = { include-xid = false } }
[[scenarios]]
name = "plugin"
slots.decode = { node = "a", plugin = "wal2xml" }
[[scenarios]]
name = "lost"
slots.decode = { node = "a", plugin = "test_decoding" }
[[scenarios.phases]]
name = "drain"
start = [{ nodes = ["a"], sql = "SELECT pg_terminate_backend(pid) FROM pg_stat_replication" }]
"#;
    let ran = run(&[LOAD, scenarios]).ended_with(1);
    for (name, words) in [
        ("option", "option \"include-xid\" = \"false\" is unknown"),
        ("program", "option \"include-xid\" = \"false\" is unknown"),
        ("plugin", "wal2xml"),
        ("lost", "terminating connection due to administrator command"),
    ] {
        let sample = ran.sample(name);
        let complaint = complaint(&sample);
        assert!(complaint.contains(words), "{name}: {complaint}");
    }
}

#[test]
fn an_initial_copy_is_a_phase_told_by_table() {
    let spec = r#"
title = "A copy"
[run]
rounds = 1
[postgres.settings]
fsync = "off"
shared_buffers = "16MB"
[nodes.a.settings]
wal_level = "logical"
[nodes.b]
[[setup]]
name = "schema"
nodes = "all"
sql = "CREATE TABLE small (id int PRIMARY KEY); CREATE TABLE large (id int PRIMARY KEY, x text)"
[[setup]]
name = "rows"
nodes = ["a"]
sql = "INSERT INTO small VALUES (1); INSERT INTO large SELECT i, repeat('x', 100) FROM generate_series(1, 100000) i"
[publications.p]
node = "a"
tables = ["small", "large"]
[subscriptions.s]
node = "b"
publications = ["p"]
[workloads.w]
node = "a"
transactions = 1
script = "INSERT INTO small VALUES (2);"
[[phases]]
name = "copy"
start = [{ create = "subscriptions.s" }]
wait = "synced"
[[phases]]
name = "load"
run = ["w"]
[[phases]]
name = "received"
wait = "received"
[[phases]]
name = "drain"
wait = "applied"
[[report.tables]]
title = "Copy"
each = "run"
columns = [
  { title = "Large",  value = "copy.ready_seconds{subscription=s, table=public.large}" },
  { title = "Worker", value = "copy.copy_worker_cpu{table=public.large}" },
  { title = "Startup", value = "copy.startup_seconds{subscription=s}" },
  { title = "Received", value = "received.received_seconds{subscription=s}" },
]
"#;
    let ran = run(&[spec]).ended_with(0);
    let sample = ran.sample("default");
    let copied = |table: &str| seconds(&sample, "copy", &format!("/syncs/s/public.{table}/copied_seconds"));
    let ready = |table: &str| seconds(&sample, "copy", &format!("/syncs/s/public.{table}/ready_seconds"));
    for table in ["small", "large"] {
        assert!(copied(table) <= ready(table));
        assert!(ready(table) <= seconds(&sample, "copy", "/seconds"));
    }
    assert!(seconds(&sample, "copy", "/syncs/s/public.large/worker_cpu_ns") > 0.0);
    assert!(seconds(&sample, "copy", "/syncs/s/public.large/walsender_cpu_ns") > 0.0);
    assert!(seconds(&sample, "received", "/marker/received_seconds/s") > 0.0);
    let tables = sample["convergence"]["tables"].as_array().expect("tables");
    assert_eq!(tables.len(), 2);
    assert!(tables.iter().all(|table| table["published"] == table["subscribed"]));
    assert_eq!(tables.iter().map(|table| table["published"]["rows"].as_u64().expect("rows")).sum::<u64>(), 100_002);
}

#[test]
fn a_hold_lasts_its_time_although_a_subscription_starts_in_it() {
    let phases = r#"
[subscriptions.s]
node = "b"
publications = ["p"]
[[scenarios]]
name = "held"
[[scenarios.phases]]
name = "load"
prepare = [{ disable = "subscriptions.s" }]
[[scenarios.phases]]
name = "rest"
after = "load"
start = [{ enable = "subscriptions.s" }]
hold = "400ms"
"#;
    let spec = LOAD.replace("[windows]\ntotal = [\"load\", \"drain\"]\n", "");
    let ran = run(&[&spec, phases]).ended_with(0);
    let sample = ran.sample("held");
    let held = seconds(&sample, "rest", "/seconds");
    assert!(held >= 0.4, "{held}");
    let started = seconds(&sample, "rest", "/startup_seconds/s");
    assert!(started > 0.0 && started < held);
}

#[test]
fn a_phase_whose_start_hangs_ends_by_its_bound_and_not_with_the_statement() {
    let phases = r#"
[[scenarios]]
name = "hangs"
[[scenarios.phases]]
name = "load"
start = [{ nodes = ["a"], sql = "SELECT pg_sleep(300)" }]
timeout = "500ms"
"#;
    let ran = run(&[LOAD, phases]).ended_with(1);
    let sample = ran.sample("hangs");
    assert!(sample["outcome"].get("timed_out").is_some(), "{}", sample["outcome"]);
    let total = sample["total_seconds"].as_f64().expect("a length");
    assert!(total < 300.0, "it did not wait for the statement: {total}");
}
