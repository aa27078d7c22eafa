//! One client: transactions one after another over its session, as a machine that is driven by replies.
//!
//! It never waits, so a thread of its own and an event loop drive it alike. A transaction is one pass of the script; an
//! error ends the pass, is rolled back where a block is open, and counts as one failed transaction, whatever its
//! SQLSTATE (retries are not here).

use super::error::LoadError;
use super::report::{ClientReport, ScriptReport};
use super::session::{Session, Statements};
use crate::script::{Machine, Step};
use crate::wire::{Reply, ServerError, TransactionStatus, WireError};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Instant;

/// What a client is doing after a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Next {
    /// A request is under way; its reply is wanted.
    Reply,
    /// The client has ended.
    Over,
}

/// What a worker thread counts, and what it looks at between transactions.
#[derive(Debug)]
pub(super) struct Tally<'a> {
    /// The script's counts.
    pub(super) script: ScriptReport,
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
    quota: Quota,
    committed: u64,
    failed: u64,
    interrupted: bool,
    /// The statement under way.
    statement: usize,
    /// When the transaction's first statement was sent.
    sent: Option<Instant>,
    /// The error that ended the transaction, while its ROLLBACK is under way.
    failure: Option<Box<ServerError>>,
}

impl Client {
    /// A client that has not begun.
    pub(super) fn new(number: u32, session: Session, statements: Arc<Statements>, machine: Machine) -> Self {
        let quota = Quota { transactions: 0, until: None };
        Self {
            number,
            session,
            statements,
            machine,
            quota,
            committed: 0,
            failed: 0,
            interrupted: false,
            statement: 0,
            sent: None,
            failure: None,
        }
    }

    /// Begins the first transaction.
    pub(super) fn start(&mut self, quota: Quota, tally: &mut Tally<'_>) -> Result<Next, LoadError> {
        self.quota = quota;
        self.begin(tally)
    }

    /// Waits for the reply under way and goes on.
    #[inline]
    pub(super) fn wait(&mut self, tally: &mut Tally<'_>) -> Result<Next, LoadError> {
        match self.session.reply() {
            Ok(reply) => self.take(reply, tally),
            Err(error) => self.lost(error),
        }
    }

    /// Goes on if the reply under way has arrived.
    #[inline]
    pub(super) fn poll(&mut self, tally: &mut Tally<'_>) -> Result<Next, LoadError> {
        match self.session.reply_ready() {
            Ok(Some(reply)) => self.take(reply, tally),
            Ok(None) => Ok(Next::Reply),
            Err(error) => self.lost(error),
        }
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
            self.machine.restart();
            if self.advance(tally)? {
                return Ok(Next::Reply);
            }
        }
    }

    /// Sends the script's next statement; false if the transaction has ended instead.
    fn advance(&mut self, tally: &mut Tally<'_>) -> Result<bool, LoadError> {
        let statement = match self.machine.next() {
            Ok(Step::Statement(statement)) => statement,
            Ok(Step::Finished) => {
                self.finish(tally);
                return Ok(false);
            }
            Err(source) => {
                return Err(LoadError::Script {
                    client: self.number,
                    script: self.statements.name.clone(),
                    source: Box::new(source),
                });
            }
        };
        self.statement = statement;
        self.session.write(statement, &self.machine);
        if self.sent.is_none() {
            self.sent = Some(Instant::now());
        }
        match self.session.flush() {
            Ok(()) => Ok(true),
            Err(error) => self.lost(error).map(|_| true),
        }
    }

    /// Takes a reply and goes on with the transaction, or with the next one.
    #[inline]
    fn take(&mut self, reply: Reply, tally: &mut Tally<'_>) -> Result<Next, LoadError> {
        if reply.error.is_some() || self.failure.is_some() {
            return self.take_failure(reply, tally);
        }
        if self.advance(tally)? {
            return Ok(Next::Reply);
        }
        if reply.status != TransactionStatus::Idle {
            return Err(LoadError::OpenTransaction { client: self.number, script: self.statements.name.clone() });
        }
        self.begin(tally)
    }

    /// Ends a failed transaction: by ROLLBACK while a block is open, then by counting it.
    #[cold]
    fn take_failure(&mut self, reply: Reply, tally: &mut Tally<'_>) -> Result<Next, LoadError> {
        let rolled_back = self.failure.is_some();
        if let Some(error) = reply.error {
            if rolled_back {
                return Err(self.connection_error(error.into()));
            }
            self.failure = Some(error);
        }
        if reply.status != TransactionStatus::Idle {
            self.session.write_rollback();
            if let Err(error) = self.session.flush() {
                return self.lost(error);
            }
            return Ok(Next::Reply);
        }
        if let Some(error) = self.failure.take() {
            self.failed += 1;
            tally.script.fail(&error.sqlstate, || error.message.clone());
            tally.last_end = Some(Instant::now());
        }
        self.begin(tally)
    }

    /// Counts a committed transaction.
    #[inline]
    fn finish(&mut self, tally: &mut Tally<'_>) {
        let now = Instant::now();
        match self.sent {
            Some(sent) => tally.script.commit(now.duration_since(sent)),
            None => tally.script.commit_without_latency(),
        }
        tally.last_end = Some(now);
        tally.progress.store(tally.script.committed, Ordering::Relaxed);
        self.committed += 1;
    }

    /// The session's end: an interrupt is no error.
    #[cold]
    fn lost(&mut self, error: WireError) -> Result<Next, LoadError> {
        if error.is_stop() {
            self.interrupted = true;
            return Ok(Next::Over);
        }
        Err(self.connection_error(error))
    }

    fn connection_error(&self, source: WireError) -> LoadError {
        LoadError::Connection {
            client: self.number,
            script: self.statements.name.clone(),
            statement: self.statements.words(self.statement),
            source,
        }
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
