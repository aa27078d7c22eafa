//! The life of a load as its owner sees it: connected and waiting, running, ended with its connections still open.
//!
//! Awaiting the end costs the caller's runtime nothing: the last thread sends the outcome over a oneshot channel. What
//! the threads do is not here.

use super::crew::{Outcome, Part, Shared};
use super::error::LoadError;
use super::pace::Schedule;
use super::report::LoadReport;
use super::request::{LoadRequest, threads};
use super::session::Statements;
use crate::script::Seeds;
use crate::wire::Connection;
use std::num::NonZero;
use std::sync::{Arc, mpsc};
use std::thread::JoinHandle;
use std::time::Instant;
use tokio::sync::oneshot;

/// Opens all connections and prepares all statements, in parallel, and returns when every thread waits for the start.
/// Blocks for at most a few of the target's connect time-outs.
pub fn connect(request: LoadRequest) -> Result<Ready, LoadError> {
    request.check()?;
    let cores = std::thread::available_parallelism().map_or(1, NonZero::get) as u32;
    let workers = request.threads.unwrap_or_else(|| threads(request.clients, cores)).clamp(1, request.clients);
    let statements = Arc::new(Statements::new(&request.scripts, request.protocol)?);
    let seeds = Arc::new(Seeds::new(request.seed, request.clients as usize));
    let (sender, outcome) = oneshot::channel();
    let schedule = request.rate.map(|rate| Schedule::new(&seeds, rate));
    let shared = Arc::new(Shared::new(workers, request.clients, schedule, sender));
    let request = Arc::new(request);
    let (tell, told) = mpsc::channel();
    let mut ready = Ready {
        shared: Arc::clone(&shared),
        threads: Vec::with_capacity(workers as usize),
        outcome: Some(outcome),
        backend_pids: Vec::new(),
    };
    for worker in 0..workers {
        let part = Part {
            worker,
            workers,
            request: Arc::clone(&request),
            statements: Arc::clone(&statements),
            seeds: Arc::clone(&seeds),
            shared: Arc::clone(&shared),
        };
        let tell = tell.clone();
        let thread = std::thread::Builder::new()
            .name(format!("load {worker}"))
            .spawn(move || part.run(&tell))
            .map_err(|source| LoadError::Thread { source })?;
        ready.threads.push(thread);
    }
    drop(tell);
    for _ in 0..workers {
        let pids = told
            .recv()
            .map_err(|_| LoadError::NoOutcome { why: String::from("a thread ended while it connected") })??;
        ready.backend_pids.extend(pids);
    }
    ready.backend_pids.sort_unstable();
    Ok(ready)
}

/// A load whose connections are open and whose statements are prepared; its clock has not started. Dropping it closes
/// the connections.
#[derive(Debug)]
pub struct Ready {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
    outcome: Option<oneshot::Receiver<Outcome>>,
    backend_pids: Vec<u32>,
}

impl Ready {
    /// The server processes of the clients' sessions.
    pub fn backend_pids(&self) -> &[u32] {
        &self.backend_pids
    }

    /// Starts the clock and lets all clients go.
    pub fn go(mut self) -> Running {
        let started = self.shared.gate.open();
        Running {
            shared: Arc::clone(&self.shared),
            threads: std::mem::take(&mut self.threads),
            outcome: self.outcome.take(),
            started,
        }
    }
}

impl Drop for Ready {
    /// Sends home threads that were never let go. They close their connections by themselves; one that is connecting
    /// still does so when that has ended, so nobody waits for it here.
    fn drop(&mut self) {
        self.shared.gate.abandon_unless_open();
    }
}

/// A load under way. Dropping it stops the load.
#[derive(Debug)]
pub struct Running {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
    outcome: Option<oneshot::Receiver<Outcome>>,
    started: Instant,
}

impl Running {
    /// When the clients were let go.
    pub fn started(&self) -> Instant {
        self.started
    }

    /// Ends the load now: nobody begins a transaction, and sockets are shut, so that a blocked wait returns. Whatever
    /// the server is executing is cut off. The outcome is the report so far, marked as interrupted.
    pub fn stop(&self) {
        self.shared.stop();
    }

    /// Transactions committed so far, for a progress line; costs the load nothing.
    pub fn progress(&self) -> u64 {
        self.shared.progress()
    }

    /// Waits for the end. Cancel-safe: a future that is dropped may be replaced by a new one, and `stop` may be called
    /// in between. The outcome is given once.
    pub async fn finished(&mut self) -> Result<Finished, LoadError> {
        let lost = |why: &str| LoadError::NoOutcome { why: why.into() };
        let Some(outcome) = &mut self.outcome else {
            return Err(lost("it was taken before"));
        };
        let finished = outcome.await;
        self.outcome = None;
        finished.unwrap_or_else(|_| Err(lost("all threads are gone")))
    }
}

impl Drop for Running {
    /// After a stop the threads end at once, so they are waited for.
    fn drop(&mut self) {
        if self.outcome.is_some() {
            self.shared.stop();
        }
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

/// A load that has ended.
#[derive(Debug)]
pub struct Finished {
    /// What it observed.
    pub report: LoadReport,
    /// Its connections: keep them until the counters of its server processes have been read.
    pub connections: OpenConnections,
}

/// The connections of a load that has ended, still open: their server processes are alive, so that their CPU can be
/// read. Dropping it closes them (after a stop they are shut already).
#[derive(Debug)]
pub struct OpenConnections {
    connections: Vec<Connection>,
}

impl OpenConnections {
    /// Keeps `connections`, which are in the order of the clients.
    pub(super) fn new(connections: Vec<Connection>) -> Self {
        Self { connections }
    }

    /// None: of a load whose connections have ended with it.
    pub fn none() -> Self {
        Self { connections: Vec::new() }
    }

    /// The server processes behind them, in the order of the clients.
    pub fn backend_pids(&self) -> Vec<u32> {
        let connections = self.connections.iter();
        connections.map(Connection::backend_pid).collect()
    }
}
