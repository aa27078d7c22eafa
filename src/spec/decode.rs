//! Table to typed, telling every mistake: serde stops at its first error, so what lies at that error's span is
//! taken out and the rest is read again. All fields are optional, so nothing else fails for it.

use serde::Deserialize;
use toml::Spanned;
use toml::de::{DeArray, DeValue, ValueDeserializer};

use super::document::{Table, Value};
use super::field::{NOT_ONE_EXPRESSION, Scalar, without_example};
use super::scalar::{Flag, Text};
use super::unread::{ANY_KEY, Unread};
use crate::text::suggest::nearest;
use crate::text::{Code, Issue, Issues, SourceMap, Span};

/// Reads a table, and what of it could not be read. A number or boolean in a flag, where a key wants text, is taken
/// as it was written.
pub(super) fn decode<'s, T: Deserialize<'s> + Default>(
    mut table: Table<'s>,
    sources: &'s SourceMap,
    issues: &mut Issues,
) -> (T, Unread) {
    let mut unread = Unread::default();
    loop {
        let whole = Spanned::new(0..0, DeValue::Table(table.clone()));
        let error = match T::deserialize(ValueDeserializer::from(whole)) {
            Ok(value) => return (value, unread),
            Err(error) => error,
        };
        let Some(range) = error.span() else {
            issues.push(Issue {
                code: Code::WrongType,
                message: error.message().to_owned(),
                labels: vec![],
                help: None,
            });
            unread.note(None, []);
            return (T::default(), unread);
        };
        let as_written = flag_text(sources, range.clone().into());
        let edit = |value: Value<'s>| match (&as_written, value.get_ref()) {
            (Some(text), DeValue::Integer(_) | DeValue::Float(_) | DeValue::Boolean(_)) => {
                Some(Spanned::new(value.span(), DeValue::String((*text).into())))
            }
            _ => None,
        };
        let mut kept = false;
        let (rest, found) = edit_table(table, Span::default(), &range, &mut |value| {
            let edited = edit(value);
            kept = edited.is_some();
            edited
        });
        table = rest;
        if kept {
            continue;
        }
        let (issue, meant) = explain(error.message(), range.into());
        issues.push(issue);
        let Some(Place { table: within, path, value }) = found else {
            unread.note(None, []);
            return (T::default(), unread);
        };
        let (key, around) = path.split_first().expect("an entry has a key");
        let around: Vec<&str> = around.iter().rev().map(String::as_str).collect();
        match meant {
            Some(meant) if meant == ANY_KEY => unread.note_unknown(within, &around, &value),
            meant => {
                let key = meant.unwrap_or_else(|| key.clone());
                unread.note(Some(within), around.iter().copied().chain([key.as_str()]));
            }
        }
    }
}

/// The text of a scalar written in a flag.
fn flag_text(sources: &SourceMap, span: Span) -> Option<&str> {
    let file = sources.flags().find(|file| file.base <= span.start && span.end <= file.span().end)?;
    file.text.get(span.start - file.base..span.end - file.base)
}

/// A mistake in the words of a spec, and the key that a misspelt one was meant to be.
fn explain(message: &str, span: Span) -> (Issue, Option<String>) {
    let known_after = |rest: &str| -> Vec<String> { rest.split('`').skip(1).step_by(2).map(str::to_owned).collect() };
    if let Some((word, rest)) = message.strip_prefix("unknown field `").and_then(|rest| rest.split_once('`')) {
        let known = known_after(rest);
        let issue = Issue::new(Code::UnknownKey, format!("unknown key `{word}`"), span, "not a key of this table")
            .suggest(word, known.iter().map(String::as_str));
        let meant = nearest(word, known.iter().map(String::as_str)).unwrap_or(ANY_KEY);
        return (issue, Some(meant.to_owned()));
    }
    if let Some((word, rest)) = message.strip_prefix("unknown variant `").and_then(|rest| rest.split_once('`')) {
        return (not_a_word(&format!("\"{word}\""), &known_after(rest), span), None);
    }
    for (prefix, label) in [("invalid value: ", "wrong value"), ("invalid type: ", "wrong type")] {
        let Some((found, expected)) = message.strip_prefix(prefix).and_then(|rest| rest.split_once(", expected "))
        else {
            continue;
        };
        let (found, expected) = (in_words(found), expected_in_words(expected));
        if let Some(expected) = expected.strip_prefix("UNIT ") {
            let issue = Issue::new(Code::UnitMissing, format!("{found} has no unit"), span, "which unit?")
                .help(format!("write {expected}"));
            return (issue, None);
        }
        if expected.starts_with('`') {
            return (not_a_word(&found, &known_after(&expected), span), None);
        }
        let scalar = found.chars().all(|c| c.is_ascii_alphanumeric() || ".-+_".contains(c));
        let help = if scalar && expected == Text::EXPECTED {
            format!("write it in quotes: \"{found}\"")
        } else {
            format!("write {expected}")
        };
        let message = format!("{found} is not {}", without_example(expected));
        return (Issue::new(Code::WrongType, message, span, label).help(help), None);
    }
    if message == NOT_ONE_EXPRESSION {
        let issue = Issue::new(Code::Template, message, span, "gives more than one value")
            .help("write one expression, such as \"{{ clients * 2 }}\"; `~` joins texts: \"{{ seconds ~ 's' }}\"");
        return (issue, None);
    }
    (Issue::new(Code::WrongType, message.to_owned(), span, "here"), None)
}

/// A word that is none of a closed list.
fn not_a_word(found: &str, known: &[String], span: Span) -> Issue {
    let issue = Issue::new(Code::WrongType, format!("{found} is not a value of this key"), span, "wrong value");
    let word = found.trim_matches('"');
    let quoted = |word: &str| format!("\"{word}\"");
    match nearest(word, known.iter().map(String::as_str)) {
        Some(word) => issue.help(format!("did you mean {}?", quoted(word))),
        None => {
            let list: Vec<String> = known.iter().map(|word| quoted(word)).collect();
            issue.help(format!("write {}", list.join(" or ")))
        }
    }
}

/// What was found, in the words of a spec rather than of the reader.
fn in_words(found: &str) -> String {
    match found {
        "map" => "a table".to_owned(),
        "sequence" => "a list".to_owned(),
        _ => match found.split_once(' ') {
            Some(("integer" | "floating" | "boolean" | "string", value)) => {
                value.trim_start_matches("point ").trim_matches('`').to_owned()
            }
            _ => found.to_owned(),
        },
    }
}

/// What was expected, likewise.
fn expected_in_words(expected: &str) -> &str {
    match expected {
        "a map" => "a table such as { name = \"value\" }",
        "a sequence" => "a list such as [\"one\", \"two\"]",
        "a string" => Text::EXPECTED,
        "a boolean" => Flag::EXPECTED,
        "f64" | "i64" | "u64" => "a number",
        other => other,
    }
}

type Edit<'a, 's> = &'a mut dyn FnMut(Value<'s>) -> Option<Value<'s>>;

/// Where an entry was found: its table, and the keys to it from the inside out. Elements of arrays have no key.
struct Place<'s> {
    table: Span,
    path: Vec<String>,
    /// What stood under a key that was taken out.
    value: DeValue<'s>,
}

/// Replaces or removes the deepest entry whose key or value lies exactly at `range`; says where that was.
fn edit_table<'s>(
    table: Table<'s>,
    at: Span,
    range: &std::ops::Range<usize>,
    edit: Edit<'_, 's>,
) -> (Table<'s>, Option<Place<'s>>) {
    let mut place: Option<Place<'s>> = None;
    let table = table
        .into_iter()
        .filter_map(|(key, value)| {
            if place.is_some() {
                return Some((key, value));
            }
            let here = |value| Some(Place { table: at, path: vec![key.get_ref().to_string()], value });
            if key.span() == *range {
                place = here(value.into_inner());
                return None;
            }
            let (value, deeper) = edit_value(value, range, edit);
            match deeper {
                Found::Nothing if value.span() == *range => {
                    place = here(DeValue::Boolean(false));
                    return edit(value).map(|value| (key, value));
                }
                Found::Nothing => {}
                // A list that lost an element is itself what could not be read whole.
                Found::Element => place = here(DeValue::Boolean(false)),
                Found::Entry(mut inner) => {
                    inner.path.push(key.get_ref().to_string());
                    place = Some(inner);
                }
            }
            Some((key, value))
        })
        .collect();
    (table, place)
}

enum Found<'s> {
    Nothing,
    Element,
    Entry(Place<'s>),
}

fn edit_value<'s>(value: Value<'s>, range: &std::ops::Range<usize>, edit: Edit<'_, 's>) -> (Value<'s>, Found<'s>) {
    let span = value.span();
    match value.into_inner() {
        DeValue::Table(table) => {
            let (table, place) = edit_table(table, span.clone().into(), range, edit);
            (Spanned::new(span, DeValue::Table(table)), place.map_or(Found::Nothing, Found::Entry))
        }
        DeValue::Array(array) => {
            let mut found = Found::Nothing;
            let array: DeArray<'s> = array
                .into_iter()
                .filter_map(|value| {
                    if !matches!(found, Found::Nothing) {
                        return Some(value);
                    }
                    let (value, deeper) = edit_value(value, range, edit);
                    found = deeper;
                    if matches!(found, Found::Nothing) && value.span() == *range {
                        found = Found::Element;
                        return edit(value);
                    }
                    Some(value)
                })
                .collect();
            (Spanned::new(span, DeValue::Array(array)), found)
        }
        other => (Spanned::new(span, other), Found::Nothing),
    }
}
