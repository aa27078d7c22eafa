//! What an A/A run says of the machine: its pairs dealt anew many times, as they are and with one side made slower.

use serde::Serialize;

use crate::stats::{SplitMix64, StopRule, Tested, holm, replay};

/// How often the pairs are dealt anew.
const DEALS: usize = 2_000;

/// Seed of the dealing: the same record gives the same figures.
const SEED: u64 = 1;

/// The change that is put in, to see how often it is found.
const SLOWER: f64 = 0.95;

/// What came of it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Redealt {
    /// Deals of each cell.
    pub deals: usize,
    /// Whether they are rounds, all of which were taken, and not pairs.
    pub rounds: bool,
    /// Comparisons that called equal builds different, each alone at the level.
    pub different: usize,
    /// Comparisons in all: deals times cells.
    pub comparisons: usize,
    /// Deals in which no cell was called different, jointly.
    pub clean: usize,
    /// Comparisons that found a side made 5 % slower.
    pub found: usize,
    /// Comparisons that called that side faster.
    pub wrong_sign: usize,
    /// Mean number of pairs that they took.
    pub pairs: f64,
    /// Mean number of measured slices, or runs, that they took, of both sides.
    pub slices: f64,
}

/// How what is dealt was come by.
#[derive(Clone, Copy, Debug)]
pub(super) enum Of {
    /// Pairs of servers, of which the rule takes as many as it wants, each with so many slices.
    Pairs(StopRule, u32),
    /// Rounds, as many as there are, at this confidence; a round has one run of each side.
    Rounds(f64),
}

impl Of {
    /// The fewest that say anything when dealt anew: the labels of n rounds can be changed in 2^(n-1) ways.
    fn least(self) -> usize {
        match self {
            Of::Pairs(rule, _) => (rule.least as usize).max(2),
            Of::Rounds(_) => 8,
        }
    }

    /// How many of `recorded` are taken.
    fn rule(self, recorded: usize) -> StopRule {
        let all = u32::try_from(recorded).unwrap_or(u32::MAX);
        match self {
            Of::Pairs(rule, _) => rule,
            // No interval is as narrow as nothing.
            Of::Rounds(confidence) => StopRule { least: all, most: all, half_width: 0.0, confidence },
        }
    }

    /// By what the recorded run's standard errors were multiplied.
    fn widening(self) -> fn(usize) -> f64 {
        match self {
            Of::Pairs(..) => StopRule::widening,
            Of::Rounds(_) => |_| 1.0,
        }
    }
}

/// Deals the pairs or rounds of each cell anew, of which each row holds the logarithms of the ratios; cells with too
/// few, as of an interrupted run, are left out. `None` if no cell has enough.
pub(super) fn redealt(cells: &[Vec<f64>], of: Of) -> Option<Redealt> {
    let cells: Vec<&Vec<f64>> = cells.iter().filter(|pairs| pairs.len() >= of.least()).collect();
    let confidence = of.rule(cells.first()?.len()).confidence;
    let level = 1.0 - confidence;
    let mut random = SplitMix64::seeded(SEED);
    let mut out = Redealt {
        deals: DEALS,
        rounds: false,
        different: 0,
        comparisons: DEALS * cells.len(),
        clean: 0,
        found: 0,
        wrong_sign: 0,
        pairs: 0.0,
        slices: 0.0,
    };
    let mut pairs = 0;
    for _ in 0..DEALS {
        let mut tested = Vec::new();
        for recorded in &cells {
            let rule = of.rule(recorded.len());
            let equal = replay(recorded, rule, of.widening(), 1.0, &mut random).ok()?;
            let different = equal.p_value?;
            out.different += usize::from(different <= level);
            tested.push(Tested { different, same: None });
            let slower = replay(recorded, rule, of.widening(), SLOWER, &mut random).ok()?;
            if slower.p_value? <= level {
                out.found += usize::from(slower.ratio < 1.0);
                out.wrong_sign += usize::from(slower.ratio > 1.0);
            }
            pairs += slower.pairs;
        }
        out.clean += usize::from(holm(&tested, level).iter().all(|own| !own.different));
    }
    out.pairs = pairs as f64 / out.comparisons as f64;
    let (rounds, slices) = match of {
        Of::Pairs(_, slices) => (false, slices),
        Of::Rounds(_) => (true, 2),
    };
    (out.rounds, out.slices) = (rounds, out.pairs * f64::from(slices));
    Some(out)
}

/// What is told where nothing was dealt.
pub(super) fn too_few(of: Of) -> String {
    let unit = match of {
        Of::Pairs(..) => "pairs",
        Of::Rounds(_) => "rounds",
    };
    format!(
        "Not dealt anew to see how often equal sides are called different: that takes at least {} {unit}.",
        of.least()
    )
}

impl Redealt {
    /// In words.
    pub(super) fn words(&self) -> String {
        let percent = |part: usize, of: usize| format!("{:.1} %", part as f64 * 100.0 / of as f64);
        let (how, unit, runs) = if self.rounds {
            ("rounds in random order, the two sides of a round changing their labels at random", "rounds", "runs")
        } else {
            (
                "pairs in random order, the two servers of a pair changing their labels at random, the rule deciding how many",
                "pairs",
                "slices",
            )
        };
        format!(
            "Re-dealt {} times ({how}): {} of {} comparisons called equal sides different, each alone; {} of the deals \
             were clean jointly. With one side made 5 % slower, {} found it, {} called it faster; they took {:.1} {unit}, \
             that is {:.0} {runs}, on average.",
            self.deals,
            percent(self.different, self.comparisons),
            self.comparisons,
            percent(self.clean, self.deals),
            percent(self.found, self.comparisons),
            percent(self.wrong_sign, self.comparisons),
            self.pairs,
            self.slices
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_sides_are_seldom_called_different_and_a_slower_one_is_found() {
        let mut random = SplitMix64::seeded(9);
        let mut cell = || -> Vec<f64> { (0..10).map(|_| 0.02 * (random.unit() - 0.5)).collect() };
        let cells = [cell(), cell(), cell(), vec![]];
        let rule = StopRule { least: 8, most: 30, half_width: 0.01, confidence: 0.95 };
        let of = Of::Pairs(rule, 8);
        let told = redealt(&cells, of).expect("enough pairs");
        assert_eq!(told.comparisons, 3 * DEALS);
        assert!(told.different * 100 < told.comparisons * 7, "{told:?}");
        assert!(told.clean * 100 >= told.deals * 93, "{told:?}");
        assert!(told.found * 100 > told.comparisons * 99 && told.wrong_sign == 0, "{told:?}");
        assert!((told.slices - told.pairs * 8.0).abs() < 1e-9);
        assert_eq!(told, redealt(&cells, of).expect("the same"));
        assert_eq!(redealt(&[], of), None);
        assert_eq!(redealt(&[cells[0][..7].to_vec()], of), None, "fewer than the least say nothing of the rule");
    }

    #[test]
    fn rounds_are_dealt_as_they_were_judged_all_of_them() {
        let mut random = SplitMix64::seeded(9);
        let mut cell = |n: u32| -> Vec<f64> { (0..n).map(|_| 0.2 * (random.unit() - 0.5)).collect() };
        let of = Of::Rounds(0.95);
        let told = redealt(&[cell(12), cell(14), cell(3)], of).expect("enough rounds");
        assert_eq!((told.rounds, told.comparisons), (true, 2 * DEALS), "three rounds say nothing");
        assert!((told.pairs - 13.0).abs() < 1e-9 && (told.slices - 26.0).abs() < 1e-9, "{told:?}");
        assert!(told.different * 100 < told.comparisons * 8, "{told:?}");
        assert!(told.words().contains("they took 13.0 rounds, that is 26 runs"), "{}", told.words());
        assert_eq!(redealt(&[cell(7)], of), None);
    }
}
