//! Recorded pairs of equal builds, dealt anew: how often would this procedure, on this machine's own noise, have called
//! them different, and how often would it have found a difference that was put in?
use super::interval::NoEstimate;
use super::paired::paired_estimate;
use super::random::SplitMix64;
use super::stop::{Next, StopRule};

/// What one replay came to.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Replay {
    /// Two-sided p of "no difference"; `None` of fewer than two pairs.
    pub p_value: Option<f64>,
    /// The ratio found.
    pub ratio: f64,
    /// Pairs that the rule took.
    pub pairs: usize,
    /// Whether the interval became as narrow as it was to be.
    pub narrow: bool,
}

/// Deals recorded pairs anew and lets the rule take as many as it wants: pairs come in a random order, drawn without
/// replacement until all are used and then again, and in each the two servers change their labels at random, which turns
/// the sign of its logarithm. Of equal builds that is as good a run as the recorded one. The figures of the side `of` are
/// multiplied by `factor`: 1 for an A/A replay, 0.95 for a build that is 5 % slower. Standard errors are multiplied by
/// `widening` of the number taken, as those of the recorded run are.
pub fn replay(
    log_ratios: &[f64],
    rule: StopRule,
    widening: fn(usize) -> f64,
    factor: f64,
    random: &mut SplitMix64,
) -> Result<Replay, NoEstimate> {
    let mut left: Vec<f64> = Vec::new();
    let mut logs: Vec<f64> = Vec::new();
    while rule.next(&logs) == Next::More {
        if left.is_empty() {
            left.extend(log_ratios);
        }
        if left.is_empty() {
            return Err(NoEstimate::NoPair);
        }
        let pair = left.swap_remove(random.below(left.len()));
        let swapped = random.below(2) == 1;
        logs.push(factor.ln() + if swapped { -pair } else { pair });
    }
    let estimate = paired_estimate(&logs, rule.confidence, widening(logs.len()))?;
    Ok(Replay {
        p_value: estimate.p_value,
        ratio: estimate.ratio,
        pairs: logs.len(),
        narrow: rule.next(&logs) == Next::Narrow,
    })
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]
    use super::*;
    use crate::stats::{Side, Slice, pair_effect};

    const RULE: StopRule = StopRule { least: 8, most: 30, half_width: 0.02, confidence: 0.95 };

    /// Normal with that standard deviation.
    fn recorded(pairs: usize, sd: f64) -> Vec<f64> {
        let mut random = SplitMix64::seeded(1);
        let mut value = || {
            let (u, v) = (1.0 - random.unit(), random.unit());
            sd * (-2.0 * u.ln()).sqrt() * (std::f64::consts::TAU * v).cos()
        };
        (0..pairs).map(|_| value()).collect()
    }

    #[test]
    fn equal_builds_stay_equal_and_a_difference_that_was_put_in_is_found() {
        let recorded = recorded(24, 0.02);
        let mut random = SplitMix64::seeded(2);
        let mut share = |factor: f64, found: fn(&Replay) -> bool| {
            let all: Vec<Replay> =
                (0..400).map(|_| replay(&recorded, RULE, StopRule::widening, factor, &mut random).unwrap()).collect();
            all.iter().filter(|own| found(own)).count()
        };
        let different = |own: &Replay| own.p_value.is_some_and(|p| p < 0.05);
        // 5 % of 400 are 20, and the 99 % bound of the binomial is 32.
        assert!(share(1.0, different) <= 32);
        assert!(share(0.95, |own| own.p_value.is_some_and(|p| p < 0.05) && own.ratio < 1.0) > 360);
        assert_eq!(replay(&[], RULE, StopRule::widening, 1.0, &mut random), Err(NoEstimate::NoPair));
    }

    #[test]
    fn changed_labels_turn_the_sign_and_a_factor_shifts_what_the_slices_of_a_pair_say() {
        let value = [1000.0, 1100.0, 990.0, 1040.0];
        let order = [Side::To, Side::Of, Side::Of, Side::To];
        let effect = |swapped: bool, factor: f64| {
            let slice = |(side, value): (&Side, &f64)| {
                let side = if swapped { side.other() } else { *side };
                Slice { side, value: if side == Side::Of { value * factor } else { *value } }
            };
            pair_effect(&order.iter().zip(&value).map(slice).collect::<Vec<_>>()).unwrap().log_ratio
        };
        for factor in [1.0, 0.95] {
            assert!((effect(true, factor) - (factor.ln() - effect(false, 1.0))).abs() < 1e-12);
            assert!((effect(false, factor) - (factor.ln() + effect(false, 1.0))).abs() < 1e-12);
        }
    }

    #[test]
    fn the_rule_decides_how_many_pairs_are_taken() {
        let mut random = SplitMix64::seeded(3);
        let quiet = replay(&recorded(10, 0.001), RULE, StopRule::widening, 1.0, &mut random).unwrap();
        assert_eq!((quiet.pairs, quiet.narrow), (8, true));
        let loud = replay(&recorded(10, 0.5), RULE, StopRule::widening, 1.0, &mut random).unwrap();
        assert_eq!((loud.pairs, loud.narrow), (30, false));
    }
}
