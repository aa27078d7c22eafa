//! The generator behind pgbench's `random*` functions, with its four distributions.
//!
//! The algorithm is xoroshiro128** 1.0 seeded through splitmix64 (Blackman and Vigna), the one
//! PostgreSQL uses since version 15, and bounds are met by the same rejection scheme; so a seed
//! gives the numbers that pgbench gives. Does not check parameters: `eval` does, with
//! pgbench's messages.

use std::f64::consts::TAU;

/// A seeded generator; one for each client, copied to take a transaction back to its start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Random {
    state: [u64; 2],
}

impl Random {
    /// A generator whose sequence depends on `seed` alone.
    pub fn from_seed(mut seed: u64) -> Random {
        let mut splitmix = || {
            seed = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mut mixed = seed;
            mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            mixed ^ (mixed >> 31)
        };
        let mut state = [splitmix(), splitmix()];
        if state == [0, 0] {
            // All zeroes is the one state that never changes; any other will do.
            state = [0x5851_f42d_4c95_7f2d, 0x1405_7b7e_f767_814f];
        }
        Random { state }
    }

    /// The next 64 uniformly distributed bits.
    pub fn bits(&mut self) -> u64 {
        let [first, second] = self.state;
        let crossed = second ^ first;
        self.state = [first.rotate_left(24) ^ crossed ^ (crossed << 16), crossed.rotate_left(37)];
        first.wrapping_mul(5).rotate_left(7).wrapping_mul(9)
    }

    /// Uniform from 0 to `last`, both included.
    pub(super) fn up_to(&mut self, last: u64) -> u64 {
        if last == 0 {
            // An interval of one number draws nothing from the sequence.
            return 0;
        }
        let surplus = last.leading_zeros();
        loop {
            let candidate = self.bits() >> surplus;
            if candidate <= last {
                return candidate;
            }
        }
    }

    /// Uniform from `min` to `max`, both included; `max - min` must not overflow.
    pub fn uniform(&mut self, min: i64, max: i64) -> i64 {
        min.wrapping_add(self.up_to(max.wrapping_sub(min) as u64).cast_signed())
    }

    /// A double from 0 (included) to 1 (excluded) with 52 random bits.
    pub fn fraction(&mut self) -> f64 {
        (self.bits() >> 12) as f64 / (1_u64 << 52) as f64
    }

    /// Exponential over `min..=max`: the density at `max` is `exp(-parameter)` of that at
    /// `min`. `parameter` must be positive.
    pub(super) fn exponential(&mut self, min: i64, max: i64, parameter: f64) -> i64 {
        let cut = (-parameter).exp();
        // From 0 (excluded) to 1 (included), so the logarithm is finite.
        let uniform = 1.0 - self.fraction();
        let share = -(cut + (1.0 - cut) * uniform).ln() / parameter;
        spread(min, max, share)
    }

    /// Normal over `min..=max`, centred, cut off at `parameter` standard deviations to either
    /// side (Box-Muller, rejecting what lies outside). `parameter` must be at least 2.
    pub(super) fn gaussian(&mut self, min: i64, max: i64, parameter: f64) -> i64 {
        let deviations = loop {
            let radius = (-2.0 * (1.0 - self.fraction()).ln()).sqrt();
            let normal = radius * (TAU * (1.0 - self.fraction())).sin();
            if (-parameter..parameter).contains(&normal) {
                break normal;
            }
        };
        spread(min, max, (deviations + parameter) / (parameter * 2.0))
    }

    /// Zipf over `min..=max`: the value at rank k has weight `k^-parameter` (rejection method of
    /// Devroye, Non-Uniform Random Variate Generation, p. 550). `parameter` must be above 1.
    pub(super) fn zipfian(&mut self, min: i64, max: i64, parameter: f64) -> i64 {
        let ranks = max.wrapping_sub(min).wrapping_add(1);
        if ranks <= 1 {
            return min;
        }
        let above_one = parameter - 1.0;
        let base = above_one.exp2();
        loop {
            let first = self.fraction();
            let second = self.fraction();
            let rank = first.powf(-1.0 / above_one).floor();
            let ratio = (1.0 + 1.0 / rank).powf(above_one);
            if second * rank * (ratio - 1.0) / (base - 1.0) <= ratio / base && rank <= ranks as f64 {
                return (min - 1).wrapping_add(rank as i64);
            }
        }
    }
}

/// The number that lies `share` (0 included, 1 excluded) of the way through `min..=max`.
fn spread(min: i64, max: i64, share: f64) -> i64 {
    let width = max.wrapping_sub(min).wrapping_add(1);
    min.wrapping_add((width as f64 * share) as i64)
}

/// The seeds one run hands to its clients, in the order pgbench draws them from
/// `--random-seed`.
#[derive(Debug, Clone)]
pub struct Seeds {
    /// For each client, the seed of the generator behind its `random*` functions.
    pub clients: Vec<u64>,
    /// The value of `:default_seed`, the same for all clients.
    pub default_seed: i64,
    /// The rest of the sequence. pgbench draws three seeds for each of its threads from it:
    /// for choosing scripts, for throttling, for sampling the log.
    pub rest: Random,
}

impl Seeds {
    /// The seeds of a run of `clients` clients under `--random-seed=random_seed`.
    pub fn new(random_seed: u64, clients: usize) -> Seeds {
        let mut rest = Random::from_seed(random_seed);
        Seeds { clients: (0..clients).map(|_| rest.bits()).collect(), default_seed: rest.bits().cast_signed(), rest }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_seed_of_pgbenchs_own_tests_gives_their_numbers() {
        // pgbench's test suite expects these of --random-seed=5432, in this order.
        let seeds = Seeds::new(5432, 1);
        let mut random = Random::from_seed(seeds.clients[0]);
        assert_eq!(random.uniform(10, 19), 17);
        assert_eq!(random.exponential(100, 199, 10.0), 104);
        assert_eq!(random.gaussian(1000, 1999, 10.0), 1498);
        assert_eq!(random.zipfian(1, 9, 1.3), 3);
    }

    #[test]
    fn a_range_of_one_number_draws_nothing() {
        let mut random = Random::from_seed(1);
        let before = random.clone();
        assert_eq!(random.uniform(7, 7), 7);
        assert_eq!(random, before);
    }

    #[test]
    fn the_widest_range_stays_inside() {
        let mut random = Random::from_seed(3);
        for _ in 0..100 {
            assert!(random.uniform(0, i64::MAX) >= 0);
            random.uniform(i64::MIN, -2);
            random.exponential(i64::MIN, -2, 1e-9);
        }
    }

    /// Mean position in 0..1 of many draws from 0..=9999.
    fn mean(draws: u32, mut draw: impl FnMut(&mut Random) -> i64) -> f64 {
        let mut random = Random::from_seed(11);
        let sum: i64 = (0..draws).map(|_| draw(&mut random)).sum();
        sum as f64 / f64::from(draws) / 10_000.0
    }

    #[test]
    fn the_distributions_have_their_means() {
        // Expected values are closed forms; the standard error of 100,000 draws is below 0.001.
        let uniform = mean(100_000, |random| random.uniform(0, 9999));
        assert!((uniform - 0.5).abs() < 0.005, "{uniform}");
        let gaussian = mean(100_000, |random| random.gaussian(0, 9999, 4.0));
        assert!((gaussian - 0.5).abs() < 0.005, "{gaussian}");
        // Truncated exponential with parameter 5: 1/5 - e^-5 / (1 - e^-5).
        let exponential = mean(100_000, |random| random.exponential(0, 9999, 5.0));
        assert!((exponential - 0.193_2).abs() < 0.005, "{exponential}");
    }

    #[test]
    fn zipfian_ranks_fall_off_as_documented() {
        // The manual: rank k is drawn (k+1)/k to the parameter times as often as rank k+1.
        let mut random = Random::from_seed(5);
        let mut drawn = [0_u32; 3];
        for _ in 0..200_000 {
            let rank = random.zipfian(1, 1000, 2.5);
            if let Some(count) = drawn.get_mut(rank as usize - 1) {
                *count += 1;
            }
        }
        let ratio = f64::from(drawn[0]) / f64::from(drawn[1]);
        assert!((ratio / 2_f64.powf(2.5) - 1.0).abs() < 0.05, "{ratio}");
    }

    proptest! {
        #[test]
        fn every_distribution_stays_within_its_bounds(
            seed: u64, low in -1_000_000_i64..1_000_000, width in 0_i64..1_000_000, parameter in 2.0_f64..20.0,
        ) {
            let mut random = Random::from_seed(seed);
            let high = low + width;
            for number in [
                random.uniform(low, high),
                random.exponential(low, high, parameter),
                random.gaussian(low, high, parameter),
                random.zipfian(low, high, parameter),
            ] {
                prop_assert!((low..=high).contains(&number));
            }
        }
    }
}
