//! What a key holds as written: absent, a literal or a template, always with its place.

use std::borrow::{Borrow, Cow};
use std::fmt;
use std::hash::{Hash, Hasher};
use std::marker::PhantomData;

use indexmap::IndexMap;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::{self, IgnoredAny};
use serde::{Deserialize, Deserializer};

use crate::text::Span;

/// A value with its place.
#[derive(Clone, Copy, Debug)]
pub struct At<T> {
    /// Where it stands.
    pub span: Span,
    /// What it is.
    pub value: T,
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for At<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        toml::Spanned::<T>::deserialize(deserializer)
            .map(|spanned| At { span: spanned.span().into(), value: spanned.into_inner() })
    }
}

impl<T: PartialEq> PartialEq for At<T> {
    fn eq(&self, other: &Self) -> bool {
        self.value == other.value
    }
}
impl<T: Eq> Eq for At<T> {}
impl<T: Hash> Hash for At<T> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.value.hash(state);
    }
}
impl Borrow<str> for At<String> {
    fn borrow(&self) -> &str {
        &self.value
    }
}
impl<T: JsonSchema> JsonSchema for At<T> {
    fn inline_schema() -> bool {
        T::inline_schema()
    }
    fn schema_name() -> Cow<'static, str> {
        T::schema_name()
    }
    fn schema_id() -> Cow<'static, str> {
        T::schema_id()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        T::json_schema(generator)
    }
}

/// Tables by name, in the order of the text.
pub(super) type Named<T> = IndexMap<At<String>, At<T>>;

/// A key whose value is a literal or a template.
pub(super) type Field<T> = Option<At<Templated<T>>>;

/// A scalar as TOML gives it.
pub(super) enum Literal<'a> {
    Int(i64),
    Float(f64),
    Bool(bool),
    Str(&'a str),
}

/// A scalar of the spec language: how it is written, how a template's text becomes one, its schema.
pub(super) trait Scalar: Sized + Clone {
    /// Completes "expected …", with an example.
    const EXPECTED: &'static str;
    /// Whether any text is one, so that a template may stand inside other text.
    const TEXT: bool = false;
    /// From a TOML scalar. `Err(true)` says that only the unit is missing.
    fn literal(value: &Literal<'_>) -> Result<Self, bool>;
    /// From the text that a template gave.
    fn rendered(text: &str) -> Option<Self>;
    /// The JSON Schema of the literal.
    fn schema() -> Schema;
}

/// What is expected, without the example that follows it.
pub(super) fn without_example(expected: &str) -> &str {
    let end = [", such as", " such as", ", or one template"].iter().filter_map(|mark| expected.find(mark)).min();
    &expected[..end.unwrap_or(expected.len())]
}

/// A literal, or a template that gives one for each cell.
#[derive(Clone, Debug)]
pub(super) enum Templated<T> {
    Literal(T),
    Template(String),
}

pub(super) fn is_template(text: &str) -> bool {
    text.contains("{{") || text.contains("{%") || text.contains("{#")
}

/// The message for a number or boolean that a template would give only a part of.
pub(super) const NOT_ONE_EXPRESSION: &str =
    "a template here must be exactly one `{{ … }}`, since it gives a whole value";

/// Whether a text is one `{{ … }}` and nothing else: the only template a number or boolean may be.
fn is_one_expression(text: &str) -> bool {
    text.trim()
        .strip_prefix("{{")
        .and_then(|rest| rest.strip_suffix("}}"))
        .is_some_and(|inner| !inner.contains("{{") && !inner.contains("}}") && !inner.contains("{%"))
}

impl<'de, T: Scalar> Deserialize<'de> for Templated<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor<T>(PhantomData<T>);
        struct UnitOf(&'static str);
        impl de::Expected for UnitOf {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "UNIT {}", self.0)
            }
        }
        impl<T: Scalar> Visitor<T> {
            fn take<E: de::Error>(value: &Literal<'_>, found: de::Unexpected<'_>) -> Result<Templated<T>, E> {
                if let Literal::Str(text) = value
                    && is_template(text)
                {
                    if T::TEXT || is_one_expression(text) {
                        return Ok(Templated::Template((*text).to_owned()));
                    }
                    return Err(E::custom(NOT_ONE_EXPRESSION));
                }
                T::literal(value).map(Templated::Literal).map_err(|unit_missing| {
                    if unit_missing {
                        E::invalid_value(found, &UnitOf(T::EXPECTED))
                    } else {
                        E::invalid_value(found, &T::EXPECTED)
                    }
                })
            }
        }
        impl<T: Scalar> de::Visitor<'_> for Visitor<T> {
            type Value = Templated<T>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(T::EXPECTED)
            }
            fn visit_i64<E: de::Error>(self, value: i64) -> Result<Self::Value, E> {
                Self::take(&Literal::Int(value), de::Unexpected::Signed(value))
            }
            fn visit_f64<E: de::Error>(self, value: f64) -> Result<Self::Value, E> {
                Self::take(&Literal::Float(value), de::Unexpected::Float(value))
            }
            fn visit_bool<E: de::Error>(self, value: bool) -> Result<Self::Value, E> {
                Self::take(&Literal::Bool(value), de::Unexpected::Bool(value))
            }
            fn visit_str<E: de::Error>(self, value: &str) -> Result<Self::Value, E> {
                Self::take(&Literal::Str(value), de::Unexpected::Str(value))
            }
        }
        deserializer.deserialize_any(Visitor(PhantomData))
    }
}

impl<T: Scalar> JsonSchema for Templated<T> {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> Cow<'static, str> {
        "Templated".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        if T::TEXT {
            return T::schema();
        }
        schemars::json_schema!({
            "anyOf": [T::schema(), { "type": "string", "pattern": r"^\s*\{\{.*\}\}\s*$", "description": "A template that gives this value" }]
        })
    }
}

/// A part of the language that comes later: whatever stands there is refused by name, and only that is told.
#[derive(Clone, Copy, Debug)]
pub(super) struct Later;

impl<'de> Deserialize<'de> for Later {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        IgnoredAny::deserialize(deserializer).map(|_| Later)
    }
}
