//! Welch's t on logarithms: the ratio of two runs whose rounds are not pairs and whose spreads need not be alike
//! (Welch, Biometrika 34, 1947; degrees of freedom by Satterthwaite).
use super::distribution::{student_t_cdf, student_t_quantile};
use super::interval::{Interval, NoEstimate};
use super::sample::mean_and_sd;

/// The difference of two means of logarithms with its standard error.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Welch {
    /// Logarithm of the ratio of the geometric means, new to old.
    pub log_ratio: f64,
    /// Its standard error with the degrees of freedom; `None` if a side has fewer than two values.
    pub error: Option<(f64, f64)>,
}

impl Welch {
    /// Of new to old; all values must be above zero.
    pub fn of(old: &[f64], new: &[f64]) -> Result<Self, NoEstimate> {
        let logs = |values: &[f64]| -> Result<Vec<f64>, NoEstimate> {
            let mut sorted = values.to_vec();
            sorted.sort_by(f64::total_cmp);
            sorted
                .iter()
                .enumerate()
                .map(|(position, value)| match value {
                    value if !value.is_finite() => Err(NoEstimate::NotFinite { position }),
                    value if *value <= 0.0 => Err(NoEstimate::NotPositive { position }),
                    value => Ok(value.ln()),
                })
                .collect()
        };
        let (old, new) = (logs(old)?, logs(new)?);
        if old.is_empty() || new.is_empty() {
            return Err(NoEstimate::NoValue);
        }
        let ((old_mean, old_sd), (new_mean, new_sd)) = (mean_and_sd(&old), mean_and_sd(&new));
        let error = old_sd.zip(new_sd).map(|(old_sd, new_sd)| {
            let (n_old, n_new) = (old.len() as f64, new.len() as f64);
            let (a, b) = (old_sd * old_sd / n_old, new_sd * new_sd / n_new);
            let df = (a + b).powi(2) / (a * a / (n_old - 1.0) + b * b / (n_new - 1.0));
            // Values without any spread have no degrees of freedom of their own.
            ((a + b).sqrt(), if df.is_finite() { df } else { n_old + n_new - 2.0 })
        });
        Ok(Self { log_ratio: new_mean - old_mean, error })
    }

    /// The ratio of the geometric means.
    pub fn ratio(&self) -> f64 {
        self.log_ratio.exp()
    }

    /// The interval of the ratio.
    pub fn interval(&self, confidence: f64) -> Option<Interval> {
        let (error, df) = self.error?;
        let half = student_t_quantile(0.5 + confidence / 2.0, df) * error;
        Some(Interval { low: (self.log_ratio - half).exp(), high: (self.log_ratio + half).exp(), confidence })
    }

    /// The two-sided p of "no difference".
    pub fn p_no_difference(&self) -> Option<f64> {
        let (error, df) = self.error?;
        Some(2.0 * upper_tail(self.log_ratio.abs(), error, df))
    }

    /// The p of "a difference beyond the margin" (a share, above and below): the larger of two one-sided tests.
    pub fn p_beyond(&self, margin: f64) -> Option<f64> {
        let (error, df) = self.error?;
        let (low, high) = ((-margin).ln_1p(), margin.ln_1p());
        Some(upper_tail(high - self.log_ratio, error, df).max(upper_tail(self.log_ratio - low, error, df)))
    }
}

/// The probability of a t as large as `distance / error`.
fn upper_tail(distance: f64, error: f64, df: f64) -> f64 {
    if error > 0.0 {
        // By symmetry, and without the cancellation of 1 - p.
        student_t_cdf(-distance / error, df)
    } else if distance > 0.0 {
        0.0
    } else {
        0.5
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn ratio_interval_and_p_are_those_of_scipy() {
        // scipy.stats.ttest_ind(log(new), log(old), equal_var=False): exp of difference and confidence_interval(0.95), pvalue.
        let near = |ours: f64, scipy: f64| assert!((ours / scipy - 1.0).abs() < 1e-7, "{ours} {scipy}");
        let own = Welch::of(&[4.75, 4.71, 4.35], &[7.97, 7.92, 7.72, 7.5]).unwrap();
        let interval = own.interval(0.95).unwrap();
        near(own.ratio(), 1.690_366_687_768);
        near(interval.low, 1.529_684_793_649);
        near(interval.high, 1.867_927_007_563);
        near(own.p_no_difference().unwrap(), 0.000_479_263_200_38);
        near(own.error.unwrap().1, 2.978_282_170_268);
        let own = Welch::of(&[100.0, 101.0, 99.0, 100.5], &[100.2, 100.9, 99.5]).unwrap();
        let interval = own.interval(0.95).unwrap();
        near(interval.low, 0.985_665_178_220);
        near(interval.high, 1.016_086_270_820);
        near(own.p_no_difference().unwrap(), 0.902_231_791_481);
        // The larger p of the one-sided tests against log(1.02) and -log(1.02).
        near(own.p_beyond(0.02).unwrap(), 0.011_807_933_599);
    }

    #[test]
    fn what_has_no_estimate_says_why() {
        assert_eq!(Welch::of(&[], &[1.0]), Err(NoEstimate::NoValue));
        assert_eq!(Welch::of(&[0.0], &[1.0]), Err(NoEstimate::NotPositive { position: 0 }));
        assert_eq!(Welch::of(&[f64::NAN], &[1.0]), Err(NoEstimate::NotFinite { position: 0 }));
        let one = Welch::of(&[2.0], &[1.0, 1.1]).unwrap();
        assert_eq!((one.interval(0.95), one.p_no_difference(), one.p_beyond(0.1)), (None, None, None));
        let even = Welch::of(&[2.0, 2.0], &[2.0, 2.0]).unwrap();
        assert_eq!((even.p_no_difference(), even.p_beyond(0.1)), (Some(1.0), Some(0.0)));
    }

    proptest! {
        #[test]
        fn swapped_sides_give_the_reciprocal_and_p_agrees_with_the_interval(
            old in prop::collection::vec(0.5..2.0_f64, 2..8), new in prop::collection::vec(0.5..2.0_f64, 2..8)
        ) {
            let (there, back) = (Welch::of(&old, &new).unwrap(), Welch::of(&new, &old).unwrap());
            let (a, b) = (there.interval(0.95).unwrap(), back.interval(0.95).unwrap());
            prop_assert!((there.ratio() * back.ratio() - 1.0).abs() < 1e-9);
            prop_assert!((a.low * b.high - 1.0).abs() < 1e-9);
            let p = there.p_no_difference().unwrap();
            prop_assume!((p - 0.05).abs() > 1e-6);
            prop_assert_eq!(p > 0.05, a.contains(1.0));
        }
    }
}
