//! Student's t intervals: of ratios and differences within rounds, and of single values.
//!
//! The two runs of a round share the round's conditions, so pairs are used as pairs; a t interval
//! on the logarithms of three or more such ratios covers what it says, where a bootstrap of three
//! does not. Nothing is decided here; that is `verdict.rs`.
use super::distribution::student_t_quantile;
use super::sample::{mean_and_sd, sorted};
use serde::Serialize;

/// A confidence interval, both ends included, in the unit of its estimate.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Interval {
    /// The lower end.
    pub low: f64,
    /// The upper end.
    pub high: f64,
    /// The share of such intervals that hold the true value, such as 0.95.
    pub confidence: f64,
}

impl Interval {
    /// Whether `value` lies inside, the ends included.
    pub fn contains(&self, value: f64) -> bool {
        self.low <= value && value <= self.high
    }
}

/// Why there is no estimate; positions count the pairs or values as they were given, from 0.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
pub enum NoEstimate {
    /// There is not a single pair.
    #[error("no valid round has both")]
    NoPair,
    /// There is not a single value.
    #[error("no valid round has a value")]
    NoValue,
    /// A ratio of, or to, zero or a negative number has no logarithm.
    #[error("one side of a round's pair is not above zero, so no ratio can be formed; claim a difference instead")]
    NotPositive {
        /// Which pair.
        position: usize,
    },
    /// A value is NaN or infinite.
    #[error("a round's figure is not a finite number")]
    NotFinite {
        /// Which pair or value.
        position: usize,
    },
    /// The confidence is not strictly between 0 and 1.
    #[error("a confidence lies between 0 and 1, such as 0.95")]
    Confidence,
    /// A procedure was asked for that needs more rounds to keep its level.
    #[error("{n} rounds are too few for a bootstrap, which needs at least {least}; use the t interval")]
    TooFew {
        /// How many there are.
        n: usize,
        /// How many the procedure needs.
        least: usize,
    },
}

/// What the ratios of a claim or a comparison come to over the rounds.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RatioEstimate {
    /// How many rounds gave a pair, at least one.
    pub n: usize,
    /// The geometric mean of the rounds' ratios.
    pub geometric_mean: f64,
    /// Student's t interval on the logarithms; a single round has none.
    pub interval: Option<Interval>,
    /// The smallest ratio of a round.
    pub min: f64,
    /// The largest ratio of a round.
    pub max: f64,
    /// The ratio of each round, in the order given.
    pub ratios: Vec<f64>,
}

/// What differences within rounds, or single values, come to over the rounds.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MeanEstimate {
    /// How many rounds gave a value, at least one.
    pub n: usize,
    /// The arithmetic mean over the rounds.
    pub mean: f64,
    /// Student's t interval of the mean; a single round has none.
    pub interval: Option<Interval>,
    /// The smallest value of a round.
    pub min: f64,
    /// The largest value of a round.
    pub max: f64,
    /// The value of each round, in the order given.
    pub values: Vec<f64>,
}

/// The ratio of the first to the second of each pair, one pair a round in which both runs are valid.
pub fn ratio_of_pairs(pairs: &[(f64, f64)], confidence: f64) -> Result<RatioEstimate, NoEstimate> {
    let logs = log_ratios(pairs)?;
    let on_logs = t_estimate(&logs, confidence, NoEstimate::NoPair)?;
    let ratios: Vec<f64> = pairs.iter().map(|(of, to)| of / to).collect();
    if let Some(position) = ratios.iter().position(|ratio| !ratio.is_normal()) {
        return Err(NoEstimate::NotFinite { position });
    }
    let min = ratios.iter().copied().fold(f64::INFINITY, f64::min);
    let max = ratios.iter().copied().fold(0.0, f64::max);
    // Equal rounds must give exactly their ratio: through the logarithm it may land one digit
    // below a bound that it meets.
    let all_equal = min >= max;
    let back = |log: f64| if all_equal { min } else { log.exp() };
    Ok(RatioEstimate {
        n: on_logs.n,
        geometric_mean: back(on_logs.mean),
        interval: on_logs.interval.map(|interval| Interval {
            low: back(interval.low),
            high: back(interval.high),
            confidence,
        }),
        min,
        max,
        ratios,
    })
}

/// The first minus the second of each pair, one pair a round in which both runs are valid.
pub fn difference_of_pairs(pairs: &[(f64, f64)], confidence: f64) -> Result<MeanEstimate, NoEstimate> {
    let differences: Vec<f64> = pairs.iter().map(|(of, to)| of - to).collect();
    t_estimate(&differences, confidence, NoEstimate::NoPair)
}

/// The mean of a single value a round.
pub fn mean_of_values(values: &[f64], confidence: f64) -> Result<MeanEstimate, NoEstimate> {
    t_estimate(values, confidence, NoEstimate::NoValue)
}

/// The logarithm of each pair's ratio, or why there is none.
pub(super) fn log_ratios(pairs: &[(f64, f64)]) -> Result<Vec<f64>, NoEstimate> {
    pairs
        .iter()
        .enumerate()
        .map(|(position, &(of, to))| match (of, to) {
            _ if !(of.is_finite() && to.is_finite()) => Err(NoEstimate::NotFinite { position }),
            _ if of <= 0.0 || to <= 0.0 => Err(NoEstimate::NotPositive { position }),
            // One logarithm of the quotient keeps the ratio of equal values at exactly 1.
            _ => Ok((of / to).ln()),
        })
        .collect()
}

pub(super) fn check_confidence(confidence: f64) -> Result<(), NoEstimate> {
    if confidence > 0.0 && confidence < 1.0 { Ok(()) } else { Err(NoEstimate::Confidence) }
}

fn t_estimate(values: &[f64], confidence: f64, empty: NoEstimate) -> Result<MeanEstimate, NoEstimate> {
    check_confidence(confidence)?;
    if let Some(position) = values.iter().position(|value| !value.is_finite()) {
        return Err(NoEstimate::NotFinite { position });
    }
    let sorted = sorted(values).unwrap_or_default();
    let (Some(&min), Some(&max)) = (sorted.first(), sorted.last()) else {
        return Err(empty);
    };
    let (mean, sd) = mean_and_sd(&sorted);
    let interval = sd.map(|sd| {
        let n = sorted.len() as f64;
        let half = student_t_quantile(0.5 + confidence / 2.0, n - 1.0) * sd / n.sqrt();
        Interval { low: mean - half, high: mean + half, confidence }
    });
    Ok(MeanEstimate { n: sorted.len(), mean, interval, min, max, values: values.to_vec() })
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]
    use super::super::random::SplitMix64;
    use super::*;
    use proptest::prelude::*;

    /// CPU seconds of the three published rounds: publisher's, and subscriber's where there is one.
    const BASELINE: [f64; 3] = [4.75, 4.71, 4.35];
    const DECODE_ONLY: [f64; 3] = [7.97, 7.92, 7.72];
    const TEXT: ([f64; 3], [f64; 3]) = ([7.47, 7.69, 7.71], [3.01, 2.93, 2.94]);
    const BINARY: ([f64; 3], [f64; 3]) = ([7.89, 7.23, 7.74], [2.64, 2.54, 2.76]);
    const FOUR_INDEXES: ([f64; 3], [f64; 3]) = ([6.65, 6.09, 5.47], [4.66, 4.62, 4.84]);

    fn pairs(of: [f64; 3], to: [f64; 3]) -> Vec<(f64, f64)> {
        of.into_iter().zip(to).collect()
    }

    fn total((publisher, subscriber): ([f64; 3], [f64; 3])) -> [f64; 3] {
        std::array::from_fn(|round| publisher[round] + subscriber[round])
    }

    #[test]
    fn the_published_rounds_give_the_known_ratio_intervals() {
        // exp of mean and t interval of numpy.log(of / to), scipy.stats.t.ppf(0.975, 2), SciPy 1.17.1.
        for (of, to, expected, printed) in [
            (total(TEXT), BASELINE, [2.300_791_22, 2.007_503_72, 2.636_926_74], "2.30 [2.01, 2.64]"),
            (DECODE_ONLY, BASELINE, [1.710_799_09, 1.580_922_55, 1.851_345_29], "1.71 [1.58, 1.85]"),
            (total(FOUR_INDEXES), BASELINE, [2.341_184_58, 2.198_222_57, 2.493_444_17], "2.34 [2.20, 2.49]"),
            (BINARY.1, TEXT.1, [0.893_693_14, 0.803_115_46, 0.994_486_44], "0.894 [0.803, 0.994]"),
            (BINARY.0, TEXT.0, [0.998_968_16, 0.864_179_94, 1.154_779_62], "1.00 [0.86, 1.15]"),
        ] {
            let estimate = ratio_of_pairs(&pairs(of, to), 0.95).unwrap();
            let interval = estimate.interval.unwrap();
            for (ours, scipy) in [estimate.geometric_mean, interval.low, interval.high].into_iter().zip(expected) {
                assert!((ours - scipy).abs() < 1e-7, "{printed}: {ours}");
            }
            let digits = printed.find(' ').unwrap() - 2;
            assert_eq!(
                format!("{:.digits$} [{:.digits$}, {:.digits$}]", estimate.geometric_mean, interval.low, interval.high),
                printed
            );
        }
    }

    #[test]
    fn differences_and_values_have_the_t_interval_of_their_mean() {
        let difference = difference_of_pairs(&[(3.0, 1.0), (5.0, 2.0), (6.0, 2.0)], 0.95).unwrap();
        assert_eq!((difference.n, difference.min, difference.max), (3, 2.0, 4.0));
        assert!((difference.mean - 3.0).abs() < 1e-12);
        // 3 ± 4.302652729749462 · 1 / √3
        let interval = difference.interval.unwrap();
        assert!((interval.high - 5.484_137_711_750).abs() < 1e-9, "{}", interval.high);
        let value = mean_of_values(&[2.0, 3.0, 4.0], 0.95).unwrap();
        assert_eq!(value.interval, difference.interval);
    }

    #[test]
    fn one_round_has_an_estimate_and_no_interval() {
        let estimate = ratio_of_pairs(&[(6.0, 2.0)], 0.95).unwrap();
        assert_eq!((estimate.n, estimate.interval), (1, None));
        assert!((estimate.geometric_mean - 3.0).abs() < 1e-12);
    }

    #[test]
    fn equal_rounds_give_exactly_their_ratio() {
        let estimate = ratio_of_pairs(&[(40.0, 4.0); 7], 0.95).unwrap();
        let interval = estimate.interval.unwrap();
        assert_eq!((estimate.geometric_mean, interval.low, interval.high), (10.0, 10.0, 10.0));
        let value = mean_of_values(&[0.1; 3], 0.95).unwrap();
        assert_eq!((value.mean, value.interval.unwrap().low), (0.1, 0.1));
    }

    #[test]
    fn what_has_no_estimate_says_why() {
        let reason = |pairs: &[(f64, f64)]| ratio_of_pairs(pairs, 0.95).unwrap_err();
        assert_eq!(reason(&[]), NoEstimate::NoPair);
        assert_eq!(reason(&[(1.0, 1.0), (0.0, 1.0)]), NoEstimate::NotPositive { position: 1 });
        assert_eq!(reason(&[(1.0, 0.0)]), NoEstimate::NotPositive { position: 0 });
        assert_eq!(reason(&[(1.0, -2.0)]), NoEstimate::NotPositive { position: 0 });
        assert_eq!(reason(&[(f64::NAN, 1.0)]), NoEstimate::NotFinite { position: 0 });
        assert_eq!(reason(&[(1e300, 1e-300)]), NoEstimate::NotFinite { position: 0 });
        assert_eq!(difference_of_pairs(&[], 0.95), Err(NoEstimate::NoPair));
        assert_eq!(mean_of_values(&[], 0.95), Err(NoEstimate::NoValue));
        for confidence in [0.0, 1.0, 95.0, f64::NAN] {
            assert_eq!(mean_of_values(&[1.0, 2.0], confidence), Err(NoEstimate::Confidence));
        }
        assert!(difference_of_pairs(&[(0.0, 0.0)], 0.95).is_ok());
    }

    /// Share of 4,000 simulated sets of `n` rounds whose interval holds the true ratio 1.03.
    ///
    /// Each round has its own conditions (10 %), each run its own noise (3 %), both normal on the log scale.
    fn coverage(n: usize, seed: u64) -> f64 {
        let mut random = SplitMix64::seeded(seed);
        let mut normal = || {
            let radius = (-2.0 * (1.0 - random.unit()).ln()).sqrt();
            radius * (2.0 * std::f64::consts::PI * random.unit()).cos()
        };
        let trials = 4_000;
        let covered = (0..trials)
            .filter(|_| {
                let pairs: Vec<(f64, f64)> = (0..n)
                    .map(|_| {
                        let round = 0.1 * normal();
                        let of = (round + 0.03 * normal()).exp() * 1.03;
                        (of, (round + 0.03 * normal()).exp())
                    })
                    .collect();
                let estimate = ratio_of_pairs(&pairs, 0.95).unwrap();
                estimate.interval.unwrap().contains(1.03)
            })
            .count();
        covered as f64 / f64::from(trials)
    }

    #[test]
    fn the_interval_covers_what_it_says_from_three_rounds_on() {
        for (n, seed) in [(3, 11), (5, 12), (10, 13)] {
            let covered = coverage(n, seed);
            assert!((0.93..=0.97).contains(&covered), "n = {n}: {covered}");
        }
    }

    fn some_pairs() -> impl Strategy<Value = Vec<(f64, f64)>> {
        prop::collection::vec((1e-3..1e3_f64, 1e-3..1e3_f64), 2..12)
    }

    fn near(a: f64, b: f64) -> bool {
        (a / b - 1.0).abs() < 1e-9
    }

    proptest! {
        #[test]
        fn the_ratio_of_swapped_pairs_is_the_reciprocal(pairs in some_pairs()) {
            let swapped: Vec<_> = pairs.iter().map(|&(of, to)| (to, of)).collect();
            let (there, back) = (ratio_of_pairs(&pairs, 0.95).unwrap(), ratio_of_pairs(&swapped, 0.95).unwrap());
            let (there_interval, back_interval) = (there.interval.unwrap(), back.interval.unwrap());
            prop_assert!(near(there.geometric_mean * back.geometric_mean, 1.0));
            prop_assert!(near(there_interval.low * back_interval.high, 1.0));
            prop_assert!(near(there_interval.high * back_interval.low, 1.0));
        }

        #[test]
        fn a_change_of_unit_changes_no_ratio(pairs in some_pairs(), factor in 1e-3..1e3_f64) {
            let scaled: Vec<_> = pairs.iter().map(|&(of, to)| (of * factor, to * factor)).collect();
            let (a, b) = (ratio_of_pairs(&pairs, 0.95).unwrap(), ratio_of_pairs(&scaled, 0.95).unwrap());
            prop_assert!(near(a.geometric_mean, b.geometric_mean));
            prop_assert!(near(a.interval.unwrap().low, b.interval.unwrap().low));
        }

        #[test]
        fn the_interval_holds_its_estimate_and_widens_with_confidence(pairs in some_pairs()) {
            let estimate = |confidence| ratio_of_pairs(&pairs, confidence).unwrap();
            let (narrow, wide) = (estimate(0.90), estimate(0.99));
            let (inner, outer) = (narrow.interval.unwrap(), wide.interval.unwrap());
            prop_assert!(inner.contains(narrow.geometric_mean));
            prop_assert!(narrow.min <= narrow.geometric_mean * (1.0 + 1e-12));
            prop_assert!(narrow.geometric_mean <= narrow.max * (1.0 + 1e-12));
            prop_assert!(outer.low <= inner.low && inner.high <= outer.high);
            prop_assert!(narrow.max <= narrow.min || outer.low < inner.low);
        }

        #[test]
        fn the_order_of_the_rounds_does_not_matter(
            (pairs, shuffled) in some_pairs()
                .prop_flat_map(|pairs| (Just(pairs.clone()), Just(pairs).prop_shuffle()))
        ) {
            let (a, b) = (ratio_of_pairs(&pairs, 0.95).unwrap(), ratio_of_pairs(&shuffled, 0.95).unwrap());
            prop_assert_eq!((a.geometric_mean, a.interval), (b.geometric_mean, b.interval));
            let (a, b) = (difference_of_pairs(&pairs, 0.95).unwrap(), difference_of_pairs(&shuffled, 0.95).unwrap());
            prop_assert_eq!((a.mean, a.interval), (b.mean, b.interval));
        }
    }
}
