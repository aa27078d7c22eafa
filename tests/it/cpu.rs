//! CPU of a server by our readings against instruments that know nothing of roles or processes: what `wait4` gives of
//! its whole life, and a control group's account. Linux alone, whose `/proc` is read.
#![expect(clippy::unwrap_used, reason = "tests")]

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use runner::lab::{Installation, RunningNode};
use runner::load::{self, End, LoadRequest, LoadScript, Protocol};
use runner::probe::{CpuReading, ProcessCpu};
use runner::script::Script;

use crate::support::postgres::{found, lab, request, server, servers, session, target};

/// How long the load runs: long enough for a per cent of it to be more than a tick.
const LOAD: Duration = Duration::from_millis(2500);

#[tokio::test(flavor = "current_thread")]
async fn our_readings_agree_with_the_systems_accounts_on_the_newest_version() {
    compare(&server(18).await).await;
}

/// The oldest that is on this machine, else the oldest there is: other titles, and a statistics collector in 14.
#[tokio::test(flavor = "current_thread")]
async fn our_readings_agree_with_the_systems_accounts_on_an_old_version() {
    let installation = match found().await.server(Some(15), None) {
        Some(installation) => installation.clone(),
        None => server(14).await,
    };
    compare(&installation).await;
}

async fn compare(installation: &Installation) {
    let _leave = servers().await;
    let mut lab = lab().await;
    let node = lab.start(request("n1", 0, installation)).await.unwrap();
    let account = Account::open(&node);
    let at_start = CpuReading::take(node.pid).unwrap();
    session(&node).query("CREATE TABLE t (a bigint, b text)").unwrap();
    // What ends within the window is counted as well, in ticks: some CPU of a session that is closed again.
    session(&node).query("SELECT count(*) FROM generate_series(1, 500000)").unwrap();

    // The window of the account lies inside ours by a few reads of files.
    let script =
        Script::parse("INSERT INTO t VALUES (1, repeat('x', 100));\nSELECT count(*) FROM pg_class;\n").unwrap();
    let load = load::connect(LoadRequest {
        target: target(&node),
        scripts: vec![LoadScript { name: "s".into(), script: Arc::new(script), weight: 1 }],
        protocol: Protocol::Prepared,
        clients: 2,
        threads: None,
        end: End::Duration(LOAD),
        rate: None,
        latency_limit: None,
        max_tries: 1,
        seed: 1,
        scale: 1,
    })
    .unwrap();
    let opened = CpuReading::take(node.pid).unwrap();
    let account_opened = account.as_ref().map(Account::ns);
    let finished = load.go().finished().await.unwrap();
    // The reading comes first, as both are behind the load: what the account has more is what the reading cost itself.
    let closed = CpuReading::take(node.pid).unwrap();
    let account_closed = account.as_ref().map(Account::ns);
    assert!(opened.settled && closed.settled);
    let window = closed.since(&opened, &[]);
    drop(finished);

    if let (Some(opened), Some(closed)) = (account_opened, account_closed) {
        let account_ns = closed - opened;
        // Half a per cent, or two ticks of 10 ms: an account may be brought up to the moment only at a tick, at
        // either edge of the window.
        let tolerance = (account_ns / 200).max(20_000_000);
        let difference = window.total_ns().abs_diff(account_ns);
        report(&figures(installation, "window", "control group", window.total_ns(), account_ns));
        assert!(difference <= tolerance, "ours {window:?}, the control group's {account_ns} ns");
    } else {
        report("no control group with an account of CPU is writable here: compared with wait4 alone\n");
    }

    let before_stop = CpuReading::take(node.pid).unwrap();
    drop(account);
    let life = lab.stop_all().await.unwrap().remove(0).1;
    lab.close().await.unwrap();
    let life_ns = (life.user + life.system).as_nanos() as u64;
    // What there was at the first reading, by the same reading's own figures, and what came since.
    let ours_ns = so_far(&at_start) + before_stop.since(&at_start, &[]).total_ns();
    // The last reading precedes the shutdown, in which every process wakes up, frees its memory and exits; wait4 has
    // that too. It costs some tens of milliseconds whatever the load was.
    let tolerance = (life_ns / 50).max(60_000_000);
    report(&figures(installation, "whole life", "wait4", ours_ns, life_ns));
    assert!(ours_ns.abs_diff(life_ns) <= tolerance, "ours {ours_ns} ns, wait4's {life_ns} ns");
    // The load is what most of it was, or the comparison would say little.
    assert!(window.total_ns() > 500_000_000, "{window:?}");
}

/// All that a reading says was used until then.
fn so_far(reading: &CpuReading) -> u64 {
    let live: u64 = reading.children.iter().map(|child: &ProcessCpu| child.cpu_ns).sum();
    reading.postmaster.cpu_ns + reading.reaped_ns + live
}

/// A control group of its own for one server; whatever it starts later is in it too.
struct Account {
    group: PathBuf,
    /// The file with the account.
    usage: PathBuf,
}

impl Account {
    /// `None` where none can be made, as for an ordinary user.
    fn open(node: &RunningNode) -> Option<Self> {
        let name = format!("runner-test-{}", node.pid);
        // Version 1, version 2 beside it, version 2 alone.
        for (root, usage) in [
            ("/sys/fs/cgroup/cpuacct", "cpuacct.usage"),
            ("/sys/fs/cgroup/cpu,cpuacct", "cpuacct.usage"),
            ("/sys/fs/cgroup/unified", "cpu.stat"),
            ("/sys/fs/cgroup", "cpu.stat"),
        ] {
            let group = Path::new(root).join(&name);
            if fs::create_dir(&group).is_err() {
                continue;
            }
            let account = Self { usage: group.join(usage), group };
            let children = fs::read_to_string(format!("/proc/{0}/task/{0}/children", node.pid)).unwrap_or_default();
            // The postmaster first: what it forks from then on is in the group already.
            let moved = account.take_in(&node.pid.to_string());
            if moved && children.split_whitespace().all(|pid| account.take_in(pid)) && account.usage.exists() {
                return Some(account);
            }
        }
        None
    }

    fn take_in(&self, pid: &str) -> bool {
        // A process that has ended meanwhile needs no account.
        fs::write(self.group.join("cgroup.procs"), pid).is_ok() || !Path::new("/proc").join(pid).exists()
    }

    fn ns(&self) -> u64 {
        let text = fs::read_to_string(&self.usage).unwrap();
        match text.lines().find_map(|line| line.strip_prefix("usage_usec ")) {
            Some(us) => us.trim().parse::<u64>().unwrap() * 1000,
            None => text.trim().parse().unwrap(),
        }
    }
}

impl Drop for Account {
    fn drop(&mut self) {
        // Its processes go home, for a group with any cannot be removed.
        let home = self.group.parent().unwrap().join("cgroup.procs");
        for pid in fs::read_to_string(self.group.join("cgroup.procs")).unwrap_or_default().lines() {
            let _ = fs::write(&home, pid);
        }
        let _ = fs::remove_dir(&self.group);
    }
}

fn figures(installation: &Installation, span: &str, other: &str, ours_ns: u64, theirs_ns: u64) -> String {
    let ms = |ns: u64| ns as f64 / 1e6;
    format!(
        "{}, {span}: ours {:.1} ms, {other} {:.1} ms, {:+.2} %\n",
        installation.version,
        ms(ours_ns),
        ms(theirs_ns),
        (ours_ns as f64 / theirs_ns as f64 - 1.0) * 100.0
    )
}

/// Figures for whoever runs the tests with `--nocapture`.
#[expect(clippy::print_stderr, reason = "a test's own figures")]
fn report(text: &str) {
    eprint!("{text}");
}
