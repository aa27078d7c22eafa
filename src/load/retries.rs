//! Whether a transaction that failed is tried again: pgbench's rule of `--max-tries`, `--latency-limit` and `--time`.

use std::time::Duration;

/// The failures that another try can mend: `serialization_failure` and `deadlock_detected`.
const RETRIED: [&str; 2] = ["40001", "40P01"];

/// What bounds the tries of a transaction.
#[derive(Debug, Clone, Copy)]
pub(super) struct Retries {
    /// How often a transaction is tried at most; 0 for any number.
    pub(super) max_tries: u32,
    /// How long all its tries may take; `Duration::MAX` for ever.
    pub(super) limit: Duration,
}

impl Retries {
    /// Whether a transaction is tried again that failed with `sqlstate` after `tries` tries. `since_begin` tells how
    /// long all of them took and whether the load's time is over; it is asked only if the answer depends on it.
    pub(super) fn allow(self, sqlstate: &str, tries: u32, since_begin: impl FnOnce() -> (Duration, bool)) -> bool {
        if !RETRIED.contains(&sqlstate) || (self.max_tries != 0 && tries >= self.max_tries) {
            return false;
        }
        let (took, over) = since_begin();
        !over && took <= self.limit
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tries_are_bounded_by_their_number_their_time_and_the_loads() {
        let ms = Duration::from_millis;
        for (max_tries, limit, sqlstate, tries, took, over, expected) in [
            (1, Duration::MAX, "40001", 1, 0, false, false),
            (2, Duration::MAX, "40001", 1, 0, false, true),
            (2, Duration::MAX, "40P01", 1, 0, false, true),
            (2, Duration::MAX, "40001", 2, 0, false, false),
            (100, Duration::MAX, "23505", 1, 0, false, false),
            (100, Duration::MAX, "40002", 1, 0, false, false),
            (100, Duration::MAX, "40001", 1, 0, true, false),
            (0, ms(20), "40001", 1_000_000, 20, false, true),
            (0, ms(20), "40001", 2, 21, false, false),
            (3, ms(20), "40P01", 2, 21, false, false),
        ] {
            let allowed = Retries { max_tries, limit }.allow(sqlstate, tries, || (ms(took), over));
            assert_eq!(allowed, expected, "{max_tries} {limit:?} {sqlstate} {tries} {took} {over}");
        }
    }
}
