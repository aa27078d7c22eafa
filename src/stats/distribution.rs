//! The two distributions that intervals and tests need: Student's t (any real df ≥ 1) and the normal.
//!
//! Written here because all of it is a hundred lines and its digits are part of every report;
//! it holds no rule about what to do with a quantile.

/// P(T ≤ t) of Student's t with `df` degrees of freedom, any real number above zero.
pub fn student_t_cdf(t: f64, df: f64) -> f64 {
    let tail = student_t_tail(t.abs(), df);
    if t > 0.0 { 1.0 - tail } else { tail }
}

/// The t with P(T ≤ t) = `probability`, strictly between 0 and 1; NaN outside of it or for `df` not above zero.
///
/// Checked against `scipy.stats.t.ppf` to 1e-9 relative.
pub fn student_t_quantile(probability: f64, df: f64) -> f64 {
    if !(probability > 0.0 && probability < 1.0 && df > 0.0) {
        return f64::NAN;
    }
    let tail = probability.min(1.0 - probability);
    let magnitude = positive_root(tail, |t| student_t_tail(t, df));
    if probability < 0.5 { -magnitude } else { magnitude }
}

/// P(Z ≤ z) of the standard normal.
pub fn normal_cdf(z: f64) -> f64 {
    let tail = normal_tail(z.abs());
    if z > 0.0 { 1.0 - tail } else { tail }
}

/// The z with P(Z ≤ z) = `probability`, strictly between 0 and 1; NaN outside of it.
pub fn normal_quantile(probability: f64) -> f64 {
    if !(probability > 0.0 && probability < 1.0) {
        return f64::NAN;
    }
    let magnitude = positive_root(probability.min(1.0 - probability), normal_tail);
    if probability < 0.5 { -magnitude } else { magnitude }
}

/// The x ≥ 0 at which a tail that falls from 1/2 has come down to `tail`.
///
/// Bisection: it cannot fail to converge, and an interval is worked out once a cell, not in a loop.
fn positive_root(tail: f64, upper_tail: impl Fn(f64) -> f64) -> f64 {
    let (mut low, mut high) = (0.0, 1.0);
    while upper_tail(high) > tail && high < 1e300 {
        low = high;
        high *= 2.0;
    }
    loop {
        let middle = f64::midpoint(low, high);
        if middle <= low || middle >= high {
            return middle;
        }
        if upper_tail(middle) > tail {
            low = middle;
        } else {
            high = middle;
        }
    }
}

/// P(T > t) for t ≥ 0, by the regularized incomplete beta function.
fn student_t_tail(t: f64, df: f64) -> f64 {
    if t.is_infinite() {
        return 0.0;
    }
    // Both arguments are formed directly: 1 − x would lose the small one's digits. Dividing by
    // the larger keeps t² from overflowing.
    let ratio = t * (t / df);
    let (x, rest) = if ratio.is_finite() { (1.0 / (1.0 + ratio), ratio / (1.0 + ratio)) } else { (0.0, 1.0) };
    0.5 * regularized_beta(x, rest, df / 2.0, 0.5)
}

/// P(Z > z) for z ≥ 0: a series near the centre, a continued fraction in the tail.
fn normal_tail(z: f64) -> f64 {
    if z > 40.0 {
        return 0.0;
    }
    let density = (-0.5 * z * z).exp() / (2.0 * std::f64::consts::PI).sqrt();
    if z < 3.0 {
        let (mut term, mut sum, mut odd) = (z, z, 1.0);
        while term > sum * 1e-17 {
            odd += 2.0;
            term *= z * z / odd;
            sum += term;
        }
        0.5 - density * sum
    } else {
        let fraction = (1..=200).rev().fold(z, |inner, k| z + f64::from(k) / inner);
        density / fraction
    }
}

/// The regularized incomplete beta function I_x(a, b), with `rest` = 1 − x.
fn regularized_beta(x: f64, rest: f64, a: f64, b: f64) -> f64 {
    if x <= 0.0 {
        return 0.0;
    }
    if rest <= 0.0 {
        return 1.0;
    }
    let front = (ln_gamma(a + b) - ln_gamma(a) - ln_gamma(b) + a * x.ln() + b * rest.ln()).exp();
    // The continued fraction converges quickly on this side of the mean only.
    if x < (a + 1.0) / (a + b + 2.0) {
        front * beta_fraction(x, a, b) / a
    } else {
        1.0 - front * beta_fraction(rest, b, a) / b
    }
}

/// The continued fraction of the incomplete beta function by Lentz's method.
fn beta_fraction(x: f64, a: f64, b: f64) -> f64 {
    const TINY: f64 = 1e-300;
    let away_from_zero = |value: f64| if value.abs() < TINY { TINY } else { value };
    let mut numerator = 1.0;
    let mut inverse = 1.0 / away_from_zero(1.0 - (a + b) * x / (a + 1.0));
    let mut fraction = inverse;
    for m in 1..10_000 {
        let m = f64::from(m);
        let even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
        let odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
        let mut step = 1.0;
        for coefficient in [even, odd] {
            inverse = 1.0 / away_from_zero(1.0 + coefficient * inverse);
            numerator = away_from_zero(1.0 + coefficient / numerator);
            step = numerator * inverse;
            fraction *= step;
        }
        if (step - 1.0).abs() < 1e-16 {
            break;
        }
    }
    fraction
}

/// ln Γ(x) for x > 0: Lanczos' approximation with g = 7 and nine coefficients (Godfrey's).
fn ln_gamma(x: f64) -> f64 {
    const COEFFICIENTS: [f64; 8] = [
        676.520_368_121_885_1,
        -1_259.139_216_722_402_8,
        771.323_428_777_653_1,
        -176.615_029_162_140_6,
        12.507_343_278_686_905,
        -0.138_571_095_265_720_12,
        9.984_369_578_019_572e-6,
        1.505_632_735_149_311_6e-7,
    ];
    let series: f64 = (1_i32..).zip(COEFFICIENTS).map(|(i, coefficient)| coefficient / (x - 1.0 + f64::from(i))).sum();
    let base = x + 6.5;
    0.5 * (2.0 * std::f64::consts::PI).ln() + (x - 0.5) * base.ln() - base + (series + 0.999_999_999_999_809_9).ln()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn close(ours: f64, theirs: f64, relative: f64) -> bool {
        (ours - theirs).abs() <= relative * theirs.abs()
    }

    #[test]
    fn quantiles_of_t_agree_with_scipy() {
        // scipy.stats.t.ppf(0.5 + confidence / 2, df), SciPy 1.17.1, confidence 0.90, 0.95, 0.99.
        for (df, expected) in [
            (1.0, [6.313_751_514_675_037, 12.706_204_736_174_694, 63.656_741_162_871_526]),
            (1.5, [3.705_180_820_096_75, 6.016_663_104_427_929, 17.820_310_514_462_804]),
            (2.0, [2.919_985_580_353_724_2, 4.302_652_729_749_462, 9.924_843_200_918_287]),
            (3.0, [2.353_363_434_801_823_3, 3.182_446_305_283_707_8, 5.840_909_309_733_355]),
            (4.0, [2.131_846_786_326_649_5, 2.776_445_105_197_793_4, 4.604_094_871_349_992]),
            (4.7, [2.043_811_093_013_787, 2.620_726_075_353_17, 4.167_892_040_119_058_4]),
            (9.0, [1.833_112_932_656_237, 2.262_157_162_798_205, 3.249_835_541_592_126]),
            (19.0, [1.729_132_811_521_368_2, 2.093_024_054_408_308_7, 2.860_934_606_464_979_4]),
            (29.3, [1.698_553_381_128_027_8, 2.044_320_421_500_141, 2.754_420_171_610_263]),
            (100.0, [1.660_234_326_085_339_2, 1.983_971_518_523_551_8, 2.625_890_521_438_017_3]),
            (1e6, [1.644_855_150_722_040_6, 1.959_966_356_814_107, 2.575_834_220_105_334_4]),
        ] {
            for (confidence, expected) in [0.90, 0.95, 0.99].into_iter().zip(expected) {
                let ours = student_t_quantile(0.5 + confidence / 2.0, df);
                assert!(close(ours, expected, 1e-9), "df {df} {confidence}: {ours} {expected}");
            }
        }
    }

    #[test]
    fn distribution_functions_agree_with_scipy() {
        // scipy.stats.t.cdf(t, df), SciPy 1.17.1.
        for (t, df, expected) in [
            (0.5, 1.0, 0.647_583_617_650_433_3),
            (2.0, 3.0, 0.930_337_015_720_578_5),
            (-1.3, 7.5, 0.116_063_389_407_804_39),
            (4.0, 29.0, 0.999_799_968_027_173_7),
            (10.0, 2.0, 0.995_073_771_488_337_2),
        ] {
            assert!(close(student_t_cdf(t, df), expected, 1e-12), "t {t} df {df}");
        }
        // scipy.stats.norm.cdf(z).
        for (z, expected) in [
            (-8.0, 6.220_960_574_271_74e-16),
            (-3.0, 0.001_349_898_031_630_093_3),
            (-1.0, 0.158_655_253_931_457_07),
            (-0.5, 0.308_537_538_725_986_9),
            (0.0, 0.5),
            (2.5, 0.993_790_334_674_223_8),
            (5.0, 0.999_999_713_348_428_1),
        ] {
            assert!(close(normal_cdf(z), expected, 1e-12), "z {z}");
        }
        // scipy.stats.norm.ppf(p).
        for (p, expected) in [
            (0.975, 1.959_963_984_540_054),
            (0.995, 2.575_829_303_548_900_4),
            (0.1, -1.281_551_565_544_600_4),
            (1e-6, -4.753_424_308_822_899),
        ] {
            assert!(close(normal_quantile(p), expected, 1e-12), "p {p}");
        }
    }

    #[test]
    fn a_probability_outside_of_zero_to_one_has_no_quantile() {
        for p in [0.0, 1.0, -0.1, f64::NAN] {
            assert!(student_t_quantile(p, 3.0).is_nan() && normal_quantile(p).is_nan());
        }
    }

    proptest! {
        #[test]
        fn a_quantile_is_the_inverse_of_its_distribution(p in 0.0005..0.9995_f64, df in 1.0..500.0_f64) {
            prop_assert!((student_t_cdf(student_t_quantile(p, df), df) - p).abs() < 1e-9);
            prop_assert!((normal_cdf(normal_quantile(p)) - p).abs() < 1e-12);
        }
    }
}
