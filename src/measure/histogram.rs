//! A latency distribution as stored: the recorded buckets of an HDR histogram with three significant digits.

use serde::{Deserialize, Serialize};

/// Values in nanoseconds with their counts, ascending; each value stands for its bucket (± 0.05 %).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Histogram {
    buckets: Vec<(u64, u64)>,
}

impl Histogram {
    /// From pairs of value (ns) and count, in any order.
    pub fn from_buckets(mut buckets: Vec<(u64, u64)>) -> Self {
        buckets.sort_unstable();
        let mut merged: Vec<(u64, u64)> = Vec::with_capacity(buckets.len());
        for (value, count) in buckets.into_iter().filter(|(_, count)| *count > 0) {
            match merged.last_mut() {
                Some(last) if last.0 == value => last.1 += count,
                _ => merged.push((value, count)),
            }
        }
        Self { buckets: merged }
    }

    /// Number of recorded values.
    pub fn count(&self) -> u64 {
        self.buckets.iter().map(|(_, count)| count).sum()
    }

    /// Adds another distribution.
    pub fn merge(&mut self, other: &Histogram) {
        let both = self.buckets.iter().chain(&other.buckets).copied().collect();
        *self = Self::from_buckets(both);
    }

    /// Mean in nanoseconds; `None` if nothing was recorded.
    pub fn mean_ns(&self) -> Option<f64> {
        let count = self.count();
        let sum: f64 = self.buckets.iter().map(|(value, count)| *value as f64 * *count as f64).sum();
        (count > 0).then(|| sum / count as f64)
    }

    /// The smallest recorded value that at least `percent` of the values do not exceed (nearest rank), in ns.
    pub fn percentile_ns(&self, percent: f64) -> Option<u64> {
        let rank = ((percent / 100.0 * self.count() as f64).ceil() as u64).max(1);
        let mut seen = 0;
        self.buckets.iter().find_map(|(value, count)| {
            seen += count;
            (seen >= rank).then_some(*value)
        })
    }

    /// The largest recorded value, in ns.
    pub fn max_ns(&self) -> Option<u64> {
        self.buckets.last().map(|(value, _)| *value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn percentiles_are_nearest_rank() {
        let histogram = Histogram::from_buckets((1..=100).map(|v| (v, 1)).collect());
        for (percent, expected) in [(50.0, 50), (99.0, 99), (100.0, 100), (0.0, 1)] {
            assert_eq!(histogram.percentile_ns(percent), Some(expected));
        }
        assert_eq!(Histogram::default().percentile_ns(50.0), None);
        assert_eq!(histogram.mean_ns(), Some(50.5));
    }

    proptest! {
        #[test]
        fn parts_merge_to_the_whole(values in prop::collection::vec((1u64..1000, 1u64..5), 0..50), cut in 0usize..50) {
            let cut = cut.min(values.len());
            let mut left = Histogram::from_buckets(values[..cut].to_vec());
            left.merge(&Histogram::from_buckets(values[cut..].to_vec()));
            prop_assert_eq!(left, Histogram::from_buckets(values));
        }
    }
}
