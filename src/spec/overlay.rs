//! Base and scenario: each `[[scenarios]]` is laid over what stands outside.

use std::path::Path;

use toml::de::DeValue;

use super::document::{Clash, Laying, Table, Value, merge};
use super::root::OVERLAY_KEYS;
use super::unread::Unread;
use super::without::leave_out;
use crate::text::suggest::nearest;
use crate::text::{Code, Issue, Issues, Span};

/// Keys that only a scenario has.
pub(super) const SCENARIO_KEYS: &[&str] = &["name", "like", "without"];

/// What holds for every scenario and cannot be changed by one.
const SPEC_KEYS: &[&str] =
    &["include", "quick", "run", "expect", "report", "scenarios", "metrics", "builds", "matrix", "compare"];

/// The name of the scenario of a spec that has none of its own.
pub(super) const DEFAULT_SCENARIO: &str = "default";

/// A scenario with everything that holds for it.
pub(super) struct Laid<'s> {
    /// Empty for one without a name, which is told.
    pub(super) name: String,
    pub(super) span: Span,
    pub(super) table: Table<'s>,
    /// What of it could not be read.
    pub(super) unread: Unread,
    /// Whether laying it told no mistake, now or for the scenario that it is like.
    pub(super) good: bool,
    /// Paths of `without` that are not there. Whether that is a mistake is known once the scenario is read: what
    /// they name may stand under a misspelt key.
    pub(super) not_there: Vec<(String, Issue)>,
}

/// The scenarios of a spec.
#[derive(Default)]
pub(super) struct Scenarios<'s> {
    pub(super) laid: Vec<Laid<'s>>,
    /// Whether each has a name; one without is told, and may be the one that is meant elsewhere.
    pub(super) all_named: bool,
    /// What of the base could not be read; it holds for every scenario too.
    pub(super) unread: Unread,
}

/// The base as it is for everything outside scenarios, and each scenario laid over it.
pub(super) fn scenarios<'s>(mut doc: Table<'s>, issues: &mut Issues) -> (Table<'s>, Scenarios<'s>) {
    let mut out = Scenarios { laid: Vec::new(), all_named: true, unread: Unread::default() };
    refuse_unknown_roots(&mut doc, &mut out.unread, issues);
    let Some(list) = doc.remove("scenarios") else {
        let mut table = doc.clone();
        table.remove("title");
        table.remove("about");
        let (name, span) = (DEFAULT_SCENARIO.to_owned(), Span::default());
        let mut unread = out.unread.clone();
        if unread.key(Span::default(), "scenarios") {
            // The scenarios stand under a misspelt key, and what they define with them.
            unread.note(None, []);
            out.all_named = false;
        }
        out.laid = vec![Laid { name, span, table, unread, good: true, not_there: Vec::new() }];
        return (doc, out);
    };
    let list_span = list.span();
    let DeValue::Array(list) = list.into_inner() else {
        issues.push(
            Issue::new(Code::WrongType, "`scenarios` is a list of tables", list_span, "not a list")
                .help("write [[scenarios]]"),
        );
        out.all_named = false;
        return (doc, out);
    };
    for item in list {
        let span = item.span();
        let DeValue::Table(over) = item.into_inner() else {
            out.all_named = false;
            issues.push(
                Issue::new(Code::WrongType, "a scenario is a table", span, "not a table").help("write [[scenarios]]"),
            );
            continue;
        };
        let mut own = Issues::default();
        let mut scenario = lay(&doc, over, span.into(), &out, &mut own);
        scenario.good &= own.is_empty() && !scenario.name.is_empty();
        out.all_named &= !scenario.name.is_empty();
        out.laid.push(scenario);
        issues.extend(own);
    }
    (doc, out)
}

fn lay<'s>(
    base: &Table<'s>,
    mut over: Table<'s>,
    span: Span,
    earlier: &Scenarios<'s>,
    issues: &mut Issues,
) -> Laid<'s> {
    let mut unread = earlier.unread.clone();
    refuse_foreign_keys(&mut over, earlier, &mut unread, issues);
    let without = over.remove("without");
    let taken = take_text(&mut over, "name", issues);
    if matches!(taken, Taken::Absent) && !unread.key(Span::default(), "name") {
        issues.push(Issue::new(Code::MissingKey, "a scenario has no name", span, "this one").help("add name = \"…\""));
    }
    let (name, name_span) = match taken {
        Taken::Text(name, at) => (name, at),
        // It is laid all the same: what else is wrong in it is told.
        Taken::Wrong | Taken::Absent => (String::new(), span),
    };
    if let Some(first) = earlier.laid.iter().find(|other| other.name == name && !name.is_empty()) {
        issues.push(
            Issue::new(Code::BadName, format!("two scenarios are named `{name}`"), name_span, "again here")
                .also(first.span, "first here")
                .help("give each its own name"),
        );
    }
    let by_name = |wanted: &str| earlier.laid.iter().find(|other| other.name == wanted);
    let like = match take_text(&mut over, "like", issues) {
        // Whatever it was to be like is not there now.
        Taken::Absent if unread.covers(&["like"]) => {
            unread.note(None, []);
            None
        }
        Taken::Absent => None,
        Taken::Wrong => {
            unread.note(None, []);
            None
        }
        // Only an earlier scenario can be meant, so there is no circle to look for.
        Taken::Text(wanted, at) => {
            if by_name(&wanted).is_none() {
                if earlier.all_named && !unread.covers(&["scenarios", &wanted]) {
                    issues.push(
                        Issue::new(
                            Code::UnknownScenario,
                            format!("no scenario before this one is named `{wanted}`"),
                            at,
                            "not defined above",
                        )
                        .suggest(&wanted, named(earlier)),
                    );
                } else {
                    unread.note(None, []);
                }
            }
            // What is most likely meant is taken, so that what the scenario changes of it is there.
            let found = by_name(&wanted).or_else(|| by_name(nearest(&wanted, named(earlier))?));
            if found.is_none() {
                unread.note(None, []);
            }
            found
        }
    };
    let (mut table, mut good) = (base.clone(), true);
    if let Some(like) = like {
        table = like.table.clone();
        unread.extend(&like.unread);
        good = like.good;
    }
    // Titles name one thing each: neither the spec's nor another scenario's is this one's.
    table.remove("title");
    table.remove("about");
    let not_there = without.map(|paths| leave_out(&mut table, &paths, issues)).unwrap_or_default();
    let how = Laying { clash: Clash::OverlayWins, unread: &unread };
    let table = merge(table, over, &mut Vec::new(), how, issues);
    Laid { name, span: name_span, table, unread, good, not_there }
}

/// Names of the scenarios that have one.
fn named<'a>(scenarios: &'a Scenarios<'_>) -> impl Iterator<Item = &'a str> {
    scenarios.laid.iter().map(|other| other.name.as_str()).filter(|name| !name.is_empty())
}

enum Taken {
    Absent,
    Wrong,
    Text(String, Span),
}

fn take_text(table: &mut Table<'_>, key: &str, issues: &mut Issues) -> Taken {
    let Some(value) = table.remove(key) else { return Taken::Absent };
    match value.get_ref().as_str() {
        Some(text) => Taken::Text(text.to_owned(), value.span().into()),
        None => {
            issues.push(
                Issue::new(Code::WrongType, format!("`{key}` is a string"), value.span(), "not a string")
                    .help(format!("write {key} = \"…\"")),
            );
            Taken::Wrong
        }
    }
}

/// Takes out and tells the top-level keys that no spec has.
fn refuse_unknown_roots(doc: &mut Table<'_>, unread: &mut Unread, issues: &mut Issues) {
    let known = || OVERLAY_KEYS.iter().chain(SPEC_KEYS).copied();
    let unknown: Vec<String> =
        doc.keys().map(|key| key.get_ref().to_string()).filter(|key| !known().any(|known| known == key)).collect();
    for key in unknown {
        let Some((written, value)) = doc.remove_entry(key.as_str()) else { continue };
        match nearest(&key, known()) {
            // What would be included may be anything.
            Some("include") => unread.note(None, []),
            None if lists_files(value.get_ref()) => unread.note(None, []),
            Some(meant) => unread.note(Some(Span::default()), [meant]),
            None => unread.note_unknown(Span::default(), &[], value.get_ref()),
        }
        issues.push(
            Issue::new(Code::UnknownKey, format!("unknown key `{key}`"), written.span(), "not a key of a spec")
                .suggest(&key, known()),
        );
    }
}

/// Whether a value is what `include` takes.
fn lists_files(value: &DeValue<'_>) -> bool {
    let is_file = |item: &Value<'_>| {
        item.get_ref().as_str().is_some_and(|path| Path::new(path).extension().is_some_and(|kind| kind == "toml"))
    };
    value.as_array().is_some_and(|list| list.iter().any(is_file))
}

/// Takes out and tells the keys that a scenario does not have.
fn refuse_foreign_keys(over: &mut Table<'_>, earlier: &Scenarios<'_>, unread: &mut Unread, issues: &mut Issues) {
    let own = || OVERLAY_KEYS.iter().chain(SCENARIO_KEYS).copied();
    let foreign: Vec<(String, Span)> = over
        .keys()
        .filter(|key| !own().any(|own| own == key.get_ref()))
        .map(|key| (key.get_ref().to_string(), key.span().into()))
        .collect();
    for (key, span) in foreign {
        let value = over.remove(key.as_str());
        if SPEC_KEYS.contains(&key.as_str()) {
            issues.push(
                Issue::new(Code::NotInScenario, format!("a scenario cannot set `{key}`"), span, "not in a scenario")
                    .help("move it out of the scenarios: it holds for all of them"),
            );
            continue;
        }
        let names_a_scenario = value
            .as_ref()
            .and_then(|value| value.get_ref().as_str())
            .is_some_and(|text| earlier.laid.iter().any(|other| other.name == text));
        match (nearest(&key, own()), &value) {
            (None, _) if names_a_scenario => unread.note(Some(Span::default()), ["like"]),
            (None, Some(value)) => unread.note_unknown(Span::default(), &[], value.get_ref()),
            (meant, _) => unread.note(Some(Span::default()), meant),
        }
        issues.push(
            Issue::new(Code::UnknownKey, format!("unknown key `{key}`"), span, "not a key of a scenario")
                .suggest(&key, own()),
        );
    }
}
