//! Real runs by the program: what is replicated, what is compared, what is measured, and what is said when a run goes
//! wrong. Each test is one call with a few scenarios, so that it stays quick.

use std::path::Path;

use serde_json::Value;

use crate::support::runner::{Ran, RunnerCommand, complaint};

/// Two nodes, a publisher and a subscriber, that do not flush.
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
"#;

/// One table with a key, published by `a` and subscribed to by `b`; a load of ten rows, and its drain.
const ITEMS: &str = r#"
[[setup]]
name = "schema"
nodes = ["a", "b"]
sql = "CREATE TABLE items (id int PRIMARY KEY, n int)"
[publications.p]
node = "a"
tables = ["items"]
[subscriptions.s]
node = "b"
publications = ["p"]
[workloads.w]
node = "a"
transactions = 1
script = "INSERT INTO items SELECT i, i FROM generate_series(1, 10) i;"
[[phases]]
name = "load"
run = ["w"]
[[phases]]
name = "drain"
wait = "applied"
"#;

fn run(parts: &[&str]) -> Ran {
    RunnerCommand::spec(&parts.concat()).run()
}

/// Row counts of the compared tables by name, which agree on both sides.
#[track_caller]
fn agreed(sample: &Value) -> Vec<(String, u64)> {
    assert_eq!(sample["outcome"], "completed", "{sample:#}");
    let tables = sample["convergence"]["tables"].as_array().expect("tables were compared");
    tables
        .iter()
        .map(|table| {
            assert_eq!(table["published"], table["subscribed"]);
            let name = table["table"].as_str().expect("a name");
            (name.to_owned(), table["published"]["rows"].as_u64().expect("a number"))
        })
        .collect()
}

/// A number of the evidence of a phase.
#[track_caller]
fn evidence<'s>(sample: &'s Value, phase: &str, pointer: &str) -> &'s Value {
    let evidence = &sample["phases"][phase]["evidence"];
    evidence.pointer(pointer).unwrap_or_else(|| panic!("{phase} has {pointer}: {evidence:#}"))
}

#[test]
fn names_that_need_quotes_work_everywhere() {
    let spec = r#"
[[setup]]
name = "schema"
nodes = ["a", "b"]
sql = '''
CREATE SCHEMA "My Schema";
CREATE TYPE "My Schema"."Mood" AS ENUM ('ok', 'it''s; "so"');
CREATE TABLE "My Schema"."Tab ""Q"" x" ("Id" int PRIMARY KEY, "select" "My Schema"."Mood", "it's" text);
'''
[publications.user]
node = "a"
tables = [{ name = '"My Schema"."Tab ""Q"" x"', columns = ["Id", "select", "it's"], where = '"Id" > 0' }]
[subscriptions.all]
node = "b"
publications = ["user"]
[workloads.order]
node = "a"
transactions = 1
script = '''INSERT INTO "My Schema"."Tab ""Q"" x" VALUES (1, 'it''s; "so"', 'x'), (0, 'ok', 'not sent');'''
[[phases]]
name = "select"
prepare = [{ disable = "subscriptions.all" }]
run = ["order"]
[[phases]]
name = "where"
start = [{ enable = "subscriptions.all" }]
wait = "applied"
[[report.tables]]
title = "T"
columns = [{ title = "Start-up", value = "where.startup_seconds{subscription=all}" }]
[[scenarios]]
name = "table"
"#;
    let ran = RunnerCommand::spec(&[PAIR, spec].concat()).results("results of \"today's\" run; $HOME").run();
    let ran = ran.ended_with(0);
    let sample = ran.sample("table");
    assert_eq!(agreed(&sample), [("\"My Schema\".\"Tab \"\"Q\"\" x\"".to_owned(), 1)]);
    assert!(evidence(&sample, "where", "/startup_seconds/all").as_f64().is_some());
    let stored = std::fs::read_to_string(ran.out.join("report.md")).expect("a report");
    assert_eq!(stored, ran.stdout);
    let again = RunnerCommand::new().arguments(["report", &ran.out.display().to_string()]).run().ended_with(0);
    assert_eq!(again.stdout, ran.stdout);
}

#[test]
fn the_shipped_spec_runs_small_and_its_two_reports_say_the_same() {
    let spec = concat!(env!("CARGO_MANIFEST_DIR"), "/specs/replica_identity_full.toml");
    let small = ["--set", "rows=2000", "--set", "changed=50", "--set", "run.rounds=1"];
    let ran = RunnerCommand::spec("").arguments(small);
    let ran = ran.file("spec.toml", &std::fs::read_to_string(spec).expect("the spec is read")).run();
    // So few rows bear no claim out.
    assert!([0, 1].contains(&ran.status), "{}", ran.stderr);
    for sample in ran.samples() {
        assert_eq!(agreed(&sample), [("public.items".to_owned(), 2000)]);
    }
    let json = ran.report();
    assert_eq!(json["summary"]["valid"], 2);
    let markdown = &ran.stdout;
    assert!(markdown.contains(json["title"].as_str().expect("a title")));
    for claim in json["claims"].as_array().expect("claims") {
        assert!(markdown.contains(claim["claim"].as_str().expect("a text")));
        assert!(markdown.contains(claim["ours"].as_str().expect("a figure")));
    }
    let tables = json["tables"].as_array().expect("tables");
    assert_eq!(tables.len(), 2);
    for row in tables.iter().flat_map(|table| table["rows"].as_array().expect("rows")) {
        let title = row["title"].as_str().expect("a title");
        let texts: Vec<&str> =
            row["cells"].as_array().expect("cells").iter().map(|cell| cell["text"].as_str().expect("a text")).collect();
        let shown = markdown.lines().any(|line| line.contains(title) && texts.iter().all(|text| line.contains(text)));
        assert!(shown, "a line with {title} and {texts:?} in\n{markdown}");
    }
}

#[test]
fn what_is_published_is_what_is_compared() {
    let spec = r#"
[[setup]]
name = "schema"
nodes = ["a", "b"]
sql = '''
CREATE TABLE generated (id int PRIMARY KEY, x int, y int GENERATED ALWAYS AS (x * 2) STORED);
CREATE TABLE toast (id int PRIMARY KEY, big text, n int);
ALTER TABLE toast ALTER big SET STORAGE EXTERNAL;
CREATE TABLE listed (id int PRIMARY KEY, sent text, kept text DEFAULT 'own');
CREATE TABLE filtered (id int PRIMARY KEY, n int);
CREATE TABLE inserted (id int PRIMARY KEY, n int);
CREATE SCHEMA s;
CREATE TABLE s.t (id int PRIMARY KEY);
'''
[[setup]]
name = "rows"
nodes = ["a"]
sql = '''
INSERT INTO toast SELECT 1, string_agg(md5(i::text), ''), 0 FROM generate_series(1, 625) i;
INSERT INTO listed VALUES (1, 'x', 'secret');
INSERT INTO inserted VALUES (1, 0);
'''
[workloads.w]
node = "a"
transactions = 1
script = '''
INSERT INTO generated (id, x) VALUES (1, 2), (2, 3);
UPDATE generated SET x = 5 WHERE id = 1;
UPDATE toast SET n = n + 1;
INSERT INTO listed VALUES (2, 'y', 'secret');
INSERT INTO filtered SELECT i, i FROM generate_series(1, 20) i;
UPDATE inserted SET n = 1;
INSERT INTO s.t VALUES (1), (2), (3);
'''
[[phases]]
name = "load"
run = ["w"]
[[phases]]
name = "drain"
wait = "applied"

[[scenarios]]
name = "tables"
[scenarios.publications.p]
node = "a"
tables = ["generated", "toast", { name = "listed", columns = ["id", "sent"] }, { name = "filtered", where = "id > 15" }]
[scenarios.publications.i]
node = "a"
tables = ["inserted"]
options = { publish = "insert" }
[scenarios.publications.of_schema]
node = "a"
schemas = ["s"]
[scenarios.subscriptions.first]
node = "b"
publications = ["p"]
[scenarios.subscriptions.second]
node = "b"
publications = ["i", "of_schema"]

[[scenarios]]
name = "all_tables"
[scenarios.publications.everything]
node = "a"
all_tables = true
[scenarios.subscriptions.everything]
node = "b"
publications = ["everything"]
"#;
    let ran = run(&[PAIR, spec]).ended_with(0);
    let sample = ran.sample("tables");
    let named = |list: &[(&str, u64)]| -> Vec<(String, u64)> {
        list.iter().map(|(name, rows)| ((*name).to_owned(), *rows)).collect()
    };
    let expected =
        [("public.filtered", 5), ("public.generated", 2), ("public.listed", 2), ("public.toast", 1), ("s.t", 3)];
    assert_eq!(agreed(&sample), named(&expected));
    assert!(ran.stdout.contains("public.inserted was not compared"), "{}", ran.stdout);
    // Two ways lead to `b`, and both have delivered before the phase ended.
    let plan = std::fs::read_to_string(ran.out.join("plan.txt")).expect("a plan");
    assert!(plan.contains("marker 1 is visible on b (2 times)"), "{plan}");
    // The value of 20,000 characters that did not change is not sent again.
    let expected = [
        ("public.filtered", 20),
        ("public.generated", 2),
        ("public.inserted", 1),
        ("public.listed", 2),
        ("public.toast", 1),
        ("s.t", 3),
    ];
    assert_eq!(agreed(&ran.sample("all_tables")), named(&expected));
}

#[test]
fn a_cascade_is_drained_to_its_end() {
    let spec = r#"
[nodes.b.settings]
wal_level = "logical"
[nodes.c]
[[setup]]
name = "schema"
nodes = ["a", "b", "c"]
sql = "CREATE TABLE items (id int PRIMARY KEY, n int)"
[publications.on_a]
node = "a"
all_tables = true
[publications.on_b]
node = "b"
schemas = ["public"]
[subscriptions.on_b]
node = "b"
publications = ["on_a"]
[subscriptions.on_c]
node = "c"
publications = ["on_b"]
[workloads.w]
node = "a"
clients = 2
transactions = 100
script = '''
\set id random(1, 1000000)
INSERT INTO items VALUES (:id, 1) ON CONFLICT (id) DO UPDATE SET n = items.n + 1;
'''
[[phases]]
name = "load"
run = ["w"]
[[phases]]
name = "drain"
wait = "applied"
[[scenarios]]
name = "only"
"#;
    let ran = run(&[&PAIR.replace("[nodes.b]\n", ""), spec]).ended_with(0);
    let sample = ran.sample("only");
    let rows = agreed(&sample);
    assert_eq!(rows.len(), 2, "{rows:?}");
    assert_eq!(rows[0], rows[1]);
    let visible = |node: &str| evidence(&sample, "drain", &format!("/marker/visible_seconds/{node}")).as_f64();
    assert!(visible("b") <= visible("c"));
}

#[test]
fn each_failure_tells_its_cause_and_the_others_go_on() {
    let spec = r#"
[[scenarios]]
name = "conflict"
setup = [{ name = "own_row", nodes = ["b"], sql = "INSERT INTO items VALUES (3, 0)" }]
[[scenarios]]
name = "disabled_on_error"
setup = [{ name = "own_row", nodes = ["b"], sql = "INSERT INTO items VALUES (3, 0)" }]
[scenarios.subscriptions.s.options]
disable_on_error = true
[[scenarios.phases]]
name = "pause"
after = "load"
hold = "500ms"
[[scenarios]]
name = "missing_column"
setup = [{ name = "drop", nodes = ["b"], sql = "ALTER TABLE items DROP n" }]
[[scenarios]]
name = "wont_start"
[scenarios.nodes.b.settings]
wal_level = "minimal"
max_wal_senders = 10
[[scenarios]]
name = "script_stops"
[scenarios.workloads.w]
script = '''
\set x 1 / (:client_id - 0)
SELECT :x;
'''
[[scenarios]]
name = "all_transactions_fail"
setup = [{ name = "no_identity", nodes = ["a"], sql = "ALTER TABLE items DROP CONSTRAINT items_pkey" }]
[scenarios.workloads.w]
script = """
INSERT INTO items VALUES (1, 1);
UPDATE items SET n = 2;
"""
[[scenarios]]
name = "setup_fails"
setup = [{ name = "wrong", nodes = ["a"], sql = "SELECT 1; SELECT no_such_column" }]
[[scenarios]]
name = "good"
"#;
    let ran = run(&[PAIR, ITEMS, spec]).ended_with(1);
    let report = ran.report();
    let excluded = report["excluded"].as_array().expect("a list");
    for (scenario, causes) in [
        ("conflict", &["on `b`", "duplicate key value violates unique constraint \"items_pkey\"", "(id)=(3)"][..]),
        ("disabled_on_error", &["on `b`", "(id)=(3)"]),
        ("missing_column", &["on `b`", "missing replicated column: \"n\""]),
        ("wont_start", &["WAL streaming", "wal_level"]),
        ("script_stops", &["division by zero"]),
        ("all_transactions_fail", &["none of its 1 transaction(s)", "does not have a replica identity"]),
        ("setup_fails", &["on `a`", "column \"no_such_column\" does not exist"]),
    ] {
        let sample = ran.sample(scenario);
        let said = complaint(&sample);
        assert!(sample["outcome"].get("failed").is_some(), "{scenario}: {sample:#}");
        // On 18 the server names the conflict's kind instead of the constraint's breach.
        let told = |cause: &str| said.contains(cause) || scenario == "conflict" && said.contains("insert_exists");
        let untold: Vec<&&str> = causes.iter().filter(|cause| !told(cause)).collect();
        assert!(untold.is_empty(), "{scenario}: {untold:?} not in `{said}`");
        // Of the ten minutes that each step may take.
        assert!(sample["total_seconds"].as_f64().expect("a number") < 60.0, "{scenario} waited for nothing");
        let excluded = excluded.iter().find(|one| one["scenario"] == scenario).expect("it is among the excluded");
        let why = excluded["reason"].as_str().expect("a reason");
        assert!(why.contains(&said), "{scenario}: `{said}` is not in `{why}`");
    }
    assert_eq!(agreed(&ran.sample("good")), [("public.items".to_owned(), 10)]);
    // Each run's log is its own: the last one has no error of the runs before.
    let logs = ran.out.join("logs");
    let of_good = names(&logs).into_iter().find(|name| name.contains("good")).expect("logs of the last run");
    let log = std::fs::read_to_string(logs.join(of_good).join("b.log")).expect("the log of `b`");
    assert!(log.contains("ready to accept connections") && !log.contains("ERROR"), "{log}");
    assert_eq!(ran.report()["summary"]["valid"], 1);
}

#[test]
fn rows_that_differ_are_named() {
    let spec = r#"
[[scenarios]]
name = "damaged"
[[scenarios.phases]]
name = "harm"
prepare = [{ sql = "UPDATE items SET n = -77 WHERE id = 7", nodes = ["b"] }]
hold = "10ms"
[[scenarios]]
name = "missing"
[[scenarios.phases]]
name = "harm"
prepare = [{ sql = "DELETE FROM items WHERE id = 4", nodes = ["b"] }]
hold = "10ms"
"#;
    let ran = run(&[PAIR, ITEMS, spec]).ended_with(1);
    for (scenario, parts) in [
        ("damaged", &["public.items: 10 row(s) on a, 10 on b", "only on a: (7,7)", "only on b: (7,-77)"][..]),
        ("missing", &["public.items: 10 row(s) on a, 9 on b", "only on a: (4,4)"]),
    ] {
        let said = complaint(&ran.sample(scenario));
        for part in parts {
            assert!(said.contains(part), "{scenario}: `{part}` is not in `{said}`");
            assert!(ran.stdout.contains(part), "{scenario}: `{part}` is not in\n{}", ran.stdout);
        }
    }
}

#[test]
fn a_phase_that_runs_out_of_time_tells_what_stood_in_its_way() {
    let spec = r#"
[[scenarios]]
name = "disabled"
[[scenarios.phases]]
name = "load"
prepare = [{ disable = "subscriptions.s" }]
[[scenarios.phases]]
name = "drain"
timeout = "2s"
[[scenarios]]
name = "locked"
[[scenarios.phases]]
name = "load"
prepare = [{ sql = "BEGIN; LOCK TABLE items", nodes = ["b"] }]
[[scenarios.phases]]
name = "drain"
timeout = "2s"
[[scenarios]]
name = "sleeping"
setup = [{ name = "slow", nodes = ["b"], sql = '''
CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN PERFORM pg_sleep(600); RETURN NULL; END$$;
CREATE TRIGGER slow AFTER INSERT ON items FOR EACH ROW EXECUTE FUNCTION slow();
ALTER TABLE items ENABLE ALWAYS TRIGGER slow;
''' }]
[[scenarios.phases]]
name = "drain"
timeout = "1s"
[[scenarios]]
name = "endless"
[scenarios.workloads.w]
script = "SELECT pg_sleep(600);"
[[scenarios.phases]]
name = "load"
timeout = "1s"
"#;
    let ran = run(&[PAIR, ITEMS, spec]).ended_with(1);
    for (scenario, parts) in [
        ("disabled", &["marker 1 is visible on b", "subscription `s` is disabled"][..]),
        (
            "locked",
            &[
                "marker 1 is visible on b",
                "subscription `s` is enabled",
                "Lock/relation",
                "held by the runner's own session",
            ],
        ),
        ("sleeping", &["marker 1 is visible on b", "Timeout/PgSleep"]),
        ("endless", &["workload w has ended", "Timeout/PgSleep in SELECT pg_sleep(600)"]),
    ] {
        let sample = ran.sample(scenario);
        assert!(sample["outcome"].get("timed_out").is_some(), "{scenario}: {sample:#}");
        let said = complaint(&sample);
        for part in parts {
            assert!(said.contains(part), "{scenario}: `{part}` is not in `{said}`");
        }
    }
}

#[test]
fn every_kind_of_phase_and_load_does_what_it_says() {
    let spec = r#"
[workloads.timed]
node = "a"
duration = "300ms"
clients = 2
protocol = "simple"
script = '''
\set id random(1000, 1000000)
INSERT INTO items VALUES (:id, ':id') ON CONFLICT DO NOTHING;
'''
[workloads.failing]
node = "a"
transactions = 20
script = '''
\set id :client_id + random(0, 1)
INSERT INTO items VALUES (random() * 1000000000 + 2000000, 100 / :id);
'''
[windows]
total = ["load", "drain"]
[[report.tables]]
title = "Figures"
each = "run"
columns = [
  { title = "Drain s",  value = "drain.seconds" },
  { title = "Total s",  value = "total.seconds" },
  { title = "Load s",   value = "load.seconds" },
  { title = "Commit s", value = "drain.marker_commit_seconds" },
  { title = "Failed",   value = "load.failed{script=failing}" },
  { title = "All",      value = "load.transactions" },
]
[[scenarios]]
name = "whole"
[[scenarios.phases]]
name = "load"
run = ["w", "timed", "failing"]
[[scenarios.phases]]
name = "warm"
measure = false
hold = "50ms"
[[scenarios.phases]]
name = "later"
prepare = [
  { sql = "CREATE TABLE late (id int PRIMARY KEY); INSERT INTO late VALUES (1)", nodes = ["a"] },
  { sql = "CREATE TABLE late (id int PRIMARY KEY)", nodes = ["b"] },
  { sql = "ALTER PUBLICATION p ADD TABLE late", nodes = ["a"] },
  { refresh = "subscriptions.s" },
  { checkpoint = "all" },
]
hold = "200ms"
[[scenarios.phases]]
name = "again"
start = [{ sql = "INSERT INTO late VALUES (2)", nodes = ["a"] }]
wait = "applied"
[[scenarios.phases]]
name = "last"
wait = "applied"
[scenarios.marker]
commit = "as_load"
[[scenarios]]
name = "alone"
without = ["subscriptions.s", "publications.p", "workloads.timed", "workloads.failing"]
"#;
    let ran = run(&[PAIR, ITEMS, spec]).ended_with(0);
    let whole = ran.sample("whole");
    let tables = agreed(&whole);
    assert_eq!(tables.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(), ["public.items", "public.late"]);
    assert_eq!(tables[1].1, 2);
    let number =
        |sample: &Value, phase: &str, pointer: &str| evidence(sample, phase, pointer).as_f64().expect("a number");
    assert_eq!(*evidence(&whole, "load", "/loads/w/scripts/w/committed"), 1);
    assert!(number(&whole, "load", "/loads/timed/scripts/timed/committed") >= 2.0);
    assert_eq!(*evidence(&whole, "load", "/loads/timed/clients"), 2);
    let (committed, failed) = (
        number(&whole, "load", "/loads/failing/scripts/failing/committed"),
        evidence(&whole, "load", "/loads/failing/scripts/failing/failed").as_object().expect("by SQLSTATE").clone(),
    );
    let all: u64 = failed.values().map(|count| count.as_u64().expect("a number")).sum();
    assert!(all > 0 && failed.contains_key("22012"), "of twenty coins some fall on zero: {failed:?}");
    assert_eq!(committed as u64 + all, 20);
    assert!(number(&whole, "load", "/seconds") >= 0.3);
    assert!(number(&whole, "later", "/seconds") >= 0.2);
    assert_eq!(whole["phases"]["warm"]["measure"], false);
    assert!(ran.stdout.contains("22012") || ran.stdout.contains("division by zero"), "{}", ran.stdout);

    let alone = ran.sample("alone");
    assert_eq!(alone["outcome"], "completed");
    assert_eq!(evidence(&alone, "drain", "/no_downstream"), true);
    let report = ran.report();
    let rows = report["tables"][0]["rows"].as_array().expect("rows").clone();
    let of = |scenario: &str| rows.iter().find(|row| row["scenario"] == scenario).expect("a row").clone();
    let (whole, alone) = (of("whole"), of("alone"));
    let value = |row: &Value, index: usize| row["cells"][index]["value"].as_f64();
    assert_eq!(alone["cells"][0]["text"], "–");
    let (total, load, commit) = (value(&alone, 1), value(&alone, 2), value(&alone, 3));
    let (total, load, commit) = (total.expect("a total"), load.expect("a load"), commit.expect("a commit"));
    // A window that holds the phase counts what the commit took.
    assert!((0.0..0.1).contains(&(total - load - commit)), "{total} is {load} and the commit's {commit}");
    assert_eq!(value(&whole, 4), Some(all as f64));
    assert!(value(&whole, 5) > Some(20.0 - all as f64));
    // What is not the same in both is no choice of the whole run.
    assert!(!ran.stdout.contains("- marker.commit:"), "{}", ran.stdout);
    assert!(ran.stdout.contains("| marker.commit"), "{}", ran.stdout);
}

#[test]
fn transports_wal_and_settings_are_what_the_plan_says() {
    let spec = r#"
[[setup]]
name = "schema"
nodes = ["a", "b"]
sql = "CREATE TABLE items (id int, payload text)"
[publications.p]
node = "a"
tables = ["items"]
[subscriptions.s]
node = "b"
publications = ["p"]
[workloads.w]
node = "a"
clients = 2
transactions = 40
script = "INSERT INTO items SELECT i, repeat('x', 100) FROM generate_series(1, 500) i;"
[[phases]]
name = "load"
run = ["w"]
[[phases]]
name = "drain"
wait = "applied"
[windows]
total = ["load", "drain"]
[[report.tables]]
title = "WAL"
each = "scenario"
columns = [
  { title = "A by position", value = "total.wal_lsn_bytes{node=a}" },
  { title = "A records",     value = "total.wal_bytes{node=a}" },
  { title = "B by position", value = "total.wal_lsn_bytes{node=b}" },
  { title = "B records",     value = "total.wal_bytes{node=b}" },
]
[nodes.b.settings]
work_mem = "5MB"
[[scenarios]]
name = "unix"
[[scenarios]]
name = "tcp"
postgres = { transport = "tcp" }
"#;
    let pair = PAIR.replace("[nodes.b]\n", "");
    for version in versions() {
        let ran = RunnerCommand::spec(&[&pair, spec].concat())
            .arguments(["--set", &format!("postgres.version={version}")])
            .run()
            .ended_with(0);
        for scenario in ["unix", "tcp"] {
            let sample = ran.sample(scenario);
            assert_eq!(agreed(&sample), [("public.items".to_owned(), 20_000)]);
            assert_eq!(sample["nodes"]["b"]["settings"]["work_mem"], "5MB");
            assert_eq!(sample["nodes"]["a"]["settings"]["wal_level"], "logical");
            let release = sample["nodes"]["a"]["version"].as_str().expect("a version");
            assert!(release.starts_with(&version), "{release}");
        }
        let report = ran.report();
        for row in report["tables"][0]["rows"].as_array().expect("rows") {
            let value = |index: usize| row["cells"][index]["value"].as_f64().expect("a figure");
            for (position, records) in [(value(0), value(1)), (value(2), value(3))] {
                // 20,000 rows of some 160 bytes each.
                assert!(records > 3.0e6 && records < 6.0e6, "{version}: {records}");
                assert!((position / records - 1.0).abs() < 0.05, "{version}: {position} and {records}");
            }
        }
    }
}

/// The versions to run on: 18, which is installed where it is missing, and 15 where it is found.
fn versions() -> Vec<String> {
    let found = RunnerCommand::new().arguments(["postgres", "list", "--format", "json"]).run().ended_with(0);
    let found: Value = serde_json::from_str(&found.stdout).expect("a list");
    let has = |major: u64| found.as_array().expect("a list").iter().any(|one| one["version"]["major"] == major);
    let mut versions = vec!["18".to_owned()];
    if has(15) {
        versions.push("15".to_owned());
    }
    versions
}

#[test]
fn nothing_is_left_in_the_folder_for_data() {
    let folder = tempfile::Builder::new().prefix("t").tempdir_in("/tmp").expect("a temporary folder");
    let open = std::os::unix::fs::PermissionsExt::from_mode(0o1777);
    std::fs::set_permissions(folder.path(), open).expect("open to all");
    let spec = [PAIR, ITEMS, "[[scenarios]]\nname = \"only\"\n"].concat();
    let ran = RunnerCommand::spec(&spec).arguments(["--work-dir", &folder.path().display().to_string()]).run();
    let ran = ran.ended_with(0);
    assert_eq!(names(folder.path()), Vec::<String>::new(), "{}", ran.stderr);
}

fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).expect("the folder is read");
    entries.map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned()).collect()
}
