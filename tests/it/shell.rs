//! `runner plan --format sh`: the script does by itself what the runner does.

use std::process::Command;

use crate::support::runner::RunnerCommand;

const SPEC: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/specs/replica_identity_full.toml");
const SMALL: [&str; 6] = ["--set", "rows=2000", "--set", "changed=50", "--set", "run.rounds=1"];

#[test]
fn the_script_gives_the_rows_and_checksums_of_the_runner_and_leaves_nothing_behind() {
    let ran = RunnerCommand::new().arguments([SPEC, "--out", "out"]).arguments(SMALL).run();
    // So few rows bear no claim out: 1.
    assert!([0, 1].contains(&ran.status), "{}", ran.stderr);
    let plan = RunnerCommand::new().arguments(["plan", "--format", "sh", SPEC]).arguments(SMALL).run().ended_with(0);

    let work = tempfile::Builder::new().prefix("runner test's").tempdir_in("/tmp").expect("a temporary folder");
    std::fs::set_permissions(work.path(), std::os::unix::fs::PermissionsExt::from_mode(0o1777)).expect("open to all");
    let script = plan.folder.path().join("the plan.sh");
    std::fs::write(&script, &plan.stdout).expect("the script is written");
    let done = Command::new("sh").arg(&script).env("WORK_DIR", work.path()).output().expect("sh starts");
    let (text, complaints) = (String::from_utf8_lossy(&done.stdout), String::from_utf8_lossy(&done.stderr));
    assert!(done.status.success(), "{text}\n{complaints}");

    let samples = ran.samples();
    assert_eq!(samples.len(), 2);
    for sample in samples {
        let table = &sample["convergence"]["tables"][0]["subscribed"];
        let line = format!(
            "table public.items: {} rows, checksum {}: agree",
            table["rows"],
            table["checksum"].as_str().expect("a checksum")
        );
        assert_eq!(text.matches(&line).count(), 2, "{line} in\n{text}");
    }
    for phase in ["backlog", "apply"] {
        assert_eq!(text.matches(&format!("phase {phase} ")).count(), 2, "{text}");
    }
    assert_eq!(std::fs::read_dir(work.path()).expect("the folder is read").count(), 0, "something was left behind");
    let left = Command::new("pgrep").args(["-f", &work.path().display().to_string()]).output();
    if let Ok(left) = left {
        assert_eq!(String::from_utf8_lossy(&left.stdout), "", "processes were left behind");
    }
}

#[test]
fn a_script_tells_rows_that_differ_and_ends_with_one() {
    let spec = r#"
title = "Two's names, $HOME and `quotes`"
[nodes.a.settings]
wal_level = "logical"
search_path = '''public, "it's"'''
[nodes.b]
[[setup]]
name = "schema"
nodes = ["a", "b"]
sql = '''CREATE SCHEMA "My Schema"; CREATE TABLE "My Schema"."Tab ""Q"" x" ("Id" int PRIMARY KEY, "select" text DEFAULT '$HOME \\');'''
[publications.user]
node = "a"
tables = ['"My Schema"."Tab ""Q"" x"']
[subscriptions.all]
node = "b"
publications = ["user"]
[workloads.w]
node = "a"
clients = 2
transactions = 5
script = '''
\set id :client_id * 100 + random(1, 100)
INSERT INTO "My Schema"."Tab ""Q"" x" VALUES (:id) ON CONFLICT DO NOTHING;
'''
[[phases]]
name = "load"
run = ["w"]
[[phases]]
name = "drain"
wait = "applied"
[[phases]]
name = "still"
prepare = [{ sql = '''INSERT INTO "My Schema"."Tab ""Q"" x" VALUES (1000)''', nodes = ["b"] }]
hold = "100ms"
[[scenarios]]
name = "only"
"#;
    let plan = RunnerCommand::new().file("s.toml", spec).arguments(["plan", "--format", "sh", "s.toml"]).run();
    let plan = plan.ended_with(0);
    assert!(
        plan.stdout.contains("# pgbench counts by client: 5 transactions of 2 clients become 3 of each, 6 in all.")
    );
    let script = plan.folder.path().join("plan.sh");
    std::fs::write(&script, &plan.stdout).expect("the script is written");
    let done = Command::new("sh").arg(&script).output().expect("sh starts");
    let (text, complaints) = (String::from_utf8_lossy(&done.stdout), String::from_utf8_lossy(&done.stderr));
    assert_eq!(done.status.code(), Some(1), "{text}\n{complaints}");
    let line = text.lines().find(|line| line.contains("table ")).expect("a table is compared");
    assert!(line.contains("\"My Schema\".\"Tab \"\"Q\"\" x\"") && line.ends_with(" on b: differ"), "{line}");
}
