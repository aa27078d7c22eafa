//! Bootstrap intervals of a mean or of a ratio, for twenty rounds and more.
//!
//! With fewer it is refused: at three rounds a paired bootstrap calls a quarter of equal things
//! different. It is seeded, so the same rounds give the same digits in every rendering.
use super::distribution::{normal_cdf, normal_quantile};
use super::interval::{Interval, NoEstimate, check_confidence, log_ratios};
use super::random::SplitMix64;
use super::sample::{mean_and_sd, sorted};

/// The fewest rounds a bootstrap is offered for.
pub const LEAST_FOR_BOOTSTRAP: usize = 20;

const RESAMPLES: usize = 10_000;

/// How the interval is read off the resampled means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BootstrapMethod {
    /// The percentiles of the resampled means themselves.
    Percentile,
    /// Bias-corrected and accelerated (Efron, JASA 1987): better where the values are skewed.
    Bca,
}

/// The interval of the mean of `values` from 10,000 resamples.
pub fn bootstrap_of_mean(
    values: &[f64],
    confidence: f64,
    method: BootstrapMethod,
    seed: u64,
) -> Result<Interval, NoEstimate> {
    check_confidence(confidence)?;
    if let Some(position) = values.iter().position(|value| !value.is_finite()) {
        return Err(NoEstimate::NotFinite { position });
    }
    let n = values.len();
    if n < LEAST_FOR_BOOTSTRAP {
        return Err(NoEstimate::TooFew { n, least: LEAST_FOR_BOOTSTRAP });
    }
    let sorted = sorted(values).unwrap_or_default();
    let (mean, _) = mean_and_sd(&sorted);
    let mut random = SplitMix64::seeded(seed);
    let mut means: Vec<f64> =
        (0..RESAMPLES).map(|_| (0..n).map(|_| sorted[random.below(n)]).sum::<f64>() / n as f64).collect();
    means.sort_by(f64::total_cmp);
    let tail = (1.0 - confidence) / 2.0;
    let (low, high) = match method {
        BootstrapMethod::Percentile => (tail, 1.0 - tail),
        BootstrapMethod::Bca => bca_levels(&sorted, mean, &means, tail),
    };
    Ok(Interval { low: percentile(&means, low), high: percentile(&means, high), confidence })
}

/// The interval of the geometric mean of the pairs' ratios, resampling whole pairs.
pub fn bootstrap_of_ratio(
    pairs: &[(f64, f64)],
    confidence: f64,
    method: BootstrapMethod,
    seed: u64,
) -> Result<Interval, NoEstimate> {
    let on_logs = bootstrap_of_mean(&log_ratios(pairs)?, confidence, method, seed)?;
    Ok(Interval { low: on_logs.low.exp(), high: on_logs.high.exp(), confidence })
}

/// The two levels at which BCa reads the resampled means instead of `tail` and 1 − `tail`.
fn bca_levels(sorted: &[f64], mean: f64, means: &[f64], tail: f64) -> (f64, f64) {
    let below = means.partition_point(|&resampled| resampled < mean);
    let ties = means[below..].partition_point(|&resampled| resampled <= mean);
    let share = (below as f64 + ties as f64 / 2.0) / means.len() as f64;
    // Of a mean the jackknife's deviations are the values' own, divided by n − 1: the factor
    // cancels in the acceleration.
    let cubes: f64 = sorted.iter().map(|value| (value - mean).powi(3)).sum();
    let squares: f64 = sorted.iter().map(|value| (value - mean).powi(2)).sum();
    if squares <= 0.0 || share <= 0.0 || share >= 1.0 {
        return (tail, 1.0 - tail);
    }
    let acceleration = cubes / (6.0 * squares.powf(1.5));
    let bias = normal_quantile(share);
    let level = |probability: f64| {
        let shifted = bias + normal_quantile(probability);
        normal_cdf(bias + shifted / (1.0 - acceleration * shifted))
    };
    (level(tail), level(1.0 - tail))
}

/// The value at `level` of sorted values, linear between neighbours.
fn percentile(sorted: &[f64], level: f64) -> f64 {
    let place = level.clamp(0.0, 1.0) * (sorted.len() - 1) as f64;
    let (below, above) = (place.floor() as usize, place.ceil() as usize);
    sorted[below] + (sorted[above] - sorted[below]) * place.fract()
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]
    use super::*;

    fn skewed() -> Vec<f64> {
        (0..30).map(|i| ((f64::from(i) * 1.7).sin() * 1.5).exp()).collect()
    }

    #[test]
    fn both_methods_agree_with_scipy_within_the_error_of_resampling() {
        // scipy.stats.bootstrap((skewed,), numpy.mean, n_resamples=200000), SciPy 1.17.1.
        for (method, low, high) in
            [(BootstrapMethod::Percentile, 1.119_05, 2.185_16), (BootstrapMethod::Bca, 1.150_82, 2.225_59)]
        {
            let interval = bootstrap_of_mean(&skewed(), 0.95, method, 1).unwrap();
            assert!((interval.low - low).abs() < 0.02, "{method:?}: {interval:?}");
            assert!((interval.high - high).abs() < 0.02, "{method:?}: {interval:?}");
        }
    }

    #[test]
    fn fewer_than_twenty_rounds_are_refused() {
        let refused = bootstrap_of_mean(&[1.0; 19], 0.95, BootstrapMethod::Bca, 1);
        assert_eq!(refused, Err(NoEstimate::TooFew { n: 19, least: 20 }));
        let refused = bootstrap_of_ratio(&[(1.0, 2.0); 3], 0.95, BootstrapMethod::Percentile, 1);
        assert_eq!(refused, Err(NoEstimate::TooFew { n: 3, least: 20 }));
    }

    #[test]
    fn a_seed_gives_the_same_digits_whatever_the_order_of_the_rounds() {
        let mut reversed = skewed();
        reversed.reverse();
        let once = bootstrap_of_mean(&skewed(), 0.95, BootstrapMethod::Bca, 5);
        assert_eq!(once, bootstrap_of_mean(&reversed, 0.95, BootstrapMethod::Bca, 5));
    }

    #[test]
    fn equal_rounds_have_an_interval_of_no_width() {
        let interval = bootstrap_of_ratio(&[(3.0, 3.0); 20], 0.95, BootstrapMethod::Bca, 1).unwrap();
        assert_eq!((interval.low, interval.high), (1.0, 1.0));
    }
}
