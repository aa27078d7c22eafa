//! The text of numbers as PostgreSQL's C code prints them, without allocating.
//!
//! Owns digits and layout. Which text a value has is decided in `value`.

use std::fmt::{self, Write as _};

/// Appends an integer's digits; the standard formatting machinery takes several times as long,
/// and a load writes some of these in every transaction.
pub(super) fn write_integer(integer: i64, out: &mut Vec<u8>) {
    let mut text = [0; 20];
    let mut start = text.len();
    let mut rest = integer.unsigned_abs();
    loop {
        start -= 1;
        text[start] = b'0' + (rest % 10) as u8;
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    if integer < 0 {
        start -= 1;
        text[start] = b'-';
    }
    out.extend_from_slice(&text[start..]);
}

/// Room for one value's text; the longest is 22 bytes (`-1.23456789012345e+308`).
#[derive(Default)]
struct Scratch {
    bytes: [u8; 32],
    used: usize,
}

impl Scratch {
    fn as_bytes(&self) -> &[u8] {
        &self.bytes[..self.used]
    }
}

impl fmt::Write for Scratch {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let end = self.used + text.len();
        let room = self.bytes.get_mut(self.used..end).ok_or(fmt::Error)?;
        room.copy_from_slice(text.as_bytes());
        self.used = end;
        Ok(())
    }
}

/// Appends a double as pgbench puts it into SQL, see [`write_general`].
pub(super) fn write_double(double: f64, out: &mut Vec<u8>) {
    let mut scratch = Scratch::default();
    let written = write_general(double, &mut scratch);
    debug_assert!(written.is_ok(), "no double's text is longer than the buffer");
    out.extend_from_slice(scratch.as_bytes());
}

/// C's `%.15g` (15 is DBL_DIG), with PostgreSQL's spellings of the special values.
fn write_general(double: f64, out: &mut Scratch) -> fmt::Result {
    const DIGITS: usize = 15;
    if double.is_nan() {
        return out.write_str("NaN");
    }
    if double.is_sign_negative() {
        out.write_char('-')?;
    }
    if double.is_infinite() {
        return out.write_str("Infinity");
    }
    // "d.dddddddddddddde-7": the rounding to 15 digits is done here, the rest is layout.
    let mut scientific = Scratch::default();
    write!(scientific, "{:.14e}", double.abs())?;
    let mut digits = [b'0'; DIGITS];
    digits[0] = scientific.bytes[0];
    digits[1..].copy_from_slice(&scientific.bytes[2..=DIGITS]);
    let exponent: i32 = std::str::from_utf8(&scientific.as_bytes()[DIGITS + 2..])
        .ok()
        .and_then(|text| text.parse().ok())
        .ok_or(fmt::Error)?;
    let significant = digits.iter().rposition(|digit| *digit != b'0').map_or(1, |last| last + 1);
    let digits = std::str::from_utf8(&digits[..significant]).map_err(|_| fmt::Error)?;
    if !(-4..15).contains(&exponent) {
        let (first, rest) = digits.split_at(1);
        let point = if rest.is_empty() { "" } else { "." };
        let sign = if exponent < 0 { '-' } else { '+' };
        return write!(out, "{first}{point}{rest}e{sign}{:02}", exponent.unsigned_abs());
    }
    let Ok(whole) = usize::try_from(exponent) else {
        out.write_str("0.")?;
        for _ in 1..exponent.unsigned_abs() {
            out.write_char('0')?;
        }
        return out.write_str(digits);
    };
    if digits.len() <= whole + 1 {
        out.write_str(digits)?;
        for _ in digits.len()..=whole {
            out.write_char('0')?;
        }
        return Ok(());
    }
    let (integral, fraction) = digits.split_at(whole + 1);
    write!(out, "{integral}.{fraction}")
}

/// A double as C's `%f` prints it, for messages.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PlainDouble(pub f64);

impl fmt::Display for PlainDouble {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_nan() {
            formatter.write_str("NaN")
        } else if self.0.is_infinite() {
            formatter.write_str(if self.0 < 0.0 { "-Infinity" } else { "Infinity" })
        } else {
            write!(formatter, "{:.6}", self.0)
        }
    }
}
