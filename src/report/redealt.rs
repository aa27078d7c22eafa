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
    /// Mean number of measured slices that they took, of both sides.
    pub slices: f64,
}

/// Deals the whole pairs of each cell anew, of which each row holds the logarithms of the ratios; a pair has `slices`.
pub(super) fn redealt(cells: &[Vec<f64>], slices: u32, rule: StopRule) -> Option<Redealt> {
    let cells: Vec<&Vec<f64>> = cells.iter().filter(|pairs| pairs.len() > 1).collect();
    if cells.is_empty() {
        return None;
    }
    let level = 1.0 - rule.confidence;
    let mut random = SplitMix64::seeded(SEED);
    let mut out = Redealt {
        deals: DEALS,
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
            let equal = replay(recorded, rule, 1.0, &mut random).ok()?;
            let different = equal.p_value?;
            out.different += usize::from(different <= level);
            tested.push(Tested { different, same: None });
            let slower = replay(recorded, rule, SLOWER, &mut random).ok()?;
            if slower.p_value? <= level {
                out.found += usize::from(slower.ratio < 1.0);
                out.wrong_sign += usize::from(slower.ratio > 1.0);
            }
            pairs += slower.pairs;
        }
        out.clean += usize::from(holm(&tested, level).iter().all(|own| !own.different));
    }
    out.pairs = pairs as f64 / out.comparisons as f64;
    out.slices = out.pairs * f64::from(slices);
    Some(out)
}

impl Redealt {
    /// In words.
    pub(super) fn words(&self) -> String {
        let percent = |part: usize, of: usize| format!("{:.1} %", part as f64 * 100.0 / of as f64);
        format!(
            "Re-dealt {} times (pairs in random order, the two servers of a pair changing their labels at random, the \
             rule deciding how many): {} of {} comparisons called equal sides different, each alone; {} of the deals \
             were clean jointly. With one side made 5 % slower, {} found it, {} called it faster; they took {:.1} pairs, \
             that is {:.0} slices, on average.",
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
        let told = redealt(&cells, 8, rule).expect("enough pairs");
        assert_eq!(told.comparisons, 3 * DEALS);
        assert!(told.different * 100 < told.comparisons * 7, "{told:?}");
        assert!(told.clean * 100 >= told.deals * 93, "{told:?}");
        assert!(told.found * 100 > told.comparisons * 99 && told.wrong_sign == 0, "{told:?}");
        assert!((told.slices - told.pairs * 8.0).abs() < 1e-9);
        assert_eq!(told, redealt(&cells, 8, rule).expect("the same"));
        assert_eq!(redealt(&[], 8, rule), None);
    }
}
