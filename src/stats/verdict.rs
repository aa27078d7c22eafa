//! The rule by which a claim is held, not held or left open.
//!
//! Each judgement carries its rule as one sentence for the report. Whether one thing is better
//! than another, with no claim made, is in `compare.rs`.
use super::interval::{Interval, MeanEstimate, NoEstimate, RatioEstimate};
use serde::Serialize;

/// From this many rounds on the interval decides a claim; below it each round's own figure does.
pub const ROUNDS_FOR_INTERVAL: usize = 5;

/// What a claim bounds, in the claim's unit; both ends are allowed values, a missing one is open.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Bounds {
    /// The smallest value that bears the claim out.
    pub at_least: Option<f64>,
    /// The largest value that bears the claim out.
    pub at_most: Option<f64>,
}

impl Bounds {
    /// `margin` either side of what "no difference" is: `within = 0.05` of a ratio is 0.95 to 1.05.
    pub fn within(margin: f64, around: Neutral) -> Self {
        Self::between(around.value() - margin, around.value() + margin)
    }

    /// From `low` to `high`.
    pub fn between(low: f64, high: f64) -> Self {
        Self { at_least: Some(low), at_most: Some(high) }
    }

    /// Whether `value` bears the claim out.
    pub fn allow(&self, value: f64) -> bool {
        self.at_least.is_none_or(|least| value >= least) && self.at_most.is_none_or(|most| value <= most)
    }

    pub(super) fn hold_all_of(&self, interval: &Interval) -> bool {
        self.allow(interval.low) && self.allow(interval.high)
    }

    fn hold_none_of(&self, interval: &Interval) -> bool {
        self.at_least.is_some_and(|least| interval.high < least) || self.at_most.is_some_and(|most| interval.low > most)
    }
}

/// The value that means "no difference".
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Neutral {
    /// Of a ratio.
    One,
    /// Of a difference.
    Zero,
}

impl Neutral {
    /// The number itself.
    pub fn value(self) -> f64 {
        match self {
            Self::One => 1.0,
            Self::Zero => 0.0,
        }
    }
}

/// What a claim is judged on.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Estimate {
    /// Ratios within rounds.
    Ratio(RatioEstimate),
    /// Differences within rounds.
    Difference(MeanEstimate),
    /// One value a round.
    Value(MeanEstimate),
}

impl Estimate {
    /// The geometric mean of ratios, the mean of the others.
    pub fn centre(&self) -> f64 {
        match self {
            Self::Ratio(ratio) => ratio.geometric_mean,
            Self::Difference(mean) | Self::Value(mean) => mean.mean,
        }
    }

    /// The t interval; a single round has none.
    pub fn interval(&self) -> Option<&Interval> {
        match self {
            Self::Ratio(ratio) => ratio.interval.as_ref(),
            Self::Difference(mean) | Self::Value(mean) => mean.interval.as_ref(),
        }
    }

    /// The same with its interval widened: of ratios on the logarithmic scale, on which it was worked out.
    #[must_use]
    pub fn widened(mut self, factor: f64) -> Self {
        match &mut self {
            Self::Ratio(RatioEstimate { geometric_mean, interval: Some(own), .. }) => {
                let end = |end: f64| *geometric_mean * (end / *geometric_mean).powf(factor);
                (own.low, own.high) = (end(own.low), end(own.high));
            }
            Self::Difference(MeanEstimate { mean, interval: Some(own), .. })
            | Self::Value(MeanEstimate { mean, interval: Some(own), .. }) => {
                let end = |end: f64| *mean + (end - *mean) * factor;
                (own.low, own.high) = (end(own.low), end(own.high));
            }
            _ => {}
        }
        self
    }

    /// Each round's own figure, in the order given.
    pub fn rounds(&self) -> &[f64] {
        match self {
            Self::Ratio(ratio) => &ratio.ratios,
            Self::Difference(mean) | Self::Value(mean) => &mean.values,
        }
    }

    /// The smallest and the largest round's figure.
    pub fn range(&self) -> (f64, f64) {
        match self {
            Self::Ratio(ratio) => (ratio.min, ratio.max),
            Self::Difference(mean) | Self::Value(mean) => (mean.min, mean.max),
        }
    }

    fn of_a_round(&self) -> &'static str {
        match self {
            Self::Ratio(_) | Self::Difference(_) => "pair",
            Self::Value(_) => "value",
        }
    }
}

/// What became of a claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// The runs bear it out.
    Held,
    /// The runs contradict it.
    NotHeld,
    /// They do neither.
    CannotTell,
}

/// A judged claim.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Judgement {
    /// What became of the claim.
    pub outcome: Outcome,
    /// Which rule was applied and how it came out: one sentence without figures but the confidence.
    pub rule: String,
    /// How many rounds it rests on.
    pub n: usize,
    /// How many of them bear it out by themselves.
    pub borne_out: usize,
    /// What was judged, if there was anything.
    pub estimate: Option<Estimate>,
}

impl Judgement {
    /// The rule apart from how it came out, so that claims judged alike need it only once.
    pub fn rule_and_finding(&self) -> (&str, Option<&str>) {
        match self.rule.rsplit_once(": ") {
            Some((rule, finding)) if self.estimate.is_some() => (rule, Some(finding)),
            _ => (&self.rule, None),
        }
    }
}

/// Judges a claim: by each round's own figure below five rounds, by the interval from five on.
///
/// Fewer rounds give intervals that are right and too wide to decide much; three rounds that all
/// show a factor of thirty should not be left open. What has no estimate cannot be told.
pub fn judge(estimate: Result<Estimate, NoEstimate>, bounds: Bounds) -> Judgement {
    let estimate = match estimate {
        Ok(estimate) => estimate,
        Err(reason) => {
            return Judgement {
                outcome: Outcome::CannotTell,
                rule: reason.to_string(),
                n: 0,
                borne_out: 0,
                estimate: None,
            };
        }
    };
    let n = estimate.rounds().len();
    let borne_out = estimate.rounds().iter().filter(|value| bounds.allow(**value)).count();
    let (outcome, rule) = match estimate.interval() {
        Some(interval) if n >= ROUNDS_FOR_INTERVAL => by_interval(interval, bounds),
        _ => by_rounds(n, borne_out, estimate.of_a_round()),
    };
    Judgement { outcome, rule, n, borne_out, estimate: Some(estimate) }
}

fn by_interval(interval: &Interval, bounds: Bounds) -> (Outcome, String) {
    let (outcome, how) = if bounds.hold_all_of(interval) {
        (Outcome::Held, "it lies inside")
    } else if bounds.hold_none_of(interval) {
        (Outcome::NotHeld, "it lies outside")
    } else {
        (Outcome::CannotTell, "it reaches across a bound")
    };
    let rule = format!(
        "from n = {ROUNDS_FOR_INTERVAL} on the claim is held if the whole {} interval lies inside the bounds, not held if it lies wholly outside, else cannot tell: {how}",
        percent(interval.confidence)
    );
    (outcome, rule)
}

fn by_rounds(n: usize, borne_out: usize, figure: &str) -> (Outcome, String) {
    let outcome = match borne_out {
        _ if n == 0 => Outcome::CannotTell,
        0 => Outcome::NotHeld,
        _ if borne_out == n => Outcome::Held,
        _ => Outcome::CannotTell,
    };
    let rule = format!(
        "below n = {ROUNDS_FOR_INTERVAL} the claim is held if each round's own {figure} bears it out, not held if none does, else cannot tell: {borne_out} of {n} {}",
        if borne_out == 1 { "does" } else { "do" }
    );
    (outcome, rule)
}

/// A confidence as a person writes it: `95 %`, `99.5 %`, rid of what 100 × 0.995 adds.
pub(super) fn percent(confidence: f64) -> String {
    format!("{} %", (confidence * 1e8).round() / 1e6)
}

#[cfg(test)]
mod tests {
    use super::super::interval::{difference_of_pairs, mean_of_values, ratio_of_pairs};
    use super::*;
    use proptest::prelude::*;

    const AT_LEAST_TEN: Bounds = Bounds { at_least: Some(10.0), at_most: None };

    fn ratios(ratios: &[f64]) -> Result<Estimate, NoEstimate> {
        let pairs: Vec<(f64, f64)> = ratios.iter().map(|ratio| (*ratio, 1.0)).collect();
        ratio_of_pairs(&pairs, 0.95).map(Estimate::Ratio)
    }

    #[test]
    fn below_five_rounds_each_rounds_own_pair_decides() {
        for (rounds, outcome) in [
            (&[31.0, 30.6, 31.6][..], Outcome::Held),
            (&[1.02, 0.98, 1.0], Outcome::NotHeld),
            (&[31.0, 9.0, 31.6], Outcome::CannotTell),
            // The interval of these two reaches from below 10 to beyond 100; each of them bears it out.
            (&[20.0, 60.0], Outcome::Held),
            (&[31.0], Outcome::Held),
            (&[3.0], Outcome::NotHeld),
            (&[10.0, 10.0, 10.0], Outcome::Held),
        ] {
            let judgement = judge(ratios(rounds), AT_LEAST_TEN);
            assert_eq!(judgement.outcome, outcome, "{rounds:?}");
            assert_eq!(judgement.n, rounds.len());
        }
    }

    #[test]
    fn from_five_rounds_on_the_whole_interval_decides() {
        for (rounds, outcome) in [
            (&[31.0, 30.0, 32.0, 31.5, 30.5][..], Outcome::Held),
            (&[3.0, 3.1, 2.9, 3.0, 3.05], Outcome::NotHeld),
            // Each round bears it out and the interval does not.
            (&[10.5, 30.0, 11.0, 90.0, 12.0], Outcome::CannotTell),
            // One round falls short and the interval still bears it out.
            (&[9.9, 11.0, 11.2, 11.1, 11.0, 11.3, 11.1], Outcome::Held),
            (&[10.0; 6], Outcome::Held),
        ] {
            assert_eq!(judge(ratios(rounds), AT_LEAST_TEN).outcome, outcome, "{rounds:?}");
        }
    }

    #[test]
    fn a_margin_has_two_sides() {
        let within = Bounds::within(0.05, Neutral::One);
        for (rounds, outcome) in [
            (&[1.01, 0.99, 1.0, 1.02, 0.98][..], Outcome::Held),
            (&[1.21, 1.19, 1.2, 1.22, 1.18], Outcome::NotHeld),
            (&[0.81, 0.79, 0.8, 0.82, 0.78], Outcome::NotHeld),
            (&[1.3, 0.7, 1.0, 1.2, 0.8], Outcome::CannotTell),
        ] {
            assert_eq!(judge(ratios(rounds), within).outcome, outcome, "{rounds:?}");
        }
        let pair = Bounds::between(0.5, 2.0);
        let differences = difference_of_pairs(&[(3.0, 2.0), (4.0, 2.5)], 0.95);
        assert_eq!(judge(differences.map(Estimate::Difference), pair).outcome, Outcome::Held);
        let values = mean_of_values(&[2.0, 2.1], 0.95);
        assert_eq!(judge(values.map(Estimate::Value), pair).outcome, Outcome::CannotTell);
    }

    #[test]
    fn without_a_valid_pair_nothing_can_be_told_and_the_reason_is_said() {
        let judgement = judge(ratios(&[]), AT_LEAST_TEN);
        assert_eq!(judgement.outcome, Outcome::CannotTell);
        assert_eq!(judgement.rule, "no valid round has both");
        let zero = judge(ratios(&[1.0, 0.0]), AT_LEAST_TEN);
        assert_eq!(zero.outcome, Outcome::CannotTell);
        assert!(zero.rule.contains("not above zero"), "{}", zero.rule);
    }

    #[test]
    fn a_widened_interval_keeps_its_centre_and_a_ratio_widens_by_its_logarithm() {
        let both = |estimate: Estimate, factor: f64| {
            let own = *estimate.interval().expect("several rounds");
            let centre = estimate.centre();
            let wide = estimate.widened(factor);
            assert!((wide.centre() - centre).abs() < 1e-15);
            (centre, own, *wide.interval().expect("several rounds"))
        };
        let (centre, own, wide) = both(ratios(&[0.9, 1.0, 1.1, 1.05]).expect("ratios"), 2.0);
        assert!(((wide.high / centre).ln() - 2.0 * (own.high / centre).ln()).abs() < 1e-12);
        assert!(((wide.low / centre).ln() - 2.0 * (own.low / centre).ln()).abs() < 1e-12);
        let values = mean_of_values(&[-1.0, 1.0, 3.0], 0.95).expect("values");
        for estimate in [Estimate::Value(values.clone()), Estimate::Difference(values)] {
            let (centre, own, wide) = both(estimate, 1.5);
            assert!((wide.high - centre - 1.5 * (own.high - centre)).abs() < 1e-12);
            assert!((wide.low + wide.high - 2.0 * centre).abs() < 1e-12);
        }
        assert_eq!(ratios(&[1.5]).expect("a ratio").widened(2.0).interval(), None);
    }

    #[test]
    fn the_rule_is_a_sentence_with_its_bound() {
        let rule = |rounds: &[f64]| judge(ratios(rounds), AT_LEAST_TEN).rule;
        assert_eq!(
            rule(&[31.0]),
            "below n = 5 the claim is held if each round's own pair bears it out, not held if none does, else cannot tell: 1 of 1 does"
        );
        assert!(rule(&[31.0, 5.0, 40.0]).ends_with("2 of 3 do"));
        assert_eq!(
            rule(&[31.0, 30.0, 32.0, 31.5, 30.5]),
            "from n = 5 on the claim is held if the whole 95 % interval lies inside the bounds, not held if it lies wholly outside, else cannot tell: it lies inside"
        );
        assert_eq!(percent(0.995), "99.5 %");
        let judgement = judge(ratios(&[31.0, 5.0, 40.0]), AT_LEAST_TEN);
        let (rule, finding) = judgement.rule_and_finding();
        assert!(rule.ends_with("else cannot tell"), "{rule}");
        assert_eq!(finding, Some("2 of 3 do"));
        assert_eq!(judge(ratios(&[]), AT_LEAST_TEN).rule_and_finding(), ("no valid round has both", None));
    }

    proptest! {
        #[test]
        fn a_claim_and_its_opposite_are_never_both_held(
            rounds in prop::collection::vec(0.1..10.0_f64, 1..12),
            bound in 0.1..10.0_f64,
        ) {
            let least = judge(ratios(&rounds), Bounds { at_least: Some(bound), at_most: None }).outcome;
            let most = judge(ratios(&rounds), Bounds { at_least: None, at_most: Some(bound) }).outcome;
            prop_assert!(!(least == Outcome::Held && most == Outcome::Held));
            prop_assert_eq!(least == Outcome::Held, most == Outcome::NotHeld);
        }
    }
}
