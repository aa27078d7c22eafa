//! Holm's step-down method (Scandinavian Journal of Statistics 6, 1979) over cells of which each has one or two
//! hypotheses: the probability of any wrong rejection among all of them is at most the level.
//!
//! "No difference" and "a difference beyond the margin" cannot both be true, so of the hypotheses that are left at any
//! step at most one a cell is: each is held against the level over the number of cells that still have one left (Shaffer,
//! Journal of the American Statistical Association 81, 1986). A cell leaves the count only when both of its hypotheses
//! are rejected: with one rejected the other may still be the true one, and counting the cell no longer would spend its
//! share of the level on others (simulated, 12 cells whose ratio lies at the margin: 8.5 % instead of 5 %).

/// The p-values of a cell.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Tested {
    /// Of "no difference".
    pub different: f64,
    /// Of "a difference beyond the margin", where there is one, by two one-sided tests. It is asked at half the level, as
    /// the two-sided interval inside the margin means it.
    pub same: Option<f64>,
}

/// What became of a cell.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Stepped {
    /// Whether "no difference" is rejected.
    pub different: bool,
    /// Whether "a difference beyond the margin" is.
    pub same: bool,
    /// The smallest level of all at which any of the two would be.
    pub adjusted: f64,
}

/// Each cell among all, in their order.
pub fn holm(cells: &[Tested], level: f64) -> Vec<Stepped> {
    let mut hypotheses: Vec<(f64, usize, bool)> = Vec::new();
    for (index, cell) in cells.iter().enumerate() {
        hypotheses.push((cell.different, index, false));
        hypotheses.extend(cell.same.map(|same| (2.0 * same, index, true)));
    }
    hypotheses.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut left: Vec<u32> = cells.iter().map(|cell| 1 + u32::from(cell.same.is_some())).collect();
    let mut out = vec![Stepped { different: false, same: false, adjusted: 1.0 }; cells.len()];
    let (mut open, mut adjusted) = (true, 0.0_f64);
    for (p, index, of_same) in hypotheses {
        let cells_left = left.iter().filter(|left| **left > 0).count() as f64;
        adjusted = adjusted.max((p * cells_left).min(1.0));
        out[index].adjusted = out[index].adjusted.min(adjusted);
        open &= p <= level / cells_left;
        if open {
            let rejected = if of_same { &mut out[index].same } else { &mut out[index].different };
            *rejected = true;
        }
        left[index] -= 1;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn without_margins_it_is_holms_own() {
        // statsmodels.stats.multitest.multipletests([0.01, 0.04, 0.03, 0.005], method="holm")[1]
        let cells = [0.01, 0.04, 0.03, 0.005].map(|different| Tested { different, same: None });
        let stepped = holm(&cells, 0.05);
        for (own, expected) in stepped.iter().zip([0.03, 0.06, 0.06, 0.02]) {
            assert!((own.adjusted - expected).abs() < 1e-12, "{stepped:?}");
        }
        assert_eq!(stepped.iter().map(|own| own.different).collect::<Vec<_>>(), [true, false, false, true]);
        assert_eq!(holm(&[], 0.05), []);
    }

    #[test]
    fn a_cell_counts_until_both_of_its_hypotheses_are_rejected() {
        // "No difference" of the first is rejected; its margin is open, so that the second still is one of two.
        let cells = [Tested { different: 0.001, same: Some(0.4) }, Tested { different: 0.03, same: None }];
        let stepped = holm(&cells, 0.05);
        assert!(stepped[0].different && !stepped[0].same);
        assert!(!stepped[1].different && (stepped[1].adjusted - 0.06).abs() < 1e-12);
        // With both rejected it is the only one.
        let stepped = holm(&[Tested { different: 0.001, same: Some(0.001) }, cells[1]], 0.05);
        assert!(stepped[0].different && stepped[0].same && stepped[1].different);
    }

    proptest! {
        #[test]
        fn what_the_level_divided_by_the_cells_rejects_is_rejected(
            p in prop::collection::vec((0.0..0.2_f64, prop::option::of(0.0..0.2_f64)), 1..8)
        ) {
            let cells: Vec<Tested> = p.iter().map(|(different, same)| Tested { different: *different, same: *same }).collect();
            let share = 0.05 / cells.len() as f64;
            for (cell, stepped) in cells.iter().zip(holm(&cells, 0.05)) {
                prop_assert!(stepped.different || cell.different > share);
                prop_assert!(stepped.same || cell.same.is_none_or(|same| 2.0 * same > share));
                prop_assert!(!stepped.different || cell.different <= 0.05);
            }
        }
    }
}
