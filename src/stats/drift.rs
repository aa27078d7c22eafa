//! Whether a figure drifted over a run: the straight line through its logarithms by round.
use super::distribution::student_t_quantile;
use super::interval::Interval;
use serde::Serialize;

/// The change of a figure from the first round to the last, as a ratio, by the line of least squares through its
/// logarithms.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Drift {
    /// The last round over the first.
    pub ratio: f64,
    /// Its Student's t interval.
    pub interval: Interval,
}

/// The drift of `values`, each with the number of its round. `None` of fewer than four rounds, for which no drift can be
/// told from chance, and where a value has no logarithm.
pub fn drift(values: &[(u32, f64)], confidence: f64) -> Option<Drift> {
    if values.len() < 4 || values.iter().any(|(_, value)| !(value.is_finite() && *value > 0.0)) {
        return None;
    }
    let n = values.len() as f64;
    let points: Vec<(f64, f64)> = values.iter().map(|(round, value)| (f64::from(*round), value.ln())).collect();
    let mean = |of: fn(&(f64, f64)) -> f64| points.iter().map(of).sum::<f64>() / n;
    let (mean_x, mean_y) = (mean(|point| point.0), mean(|point| point.1));
    let spread: f64 = points.iter().map(|(x, _)| (x - mean_x).powi(2)).sum();
    if spread <= 0.0 {
        return None;
    }
    let slope = points.iter().map(|(x, y)| (x - mean_x) * (y - mean_y)).sum::<f64>() / spread;
    let rest: f64 = points.iter().map(|(x, y)| (y - mean_y - slope * (x - mean_x)).powi(2)).sum();
    let error = (rest / (n - 2.0) / spread).sqrt();
    let reach = student_t_quantile(0.5 + confidence / 2.0, n - 2.0) * error;
    let rounds = points.iter().map(|point| point.0);
    let length = rounds.clone().fold(f64::MIN, f64::max) - rounds.fold(f64::MAX, f64::min);
    let over = |slope: f64| (slope * length).exp();
    let interval = Interval { low: over(slope - reach), high: over(slope + reach), confidence };
    Some(Drift { ratio: over(slope), interval })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_line_and_its_interval_are_those_of_scipy() {
        // x = [1, 2, 3, 4, 6]; y = numpy.log([100, 103, 101, 106, 109]); r = scipy.stats.linregress(x, y)
        // slope, stderr = r.slope, r.stderr; scipy.stats.t.ppf(0.975, 3) = 3.182446305284263
        let (slope, stderr) = (0.016_922_435_615_786_37, 0.004_213_854_098_197_389);
        let found = drift(&[(1, 100.0), (2, 103.0), (3, 101.0), (4, 106.0), (6, 109.0)], 0.95).expect("a line");
        assert!((found.ratio.ln() / 5.0 - slope).abs() < 1e-12, "{}", found.ratio.ln() / 5.0);
        let reach = (found.interval.high / found.ratio).ln() / 5.0 / 3.182_446_305_284_263;
        assert!((reach - stderr).abs() < 1e-12, "{reach}");
    }

    #[test]
    fn what_cannot_be_told_is_not_told() {
        assert_eq!(drift(&[(1, 1.0), (2, 2.0), (3, 3.0)], 0.95), None);
        assert_eq!(drift(&[(1, 1.0), (2, 2.0), (3, 3.0), (4, 0.0)], 0.95), None);
        assert_eq!(drift(&[(1, 1.0), (1, 2.0), (1, 3.0), (1, 4.0)], 0.95), None);
    }

    proptest! {
        #[test]
        fn a_scale_does_not_matter_and_a_constant_does_not_drift(
            values in prop::collection::vec(0.5..2.0_f64, 4..12), scale in 0.1..10.0_f64
        ) {
            let rounds = |scale: f64| -> Vec<(u32, f64)> {
                values.iter().enumerate().map(|(index, value)| (index as u32 + 1, value * scale)).collect()
            };
            let (one, other) = (drift(&rounds(1.0), 0.95), drift(&rounds(scale), 0.95));
            let (one, other) = (one.expect("enough"), other.expect("enough"));
            prop_assert!((one.ratio - other.ratio).abs() < 1e-9);
            let flat: Vec<(u32, f64)> = rounds(1.0).iter().map(|(round, _)| (*round, scale)).collect();
            prop_assert!((drift(&flat, 0.95).expect("enough").ratio - 1.0).abs() < 1e-12);
        }
    }
}
