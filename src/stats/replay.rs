//! Recorded pairs of equal builds, dealt anew: how often would this procedure, on this machine's own noise, have called
//! them different, and how often would it have found a difference that was put in?
use super::interval::NoEstimate;
use super::paired::{Side, Slice, pair_effect, paired_estimate};
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
/// replacement until all are used and then again, and in each the two servers change their labels at random. Of equal
/// builds that is as good a run as the recorded one. The figures of the side `of` are multiplied by `factor`: 1 for an
/// A/A replay, 0.95 for a build that is 5 % slower.
pub fn replay(
    recorded: &[Vec<Slice>],
    rule: StopRule,
    factor: f64,
    random: &mut SplitMix64,
) -> Result<Replay, NoEstimate> {
    let mut left: Vec<usize> = Vec::new();
    let mut logs: Vec<f64> = Vec::new();
    while rule.next(&logs) == Next::More {
        if left.is_empty() {
            left = (0..recorded.len()).collect();
        }
        if left.is_empty() {
            return Err(NoEstimate::NoPair);
        }
        let pair = &recorded[left.swap_remove(random.below(left.len()))];
        let swapped = random.below(2) == 1;
        let dealt: Vec<Slice> = pair
            .iter()
            .map(|slice| {
                let side = if swapped { slice.side.other() } else { slice.side };
                let value = if side == Side::Of { slice.value * factor } else { slice.value };
                Slice { side, value }
            })
            .collect();
        logs.push(pair_effect(&dealt)?.log_ratio);
    }
    let estimate = paired_estimate(&logs, rule.confidence, rule.widening(logs.len()))?;
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

    const RULE: StopRule = StopRule { least: 8, most: 30, half_width: 0.02, confidence: 0.95 };

    fn recorded(pairs: usize, sd: f64) -> Vec<Vec<Slice>> {
        let mut random = SplitMix64::seeded(1);
        let mut value = || {
            let (u, v) = (1.0 - random.unit(), random.unit());
            1000.0 * (sd * (-2.0 * u.ln()).sqrt() * (std::f64::consts::TAU * v).cos()).exp()
        };
        let order = [Side::To, Side::Of, Side::Of, Side::To];
        (0..pairs).map(|_| order.iter().map(|side| Slice { side: *side, value: value() }).collect()).collect()
    }

    #[test]
    fn equal_builds_stay_equal_and_a_difference_that_was_put_in_is_found() {
        let recorded = recorded(24, 0.03);
        let mut random = SplitMix64::seeded(2);
        let mut share = |factor: f64, found: fn(&Replay) -> bool| {
            let all: Vec<Replay> = (0..400).map(|_| replay(&recorded, RULE, factor, &mut random).unwrap()).collect();
            all.iter().filter(|own| found(own)).count()
        };
        let different = |own: &Replay| own.p_value.is_some_and(|p| p < 0.05);
        // 5 % of 400 are 20, and the 99 % bound of the binomial is 32.
        assert!(share(1.0, different) <= 32);
        assert!(share(0.95, |own| own.p_value.is_some_and(|p| p < 0.05) && own.ratio < 1.0) > 360);
        assert_eq!(replay(&[], RULE, 1.0, &mut random), Err(NoEstimate::NoPair));
    }

    #[test]
    fn the_rule_decides_how_many_pairs_are_taken() {
        let mut random = SplitMix64::seeded(3);
        let quiet = replay(&recorded(10, 0.001), RULE, 1.0, &mut random).unwrap();
        assert_eq!((quiet.pairs, quiet.narrow), (8, true));
        let loud = replay(&recorded(10, 0.5), RULE, 1.0, &mut random).unwrap();
        assert_eq!((loud.pairs, loud.narrow), (30, false));
    }
}
