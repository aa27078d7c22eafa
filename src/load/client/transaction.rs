//! Within a transaction: from the script's steps to requests, from replies to the next step, and how it ends.
//!
//! A failed one is rolled back where a block is open, after all replies of its pipeline have come.

use super::super::error::LoadError;
use super::{After, Client, Next, Tally};
use crate::script::{RunError, Step};
use crate::wire::{Reply, TransactionStatus, WireError};
use std::sync::atomic::Ordering;
use std::time::Instant;

/// How far a transaction has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Advance {
    Sent,
    Asleep(Instant),
    Ended,
}

impl Client {
    /// Begins transactions until one has sent something, or there is nothing more to begin.
    pub(super) fn begin(&mut self, tally: &mut Tally<'_>) -> Result<Next, LoadError> {
        loop {
            if self.quota.transactions == 0 {
                return Ok(Next::Over);
            }
            if tally.stop.load(Ordering::Relaxed) {
                self.interrupted = true;
                return Ok(Next::Over);
            }
            if tally.pace.is_some() {
                return self.begin_scheduled(tally);
            }
            // The end of the last transaction is as good as a clock reading of now.
            if let Some(until) = self.quota.until
                && tally.last_end.is_some_and(|end| end >= until)
            {
                return Ok(Next::Over);
            }
            self.quota.transactions -= 1;
            self.sent = None;
            self.choose();
            match self.advance(tally)? {
                Advance::Sent => return Ok(Next::Reply),
                Advance::Asleep(until) => return Ok(Next::Sleep(until)),
                // Nothing was sent, so nothing is open.
                Advance::Ended => {}
            }
        }
    }

    /// Starts the script of the next transaction.
    #[inline]
    pub(super) fn choose(&mut self) {
        match &mut self.choice {
            None => self.machine.restart(),
            Some(choice) => self.machine.begin(choice.next()),
        }
    }

    /// Goes on with a transaction whose session waits for nothing, or with the next one.
    pub(super) fn go(&mut self, tally: &mut Tally<'_>) -> Result<Next, LoadError> {
        self.go_on_from(self.session.transaction_status(), tally)
    }

    /// Sends the script's next statement or pipeline, unless a sleep or the transaction's end comes first.
    pub(super) fn advance(&mut self, tally: &mut Tally<'_>) -> Result<Advance, LoadError> {
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
    pub(super) fn take(&mut self, reply: Reply, tally: &mut Tally<'_>) -> Result<Next, LoadError> {
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
        self.go_on_from(status, tally)
    }

    #[inline]
    fn go_on_from(&mut self, status: TransactionStatus, tally: &mut Tally<'_>) -> Result<Next, LoadError> {
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
    pub(super) fn end(&self, status: TransactionStatus) -> Result<(), LoadError> {
        if status == TransactionStatus::Idle {
            return Ok(());
        }
        Err(LoadError::OpenTransaction { client: self.number, script: self.script_name() })
    }

    /// Takes a reply that is not the last of its pipeline, or that belongs to a failed transaction: such a one ends by
    /// ROLLBACK while a block is open, then by trying it again or counting it.
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
            if self.is_tried_again(&error.sqlstate, tally) {
                return self.try_again(tally);
            }
            self.failed += 1;
            let script = &mut tally.scripts[self.machine.script()];
            script.fail(&error.sqlstate, || error.message.clone());
            if self.retries > 0 {
                script.retry(std::mem::take(&mut self.retries));
            }
            tally.last_end = Some(Instant::now());
        }
        self.begin(tally)
    }

    fn is_tried_again(&self, sqlstate: &str, tally: &Tally<'_>) -> bool {
        tally.retries.allow(sqlstate, self.retries + 1, || {
            let now = Instant::now();
            let took = self.sent.map(|sent| now.saturating_duration_since(sent)).unwrap_or_default();
            (took, self.quota.until.is_some_and(|until| now >= until))
        })
    }

    /// Runs the transaction once more with the same random numbers. Variables stay, as in pgbench.
    fn try_again(&mut self, tally: &mut Tally<'_>) -> Result<Next, LoadError> {
        if tally.stop.load(Ordering::Relaxed) {
            self.interrupted = true;
            return Ok(Next::Over);
        }
        self.retries += 1;
        self.machine.retry();
        self.go(tally)
    }

    /// Counts a committed transaction.
    #[inline]
    fn finish(&mut self, tally: &mut Tally<'_>) {
        let now = Instant::now();
        let script = &mut tally.scripts[self.machine.script()];
        match self.sent {
            Some(sent) => {
                let latency = now.duration_since(sent);
                script.commit(latency);
                script.late += u64::from(latency > tally.late_from);
            }
            None => script.commit_without_latency(),
        }
        if let Some(lag) = self.lag {
            script.lag(lag);
        }
        if self.retries > 0 {
            script.retry(std::mem::take(&mut self.retries));
        }
        tally.last_end = Some(now);
        tally.each_second.note(now, tally.committed);
        tally.committed += 1;
        tally.progress.store(tally.committed, Ordering::Relaxed);
        self.committed += 1;
    }

    /// The session's end: an interrupt is no error.
    #[cold]
    pub(super) fn lost(&mut self, error: WireError) -> Result<Next, LoadError> {
        if error.is_stop() {
            self.interrupted = true;
            self.asleep_until = None;
            return Ok(Next::Over);
        }
        Err(self.connection_error(error))
    }

    fn connection_error(&self, source: WireError) -> LoadError {
        if self.asleep_until.is_some() && self.after != After::Sleep {
            return LoadError::Waiting { client: self.number, source };
        }
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
}
