//! The worker threads of a load: what each is given, what they share, and what they leave behind.
//!
//! How a thread waits for its clients is `worker`'s; what the owner of a load can do is `running`'s.

use super::choice::Choice;
use super::client::{Client, Quota, Tally};
use super::error::LoadError;
use super::gate::Gate;
use super::pace::{Pace, Schedule};
use super::report::{LoadReport, ScriptReport, WorkerReport};
use super::request::{End, LoadRequest, share};
use super::retries::Retries;
use super::running::{Finished, OpenConnections};
use super::seconds::EachSecond;
use super::session::{Session, Statements};
use super::worker::drive;
use crate::probe::thread_cpu;
use crate::script::{Machine, Predefined, Seeds};
use crate::wire::{Connection, ShutdownHandle};
use std::panic::AssertUnwindSafe;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc};
use std::time::{Duration, Instant};
use tokio::sync::oneshot;

/// How a load ends.
pub(super) type Outcome = Result<Finished, LoadError>;

/// A counter on cache lines of its own, so that the threads do not take it from each other.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Progress(AtomicU64);

/// What the threads leave behind.
#[derive(Debug)]
struct Left {
    threads: usize,
    reports: Vec<WorkerReport>,
    connections: Vec<(u32, Connection)>,
    interrupted: bool,
    error: Option<LoadError>,
    outcome: Option<oneshot::Sender<Outcome>>,
}

/// What the threads of a load and its owner share.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) gate: Gate,
    stop: AtomicBool,
    handles: Mutex<Vec<ShutdownHandle>>,
    progress: Vec<Progress>,
    /// Under a target rate.
    schedule: Option<Mutex<Schedule>>,
    left: Mutex<Left>,
}

/// Nothing that holds one of these locks can leave its data half-changed by a panic.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Shared {
    /// For `workers` threads that have yet to begin, the last of which sends the outcome to `outcome`.
    pub(super) fn new(
        workers: u32,
        clients: u32,
        schedule: Option<Schedule>,
        outcome: oneshot::Sender<Outcome>,
    ) -> Self {
        Self {
            gate: Gate::new(),
            stop: AtomicBool::new(false),
            handles: Mutex::new(Vec::with_capacity(clients as usize)),
            progress: (0..workers).map(|_| Progress::default()).collect(),
            schedule: schedule.map(Mutex::new),
            left: Mutex::new(Left {
                threads: workers as usize,
                reports: Vec::new(),
                connections: Vec::new(),
                interrupted: false,
                error: None,
                outcome: Some(outcome),
            }),
        }
    }

    /// Committed so far, of all threads.
    pub(super) fn progress(&self) -> u64 {
        let counters = self.progress.iter();
        counters.map(|counter| counter.0.load(Ordering::Relaxed)).sum()
    }

    /// Ends all clients: the flag for those between statements, the sockets for those that wait.
    pub(super) fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
        for handle in locked(&self.handles).iter() {
            handle.stop();
        }
    }

    /// Takes what a thread leaves; the last one sends the outcome.
    fn leave(&self, started: Instant, clients: Vec<Client>, report: Result<WorkerReport, LoadError>) {
        let mut left = locked(&self.left);
        left.threads -= 1;
        let last = left.threads == 0;
        left.interrupted |= clients.iter().any(Client::interrupted);
        left.connections.extend(clients.into_iter().map(|client| {
            let number = client.report().client;
            (number, client.into_session().into_connection())
        }));
        match report {
            Ok(report) => left.reports.push(report),
            Err(error) => {
                left.error.get_or_insert(error);
                drop(left);
                // One client's end is the load's: whoever reads a partial load would take it for a whole one.
                self.stop();
                left = locked(&self.left);
            }
        }
        if !last {
            return;
        }
        let outcome = if let Some(error) = left.error.take() {
            left.connections.clear();
            Err(error)
        } else {
            let mut connections = std::mem::take(&mut left.connections);
            connections.sort_by_key(|(client, _)| *client);
            let reports = std::mem::take(&mut left.reports);
            Ok(Finished {
                report: LoadReport::merged(started, left.interrupted, reports),
                connections: OpenConnections::new(connections.into_iter().map(|(_, open)| open).collect()),
            })
        };
        if let Some(sender) = left.outcome.take() {
            // Nobody may be waiting any more.
            let _ = sender.send(outcome);
        }
    }
}

/// What a thread is given.
pub(super) struct Part {
    pub(super) worker: u32,
    pub(super) workers: u32,
    pub(super) request: Arc<LoadRequest>,
    pub(super) statements: Arc<Statements>,
    pub(super) seeds: Arc<Seeds>,
    pub(super) shared: Arc<Shared>,
}

impl Part {
    /// The thread: connects, tells, waits for the start, drives its clients, leaves what it has.
    pub(super) fn run(self, tell: &mpsc::Sender<Result<Vec<u32>, LoadError>>) {
        let mut clients = match self.clients() {
            Ok((clients, pids)) => {
                let _ = tell.send(Ok(pids));
                clients
            }
            Err(error) => {
                let _ = tell.send(Err(error));
                return;
            }
        };
        let Some(started) = self.shared.gate.wait() else {
            return;
        };
        let report = std::panic::catch_unwind(AssertUnwindSafe(|| self.observe(&mut clients, started)))
            .unwrap_or_else(|_| Err(LoadError::NoOutcome { why: format!("thread \"load {}\" panicked", self.worker) }));
        self.shared.leave(started, clients, report);
    }

    /// Opens the sessions of this thread's clients: every `workers`-th one.
    fn clients(&self) -> Result<(Vec<Client>, Vec<u32>), LoadError> {
        let mut clients = Vec::new();
        let mut pids = Vec::new();
        let weights: Vec<u32> = self.request.scripts.iter().map(|script| script.weight).collect();
        for number in (self.worker..self.request.clients).step_by(self.workers as usize) {
            let session = Session::open(&self.request.target, &self.statements, number)?;
            locked(&self.shared.handles).push(session.shutdown_handle());
            pids.push(session.backend_pid());
            let machine = Machine::new(
                &self.statements.program,
                self.seeds.clients[number as usize],
                Predefined {
                    client_id: i64::from(number),
                    random_seed: self.request.seed.cast_signed(),
                    default_seed: self.seeds.default_seed,
                    scale: self.request.scale,
                },
            );
            let choice = Choice::new(&self.seeds, number, &weights);
            clients.push(Client::new(number, session, Arc::clone(&self.statements), machine, choice));
        }
        Ok((clients, pids))
    }

    /// Drives the clients and counts what they do.
    fn observe(&self, clients: &mut [Client], started: Instant) -> Result<WorkerReport, LoadError> {
        let cpu_before = thread_cpu();
        let request = &self.request;
        let until = match request.end {
            End::Duration(duration) => Some(started + duration),
            End::Transactions(_) => None,
        };
        let limit = request.latency_limit;
        let mut tally = Tally {
            scripts: request.scripts.iter().map(|script| ScriptReport::new(&script.name)).collect(),
            committed: 0,
            each_second: EachSecond::new(started),
            last_end: None,
            pace: self.shared.schedule.as_ref().map(|schedule| Pace { schedule, started, limit, until }),
            retries: Retries { max_tries: request.max_tries, limit: limit.unwrap_or(Duration::MAX) },
            late_from: limit.unwrap_or(Duration::MAX),
            progress: &self.shared.progress[self.worker as usize].0,
            stop: &self.shared.stop,
        };
        let quota = |index: usize| match request.end {
            End::Transactions(total) => {
                Quota { transactions: share(total, request.clients, self.worker + index as u32 * self.workers), until }
            }
            End::Duration(_) => Quota { transactions: u64::MAX, until },
        };
        drive(clients, quota, &mut tally)?;
        Ok(WorkerReport {
            scripts: tally.scripts,
            clients: clients.iter().map(Client::report).collect(),
            committed_each_second: tally.each_second.counts(tally.committed),
            last_end: tally.last_end,
            cpu: thread_cpu().saturating_sub(cpu_before),
        })
    }
}
