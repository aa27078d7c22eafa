//! How numbers are written in a chart: scaled by the largest, so that labels stay short.

use super::data::{Unit, ValueAxis};
use crate::report::format::thousands;

/// Names of bytes by powers of 1024.
const BYTES: [&str; 6] = ["bytes", "KiB", "MiB", "GiB", "TiB", "PiB"];

/// A unit, scaled so that the largest value of a chart has few digits.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Measure {
    /// What a value is multiplied by before it is written.
    factor: f64,
    /// What stands behind a number and in the title of the axis; empty for none.
    name: String,
}

impl Measure {
    /// For values up to that size.
    pub(super) fn of(unit: &Unit, largest: f64) -> Self {
        match unit {
            Unit::Fraction => Self { factor: 100.0, name: "%".to_owned() },
            Unit::Bytes => {
                let mut size = 1.0;
                let mut name = BYTES[0];
                for larger in &BYTES[1..] {
                    if largest < size * 1024.0 {
                        break;
                    }
                    size *= 1024.0;
                    name = larger;
                }
                Self { factor: 1.0 / size, name: name.to_owned() }
            }
            Unit::Plain(name) => {
                let exponent = if largest == 0.0 || (1e-3..1e7).contains(&largest) {
                    0
                } else {
                    (largest.log10() / 3.0).floor() as i32 * 3
                };
                let name = match (name.as_str(), exponent) {
                    (name, 0) => name.to_owned(),
                    ("s", -6) => "µs".to_owned(),
                    ("s", -9) | ("ms", -6) => "ns".to_owned(),
                    (name, _) if name.starts_with('/') || name.is_empty() => format!("{}{name}", power(exponent)),
                    (name, _) => format!("{} {name}", power(exponent)),
                };
                Self { factor: 10_f64.powi(-exponent), name }
            }
        }
    }

    /// The value as it is written and drawn.
    pub(super) fn scaled(&self, value: f64) -> f64 {
        value * self.factor
    }

    /// The title of an axis with its unit.
    pub(super) fn titled(&self, axis: &ValueAxis) -> String {
        match (axis.title.is_empty(), self.name.is_empty()) {
            (false, false) => format!("{} ({})", axis.title, self.name),
            (false, true) => axis.title.clone(),
            (true, _) => self.name.clone(),
        }
    }

    /// A value beside its mark, without the unit: three digits that count. Beside the largest value, which has few
    /// digits, one that would need many is next to nothing.
    pub(super) fn short(&self, value: f64) -> String {
        let scaled = self.scaled(value);
        if scaled != 0.0 && scaled.abs() < 1e-4 { "≈0".to_owned() } else { significant(scaled, 3) }
    }

    /// A value in a sentence: four digits that count, and the unit.
    pub(super) fn full(&self, value: f64) -> String {
        self.with_unit(&significant(self.scaled(value), 4))
    }

    /// A value with its unit where there is little room.
    pub(super) fn short_with_unit(&self, value: f64) -> String {
        self.with_unit(&self.short(value))
    }

    fn with_unit(&self, number: &str) -> String {
        let gap = match self.name.chars().next() {
            None | Some('/') => "",
            Some('1') => " × ",
            Some(_) => " ",
        };
        format!("{number}{gap}{}", self.name)
    }
}

/// A number with so many digits that count, and never fewer than stand before its point.
pub(super) fn significant(value: f64, digits: i32) -> String {
    let size = value.abs();
    if size == 0.0 {
        return "0".to_owned();
    }
    let before = size.log10().floor() as i32 + 1;
    let decimals = if size < 1e9 && value.fract() == 0.0 { 0 } else { (digits - before).max(0) };
    grouped(value, decimals as usize)
}

/// Fixed decimals with a comma between thousands; numbers of many digits as powers of ten.
pub(super) fn grouped(value: f64, decimals: usize) -> String {
    if value != 0.0 && !(1e-4..1e9).contains(&value.abs()) {
        return format!("{value:.1e}").replace('-', "−");
    }
    let text = format!("{:.decimals$}", value.abs());
    let (whole, fraction) = text.split_once('.').unwrap_or((&text, ""));
    let point = if fraction.is_empty() { "" } else { "." };
    let text = format!("{}{point}{fraction}", thousands(whole.parse().unwrap_or_default()));
    let zero = text.chars().all(|c| matches!(c, '0' | '.' | ','));
    if value < 0.0 && !zero { format!("−{text}") } else { text }
}

/// `10⁶`.
fn power(exponent: i32) -> String {
    const DIGITS: [char; 10] = ['⁰', '¹', '²', '³', '⁴', '⁵', '⁶', '⁷', '⁸', '⁹'];
    let raised = exponent.to_string();
    let raised = raised.chars().map(|c| c.to_digit(10).map_or('⁻', |digit| DIGITS[digit as usize]));
    format!("10{}", raised.collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_the_digits_that_count() {
        for (value, expected) in [
            (0.0, "0"),
            (4.6708, "4.67"),
            (46.708, "46.7"),
            (467.08, "467"),
            (11_843.675, "11,844"),
            (0.031_24, "0.0312"),
            (-1_234.5, "−1,234"),
            (20.0, "20"),
            (1.5e12, "1.5e12"),
            (2.5e-7, "2.5e−7"),
        ] {
            assert_eq!(significant(value, 3), expected);
        }
        assert_eq!(grouped(-0.001, 1), "0.0");
        assert_eq!(grouped(12_345.678, 2), "12,345.68");
    }

    #[test]
    fn large_and_small_values_are_scaled_and_the_axis_says_so() {
        let axis = |unit: &Unit| ValueAxis { title: "t".to_owned(), unit: unit.clone() };
        let plain = |name: &str| Unit::Plain(name.to_owned());
        for (unit, largest, title, written) in [
            (plain("s"), 4.671, "t (s)", "4.671 s"),
            (plain("s"), 0.000_4, "t (µs)", "400 µs"),
            (plain("/s"), 12_000.0, "t (/s)", "12,000/s"),
            (plain("/s"), 12_500_000.0, "t (10⁶/s)", "12.50 × 10⁶/s"),
            (plain(""), 3.0, "t", "3"),
            (plain(""), 2e10, "t (10⁹)", "20 × 10⁹"),
            (Unit::Bytes, 143_476_467.0, "t (MiB)", "136.8 MiB"),
            (Unit::Bytes, 1e90, "t (PiB)", "8.9e74 PiB"),
            (Unit::Fraction, 0.834, "t (%)", "83.40 %"),
        ] {
            let measure = Measure::of(&unit, largest);
            assert_eq!(measure.titled(&axis(&unit)), title);
            assert_eq!(measure.full(largest), written);
        }
    }
}
