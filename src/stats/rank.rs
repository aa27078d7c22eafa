//! Exact rank tests: signs and signed ranks of pairs, Mann–Whitney of two samples.
//!
//! They stand beside an interval and never decide alone: with three runs against three the
//! smallest possible p is 0.1. Each result carries that smallest p, so that the report can say so.
use super::distribution::normal_cdf;
use serde::Serialize;

/// How a p value was worked out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RankMethod {
    /// By counting every arrangement of the ranks, ties as mid-ranks.
    Exact,
    /// By the normal approximation with ties and continuity corrected.
    Normal,
}

/// A two-sided rank test.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct RankTest {
    /// U of the first sample, the sum of the positive ranks, or the number of positive pairs.
    pub statistic: f64,
    /// The share of arrangements at least as far from the middle as this one.
    pub p: f64,
    /// The smallest p that so many values (with these ties) can give.
    pub least_p: f64,
    /// Whether p was counted or approximated.
    pub method: RankMethod,
}

/// Up to this product of the sizes Mann–Whitney is counted exactly.
const EXACT_PRODUCT: usize = 400;
/// Up to this many pairs signed ranks are counted exactly: 2^50 arrangements are exact in an f64.
const EXACT_PAIRS: usize = 50;

/// Mann–Whitney's U test of two unpaired samples; `None` if one is empty or holds a NaN.
pub fn mann_whitney(first: &[f64], second: &[f64]) -> Option<RankTest> {
    let (n, m) = (first.len(), second.len());
    if n == 0 || m == 0 || first.iter().chain(second).any(|value| value.is_nan()) {
        return None;
    }
    let pooled: Vec<f64> = first.iter().chain(second).copied().collect();
    let ranks = doubled_ranks(&pooled);
    let rank_sum: usize = ranks[..n].iter().sum();
    let statistic = rank_sum as f64 / 2.0 - (n * (n + 1)) as f64 / 2.0;
    if n * m <= EXACT_PRODUCT {
        // The smaller sample is counted; its distance from the middle is the other's.
        let (size, sum) = if n <= m { (n, rank_sum) } else { (m, ranks[n..].iter().sum()) };
        let (p, least_p) = two_sided(&counts_of_sums(&ranks, Some(size)), sum);
        return Some(RankTest { statistic, p, least_p, method: RankMethod::Exact });
    }
    let total = (n + m) as f64;
    let product = (n * m) as f64;
    let variance = product / 12.0 * (total + 1.0 - tie_term(&ranks) / (total * (total - 1.0)));
    let at = |distance: f64| two_sided_normal(distance, variance);
    Some(RankTest {
        statistic,
        p: at((statistic - product / 2.0).abs()),
        least_p: at(product / 2.0),
        method: RankMethod::Normal,
    })
}

/// Wilcoxon's signed-rank test of differences within pairs; zeros are dropped, `None` if nothing is left or one is NaN.
pub fn wilcoxon_signed_rank(differences: &[f64]) -> Option<RankTest> {
    let kept = without_zeros(differences)?;
    let magnitudes: Vec<f64> = kept.iter().map(|difference| difference.abs()).collect();
    let ranks = doubled_ranks(&magnitudes);
    let positive: usize =
        ranks.iter().zip(&kept).filter(|(_, difference)| **difference > 0.0).map(|(rank, _)| rank).sum();
    let statistic = positive as f64 / 2.0;
    if kept.len() <= EXACT_PAIRS {
        let (p, least_p) = two_sided(&counts_of_sums(&ranks, None), positive);
        return Some(RankTest { statistic, p, least_p, method: RankMethod::Exact });
    }
    let n = kept.len() as f64;
    let middle = n * (n + 1.0) / 4.0;
    let variance = n * (n + 1.0) * (2.0 * n + 1.0) / 24.0 - tie_term(&ranks) / 48.0;
    Some(RankTest {
        statistic,
        p: two_sided_normal((statistic - middle).abs(), variance),
        least_p: two_sided_normal(middle, variance),
        method: RankMethod::Normal,
    })
}

/// The sign test of differences within pairs: only which side of zero each is on; zeros are dropped.
pub fn sign_test(differences: &[f64]) -> Option<RankTest> {
    let kept = without_zeros(differences)?;
    let n = kept.len();
    let positive = kept.iter().filter(|difference| **difference > 0.0).count();
    let fewer = positive.min(n - positive);
    // The binomial's terms as shares: they neither overflow nor need a factorial.
    let half_to_n = 0.5_f64.powi(i32::try_from(n).unwrap_or(i32::MAX));
    let mut term = half_to_n;
    let mut lower = term;
    for k in 1..=fewer {
        term *= (n - k + 1) as f64 / k as f64;
        lower += term;
    }
    Some(RankTest {
        statistic: positive as f64,
        p: (2.0 * lower).min(1.0),
        least_p: (2.0 * half_to_n).min(1.0),
        method: RankMethod::Exact,
    })
}

fn without_zeros(differences: &[f64]) -> Option<Vec<f64>> {
    let kept: Vec<f64> = differences.iter().copied().filter(|d| *d != 0.0).collect();
    (!kept.is_empty() && kept.iter().all(|d| !d.is_nan())).then_some(kept)
}

/// Twice the mid-rank of each value: whole numbers, so that sums of them can be counted.
fn doubled_ranks(values: &[f64]) -> Vec<usize> {
    values
        .iter()
        .map(|value| {
            let below = values.iter().filter(|other| *other < value).count();
            let up_to = values.iter().filter(|other| *other <= value).count();
            below + up_to + 1
        })
        .collect()
}

/// The sum of t³ − t over groups of t tied values.
fn tie_term(doubled_ranks: &[usize]) -> f64 {
    doubled_ranks
        .iter()
        .map(|rank| {
            let tied = doubled_ranks.iter().filter(|other| *other == rank).count() as f64;
            // Each member of the group adds its share.
            tied * tied - 1.0
        })
        .sum()
}

/// How many subsets of the ranks (of one size, or of any) have each sum.
///
/// Counts stay exact: C(40, 20) and 2^50 are below 2^53.
fn counts_of_sums(ranks: &[usize], size: Option<usize>) -> Vec<f64> {
    let most: usize = ranks.iter().sum();
    let sizes = size.unwrap_or(0);
    let mut counts = vec![vec![0.0; most + 1]; sizes + 1];
    counts[0][0] = 1.0;
    for &rank in ranks {
        if size.is_some() {
            for chosen in (0..sizes).rev() {
                for sum in (rank..=most).rev() {
                    counts[chosen + 1][sum] += counts[chosen][sum - rank];
                }
            }
        } else {
            for sum in (rank..=most).rev() {
                counts[0][sum] += counts[0][sum - rank];
            }
        }
    }
    counts.pop().unwrap_or_default()
}

/// The share of arrangements at least as far from the mean as `observed`, and the smallest such share there is.
fn two_sided(counts: &[f64], observed: usize) -> (f64, f64) {
    let all: f64 = counts.iter().sum();
    let first_moment: f64 = counts.iter().enumerate().map(|(sum, count)| sum as f64 * count).sum();
    let mean = first_moment / all;
    let distance = |sum: usize| (sum as f64 - mean).abs();
    // A rank sum moves in whole steps, so a small allowance only undoes rounding of the mean.
    let at_least = |bound: f64| {
        let far: f64 =
            counts.iter().enumerate().filter(|(sum, _)| distance(*sum) >= bound - 1e-6).map(|(_, count)| count).sum();
        far / all
    };
    let farthest =
        counts.iter().enumerate().filter(|(_, count)| **count > 0.0).map(|(sum, _)| distance(sum)).fold(0.0, f64::max);
    (at_least(distance(observed)), at_least(farthest))
}

fn two_sided_normal(distance: f64, variance: f64) -> f64 {
    if variance <= 0.0 {
        return 1.0;
    }
    (2.0 * normal_cdf(-(distance - 0.5).max(0.0) / variance.sqrt())).min(1.0)
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]
    use super::*;
    use proptest::prelude::*;

    fn near(ours: f64, expected: f64) -> bool {
        (ours - expected).abs() < 1e-12
    }

    #[test]
    fn mann_whitney_agrees_with_known_and_enumerated_cases() {
        // scipy.stats.mannwhitneyu(x, y, method='exact'); with ties by enumerating itertools.combinations.
        for (first, second, u, p) in [
            (vec![1., 2., 3., 4., 5.], vec![6., 7., 8., 9., 10.], 0.0, 2.0 / 252.0),
            (vec![6., 7., 8., 9., 10.], vec![1., 2., 3., 4., 5.], 25.0, 2.0 / 252.0),
            (vec![1., 4., 5., 7., 9., 12.], vec![2., 6., 8., 10., 11., 13.], 12.0, 0.393_939_393_939_393_9),
            (vec![1., 2., 3.], vec![4., 5., 6.], 0.0, 0.1),
            (vec![3., 1.5, 9., 20.], vec![2., 4., 6., 8., 10., 12., 14.], 12.0, 0.787_878_787_878_787_8),
            (vec![1., 1., 2., 3.], vec![2., 3., 3., 4., 5.], 2.5, 10.0 / 126.0),
            (vec![1., 2., 2.], vec![2., 3., 3.], 1.0, 6.0 / 20.0),
            (vec![1., 1.], vec![1., 1.], 2.0, 1.0),
        ] {
            let test = mann_whitney(&first, &second).unwrap();
            assert_eq!(test.method, RankMethod::Exact);
            assert!(near(test.statistic, u) && near(test.p, p), "{first:?} {second:?}: {test:?}");
        }
    }

    #[test]
    fn large_samples_take_the_normal_approximation() {
        // scipy.stats.mannwhitneyu(x, y, method='asymptotic', use_continuity=True), 25 against 25.
        let first: Vec<f64> = (0..25).map(|i| f64::from(i) + 0.3).collect();
        let second: Vec<f64> = (0..25).map(|i| f64::from(i) * 1.1 + 2.0).collect();
        let test = mann_whitney(&first, &second).unwrap();
        assert_eq!((test.method, test.statistic), (RankMethod::Normal, 247.5));
        assert!(near(test.p, 0.210_747_055_095_303_12), "{test:?}");
    }

    #[test]
    fn signed_ranks_agree_with_known_and_enumerated_cases() {
        // scipy.stats.wilcoxon(d, method='exact'); with ties and zeros by enumerating all signs.
        for (differences, p) in [
            (vec![1., 2., 3.], 0.25),
            (vec![1., -2., 3., 4., 5.], 0.1875),
            (vec![1., 2., 3., 4., 5., 6.], 0.03125),
            (vec![1.5, 2.5, -0.5, 3.5, 4.5, 5.5, -6.5, 7.5], 0.195_312_5),
            (vec![1., 1., 2., -2., 3.], 12.0 / 32.0),
            (vec![0., 1., 1., 1., -1., 2.], 10.0 / 32.0),
        ] {
            let test = wilcoxon_signed_rank(&differences).unwrap();
            assert!(near(test.p, p), "{differences:?}: {test:?}");
        }
    }

    #[test]
    fn the_sign_test_is_the_binomial() {
        for (differences, p) in [
            (vec![1., 1., 1.], 0.25),
            (vec![1., 1., 1., 1., -1.], 0.375),
            (vec![1., -1.], 1.0),
            (vec![0., 1., 1., 1., 1., 1., 1.], 0.03125),
        ] {
            assert!(near(sign_test(&differences).unwrap().p, p), "{differences:?}");
        }
    }

    #[test]
    fn the_smallest_possible_p_is_told() {
        let three = mann_whitney(&[1., 5., 3.], &[2., 4., 6.]).unwrap();
        assert!(near(three.least_p, 0.1));
        assert!(near(wilcoxon_signed_rank(&[1., -2., 3.]).unwrap().least_p, 0.25));
        assert!(near(sign_test(&[1., -2., 3.]).unwrap().least_p, 0.25));
    }

    #[test]
    fn nothing_to_rank_is_no_test() {
        assert_eq!(mann_whitney(&[], &[1.0]), None);
        assert_eq!(mann_whitney(&[f64::NAN], &[1.0]), None);
        assert_eq!(wilcoxon_signed_rank(&[0.0, 0.0]), None);
        assert_eq!(sign_test(&[f64::NAN]), None);
    }

    /// p by listing every choice of `first.len()` of the pooled values.
    fn enumerated(first: &[f64], second: &[f64]) -> f64 {
        let pooled: Vec<f64> = first.iter().chain(second).copied().collect();
        let ranks = doubled_ranks(&pooled);
        let total = ranks.len();
        let middle = (first.len() * (total + 1)) as f64;
        let distance = |sum: usize| (sum as f64 - middle).abs();
        let observed = distance(ranks[..first.len()].iter().sum());
        let (mut all, mut far) = (0.0, 0.0);
        for subset in 0_u32..1 << total {
            if subset.count_ones() as usize == first.len() {
                let sum = (0..total).filter(|i| subset >> i & 1 == 1).map(|i| ranks[i]).sum();
                all += 1.0;
                far += f64::from(u8::from(distance(sum) >= observed));
            }
        }
        far / all
    }

    proptest! {
        #[test]
        fn counting_agrees_with_enumerating(
            first in prop::collection::vec((0_u8..6).prop_map(f64::from), 1..6),
            second in prop::collection::vec((0_u8..6).prop_map(f64::from), 1..6),
        ) {
            let test = mann_whitney(&first, &second).unwrap();
            prop_assert!((test.p - enumerated(&first, &second)).abs() < 1e-12);
            let swapped = mann_whitney(&second, &first).unwrap();
            prop_assert!((test.p - swapped.p).abs() < 1e-12);
            prop_assert!(test.least_p <= test.p);
        }
    }
}
