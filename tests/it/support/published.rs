//! Published benchmarks as records: their raw rows, in a spec that the language can say.

use runner::measure::{Evidence, NodeEvidence};
use runner::results::{RunRecord, Sample};
use runner::spec::Spec;

use super::records::{compared, differs, host, load, map, node, phase, run, sample};

/// "The hidden CPU cost of logical replication", its five scenarios; decode only is told apart by its name alone.
pub(crate) const HIDDEN_CPU_COST: &str = r#"
title = "The hidden CPU cost of logical replication"
about = """
Five scenarios, one load: 8 clients, 20,000 transactions of 25 rows.
"""

[run]
rounds = 3
order = "as_written"

[postgres]
version = "18"
transport = "tcp"
[nodes.publisher.settings]
wal_level = "logical"
[nodes.subscriber]

[[setup]]
name = "schema"
nodes = ["publisher", "subscriber"]
sql = "CREATE TABLE events (id bigserial PRIMARY KEY, account_id int, kind int, payload text);"

[workloads.insert]
node = "publisher"
clients = 8
transactions = 20_000
script = "INSERT INTO events (account_id, kind, payload) SELECT i, i % 10, repeat('x', 128) FROM generate_series(1, 25) i;"

[[phases]]
name = "load"
run = ["insert"]
[[phases]]
name = "drain"
wait = "applied"

[windows]
total = ["load", "drain"]

[[scenarios]]
name = "baseline"
title = "Baseline"
[[scenarios]]
name = "decode"
title = "Decode only"
publications.events = { node = "publisher", tables = ["events"] }
subscriptions.feed = { node = "subscriber", publications = ["events"], options = { copy_data = false } }
[[scenarios]]
name = "text"
title = "Logical text"
like = "decode"
subscriptions.feed.options.binary = false
[[scenarios]]
name = "binary"
title = "Logical binary"
like = "text"
subscriptions.feed.options.binary = true
[[scenarios]]
name = "indexes"
title = "Text + four indexes"
like = "text"
[[scenarios.setup]]
name = "indexes"
nodes = ["subscriber"]
sql = "CREATE INDEX ON events (account_id);"

[metrics.sustainable_tps]
value = "load.transactions / total.seconds"
better = "higher"

[[expect]]
claim = "decoding costs publisher CPU"
ratio = { metric = "total.cpu{node=publisher}", of = "decode", to = "baseline", at_least = 1.2 }
published = 1.68
[[expect]]
claim = "logical replication costs about twice the baseline's CPU, both nodes together"
ratio = { metric = "total.cpu", of = "text", to = "baseline", at_least = 1.5, at_most = 3.0 }
published = 2.25
[[expect]]
claim = "binary saves subscriber CPU"
ratio = { metric = "total.cpu{node=subscriber}", of = "binary", to = "text", at_most = 1.0 }
published = 0.90
[[expect]]
claim = "binary does not save publisher CPU"
ratio = { metric = "total.cpu{node=publisher}", of = "binary", to = "text", within = "5%" }
[[expect]]
claim = "binary does not save WAL"
ratio = { metric = "total.wal_bytes{node=subscriber}", of = "binary", to = "text", within = "1%" }
published = 1.00
[[expect]]
claim = "four indexes double the subscriber's WAL"
ratio = { metric = "total.wal_bytes{node=subscriber}", of = "indexes", to = "text", at_least = 1.7, at_most = 2.3 }
published = 1.99
[[expect]]
claim = "four indexes raise the CPU of both nodes together"
ratio = { metric = "total.cpu", of = "indexes", to = "baseline", at_least = 1.2 }
published = 2.27

[[report.tables]]
title = "Raw runs"
each = "run"
columns = [
  { title = "TPS",              value = "load.tps" },
  { title = "Workload s",       value = "load.seconds" },
  { title = "Drain s",          value = "drain.seconds" },
  { title = "Total s",          value = "total.seconds" },
  { title = "Publisher CPU s",  value = "total.cpu{node=publisher}" },
  { title = "Subscriber CPU s", value = "total.cpu{node=subscriber}" },
]
[[report.tables]]
title = "Medians"
each = "scenario"
columns = [
  { title = "Publisher CPU s",  value = "total.cpu{node=publisher}",  published = { baseline = 4.71, decode = 7.92, text = 7.69, binary = 7.74, indexes = 6.09 } },
  { title = "Subscriber CPU s", value = "total.cpu{node=subscriber}", published = { baseline = 0.00, decode = 0.00, text = 2.94, binary = 2.64, indexes = 4.66 } },
  { title = "Total CPU s",      value = "total.cpu",                  published = { baseline = 4.71, decode = 7.92, text = 10.62, binary = 10.50, indexes = 10.71 } },
  { title = "Relative CPU",     value = "total.cpu", relative_to = "baseline", published = { baseline = 1.00, decode = 1.68, text = 2.25, binary = 2.23, indexes = 2.27 } },
  { title = "Drain s",          value = "drain.seconds",              published = { baseline = 0.03, decode = 4.35, text = 2.49, binary = 2.12, indexes = 3.60 } },
  { title = "Sustainable TPS",  value = "sustainable_tps" },
]
[[report.tables]]
title = "Subscriber WAL"
each = "scenario"
scenarios = ["text", "binary", "indexes"]
columns = [{ title = "Subscriber WAL bytes", value = "total.wal_bytes{node=subscriber}", published = { text = 143_476_467, binary = 143_448_119, indexes = 284_912_301 } }]
"#;

/// Round, scenario, workload s, drain s, publisher CPU s, subscriber CPU s: the fifteen published runs.
const RUNS: [(u32, &str, f64, f64, f64, f64); 15] = [
    (1, "baseline", 1.712, 0.024, 4.750, 0.000),
    (1, "decode", 2.803, 3.972, 7.970, 0.000),
    (1, "text", 1.760, 2.491, 7.470, 3.010),
    (1, "binary", 2.179, 2.025, 7.890, 2.640),
    (1, "indexes", 2.220, 3.053, 6.650, 4.660),
    (2, "baseline", 2.530, 0.048, 4.710, 0.000),
    (2, "decode", 2.225, 4.484, 7.920, 0.000),
    (2, "text", 3.702, 3.454, 7.690, 2.930),
    (2, "binary", 2.900, 2.123, 7.230, 2.540),
    (2, "indexes", 1.790, 3.604, 6.090, 4.620),
    (3, "baseline", 1.609, 0.028, 4.350, 0.000),
    (3, "decode", 3.572, 4.354, 7.720, 0.000),
    (3, "text", 2.155, 2.477, 7.710, 2.940),
    (3, "binary", 2.563, 3.004, 7.740, 2.760),
    (3, "indexes", 2.265, 3.624, 5.470, 4.840),
];

/// The published medians: publisher, subscriber and total CPU s, relative CPU, drain s.
pub(crate) const MEDIANS: [(&str, [&str; 5]); 5] = [
    ("Baseline", ["4.71", "0.00", "4.71", "1.00x", "0.03"]),
    ("Decode only", ["7.92", "0.00", "7.92", "1.68x", "4.35"]),
    ("Logical text", ["7.69", "2.94", "10.62", "2.25x", "2.49"]),
    ("Logical binary", ["7.74", "2.64", "10.50", "2.23x", "2.12"]),
    ("Text + four indexes", ["6.09", "4.66", "10.71", "2.27x", "3.60"]),
];

/// The published run of the hidden CPU cost: as if its baseline had had something to wait for, or as our marker
/// has it, where a drain without downstream has no length of its own.
pub(crate) fn hidden_cpu_cost(baseline_waits: bool) -> (Spec, RunRecord, Vec<Sample>) {
    let samples = RUNS
        .iter()
        .zip(1..)
        .map(|(&(round, scenario, workload, drain, publisher, subscriber), turn)| {
            let wal = match scenario {
                "text" => 143_476_467,
                "binary" => 143_448_119,
                "indexes" => 284_912_301,
                _ => 8_192,
            };
            // Where the CPU was used is not published: all of it in the load but the last hundredth.
            let (late, early) = (publisher / 100.0, publisher - publisher / 100.0);
            let load_phase = Evidence {
                seconds: workload,
                nodes: map([("publisher", node("client backend", early)), ("subscriber", node("apply worker", 0.0))]),
                loads: load("publisher", "insert", 8, 20_000, 800_000),
                host: Some(host(10.0, workload, 0.83)),
                ..Evidence::default()
            };
            let drain_phase = Evidence {
                seconds: drain,
                no_downstream: scenario == "baseline" && !baseline_waits,
                nodes: map([
                    ("publisher", node("walsender", late)),
                    (
                        "subscriber",
                        NodeEvidence {
                            wal_bytes_start: Some(100),
                            wal_bytes_settled: Some(wal + 100),
                            ..node("apply worker", subscriber)
                        },
                    ),
                ]),
                host: Some(host(10.0, drain, 0.35)),
                ..Evidence::default()
            };
            let phases = map([("load", phase(load_phase)), ("drain", phase(drain_phase))]);
            let mut sample = sample(turn, round, scenario, phases);
            // WAL statistics begin with the first phase.
            let wal_start = sample.phases["load"].evidence.nodes.get_mut("subscriber").expect("just made");
            wal_start.wal_bytes_start = Some(100);
            if scenario != "baseline" {
                sample.convergence = Some(compared("public.events", 500_000, 0));
            }
            sample
        })
        .collect();
    let mut run = run("hidden_cpu_cost", "runner specs/hidden_cpu_cost.toml");
    "as_written".clone_into(&mut run.order);
    run.differences = vec![
        differs(
            "publications.events",
            [("decode", "events"), ("text", "events"), ("binary", "events"), ("indexes", "events")],
        ),
        differs("subscriptions.feed.options.binary", [("text", "false"), ("binary", "true"), ("indexes", "false")]),
        differs(
            "setup.indexes",
            [(
                "indexes",
                "on subscriber: CREATE INDEX ON events (account_id);\nCREATE INDEX ON events (kind);\nCREATE INDEX ON \
                 events (created_at);\nCREATE INDEX ON events (account_id, created_at);",
            )],
        ),
    ];
    (super::spec(HIDDEN_CPU_COST), run, samples)
}

/// The shipped spec of REPLICA IDENTITY FULL.
pub(crate) const REPLICA_IDENTITY_FULL: &str = include_str!("../../../specs/replica_identity_full.toml");

/// Three rounds of REPLICA IDENTITY FULL in the shape of the published ones, shuffled.
pub(crate) fn replica_identity_full() -> (Spec, RunRecord, Vec<Sample>) {
    let turns = [
        (1, "no_index", 4.565, 4.220),
        (1, "btree", 0.149, 0.010),
        (2, "btree", 0.151, 0.010),
        (2, "no_index", 4.777, 4.270),
        (3, "btree", 0.146, 0.010),
        (3, "no_index", 4.602, 4.231),
    ];
    let samples = turns
        .into_iter()
        .zip(1..)
        .map(|((round, scenario, apply, cpu), turn)| {
            let backlog = Evidence {
                seconds: 0.031,
                nodes: map([("publisher", node("client backend", 0.02)), ("subscriber", node("checkpointer", 0.0))]),
                loads: load("publisher", "change_tail", 1, 1, 30_000_000),
                host: Some(host(2.0, 0.031, 0.55)),
                ..Evidence::default()
            };
            let apply = Evidence {
                seconds: apply,
                nodes: map([("publisher", node("walsender", 0.02)), ("subscriber", node("apply worker", cpu))]),
                startup_seconds: map([("items", 0.020 + f64::from(turn) / 1000.0)]),
                host: Some(host(2.0, apply, 0.51)),
                ..Evidence::default()
            };
            let phases = map([("backlog", phase(backlog)), ("apply", phase(apply))]);
            Sample { convergence: Some(compared("public.items", 50_000, 0)), ..sample(turn, round, scenario, phases) }
        })
        .collect();
    let mut run = run("replica_identity_full", "runner specs/replica_identity_full.toml");
    run.host.cores = Some(2);
    run.differences = vec![differs("setup.index", [("btree", "on subscriber: CREATE INDEX ON items (id);")])];
    (super::spec(REPLICA_IDENTITY_FULL), run, samples)
}
