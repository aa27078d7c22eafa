//! How numbers are written: one rule a unit, the same number of decimals down a column.
//!
//! Seconds have three decimals in raw runs, as the clocks and the sources print them; medians of CPU have two,
//! since exited processes are counted in steps of 10 ms. Where a column has published figures, ours have as many
//! decimals as those, so that the two can be laid beside one another.

use crate::measure::{Quantity, Unit};
use crate::text::quantity::format_bytes;

/// What stands where there is no figure.
pub(super) const NONE: &str = "–";

/// Decimals of a column: of single runs, or of medians with the published figures beside them.
pub(super) fn decimals(quantity: &Quantity, of_runs: bool, published: impl Iterator<Item = f64>) -> usize {
    let default = match quantity.unit() {
        Unit::Seconds if !of_runs && quantity.is_cpu() => 2,
        Unit::Seconds | Unit::Milliseconds | Unit::Number => 3,
        Unit::PerSecond => 1,
        // A share of the host is known to about a hundredth; the share taken from it is smaller.
        Unit::Fraction => usize::from(quantity.name() != "host_busy"),
        Unit::Bytes | Unit::Count => 0,
    };
    let adapts = !of_runs && matches!(quantity.unit(), Unit::Seconds | Unit::Milliseconds | Unit::Number);
    match published.map(own_decimals).max() {
        Some(theirs) if adapts => theirs.clamp(2, 3),
        _ => default,
    }
}

/// Whether a busy host makes it a figure of contention: times, rates and latencies, not CPU, WAL or counts.
pub(super) fn suffers_contention(quantity: &Quantity) -> bool {
    match quantity.unit() {
        Unit::Milliseconds | Unit::PerSecond => true,
        Unit::Seconds => !quantity.is_cpu(),
        Unit::Number => quantity.references().iter().any(|reference| {
            let side = Quantity::Read((*reference).clone());
            suffers_contention(&side)
        }),
        Unit::Bytes | Unit::Count | Unit::Fraction => false,
    }
}

/// A value of that unit, without the unit where the heading of a column names it.
pub(super) fn figure(value: f64, unit: Unit, decimals: usize) -> String {
    match unit {
        Unit::Seconds | Unit::Milliseconds | Unit::PerSecond | Unit::Number => fixed(value, decimals),
        Unit::Fraction => format!("{} %", fixed(value * 100.0, decimals)),
        // The median of an even number of counts may lie between two of them.
        Unit::Bytes | Unit::Count if value.fract() == 0.0 => thousands(value),
        Unit::Bytes => thousands(value.round()),
        Unit::Count => fixed(value, 1),
    }
}

/// The same with its unit, for prose.
pub(super) fn figure_with_unit(value: f64, unit: Unit, decimals: usize) -> String {
    let figure = figure(value, unit, decimals);
    match unit {
        Unit::Seconds => format!("{figure} s"),
        Unit::Milliseconds => format!("{figure} ms"),
        Unit::Bytes => format!("{figure} bytes"),
        Unit::PerSecond => format!("{figure}/s"),
        Unit::Count | Unit::Fraction | Unit::Number => figure,
    }
}

/// What stands behind a value for readers: bytes in a unit that can be read aloud.
pub(super) fn gloss(value: f64, unit: Unit) -> Option<String> {
    (unit == Unit::Bytes && value >= 1024.0).then(|| format_bytes(value as u64))
}

/// A factor in a table or a sentence.
pub(super) fn times(ratio: f64, decimals: usize) -> String {
    format!("{}x", fixed(ratio, decimals))
}

/// Decimals of a claimed ratio: two, three where two would leave a ratio below one with little to read.
pub(super) fn ratio_decimals(ratio: f64) -> usize {
    if (ratio * 100.0).round() < 100.0 { 3 } else { 2 }
}

/// A number as a person wrote it: without the noise that 1 − 0.01 adds, and without trailing zeros.
pub(super) fn as_written(value: f64) -> String {
    let text = fixed(value, 9);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// From the lowest to the highest, written once where both read the same.
pub(super) fn range(low: &str, high: &str) -> String {
    let begin = if high.ends_with(" %") { low.trim_end_matches(" %") } else { low };
    if low == high { low.to_owned() } else { format!("{begin}–{high}") }
}

/// `one run`, `2 runs`.
pub(super) fn counted(n: usize, one: &str) -> String {
    if n == 1 { format!("1 {one}") } else { format!("{n} {one}s") }
}

/// `a`, `a and b`, `a, b and c`.
pub(super) fn listed<S: AsRef<str>>(items: &[S]) -> String {
    match items {
        [] => String::new(),
        [one] => one.as_ref().to_owned(),
        [first @ .., last] => {
            let first: Vec<&str> = first.iter().map(AsRef::as_ref).collect();
            format!("{} and {}", first.join(", "), last.as_ref())
        }
    }
}

/// Digits with a comma between thousands.
pub(super) fn thousands(value: f64) -> String {
    let digits = fixed(value.abs(), 0);
    let mut out = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    if value < 0.0 && digits != "0" { format!("-{out}") } else { out }
}

/// Fixed decimals, never a negative zero.
fn fixed(value: f64, decimals: usize) -> String {
    let text = format!("{value:.decimals$}");
    match text.strip_prefix('-') {
        Some(rest) if rest.chars().all(|c| c == '0' || c == '.') => rest.to_owned(),
        _ => text,
    }
}

/// Decimals that a published figure was written with, as far as a number remembers them.
fn own_decimals(value: f64) -> usize {
    value.to_string().split_once('.').map_or(0, |(_, decimals)| decimals.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::Reference;

    fn find(metric: &str) -> Quantity {
        Quantity::Read(Reference::parse(&format!("w.{metric}")).expect("in the catalogue"))
    }

    #[test]
    fn a_column_has_the_decimals_of_its_published_figures() {
        let of = |metric: &str, of_runs, published: &[f64]| decimals(&find(metric), of_runs, published.iter().copied());
        for (metric, of_runs, published, expected) in [
            ("seconds", true, &[][..], 3),
            ("seconds", false, &[], 3),
            ("seconds", false, &[0.03, 4.35, 3.6], 2),
            ("seconds", false, &[4.671, 0.15], 3),
            ("cpu", true, &[4.71], 3),
            ("cpu", false, &[], 2),
            ("cpu", false, &[0.02, 0.02], 2),
            ("cpu", false, &[4.245, 0.01], 3),
            ("cpu", false, &[5.0], 2),
            ("tps", false, &[4818.2837], 1),
            ("latency_p99", false, &[18.26], 2),
            ("host_busy", false, &[], 0),
            ("host_steal", false, &[], 1),
        ] {
            assert_eq!(of(metric, of_runs, published), expected, "{metric} {published:?}");
        }
    }

    #[test]
    fn each_unit_has_one_way_of_being_written() {
        for (value, unit, decimals, expected) in [
            (4.6708, Unit::Seconds, 3, "4.671"),
            (-0.0001, Unit::Seconds, 2, "0.00"),
            (11843.675, Unit::PerSecond, 1, "11843.7"),
            (143_476_467.0, Unit::Bytes, 0, "143,476,467"),
            (999.0, Unit::Count, 0, "999"),
            (20_000.5, Unit::Count, 0, "20000.5"),
            (-1_234.0, Unit::Count, 0, "-1,234"),
            (0.834, Unit::Fraction, 0, "83 %"),
        ] {
            assert_eq!(figure(value, unit, decimals), expected);
        }
        assert_eq!(gloss(143_476_467.0, Unit::Bytes).as_deref(), Some("136.8 MiB"));
        assert_eq!((gloss(99.0, Unit::Bytes), gloss(5000.0, Unit::Count)), (None, None));
    }

    #[test]
    fn a_range_names_its_percent_once() {
        assert_eq!(range("51 %", "55 %"), "51–55 %");
        assert_eq!(range("0.149", "0.151"), "0.149–0.151");
        assert_eq!(range("51 %", "51 %"), "51 %");
    }

    #[test]
    fn ratios_are_written_as_the_sources_write_them() {
        for (ratio, expected) in [(2.3008, "2.30x"), (0.8937, "0.894x"), (0.99897, "1.00x"), (31.137, "31.14x")] {
            assert_eq!(times(ratio, ratio_decimals(ratio)), expected);
        }
        assert_eq!(as_written(1.0 - 0.01), "0.99");
        assert_eq!(as_written(10.0), "10");
        assert_eq!(as_written(1.0 + 0.05), "1.05");
    }

    #[test]
    fn contention_marks_times_and_rates_but_not_cpu() {
        for (metric, marked) in [
            ("seconds", true),
            ("tps", true),
            ("latency_p99", true),
            ("startup_seconds", true),
            ("visible_seconds", true),
            ("copied_seconds", true),
            ("ready_seconds", true),
            ("connecting_seconds", true),
            ("copy_worker_cpu", false),
            ("consumer_cpu", false),
            ("cpu", false),
            ("driver_cpu", false),
            ("runner_sessions_cpu", false),
            ("wal_bytes", false),
            ("transactions", false),
            ("host_busy", false),
        ] {
            assert_eq!(suffers_contention(&find(metric)), marked, "{metric}");
        }
    }
}
