//! The command line: exit codes, what goes to which stream, and the small commands.

use std::io::{BufRead as _, BufReader, Read as _};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt};
use std::process::{Command, Stdio};

use serde_json::Value;
use tempfile::TempDir;

use crate::support::runner::{PROGRAM, Ran, RunnerCommand};

/// A spec of one node, so that a run of it takes a second.
const ONE: &str = r#"title = "One node"
[vars]
rows = 10
[quick]
rows = 3
[run]
rounds = 2
[postgres.settings]
fsync = "off"
[nodes.a]
[[setup]]
name = "schema"
nodes = ["a"]
sql = "CREATE TABLE t (id int)"
[workloads.w]
node = "a"
transactions = "{{ rows }}"
script = "INSERT INTO t VALUES (1);"
[[phases]]
name = "load"
run = ["w"]
[[scenarios]]
name = "only"
[[expect]]
claim = "every transaction commits"
value = { metric = "load.transactions", of = "only", within = [1, 1000] }
[[report.tables]]
title = "Transactions"
columns = [{ title = "n", value = "load.transactions" }]
"#;

fn call<'a>(arguments: impl IntoIterator<Item = &'a str>) -> Ran {
    RunnerCommand::new().file("spec.toml", ONE).arguments(arguments).run()
}

/// A folder below /tmp that every user can pass and write to, for the nodes' data.
fn open_folder() -> TempDir {
    let folder = tempfile::Builder::new().prefix("rt").tempdir_in("/tmp").expect("a temporary folder");
    std::fs::set_permissions(folder.path(), PermissionsExt::from_mode(0o1777)).expect("open to all");
    folder
}

#[test]
fn help_documents_every_exit_code() {
    let help = call(["--help"]).ended_with(0).stdout;
    let codes = help.split("Exit codes:").nth(1).expect("a section").split("Environment:").next().expect("a section");
    for code in ["0", "1", "2", "3", "130"] {
        assert!(codes.lines().any(|line| line.split_whitespace().next() == Some(code)), "{code} in {codes}");
    }
}

#[test]
fn a_wrong_spec_or_call_ends_with_two_and_names_the_way_out() {
    for (arguments, part) in [
        (&["--no-such-flag"][..], "--no-such-flag"),
        (&["no_such_file.toml"], "no_such_file.toml"),
        (&["check", "no_such_file.toml"], "no_such_file.toml"),
        (&["spec.toml", "--set", "rows"], "write NAME=VALUE"),
        (&["spec.toml", "--set", "rosw=1"], "rows"),
        (&["spec.toml", "--set", "run.rounds=many"], "run.rounds"),
        (&["spec.toml", "--set", "nodes.a.settings.work_mem=256mb"], "work_mem"),
        (&["spec.toml", "spec.toml", "--out", "out"], "--out"),
        (&["spec.toml", "--out", "."], "it exists and is not empty"),
        (&["plan", "spec.toml", "--format", "yaml"], "yaml"),
        (&["plan", "spec.toml", "spec.toml", "--format", "sh"], "one by one"),
        (&["postgres", "install", "13"], "13"),
        (&["report", "no_such_folder"], "no_such_folder"),
        (&[], "Usage"),
    ] {
        let ran = call(arguments.iter().copied()).ended_with(2);
        assert_eq!(ran.stdout, "", "{arguments:?}");
        assert!(ran.stderr.contains(part), "{arguments:?}: `{part}` in {}", ran.stderr);
        assert!(!ran.folder.path().join("results").exists(), "{arguments:?} made a results folder");
    }
}

#[test]
fn mistakes_carry_no_colour_where_nobody_would_see_it() {
    let wrong = ONE.replace("nodes = [\"a\"]", "nodes = [\"b\"]");
    let command = RunnerCommand::new().file("spec.toml", &wrong).arguments(["check", "spec.toml"]);
    let ran = command.environment("NO_COLOR", "1").run().ended_with(2);
    assert!(ran.stderr.contains("there is no node `b`") && !ran.stderr.contains('\u{1b}'), "{}", ran.stderr);
}

#[test]
fn where_no_run_can_start_it_ends_with_three() {
    let empty = open_folder();
    let bin = empty.path().display().to_string();
    let mut calls = vec![
        (vec!["spec.toml", "--pg-bin", &bin], "--pg-bin"),
        (vec!["spec.toml", "--offline", "--set", "postgres.version=18.99"], "18.99"),
    ];
    let root = std::fs::metadata("/proc/self").is_ok_and(|this| this.uid() == 0);
    if root {
        calls.push((vec!["spec.toml", "--run-as", "no_such_user_here"], "no_such_user_here"));
        calls.push((vec!["spec.toml", "--run-as", "root"], "root"));
    }
    for (arguments, part) in calls {
        let ran = call(arguments.iter().copied()).ended_with(3);
        assert!(ran.stderr.contains(part), "{arguments:?}: {}", ran.stderr);
        assert!(!ran.folder.path().join("results").exists(), "{arguments:?} made a results folder");
    }
}

#[test]
fn stdout_gets_the_report_and_stderr_the_talk() {
    let ran = RunnerCommand::spec(ONE).arguments(["--quick"]).run().ended_with(0);
    let stored = std::fs::read_to_string(ran.out.join("report.md")).expect("a report");
    assert_eq!(ran.stdout, stored);
    assert!(ran.stderr.contains(&format!("report: {}", ran.out.join("report.md").display())), "{}", ran.stderr);
    assert!(ran.stderr.contains("run 1 of 1, only, round 1: load "), "{}", ran.stderr);
    // --quick: one round, the values of [quick], and a stamp.
    let report = ran.report();
    assert_eq!(report["tables"][0]["rows"][0]["cells"][0]["value"], 3.0);
    assert_eq!(report["stamps"].as_array().map(Vec::len), Some(1), "{}", report["stamps"]);
    assert!(ran.stdout.contains("quick"), "{}", ran.stdout);

    let out = ran.out.display().to_string();
    let again = call(["report", &out]).ended_with(0);
    assert_eq!(again.stdout, stored);
    let json = call(["report", &out, "--format", "json"]).ended_with(0);
    assert_eq!(serde_json::from_str::<Value>(&json.stdout).expect("JSON"), report);

    // Titles and claims may change, what is run may not.
    let titled = ONE.replace("One node", "Another title").replace("[1, 1000]", "[5, 1000]");
    let other = RunnerCommand::new().file("new.toml", &titled).arguments(["report", &out, "--spec", "new.toml"]).run();
    let other = other.ended_with(1);
    assert!(other.stdout.contains("Another title") && other.stdout.contains("not held"), "{}", other.stdout);
    let loaded = ONE.replace("VALUES (1)", "VALUES (2)");
    let other = RunnerCommand::new().file("new.toml", &loaded).arguments(["report", &out, "--spec", "new.toml"]).run();
    let other = other.ended_with(2);
    assert!(other.stdout.is_empty() && other.stderr.contains("would run something else"), "{}", other.stderr);

    // A folder with results in it is not written over.
    let over = RunnerCommand::new().file("spec.toml", ONE).arguments(["spec.toml", "--out", &out]).run().ended_with(2);
    assert!(over.stderr.contains(&out), "{}", over.stderr);
}

#[test]
fn the_small_commands_print_what_they_promise() {
    let checked = call(["check", "spec.toml"]).ended_with(0);
    assert!(checked.stdout.is_empty() && checked.stderr.contains("no mistake"), "{}", checked.stderr);
    let plan = call(["plan", "spec.toml"]).ended_with(0).stdout;
    for part in ["CREATE TABLE t (id int)", "fsync = off", "vars.rows = 10", "spec.toml:", "Digest "] {
        assert!(plan.contains(part), "{part} in {plan}");
    }
    let metrics = call(["metrics"]).ended_with(0).stdout;
    assert!(metrics.contains("wal_bytes{node}"), "{metrics}");
    let list = call(["metrics", "--format", "json"]).ended_with(0).stdout;
    assert!(serde_json::from_str::<Value>(&list).expect("JSON").as_array().is_some_and(|list| list.len() > 10));
    let schema = call(["schema"]).ended_with(0).stdout;
    assert!(serde_json::from_str::<Value>(&schema).expect("JSON")["properties"]["phases"].is_object());
    let found = call(["postgres", "list", "--format", "json"]).ended_with(0).stdout;
    for one in serde_json::from_str::<Value>(&found).expect("JSON").as_array().expect("a list") {
        for key in ["version", "bin", "tools", "origin"] {
            assert!(!one[key].is_null(), "{key} in {one}");
        }
    }
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    for arguments in [&["schema"][..], &["metrics"], &["plan", "spec.toml"]] {
        let mut child = RunnerCommand::new().file("spec.toml", ONE);
        child = child.arguments(arguments.iter().copied());
        let mut child = child.spawn();
        drop(child.stdout.take());
        let mut said = String::new();
        child.stderr.take().expect("a pipe").read_to_string(&mut said).expect("stderr is text");
        let status = child.wait().expect("it ends");
        assert!(said.is_empty() && (status.success() || arguments[0] == "plan"), "{arguments:?}: {status}, {said}");
    }
}

#[test]
fn an_interrupt_keeps_the_finished_runs_and_ends_with_130() {
    let spec = [
        ONE.replace("rounds = 2", "rounds = 1\norder = \"as_written\""),
        "[[scenarios]]\nname = \"long\"\n[[scenarios.phases]]\nname = \"still\"\nhold = \"600s\"\n".to_owned(),
    ]
    .concat();
    let folder = open_folder();
    let command = RunnerCommand::spec(&spec).arguments(["--work-dir", &folder.path().display().to_string()]);
    let out = command.folder().join("out");
    let mut child = command.spawn();
    let mut lines = BufReader::new(child.stderr.take().expect("a pipe")).lines();
    let first = lines.by_ref().map_while(Result::ok).find(|line| line.starts_with("run 1 of 2"));
    assert!(first.is_some(), "the first run ends");
    let told = Command::new("kill").args(["-INT", &child.id().to_string()]).status().expect("kill starts");
    assert!(told.success());
    let rest: Vec<String> = lines.map_while(Result::ok).collect();
    let mut report = String::new();
    child.stdout.take().expect("a pipe").read_to_string(&mut report).expect("stdout is text");
    assert_eq!(child.wait().expect("it ends").code(), Some(130), "{rest:?}");
    assert!(report.contains("nterrupted"), "{report}");
    let again = call(["report", &out.display().to_string()]);
    assert_eq!(again.stdout, report, "{}", again.stderr);
    let left: Vec<_> = std::fs::read_dir(folder.path()).expect("the folder is read").collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn kept_nodes_answer_until_they_are_cleaned_away() {
    let folder = open_folder();
    let work = folder.path().display().to_string();
    let ran = RunnerCommand::spec(ONE).arguments(["--quick", "--keep", "--work-dir", &work]).run().ended_with(0);
    let line = ran.stderr.lines().find_map(|line| line.strip_prefix("kept a: ")).expect("a psql line").to_owned();
    let ask = |sql: &str| {
        let command = format!("{line} -X -A -t -c '{sql}'");
        Command::new("sh").args(["-c", &command]).stdin(Stdio::null()).output().expect("sh starts")
    };
    let in_work = || std::fs::read_dir(folder.path()).expect("the folder is read").count();
    let first = ask("SELECT count(*) FROM t");
    // Another run leaves them alone.
    let other = RunnerCommand::spec(ONE).arguments(["--quick", "--work-dir", &work]).run();
    let (second, kept) = (ask("SELECT count(*) FROM t"), in_work());
    // Cleaned away whatever was found, so that a failure here leaves nothing behind either.
    let cleaned = RunnerCommand::new().arguments(["clean"]).run();
    let third = ask("SELECT 1");
    other.ended_with(0);
    for asked in [first, second] {
        let said = String::from_utf8_lossy(&asked.stderr).into_owned();
        assert_eq!(String::from_utf8_lossy(&asked.stdout).trim(), "3", "{line}: {said}");
    }
    assert_eq!(kept, 1, "the kept nodes and nothing else");
    let cleaned = cleaned.ended_with(0);
    assert!(cleaned.stderr.contains("removed "), "{}", cleaned.stderr);
    assert!(!third.status.success(), "the server is still there");
    assert_eq!(in_work(), 0, "their data is still there");
}

#[test]
fn a_claim_that_does_not_hold_fails_and_one_that_cannot_be_told_only_when_strict() {
    let spec = ONE.replace("within = [1, 1000]", "at_least = 11");
    let ran = RunnerCommand::spec(&spec).arguments(["--quick"]).run().ended_with(1);
    assert!(ran.stdout.contains("not held"), "{}", ran.stdout);
    // Two runs, of which one bears the claim out: the script's random numbers are another round's.
    let spec = r#"title = "Told by a coin"
[run]
rounds = 2
[postgres.settings]
fsync = "off"
[nodes.a]
[workloads.w]
node = "a"
transactions = 8
script = """
\\set one random(0, 1)
SELECT 1 / :one;
"""
[[phases]]
name = "load"
run = ["w"]
[[scenarios]]
name = "only"
[[expect]]
claim = "at least half of them commit"
value = { metric = "load.transactions", of = "only", at_least = 4 }
"#;
    let coin = (1..=8).map(|seed| RunnerCommand::spec(spec).arguments(["--set", &format!("run.seed={seed}")]).run());
    let untold = coin.into_iter().find(|ran| ran.stdout.contains("1 cannot tell")).expect("heads and tails");
    let untold = untold.ended_with(0);
    let out = untold.out.display().to_string();
    call(["report", &out]).ended_with(0);
    call(["report", &out, "--strict"]).ended_with(1);
}

#[test]
fn the_version_is_told() {
    let version = Command::new(PROGRAM).arg("--version").output().expect("the program starts");
    assert!(version.status.success() && version.stdout.starts_with(b"runner "));
}
