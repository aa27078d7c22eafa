//! The beginning of transactions under a target rate: a client that is free takes the next slot of the load's schedule,
//! waits for it if it comes too early, and counts as skipped what it is too late for.

use super::super::error::LoadError;
use super::super::pace::Slot;
use super::transaction::Advance;
use super::{After, Client, Next, Tally};
use std::sync::atomic::Ordering;
use std::time::Instant;

impl Client {
    /// Takes slots until one is to be waited for or its transaction has sent something.
    #[cold]
    pub(super) fn begin_scheduled(&mut self, tally: &mut Tally<'_>) -> Result<Next, LoadError> {
        let Some(pace) = tally.pace else {
            return Ok(Next::Over);
        };
        loop {
            // Before the slot, as in pgbench: what is skipped belongs to a script too.
            self.choose();
            loop {
                if self.quota.transactions == 0 {
                    return Ok(Next::Over);
                }
                if tally.stop.load(Ordering::Relaxed) {
                    self.interrupted = true;
                    return Ok(Next::Over);
                }
                let now = Instant::now();
                match pace.take(now) {
                    Slot::At(slot) => {
                        self.quota.transactions -= 1;
                        self.sent = Some(slot);
                        if slot > now {
                            return Ok(self.sleep_before(After::Slot, slot));
                        }
                        self.lag = Some(now - slot);
                        break;
                    }
                    Slot::TooLate => {
                        self.quota.transactions -= 1;
                        self.skipped += 1;
                        tally.scripts[self.machine.script()].skipped += 1;
                        tally.last_end = Some(now);
                    }
                    Slot::Beyond(until) if until > now => return Ok(self.sleep_before(After::End, until)),
                    Slot::Beyond(_) => return Ok(self.end_of_load(tally)),
                }
            }
            match self.advance(tally)? {
                Advance::Sent => return Ok(Next::Reply),
                Advance::Asleep(until) => return Ok(Next::Sleep(until)),
                // Nothing was sent, so nothing is open.
                Advance::Ended => {}
            }
        }
    }

    fn sleep_before(&mut self, after: After, until: Instant) -> Next {
        self.after = after;
        self.asleep_until = Some(until);
        Next::Sleep(until)
    }

    /// Begins the transaction of the slot that was waited for.
    pub(super) fn begin_slot(&mut self, tally: &mut Tally<'_>) -> Result<Next, LoadError> {
        self.lag = self.sent.map(|slot| Instant::now().saturating_duration_since(slot));
        self.go(tally)
    }

    /// The load's time is over, to the end of which it lasts although nothing was left to begin.
    pub(super) fn end_of_load(&mut self, tally: &mut Tally<'_>) -> Next {
        tally.last_end = tally.last_end.max(self.quota.until);
        Next::Over
    }
}
