//! Which script a transaction runs: drawn by weight, as pgbench draws it.
//!
//! pgbench has one generator for this in each of its threads. Here each client has one, seeded as if it had a thread of
//! its own, so that its scripts depend on the seed alone and not on how clients and threads interleave.

use crate::script::{Random, Seeds};

/// The seeds that pgbench draws for each thread: for scripts, for the rate, for sampling its log.
const SEEDS_PER_THREAD: usize = 3;

/// A client's choice among several scripts.
#[derive(Debug)]
pub(super) struct Choice {
    random: Random,
    weights: Vec<u32>,
    total: i64,
}

impl Choice {
    /// The choice of client number `client` (from 0), none where there is nothing to choose.
    pub(super) fn new(seeds: &Seeds, client: u32, weights: &[u32]) -> Option<Self> {
        if weights.len() < 2 {
            return None;
        }
        let mut rest = seeds.rest.clone();
        for _ in 0..client as usize * SEEDS_PER_THREAD {
            rest.bits();
        }
        let total = weights.iter().map(|weight| i64::from(*weight)).sum();
        Some(Self { random: Random::from_seed(rest.bits()), weights: weights.to_vec(), total })
    }

    /// The number of the next transaction's script.
    pub(super) fn next(&mut self) -> usize {
        let mut drawn = self.random.uniform(0, self.total - 1);
        for (script, weight) in self.weights.iter().enumerate() {
            drawn -= i64::from(*weight);
            if drawn < 0 {
                return script;
            }
        }
        0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(client: u32, weights: &[u32], count: usize) -> Vec<usize> {
        let mut choice = Choice::new(&Seeds::new(5, 2), client, weights).expect("several scripts");
        (0..count).map(|_| choice.next()).collect()
    }

    #[test]
    fn scripts_are_drawn_by_their_weights_and_the_same_for_a_seed() {
        let mut counts = [0_u32; 4];
        for script in drawn(0, &[80, 0, 15, 5], 100_000) {
            counts[script] += 1;
        }
        // The standard error of the first count is below 130.
        for (count, expected) in counts.iter().zip([80_000_u32, 0, 15_000, 5_000]) {
            assert!(count.abs_diff(expected) <= 700, "{counts:?}");
        }
        assert_eq!(counts[1], 0);
        assert_eq!(drawn(1, &[1, 1], 50), drawn(1, &[1, 1], 50));
        assert_ne!(drawn(0, &[1, 1], 50), drawn(1, &[1, 1], 50));
    }

    #[test]
    fn one_script_leaves_no_choice() {
        assert!(Choice::new(&Seeds::new(5, 1), 0, &[3]).is_none());
    }
}
