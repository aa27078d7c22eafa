//! By which rule one thing is called better than another, worse, the same, or none of these.
//!
//! It knows intervals only. Several comparisons at once need a joint level, which the caller has
//! put into the interval's confidence.
use super::interval::Interval;
use super::verdict::{Bounds, Neutral, percent};
use serde::Serialize;

/// Which way a metric gets better; one that is neither is shown without a verdict.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Better {
    /// More is better, as of transactions a second.
    Higher,
    /// Less is better, as of CPU seconds.
    Lower,
}

/// How one thing compares with another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Comparison {
    /// The whole interval is on the better side of no difference.
    Better,
    /// The whole interval is on the worse side.
    Worse,
    /// Above, of a metric that is neither better nor worse for it.
    Higher,
    /// Below, of such a metric.
    Lower,
    /// The whole interval lies inside the stated margin.
    Same,
    /// None of these.
    CannotTell,
}

/// A comparison with its rule.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Compared {
    /// How it came out.
    pub outcome: Comparison,
    /// Which rule gave it: one sentence.
    pub rule: String,
}

/// Compares by the interval of a ratio (`Neutral::One`) or a difference (`Neutral::Zero`) of new to old.
///
/// `same_within` is the margin either side of no difference below which a change does not matter;
/// without one nothing is ever called the same. An interval inside the margin is the same even if
/// it excludes "no difference" itself: the change is real and too small to count.
pub fn compare(interval: Option<&Interval>, neutral: Neutral, better: Better, same_within: Option<f64>) -> Compared {
    let Some(interval) = interval else {
        return Compared {
            outcome: Comparison::CannotTell,
            rule: "fewer than two valid rounds have both, so there is no interval".to_owned(),
        };
    };
    let no_difference = neutral.value();
    let same = same_within.is_some_and(|margin| Bounds::within(margin, neutral).hold_all_of(interval));
    let (outcome, how) = if same {
        (Comparison::Same, "lies inside the stated margin")
    } else if interval.low > no_difference {
        let side = if better == Better::Higher { Comparison::Better } else { Comparison::Worse };
        (side, "lies above no difference")
    } else if interval.high < no_difference {
        let side = if better == Better::Lower { Comparison::Better } else { Comparison::Worse };
        (side, "lies below no difference")
    } else if same_within.is_some() {
        (Comparison::CannotTell, "holds no difference and reaches beyond the stated margin")
    } else {
        (Comparison::CannotTell, "holds no difference, and no margin for \"the same\" is stated")
    };
    Compared { outcome, rule: format!("the {} interval {how}", percent(interval.confidence)) }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]
    use super::super::interval::ratio_of_pairs;
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_comparison_is_better_worse_the_same_or_open() {
        let interval = |low, high| Interval { low, high, confidence: 0.95 };
        for (low, high, better, margin, outcome) in [
            (1.58, 1.85, Better::Lower, None, Comparison::Worse),
            (1.58, 1.85, Better::Higher, None, Comparison::Better),
            (0.803, 0.994, Better::Lower, None, Comparison::Better),
            (0.803, 0.994, Better::Higher, Some(0.02), Comparison::Worse),
            (0.86, 1.15, Better::Lower, None, Comparison::CannotTell),
            (0.86, 1.15, Better::Lower, Some(0.05), Comparison::CannotTell),
            (0.86, 1.15, Better::Lower, Some(0.2), Comparison::Same),
            (0.99, 1.01, Better::Lower, None, Comparison::CannotTell),
            (1.001, 1.02, Better::Lower, Some(0.03), Comparison::Same),
            (1.001, 1.04, Better::Lower, Some(0.03), Comparison::Worse),
        ] {
            let compared = compare(Some(&interval(low, high)), Neutral::One, better, margin);
            assert_eq!(compared.outcome, outcome, "[{low}, {high}] {better:?} {margin:?}");
        }
        let difference = compare(Some(&interval(-3.0, -1.0)), Neutral::Zero, Better::Lower, None);
        assert_eq!(difference.outcome, Comparison::Better);
        assert_eq!(difference.rule, "the 95 % interval lies below no difference");
        let none = compare(None, Neutral::One, Better::Lower, Some(0.1));
        assert_eq!(none.outcome, Comparison::CannotTell);
    }

    proptest! {
        #[test]
        fn swapping_the_sides_swaps_better_and_worse(pairs in prop::collection::vec((0.5..2.0_f64, 0.5..2.0_f64), 2..10)) {
            let swapped: Vec<_> = pairs.iter().map(|&(of, to)| (to, of)).collect();
            let outcome = |pairs: &[(f64, f64)]| {
                let estimate = ratio_of_pairs(pairs, 0.95).unwrap();
                compare(estimate.interval.as_ref(), Neutral::One, Better::Lower, None).outcome
            };
            let expected = match outcome(&pairs) {
                Comparison::Better => Comparison::Worse,
                Comparison::Worse => Comparison::Better,
                open => open,
            };
            prop_assert_eq!(outcome(&swapped), expected);
        }
    }
}
