//! Summary of one sample: what a table prints of a metric over its rounds.
//!
//! It says nothing of what the numbers mean for a claim; intervals are in `interval.rs`.
use serde::Serialize;

/// Location and spread of a sample, in the unit of its values.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Summary {
    /// How many values there are, at least one.
    pub n: usize,
    /// The middle value; of an even number of values the mean of the middle two.
    pub median: f64,
    /// The smallest value.
    pub min: f64,
    /// The largest value.
    pub max: f64,
    /// The arithmetic mean.
    pub mean: f64,
    /// The sample standard deviation (n − 1); one value has none.
    pub sd: Option<f64>,
}

impl Summary {
    /// Summarises `values`; `None` if there are none, or if one of them is not a finite number.
    pub fn of(values: &[f64]) -> Option<Self> {
        let sorted = sorted(values)?;
        let (min, max) = (*sorted.first()?, *sorted.last()?);
        let (mean, sd) = mean_and_sd(&sorted);
        Some(Self { n: sorted.len(), median: median_of_sorted(&sorted), min, max, mean, sd })
    }
}

/// The values in ascending order, `None` if one of them is not finite.
///
/// Every statistic here starts from this order: floating-point sums depend on it, and a report
/// rendered from merged records must not differ in its last digit.
pub(super) fn sorted(values: &[f64]) -> Option<Vec<f64>> {
    if values.iter().any(|value| !value.is_finite()) {
        return None;
    }
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    Some(sorted)
}

/// The mean, held inside the range of the values, and the sample standard deviation of at least one sorted value.
pub(super) fn mean_and_sd(sorted: &[f64]) -> (f64, Option<f64>) {
    let n = sorted.len() as f64;
    // Dividing first keeps the sum of very large values finite; dividing last is exact for
    // counters, so it is tried first.
    let sum: f64 = sorted.iter().sum();
    let mean = if sum.is_finite() { sum / n } else { sorted.iter().map(|value| value / n).sum() };
    // Rounding may carry the mean of equal values just past them, where a bound they meet would
    // be missed.
    let mean = match (sorted.first(), sorted.last()) {
        (Some(&min), Some(&max)) => mean.clamp(min, max),
        _ => mean,
    };
    let sd = (sorted.len() > 1).then(|| {
        let squares: f64 = sorted.iter().map(|value| (value - mean).powi(2)).sum();
        (squares / (n - 1.0)).sqrt()
    });
    (mean, sd)
}

fn median_of_sorted(sorted: &[f64]) -> f64 {
    let middle = sorted.len() / 2;
    if sorted.len().is_multiple_of(2) { f64::midpoint(sorted[middle - 1], sorted[middle]) } else { sorted[middle] }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_median_of_an_even_number_is_the_mean_of_the_middle_two() {
        for (values, median) in
            [(vec![3.0], 3.0), (vec![4.565, 4.777], 4.671), (vec![9.0, 1.0, 5.0], 5.0), (vec![9.0, 1.0, 5.0, 4.0], 4.5)]
        {
            let summary = Summary::of(&values).unwrap();
            assert!((summary.median - median).abs() < 1e-12, "{values:?}");
        }
    }

    #[test]
    fn nothing_is_summarised_of_no_values_or_of_a_nan() {
        assert_eq!(Summary::of(&[]), None);
        assert_eq!(Summary::of(&[1.0, f64::NAN]), None);
        assert_eq!(Summary::of(&[1.0, f64::INFINITY]), None);
    }

    #[test]
    fn one_value_has_no_standard_deviation() {
        assert_eq!(Summary::of(&[7.0]).unwrap().sd, None);
        let four = Summary::of(&[2.0, 4.0, 4.0, 6.0]).unwrap();
        assert!((four.sd.unwrap() - (8.0_f64 / 3.0).sqrt()).abs() < 1e-12);
    }

    /// Publisher CPU, subscriber CPU and drain, in seconds.
    type Run = (f64, f64, f64);

    /// The fifteen published runs: five scenarios of three rounds.
    const RUNS: [(&str, [Run; 3]); 5] = [
        ("Baseline", [(4.75, 0.0, 0.024), (4.71, 0.0, 0.048), (4.35, 0.0, 0.028)]),
        ("Decode only", [(7.97, 0.0, 3.972), (7.92, 0.0, 4.484), (7.72, 0.0, 4.354)]),
        ("Logical text", [(7.47, 3.01, 2.491), (7.69, 2.93, 3.454), (7.71, 2.94, 2.477)]),
        ("Logical binary", [(7.89, 2.64, 2.025), (7.23, 2.54, 2.123), (7.74, 2.76, 3.004)]),
        ("Text + four indexes", [(6.65, 4.66, 3.053), (6.09, 4.62, 3.604), (5.47, 4.84, 3.624)]),
    ];

    #[test]
    fn the_published_runs_give_the_published_medians_table() {
        let median = |values: [f64; 3]| Summary::of(&values).unwrap().median;
        let baseline = median(RUNS[0].1.map(|(publisher, subscriber, _)| publisher + subscriber));
        let table: Vec<String> = RUNS
            .iter()
            .map(|(scenario, rounds)| {
                let publisher = median(rounds.map(|run| run.0));
                let subscriber = median(rounds.map(|run| run.1));
                // The median of the sums of each round, which need not be the sum of the medians.
                let total = median(rounds.map(|run| run.0 + run.1));
                let drain = median(rounds.map(|run| run.2));
                let relative = total / baseline;
                format!("{scenario} | {publisher:.2} | {subscriber:.2} | {total:.2} | {relative:.2}x | {drain:.2}")
            })
            .collect();
        assert_eq!(
            table,
            [
                "Baseline | 4.71 | 0.00 | 4.71 | 1.00x | 0.03",
                "Decode only | 7.92 | 0.00 | 7.92 | 1.68x | 4.35",
                "Logical text | 7.69 | 2.94 | 10.62 | 2.25x | 2.49",
                "Logical binary | 7.74 | 2.64 | 10.50 | 2.23x | 2.12",
                "Text + four indexes | 6.09 | 4.66 | 10.71 | 2.27x | 3.60",
            ]
        );
    }

    proptest! {
        #[test]
        fn the_order_of_the_values_does_not_matter(
            (values, shuffled) in prop::collection::vec(-1e9..1e9_f64, 1..20)
                .prop_flat_map(|values| (Just(values.clone()), Just(values).prop_shuffle()))
        ) {
            prop_assert_eq!(Summary::of(&values), Summary::of(&shuffled));
        }

        #[test]
        fn median_and_mean_lie_inside_the_range(values in prop::collection::vec(-1e300..1e300_f64, 1..20)) {
            let summary = Summary::of(&values).unwrap();
            prop_assert!(summary.min <= summary.median && summary.median <= summary.max);
            prop_assert!(summary.min <= summary.mean && summary.mean <= summary.max);
        }
    }
}
