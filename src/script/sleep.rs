//! `\sleep`: its time as written, and as it is when a client comes to it.
//!
//! Owns the reading of numbers and units. It waits for nothing: the driver does.

use std::ops::Range;
use std::time::Duration;

use super::ScriptError;
use super::names::{Names, Slot};

/// A `\sleep` line.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Sleep {
    pub(super) time: Time,
    /// How many microseconds the unit has.
    pub(super) unit_us: u64,
    /// The command from its backslash on.
    pub(super) range: Range<usize>,
}

/// How long, in the line's unit.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Time {
    /// A number; one below zero is no time.
    Number(u64),
    /// What the variable holds at that moment.
    Variable(Slot),
}

impl Sleep {
    /// The time for a number of units.
    pub(super) fn time(&self, number: u64) -> Duration {
        Duration::from_micros(number.saturating_mul(self.unit_us))
    }
}

/// The units; seconds if there is none.
const UNITS: [(&str, u64); 3] = [("us", 1), ("ms", 1_000), ("s", 1_000_000)];

/// Reads the words behind `\sleep`.
pub(super) fn parse(
    script: &str,
    command: Range<usize>,
    words: &[Range<usize>],
    names: &mut Names,
) -> Result<Sleep, ScriptError> {
    let told = |range: &Range<usize>, message: String| ScriptError {
        range: range.clone(),
        message,
        help: Some("it is `\\sleep number [us|ms|s]`; the number may be a :variable".to_owned()),
    };
    let (number, mut unit) = match words {
        [] => return Err(told(&command, "missing argument: \\sleep has no time".to_owned())),
        [number] => (number.clone(), None),
        [number, unit] => (number.clone(), Some(unit.clone())),
        [_, _, more, ..] => return Err(told(more, "too many arguments for \\sleep".to_owned())),
    };
    let text = &script[number.clone()];
    let time = if let Some(name) = text.strip_prefix(':') {
        Time::Variable(names.used(name, number.clone()))
    } else {
        let digits = leading_integer(text);
        if digits.length < text.len() {
            if unit.is_some() || !digits.any {
                return Err(told(&number, format!("invalid sleep time, must be an integer: {text}")));
            }
            unit = Some(number.start + digits.length..number.end);
        } else if !digits.any {
            return Err(told(&number, format!("invalid sleep time, must be an integer: {text}")));
        }
        Time::Number(digits.value)
    };
    let unit_us = match unit {
        None => 1_000_000,
        Some(range) => {
            let text = &script[range.clone()];
            let Some((_, unit_us)) = UNITS.iter().find(|(unit, _)| unit.eq_ignore_ascii_case(text)) else {
                return Err(told(&range, format!("unrecognized time unit, must be us, ms or s: {text}")));
            };
            *unit_us
        }
    };
    Ok(Sleep { time, unit_us, range: command })
}

/// What a text begins with.
struct LeadingInteger {
    /// The number; 0 for one below zero.
    value: u64,
    /// Its bytes, sign included.
    length: usize,
    /// Whether it has a digit.
    any: bool,
}

fn leading_integer(text: &str) -> LeadingInteger {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let digits = unsigned.bytes().take_while(u8::is_ascii_digit);
    let value = digits.clone().fold(0_u64, |sum, digit| sum.saturating_mul(10).saturating_add(u64::from(digit - b'0')));
    let count = digits.count();
    LeadingInteger {
        value: if text.starts_with('-') { 0 } else { value },
        length: text.len() - unsigned.len() + count,
        any: count > 0,
    }
}

/// Reads a variable's text as C's `atoi` does, which takes no notice of what follows the digits; none where it is no
/// number by pgbench's test.
pub(super) fn from_text(text: &str) -> Option<u64> {
    let number = leading_integer(text.trim_start());
    let positive = number.value > 0 || (number.any && text.trim_start().starts_with('-') && !is_zero(text));
    (positive || text.starts_with(|first: char| first.is_ascii_digit())).then_some(number.value)
}

fn is_zero(text: &str) -> bool {
    !text.bytes().any(|byte| matches!(byte, b'1'..=b'9'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> Result<(Time, u64), String> {
        let words: Vec<Range<usize>> = line
            .split_whitespace()
            .map(|word| {
                let at = word.as_ptr() as usize - line.as_ptr() as usize;
                at..at + word.len()
            })
            .collect();
        parse(line, 0..0, &words, &mut Names::new())
            .map(|sleep| (sleep.time, sleep.unit_us))
            .map_err(|error| format!("{} {}", &line[error.range], error.message))
    }

    #[test]
    fn numbers_and_units_are_read_as_pgbench_reads_them() {
        for (line, number, unit_us) in [
            ("2", 2, 1_000_000),
            ("5 us", 5, 1),
            ("5us", 5, 1),
            ("5MS", 5, 1_000),
            ("5 s", 5, 1_000_000),
            ("+1 ms", 1, 1_000),
            ("-1", 0, 1_000_000),
        ] {
            assert_eq!(read(line), Ok((Time::Number(number), unit_us)), "{line}");
        }
        assert!(matches!(read(":scale ms"), Ok((Time::Variable(_), 1_000))));
        for (line, error) in [
            ("", " missing argument: \\sleep has no time"),
            ("1 s x", "x too many arguments for \\sleep"),
            ("1 min", "min unrecognized time unit, must be us, ms or s: min"),
            ("1min", "min unrecognized time unit, must be us, ms or s: min"),
            ("a", "a invalid sleep time, must be an integer: a"),
            ("1us s", "1us invalid sleep time, must be an integer: 1us"),
            ("-", "- invalid sleep time, must be an integer: -"),
        ] {
            assert_eq!(read(line), Err(error.to_owned()), "{line}");
        }
    }

    #[test]
    fn a_variable_is_read_by_its_first_digits() {
        for (text, number) in [
            ("12", Some(12)),
            ("1.9", Some(1)),
            ("0", Some(0)),
            ("-3", Some(0)),
            ("7 apples", Some(7)),
            ("apples", None),
            ("", None),
            ("-0", None),
            ("NULL", None),
        ] {
            assert_eq!(from_text(text), number, "{text}");
        }
    }
}
