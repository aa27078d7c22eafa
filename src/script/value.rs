//! The four types of pgbench's expressions and how they turn into one another.
//!
//! Owns the rules of coercion; the text of numbers is in `text`. Does not know variables or
//! expressions.

use std::fmt;

use super::eval::EvalError;
use super::text::{PlainDouble, write_double, write_integer};

/// A value of pgbench's expression language.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Value {
    /// SQL's NULL.
    Null,
    /// TRUE or FALSE.
    Boolean(bool),
    /// A 64-bit integer.
    Integer(i64),
    /// An IEEE double.
    Double(f64),
}

impl Value {
    /// The type's name as pgbench's messages spell it.
    pub fn type_name(self) -> &'static str {
        match self {
            Value::Null => "null",
            Value::Boolean(_) => "boolean",
            Value::Integer(_) => "int",
            Value::Double(_) => "double",
        }
    }

    /// The integer this value stands for; a double is rounded half to even.
    ///
    /// Fails for NULL, booleans and doubles outside of 64 bits.
    pub(super) fn to_integer(self) -> Result<i64, EvalError> {
        match self {
            Value::Integer(integer) => Ok(integer),
            Value::Double(double) => {
                let rounded = double.round_ties_even();
                // The upper bound is 2^63 itself, the first double that no longer fits.
                if (-9_223_372_036_854_775_808.0..9_223_372_036_854_775_808.0).contains(&rounded) {
                    Ok(rounded as i64)
                } else {
                    Err(EvalError::DoubleToInteger(PlainDouble(rounded)))
                }
            }
            Value::Null | Value::Boolean(_) => Err(self.cannot_become("int")),
        }
    }

    /// The double this value stands for. Fails for NULL and booleans.
    pub(super) fn to_double(self) -> Result<f64, EvalError> {
        match self {
            Value::Double(double) => Ok(double),
            Value::Integer(integer) => Ok(integer as f64),
            Value::Null | Value::Boolean(_) => Err(self.cannot_become("double")),
        }
    }

    /// The truth value, for AND, OR and NOT. Fails for everything but a boolean.
    pub(super) fn to_boolean(self) -> Result<bool, EvalError> {
        match self {
            Value::Boolean(boolean) => Ok(boolean),
            Value::Null | Value::Integer(_) | Value::Double(_) => Err(self.cannot_become("boolean")),
        }
    }

    /// Whether a condition (`CASE WHEN`) holds: non-zero numbers do, zero and NULL do not.
    pub(super) fn holds(self) -> bool {
        match self {
            Value::Null => false,
            Value::Boolean(boolean) => boolean,
            Value::Integer(integer) => integer != 0,
            Value::Double(double) => double != 0.0,
        }
    }

    fn cannot_become(self, to: &'static str) -> EvalError {
        EvalError::Coercion { from: self.type_name(), to }
    }

    /// Reads a variable given as text the way pgbench reads `-D` values when an expression
    /// needs them: NULL, prefixes of true/yes/false/no, on/off, an integer, else a double.
    pub(super) fn from_text(name: &str, text: &str) -> Result<Value, EvalError> {
        let malformed = || EvalError::MalformedVariable { name: name.to_owned(), value: text.to_owned() };
        let lower = text.to_ascii_lowercase();
        if lower.is_empty() {
            return Err(malformed());
        }
        if lower == "null" {
            return Ok(Value::Null);
        }
        if "true".starts_with(&lower) || "yes".starts_with(&lower) || lower == "on" {
            return Ok(Value::Boolean(true));
        }
        if "false".starts_with(&lower) || "no".starts_with(&lower) || "off".starts_with(&lower) {
            // A bare "o" is a prefix of both on and off, so it is neither.
            return if lower == "o" { Err(malformed()) } else { Ok(Value::Boolean(false)) };
        }
        let number = text.trim_start();
        let digits = number.strip_prefix(['+', '-']).unwrap_or(number);
        if !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()) {
            return number.parse().map(Value::Integer).map_err(|_| EvalError::IntegerOutOfRange(text.to_owned()));
        }
        match number.parse::<f64>() {
            // Only the word itself means infinity; digits that reach it have overflowed.
            Ok(double) if double.is_finite() || !number.bytes().any(|byte| byte.is_ascii_digit()) => {
                Ok(Value::Double(double))
            }
            _ => Err(malformed()),
        }
    }

    /// Appends the text that stands for this value in SQL, without allocating beyond what
    /// `out` needs to grow: `NULL`, `true`/`false`, digits, or `%.15g`.
    pub fn write_text(self, out: &mut Vec<u8>) {
        match self {
            Value::Null => out.extend_from_slice(b"NULL"),
            Value::Boolean(true) => out.extend_from_slice(b"true"),
            Value::Boolean(false) => out.extend_from_slice(b"false"),
            Value::Integer(integer) => write_integer(integer, out),
            Value::Double(double) => write_double(double, out),
        }
    }
}

impl fmt::Display for Value {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = Vec::with_capacity(24);
        self.write_text(&mut text);
        formatter.write_str(&String::from_utf8_lossy(&text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn doubles_are_written_as_c_writes_percent_15g() {
        for (double, text) in [
            (0.0, "0"),
            (-0.0, "-0"),
            (15.0, "15"),
            (-0.125, "-0.125"),
            (-0.000_32, "-0.00032"),
            (0.000_1, "0.0001"),
            (0.000_01, "1e-05"),
            (1e30, "1e+30"),
            (8.507_059_173_023_46e37, "8.50705917302346e+37"),
            (123_456_789_012_345.0, "123456789012345"),
            (1_234_567_890_123_456.0, "1.23456789012346e+15"),
            (999_999_999_999_999.9, "1e+15"),
            (1e14, "100000000000000"),
            (0.1 + 0.2, "0.3"),
            (100.25, "100.25"),
            (-0.542_1, "-0.5421"),
            (f64::MAX, "1.79769313486232e+308"),
            (f64::MIN_POSITIVE, "2.2250738585072e-308"),
            (5e-324, "4.94065645841247e-324"),
            (f64::NAN, "NaN"),
            (f64::NEG_INFINITY, "-Infinity"),
        ] {
            assert_eq!(Value::Double(double).to_string(), text);
        }
    }

    #[test]
    fn other_values_are_written_as_pgbench_substitutes_them() {
        for (value, text) in [
            (Value::Null, "NULL"),
            (Value::Boolean(true), "true"),
            (Value::Boolean(false), "false"),
            (Value::Integer(i64::MIN), "-9223372036854775808"),
            (Value::Integer(i64::MAX), "9223372036854775807"),
            (Value::Integer(0), "0"),
            (Value::Integer(-10), "-10"),
        ] {
            assert_eq!(value.to_string(), text);
        }
    }

    #[test]
    fn given_text_is_read_as_pgbench_reads_it() {
        let read = |text| Value::from_text("v", text);
        for (text, value) in [
            ("-10.1", Value::Double(-10.1)),
            ("false", Value::Boolean(false)),
            ("+3", Value::Integer(3)),
            ("null", Value::Null),
            ("t", Value::Boolean(true)),
            ("Y", Value::Boolean(true)),
            ("of", Value::Boolean(false)),
            ("n", Value::Boolean(false)),
            ("1.0", Value::Double(1.0)),
            ("0", Value::Integer(0)),
            ("inf", Value::Double(f64::INFINITY)),
        ] {
            assert_eq!(read(text), Ok(value), "{text}");
        }
        for (text, message) in [
            ("", "malformed variable \"v\" value: \"\""),
            ("o", "malformed variable \"v\" value: \"o\""),
            ("abc", "malformed variable \"v\" value: \"abc\""),
            ("1e999", "malformed variable \"v\" value: \"1e999\""),
            ("9223372036854775808", "value \"9223372036854775808\" is out of range for type bigint"),
        ] {
            assert_eq!(read(text).map_err(|error| error.to_string()), Err(message.to_owned()));
        }
    }

    #[test]
    fn doubles_round_half_to_even_and_must_fit() {
        for (double, integer) in [(2.5, Some(2)), (3.5, Some(4)), (-0.5, Some(0)), (7.3, Some(7))] {
            assert_eq!(Value::Double(double).to_integer().ok(), integer);
        }
        assert_eq!(
            Value::Double(9_223_372_036_854_775_808.0).to_integer().map_err(|error| error.to_string()),
            Err("double to int overflow for 9223372036854775808.000000".to_owned())
        );
        assert_eq!(Value::Double(-9_223_372_036_854_775_808.0).to_integer().ok(), Some(i64::MIN));
        assert!(Value::Double(f64::NAN).to_integer().is_err());
    }
}
