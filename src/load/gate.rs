//! The line at which all worker threads wait until the clock starts.
//!
//! It opens once, or is abandoned.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

#[derive(Debug, Clone, Copy)]
enum State {
    Closed,
    Open(Instant),
    Abandoned,
}

/// A gate that many threads wait at.
#[derive(Debug)]
pub(super) struct Gate {
    state: Mutex<State>,
    changed: Condvar,
}

impl Gate {
    /// A closed gate.
    pub(super) fn new() -> Self {
        Self { state: Mutex::new(State::Closed), changed: Condvar::new() }
    }

    /// Opens the gate; gives the time that all who wait are told.
    pub(super) fn open(&self) -> Instant {
        let mut state = self.locked();
        let now = Instant::now();
        *state = State::Open(now);
        self.changed.notify_all();
        now
    }

    /// Sends all who wait home, unless they were let go before.
    pub(super) fn abandon_unless_open(&self) {
        let mut state = self.locked();
        if matches!(*state, State::Closed) {
            *state = State::Abandoned;
            self.changed.notify_all();
        }
    }

    /// Waits for the start; `None` if there will be none.
    pub(super) fn wait(&self) -> Option<Instant> {
        let mut state = self.locked();
        loop {
            match *state {
                State::Open(started) => return Some(started),
                State::Abandoned => return None,
                State::Closed => {
                    state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
                }
            }
        }
    }

    /// Nothing that holds the lock can panic half-way, so a poisoned state is a good one.
    fn locked(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
