//! Real runs by the program: the WAL's ledger against positions and statistics, what slots decode and keep, and the
//! series of each second against the sums.

use serde_json::Value;

use crate::support::runner::{Ran, RunnerCommand};

const SPEC: &str = r#"
title = "A test"
[run]
rounds = 1
order = "as_written"
[postgres.settings]
fsync = "off"
autovacuum = "off"
shared_buffers = "16MB"
[nodes.a.settings]
wal_level = "logical"
logical_decoding_work_mem = "64kB"
[nodes.b.settings]
wal_retrieve_retry_interval = "100ms"
[[setup]]
name = "schema"
nodes = ["a", "b"]
sql = "CREATE TABLE items (id bigserial PRIMARY KEY, payload text)"
[publications.p]
node = "a"
tables = ["items"]
[subscriptions.s]
node = "b"
publications = ["p"]
options.streaming = false
[workloads.w]
node = "a"
clients = 2
transactions = 4
script = "INSERT INTO items (payload) SELECT repeat('x', 100) FROM generate_series(1, 5000) i;"
[[phases]]
name = "load"
run = ["w"]
[[phases]]
name = "drain"
wait = "applied"
[windows]
total = ["load", "drain"]

[[scenarios]]
name = "spilled"

[[scenarios]]
name = "kept"
[[scenarios.phases]]
name = "load"
prepare = [{ disable = "subscriptions.s" }]
[[scenarios.phases]]
name = "kept"
after = "load"
hold = "2200ms"
[[scenarios.phases]]
name = "drain"
start = [{ enable = "subscriptions.s" }]
[scenarios.windows]
total = ["load", "kept", "drain"]

[[report.tables]]
title = "A"
each = "run"
columns = [
  { title = "1", value = "total.wal_lsn_bytes{node=a}" },
  { title = "2", value = "total.wal_bytes{node=a}" },
  { title = "3", value = "total.wal_records{node=a}" },
  { title = "4", value = "total.wal_fpi{node=a}" },
  { title = "5", value = "total.wal_rmgr_bytes{node=a}" },
  { title = "6", value = "total.wal_rmgr_records{node=a}" },
  { title = "7", value = "total.wal_rmgr_records{node=a, rmgr=Heap}" },
  { title = "8", value = "total.wal_bytes_per_transaction{node=a}" },
  { title = "9", value = "total.sent_lsn_bytes{subscription=s}" },
  { title = "10", value = "total.decoded_bytes{subscription=s}" },
  { title = "11", value = "total.spilled_bytes{node=a}" },
  { title = "12", value = "total.spilled_transactions" },
  { title = "13", value = "total.streamed_bytes" },
  { title = "14", value = "total.retained_wal_peak{subscription=s}" },
  { title = "15", value = "total.lag_bytes_peak{subscription=s}" },
  { title = "16", value = "total.lag_seconds_peak" },
]
[[report.tables]]
title = "B"
each = "run"
columns = [
  { title = "1", value = "total.wal_lsn_bytes{node=b}" },
  { title = "2", value = "total.wal_bytes{node=b}" },
  { title = "3", value = "total.wal_records{node=b}" },
  { title = "5", value = "total.wal_rmgr_bytes{node=b}" },
  { title = "6", value = "total.wal_rmgr_records{node=b}" },
]
"#;

/// The figure of a metric of `total` in a scenario's one run, or why there is none.
#[track_caller]
fn figure(report: &Value, scenario: &str, metric: &str) -> Result<f64, String> {
    let run = report["runs"].as_array().expect("runs").iter().find(|run| run["scenario"] == scenario).expect("a run");
    let figure = &run["figures"][format!("total.{metric}")];
    figure["value"].as_f64().ok_or_else(|| figure["absent"].as_str().expect("a value or a reason").to_owned())
}

/// The versions to run on: 18, which is installed where it is missing, and 14 and 15, whose views differ, where found.
fn versions() -> Vec<u64> {
    let found = RunnerCommand::new().arguments(["postgres", "list", "--format", "json"]).run().ended_with(0);
    let found: Value = serde_json::from_str(&found.stdout).expect("a list");
    let has = |major: &u64| found.as_array().expect("a list").iter().any(|one| one["version"]["major"] == *major);
    std::iter::once(18).chain([14, 15].into_iter().filter(has)).collect()
}

#[test]
fn the_ledger_agrees_with_positions_statistics_and_sums() {
    for version in versions() {
        let version_set = format!("postgres.version={version}");
        let ran = RunnerCommand::spec(SPEC).arguments(["--set", &version_set]).run().ended_with(0);
        let report = ran.report();
        for scenario in ["spilled", "kept"] {
            let told = |metric: &str| {
                figure(&report, scenario, metric).unwrap_or_else(|why| panic!("{version} {scenario} {metric}: {why}"))
            };
            let near = |one: f64, other: f64, what: &str| {
                assert!((one / other - 1.0).abs() < 0.05, "{version} {scenario}: {what}: {one} and {other}");
            };
            for node in ["a", "b"] {
                near(told(&format!("wal_bytes{{node={node}}}")), told(&format!("wal_lsn_bytes{{node={node}}}")), node);
                let records = told(&format!("wal_records{{node={node}}}"));
                // A heap record for each row but where several share one, and an index record for each.
                assert!(records > 20_000.0, "{version} {scenario}: {records}");
                let by_rmgr = [format!("wal_rmgr_bytes{{node={node}}}"), format!("wal_rmgr_records{{node={node}}}")];
                if version < 15 {
                    let why = figure(&report, scenario, &by_rmgr[0]).expect_err("14 has no pg_walinspect");
                    assert_eq!(why, format!("on {node}: PostgreSQL 14 has no pg_walinspect; it came with 15"));
                } else {
                    near(told(&by_rmgr[0]), told(&format!("wal_lsn_bytes{{node={node}}}")), "by resource manager");
                    near(told(&by_rmgr[1]), records, "records by resource manager");
                }
            }
            // Four transactions of 5,000 rows, which decoded take more than 64 kB each.
            assert!(told("wal_bytes_per_transaction{node=a}") > 500_000.0);
            assert_eq!(told("spilled_transactions") as u64, 4, "{version} {scenario}");
            assert!(told("spilled_bytes{node=a}") > 4.0 * 500_000.0);
            assert!(told("decoded_bytes{subscription=s}") > told("spilled_bytes{node=a}"));
            assert_eq!(told("streamed_bytes") as u64, 0);
            near(told("sent_lsn_bytes{subscription=s}"), told("wal_lsn_bytes{node=a}"), "what was sent");
            assert!(told("retained_wal_peak{subscription=s}") > 1e6, "{version} {scenario}");
            assert!(told("lag_seconds_peak") >= 0.0);
        }
        let kept = |metric: &str| figure(&report, "kept", metric).expect("a figure");
        // Nobody applied while the subscription was disabled: all of the load is behind, and kept.
        assert!(kept("lag_bytes_peak{subscription=s}") > 0.9 * kept("wal_lsn_bytes{node=a}"));
        assert!(kept("retained_wal_peak{subscription=s}") > 0.9 * kept("wal_lsn_bytes{node=a}"));
        assert!(kept("lag_seconds_peak") > 2.0, "{version}: {}", kept("lag_seconds_peak"));
        series_agree_with_sums(&ran);
        let markdown = &ran.stdout;
        assert!(markdown.contains("<summary>WAL ledger"), "{markdown}");
        assert!(markdown.contains("Time series of 2 runs"), "{markdown}");
    }
}

fn series_agree_with_sums(ran: &Ran) {
    let whole = |column: &Value| -> Vec<u64> {
        column.as_array().expect("a column").iter().map(|value| value.as_u64().expect("a whole number")).collect()
    };
    let numbers = |column: &Value| -> Vec<f64> {
        column.as_array().expect("a column").iter().map(|value| value.as_f64().unwrap_or(f64::NAN)).collect()
    };
    let sample = ran.sample("kept");
    for (phase, record) in sample["phases"].as_object().expect("phases") {
        let evidence = &record["evidence"];
        assert!(evidence["runner_cpu_ns"].as_u64().expect("it was measured") > 0);
        for (node, observed) in evidence["nodes"].as_object().expect("nodes") {
            let series = &observed["series"];
            let at = numbers(&series["at"]);
            let what = format!("{phase} {node}: {at:?}");
            let seconds = evidence["seconds"].as_f64().expect("a length");
            assert!(at[0].abs() < 1e-9, "{what}");
            assert!(at.is_sorted() && at[at.len() - 1] >= seconds - 0.001, "{what}");
            // One a second and one at either end.
            assert!((at.len() as f64) <= at[at.len() - 1].floor() + 2.0, "{what}");
            if phase == "kept" {
                assert!(at.len() >= 3, "{what}");
            }
            let lsn = |edge: &str| -> u64 {
                let text = observed[edge].as_str().expect("a position");
                text.parse::<runner::text::Lsn>().expect("a position").0
            };
            let written = whole(&series["wal_bytes"]);
            assert_eq!(written.len(), at.len());
            assert_eq!(written.iter().sum::<u64>(), lsn("lsn_end") - lsn("lsn_start"), "{what}");
            for (role, ns) in series["cpu_ns"].as_object().expect("roles") {
                let ns = whole(ns);
                assert_eq!(ns.len(), at.len());
                // Processes that live through the phase; those that exit are known by the kernel's ticks.
                if ["walwriter", "checkpointer", "background writer"].contains(&role.as_str()) {
                    assert_eq!(Some(ns.iter().sum::<u64>()), observed["cpu_ns"][role].as_u64(), "{what} {role}");
                }
            }
            let slots = series["slots"].as_object().expect("slots");
            assert_eq!(slots.contains_key("s"), node == "a");
        }
    }
    let shown = &ran.report()["runs"][1]["series"]["kept"]["a"];
    assert_eq!(shown, &sample["phases"]["kept"]["evidence"]["nodes"]["a"]["series"], "the report shows what is stored");
}

#[test]
fn wal_that_was_recycled_is_absent_with_the_servers_reason_and_an_extension_of_the_users_is_left_alone() {
    let spec = r#"
title = "A test"
[run]
rounds = 1
order = "as_written"
[postgres]
version = "18"
settings = { fsync = "off", autovacuum = "off", min_wal_size = "32MB", max_wal_size = "32MB" }
[nodes.a]
[[setup]]
name = "schema"
nodes = ["a"]
sql = "CREATE TABLE items (id int, payload text)"
[workloads.w]
node = "a"
transactions = 1
script = "INSERT INTO items SELECT i, repeat('x', 1000) FROM generate_series(1, {{ rows }}) i;"
[vars]
rows = 1000
[[phases]]
name = "load"
run = ["w"]
[[phases]]
name = "rest"
hold = "10ms"
start = [{ checkpoint = ["a"] }]
[windows]
total = ["load", "rest"]
[[scenarios]]
name = "recycled"
vars.rows = 100000
[[scenarios]]
name = "own_extension"
setup = [{ name = "own", nodes = ["a"], sql = "CREATE SCHEMA \"My own\"; CREATE EXTENSION pg_walinspect SCHEMA \"My own\"" }]
[[report.tables]]
title = "WAL"
each = "run"
columns = [
  { title = "Records", value = "total.wal_records" },
  { title = "Heap",    value = "total.wal_rmgr_bytes{rmgr=Heap}" },
]
"#;
    let ran = RunnerCommand::spec(spec).run().ended_with(0);
    let report = ran.report();
    let why = figure(&report, "recycled", "wal_rmgr_bytes{rmgr=Heap}").expect_err("it is gone");
    assert!(why.starts_with("on a: ERROR: requested WAL segment") && why.ends_with("removed"), "{why}");
    assert!(figure(&report, "recycled", "wal_records").is_ok_and(|records| records > 100_000.0));
    assert!(ran.stdout.contains("has already been removed"), "{}", ran.stdout);
    let heap = figure(&report, "own_extension", "wal_rmgr_bytes{rmgr=Heap}").expect("it was read");
    assert!(heap > 1e6, "{heap}");
}
