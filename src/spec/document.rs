//! Text to one TOML table: includes are read and merged here, on values whose spans already point into the one
//! offset space, before any type is known. Typed code never sees that there were several files.

use std::path::{Path, PathBuf};

use toml::Spanned;
use toml::de::{DeArray, DeString, DeTable, DeValue};

use super::unread::Unread;
use crate::text::source::{normal, relative_to};
use crate::text::{Code, Issue, Issues, SourceMap, Span};

pub(super) type Value<'s> = Spanned<DeValue<'s>>;
pub(super) type Table<'s> = DeTable<'s>;
type Entry<'s> = (Spanned<DeString<'s>>, Value<'s>);

/// Two sides say a thing about one key: an including file, a scenario or a flag may, two includes may not.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Clash {
    OverlayWins,
    IsAnError,
}

/// How one table is laid over another.
#[derive(Clone, Copy)]
pub(super) struct Laying<'a> {
    pub(super) clash: Clash,
    /// What could not be read: it may be what an `after` names.
    pub(super) unread: &'a Unread,
}

/// How two arrays under one path combine. Every other array is replaced, every table is merged.
fn merged_by(path: &[String]) -> Option<&'static str> {
    match path.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["setup" | "phases"] => Some("name"),
        ["expect"] => Some("claim"),
        ["report", "tables" | "charts"] => Some("title"),
        _ => None,
    }
}

/// The keys of one file shifted to where the file lies in the map.
pub(super) fn rebase<'s>(table: Table<'s>, base: usize) -> Table<'s> {
    table
        .into_iter()
        .map(|(key, value)| {
            let span = key.span();
            (Spanned::new(span.start + base..span.end + base, key.into_inner()), rebase_value(value, base))
        })
        .collect()
}

fn rebase_value<'s>(value: Value<'s>, base: usize) -> Value<'s> {
    let span = value.span();
    let inner = match value.into_inner() {
        DeValue::Table(table) => DeValue::Table(rebase(table, base)),
        DeValue::Array(array) => {
            DeValue::Array(array.into_iter().map(|value| rebase_value(value, base)).collect::<DeArray<'_>>())
        }
        other => other,
    };
    Spanned::new(span.start + base..span.end + base, inner)
}

/// Lays `over` on `base`. `path` is where both stand.
pub(super) fn merge<'s>(
    base: Table<'s>,
    over: Table<'s>,
    path: &mut Vec<String>,
    how: Laying<'_>,
    issues: &mut Issues,
) -> Table<'s> {
    let mut over: Vec<Option<Entry<'s>>> = over.into_iter().map(Some).collect();
    let mut out = Table::new();
    for (key, value) in base {
        let twin = over
            .iter_mut()
            .find(|entry| entry.as_ref().is_some_and(|(other, _)| other.get_ref() == key.get_ref()))
            .and_then(Option::take);
        let (key, value) = match twin {
            None => (key, value),
            Some(twin) => {
                path.push(key.get_ref().to_string());
                let merged = merge_entry((key, value), twin, path, how, issues);
                path.pop();
                merged
            }
        };
        out.insert(key, value);
    }
    for (key, value) in over.into_iter().flatten() {
        out.insert(key, value);
    }
    out
}

fn merge_entry<'s>(
    (key, value): Entry<'s>,
    (over_key, over_value): Entry<'s>,
    path: &mut Vec<String>,
    how: Laying<'_>,
    issues: &mut Issues,
) -> Entry<'s> {
    let (span, over_span) = (value.span(), over_value.span());
    match (value.into_inner(), over_value.into_inner()) {
        (DeValue::Table(a), DeValue::Table(b)) => {
            (key, Spanned::new(span, DeValue::Table(merge(a, b, path, how, issues))))
        }
        (DeValue::Array(a), DeValue::Array(b)) => match merged_by(path) {
            Some(by) => (key, Spanned::new(span, DeValue::Array(merge_named(a, b, by, path, how, issues)))),
            None => {
                conflict(how.clash, path, &key, &over_key, issues);
                (over_key, Spanned::new(over_span, DeValue::Array(b)))
            }
        },
        (a, b) if matches!(a, DeValue::Table(_)) != matches!(b, DeValue::Table(_)) => {
            issues.push(
                Issue::new(
                    Code::KindClash,
                    format!("`{}` is a {} here and a {} there", path.join("."), b.type_str(), a.type_str()),
                    over_span,
                    format!("a {}", b.type_str()),
                )
                .also(span.clone(), format!("a {}", a.type_str()))
                .help("replace a value only by one of the same kind"),
            );
            // The first is kept, so that one mistake is one message.
            (key, Spanned::new(span, a))
        }
        (_, b) => {
            conflict(how.clash, path, &key, &over_key, issues);
            (over_key, Spanned::new(over_span, b))
        }
    }
}

fn conflict(
    clash: Clash,
    path: &[String],
    key: &Spanned<DeString<'_>>,
    over_key: &Spanned<DeString<'_>>,
    issues: &mut Issues,
) {
    if clash == Clash::IsAnError && key.span() != over_key.span() {
        issues.push(
            Issue::new(
                Code::IncludeConflict,
                format!("two included files set `{}`", path.join(".")),
                over_key.span(),
                "set again here",
            )
            .also(key.span(), "first set here")
            .help("set it in the including file, which wins over both"),
        );
    }
}

/// Merges tables of equal `by`; a new one is appended, or stands after the one that its `after` names.
fn merge_named<'s>(
    base: DeArray<'s>,
    over: DeArray<'s>,
    by: &str,
    path: &mut Vec<String>,
    how: Laying<'_>,
    issues: &mut Issues,
) -> DeArray<'s> {
    let mut out: Vec<Value<'s>> = base.into_iter().collect();
    for value in over {
        let twin = text_of(&value, by).and_then(|name| out.iter().position(|other| text_of(other, by) == Some(name)));
        match twin {
            Some(index) => {
                let span = out[index].span();
                let held = std::mem::replace(out[index].get_mut(), DeValue::Boolean(false));
                let (DeValue::Table(a), DeValue::Table(b)) = (held, value.into_inner()) else {
                    unreachable!("both have a name, so both are tables");
                };
                out[index] = Spanned::new(span, DeValue::Table(merge(a, b, path, how, issues)));
            }
            None => {
                let place = text_of(&value, "after")
                    .map(|after| (after.to_owned(), out.iter().position(|other| text_of(other, by) == Some(after))));
                match place {
                    Some((after, Some(index))) => {
                        let place = behind(&out, index, after, by);
                        out.insert(place, value);
                    }
                    Some((after, None)) => {
                        let span = key_value_span(&value, "after").unwrap_or_else(|| value.span().into());
                        // What is meant may be one without a name, which is told.
                        let all_named = out.iter().all(|other| text_of(other, by).is_some());
                        let table = path.last().map_or("", String::as_str);
                        if all_named && !how.unread.covers(&[table, &after]) {
                            let (code, what) = if table == "phases" {
                                (Code::UnknownPhase, "phase")
                            } else {
                                (Code::UnknownSetup, "setup step")
                            };
                            issues.push(
                                Issue::new(code, format!("there is no {what} `{after}`"), span, "to stand after")
                                    .suggest(&after, out.iter().filter_map(|other| text_of(other, by))),
                            );
                        }
                        out.push(value);
                    }
                    None => out.push(value),
                }
            }
        }
    }
    out.into_iter().collect()
}

/// Where one that stands after `anchor`, which is at `index`, is put: behind those that stand after it already, and
/// behind what stands after these, so that several are in the order of the text.
fn behind(list: &[Value<'_>], index: usize, anchor: String, by: &str) -> usize {
    let mut before = vec![anchor];
    let mut place = index + 1;
    while let Some(after) = list.get(place).and_then(|other| text_of(other, "after"))
        && before.iter().any(|name| name == after)
    {
        before.extend(text_of(&list[place], by).map(str::to_owned));
        place += 1;
    }
    place
}

pub(super) fn text_of<'a>(value: &'a Value<'_>, key: &str) -> Option<&'a str> {
    value.get_ref().as_table()?.get(key)?.get_ref().as_str()
}

fn key_value_span(value: &Value<'_>, key: &str) -> Option<Span> {
    Some(value.get_ref().as_table()?.get(key)?.span().into())
}

/// Reads texts that are in the map. One that is not there becomes a request: the caller fetches it and asks
/// again, so this stays a pure function of the map.
pub(super) struct Loader<'s> {
    pub(super) sources: &'s SourceMap,
    pub(super) missing: Vec<PathBuf>,
    pub(super) issues: Issues,
    /// Whether a part of the spec could not be had, so that what seems to be missing may be there.
    pub(super) incomplete: bool,
    chain: Vec<(PathBuf, Option<Span>)>,
}

impl<'s> Loader<'s> {
    pub(super) fn new(sources: &'s SourceMap) -> Self {
        Self { sources, missing: Vec::new(), issues: Issues::default(), incomplete: false, chain: Vec::new() }
    }

    /// A file and all that it includes. Includes come first, in order; the including file wins.
    pub(super) fn load(&mut self, path: &Path, included_at: Option<Span>) -> Table<'s> {
        let path = normal(path);
        if let (true, Some(at)) = (self.chain.iter().any(|(other, _)| *other == path), included_at) {
            let mut issue = Issue::new(
                Code::IncludeCycle,
                format!("`{}` includes itself", path.display()),
                at,
                "closes the circle",
            );
            for (_, span) in &self.chain {
                if let Some(span) = span {
                    issue = issue.also(*span, "included from here");
                }
            }
            self.incomplete = true;
            self.issues.push(issue.help("move the shared part into a third file"));
            return Table::new();
        }
        let Some(file) = self.sources.by_path(&path) else {
            match (self.sources.absent(&path), included_at) {
                (Some(why), Some(at)) => {
                    self.incomplete = true;
                    self.issues.push(
                        Issue::new(
                            Code::Unreadable,
                            format!("cannot read `{}`: {why}", path.display()),
                            at,
                            "included here",
                        )
                        .help("write the path as seen from the file that includes it"),
                    );
                }
                _ => self.missing.push(path),
            }
            return Table::new();
        };
        let mut table = parse(&file.text, file.base, &mut self.issues);
        self.chain.push((path.clone(), included_at));
        let unread = Unread::default();
        let how = |clash| Laying { clash, unread: &unread };
        let mut merged = Table::new();
        if let Some(include) = table.remove("include") {
            match include.get_ref().as_array() {
                Some(list) => {
                    for item in list {
                        let Some(written) = item.get_ref().as_str() else {
                            self.incomplete = true;
                            self.issues.push(
                                Issue::new(
                                    Code::WrongType,
                                    "an include is a path in quotes",
                                    item.span(),
                                    "not a string",
                                )
                                .help("write include = [\"base.toml\"]"),
                            );
                            continue;
                        };
                        let part = self.load(&relative_to(&path, written), Some(item.span().into()));
                        merged = merge(merged, part, &mut Vec::new(), how(Clash::IsAnError), &mut self.issues);
                    }
                }
                None => {
                    self.incomplete = true;
                    self.issues.push(
                        Issue::new(Code::WrongType, "`include` is a list of files", include.span(), "not a list")
                            .help("write include = [\"base.toml\"]"),
                    );
                }
            }
        }
        self.chain.pop();
        merge(merged, table, &mut Vec::new(), how(Clash::OverlayWins), &mut self.issues)
    }
}

/// One text as a table at `base`; of its syntax errors the first is told, since the others follow from it.
pub(super) fn parse<'s>(text: &'s str, base: usize, issues: &mut Issues) -> Table<'s> {
    let (table, errors) = DeTable::parse_recoverable(text);
    if let Some(error) = errors.first() {
        let span = error.span().unwrap_or(0..0);
        let (message, help) = match error.message() {
            "duplicate key" => ("this key stands twice", Some("keep one of them")),
            message if message.starts_with("string values must be quoted") => match text.get(span.clone()) {
                Some("") | None => ("a value is missing", Some("write one after the `=`")),
                Some(_) => ("a string stands in quotes", Some("put it in quotes")),
            },
            message => (message, None),
        };
        let mut issue = Issue::new(Code::Syntax, message, span.start + base..span.end + base, "not TOML");
        issue.help = help.map(str::to_owned);
        issues.push(issue);
    }
    rebase(table.into_inner(), base)
}
