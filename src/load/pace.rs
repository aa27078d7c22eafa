//! When the transactions of a load with a target rate are to begin: one schedule for all its clients, and what becomes of
//! a slot that is taken late. Pure: it is told the time.
//!
//! The schedule is fixed by seed and rate, whatever the server does, and a latency is counted from it: transactions
//! that queue up behind a slow one are slow too (no coordinated omission).

use crate::script::{Random, Seeds};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// A Poisson process: the times at which transactions are to begin, with exponential gaps between them.
#[derive(Debug)]
pub(super) struct Schedule {
    random: Random,
    mean_gap_ns: f64,
    /// The last slot given out, since the start; exact to far below a nanosecond for weeks.
    at_ns: f64,
}

impl Schedule {
    /// `rate` slots a second on average. The generator has the seed that pgbench gives its first thread for `--rate`, so
    /// the slots are those of `pgbench -j 1`.
    pub(super) fn new(seeds: &Seeds, rate: f64) -> Self {
        let mut rest = seeds.rest.clone();
        rest.bits(); // the thread's choice of scripts
        Self { random: Random::from_seed(rest.bits()), mean_gap_ns: 1e9 / rate, at_ns: 0.0 }
    }

    /// The next slot, since the start.
    pub(super) fn next(&mut self) -> Duration {
        // From 0 (excluded) to 1 (included), so the logarithm is finite.
        self.at_ns -= (1.0 - self.random.fraction()).ln() * self.mean_gap_ns;
        Duration::from_nanos(self.at_ns as u64)
    }
}

/// What becomes of a slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Slot {
    /// A transaction that counts from this time, which may be past.
    At(Instant),
    /// Its transaction will never begin and is counted as skipped.
    TooLate,
    /// The load ends before it, at this time.
    Beyond(Instant),
}

/// How the clients of a load come by their slots.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pace<'a> {
    pub(super) schedule: &'a Mutex<Schedule>,
    pub(super) started: Instant,
    /// By how much a transaction may be late before it begins.
    pub(super) limit: Option<Duration>,
    /// The end of the load, if it has one.
    pub(super) until: Option<Instant>,
}

impl Pace<'_> {
    /// The next slot, for a client that is free `now`.
    pub(super) fn take(&self, now: Instant) -> Slot {
        // Nothing that holds the lock can panic half-way.
        let next = self.schedule.lock().unwrap_or_else(PoisonError::into_inner).next();
        self.judge(self.started + next, now)
    }

    /// A slot before the end belongs to the load even if no client was free for it: were it forgotten, a server that
    /// falls behind would be spared just the transactions that show it.
    fn judge(&self, slot: Instant, now: Instant) -> Slot {
        match self.until {
            Some(until) if slot > until => Slot::Beyond(until),
            Some(until) if now >= until => Slot::TooLate,
            _ if self.limit.is_some_and(|limit| now.saturating_duration_since(slot) > limit) => Slot::TooLate,
            _ => Slot::At(slot),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn slots(seed: u64, rate: f64, count: usize) -> Vec<Duration> {
        let mut schedule = Schedule::new(&Seeds::new(seed, 3), rate);
        (0..count).map(|_| schedule.next()).collect()
    }

    #[test]
    fn gaps_are_exponential_with_the_mean_of_the_rate() {
        let slots = slots(7, 4_000.0, 200_000);
        let gaps: Vec<f64> = slots.windows(2).map(|pair| pair[1].abs_diff(pair[0]).as_secs_f64() * 4_000.0).collect();
        let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
        // The standard error of the mean is 0.0022, that of the variance 0.0063.
        assert!((mean - 1.0).abs() < 0.01, "{mean}");
        let variance = gaps.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>() / gaps.len() as f64;
        assert!((variance - 1.0).abs() < 0.04, "{variance}");
        // A share e^-1 of exponential gaps is above the mean; the standard error is 0.0011.
        let above = gaps.iter().filter(|gap| **gap > 1.0).count() as f64 / gaps.len() as f64;
        assert!((above - (-1.0_f64).exp()).abs() < 0.006, "{above}");
    }

    #[test]
    fn the_schedule_depends_on_seed_and_rate_alone() {
        assert_eq!(slots(7, 100.0, 50), slots(7, 100.0, 50));
        assert_ne!(slots(7, 100.0, 50), slots(8, 100.0, 50));
        let (slow, fast) = (slots(7, 100.0, 50), slots(7, 200.0, 50));
        for (slow, fast) in slow.into_iter().zip(fast) {
            assert!((slow / 2).abs_diff(fast) <= Duration::from_nanos(2));
        }
    }

    #[test]
    fn a_slot_is_judged_by_the_limit_and_the_end() {
        let started = Instant::now();
        let at = |ms| started + Duration::from_millis(ms);
        let schedule = Mutex::new(Schedule::new(&Seeds::new(1, 1), 1.0));
        let pace = |limit: Option<u64>, until: Option<u64>| Pace {
            schedule: &schedule,
            started,
            limit: limit.map(Duration::from_millis),
            until: until.map(at),
        };
        for (limit, until, slot, now, expected) in [
            (None, None, 10, 5, Slot::At(at(10))),
            (None, None, 10, 5_000, Slot::At(at(10))),
            (Some(20), None, 10, 30, Slot::At(at(10))),
            (Some(20), None, 10, 31, Slot::TooLate),
            (None, Some(100), 100, 99, Slot::At(at(100))),
            (None, Some(100), 101, 99, Slot::Beyond(at(100))),
            (None, Some(100), 99, 100, Slot::TooLate),
            (Some(20), Some(100), 101, 500, Slot::Beyond(at(100))),
        ] {
            assert_eq!(pace(limit, until).judge(at(slot), at(now)), expected, "{limit:?} {until:?} {slot} {now}");
        }
    }

    proptest! {
        /// However slow the server and however many the clients: every slot before the end is begun or skipped.
        #[test]
        fn every_slot_before_the_end_is_begun_or_skipped(
            seed in any::<u64>(),
            rate in 1.0..5_000.0,
            clients in 1usize..6,
            each_ms in 0u64..50,
            limit_ms in prop::option::of(1u64..40),
        ) {
            let started = Instant::now();
            let until = started + Duration::from_millis(300);
            let due = {
                let mut schedule = Schedule::new(&Seeds::new(seed, 3), rate);
                std::iter::from_fn(|| Some(schedule.next())).take_while(|slot| started + *slot <= until).count()
            };
            let schedule = Mutex::new(Schedule::new(&Seeds::new(seed, 3), rate));
            let pace =
                Pace { schedule: &schedule, started, limit: limit_ms.map(Duration::from_millis), until: Some(until) };
            let mut free = vec![started; clients];
            let (mut begun, mut skipped) = (0, 0);
            while let Some(client) = free.iter_mut().min() {
                match pace.take(*client) {
                    Slot::At(slot) => {
                        begun += 1;
                        let late = client.saturating_duration_since(slot);
                        prop_assert!(limit_ms.is_none_or(|limit| late <= Duration::from_millis(limit)));
                        *client = slot.max(*client) + Duration::from_millis(each_ms);
                    }
                    Slot::TooLate => skipped += 1,
                    Slot::Beyond(_) => {
                        let over = *client;
                        let index = free.iter().position(|other| *other == over).unwrap_or_default();
                        free.remove(index);
                    }
                }
            }
            prop_assert_eq!(begun + skipped, due);
        }
    }
}
