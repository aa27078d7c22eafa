//! When enough pairs are there: by the width of the interval, never by its sign. A run that stops once it likes what it
//! sees is wrong far more often than it says.
use super::distribution::{normal_quantile, student_t_quantile};
use super::paired::sd;
use serde::Serialize;

/// The rule.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct StopRule {
    /// The fewest pairs: fewer do not show how much pairs differ, and an interval of few is narrow by chance.
    pub least: u32,
    /// The most.
    pub most: u32,
    /// Half width of the ratio's interval to be reached, as a share such as 0.01.
    pub half_width: f64,
    /// Confidence of that interval.
    pub confidence: f64,
}

/// What the rule says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Next {
    /// Another pair.
    More,
    /// The interval is narrow enough.
    Narrow,
    /// The most pairs are there.
    Most,
}

impl StopRule {
    /// What follows, given the logarithms of the pairs' ratios so far.
    pub fn next(&self, log_ratios: &[f64]) -> Next {
        let n = u32::try_from(log_ratios.len()).unwrap_or(u32::MAX);
        if n >= self.least && self.is_narrow(log_ratios) {
            Next::Narrow
        } else if n >= self.most {
            Next::Most
        } else {
            Next::More
        }
    }

    /// By what the standard error of `n` pairs is multiplied for the interval and the test that are told in the end:
    /// 1 + 0.75/n. A run that ends on a narrow interval ends a little too often on pairs that happen to agree; and pairs of
    /// real servers are no normal sample: of recorded ones of one build, dealt anew, 5.9 % (three cells of 8 pairs, 6,000
    /// comparisons) and 6.0 % (16 pairs, 2,000) were called different at 5 % without it.
    ///
    /// Simulated (40,000 runs each, at least 8 and at most 30 pairs, ± 1 %, pairs that differ by 1.2 to 3 %): without it
    /// 5.3 to 6.6 % of the intervals that say 95 % miss the truth, with it 3.8 to 5.7 %; at the level of one of six cells,
    /// 0.83 %, 0.8 to 1.3 % without and 0.5 to 1.1 % with it.
    pub fn widening(n: usize) -> f64 {
        if n > 0 { 1.0 + 0.75 / n as f64 } else { 1.0 }
    }

    /// Whether the interval, as it will be told, is as narrow as it shall be; never of fewer than two pairs.
    fn is_narrow(&self, log_ratios: &[f64]) -> bool {
        let Some(sd) = sd(log_ratios) else { return false };
        let n = log_ratios.len() as f64;
        let error = sd / n.sqrt() * Self::widening(log_ratios.len());
        let upper = 0.5 + self.confidence / 2.0;
        // The normal's quantile is below any of t's, and quicker.
        let half_width = self.half_width.ln_1p();
        normal_quantile(upper) * error <= half_width && student_t_quantile(upper, n - 1.0) * error <= half_width
    }

    /// How many pairs will be needed if they differ by `sd_log`, the most if more would be.
    pub fn pairs_needed(&self, sd_log: f64) -> u32 {
        let enough = |n: &u32| {
            let n = f64::from(*n);
            let error = sd_log / n.sqrt() * Self::widening(n as usize);
            student_t_quantile(0.5 + self.confidence / 2.0, n - 1.0) * error <= self.half_width.ln_1p()
        };
        (self.least.max(2)..self.most).find(enough).unwrap_or(self.most)
    }
}

/// The smallest change, as a share, that `n` pairs differing by `sd_log` would have told from none at two-sided `level`
/// with a probability of 80 %: (t of the level + t of the power) standard errors, the usual approximation of the
/// noncentral t (Cohen, "Statistical Power Analysis", 1988, 2.4). `None` of fewer than two pairs.
pub fn smallest_difference(sd_log: f64, n: usize, level: f64) -> Option<f64> {
    const POWER: f64 = 0.8;
    if n < 2 {
        return None;
    }
    let df = n as f64 - 1.0;
    let reach = student_t_quantile(1.0 - level / 2.0, df) + student_t_quantile(POWER, df);
    Some((reach * sd_log / (n as f64).sqrt()).exp_m1())
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]
    use super::super::paired::{Side, Slice, pair_effect, paired_estimate};
    use super::super::random::SplitMix64;
    use super::*;

    const RULE: StopRule = StopRule { least: 8, most: 30, half_width: 0.01, confidence: 0.95 };

    #[test]
    fn the_width_decides_and_neither_sign_nor_size_do() {
        let narrow = [0.101, 0.099, 0.1, 0.102, 0.098, 0.1, 0.101, 0.099];
        assert_eq!(RULE.next(&narrow), Next::Narrow);
        assert_eq!(RULE.next(&narrow[..7]), Next::More);
        let negative: Vec<f64> = narrow.iter().map(|own| -own).collect();
        assert_eq!(RULE.next(&negative), Next::Narrow);
        let wide: Vec<f64> = (0..30).map(|n| if n % 2 == 0 { 0.3 } else { 0.1 }).collect();
        assert_eq!(RULE.next(&wide[..29]), Next::More);
        assert_eq!(RULE.next(&wide), Next::Most);
    }

    #[test]
    fn the_forecast_is_the_rules_own_width() {
        // (1 + 0.75/17) * t(0.975, 16) * 0.018 / sqrt(17) = 0.00966 <= ln(1.01) = 0.00995, and with 16 it is 0.01004.
        assert_eq!(RULE.pairs_needed(0.018), 17);
        assert_eq!((RULE.pairs_needed(0.0), RULE.pairs_needed(1.0)), (8, 30));
    }

    #[test]
    fn the_smallest_difference_has_about_its_power() {
        let (sd, n) = (0.02, 10);
        let smallest = smallest_difference(sd, n, 0.05).unwrap();
        let mut random = SplitMix64::seeded(3);
        let found = (0..2000)
            .filter(|_| {
                let logs: Vec<f64> = (0..n).map(|_| smallest.ln_1p() + sd * normal(&mut random)).collect();
                paired_estimate(&logs, 0.95, 1.0).unwrap().p_value.unwrap() < 0.05
            })
            .count();
        let power = found as f64 / 2000.0;
        assert!((0.78..0.86).contains(&power), "{power}");
        assert_eq!(smallest_difference(sd, 1, 0.05), None);
    }

    fn normal(random: &mut SplitMix64) -> f64 {
        // Box and Muller.
        let (u, v) = (1.0 - random.unit(), random.unit());
        (-2.0 * u.ln()).sqrt() * (std::f64::consts::TAU * v).cos()
    }

    /// Pairs as they are: each with its own luck of `pair_sd`, slices with noise of `slice_sd` that is correlated in time.
    fn simulated(random: &mut SplitMix64, pair_sd: f64, slice_sd: f64, correlation: f64) -> Vec<Slice> {
        use Side::{Of, To};
        let luck = pair_sd * normal(random);
        let mut noise = slice_sd * normal(random);
        [To, Of, Of, To, To, Of, Of, To]
            .iter()
            .map(|side| {
                noise = correlation * noise + (1.0 - correlation * correlation).sqrt() * slice_sd * normal(random);
                let own = if *side == Of { luck } else { 0.0 };
                Slice { side: *side, value: (own + noise).exp() * 1000.0 }
            })
            .collect()
    }

    /// The share of runs of equal builds whose interval holds 1, and the pairs that they took.
    fn coverage(trials: usize, rule: StopRule, pair_sd: f64, correlation: f64) -> (f64, f64) {
        let mut random = SplitMix64::seeded(7);
        let (mut held, mut pairs) = (0, 0);
        for _ in 0..trials {
            let mut logs = Vec::new();
            while rule.next(&logs) == Next::More {
                logs.push(pair_effect(&simulated(&mut random, pair_sd, 0.03, correlation)).unwrap().log_ratio);
            }
            let widening = StopRule::widening(logs.len());
            let interval = paired_estimate(&logs, rule.confidence, widening).unwrap().interval.unwrap();
            held += usize::from(interval.contains(1.0));
            pairs += logs.len();
        }
        (held as f64 / trials as f64, pairs as f64 / trials as f64)
    }

    #[test]
    fn intervals_cover_what_they_say_under_the_stopping_rule() {
        for (rule, pair_sd, correlation) in [
            (RULE, 0.01, 0.5),
            (RULE, 0.01, 0.0),
            (RULE, 0.02, 0.5),
            (StopRule { half_width: 0.02, ..RULE }, 0.01, 0.5),
            (StopRule { half_width: 0.03, ..RULE }, 0.02, 0.5),
        ] {
            let (covered, pairs) = coverage(2000, rule, pair_sd, correlation);
            assert!((0.93..=0.97).contains(&covered), "{covered} with {pairs} pairs: {rule:?} {pair_sd} {correlation}");
        }
    }

    #[test]
    fn an_analysis_by_slices_would_not_cover_and_the_simulation_tells() {
        let mut random = SplitMix64::seeded(7);
        let trials = 500;
        let wrong = (0..trials)
            .filter(|_| {
                // Forty slices a side on one pair, as if each pair of them were a pair of servers.
                let luck = 0.01 * normal(&mut random);
                let mut logs = Vec::new();
                for _ in 0..20 {
                    let effect = pair_effect(&simulated(&mut random, 0.0, 0.03, 0.5)).unwrap();
                    logs.push(effect.log_ratio + luck);
                }
                !paired_estimate(&logs, 0.95, 1.0).unwrap().interval.unwrap().contains(1.0)
            })
            .count();
        assert!(wrong > trials / 5, "{wrong} of {trials}");
    }
}
