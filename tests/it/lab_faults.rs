//! The runner is killed, or interrupted from its terminal: what is left of it. Linux alone, whose `/proc` tells.
#![expect(clippy::unwrap_used, reason = "tests")]

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use runner::lab::stamp::Stamp;
use runner::lab::{InitdbOptions, template};
use runner::stats::SplitMix64;
use rustix::process::{Pid, Signal, kill_process, kill_process_group};

use crate::support::postgres::{cache, no_other_servers, options, runner, server, temporary};

/// One turn that ends, and one that holds until it is ended. Its templates are nobody else's, by `checksums`.
const SPEC: &str = r#"
title = "A run to be ended"
[vars]
hold = "60s"
[run]
rounds = 1
order = "as_written"
[postgres]
version = "18"
checksums = false
[postgres.settings]
fsync = "off"
[nodes.publisher.settings]
wal_level = "logical"
[nodes.subscriber]
[[setup]]
name = "schema"
nodes = ["publisher", "subscriber"]
sql = "CREATE TABLE items (id int PRIMARY KEY, n int);"
[[setup]]
name = "rows"
nodes = ["publisher"]
sql = "INSERT INTO items SELECT i, i FROM generate_series(1, 100) i;"
[publications.items]
node = "publisher"
tables = ["items"]
[subscriptions.items]
node = "subscriber"
publications = ["items"]
[workloads.change]
node = "publisher"
clients = 2
transactions = 500
script = "UPDATE items SET n = n + 1 WHERE id = 1 + :client_id;"
[[phases]]
name = "load"
run = ["change"]
[[phases]]
name = "drain"
wait = "applied"
[[phases]]
name = "rest"
hold = "{{ hold }}"
[[scenarios]]
name = "short"
[[scenarios.phases]]
name = "rest"
hold = "10ms"
[[scenarios]]
name = "long"
"#;

/// How long after its death nothing may be left of a runner.
const CLEAN_BOUND: Duration = Duration::from_secs(5);

/// How long anything that must come is waited for.
const LONG: Duration = Duration::from_mins(1);

/// A runner at work, and what was there before it.
struct Run {
    child: Child,
    /// A word in the `PATH` of the runner and so of every process that comes of it.
    mark: String,
    folder: tempfile::TempDir,
    before: Remains,
}

/// What a server or an `initdb` can leave behind, of everybody on this machine.
#[derive(Default)]
struct Remains {
    all: BTreeSet<String>,
}

impl Run {
    fn start(arguments: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("ended.toml"), SPEC).unwrap();
        let mark = format!("/marked{}", folder.path().display());
        let path = std::env::var("PATH").unwrap_or_default();
        let output = |name: &str| Stdio::from(fs::File::create(folder.path().join(name)).unwrap());
        let before = Remains::now();
        let child = Command::new(runner())
            .arg("ended.toml")
            .args(["--out", "results", "--offline"])
            .args(arguments)
            .current_dir(folder.path())
            .env("PATH", format!("{path}:{mark}"))
            .stdin(Stdio::null())
            .stdout(output("stdout"))
            .stderr(output("stderr"))
            // As a shell with job control starts it: the terminal's signals go to this group.
            .process_group(0)
            .spawn()
            .unwrap();
        Self { child, mark, folder, before }
    }

    fn pid(&self) -> Pid {
        Pid::from_child(&self.child)
    }

    /// Ctrl-C.
    fn interrupt(&self) {
        kill_process_group(self.pid(), Signal::INT).unwrap();
    }

    fn results(&self) -> PathBuf {
        self.folder.path().join("results")
    }

    fn text(&self, name: &str) -> String {
        fs::read_to_string(self.folder.path().join(name)).unwrap_or_default()
    }

    /// The folders of its labs, by their stamps.
    fn stamped_homes(&self) -> BTreeSet<PathBuf> {
        let entries = fs::read_dir(temporary()).unwrap().flatten().map(|entry| entry.path());
        entries.filter(|home| Stamp::read(home).is_some_and(|stamp| stamp.runner.pid == self.child.id())).collect()
    }

    /// The same, with one that has no stamp yet or no longer: its guard, started before it, names it.
    fn homes(&self) -> BTreeSet<PathBuf> {
        let mut homes = self.stamped_homes();
        for (_, process) in processes() {
            let line = fs::read(process.join("cmdline")).unwrap_or_default();
            let words: Vec<String> = line.split(|b| *b == 0).map(|w| String::from_utf8_lossy(w).into_owned()).collect();
            // PROGRAM __guard HOME BULK CACHE PID START
            if words.get(1).is_some_and(|word| word == "__guard") && words.get(5) == Some(&self.child.id().to_string())
            {
                homes.insert(PathBuf::from(&words[2]));
            }
        }
        homes
    }

    /// Waits until `seen` gives something, for a bounded time; the runner must not end before.
    fn until<T>(&mut self, what: &str, mut seen: impl FnMut(&Self) -> Option<T>) -> T {
        let until = Instant::now() + LONG;
        loop {
            if let Some(found) = seen(self) {
                return found;
            }
            let ended = self.child.try_wait().unwrap();
            assert!(ended.is_none() && Instant::now() < until, "{what}: {ended:?} {}", self.text("stderr"));
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Waits until a node's server has written its lock file, and gives its process.
    fn postmaster(&mut self, node: &str) -> Pid {
        self.until("a server starts", |run| {
            run.stamped_homes().iter().find_map(|home| {
                let mut folders = fs::read_dir(home.join("nodes")).ok()?.flatten();
                let data = folders.find(|data| data.file_name().to_string_lossy().starts_with(&format!("{node}-")))?;
                let text = fs::read_to_string(data.path().join("postmaster.pid")).ok()?;
                Pid::from_raw(text.lines().next()?.parse().ok()?)
            })
        })
    }

    /// Waits until the first run has ended and the second is in its wiring or its phases; gives its publisher.
    fn reach_the_second_run(&mut self) -> Pid {
        self.until("the first run ends", |run| fs::read_dir(run.results().join("runs")).ok()?.flatten().next());
        self.postmaster("subscriber");
        std::thread::sleep(Duration::from_millis(700));
        self.postmaster("publisher")
    }

    fn ended_within(&mut self, bound: Duration) -> ExitStatus {
        let until = Instant::now() + bound;
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status;
            }
            assert!(Instant::now() < until, "the runner does not end within {bound:?}: {}", self.text("stderr"));
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    /// Waits until nothing is left, at most `bound`; gives what is left then. `homes` are its folders.
    fn left_after(&self, homes: &BTreeSet<PathBuf>, bound: Duration) -> Vec<String> {
        let until = Instant::now() + bound;
        loop {
            let left = self.left(homes);
            if left.is_empty() || Instant::now() > until {
                return left;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    fn left(&self, homes: &BTreeSet<PathBuf>) -> Vec<String> {
        let mut left: Vec<String> =
            homes.iter().filter(|home| home.exists()).map(|home| home.display().to_string()).collect();
        for (pid, process) in processes() {
            // A server's title has overwritten its environment, but it works in its data directory.
            let marked = fs::read(process.join("environ"))
                .is_ok_and(|text| text.windows(self.mark.len()).any(|part| part == self.mark.as_bytes()));
            let cwd = fs::read_link(process.join("cwd")).unwrap_or_default();
            if marked || homes.iter().any(|home| cwd.starts_with(home)) {
                let line = fs::read(process.join("cmdline")).unwrap_or_default();
                left.push(format!("process {pid} {}", String::from_utf8_lossy(&line).replace('\0', " ")));
            }
        }
        for remains in Remains::now().all.difference(&self.before.all) {
            // Who works in a half-made template tells whether it is left over or another runner's.
            let at_work = processes().filter(|(_, process)| {
                remains.starts_with('/') && fs::read_link(process.join("cwd")).is_ok_and(|cwd| cwd.starts_with(remains))
            });
            // Another runner's; our own that live on are told above, by their mark.
            if at_work.count() == 0 {
                left.push(remains.clone());
            }
        }
        left
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        // It has ended already, unless the test failed.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The living processes with their folders in `/proc`.
fn processes() -> impl Iterator<Item = (u32, PathBuf)> {
    let entries = fs::read_dir("/proc").unwrap().flatten();
    entries.filter_map(|entry| Some((entry.file_name().to_str()?.parse().ok()?, entry.path())))
}

impl Remains {
    fn now() -> Self {
        let mut all = BTreeSet::new();
        // System V segments that nobody is attached to and whose maker is gone.
        let table = fs::read_to_string("/proc/sysvipc/shm").unwrap();
        for line in table.lines().skip(1) {
            let fields: Vec<&str> = line.split_whitespace().collect();
            if fields[6] == "0" && !Path::new("/proc").join(fields[4]).exists() {
                all.insert(format!("System V segment {}", fields[1]));
            }
        }
        // POSIX segments of PostgreSQL that no process has mapped.
        let mut names: Vec<String> = fs::read_dir("/dev/shm")
            .unwrap()
            .flatten()
            .map(|entry| entry.file_name().to_string_lossy().into_owned())
            .filter(|name| name.starts_with("PostgreSQL."))
            .collect();
        for (_, process) in processes() {
            let maps = fs::read_to_string(process.join("maps")).unwrap_or_default();
            names.retain(|name| !maps.contains(name.as_str()));
        }
        all.extend(names.into_iter().map(|name| format!("/dev/shm/{name}")));
        // Templates that were being made; one that another runner is making is there for a second.
        for entry in fs::read_dir(cache().join(template::AREA)).into_iter().flatten().flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            if name.starts_with(".making") {
                all.insert(entry.path().display().to_string());
            }
        }
        Self { all }
    }
}

#[tokio::test(flavor = "current_thread")]
async fn nothing_is_left_five_seconds_after_the_runner_was_killed_at_any_moment() {
    let _leave = no_other_servers().await;
    let installation = server(18).await;
    let user = options().await.run_as;
    let seed = std::env::var("RUNNER_TEST_SEED").map_or(20_26, |seed| seed.parse().unwrap());
    let kills: usize = std::env::var("RUNNER_TEST_KILLS").map_or(10, |kills| kills.parse().unwrap());
    let mut templates = Vec::new();
    for place in 0..2 {
        let options = InitdbOptions { checksums: Some(false) };
        let data = template::template(&cache(), &installation, options, place, user.as_ref()).await.unwrap();
        templates.push(data.parent().unwrap().to_owned());
    }
    let mut random = SplitMix64::seeded(seed);
    let mut moments = String::new();
    for kill in 0..kills {
        if [0, 2, 4].contains(&(kill % 10)) {
            // Without templates the kill may hit an initdb.
            for template in &templates {
                let _ = fs::remove_dir_all(template);
            }
        }
        let mut run = Run::start(&[]);
        // Half of them in each of the first three seconds' fifths, which see all from the first step to the second
        // run; half after the second node has begun to start, which sees the phases on a slow machine too.
        let (from, moment_ms) = match kill % 10 {
            early if early % 2 == 0 => ("start", early / 2 * 600 + random.below(600)),
            _ => ("second node", random.below(1500)),
        };
        if from == "second node" {
            run.postmaster("subscriber");
        }
        let moment = Duration::from_millis(moment_ms as u64);
        std::thread::sleep(moment);
        let alive = run.child.try_wait().unwrap().is_none();
        assert!(alive, "it ended by itself: {}", run.text("stderr"));
        run.child.kill().unwrap();
        let killed = Instant::now();
        let homes = run.homes();
        run.child.wait().unwrap();
        let left = run.left_after(&homes, CLEAN_BOUND);
        let when =
            format!("kill {kill} (seed {seed}): {moment:?} after its {from}, clean {:?} later", killed.elapsed());
        assert!(left.is_empty(), "{when}: {left:#?}\n{}", run.text("stderr"));
        moments += &format!("{when}\n");
    }
    report(&moments);
    let mut next = Run::start(&["--set", "hold=10ms"]);
    let status = next.ended_within(LONG);
    assert_eq!(status.code(), Some(0), "the next run works: {}", next.text("stderr"));
    assert!(next.left_after(&next.homes(), CLEAN_BOUND).is_empty());
}

#[tokio::test(flavor = "current_thread")]
async fn an_interrupt_takes_down_keeps_the_finished_runs_and_reaches_no_server() {
    let _leave = no_other_servers().await;
    server(18).await;
    let mut run = Run::start(&[]);
    run.reach_the_second_run();
    let homes = run.homes();
    assert_eq!(homes.len(), 1, "{homes:?}");
    run.interrupt();
    let interrupted = Instant::now();
    let status = run.ended_within(Duration::from_secs(10));
    report(&format!("interrupt to exit: {:?}\n", interrupted.elapsed()));
    assert_eq!(status.code(), Some(130), "{}", run.text("stderr"));
    assert_eq!(run.left_after(&homes, CLEAN_BOUND), [""; 0]);

    // What it printed is what the folder gives again, with the finished run in it.
    let printed = run.text("stdout");
    let again = Command::new(runner()).arg("report").arg(run.results()).current_dir("/").output().unwrap();
    let again = String::from_utf8(again.stdout).unwrap();
    assert!(!printed.is_empty());
    assert_eq!(printed, again);
    let json =
        Command::new(runner()).arg("report").arg(run.results()).args(["--format", "json"]).output().unwrap().stdout;
    let json: serde_json::Value = serde_json::from_slice(&json).unwrap();
    assert!(json.is_object(), "{json}");
    let kept = fs::read_dir(run.results().join("runs")).unwrap().flatten().map(|entry| entry.path());
    let outcomes: BTreeSet<String> = kept
        .map(|path| {
            let sample: serde_json::Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
            format!("{} {}", sample["scenario"].as_str().unwrap(), sample["outcome"])
        })
        .collect();
    assert!(outcomes.iter().any(|o| o.starts_with("short") && o.contains("completed")), "{outcomes:?}");
    assert!(outcomes.iter().any(|o| o.starts_with("long") && o.contains("interrupted")), "{outcomes:?}");

    // The terminal's signal came to the runner alone: a server would have begun a fast shutdown of its own.
    let mut logs = 0;
    for turn in fs::read_dir(run.results().join("logs")).unwrap().flatten() {
        for log in fs::read_dir(turn.path()).unwrap().flatten() {
            let text = fs::read_to_string(log.path()).unwrap_or_default();
            assert!(!text.contains("fast shutdown"), "{}: {text}", log.path().display());
            logs += usize::from(text.contains("immediate shutdown"));
        }
    }
    assert!(logs >= 4, "both servers of both runs have ended by the runner: {logs}");
}

#[tokio::test(flavor = "current_thread")]
async fn a_second_interrupt_kills_and_the_guard_does_the_rest() {
    let _leave = no_other_servers().await;
    server(18).await;
    let mut run = Run::start(&[]);
    let publisher = run.reach_the_second_run();
    let homes = run.homes();
    // A server that does not end keeps the runner waiting after the first interrupt.
    kill_process(publisher, Signal::STOP).unwrap();
    run.interrupt();
    std::thread::sleep(Duration::from_millis(700));
    assert!(run.child.try_wait().unwrap().is_none(), "it waits for the server: {}", run.text("stderr"));
    run.interrupt();
    let interrupted = Instant::now();
    let status = run.ended_within(Duration::from_secs(10));
    assert_eq!(status.code(), Some(130), "{}", run.text("stderr"));
    assert_eq!(run.text("stdout"), "", "no report: it did not end in good order");
    let ended = interrupted.elapsed();
    // The kernel wakes a stopped process group when its parent dies, and its pending SIGQUIT ends the server; where that
    // does not happen, the guard gives it three seconds before it kills.
    assert_eq!(run.left_after(&homes, Duration::from_secs(15)), [""; 0]);
    report(&format!("second interrupt to exit: {ended:?}, clean {:?} after it\n", interrupted.elapsed()));
}

/// Figures for whoever runs the tests with `--nocapture`.
#[expect(clippy::print_stderr, reason = "a test's own figures")]
fn report(text: &str) {
    eprint!("{text}");
}
