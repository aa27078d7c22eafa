//! Parts of a run: cells that are kept, shares for several machines, going on after an end, and putting together.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::support::runner::{Ran, RunnerCommand};

/// Two values of an axis and two scenarios on one node, so that a turn takes a second.
const MATRIX: &str = r#"title = "Matrix"
[run]
rounds = 2
[postgres.settings]
fsync = "off"
[nodes.a]
[vars]
clients = 1
[[matrix]]
axes = { clients = [1, 2] }
[[setup]]
name = "schema"
nodes = ["a"]
sql = "CREATE TABLE t (id int)"
[workloads.w]
node = "a"
clients = "{{ clients }}"
transactions = 10
script = "INSERT INTO t VALUES (1);"
[[phases]]
name = "load"
run = ["w"]
[[scenarios]]
name = "plain"
[[scenarios]]
name = "other"
[[expect]]
claim = "every transaction commits"
value = { metric = "load.transactions", of = "plain", within = [1, 1000] }
[[report.tables]]
title = "Transactions"
columns = [{ title = "n", value = "load.transactions" }]
"#;

/// `MATRIX` with turns that take a while in their end.
fn slow() -> String {
    MATRIX.replace(
        "[[scenarios]]\nname = \"plain\"",
        "[[phases]]\nname = \"still\"\nhold = \"1s\"\n[[scenarios]]\nname = \"plain\"",
    )
}

fn runner<'a>(folder: &Path, arguments: impl IntoIterator<Item = &'a str>) -> Ran {
    RunnerCommand::new().within(folder).arguments(arguments).run()
}

/// Cell and round of every stored turn that is valid, sorted.
fn done(ran: &Ran) -> Vec<(String, u64)> {
    let mut done: Vec<(String, u64)> = ran
        .samples()
        .iter()
        .filter(|sample| sample["outcome"] == "completed")
        .map(|sample| {
            let cell = sample["cell"].as_str().expect("a name").to_owned();
            (cell, sample["round"].as_u64().expect("a number"))
        })
        .collect();
    done.sort();
    done
}

fn all() -> Vec<(String, u64)> {
    let cells = ["other[clients=1]", "other[clients=2]", "plain[clients=1]", "plain[clients=2]"];
    cells.iter().flat_map(|cell| [1, 2].map(|round| ((*cell).to_owned(), round))).collect()
}

/// Starts a run, and lets `end` end it when its second turn has begun.
fn ended_early(end: &str) -> (RunnerCommand, String) {
    let command = RunnerCommand::spec(&slow());
    let mut child = command.spawn();
    let mut lines = BufReader::new(child.stderr.take().expect("a pipe")).lines();
    let first = lines.by_ref().map_while(Result::ok).find(|line| line.starts_with("run 1 of 8"));
    assert!(first.is_some(), "the first run ends");
    // Two would write into one folder.
    let other = runner(command.folder(), ["resume", "out"]).ended_with(2);
    assert!(other.stderr.contains("another runner is at work in it"), "{}", other.stderr);
    assert!(Command::new("kill").args([end, &child.id().to_string()]).status().expect("kill starts").success());
    let rest: Vec<String> = lines.map_while(Result::ok).collect();
    child.wait().expect("it ends");
    (command, rest.join("\n"))
}

#[track_caller]
fn goes_on(command: RunnerCommand) -> Value {
    let folder = command.into_folder();
    let count = |name: &str| std::fs::read_dir(folder.path().join("out").join(name)).map_or(0, Iterator::count);
    let begun = count("runs");
    assert!((1..8).contains(&begun), "{begun}");
    let ran = runner(folder.path(), ["resume", "out"]).ended_with(0);
    let ran = Ran { out: folder.path().join("out"), ..ran };
    assert_eq!(done(&ran), all());
    // Nothing that was stored is lost.
    let aside = std::fs::read_dir(folder.path().join("out/superseded")).into_iter().flatten();
    let aside = aside.filter(|own| own.as_ref().is_ok_and(|own| own.file_name().to_string_lossy().ends_with(".json")));
    assert!(aside.count() <= begun);
    let turns: Vec<u64> = ran.samples().iter().map(|sample| sample["turn"].as_u64().expect("a number")).collect();
    assert_eq!(turns, (1..=8).collect::<Vec<u64>>());
    let again = runner(folder.path(), ["resume", "out"]).ended_with(0);
    assert!(again.stderr.contains("nothing is left to run"), "{}", again.stderr);
    assert_eq!(again.stdout, ran.stdout);
    ran.report()
}

#[test]
fn after_an_interrupt_a_run_is_gone_on_with() {
    let (command, said) = ended_early("-INT");
    assert!(said.contains("runner resume"), "{said}");
    let report = goes_on(command);
    assert_eq!(report["summary"]["valid"], 8);
}

#[test]
fn a_run_that_was_killed_is_gone_on_with() {
    let (command, _) = ended_early("-KILL");
    let report = goes_on(command);
    assert_eq!(report["summary"]["unfinished"], false);
    assert_eq!(report["run"]["resumed"].as_array().map(Vec::len), Some(1));
}

#[test]
fn shards_have_every_run_once_and_are_put_together() {
    let command = RunnerCommand::new().file("spec.toml", MATRIX);
    let folder = command.into_folder();
    for number in ["1", "2"] {
        let ran =
            runner(folder.path(), ["spec.toml", "--out", number, "--shard", &format!("{number}/2")]).ended_with(0);
        assert!(ran.stdout.contains(&format!("Shard {number} of 2: 4 of 8 runs")), "{}", ran.stdout);
    }
    let ran = runner(folder.path(), ["merge", "1", "2", "--out", "both"]).ended_with(0);
    let ran = Ran { out: folder.path().join("both"), ..ran };
    assert_eq!(done(&ran), all());
    assert_eq!(ran.report()["run"]["shard"], Value::Null);
    // The shares of another day follow.
    let twice = runner(folder.path(), ["merge", "1", "1", "--out", "twice"]).ended_with(2);
    assert!(twice.stderr.contains("are the same run"), "{}", twice.stderr);
    let day = runner(folder.path(), ["spec.toml", "--out", "day"]).ended_with(0);
    let compared = runner(folder.path(), ["compare", "both", "day"]).ended_with(0);
    assert!(compared.stdout.contains("plain[clients=1]"), "{}", compared.stdout);
    let ran = runner(folder.path(), ["merge", "both", "day", "--out", "days"]).ended_with(0);
    let ran = Ran { out: folder.path().join("days"), ..ran };
    assert_eq!(ran.report()["summary"]["valid"], 16, "{}", day.stdout);
    assert_eq!(ran.report()["run"]["rounds"], 4);
    // Other seeds are other runs.
    let other = runner(folder.path(), ["spec.toml", "--out", "other", "--set", "run.seed=7", "--only", "plain"]);
    let other = other.ended_with(0);
    assert!(other.stdout.contains("--only: a part"), "{}", other.stdout);
    assert_eq!(runner(folder.path(), ["report", "other"]).ended_with(0).stdout, other.stdout);
    let refused = runner(folder.path(), ["merge", "day", "other", "--out", "none"]).ended_with(2);
    assert!(refused.stderr.contains("seed: 1 and 7"), "{}", refused.stderr);
    assert!(!folder.path().join("none").exists());
    let bare = runner(folder.path(), ["other"]).ended_with(2);
    assert!(
        bare.stderr.contains("runner resume other") && bare.stderr.contains("runner report other"),
        "{}",
        bare.stderr
    );
}

#[test]
fn patterns_of_cells_that_fit_nothing_name_what_there_is() {
    let plan = |only: &[&str]| {
        let arguments: Vec<&str> =
            ["plan", "spec.toml"].into_iter().chain(only.iter().flat_map(|own| ["--only", *own])).collect();
        RunnerCommand::new().file("spec.toml", MATRIX).arguments(arguments).run()
    };
    for (only, part) in [
        ("clinets=1", "did you mean `clients`?"),
        ("clients=3", "clients is 1, 2"),
        ("nothing", "scenario is plain, other"),
        ("=1", "write NAME=VALUE"),
    ] {
        let ran = plan(&[only]).ended_with(2);
        assert!(ran.stderr.contains(part), "{only}: {}", ran.stderr);
    }
    for (only, kept) in [
        (&["plain"][..], &["plain[clients=1]", "plain[clients=2]"][..]),
        (&["scenario=*,clients=2"], &["plain[clients=2]", "other[clients=2]"]),
        (&["plain,clients=1", "other[clients=2]"], &["plain[clients=1]", "other[clients=2]"]),
    ] {
        let ran = plan(only).ended_with(0);
        for cell in ["plain[clients=1]", "plain[clients=2]", "other[clients=1]", "other[clients=2]"] {
            assert_eq!(ran.stdout.contains(cell), kept.contains(&cell), "{only:?} {cell}");
        }
    }
}
