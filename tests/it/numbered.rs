//! Numbered nodes and subscriptions, live: one publisher with none, one and three of them.

use crate::support::runner::RunnerCommand;

const FAN_OUT: &str = r#"title = "Fan-out"
[vars]
subscribers = 1
[[matrix]]
axes = { subscribers = [0, 1, 3] }
[run]
rounds = 1
[postgres.settings]
fsync = "off"
shared_buffers = "16MB"
[nodes.publisher.settings]
wal_level = "logical"
[nodes.s]
count = "{{ subscribers }}"
settings = { work_mem = "{{ 4 + subscribers }}MB", maintenance_work_mem = "8MB" }
[[setup]]
name = "table"
nodes = ["publisher", "s*"]
sql = "CREATE TABLE t (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, x text)"
[publications.feed]
node = "publisher"
tables = ["t"]
[subscriptions.feed]
count = "{{ subscribers }}"
node = "s{{ number }}"
publications = ["feed"]
[workloads.w]
node = "publisher"
transactions = 20
script = "INSERT INTO t (x) VALUES ('x')"
[[phases]]
name = "load"
prepare = [{ disable = "subscriptions.feed*" }]
run = ["w"]
[[phases]]
name = "drain"
start = [{ enable = "subscriptions.feed*" }]
wait = "applied"
[windows]
total = ["load", "drain"]
[[report.tables]]
title = "By subscribers"
each = "scenario"
columns = [
  { title = "CPU of the subscribers", value = "total.cpu{node=s*}" },
  { title = "Of the first",           value = "total.cpu{node=s1}" },
  { title = "Last visible",           value = "drain.visible_seconds{node=s*}" },
  { title = "Bytes sent",             value = "total.sent_lsn_bytes{subscription=feed*}" },
]
"#;

#[test]
fn one_publisher_feeds_as_many_subscribers_as_the_axis_says() {
    let ran = RunnerCommand::spec(FAN_OUT).run().ended_with(0);
    for (cell, subscribers) in [("0", 0), ("1", 1), ("3", 3)] {
        let cell = format!("default[subscribers={cell}]");
        let sample =
            ran.samples().into_iter().find(|sample| sample["cell"] == cell.as_str()).expect("a run of the cell");
        assert_eq!(sample["outcome"], "completed");
        let nodes = sample["phases"]["drain"]["evidence"]["nodes"].as_object().expect("nodes");
        assert_eq!(nodes.len(), subscribers + 1, "{nodes:?}");
        let tables = sample["convergence"]["tables"].as_array().map_or(0, Vec::len);
        assert_eq!(tables, subscribers, "each subscription was compared");
    }
    let report = ran.report();
    // What varies by cell is no setting of the whole run, whatever the table of differences calls it.
    let settings = &report["run"]["settings"];
    assert_eq!(settings["publisher"]["fsync"]["value"], "off");
    assert!(settings["s1"]["work_mem"].is_null(), "{settings:#}");
    assert!(settings["s1"]["maintenance_work_mem"].is_null(), "there is none where nobody subscribes: {settings:#}");
    let differing = report["differences"].to_string();
    assert!(differing.contains("s*: work_mem") && !differing.contains("s1:"), "{differing}");
    let figure = |row: usize, column: usize| report["tables"][0]["rows"][row]["cells"][column]["value"].as_f64();
    assert_eq!((figure(0, 0), figure(0, 1)), (None, None), "none, and no zero in its place");
    assert!(figure(1, 0).is_some() && figure(1, 0) == figure(1, 1), "the only one is all of them");
    assert!(figure(2, 1).is_some() && figure(2, 0) > figure(2, 1), "three use more than one of them");
    assert!(figure(2, 2) > Some(0.0));
    assert!(
        figure(1, 3) > Some(0.0) && figure(2, 3) > Some(2.0 * figure(1, 3).unwrap_or(f64::MAX)),
        "sent three times"
    );
}
