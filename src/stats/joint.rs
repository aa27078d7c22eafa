//! Verdicts over several cells at once: with twelve comparisons of equal builds at 95 % each, nearly every second run
//! would find a difference. Holm's step-down method (Scandinavian Journal of Statistics 6, 1979) keeps the probability
//! of any wrong verdict in the whole table at the stated level, and decides more than dividing the level would.
use super::compare::{Better, Comparison};
use super::distribution::student_t_cdf;
use super::holm::{Stepped, Tested, holm};
use super::paired::{t_of, two_sided};
use serde::Serialize;

/// A cell that is to be judged.
#[derive(Debug, Clone, PartialEq)]
pub struct Judged {
    /// Logarithms of the ratios of its pairs or rounds.
    pub log_ratios: Vec<f64>,
    /// By what the standard error is multiplied (see [`super::StopRule::widening`]); 1 of a number of rounds that was
    /// fixed before.
    pub widening: f64,
    /// Which way is good; `None` for a metric that is neither, of which "better" is never said.
    pub better: Option<Better>,
    /// Margin of "same", as a share; without one nothing is called the same.
    pub same_within: Option<f64>,
}

/// What became of it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct JointVerdict {
    /// How it came out, jointly with the others.
    pub outcome: Comparison,
    /// How it would have come out as the only cell.
    pub alone: Comparison,
    /// The smallest level at which the joint verdict would be the same decision: Holm's adjusted p. `None` where there are
    /// fewer than two pairs.
    pub adjusted_p: Option<f64>,
}

/// The p-values of a cell; `None` of fewer than two pairs.
fn tested(cell: &Judged) -> Option<Tested> {
    let values = &cell.log_ratios;
    let different = two_sided(values, cell.widening)?;
    let df = values.len() as f64 - 1.0;
    let same = cell.same_within.and_then(|margin| {
        // Both one-sided tests against the margins must reject (two one-sided tests, Schuirmann 1987).
        let above_low = t_of(values, (-margin).ln_1p())? / cell.widening;
        let below_high = -t_of(values, margin.ln_1p())? / cell.widening;
        Some(student_t_cdf(-above_low, df).max(student_t_cdf(-below_high, df)))
    });
    Some(Tested { different, same })
}

/// What follows from the hypotheses that are rejected.
pub fn outcome(stepped: &Stepped, above: bool, better: Option<Better>) -> Comparison {
    // A difference inside the margin may be real; it is of no interest.
    match (stepped.same, stepped.different, better, above) {
        (true, ..) => Comparison::Same,
        (_, false, ..) => Comparison::CannotTell,
        (_, _, None, true) => Comparison::Higher,
        (_, _, None, false) => Comparison::Lower,
        (_, _, Some(Better::Higher), true) | (_, _, Some(Better::Lower), false) => Comparison::Better,
        (_, _, Some(_), _) => Comparison::Worse,
    }
}

/// Judges all cells so that the probability of a wrong verdict anywhere is at most `level`, such as 0.05.
pub fn joint_verdicts(cells: &[Judged], level: f64) -> Vec<JointVerdict> {
    let tested: Vec<Option<Tested>> = cells.iter().map(tested).collect();
    let known: Vec<Tested> = tested.iter().filter_map(|own| *own).collect();
    let mut together = holm(&known, level).into_iter();
    cells
        .iter()
        .zip(&tested)
        .map(|(cell, own)| {
            let Some((own, stepped)) = own.as_ref().and_then(|own| Some((own, together.next()?))) else {
                let open = Comparison::CannotTell;
                return JointVerdict { outcome: open, alone: open, adjusted_p: None };
            };
            let above = cell.log_ratios.iter().sum::<f64>() > 0.0;
            let alone = holm(&[*own], level);
            JointVerdict {
                outcome: outcome(&stepped, above, cell.better),
                alone: outcome(&alone[0], above, cell.better),
                adjusted_p: Some(stepped.adjusted),
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::random::SplitMix64;
    use super::*;
    use proptest::prelude::*;

    fn cell(log_ratios: &[f64], same_within: Option<f64>) -> Judged {
        Judged { log_ratios: log_ratios.to_vec(), widening: 1.0, better: Some(Better::Higher), same_within }
    }

    fn outcomes(cells: &[Judged]) -> Vec<Comparison> {
        joint_verdicts(cells, 0.05).into_iter().map(|verdict| verdict.outcome).collect()
    }

    const FASTER: [f64; 8] = [0.05, 0.06, 0.04, 0.05, 0.06, 0.05, 0.04, 0.05];
    const OPEN: [f64; 8] = [0.05, -0.06, 0.04, -0.05, 0.06, -0.05, 0.04, 0.05];
    const EQUAL: [f64; 8] = [0.001, -0.001, 0.002, -0.002, 0.001, 0.0, -0.001, 0.001];

    #[test]
    fn each_cell_is_better_worse_the_same_or_open() {
        let slower: Vec<f64> = FASTER.iter().map(|own| -own).collect();
        let cells = [
            cell(&FASTER, Some(0.01)),
            cell(&slower, None),
            cell(&EQUAL, Some(0.01)),
            cell(&OPEN, Some(0.01)),
            cell(&[0.1], None),
        ];
        let [better, worse, same, open] =
            [Comparison::Better, Comparison::Worse, Comparison::Same, Comparison::CannotTell];
        assert_eq!(outcomes(&cells), [better, worse, same, open, open]);
        let neither = Judged { better: None, ..cell(&FASTER, None) };
        assert_eq!(outcomes(&[neither]), [Comparison::Higher]);
    }

    #[test]
    fn adjusted_p_values_are_those_of_statsmodels() {
        // statsmodels.stats.multitest.multipletests([0.01, 0.04, 0.03], method="holm")[1] == [0.03, 0.06, 0.06]
        let with_p = |p: f64| {
            // Two values whose mean over standard error gives that p with one degree of freedom.
            let t = super::super::distribution::student_t_quantile(1.0 - p / 2.0, 1.0);
            cell(&[t + 1.0, t - 1.0], None)
        };
        let cells = [with_p(0.01), with_p(0.04), with_p(0.03)];
        let adjusted: Vec<f64> = joint_verdicts(&cells, 0.05).iter().filter_map(|verdict| verdict.adjusted_p).collect();
        for (own, expected) in adjusted.iter().zip([0.03, 0.06, 0.06]) {
            assert!((own - expected).abs() < 1e-9, "{adjusted:?}");
        }
        let decided: Vec<bool> =
            joint_verdicts(&cells, 0.05).iter().map(|verdict| verdict.outcome != Comparison::CannotTell).collect();
        assert_eq!(decided, [true, false, false]);
    }

    #[test]
    fn a_whole_table_of_equal_builds_is_clean_in_at_least_nineteen_of_twenty_runs() {
        let mut random = SplitMix64::seeded(11);
        let mut normal = || {
            let (u, v) = (1.0 - random.unit(), random.unit());
            (-2.0 * u.ln()).sqrt() * (std::f64::consts::TAU * v).cos()
        };
        for (m, same_within) in [(6, None), (12, None), (6, Some(0.01))] {
            let trials = 2000;
            let mut wrong = 0;
            let mut each = 0;
            for _ in 0..trials {
                let cells: Vec<Judged> =
                    (0..m).map(|_| cell(&std::array::from_fn::<f64, 8, _>(|_| 0.02 * normal()), same_within)).collect();
                let verdicts = joint_verdicts(&cells, 0.05);
                let differs = |own: Comparison| matches!(own, Comparison::Better | Comparison::Worse);
                wrong += usize::from(verdicts.iter().any(|own| differs(own.outcome)));
                each += usize::from(verdicts.iter().any(|own| differs(own.alone)));
            }
            // 5 % of 2000 are 100, and the 99 % bound of the binomial is 125.
            assert!(wrong <= 125, "{wrong} of {trials} runs of {m} cells");
            // Without Holm it would show.
            assert!(each > 2 * 125, "{each}");
        }
    }

    #[test]
    fn cells_whose_ratio_lies_at_the_margin_are_not_called_the_same_too_often() {
        let mut random = SplitMix64::seeded(5);
        let mut normal = || {
            let (u, v) = (1.0 - random.unit(), random.unit());
            (-2.0 * u.ln()).sqrt() * (std::f64::consts::TAU * v).cos()
        };
        let (trials, margin) = (2000, 0.01_f64);
        let wrong = (0..trials)
            .filter(|_| {
                let mut log_ratios = || std::array::from_fn::<f64, 8, _>(|_| margin.ln_1p() + 0.004 * normal());
                let cells: Vec<Judged> = (0..12).map(|_| cell(&log_ratios(), Some(margin))).collect();
                outcomes(&cells).contains(&Comparison::Same)
            })
            .count();
        // 5 % of 2000 are 100, and the 99 % bound of the binomial is 125; "same" at half the level has half of that.
        assert!((20..=125).contains(&wrong), "{wrong} of {trials}");
    }

    proptest! {
        #[test]
        fn a_joint_verdict_is_never_more_than_that_of_the_cell_alone(
            cells in prop::collection::vec(prop::collection::vec(-0.05..0.08_f64, 2..9), 1..6), margin in prop::option::of(0.005..0.1_f64)
        ) {
            let cells: Vec<Judged> = cells.iter().map(|own| cell(own, margin)).collect();
            let m = cells.len() as f64;
            for (index, verdict) in joint_verdicts(&cells, 0.05).iter().enumerate() {
                prop_assert!(verdict.outcome == Comparison::CannotTell || verdict.alone != Comparison::CannotTell);
                // What Bonferroni decides, Holm does.
                let bonferroni = joint_verdicts(&cells[index..=index], 0.05 / m)[0].outcome;
                prop_assert!(bonferroni == Comparison::CannotTell || verdict.outcome != Comparison::CannotTell);
            }
        }
    }
}
