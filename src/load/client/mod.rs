//! One client: transactions one after another over its session, as a machine that is driven by replies.
//!
//! It never waits, so a thread of its own and an event loop drive it alike. A transaction is one pass of the script; an
//! error ends the pass, is rolled back where a block is open, and counts as one failed transaction, whatever its
//! SQLSTATE, unless it is one that is tried again. (pgbench gives a client up at any other error; this is its
//! `--continue-on-error`.) A `\sleep` and the wait for a scheduled start are no waits either: the client says until when,
//! and whoever drives it comes back.

mod scheduled;
mod transaction;

use super::choice::Choice;
use super::error::LoadError;
use super::pace::Pace;
use super::report::{ClientReport, ScriptReport};
use super::retries::Retries;
use super::seconds::EachSecond;
use super::session::{Session, Statements};
use crate::script::Machine;
use crate::wire::ServerError;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// What a client is doing after a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Next {
    /// A request is under way; its reply is wanted.
    Reply,
    /// The client sleeps until this time.
    Sleep(Instant),
    /// The client has ended.
    Over,
}

/// What a worker thread counts, and what it looks at between transactions.
#[derive(Debug)]
pub(super) struct Tally<'a> {
    /// The counts by script.
    pub(super) scripts: Vec<ScriptReport>,
    /// Committed so far, of all scripts.
    pub(super) committed: u64,
    /// The same by seconds.
    pub(super) each_second: EachSecond,
    /// The end of the last transaction.
    pub(super) last_end: Option<Instant>,
    /// Where the clients take their slots, under a target rate.
    pub(super) pace: Option<Pace<'a>>,
    /// What bounds the tries of a transaction.
    pub(super) retries: Retries,
    /// Above which latency a transaction is late; `Duration::MAX` for none.
    pub(super) late_from: Duration,
    /// Committed so far, for whoever watches.
    pub(super) progress: &'a AtomicU64,
    /// Whether the load is to end.
    pub(super) stop: &'a AtomicBool,
}

/// When a client ends by itself.
#[derive(Debug, Clone, Copy)]
pub(super) struct Quota {
    /// The transactions it may still begin.
    pub(super) transactions: u64,
    /// The time after which it begins none.
    pub(super) until: Option<Instant>,
}

/// What a client that sleeps will do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum After {
    /// Go on with its script.
    #[default]
    Sleep,
    /// Begin the transaction of its slot.
    Slot,
    /// End with the load.
    End,
}

/// A client and where it stands in its transaction.
pub(super) struct Client {
    number: u32,
    session: Session,
    statements: Arc<Statements>,
    machine: Machine,
    /// Which script comes next; none where there is one only.
    choice: Option<Choice>,
    quota: Quota,
    committed: u64,
    failed: u64,
    skipped: u64,
    interrupted: bool,
    /// The statement under way.
    statement: usize,
    /// From when on the transaction's latency counts: its scheduled start under a target rate, else when its first
    /// statement was sent or its first sleep began.
    sent: Option<Instant>,
    /// By how much the transaction began after its scheduled start.
    lag: Option<Duration>,
    /// How often the transaction was tried again.
    retries: u32,
    /// Until when it sleeps.
    asleep_until: Option<Instant>,
    /// What it sleeps for.
    after: After,
    /// The Syncs within the pipeline that is being written or answered, whose replies come before the last one.
    syncs: u32,
    /// Whether a reply may have been received that nobody has looked at.
    received: bool,
    /// The error that ended the transaction, while the rest of its pipeline or its ROLLBACK is under way.
    failure: Option<Box<ServerError>>,
    rolling_back: bool,
}

impl Client {
    /// A client that has not begun.
    pub(super) fn new(
        number: u32,
        session: Session,
        statements: Arc<Statements>,
        machine: Machine,
        choice: Option<Choice>,
    ) -> Self {
        let quota = Quota { transactions: 0, until: None };
        Self {
            number,
            session,
            statements,
            machine,
            choice,
            quota,
            committed: 0,
            failed: 0,
            skipped: 0,
            interrupted: false,
            statement: 0,
            sent: None,
            lag: None,
            retries: 0,
            asleep_until: None,
            after: After::Sleep,
            syncs: 0,
            received: false,
            failure: None,
            rolling_back: false,
        }
    }

    /// Begins the first transaction.
    pub(super) fn start(&mut self, quota: Quota, tally: &mut Tally<'_>) -> Result<Next, LoadError> {
        self.quota = quota;
        let next = self.begin(tally)?;
        self.look(next, tally)
    }

    /// Waits for the reply under way and goes on.
    #[inline]
    pub(super) fn wait(&mut self, tally: &mut Tally<'_>) -> Result<Next, LoadError> {
        match self.session.reply() {
            Ok(reply) => {
                let next = self.take(reply, tally)?;
                self.look(next, tally)
            }
            Err(error) => self.lost(error),
        }
    }

    /// Goes on if the reply under way has arrived. A client that sleeps takes note of nothing but its connection's end.
    #[inline]
    pub(super) fn poll(&mut self, tally: &mut Tally<'_>) -> Result<Next, LoadError> {
        match self.session.reply_ready() {
            Ok(Some(reply)) if self.asleep_until.is_none() => {
                let next = self.take(reply, tally)?;
                self.look(next, tally)
            }
            Ok(_) => Ok(Next::Reply),
            Err(error) => self.lost(error),
        }
    }

    /// Goes on after a sleep.
    pub(super) fn wake(&mut self, tally: &mut Tally<'_>) -> Result<Next, LoadError> {
        self.asleep_until = None;
        if tally.stop.load(Ordering::Relaxed) {
            self.interrupted = true;
            return Ok(Next::Over);
        }
        let next = match std::mem::take(&mut self.after) {
            After::Sleep => self.go(tally)?,
            After::Slot => self.begin_slot(tally)?,
            After::End => self.end_of_load(tally),
        };
        self.look(next, tally)
    }

    /// Until when the client sleeps, if it does.
    pub(super) fn asleep_until(&self) -> Option<Instant> {
        self.asleep_until
    }

    /// Looks at replies of a pipeline that came together with an earlier one, or while it was sent.
    #[inline]
    fn look(&mut self, mut next: Next, tally: &mut Tally<'_>) -> Result<Next, LoadError> {
        while self.received && next == Next::Reply {
            next = match self.session.reply_received() {
                Ok(Some(reply)) => self.take(reply, tally)?,
                Ok(None) => {
                    self.received = false;
                    Next::Reply
                }
                Err(error) => self.lost(error)?,
            };
        }
        Ok(next)
    }

    /// Whether a stop ended it before its time.
    pub(super) fn interrupted(&self) -> bool {
        self.interrupted
    }

    /// What it did.
    pub(super) fn report(&self) -> ClientReport {
        ClientReport { client: self.number, committed: self.committed, failed: self.failed, skipped: self.skipped }
    }

    /// Its session.
    pub(super) fn session(&self) -> &Session {
        &self.session
    }

    /// Gives its session away.
    pub(super) fn into_session(self) -> Session {
        self.session
    }
}
