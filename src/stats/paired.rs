//! Pairs of servers side by side: what the slices of one pair say, and what several pairs say together.
//!
//! The unit is the pair. Two servers of one build differ for as long as they live, by how memory and files came to lie;
//! so slices on one pair repeat its luck, and an interval over slices is too narrow (with pairs that differ by 1 % and
//! forty slices on one of them, four in ten comparisons of equal builds are called different). See Kalibera and Jones,
//! "Rigorous Benchmarking in Reasonable Time", ISMM 2013.
use super::distribution::student_t_cdf;
use super::interval::{Interval, NoEstimate, mean_of_values};
use super::sample::{mean_and_sd, sorted};
use serde::Serialize;

/// A side of a comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Side {
    /// What the verdict is about.
    Of,
    /// What it is compared with.
    To,
}

impl Side {
    /// The other one.
    #[must_use]
    pub fn other(self) -> Self {
        match self {
            Side::Of => Side::To,
            Side::To => Side::Of,
        }
    }
}

/// A slice of a pair: a figure above zero.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Slice {
    /// Its side.
    pub side: Side,
    /// Its figure.
    pub value: f64,
}

/// What one pair says.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct PairEffect {
    /// Logarithm of the ratio of the sides' geometric means.
    pub log_ratio: f64,
    /// How much more (on the log scale) a slice gives that follows one of its own side than one that follows the other:
    /// what the other server's slice left behind in caches, on the disk, in the kernel. Each slice is taken relative to
    /// its own side's mean, so that the difference of the sides is not in it. `None` where slices of one kind are lacking.
    pub carry_over: Option<f64>,
}

/// What the slices of a pair say, in the order they were run.
pub fn pair_effect(slices: &[Slice]) -> Result<PairEffect, NoEstimate> {
    if let Some(position) = slices.iter().position(|slice| !slice.value.is_finite()) {
        return Err(NoEstimate::NotFinite { position });
    }
    if let Some(position) = slices.iter().position(|slice| slice.value <= 0.0) {
        return Err(NoEstimate::NotPositive { position });
    }
    let logs = |side: Side| mean(slices.iter().filter(|slice| slice.side == side).map(|slice| slice.value.ln()));
    let (Some(of), Some(to)) = (logs(Side::Of), logs(Side::To)) else { return Err(NoEstimate::NoPair) };
    let relative = |slice: &Slice| slice.value.ln() - if slice.side == Side::Of { of } else { to };
    let following = |same: bool| {
        let pairs = slices.windows(2).filter(|pair| (pair[0].side == pair[1].side) == same);
        mean(pairs.map(|pair| relative(&pair[1])))
    };
    let carry_over = following(true).zip(following(false)).map(|(same, other)| same - other);
    Ok(PairEffect { log_ratio: of - to, carry_over })
}

fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let values: Vec<f64> = values.collect();
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// What several pairs say of the ratio.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PairedEstimate {
    /// Geometric mean of the pairs' ratios.
    pub ratio: f64,
    /// Student's t interval over the pairs; a single pair has none.
    pub interval: Option<Interval>,
    /// Two-sided p of "the ratio is 1".
    pub p_value: Option<f64>,
    /// How many pairs.
    pub n: usize,
    /// Standard deviation of the pairs' logarithms: how much fresh pairs differ.
    pub sd_log: Option<f64>,
}

/// The estimate over pairs, from their logarithms; `widening` multiplies the standard error (see
/// [`super::StopRule::widening`]).
pub fn paired_estimate(log_ratios: &[f64], confidence: f64, widening: f64) -> Result<PairedEstimate, NoEstimate> {
    let on_logs = mean_of_values(log_ratios, confidence)?;
    let (n, mean) = (on_logs.n, on_logs.mean);
    let end = |end: f64| (mean + (end - mean) * widening).exp();
    let interval = on_logs.interval.map(|own| Interval { low: end(own.low), high: end(own.high), confidence });
    let p_value = two_sided(log_ratios, widening);
    Ok(PairedEstimate { ratio: mean.exp(), interval, p_value, n, sd_log: sd(log_ratios) })
}

/// Standard deviation of a sample, the same in whatever order it comes; `None` of fewer than two.
pub(super) fn sd(values: &[f64]) -> Option<f64> {
    let sorted = sorted(values)?;
    mean_and_sd(&sorted).1
}

/// Two-sided p of a mean of zero, by Student's t; `None` of fewer than two.
pub(super) fn two_sided(values: &[f64], widening: f64) -> Option<f64> {
    let t = t_of(values, 0.0)? / widening;
    // By symmetry, and without the cancellation of 1 - p.
    Some((2.0 * student_t_cdf(-t.abs(), values.len() as f64 - 1.0)).clamp(0.0, 1.0))
}

/// Student's t of a sample against a mean; infinite where all values are equal and differ from it.
pub(super) fn t_of(values: &[f64], against: f64) -> Option<f64> {
    let (sd, centre) = (sd(values)?, mean_and_sd(&sorted(values)?).0);
    let distance = centre - against;
    if sd > 0.0 {
        Some(distance / (sd / (values.len() as f64).sqrt()))
    } else if distance.abs() > 0.0 {
        Some(distance.signum() * f64::INFINITY)
    } else {
        Some(0.0)
    }
}

/// Whether what one side's slice left behind shows in the next.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CarryOver {
    /// Slices after their own side over slices after the other, as a ratio.
    pub ratio: f64,
    /// Its interval.
    pub interval: Option<Interval>,
    /// Whether it speaks against pairing: the interval excludes 1, and the ratio is further from it than the bound.
    pub against_pairing: bool,
}

/// Confidence of a carry-over: a check that every comparison goes through must seldom cry wolf.
const CARRY_OVER_CONFIDENCE: f64 = 0.99;

/// The carry-over of a comparison over its pairs; `bound` is the share below which it does not matter, such as the half
/// width that the run was to reach. `None` where no pair has one.
pub fn carry_over(effects: &[PairEffect], bound: f64) -> Option<CarryOver> {
    let logs: Vec<f64> = effects.iter().filter_map(|effect| effect.carry_over).collect();
    let estimate = paired_estimate(&logs, CARRY_OVER_CONFIDENCE, 1.0).ok()?;
    let excluded = estimate.interval.is_some_and(|interval| !interval.contains(1.0));
    let against_pairing = excluded && estimate.ratio.ln().abs() > bound.ln_1p();
    Some(CarryOver { ratio: estimate.ratio, interval: estimate.interval, against_pairing })
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]
    use super::*;
    use proptest::prelude::*;

    fn slices(values: &[(Side, f64)]) -> Vec<Slice> {
        values.iter().map(|(side, value)| Slice { side: *side, value: *value }).collect()
    }

    #[test]
    fn a_pair_says_its_ratio_and_what_a_slice_leaves_behind() {
        use Side::{Of, To};
        let pair = pair_effect(&slices(&[(To, 100.0), (Of, 110.0), (Of, 110.0), (To, 100.0)])).unwrap();
        assert!((pair.log_ratio.exp() - 1.1).abs() < 1e-12);
        assert!(pair.carry_over.unwrap().abs() < 1e-12);
        // A slice after the other side is a tenth slower, whatever its own side gives.
        let pair = [(To, 100.0), (Of, 99.0), (Of, 110.0), (To, 90.0), (To, 100.0), (Of, 99.0), (Of, 110.0), (To, 90.0)];
        let effect = pair_effect(&slices(&pair)).unwrap();
        assert!((effect.log_ratio.exp() - 1.1).abs() < 1e-12);
        assert!((effect.carry_over.unwrap().exp() - 1.0 / 0.9).abs() < 1e-9);
        assert_eq!(pair_effect(&slices(&[(Of, 1.0)])), Err(NoEstimate::NoPair));
        assert_eq!(pair_effect(&slices(&[(Of, 1.0), (To, 0.0)])), Err(NoEstimate::NotPositive { position: 1 }));
    }

    #[test]
    fn the_p_value_is_scipys() {
        // scipy.stats.ttest_1samp([0.01, 0.03, -0.005, 0.02, 0.015], 0).pvalue
        let p = two_sided(&[0.01, 0.03, -0.005, 0.02, 0.015], 1.0).unwrap();
        assert!((p - 0.072_855_059_610_255_68).abs() < 1e-12, "{p}");
        assert_eq!(two_sided(&[0.5], 1.0), None);
        assert_eq!(two_sided(&[0.0, 0.0], 1.0), Some(1.0));
        assert_eq!(two_sided(&[0.5, 0.5], 1.0), Some(0.0));
    }

    #[test]
    fn a_carry_over_counts_when_it_is_sure_and_large() {
        let effects = |values: &[f64]| -> Vec<PairEffect> {
            values.iter().map(|own| PairEffect { log_ratio: 0.0, carry_over: Some(*own) }).collect()
        };
        let sure_and_large = [0.030, 0.028, 0.031, 0.033, 0.029, 0.030, 0.027, 0.032];
        assert!(carry_over(&effects(&sure_and_large), 0.01).unwrap().against_pairing);
        assert!(!carry_over(&effects(&sure_and_large), 0.05).unwrap().against_pairing);
        let unsure = [0.08, -0.05, 0.09, -0.02, 0.05, -0.06, 0.07, 0.08];
        assert!(!carry_over(&effects(&unsure), 0.01).unwrap().against_pairing);
        assert_eq!(carry_over(&[PairEffect { log_ratio: 0.0, carry_over: None }], 0.01), None);
    }

    proptest! {
        #[test]
        fn swapping_the_sides_turns_the_ratio_round(values in prop::collection::vec(0.5..2.0_f64, 8)) {
            let order = [Side::To, Side::Of, Side::Of, Side::To, Side::To, Side::Of, Side::Of, Side::To];
            let pair: Vec<Slice> =
                order.iter().zip(&values).map(|(side, value)| Slice { side: *side, value: *value }).collect();
            let swapped: Vec<Slice> = pair.iter().map(|own| Slice { side: own.side.other(), ..*own }).collect();
            let (one, two) = (pair_effect(&pair).unwrap(), pair_effect(&swapped).unwrap());
            prop_assert!((one.log_ratio + two.log_ratio).abs() < 1e-12);
            prop_assert!((one.carry_over.unwrap() - two.carry_over.unwrap()).abs() < 1e-12);
            // Nor does a scale matter.
            let scaled: Vec<Slice> = pair.iter().map(|own| Slice { value: own.value * 7.0, ..*own }).collect();
            prop_assert!((pair_effect(&scaled).unwrap().log_ratio - one.log_ratio).abs() < 1e-12);
        }
    }
}
