//! One client: transactions one after another over its session, as a machine that is driven by replies.
//!
//! It never waits, so a thread of its own and an event loop drive it alike. A transaction is one pass of the script; an
//! error ends the pass, is rolled back where a block is open, and counts as one failed transaction, whatever its
//! SQLSTATE (retries are not here). A `\\sleep` is no wait either: it says until when, and whoever drives the client
//! comes back.

use super::choice::Choice;
use super::error::LoadError;
use super::report::{ClientReport, ScriptReport};
use super::session::{Session, Statements};
use crate::script::{Machine, RunError, Step};
use crate::wire::{Reply, ServerError, TransactionStatus, WireError};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Instant;

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
    /// The end of the last transaction.
    pub(super) last_end: Option<Instant>,
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
    interrupted: bool,
    /// The statement under way.
    statement: usize,
    /// When the transaction's first statement was sent, or its first sleep began.
    sent: Option<Instant>,
    /// Until when it sleeps.
    asleep_until: Option<Instant>,
    /// The Syncs within the pipeline that is being written or answered, whose replies come before the last one.
    syncs: u32,
    /// Whether a reply may have been received that nobody has looked at.
    received: bool,
    /// The error that ended the transaction, while the rest of its pipeline or its ROLLBACK is under way.
    failure: Option<Box<ServerError>>,
    rolling_back: bool,
}

/// How far a transaction has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Advance {
    Sent,
    Asleep(Instant),
    Ended,
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
            interrupted: false,
            statement: 0,
            sent: None,
            asleep_until: None,
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
        let next = match self.advance(tally)? {
            Advance::Sent => Next::Reply,
            Advance::Asleep(until) => Next::Sleep(until),
            Advance::Ended => {
                self.end(self.session.transaction_status())?;
                self.begin(tally)?
            }
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

    /// Begins transactions until one has sent something, or there is nothing more to begin.
    fn begin(&mut self, tally: &mut Tally<'_>) -> Result<Next, LoadError> {
        loop {
            if self.quota.transactions == 0 {
                return Ok(Next::Over);
            }
            if tally.stop.load(Ordering::Relaxed) {
                self.interrupted = true;
                return Ok(Next::Over);
            }
            // The end of the last transaction is as good as a clock reading of now.
            if let Some(until) = self.quota.until
                && tally.last_end.is_some_and(|end| end >= until)
            {
                return Ok(Next::Over);
            }
            self.quota.transactions -= 1;
            self.sent = None;
            match &mut self.choice {
                None => self.machine.restart(),
                Some(choice) => self.machine.begin(choice.next()),
            }
            match self.advance(tally)? {
                Advance::Sent => return Ok(Next::Reply),
                Advance::Asleep(until) => return Ok(Next::Sleep(until)),
                // Nothing was sent, so nothing is open.
                Advance::Ended => {}
            }
        }
    }

    /// Sends the script's next statement or pipeline, unless a sleep or the transaction's end comes first.
    fn advance(&mut self, tally: &mut Tally<'_>) -> Result<Advance, LoadError> {
        let statement = match self.machine.next() {
            Ok(Step::Statement(statement)) => statement,
            Ok(Step::Finished) => {
                self.finish(tally);
                return Ok(Advance::Ended);
            }
            other => return self.advance_slowly(other, tally),
        };
        self.statement = statement;
        self.session.write(statement, &self.machine);
        if self.sent.is_none() {
            self.sent = Some(Instant::now());
        }
        match self.session.flush() {
            Ok(()) => Ok(Advance::Sent),
            Err(error) => self.lost(error).map(|_| Advance::Sent),
        }
    }

    /// Takes the steps that few scripts have: pipelines and sleeps.
    #[cold]
    fn advance_slowly(
        &mut self,
        mut step: Result<Step, RunError>,
        tally: &mut Tally<'_>,
    ) -> Result<Advance, LoadError> {
        loop {
            match step.map_err(|source| self.script_error(source))? {
                Step::Queue(statement) => {
                    self.statement = statement;
                    self.session.queue(statement, &self.machine);
                    self.sent.get_or_insert_with(Instant::now);
                }
                Step::Sync => {
                    self.session.sync();
                    self.syncs += 1;
                }
                Step::EndPipeline => {
                    self.session.sync();
                    self.sent.get_or_insert_with(Instant::now);
                    self.received = true;
                    return match self.session.flush_pipeline() {
                        Ok(()) => Ok(Advance::Sent),
                        Err(error) => self.lost(error).map(|_| Advance::Sent),
                    };
                }
                Step::Sleep(time) if time.is_zero() => {}
                Step::Sleep(time) => {
                    let now = Instant::now();
                    self.sent.get_or_insert(now);
                    let until = now + time;
                    self.asleep_until = Some(until);
                    return Ok(Advance::Asleep(until));
                }
                Step::Statement(statement) => {
                    self.statement = statement;
                    self.session.write(statement, &self.machine);
                    self.sent.get_or_insert_with(Instant::now);
                    return match self.session.flush() {
                        Ok(()) => Ok(Advance::Sent),
                        Err(error) => self.lost(error).map(|_| Advance::Sent),
                    };
                }
                Step::Finished => {
                    self.finish(tally);
                    return Ok(Advance::Ended);
                }
            }
            step = self.machine.next();
        }
    }

    /// Takes a reply and goes on with the transaction, or with the next one.
    #[inline]
    fn take(&mut self, reply: Reply, tally: &mut Tally<'_>) -> Result<Next, LoadError> {
        if reply.error.is_some() || self.failure.is_some() || self.syncs > 0 {
            return self.take_partly(reply, tally);
        }
        self.go_on(reply.status, tally)
    }

    /// Goes on after a statement or a pipeline that was performed.
    #[inline]
    fn go_on(&mut self, status: TransactionStatus, tally: &mut Tally<'_>) -> Result<Next, LoadError> {
        if self.session.capturing()
            && let Err(source) = self.session.store(self.statement, &mut self.machine)
        {
            return Err(self.script_error(source));
        }
        match self.advance(tally)? {
            Advance::Sent => return Ok(Next::Reply),
            Advance::Asleep(until) => return Ok(Next::Sleep(until)),
            Advance::Ended => {}
        }
        self.end(status)?;
        self.begin(tally)
    }

    /// What a transaction leaves open at its script's end is an error.
    #[inline]
    fn end(&self, status: TransactionStatus) -> Result<(), LoadError> {
        if status == TransactionStatus::Idle {
            return Ok(());
        }
        Err(LoadError::OpenTransaction { client: self.number, script: self.script_name() })
    }

    /// Takes a reply that is not the last of its pipeline, or that belongs to a failed transaction: such a one ends by
    /// ROLLBACK while a block is open, then by counting it.
    #[cold]
    fn take_partly(&mut self, reply: Reply, tally: &mut Tally<'_>) -> Result<Next, LoadError> {
        if let Some(error) = reply.error {
            if self.rolling_back {
                return Err(self.connection_error(error.into()));
            }
            // What follows a failed part of a pipeline fails for its sake.
            self.failure.get_or_insert(error);
        }
        if self.syncs > 0 {
            self.syncs -= 1;
            self.received = true;
            return Ok(Next::Reply);
        }
        if self.failure.is_none() {
            return self.go_on(reply.status, tally);
        }
        if reply.status != TransactionStatus::Idle {
            self.rolling_back = true;
            self.session.write_rollback();
            if let Err(error) = self.session.flush() {
                return self.lost(error);
            }
            return Ok(Next::Reply);
        }
        self.rolling_back = false;
        if let Some(error) = self.failure.take() {
            self.failed += 1;
            tally.scripts[self.machine.script()].fail(&error.sqlstate, || error.message.clone());
            tally.last_end = Some(Instant::now());
        }
        self.begin(tally)
    }

    /// Counts a committed transaction.
    #[inline]
    fn finish(&mut self, tally: &mut Tally<'_>) {
        let now = Instant::now();
        let script = &mut tally.scripts[self.machine.script()];
        match self.sent {
            Some(sent) => script.commit(now.duration_since(sent)),
            None => script.commit_without_latency(),
        }
        tally.last_end = Some(now);
        tally.committed += 1;
        tally.progress.store(tally.committed, Ordering::Relaxed);
        self.committed += 1;
    }

    /// The session's end: an interrupt is no error.
    #[cold]
    fn lost(&mut self, error: WireError) -> Result<Next, LoadError> {
        if error.is_stop() {
            self.interrupted = true;
            self.asleep_until = None;
            return Ok(Next::Over);
        }
        Err(self.connection_error(error))
    }

    fn connection_error(&self, source: WireError) -> LoadError {
        if self.asleep_until.is_some() {
            return LoadError::Asleep { client: self.number, script: self.script_name(), source };
        }
        LoadError::Connection {
            client: self.number,
            script: self.script_name(),
            statement: self.statements.words(self.machine.script(), self.statement),
            source,
        }
    }

    #[cold]
    fn script_error(&self, source: RunError) -> LoadError {
        LoadError::Script { client: self.number, script: self.script_name(), source: Box::new(source) }
    }

    fn script_name(&self) -> String {
        self.statements.name(self.machine.script())
    }

    /// Whether a stop ended it before its time.
    pub(super) fn interrupted(&self) -> bool {
        self.interrupted
    }

    /// What it did.
    pub(super) fn report(&self) -> ClientReport {
        ClientReport { client: self.number, committed: self.committed, failed: self.failed }
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
