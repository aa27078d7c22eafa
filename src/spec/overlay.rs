//! Base and scenario: each `[[scenarios]]` is laid over what stands outside, then `[quick]` and the flags over all.

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::document::{Clash, Table, Value, merge, parse};
use crate::text::{Code, Issue, Issues, SourceMap, Span};

/// What a scenario may change. The schema of a scenario is cut from the spec's by the same list.
pub(super) const OVERLAY_KEYS: &[&str] = &[
    "title",
    "about",
    "vars",
    "postgres",
    "nodes",
    "setup",
    "publications",
    "subscriptions",
    "workloads",
    "phases",
    "windows",
    "marker",
    "slots",
    "standbys",
    "links",
    "coordinator",
    "verify",
];

/// Keys that only a scenario has.
pub(super) const SCENARIO_KEYS: &[&str] = &["name", "like", "without"];

/// The name of the scenario of a spec that has none of its own.
pub(super) const DEFAULT_SCENARIO: &str = "default";

/// A scenario with everything that holds for it.
pub(super) struct Laid<'s> {
    pub(super) name: String,
    pub(super) span: Span,
    pub(super) table: Table<'s>,
}

/// The base as it is for everything outside scenarios, and each scenario laid over it.
pub(super) fn scenarios<'s>(mut doc: Table<'s>, issues: &mut Issues) -> (Table<'s>, Vec<Laid<'s>>) {
    let Some(list) = doc.remove("scenarios") else {
        let mut table = doc.clone();
        table.remove("title");
        table.remove("about");
        let only = Laid { name: DEFAULT_SCENARIO.to_owned(), span: Span::default(), table };
        return (doc, vec![only]);
    };
    let list_span = list.span();
    let DeValue::Array(list) = list.into_inner() else {
        issues.push(
            Issue::new(Code::WrongType, "`scenarios` is a list of tables", list_span, "not a list")
                .help("write [[scenarios]]"),
        );
        return (doc, Vec::new());
    };
    let mut laid: Vec<Laid<'s>> = Vec::new();
    for item in list {
        let span = item.span();
        let DeValue::Table(over) = item.into_inner() else {
            issues.push(Issue::new(Code::WrongType, "a scenario is a table", span, "not a table"));
            continue;
        };
        if let Some(scenario) = lay(&doc, over, span.into(), &laid, issues) {
            laid.push(scenario);
        }
    }
    (doc, laid)
}

fn lay<'s>(
    base: &Table<'s>,
    mut over: Table<'s>,
    span: Span,
    earlier: &[Laid<'s>],
    issues: &mut Issues,
) -> Option<Laid<'s>> {
    let named = take_text(&mut over, "name", issues);
    let like = take_text(&mut over, "like", issues);
    let without = over.remove("without");
    let Some((name, name_span)) = named else {
        issues.push(Issue::new(Code::MissingKey, "a scenario has no name", span, "this one").help("add name = \"…\""));
        return None;
    };
    if let Some(first) = earlier.iter().find(|other| other.name == name) {
        issues.push(
            Issue::new(Code::BadName, format!("two scenarios are named `{name}`"), name_span, "again here")
                .also(first.span, "first here"),
        );
    }
    let mut table = match &like {
        None => base.clone(),
        // Only an earlier scenario can be meant, so there is no circle to look for.
        Some((wanted, at)) => match earlier.iter().find(|other| other.name == *wanted) {
            Some(other) => other.table.clone(),
            None => {
                issues.push(
                    Issue::new(
                        Code::UnknownScenario,
                        format!("no scenario before this one is named `{wanted}`"),
                        *at,
                        "not defined above",
                    )
                    .suggest(wanted, earlier.iter().map(|other| other.name.as_str())),
                );
                base.clone()
            }
        },
    };
    // Titles name one thing each: neither the spec's nor another scenario's is this one's.
    table.remove("title");
    table.remove("about");
    if let Some(paths) = &without {
        leave_out(&mut table, paths, issues);
    }
    refuse_foreign_keys(&mut over, issues);
    let table = merge(table, over, &mut Vec::new(), Clash::OverlayWins, issues);
    Some(Laid { name, span: name_span, table })
}

fn take_text(table: &mut Table<'_>, key: &str, issues: &mut Issues) -> Option<(String, Span)> {
    let value = table.remove(key)?;
    match value.get_ref().as_str() {
        Some(text) => Some((text.to_owned(), value.span().into())),
        None => {
            issues.push(Issue::new(Code::WrongType, format!("`{key}` is a string"), value.span(), "not a string"));
            None
        }
    }
}

fn refuse_foreign_keys(over: &mut Table<'_>, issues: &mut Issues) {
    let foreign: Vec<(String, Span)> = over
        .keys()
        .filter(|key| !OVERLAY_KEYS.contains(&key.get_ref().as_ref()))
        .map(|key| (key.get_ref().to_string(), key.span().into()))
        .collect();
    for (key, span) in foreign {
        over.remove(key.as_str());
        issues.push(
            Issue::new(Code::NotInScenario, format!("a scenario cannot set `{key}`"), span, "not in a scenario")
                .suggest(&key, OVERLAY_KEYS.iter().chain(SCENARIO_KEYS).copied()),
        );
    }
}

/// Removes `without = ["subscriptions.items", "setup.indexes"]`; in arrays of tables the name is looked for.
fn leave_out(table: &mut Table<'_>, paths: &Value<'_>, issues: &mut Issues) {
    let Some(list) = paths.get_ref().as_array() else {
        issues.push(
            Issue::new(Code::WrongType, "`without` is a list of paths", paths.span(), "not a list")
                .help("write without = [\"subscriptions.items\"]"),
        );
        return;
    };
    for item in list {
        let Some(path) = item.get_ref().as_str() else {
            issues.push(Issue::new(Code::WrongType, "a path is a string", item.span(), "not a string"));
            continue;
        };
        let parts: Vec<&str> = path.split('.').collect();
        if !remove_path(table, &parts) {
            issues.push(
                Issue::new(
                    Code::NothingToRemove,
                    format!("there is no `{path}` to leave out"),
                    item.span(),
                    "nothing of that path",
                )
                .suggest(path, known_paths(table).iter().map(String::as_str)),
            );
        }
    }
}

fn remove_path(table: &mut Table<'_>, path: &[&str]) -> bool {
    let Some((head, rest)) = path.split_first() else { return false };
    if rest.is_empty() {
        return table.remove(*head).is_some();
    }
    let mut found = false;
    // `DeTable` gives no mutable tables: each entry is taken out, changed and put back in its place.
    *table = std::mem::take(table)
        .into_iter()
        .map(|(key, value)| {
            if key.get_ref() != *head {
                return (key, value);
            }
            let span = value.span();
            let inner = match value.into_inner() {
                DeValue::Table(mut inner) => {
                    found = remove_path(&mut inner, rest);
                    DeValue::Table(inner)
                }
                DeValue::Array(array) if rest.len() == 1 => {
                    let before = array.len();
                    let kept: toml::de::DeArray<'_> = array
                        .into_iter()
                        .filter(|value| super::document::text_of(value, "name") != Some(rest[0]))
                        .collect();
                    found = kept.len() < before;
                    DeValue::Array(kept)
                }
                other => other,
            };
            (key, Spanned::new(span, inner))
        })
        .collect::<DeTable<'_>>();
    found
}

/// Paths of one and two parts, for suggestions.
fn known_paths(table: &Table<'_>) -> Vec<String> {
    let mut out = Vec::new();
    for (key, value) in table.iter().filter(|(key, _)| OVERLAY_KEYS.contains(&key.get_ref().as_ref())) {
        match value.get_ref() {
            DeValue::Table(inner) => {
                out.extend(inner.keys().map(|name| format!("{}.{}", key.get_ref(), name.get_ref())))
            }
            DeValue::Array(list) => out.extend(
                list.iter()
                    .filter_map(|item| super::document::text_of(item, "name"))
                    .map(|name| format!("{}.{name}", key.get_ref())),
            ),
            _ => {}
        }
    }
    out
}

/// Lays `[quick]` (if asked for) and each `--set` over a table, in this order.
pub(super) fn flags<'s>(table: Table<'s>, quick: bool, sources: &'s SourceMap, issues: &mut Issues) -> Table<'s> {
    let mut table = table;
    if quick && let Some(values) = table.get("quick").cloned() {
        let mut over = Table::new();
        over.insert(Spanned::new(values.span(), "vars".into()), values);
        table = merge(table, over, &mut Vec::new(), Clash::OverlayWins, issues);
    }
    for file in sources.flags() {
        let over = parse(&file.text, file.base, issues);
        table = merge(table, over, &mut Vec::new(), Clash::OverlayWins, issues);
    }
    table
}
