//! What was committed in each second of a load, counted by one thread in passing: between two seconds it costs a
//! comparison a transaction.

use std::time::{Duration, Instant};

const SECOND: Duration = Duration::from_secs(1);

/// The count of one thread.
#[derive(Debug)]
pub(super) struct EachSecond {
    /// Whole seconds that are over.
    done: Vec<u64>,
    /// Committed in them.
    before: u64,
    /// When the present second is over.
    ends: Instant,
}

impl EachSecond {
    /// Nothing yet, of a load that started then.
    pub(super) fn new(started: Instant) -> Self {
        Self { done: Vec::new(), before: 0, ends: started + SECOND }
    }

    /// Takes note of the time of a commit, before which the thread had `committed`.
    #[inline]
    pub(super) fn note(&mut self, now: Instant, committed: u64) {
        if now >= self.ends {
            self.turn(now, committed);
        }
    }

    #[cold]
    fn turn(&mut self, now: Instant, committed: u64) {
        while now >= self.ends {
            self.done.push(committed - self.before);
            self.before = committed;
            self.ends += SECOND;
        }
    }

    /// The counts by whole seconds since the start, up to that of the last commit.
    pub(super) fn counts(mut self, committed: u64) -> Vec<u64> {
        if committed > self.before {
            self.done.push(committed - self.before);
        }
        self.done
    }
}

/// Adds the counts of another thread.
pub(super) fn add(whole: &mut Vec<u64>, part: &[u64]) {
    if whole.len() < part.len() {
        whole.resize(part.len(), 0);
    }
    for (whole, part) in whole.iter_mut().zip(part) {
        *whole += part;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn every_commit_is_counted_in_its_second(
            mut times in prop::collection::vec((0u64..8_000, 0usize..3), 0..200),
        ) {
            times.sort_unstable();
            let started = Instant::now();
            let mut expected = Vec::new();
            let mut parts: Vec<_> = (0..3).map(|_| (EachSecond::new(started), 0)).collect();
            for &(ms, thread) in &times {
                let second = (ms / 1000) as usize;
                if expected.len() <= second {
                    expected.resize(second + 1, 0);
                }
                expected[second] += 1;
                let (seconds, committed) = &mut parts[thread];
                seconds.note(started + Duration::from_millis(ms), *committed);
                *committed += 1;
            }
            let mut whole = Vec::new();
            for (seconds, committed) in parts {
                add(&mut whole, &seconds.counts(committed));
            }
            prop_assert_eq!(whole, expected);
        }
    }
}
