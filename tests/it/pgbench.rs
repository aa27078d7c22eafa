//! `engine = "pgbench"`, its built-in scripts and its tables, by real runs: what is counted, what is refused, what is left
//! behind.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::support::runner::{Ran, RunnerCommand, complaint};

/// Two nodes that do not flush, a table, and its replication.
const PAIR: &str = r#"
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
[nodes.b]
[[setup]]
name = "schema"
nodes = ["a", "b"]
sql = "CREATE TABLE items (id bigserial PRIMARY KEY, n int, by int)"
[publications.p]
node = "a"
tables = ["items"]
[subscriptions.s]
node = "b"
publications = ["p"]
[[phases]]
name = "load"
run = ["w"]
[[phases]]
name = "drain"
wait = "applied"
"#;

#[track_caller]
fn evidence<'s>(sample: &'s Value, pointer: &str) -> &'s Value {
    let evidence = &sample["phases"]["load"]["evidence"];
    evidence.pointer(pointer).unwrap_or_else(|| panic!("the load has {pointer}: {evidence:#}"))
}

/// What pgbench printed of the workload `w`, as it is kept with a run's logs.
#[track_caller]
fn printed(ran: &Ran, scenario: &str) -> String {
    let logs = ran.out.join("logs");
    let folders = std::fs::read_dir(&logs).expect("logs").map(|entry| entry.expect("an entry").path());
    let own = folders.into_iter().find(|path| path.display().to_string().contains(&format!("-{scenario}-")));
    std::fs::read_to_string(own.expect("logs of the run").join("load-w.txt")).expect("an output")
}

/// The number in the line of an output that begins so.
#[track_caller]
fn number(text: &str, key: &str) -> f64 {
    let line = text.lines().find_map(|line| line.strip_prefix(key)).unwrap_or_else(|| panic!("{key} in\n{text}"));
    line.split([' ', '/']).next().and_then(|word| word.parse().ok()).expect("a number")
}

#[test]
fn what_is_sent_is_counted_and_is_there_by_either_engine_and_transport() {
    let spec = r#"
[workloads.w]
node = "a"
clients = 4
transactions = 200
scripts = [
  { name = "one", weight = 3, script = '''\set n random(1, 10)
INSERT INTO items (n, by) VALUES (:n, :client_id)''' },
  { name = "two", script = "INSERT INTO items (n, by) VALUES (:scale, 1000)" },
]
[[report.tables]]
title = "Figures"
each = "run"
columns = [
  { title = "TPS",       value = "load.tps" },
  { title = "Seconds",   value = "load.seconds" },
  { title = "Connect",   value = "load.connecting_seconds" },
  { title = "Clients",   value = "load.cpu{node=a, role=client backend}" },
  { title = "Mean",      value = "load.latency_mean" },
]
[[scenarios]]
name = "built_in"
[[scenarios]]
name = "by_pgbench"
workloads.w = { engine = "pgbench", threads = 2 }
[[scenarios]]
name = "over_tcp"
postgres.transport = "tcp"
workloads.w = { engine = "pgbench", protocol = "simple" }
"#;
    let ran = RunnerCommand::spec(&[PAIR, spec].concat())
        // What leads other programs of libpq elsewhere must not reach this one.
        .environment("PGHOST", "/nowhere")
        .environment("PGPORT", "1")
        .environment("PGOPTIONS", "-c no_such_setting=1")
        .environment("PGAPPNAME", "another")
        .run()
        .ended_with(0);
    let report = ran.report();
    let rows = report["tables"][0]["rows"].as_array().expect("rows");
    for (index, scenario) in ["built_in", "by_pgbench", "over_tcp"].into_iter().enumerate() {
        let sample = ran.sample(scenario);
        assert_eq!(sample["outcome"], "completed");
        // Each is a row of both nodes.
        assert_eq!(sample["convergence"]["tables"][0]["published"]["rows"], 200, "{scenario}");
        assert_eq!(sample["convergence"]["tables"][0]["subscribed"]["rows"], 200, "{scenario}");
        let committed = |script: &str| {
            let latencies = evidence(&sample, &format!("/loads/w/scripts/{script}/latency")).as_array().expect("pairs");
            let measured: u64 = latencies.iter().map(|pair| pair[1].as_u64().expect("a count")).sum();
            let committed = evidence(&sample, &format!("/loads/w/scripts/{script}/committed")).as_u64();
            assert_eq!(committed, Some(measured), "{scenario}: each has its latency");
            measured
        };
        let (one, two) = (committed("one"), committed("two"));
        assert_eq!(one + two, 200);
        assert!(one > two && two > 0, "{one} to {two} by the weights 3 and 1");
        assert!(evidence(&sample, "/loads/w/driver_cpu_ns").as_u64() > Some(0));
        assert_eq!(rows[index]["scenario"], scenario);
        let figure = |column: usize| rows[index]["cells"][column]["value"].as_f64();
        let cpu = evidence(&sample, "/nodes/a/cpu_ns").as_object().expect("by role");
        let ns = |role: &str| cpu.get(role).and_then(Value::as_u64).unwrap_or(0);
        assert!(figure(3) > Some(0.0), "clients used CPU: {cpu:?}");
        if scenario == "built_in" {
            assert_eq!(ns("client backends (exited)"), 0, "{cpu:?}");
            assert_eq!(figure(2), None);
            continue;
        }
        // The backends are gone, and it is known whose they were.
        assert!(ns("client backends (exited)") > 0, "{cpu:?}");
        assert!(ns("client backend") == 0 && ns("exited") <= 10_000_000, "{cpu:?}");
        let drain = &sample["phases"]["drain"]["evidence"]["nodes"]["a"]["cpu_ns"];
        assert!(drain["exited"].as_u64() <= Some(10_000_000), "nothing of them is counted later: {drain}");

        let printed = printed(&ran, scenario);
        assert_eq!(
            printed.lines().find(|line| line.contains("actually processed")),
            Some("number of transactions actually processed: 200/200")
        );
        let tps = number(&printed, "tps = ");
        assert!((figure(0).expect("a rate") / tps - 1.0).abs() < 1e-9, "{figure:?} is not {tps}", figure = figure(0));
        assert!((figure(2).expect("a time") * 1e3 - number(&printed, "initial connection time = ")).abs() < 1e-6);
        // The wall time has what pgbench's own clock leaves out.
        let outside = figure(1).expect("seconds") - 200.0 / tps;
        assert!(outside > figure(2).expect("a time"), "{outside}");
        let by_second = evidence(&sample, "/loads/w/committed_each_second").as_array().expect("counts");
        assert_eq!(by_second.iter().filter_map(Value::as_u64).sum::<u64>(), 200);
    }
    let choices = &report["environment"]["lines"];
    let line = |key: &str| {
        let lines = choices.as_array().expect("lines");
        lines.iter().find(|line| line[0] == key).map(|line| line[1].as_str().expect("a text").to_owned())
    };
    assert!(line("pgbench").is_some_and(|text| text.starts_with(|c: char| c.is_ascii_digit())), "{choices:#}");
    assert!(ran.stdout.contains("| workload `w`: engine"), "{}", ran.stdout);
    let plan = std::fs::read_to_string(ran.out.join("plan.txt")).expect("a plan");
    let engines: Vec<Vec<&str>> = plan
        .lines()
        .filter(|line| line.trim_start().starts_with("engine = "))
        .map(|line| line.split_whitespace().skip(2).collect())
        .collect();
    assert_eq!(engines, [["runner", "default"], ["pgbench", "spec.toml:53"], ["pgbench", "spec.toml:57"]]);
    assert!(plan.contains("pgbench -n -M prepared -c 4 -j 2 -t 50 "), "{plan}");
}

#[test]
fn what_pgbench_refuses_or_breaks_off_is_told_in_its_words_and_never_a_figure() {
    let spec = r#"
[workloads.w]
node = "a"
engine = "pgbench"
clients = 4
transactions = 400
script = "INSERT INTO items (n) VALUES (1);"
[[report.tables]]
title = "Figures"
each = "run"
columns = [{ title = "TPS", value = "load.tps" }, { title = "Failed", value = "load.failed" }]
[[scenarios]]
name = "aborted"
workloads.w.script = "INSERT INTO items (n) VALUES (1 / (:client_id - 2));"
[[scenarios]]
name = "meta_command"
workloads.w.script = '''
\set n 1 / (:client_id - 2)
INSERT INTO items (n) VALUES (:n);
'''
[[scenarios]]
name = "without_identity"
setup = [{ name = "no_identity", nodes = ["a"], sql = "ALTER TABLE items DROP CONSTRAINT items_pkey" }]
workloads.w.script = "UPDATE items SET n = 2;"
[[scenarios]]
name = "without_tables"
setup = [{ name = "none", nodes = ["a"], sql = "/* no pgbench_accounts */ SELECT 1" }]
[scenarios.workloads.w]
builtin = "select-only"
[[scenarios]]
name = "serialization"
setup = [{ name = "row", nodes = ["a"], sql = "INSERT INTO items VALUES (0, 0)" }]
workloads.w.script = '''
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT sum(n) FROM items;
UPDATE items SET n = n + 1 WHERE id = 0;
COMMIT;
'''
"#;
    // A scenario replaces the script by another kind of it.
    let spec = spec.replace(
        "[scenarios.workloads.w]\nbuiltin",
        "without = [\"workloads.w.script\"]\n[scenarios.workloads.w]\nbuiltin",
    );
    let ran = RunnerCommand::spec(&[PAIR, &spec].concat()).run().ended_with(1);
    let report = ran.report();
    let excluded = report["excluded"].as_array().expect("a list");
    for (scenario, causes) in [
        ("aborted", &["was aborted, so there is no whole result", "client 2 script 0 aborted", "division by zero"][..]),
        ("meta_command", &["no whole result", "evaluation of meta-command failed", "division by zero"]),
        ("without_identity", &["no whole result", "does not have a replica identity"]),
        ("without_tables", &["pgbench refused", "relation \"pgbench_branches\" does not exist"]),
    ] {
        let sample = ran.sample(scenario);
        let said = complaint(&sample);
        assert!(sample["outcome"].get("failed").is_some(), "{scenario}: {sample:#}");
        for cause in causes {
            assert!(said.contains(cause), "{scenario}: `{cause}` is not in `{said}`");
        }
        assert!(
            evidence(&sample, "/loads").as_object().is_some_and(serde_json::Map::is_empty),
            "no figures of {scenario}"
        );
        assert!(excluded.iter().any(|one| one["scenario"] == scenario));
        assert!(printed(&ran, scenario).contains("pgbench: error: "), "its words are kept");
    }
    // Failures by serialization are no abort: they are counted, by either side alike.
    let sample = ran.sample("serialization");
    assert_eq!(sample["outcome"], "completed", "{sample:#}");
    let failed = evidence(&sample, "/loads/w/scripts/w/failed/40001").as_u64().expect("some failed");
    let committed = evidence(&sample, "/loads/w/scripts/w/committed").as_u64().expect("some did not");
    assert_eq!(committed + failed, 400);
    let printed = printed(&ran, "serialization");
    assert_eq!(number(&printed, "number of failed transactions: ") as u64, failed);
    let row = &report["tables"][0]["rows"][4]["cells"];
    assert!((row[0]["value"].as_f64().expect("a rate") / number(&printed, "tps = ") - 1.0).abs() < 1e-9);
    assert_eq!(row[1]["value"].as_f64(), Some(failed as f64));
}

#[test]
fn built_in_scripts_run_by_either_engine_on_tables_of_any_scale() {
    let spec = r#"
title = "A test"
[vars]
scale = 2
[run]
rounds = 1
order = "as_written"
[postgres.settings]
fsync = "off"
[nodes.a]
[[setup]]
name = "accounts"
nodes = ["a"]
pgbench_init = { scale = "{{ scale }}", fillfactor = 90 }
[[setup]]
name = "seen"
nodes = ["a"]
sql = "CREATE TABLE seen (scale int, branch int)"
[workloads.tpcb]
node = "a"
builtin = "tpcb-like"
clients = 2
transactions = 60
[workloads.others]
node = "a"
transactions = 60
scripts = [
  { name = "update", builtin = "simple-update" },
  { name = "select", builtin = "select-only" },
  { name = "own",    script = "INSERT INTO seen VALUES (:scale, 0)" },
]
[workloads.alone]
node = "a"
transactions = 20
script = '''
\set branch random(1, :scale)
INSERT INTO seen VALUES (:scale, :branch);
'''
[workloads.check]
node = "a"
transactions = 1
script = '''
SELECT 1 / (count(*) = 60 + (SELECT count(*) FROM pgbench_history WHERE false))::int AS x FROM pgbench_history h WHERE h.bid BETWEEN 1 AND 2;
SELECT 1 / (sum(abalance) = (SELECT sum(delta) FROM pgbench_history))::int FROM pgbench_accounts;
SELECT 1 / (sum(tbalance) = (SELECT sum(bbalance) FROM pgbench_branches))::int FROM pgbench_tellers;
SELECT 1 / (count(*) >= 20 AND min(scale) = 2 AND max(scale) = 2)::int FROM seen;
'''
[[phases]]
name = "tpcb"
run = ["tpcb"]
[[phases]]
name = "load"
run = ["others"]
[[phases]]
name = "alone"
run = ["alone"]
[[phases]]
name = "check"
run = ["check"]
[[scenarios]]
name = "built_in"
[[scenarios]]
name = "by_pgbench"
[scenarios.workloads]
tpcb.engine = "pgbench"
others.engine = "pgbench"
alone.engine = "pgbench"
"#;
    // What the other scripts add to the history is known only once they ran.
    let spec = spec.replace("count(*) = 60 + (SELECT count(*) FROM pgbench_history WHERE false)", "count(*) >= 60");
    let ran = RunnerCommand::spec(&spec).run().ended_with(0);
    for scenario in ["built_in", "by_pgbench"] {
        let sample = ran.sample(scenario);
        assert_eq!(sample["outcome"], "completed", "{scenario}");
        let committed = |phase: &str, pointer: &str| {
            sample["phases"][phase]["evidence"].pointer(pointer).and_then(Value::as_u64).expect("a count")
        };
        assert_eq!(committed("tpcb", "/loads/tpcb/scripts/tpcb/committed"), 60);
        let each = ["update", "select", "own"]
            .map(|name| committed("load", &format!("/loads/others/scripts/{name}/committed")));
        assert_eq!(each.iter().sum::<u64>(), 60);
        assert!(each.iter().all(|count| *count > 5), "{each:?}");
        // The four statements that judge the tables: a wrong one divides by zero.
        assert_eq!(committed("check", "/loads/check/scripts/check/committed"), 1, "{scenario}");
    }
}

/// `pgbench` of the newest version that is there, as the product finds it.
async fn newest() -> std::path::PathBuf {
    let found = crate::support::postgres::found().await;
    let path = std::env::var_os("PATH");
    let tool = runner::lab::tools::newest("pgbench", &found, path.as_deref()).await;
    match tool {
        Some(tool) => tool.program,
        None => crate::support::postgres::server(18).await.program("pgbench"),
    }
}

#[tokio::test(flavor = "current_thread")]
async fn our_tables_and_scripts_are_those_of_pgbench() {
    use crate::support::postgres::{lab, request, server, servers, session, target, value};
    use runner::plan::sql::pgbench_init;
    use runner::script::{Builtin, split};
    use runner::spec::scenario::PgbenchInit;
    use runner::wire::Connection;

    let pgbench = newest().await;
    for builtin in Builtin::ALL {
        let shown = Command::new(&pgbench).arg(format!("--show-script={}", builtin.name())).output().expect("it runs");
        let shown = String::from_utf8(shown.stderr).expect("text");
        let (_, text) = shown.split_once('\n').expect("a heading");
        assert_eq!(text.trim_end(), builtin.text().trim_end());
    }

    let _leave = servers().await;
    let mut lab = lab().await;
    let node = lab.start(request("n1", 0, &server(18).await)).await.expect("a server");
    session(&node).query("CREATE DATABASE theirs").expect("a database");
    let made = Command::new(&pgbench)
        .args(["-i", "-q", "-s", "2", "-F", "90", "-h"])
        .arg(&node.socket_dir)
        .args(["-p", &node.port.to_string(), "-U", "postgres", "theirs"])
        .output()
        .expect("it runs");
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    let mut ours = session(&node);
    for statement in split(&pgbench_init::create(PgbenchInit { scale: 2, fillfactor: 90, rows: true })) {
        ours.query(statement).unwrap_or_else(|error| panic!("{statement}: {error}"));
    }
    let mut of_theirs = target(&node);
    of_theirs.database = "theirs".to_owned();
    let mut theirs = Connection::open(&of_theirs).expect("a session");
    for sql in [
        // Columns with their types and places, options, persistence, vacuumed and frozen pages, estimates.
        "SELECT string_agg(format('%s %s %s %s %s %s', c.relname, a.attnum, a.attname, format_type(a.atttypid, a.atttypmod), a.attnotnull, a.attstorage), E'\\n' ORDER BY c.relname, a.attnum) FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid WHERE c.relname LIKE 'pgbench%' AND c.relkind = 'r' AND a.attnum > 0",
        "SELECT string_agg(format('%s %s %s %s %s %s %s %s', c.relname, c.relkind, c.reloptions, c.relpersistence, c.relpages, c.reltuples, c.relallvisible, c.relallfrozen), E'\\n' ORDER BY c.relname) FROM pg_class c WHERE c.relname LIKE 'pgbench%'",
        "SELECT string_agg(indexdef, E'\\n' ORDER BY indexname) FROM pg_indexes WHERE schemaname = 'public'",
        "SELECT string_agg(format('%s %s', conname, pg_get_constraintdef(oid)), E'\\n' ORDER BY conname) FROM pg_constraint WHERE connamespace = 'public'::regnamespace",
        "SELECT format('%s %s', count(*), md5(string_agg(t::text, ',' ORDER BY bid))) FROM pgbench_branches t",
        "SELECT format('%s %s', count(*), md5(string_agg(t::text, ',' ORDER BY tid))) FROM pgbench_tellers t",
        "SELECT format('%s %s', count(*), md5(string_agg(t::text, ',' ORDER BY aid))) FROM pgbench_accounts t",
        "SELECT count(*) FROM pgbench_history",
    ] {
        let (mine, other) = (value(&mut ours, sql), value(&mut theirs, sql));
        assert!(!mine.is_empty(), "{sql}");
        assert_eq!(mine, other, "{sql}");
    }
    drop((ours, theirs));
    lab.close().await.expect("the lab closes");
}

/// A load that goes on for minutes.
const LONG: &str = r#"
[workloads.w]
node = "a"
engine = "pgbench"
clients = 2
threads = 2
duration = "300s"
script = "INSERT INTO items (n) VALUES (1);"
[[scenarios]]
name = "only"
"#;

#[test]
fn a_load_that_outlasts_its_phase_is_ended_and_told() {
    let ran = RunnerCommand::spec(&[PAIR, LONG, "[[scenarios.phases]]\nname = \"load\"\ntimeout = \"1s\"\n"].concat());
    let ran = ran.run().ended_with(1);
    let sample = ran.sample("only");
    assert!(sample["outcome"].get("timed_out").is_some(), "{sample:#}");
    assert!(complaint(&sample).contains("workload w has ended"), "{}", complaint(&sample));
    // It did not run on for five minutes.
    assert!(sample["total_seconds"].as_f64() < Some(60.0));
}

#[cfg(target_os = "linux")]
#[test]
fn an_interrupted_or_killed_runner_leaves_no_pgbench_and_no_file_of_it() {
    use rustix::process::{Pid, Signal, kill_process};

    for signal in [Signal::INT, Signal::KILL] {
        let command = RunnerCommand::spec(&[PAIR, LONG].concat());
        let mut running = command.spawn();
        let (pid, folder) = loop {
            if let Some(status) = running.try_wait().expect("a child") {
                panic!("it ended with {status} before pgbench was there");
            }
            if let Some(found) = pgbench_of(running.id()) {
                break found;
            }
            std::thread::sleep(std::time::Duration::from_millis(20));
        };
        assert!(folder.join("w.pgbench").exists(), "{}", folder.display());
        let runner = Pid::from_raw(running.id().cast_signed()).expect("a pid");
        kill_process(runner, signal).expect("it takes the signal");
        let status = running.wait().expect("it ends");
        if signal == Signal::INT {
            assert_eq!(status.code(), Some(130));
            assert!(!is_there(pid, &folder), "it is gone when the runner is");
        }
        // What a killed runner leaves its guard removes, and the kernel ends its children.
        while is_there(pid, &folder) {
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
    }
}

/// Whether anything of it is still there.
#[cfg(target_os = "linux")]
fn is_there(pid: u32, folder: &Path) -> bool {
    let name = std::fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
    name.trim() == "pgbench" || folder.exists()
}

/// The pgbench that this process started, with its working folder, once it runs.
#[cfg(target_os = "linux")]
fn pgbench_of(parent: u32) -> Option<(u32, std::path::PathBuf)> {
    std::fs::read_dir("/proc").expect("/proc").flatten().find_map(|entry| {
        let pid: u32 = entry.file_name().to_str()?.parse().ok()?;
        let stat = std::fs::read_to_string(entry.path().join("stat")).ok()?;
        let (name, rest) = stat.split_once('(')?.1.rsplit_once(')')?;
        let ppid = rest.split_whitespace().nth(1)?;
        (name == "pgbench" && ppid == parent.to_string()).then_some(())?;
        let folder = std::fs::read_link(entry.path().join("cwd")).ok()?;
        // One that is asked for its version has no folder of its own.
        (folder != Path::new("/")).then_some((pid, folder))
    })
}

#[test]
fn without_its_log_pgbench_tells_counts_and_rate_and_no_latency() {
    let spec = r#"
[workloads.w]
node = "a"
engine = "pgbench"
log = false
clients = 2
transactions = 100
script = "INSERT INTO items (n) VALUES (1)"
[[report.tables]]
title = "Figures"
each = "run"
columns = [{ title = "TPS", value = "load.tps" }, { title = "p50", value = "load.latency_p50" }]
[[report.charts]]
title = "TPS over time"
kind = "lines"
value = "tps"
"#;
    let ran = RunnerCommand::spec(&[PAIR, spec].concat()).run().ended_with(0);
    let report = ran.report();
    assert_eq!(report["charts"][0]["note"], "without `w`, run with log = false", "{}", report["charts"]);
    let cells = &report["tables"][0]["rows"][0]["cells"];
    let sample = ran.samples().remove(0);
    assert_eq!(sample["convergence"]["tables"][0]["published"]["rows"], 100);
    assert_eq!(evidence(&sample, "/loads/w/scripts/w/committed"), 100);
    assert_eq!(evidence(&sample, "/loads/w/committed_each_second").as_array().map(Vec::len), Some(0));
    let tps = number(&printed(&ran, "default"), "tps = ");
    assert!((cells[0]["value"].as_f64().expect("a rate") / tps - 1.0).abs() < 1e-9);
    assert_eq!(cells[1]["value"].as_f64(), None);
    let text = std::fs::read_to_string(ran.out.join("report.md")).expect("a report");
    assert!(text.contains("pgbench kept no log of its transactions (`log = false`)"), "{text}");
    let plan = std::fs::read_to_string(ran.out.join("plan.txt")).expect("a plan");
    assert!(plan.contains("pgbench -n") && !plan.contains("--log"), "{plan}");
}
