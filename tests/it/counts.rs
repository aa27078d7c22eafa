//! What is sent is what is counted is what is there, on both engines, also when many transactions fail and are tried
//! again.

use serde_json::Value;

use crate::support::runner::RunnerCommand;

/// Transactions of 25 rows; with `retry` each changes one of a few rows first, so that many collide.
const SPEC: &str = r#"
title = "A test"
[vars]
engine = "runner"
transactions = 2_000
[run]
rounds = 1
order = "as_written"
[postgres.settings]
fsync = "off"
synchronous_commit = "off"
shared_buffers = "32MB"
[nodes.a.settings]
wal_level = "logical"
[nodes.b]
[[setup]]
name = "schema"
nodes = "all"
sql = '''
CREATE TABLE events (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, x int);
CREATE TABLE counters (id int PRIMARY KEY, n int);
'''
[[setup]]
name = "counters"
nodes = ["a"]
sql = "INSERT INTO counters SELECT i, 0 FROM generate_series(1, 20) i"
[publications.p]
node = "a"
tables = ["events", "counters"]
[subscriptions.s]
node = "b"
publications = ["p"]
[workloads.w]
node = "a"
engine = "{{ engine }}"
clients = 8
threads = 2
transactions = "{{ transactions }}"
max_tries = 1000
script = "INSERT INTO events (x) SELECT i FROM generate_series(1, 25) i;"
[[phases]]
name = "load"
run = ["w"]
[[phases]]
name = "drain"
wait = "applied"
[[scenarios]]
name = "runner"
[[scenarios]]
name = "pgbench"
vars.engine = "pgbench"
[[scenarios]]
name = "runner_retry"
[scenarios.workloads.w]
script = '''
\set counter random(1, 20)
BEGIN ISOLATION LEVEL REPEATABLE READ;
UPDATE counters SET n = n + 1 WHERE id = :counter;
INSERT INTO events (x) SELECT i FROM generate_series(1, 25) i;
END;
'''
[[scenarios]]
name = "pgbench_retry"
like = "runner_retry"
vars.engine = "pgbench"
"#;

#[track_caller]
fn number(value: &Value, pointer: &str) -> u64 {
    value.pointer(pointer).and_then(Value::as_u64).unwrap_or_else(|| panic!("{pointer} in {value:#}"))
}

#[test]
fn what_is_sent_is_counted_is_there_on_both_engines_and_under_retries() {
    let ran = RunnerCommand::spec(SPEC).run().ended_with(0);
    for name in ["runner", "pgbench", "runner_retry", "pgbench_retry"] {
        let sample = ran.sample(name);
        let script = &sample["phases"]["load"]["evidence"]["loads"]["w"]["scripts"]["w"];
        assert_eq!(number(script, "/committed"), 2_000, "{name}");
        assert_eq!(script["failed"], serde_json::json!({}), "{name}");
        let seconds = &sample["phases"]["load"]["evidence"]["loads"]["w"]["committed_each_second"];
        let seconds: u64 = seconds.as_array().expect("counts").iter().filter_map(Value::as_u64).sum();
        assert_eq!(seconds, 2_000, "{name}");
        let latencies = script["latency"].as_array().expect("a distribution");
        assert_eq!(latencies.iter().map(|bucket| number(bucket, "/1")).sum::<u64>(), 2_000, "{name}");
        let tables = sample["convergence"]["tables"].as_array().expect("tables");
        let events = tables.iter().find(|table| table["table"] == "public.events").expect("it is compared");
        assert_eq!(number(events, "/published/rows"), 50_000, "{name}");
        assert_eq!(events["published"], events["subscribed"], "{name}");
        let retried = number(script, "/retried");
        if name.ends_with("retry") {
            assert!(retried >= 100 && number(script, "/retries") >= retried, "{name}: {retried} tried again");
        } else {
            assert_eq!(retried, 0, "{name}");
        }
    }
}
