//! Holm's step-down method on p-values (Scandinavian Journal of Statistics 6, 1979): the probability of any wrong
//! rejection among all is at most the level.

/// What became of one p-value.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Stepped {
    /// The smallest level of all at which it would be rejected.
    pub adjusted: f64,
    /// The level that it was held against, if all before it were rejected.
    pub level: Option<f64>,
}

/// Each p-value among all, in their order.
pub fn holm(p_values: &[f64], level: f64) -> Vec<Stepped> {
    let mut order: Vec<usize> = (0..p_values.len()).collect();
    order.sort_by(|a, b| p_values[*a].total_cmp(&p_values[*b]));
    let mut out = vec![Stepped { adjusted: 1.0, level: None }; p_values.len()];
    let (mut open, mut adjusted) = (true, 0.0_f64);
    for (place, index) in order.into_iter().enumerate() {
        let left = (p_values.len() - place) as f64;
        adjusted = adjusted.max((p_values[index] * left).min(1.0));
        open &= p_values[index] <= level / left;
        out[index] = Stepped { adjusted, level: open.then_some(level / left) };
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn adjusted_p_values_are_those_of_statsmodels() {
        // statsmodels.stats.multitest.multipletests([0.01, 0.04, 0.03, 0.005], method="holm")[1]
        let stepped = holm(&[0.01, 0.04, 0.03, 0.005], 0.05);
        for (own, expected) in stepped.iter().zip([0.03, 0.06, 0.06, 0.02]) {
            assert!((own.adjusted - expected).abs() < 1e-12, "{stepped:?}");
        }
        let rejected: Vec<bool> = stepped.iter().map(|own| own.level.is_some()).collect();
        assert_eq!(rejected, [true, false, false, true]);
        assert_eq!(holm(&[], 0.05), []);
    }
}
