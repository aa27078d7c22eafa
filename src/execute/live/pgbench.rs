//! A load by pgbench: its files, its process, and what is made of what it tells.
//!
//! Everything is written before the clock; pgbench itself is started by it, and connects within it. It runs as the
//! servers' user with no environment of ours, in a private folder that goes with it.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use tokio::sync::Notify;

use super::{EndedLoad, Live, all_failed};
use crate::execute::world::{Failure, Running};
use crate::lab::child::{Child, Ended};
use crate::lab::log;
use crate::lab::process::Program;
use crate::load::pgbench::{Counted, Follower, LogForm, Output, complaint};
use crate::load::{Finished, LoadReport, OpenConnections, ScriptReport};
use crate::measure::PgbenchEvidence;
use crate::plan::facts::PGBENCH;
use crate::plan::pgbench::{Options, file_name, file_text, options, scripts};
use crate::probe::CpuReading;
use crate::spec::scenario::Workload;
use crate::text::quote::conninfo_value;
use crate::wire::{Host, Target};

/// How long pgbench may take to end by SIGINT. A runner that a script started by `&` hands that signal down ignored.
const INTERRUPT_BOUND: Duration = Duration::from_millis(200);

/// How often the processes of the node are looked at meanwhile: half a thousandth of a core.
const LOOK_INTERVAL: Duration = Duration::from_millis(500);

/// How long a killed one may take to be seen.
const KILL_BOUND: Duration = Duration::from_secs(10);

/// A load by pgbench that has yet to be started.
pub(super) struct Prepared {
    program: Program,
    folder: Folder,
    output: PathBuf,
    threads: u32,
    scripts: Vec<String>,
    /// The form of the lines of its log; `None` if it keeps none.
    log: Option<LogForm>,
}

/// The folder of its scripts and logs, removed when dropped.
struct Folder(PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        // It lies in the lab's folder, which is removed as a whole.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// The process, killed when dropped.
struct Process(Child);

impl Drop for Process {
    fn drop(&mut self) {
        self.0.kill_group();
    }
}

/// What pgbench told of a load beside what every driver tells.
pub(super) struct Told {
    output: Output,
    unlogged: bool,
}

impl Told {
    /// As evidence of a window of which `seconds` had passed when the load had ended.
    pub(super) fn evidence(&self, seconds: f64) -> PgbenchEvidence {
        let Output { processed, latency_average_ms, connecting_ms, tps, .. } = self.output;
        // Its own clock: the one that its rate is over.
        let own = if tps > 0.0 { processed as f64 / tps } else { seconds };
        PgbenchEvidence {
            tps: Some(tps),
            connecting_seconds: connecting_ms / 1e3,
            outside_seconds: seconds - own,
            unlogged: self.unlogged,
            latency_average_ms: Some(latency_average_ms),
        }
    }
}

/// A connection string for libpq. The password is not in it: every local user can read command lines.
pub(super) fn conninfo(target: &Target) -> String {
    let (host, port) = match &target.host {
        Host::Unix { directory, port } => (directory.display().to_string(), *port),
        Host::Tcp(address) => (address.ip().to_string(), address.port()),
    };
    let mut text = format!(
        "host={} port={port} user={} dbname={} application_name={} connect_timeout={}",
        conninfo_value(&host),
        conninfo_value(&target.user),
        conninfo_value(&target.database),
        conninfo_value(&target.application_name),
        target.connect_timeout.as_secs().max(1)
    );
    if matches!(target.host, Host::Tcp(_)) {
        // As the built-in driver connects: no round trips for what these servers do not have.
        text += " sslmode=disable gssencmode=disable";
    }
    text
}

impl Live<'_> {
    pub(super) async fn ready_pgbench(&mut self, name: &str) -> Result<(), Failure> {
        let failed = |why: String| Failure::new(format!("workload `{name}`: {why}"));
        let load = &self.cell.scenario.workloads[name];
        let tool = self.tools.get(PGBENCH).ok_or_else(|| failed("no pgbench is found".to_owned()))?;
        let program = tool.bin.clone().ok_or_else(|| failed("no pgbench is installed".to_owned()))?;
        let node = self.node(&load.node)?;
        let target = node.target(self.cell.scenario.transport.value, &format!("load {name}"));
        let (folder, run_as) = {
            let lab = self.lab.lock().await;
            (lab.private_folder("load"), lab.run_as().cloned())
        };
        let folder = folder.map_err(|error| failed(error.to_string()))?;
        let folder = Folder(folder);
        for script in load.scripts.iter().filter(|script| script.builtin.is_none()) {
            let path = folder.0.join(file_name(script));
            std::fs::write(&path, file_text(script))
                // Whatever our umask is, the servers' user must read it; the folder is its alone.
                .and_then(|()| std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o644)))
                .map_err(|error| failed(format!("{} cannot be written: {error}", path.display())))?;
        }
        std::fs::create_dir_all(&self.logs)
            .map_err(|error| failed(format!("{} cannot be made: {error}", self.logs.display())))?;
        let mut program = Program::new(program)
            .args(options(load, Some(tool.release), &Options::of(load)))
            .arg(format!("--random-seed={}", self.seed()))
            .args(log_options(load, &folder.0))
            .args(scripts(load, &folder.0.display().to_string()))
            .arg(conninfo(&target))
            .folder(&folder.0)
            .run_as(run_as);
        if let Some(password) = target.password {
            program = program.variable("PGPASSWORD", password);
        }
        let prepared = Prepared {
            program,
            folder,
            output: self.logs.join(format!("load-{name}.txt")),
            threads: load.pgbench_threads(),
            scripts: load.scripts.iter().map(|script| script.name.clone()).collect(),
            log: load.log.value.then(|| LogForm {
                lag: load.rate.is_some(),
                retries: load.max_tries.value != 1,
                limit: load.latency_limit.as_ref().map(|limit| limit.value),
            }),
        };
        self.prepared.insert(name.to_owned(), prepared);
        Ok(())
    }

    /// Forks, so on the main thread alone.
    pub(super) fn start_pgbench(&mut self, name: &str) -> Result<Running, Failure> {
        let unready = || Failure::new(format!("workload `{name}` was not made ready"));
        let prepared = self.prepared.remove(name).ok_or_else(unready)?;
        let Prepared { program, folder, output, threads, scripts, log } = prepared;
        let failed = {
            let name = name.to_owned();
            move |why: String| Failure::new(format!("workload `{name}`: {why}"))
        };
        let from = std::fs::metadata(&output).map_or(0, |file| file.len());
        let started = Instant::now();
        let process = Process(program.spawn(&output).map_err(|error| failed(error.to_string()))?);
        let prefix = folder.0.join(LOG);
        let follow = |form| Follower::start(&prefix, process.0.pid(), threads, &scripts, form);
        let follower = log.map(follow).transpose().map_err(|error| failed(error.to_string()))?;
        let node = self.cell.scenario.workloads[name].node.clone();
        let postmaster = self.node(&node)?.node.pid;
        let (name, ended) = (name.to_owned(), self.ended.clone());
        let stopped = Rc::new(Notify::new());
        let wake = stopped.clone();
        let done = Box::pin(async move {
            // Dropped in this order: the process is killed before its folder is removed.
            let (_folder, process) = (folder, process);
            let end = loop {
                tokio::select! {
                    end = process.0.ended() => break end,
                    () = stopped.notified() => break interrupt(&process.0).await,
                    () = tokio::time::sleep(LOOK_INTERVAL) => {
                        // One that fails is missed; the readings that count tell their failures.
                        if let Ok(reading) = CpuReading::take(postmaster) {
                            ended.borrow_mut().passing.entry(node.clone()).or_default().look(&reading);
                        }
                    }
                }
            };
            let end = end.ok_or_else(|| failed("pgbench does not end, even by SIGKILL".to_owned()))?;
            // The logs first: the process has ended, so they have too.
            let counted = follower.map(|follower| follower.finish().map_err(|error| error.to_string()));
            let (finished, told) =
                outcome(started, end, &log::since(&output, from).0, &scripts, counted).map_err(&failed)?;
            let refused = all_failed(&finished);
            ended.borrow_mut().loads.insert(name, EndedLoad { finished, pgbench: Some(told) });
            refused.map_or(Ok(()), |why| Err(failed(why)))
        });
        Ok(Running { done, stop: Box::new(move || wake.notify_one()) })
    }
}

/// The options of the log, if it keeps one.
fn log_options(load: &Workload, folder: &Path) -> Vec<String> {
    if load.log.value {
        vec!["--log".to_owned(), format!("--log-prefix={}", folder.join(LOG).display())]
    } else {
        Vec::new()
    }
}

/// What the logs' names begin with.
const LOG: &str = "log";

/// Ends it: politely, then for certain.
async fn interrupt(child: &Child) -> Option<Ended> {
    // A failure to signal is seen by waiting.
    let _ = child.signal(Signal::INT);
    if let Some(end) = child.ended_within(INTERRUPT_BOUND).await {
        return Some(end);
    }
    child.kill_group();
    child.ended_within(KILL_BOUND).await
}

/// From exit code, output and, if it kept them, logs to what was observed, or why it must not be taken for a figure.
fn outcome(
    started: Instant,
    end: Ended,
    text: &str,
    scripts: &[String],
    counted: Option<Result<Counted, String>>,
) -> Result<(Finished, Told), String> {
    let told = || complaint(text).unwrap_or_else(|| log::tail(text, 3));
    match end.status.code() {
        Some(0) => {}
        Some(2) => return Err(format!("a client of pgbench was aborted, so there is no whole result: {}", told())),
        Some(_) => return Err(format!("pgbench refused: {}", told())),
        None => return Err(format!("pgbench ended with {}", end.status)),
    }
    let output = Output::parse(text).map_err(|error| error.to_string())?;
    let unlogged = counted.is_none();
    let counted = counted.unwrap_or_else(|| Ok(output.counted(scripts)))?;
    let sum = |count: fn(&ScriptReport) -> u64| counted.scripts.iter().map(count).sum::<u64>();
    let logged = (sum(|script| script.committed), sum(|script| script.failed), sum(|script| script.skipped));
    let reported = (output.processed, output.failed, output.skipped);
    if logged != reported {
        return Err(format!(
            "pgbench's log holds {} committed, {} failed and {} skipped transactions, and its report {}, {} and {}",
            logged.0, logged.1, logged.2, reported.0, reported.1, reported.2
        ));
    }
    let report = LoadReport {
        started,
        finished: end.at,
        scripts: counted.scripts,
        clients: Vec::new(),
        committed_each_second: counted.by_second,
        driver_cpu_ns: u64::try_from((end.user + end.system).as_nanos()).unwrap_or(u64::MAX),
        interrupted: false,
    };
    let finished = Finished { report, connections: OpenConnections::none() };
    Ok((finished, Told { output, unlogged }))
}

/// Loads that have yet to be started, by workload.
pub(super) type PreparedLoads = std::collections::HashMap<String, Prepared>;

#[cfg(test)]
mod tests {
    use std::net::{Ipv4Addr, SocketAddr};
    use std::os::unix::process::ExitStatusExt;
    use std::process::ExitStatus;

    use super::*;
    use crate::load::pgbench::LogReader;

    const REPORT: &str = include_str!("../../../tests/fixtures/pgbench/output_failures");

    fn told(code: i32, text: &str, log: &str) -> Result<(u64, u64), String> {
        let end = Ended {
            status: ExitStatus::from_raw(code),
            user: Duration::from_millis(300),
            system: Duration::from_millis(200),
            at: Instant::now(),
        };
        let mut reader = LogReader::new(&["s".to_owned()], LogForm::default(), 0);
        reader.take(log.as_bytes()).map_err(|error| error.to_string())?;
        outcome(Instant::now(), end, text, &[], Some(Ok(reader.counted()))).map(|(finished, told)| {
            assert_eq!(finished.report.driver_cpu_ns, 500_000_000);
            let evidence = told.evidence(1.0);
            assert_eq!(evidence.tps, Some(told.output.tps));
            let own = 1.0 - evidence.outside_seconds;
            assert!((finished.report.committed() as f64 / own - told.output.tps).abs() < 1e-6);
            (finished.report.committed(), finished.report.failed())
        })
    }

    #[test]
    fn only_a_whole_result_that_its_log_bears_out_is_taken() {
        let line = "0 1 25 0 1700000000 5\n";
        let log = [line.repeat(142), line.replace("25", "serialization").repeat(258)].concat();
        assert_eq!(told(0, REPORT, &log), Ok((142, 258)));
        let error = told(0, REPORT, line).expect_err("one line of 142");
        assert!(error.starts_with("pgbench's log holds 1 committed, 0 failed"), "{error}");
        let error = told(0, include_str!("../../../tests/fixtures/pgbench/output_incomplete"), line);
        assert_eq!(error, Err("pgbench did 150 of 200 transactions".to_owned()));
    }

    #[test]
    fn exit_codes_are_respected_whatever_was_printed() {
        let aborted = include_str!("../../../tests/fixtures/pgbench/output_incomplete");
        let error = told(2 << 8, aborted, "").expect_err("a client was aborted");
        assert!(
            error.contains("aborted, so there is no whole result") && error.contains("division by zero"),
            "{error}"
        );
        let refused = include_str!("../../../tests/fixtures/pgbench/output_refused");
        let error = told(1 << 8, refused, "").expect_err("it refused");
        assert!(error.starts_with("pgbench refused: could not count number of branches"), "{error}");
        let error = told(9, "", "").expect_err("it was killed");
        assert!(error.contains("signal: 9"), "{error}");
    }

    #[test]
    fn a_password_is_in_no_command_line() {
        let mut target = Target::new(Host::Tcp(SocketAddr::from((Ipv4Addr::LOCALHOST, 5433))), "postgres", "postgres");
        target.password = Some("secret".to_owned());
        target.application_name = "load it's".to_owned();
        assert_eq!(
            conninfo(&target),
            "host=127.0.0.1 port=5433 user=postgres dbname=postgres application_name='load it\\'s' connect_timeout=10 sslmode=disable gssencmode=disable"
        );
    }
}
