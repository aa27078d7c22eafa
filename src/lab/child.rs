//! A spawned child: waiting for its end, its CPU seconds, signals that cannot hit another.
//!
//! A std thread per child waits with `wait4`. Spawning is `process.rs`.

use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions};
use tokio::sync::watch;
use wait4::Wait4;

use super::process::ProcessError;

/// How long a child may take to end after SIGTERM.
const TERMINATE_BOUND: Duration = Duration::from_secs(2);

/// How a child ended.
#[derive(Clone, Copy, Debug)]
pub struct Ended {
    /// Exit code or signal.
    pub status: ExitStatus,
    /// CPU of its whole life in user mode, with every descendant it waited for.
    pub user: Duration,
    /// The same in the kernel.
    pub system: Duration,
    /// When it ended, as far as its waiting thread was let run.
    pub at: Instant,
}

/// A running or ended child. Clones speak of the same process; dropping one does nothing.
#[derive(Clone, Debug)]
pub struct Child {
    pid: Pid,
    ended: watch::Receiver<Option<Ended>>,
    /// True once the process has been reaped: its id may then belong to someone else.
    /// Locked while a signal is sent, so that no signal can hit a reused id.
    reaped: Arc<Mutex<bool>>,
}

impl Child {
    pub(crate) fn watched(child: std::process::Child) -> Self {
        let pid = Pid::from_child(&child);
        let (sender, ended) = watch::channel(None);
        let reaped = Arc::new(Mutex::new(false));
        let flag = Arc::clone(&reaped);
        std::thread::spawn(move || {
            let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
            // Wait without reaping, then reap under the lock.
            while let Err(rustix::io::Errno::INTR) = rustix::process::waitid(WaitId::Pid(pid), options) {}
            let at = Instant::now();
            let mut flag = flag.lock().unwrap_or_else(PoisonError::into_inner);
            let ended = match child.wait4() {
                Ok(used) => Ended { status: used.status, user: used.rusage.utime, system: used.rusage.stime, at },
                // Only possible if someone else waited for our child.
                Err(_) => {
                    Ended { status: ExitStatus::from_raw(0xff00), user: Duration::ZERO, system: Duration::ZERO, at }
                }
            };
            *flag = true;
            sender.send_replace(Some(ended));
        });
        Self { pid, ended, reaped }
    }

    /// The process id.
    pub fn pid(&self) -> u32 {
        self.pid.as_raw_nonzero().get().unsigned_abs()
    }

    /// How it ended, or `None` while it runs.
    pub fn try_ended(&self) -> Option<Ended> {
        *self.ended.borrow()
    }

    /// Waits until it has ended; `None` only if its waiting thread was lost.
    pub async fn ended(&self) -> Option<Ended> {
        let mut receiver = self.ended.clone();
        receiver.wait_for(Option::is_some).await.ok().and_then(|ended| *ended)
    }

    /// Waits until it has ended, at most `bound`.
    pub async fn ended_within(&self, bound: Duration) -> Option<Ended> {
        let mut receiver = self.ended.clone();
        let waiting = receiver.wait_for(Option::is_some);
        match tokio::time::timeout(bound, waiting).await {
            Ok(Ok(ended)) => *ended,
            _ => self.try_ended(),
        }
    }

    /// Waits until it has ended, at most `bound`; then, or when this future is dropped, it is
    /// terminated: politely at first, because an `initdb` that is merely killed leaves its
    /// backend at work.
    pub(crate) async fn ended_or_terminated(&self, bound: Duration) -> Option<Ended> {
        let _termination = TerminateOnDrop(self);
        if let Some(ended) = self.ended_within(bound).await {
            return Some(ended);
        }
        // A failure to signal is seen by waiting.
        let _ = self.signal(Signal::TERM);
        self.ended_within(TERMINATE_BOUND).await;
        self.kill_group();
        None
    }

    /// Waits for the end on this very thread, at most `bound`: for destructors only.
    pub fn ended_within_blocking(&self, bound: Duration) -> Option<Ended> {
        let until = std::time::Instant::now() + bound;
        while self.try_ended().is_none() && std::time::Instant::now() < until {
            std::thread::sleep(Duration::from_millis(2));
        }
        self.try_ended()
    }

    /// Sends a signal; an ended child takes it silently.
    pub fn signal(&self, signal: Signal) -> Result<(), ProcessError> {
        let reaped = self.reaped.lock().unwrap_or_else(PoisonError::into_inner);
        if *reaped {
            return Ok(());
        }
        match rustix::process::kill_process(self.pid, signal) {
            Ok(()) | Err(rustix::io::Errno::SRCH) => Ok(()),
            Err(e) => Err(ProcessError::Signal { pid: self.pid(), source: e.into() }),
        }
    }

    /// Kills it with the whole process group it leads; failures have no remedy and are
    /// seen by whoever waits.
    pub fn kill_group(&self) {
        let reaped = self.reaped.lock().unwrap_or_else(PoisonError::into_inner);
        if !*reaped {
            let _ = rustix::process::kill_process_group(self.pid, Signal::KILL);
        }
    }
}

/// Terminates a helper whose waiting was given up.
struct TerminateOnDrop<'a>(&'a Child);

impl Drop for TerminateOnDrop<'_> {
    fn drop(&mut self) {
        let _ = self.0.signal(Signal::TERM);
    }
}
