//! Quantities with units as people write them: durations ("30s", "0.75ms", "10min") and bytes.

use std::time::Duration;

/// Units of a duration with their length in seconds; PostgreSQL's own names.
const DURATION_UNITS: &[(&str, f64)] =
    &[("us", 1e-6), ("ms", 1e-3), ("s", 1.0), ("min", 60.0), ("h", 3600.0), ("d", 86_400.0)];

/// Why a text is not a quantity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotAQuantity {
    /// A number without a unit.
    UnitMissing,
    /// Something else.
    Malformed,
}

/// A duration with a unit of `us`, `ms`, `s`, `min`, `h` or `d`.
pub fn parse_duration(text: &str) -> Result<Duration, NotAQuantity> {
    let text = text.trim();
    let split = text.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(text.len());
    let number: f64 = text[..split].trim().parse().map_err(|_| NotAQuantity::Malformed)?;
    if split == text.len() {
        return Err(NotAQuantity::UnitMissing);
    }
    let (_, seconds) =
        DURATION_UNITS.iter().find(|(unit, _)| *unit == &text[split..]).ok_or(NotAQuantity::Malformed)?;
    Duration::try_from_secs_f64(number * seconds).map_err(|_| NotAQuantity::Malformed)
}

/// A duration in the largest unit that keeps it exact enough to read back ("90s", "750us", "10min").
pub fn format_duration(duration: Duration) -> String {
    let micros = duration.as_micros();
    let whole = [(3_600_000_000, "h"), (60_000_000, "min"), (1_000_000, "s"), (1_000, "ms"), (1, "us")];
    for (length, unit) in whole {
        if micros >= length && micros.is_multiple_of(length) {
            return format!("{}{unit}", micros / length);
        }
    }
    if duration.is_zero() { "0s".to_owned() } else { format!("{}s", duration.as_secs_f64()) }
}

/// Bytes in the unit a reader would choose ("136.8 MiB").
pub fn format_bytes(bytes: u64) -> String {
    let mut value = bytes as f64;
    for unit in ["B", "KiB", "MiB", "GiB"] {
        if value < 1024.0 {
            return if unit == "B" { format!("{bytes} B") } else { format!("{value:.1} {unit}") };
        }
        value /= 1024.0;
    }
    format!("{value:.1} TiB")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn durations_need_a_unit() {
        for (text, expected) in [
            ("30s", Ok(Duration::from_secs(30))),
            ("0.75ms", Ok(Duration::from_micros(750))),
            (" 2 min ", Ok(Duration::from_mins(2))),
            ("30", Err(NotAQuantity::UnitMissing)),
            ("30 parsecs", Err(NotAQuantity::Malformed)),
            ("s", Err(NotAQuantity::Malformed)),
            ("-1s", Err(NotAQuantity::Malformed)),
            ("1e300h", Err(NotAQuantity::Malformed)),
        ] {
            assert_eq!(parse_duration(text), expected, "{text}");
        }
    }

    #[test]
    fn bytes_are_read_as_published() {
        assert_eq!(format_bytes(143_476_467), "136.8 MiB");
        assert_eq!(format_bytes(512), "512 B");
    }

    proptest! {
        #[test]
        fn a_duration_reads_back_as_printed(micros in 0u64..1_000_000_000_000) {
            let duration = Duration::from_micros(micros);
            let back = parse_duration(&format_duration(duration)).expect("it was printed with a unit");
            prop_assert!(back.abs_diff(duration) < Duration::from_micros(1));
        }
    }
}
