//! The scalars of the spec language.

use std::time::Duration;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, de};

use super::field::{Literal, Scalar};
use crate::text::quantity::{NotAQuantity, parse_duration};

/// Text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Text(pub(super) String);

impl Scalar for Text {
    const EXPECTED: &'static str = "a string in quotes";
    const TEXT: bool = true;
    fn literal(value: &Literal<'_>) -> Result<Self, bool> {
        if let Literal::Str(text) = value { Ok(Text((*text).to_owned())) } else { Err(false) }
    }
    fn rendered(text: &str) -> Option<Self> {
        Some(Text(text.to_owned()))
    }
    fn schema() -> Schema {
        json_schema!({ "type": "string" })
    }
}

/// A whole number from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Count(pub(super) u64);

impl Scalar for Count {
    const EXPECTED: &'static str = "a whole number from 1, such as 8, or one template such as \"{{ clients }}\"";
    fn literal(value: &Literal<'_>) -> Result<Self, bool> {
        match value {
            Literal::Int(n) if *n > 0 => Ok(Count(n.unsigned_abs())),
            _ => Err(false),
        }
    }
    fn rendered(text: &str) -> Option<Self> {
        // The template engine's `/` gives a float: 500.0 is meant as 500.
        let number: f64 = text.trim().parse().ok()?;
        (number.fract() == 0.0 && (1.0..=9e15).contains(&number)).then_some(Count(number as u64))
    }
    fn schema() -> Schema {
        json_schema!({ "type": "integer", "minimum": 1 })
    }
}

/// A whole number from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Number(pub(super) u64);

impl Scalar for Number {
    const EXPECTED: &'static str = "a whole number from 0, such as 2, or one template such as \"{{ standbys }}\"";
    fn literal(value: &Literal<'_>) -> Result<Self, bool> {
        match value {
            Literal::Int(n) => u64::try_from(*n).map(Number).map_err(|_| false),
            _ => Err(false),
        }
    }
    fn rendered(text: &str) -> Option<Self> {
        // The template engine's `/` gives a float: 2.0 is meant as 2.
        let number: f64 = text.trim().parse().ok()?;
        (number.fract() == 0.0 && (0.0..=9e15).contains(&number)).then_some(Number(number as u64))
    }
    fn schema() -> Schema {
        json_schema!({ "type": "integer", "minimum": 0 })
    }
}

/// A number of events a second.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Rate(pub(super) f64);

impl Rate {
    fn new(number: f64) -> Option<Self> {
        (number > 0.0 && number.is_finite()).then_some(Rate(number))
    }
}

impl Scalar for Rate {
    const EXPECTED: &'static str =
        "a number of transactions a second above 0, such as 4000, or leave it out for as fast as the clients can";
    fn literal(value: &Literal<'_>) -> Result<Self, bool> {
        match value {
            Literal::Int(n) => Self::new(*n as f64),
            Literal::Float(n) => Self::new(*n),
            _ => None,
        }
        .ok_or(false)
    }
    fn rendered(text: &str) -> Option<Self> {
        Self::new(text.trim().parse().ok()?)
    }
    fn schema() -> Schema {
        json_schema!({ "type": "number", "exclusiveMinimum": 0 })
    }
}

/// A number of tries, 0 for any.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Tries(pub(super) u32);

impl Scalar for Tries {
    const EXPECTED: &'static str = "a whole number of tries, such as 100, or 0 for no bound";
    fn literal(value: &Literal<'_>) -> Result<Self, bool> {
        match value {
            Literal::Int(n) => u32::try_from(*n).map(Tries).map_err(|_| false),
            _ => Err(false),
        }
    }
    fn rendered(text: &str) -> Option<Self> {
        // The template engine's `/` gives a float: 10.0 is meant as 10.
        let number: f64 = text.trim().parse().ok()?;
        (number.fract() == 0.0 && (0.0..=f64::from(u32::MAX)).contains(&number)).then_some(Tries(number as u32))
    }
    fn schema() -> Schema {
        json_schema!({ "type": "integer", "minimum": 0, "maximum": u32::MAX })
    }
}

/// A boolean.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Flag(pub(super) bool);

impl Scalar for Flag {
    const EXPECTED: &'static str = "true or false";
    fn literal(value: &Literal<'_>) -> Result<Self, bool> {
        if let Literal::Bool(flag) = value { Ok(Flag(*flag)) } else { Err(false) }
    }
    fn rendered(text: &str) -> Option<Self> {
        text.trim().parse().ok().map(Flag)
    }
    fn schema() -> Schema {
        json_schema!({ "type": "boolean" })
    }
}

/// A length of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Span_(pub(super) Duration);

impl Scalar for Span_ {
    const EXPECTED: &'static str = "a duration with its unit, such as \"30s\", \"0.75ms\" or \"10min\"";
    fn literal(value: &Literal<'_>) -> Result<Self, bool> {
        match value {
            Literal::Str(text) => parse_duration(text).map(Span_).map_err(|error| error == NotAQuantity::UnitMissing),
            Literal::Int(_) | Literal::Float(_) => Err(true),
            Literal::Bool(_) => Err(false),
        }
    }
    fn rendered(text: &str) -> Option<Self> {
        parse_duration(text).ok().map(Span_)
    }
    fn schema() -> Schema {
        json_schema!({ "type": "string", "pattern": r"^\s*[0-9]+(\.[0-9]+)?\s*(us|ms|s|min|h|d)\s*$" })
    }
}

/// A server setting or an option's value: any scalar, kept as PostgreSQL will read it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Setting(pub(super) String);

impl Scalar for Setting {
    const EXPECTED: &'static str = "a string, a number or a boolean";
    const TEXT: bool = true;
    fn literal(value: &Literal<'_>) -> Result<Self, bool> {
        Ok(Setting(match value {
            Literal::Int(n) => n.to_string(),
            Literal::Float(n) => n.to_string(),
            Literal::Bool(flag) => flag.to_string(),
            Literal::Str(text) => (*text).to_owned(),
        }))
    }
    fn rendered(text: &str) -> Option<Self> {
        Some(Setting(text.to_owned()))
    }
    fn schema() -> Schema {
        json_schema!({ "type": ["string", "number", "boolean"] })
    }
}

/// A word from a closed list.
pub(super) trait Word: Sized + Copy + std::fmt::Debug + 'static {
    /// Spellings with what they mean.
    const WORDS: &'static [(&'static str, Self)];
    /// The list in words.
    const EXPECTED: &'static str;
}

/// A [`Word`] as a scalar.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct OneOf<W>(pub(super) W);

impl<W: Word> Scalar for OneOf<W> {
    const EXPECTED: &'static str = W::EXPECTED;
    fn literal(value: &Literal<'_>) -> Result<Self, bool> {
        if let Literal::Str(text) = value { Self::rendered(text).ok_or(false) } else { Err(false) }
    }
    fn rendered(text: &str) -> Option<Self> {
        W::WORDS.iter().find(|(word, _)| *word == text).map(|(_, meaning)| OneOf(*meaning))
    }
    fn schema() -> Schema {
        let words: Vec<&str> = W::WORDS.iter().map(|(word, _)| *word).collect();
        json_schema!({ "type": "string", "enum": words })
    }
}

/// A value of `[vars]`.
#[derive(Clone, Debug, PartialEq)]
pub enum VarValue {
    /// A whole number.
    Int(i64),
    /// Any other number.
    Float(f64),
    /// A boolean.
    Bool(bool),
    /// Text.
    Str(String),
}

impl std::fmt::Display for VarValue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            VarValue::Int(n) => n.fmt(f),
            VarValue::Float(n) => n.fmt(f),
            VarValue::Bool(flag) => flag.fmt(f),
            VarValue::Str(text) => f.write_str(text),
        }
    }
}

impl VarValue {
    /// A template's text as the value that it reads as.
    pub(super) fn of_text(text: &str) -> VarValue {
        let number = text.trim();
        if let Ok(n) = number.parse() {
            VarValue::Int(n)
        } else if let Ok(n) = number.parse::<f64>() {
            VarValue::Float(n)
        } else {
            VarValue::Str(text.to_owned())
        }
    }
}

impl<'de> Deserialize<'de> for VarValue {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl de::Visitor<'_> for Visitor {
            type Value = VarValue;
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a number, a boolean or a string")
            }
            fn visit_i64<E>(self, value: i64) -> Result<VarValue, E> {
                Ok(VarValue::Int(value))
            }
            fn visit_f64<E>(self, value: f64) -> Result<VarValue, E> {
                Ok(VarValue::Float(value))
            }
            fn visit_bool<E>(self, value: bool) -> Result<VarValue, E> {
                Ok(VarValue::Bool(value))
            }
            fn visit_str<E>(self, value: &str) -> Result<VarValue, E> {
                Ok(VarValue::Str(value.to_owned()))
            }
        }
        deserializer.deserialize_any(Visitor)
    }
}

impl JsonSchema for VarValue {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "VarValue".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": ["string", "number", "boolean"] })
    }
}

/// One or many: `nodes = "all"` or `nodes = ["a", "b"]`; a bound as a number or a text with its unit.
macro_rules! union_of {
    ($(#[$doc:meta])* $name:ident, $expected:literal, { $($kind:ident($inner:ty)),* }, $schema:tt) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq)]
        pub(super) enum $name { $($kind($inner),)* }
        impl JsonSchema for $name {
            fn inline_schema() -> bool { true }
            fn schema_name() -> std::borrow::Cow<'static, str> { stringify!($name).into() }
            fn json_schema(_: &mut SchemaGenerator) -> Schema { json_schema!($schema) }
        }
        impl $name { const EXPECTED: &'static str = $expected; }
    };
}

union_of!(
    /// A bound of a claim: a number in the metric's unit, a text with its unit, or a pair.
    Bound, "a number, a text with its unit such as \"0.5ms\" or \"1%\", or a pair [low, high]",
    { Number(f64), Written(String), Pair(Vec<f64>) },
    { "anyOf": [{ "type": "number" }, { "type": "string" }, { "type": "array", "items": { "type": "number" }, "minItems": 2, "maxItems": 2 }] }
);

impl<'de> Deserialize<'de> for Bound {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl<'de> de::Visitor<'de> for Visitor {
            type Value = Bound;
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(Bound::EXPECTED)
            }
            fn visit_i64<E>(self, value: i64) -> Result<Bound, E> {
                Ok(Bound::Number(value as f64))
            }
            fn visit_f64<E>(self, value: f64) -> Result<Bound, E> {
                Ok(Bound::Number(value))
            }
            fn visit_str<E>(self, value: &str) -> Result<Bound, E> {
                Ok(Bound::Written(value.to_owned()))
            }
            fn visit_seq<A: de::SeqAccess<'de>>(self, seq: A) -> Result<Bound, A::Error> {
                Vec::deserialize(de::value::SeqAccessDeserializer::new(seq)).map(Bound::Pair)
            }
        }
        deserializer.deserialize_any(Visitor)
    }
}
