//! From values to places: an axis with round ticks.

use super::number::grouped;

/// An axis that runs from one value to another.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Scale {
    low: f64,
    high: f64,
    ticks: Vec<f64>,
    decimals: usize,
}

impl Scale {
    /// From a round value at or below both zero and the lowest to one at or above zero and the highest.
    pub(super) fn from_zero(lowest: f64, highest: f64, most: usize) -> Self {
        let (lowest, highest) = (lowest.min(0.0), highest.max(0.0));
        let highest = if highest > lowest { highest } else { 1.0 };
        let step = Step::of(highest - lowest, most);
        let first = step.below(lowest);
        let last = -step.below(-highest);
        let ticks = step.ticks(first, last);
        Self { low: step.at(first), high: step.at(last), ticks, decimals: step.decimals() }
    }

    /// From exactly the lowest to exactly the highest, with the round values between them as ticks.
    pub(super) fn between(lowest: f64, highest: f64, most: usize) -> Self {
        // A single moment still has a width to stand in.
        let room = lowest.abs().max(1.0);
        let (lowest, highest) = if highest > lowest { (lowest, highest) } else { (lowest - room, lowest + room) };
        let step = Step::of(highest - lowest, most);
        let ticks = step.ticks(-step.below(-lowest), step.below(highest));
        Self { low: lowest, high: highest, ticks, decimals: step.decimals() }
    }

    /// Where it begins.
    pub(super) fn low(&self) -> f64 {
        self.low
    }

    /// Where it ends.
    pub(super) fn high(&self) -> f64 {
        self.high
    }

    /// Its ticks with how each is written.
    pub(super) fn ticks(&self) -> impl Iterator<Item = (f64, String)> {
        self.ticks.iter().map(|tick| (*tick, grouped(*tick, self.decimals)))
    }

    /// The place of a value where the axis runs between two places; values beyond its ends are at its ends.
    pub(super) fn place(&self, value: f64, begin: f64, end: f64) -> f64 {
        begin + ((value - self.low) / (self.high - self.low)).clamp(0.0, 1.0) * (end - begin)
    }
}

/// A distance between ticks: 1, 2 or 5 times a power of ten.
#[derive(Clone, Copy, Debug)]
struct Step {
    digit: f64,
    exponent: i32,
}

impl Step {
    /// The shortest that cuts a length into at most that many parts.
    fn of(length: f64, most: usize) -> Self {
        let raw = length / most.max(1) as f64;
        let exponent = raw.log10().floor() as i32;
        let digit = raw / 10_f64.powi(exponent);
        // What is only just above a round number, by the noise of the division, is that number.
        match [1.0, 2.0, 5.0].into_iter().find(|round| digit <= round * (1.0 + 1e-9)) {
            Some(digit) => Self { digit, exponent },
            None => Self { digit: 1.0, exponent: exponent + 1 },
        }
    }

    /// The value of a multiple; a division where the power is negative, so that 3 × 0.1 is 0.3.
    fn at(self, multiple: f64) -> f64 {
        match self.exponent {
            negative @ ..0 => multiple * self.digit / 10_f64.powi(-negative),
            power => multiple * self.digit * 10_f64.powi(power),
        }
    }

    /// The largest multiple that is not above the value.
    fn below(self, value: f64) -> f64 {
        let multiple = (value / self.at(1.0)).round();
        if self.at(multiple) <= value { multiple } else { multiple - 1.0 }
    }

    fn ticks(self, first: f64, last: f64) -> Vec<f64> {
        let count = (last - first).clamp(0.0, 100.0) as usize;
        // Adding zero makes a negative zero a plain one.
        if last < first { Vec::new() } else { (0..=count).map(|n| self.at(first + n as f64) + 0.0).collect() }
    }

    /// Decimals that tell one tick from the next.
    fn decimals(self) -> usize {
        usize::try_from(-self.exponent).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn written(scale: &Scale) -> Vec<String> {
        scale.ticks().map(|(_, text)| text).collect()
    }

    #[test]
    fn ticks_are_round() {
        assert_eq!(written(&Scale::from_zero(0.0, 4.67, 5)), ["0", "1", "2", "3", "4", "5"]);
        assert_eq!(written(&Scale::from_zero(0.0, 0.3, 5)), ["0.0", "0.1", "0.2", "0.3"]);
        assert_eq!(written(&Scale::from_zero(-120.0, 340.0, 5)), ["−200", "−100", "0", "100", "200", "300", "400"]);
        assert_eq!(written(&Scale::from_zero(0.0, 11_844.0, 5)), ["0", "5,000", "10,000", "15,000"]);
        assert_eq!(written(&Scale::from_zero(0.0, 0.0, 5)), ["0.0", "0.2", "0.4", "0.6", "0.8", "1.0"]);
        assert_eq!(written(&Scale::between(0.4, 31.0, 8)), ["5", "10", "15", "20", "25", "30"]);
    }

    proptest! {
        #[test]
        fn ticks_cover_the_data(a in -1e100..1e100_f64, b in -1e3..1e3_f64, most in 1..12_usize) {
            for (low, high) in [(a.min(b), a.max(b)), (0.0, b.abs()), (-a.abs(), 0.0), (b, b)] {
                let scale = Scale::from_zero(low, high, most);
                let ticks: Vec<f64> = scale.ticks.clone();
                prop_assert!(ticks.len() >= 2 && ticks.len() <= most + 3, "{ticks:?}");
                prop_assert!(ticks[0] <= low && *ticks.last().expect("some") >= high, "{ticks:?}");
                prop_assert!(ticks[0] <= 0.0 && *ticks.last().expect("some") >= 0.0);
                prop_assert!(ticks.windows(2).all(|pair| pair[0] < pair[1]), "{ticks:?}");
            }
        }

        #[test]
        fn ticks_between_stay_between(low in -1e6..1e6_f64, length in 0.0..1e6_f64, most in 1..12_usize) {
            let scale = Scale::between(low, low + length, most);
            prop_assert!(scale.ticks.iter().all(|tick| (scale.low..=scale.high).contains(tick)));
        }
    }
}
