//! Table to typed, telling every mistake: serde stops at its first error, so what lies at that error's span is
//! taken out and the rest is read again. All fields are optional, so nothing else fails for it.

use serde::Deserialize;
use toml::Spanned;
use toml::de::{DeArray, DeValue, ValueDeserializer};

use super::document::{Table, Value};
use crate::text::{Code, Issue, Issues, SourceMap, Span};

/// Reads a table. A number or boolean in a flag, where a key wants text, is taken as it was written.
pub(super) fn decode<'s, T: Deserialize<'s> + Default>(
    mut table: Table<'s>,
    sources: &'s SourceMap,
    issues: &mut Issues,
) -> T {
    loop {
        let whole = Spanned::new(0..0, DeValue::Table(table.clone()));
        let error = match T::deserialize(ValueDeserializer::from(whole)) {
            Ok(value) => return value,
            Err(error) => error,
        };
        let Some(range) = error.span() else {
            issues.push(Issue {
                code: Code::WrongType,
                message: error.message().to_owned(),
                labels: vec![],
                help: None,
            });
            return T::default();
        };
        let as_written = flag_text(sources, range.clone().into());
        let edit = |value: Value<'s>| match (&as_written, value.get_ref()) {
            (Some(text), DeValue::Integer(_) | DeValue::Float(_) | DeValue::Boolean(_)) => {
                Some(Spanned::new(value.span(), DeValue::String((*text).into())))
            }
            _ => None,
        };
        let mut kept = false;
        let (rest, found) = edit_table(table, &range, &mut |value| {
            let edited = edit(value);
            kept = edited.is_some();
            edited
        });
        table = rest;
        if !kept {
            issues.push(explain(error.message(), range.into()));
        }
        if !found {
            return T::default();
        }
    }
}

/// The text of a scalar written in a flag.
fn flag_text(sources: &SourceMap, span: Span) -> Option<&str> {
    let file = sources.flags().find(|file| file.base <= span.start && span.end <= file.span().end)?;
    file.text.get(span.start - file.base..span.end - file.base)
}

fn explain(message: &str, span: Span) -> Issue {
    let known_after = |rest: &str| -> Vec<String> { rest.split('`').skip(1).step_by(2).map(str::to_owned).collect() };
    if let Some(rest) = message.strip_prefix("unknown field `")
        && let Some((word, rest)) = rest.split_once('`')
    {
        let known = known_after(rest);
        return Issue::new(Code::UnknownKey, format!("unknown key `{word}`"), span, "not a key of this table")
            .suggest(word, known.iter().map(String::as_str));
    }
    if let Some((found, expected)) =
        message.strip_prefix("invalid value: ").and_then(|rest| rest.split_once(", expected "))
    {
        if let Some(expected) = expected.strip_prefix("UNIT ") {
            return Issue::new(Code::UnitMissing, format!("{found} has no unit"), span, "which unit?")
                .help(format!("write {expected}"));
        }
        return Issue::new(Code::WrongType, format!("{found} is not {expected}"), span, "wrong value")
            .help(format!("write {expected}"));
    }
    if let Some((found, expected)) =
        message.strip_prefix("invalid type: ").and_then(|rest| rest.split_once(", expected "))
    {
        return Issue::new(Code::WrongType, format!("{found} is not {expected}"), span, "wrong type")
            .help(format!("write {expected}"));
    }
    Issue::new(Code::WrongType, message.to_owned(), span, "here")
}

type Edit<'a, 's> = &'a mut dyn FnMut(Value<'s>) -> Option<Value<'s>>;

/// Replaces or removes the deepest entry whose key or value lies exactly at `range`; says whether there was one.
fn edit_table<'s>(table: Table<'s>, range: &std::ops::Range<usize>, edit: Edit<'_, 's>) -> (Table<'s>, bool) {
    let mut done = false;
    let table = table
        .into_iter()
        .filter_map(|(key, value)| {
            if done {
                return Some((key, value));
            }
            if key.span() == *range {
                done = true;
                return None;
            }
            let (value, deeper) = edit_value(value, range, edit);
            done |= deeper;
            if !done && value.span() == *range {
                done = true;
                return edit(value).map(|value| (key, value));
            }
            Some((key, value))
        })
        .collect();
    (table, done)
}

fn edit_value<'s>(value: Value<'s>, range: &std::ops::Range<usize>, edit: Edit<'_, 's>) -> (Value<'s>, bool) {
    let span = value.span();
    match value.into_inner() {
        DeValue::Table(table) => {
            let (table, done) = edit_table(table, range, edit);
            (Spanned::new(span, DeValue::Table(table)), done)
        }
        DeValue::Array(array) => {
            let mut done = false;
            let array: DeArray<'s> = array
                .into_iter()
                .filter_map(|value| {
                    if done {
                        return Some(value);
                    }
                    let (value, deeper) = edit_value(value, range, edit);
                    done |= deeper;
                    if !done && value.span() == *range {
                        done = true;
                        return edit(value);
                    }
                    Some(value)
                })
                .collect();
            (Spanned::new(span, DeValue::Array(array)), done)
        }
        other => (Spanned::new(span, other), false),
    }
}
