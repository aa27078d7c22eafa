//! References from claims and report tables to metrics, windows and scenarios: each name must exist.

use std::collections::{BTreeMap, BTreeSet};

use indexmap::IndexMap;

use crate::measure::metric::{RMGRS, ROLES};
use crate::measure::{Computed, Dim, Probe, Quantity, Reference, ReferenceError};
use crate::spec::field::At;
use crate::spec::numbered::is_copy;
use crate::spec::scalar::VarValue;
use crate::spec::unread::Unread;
use crate::text::{Code, Issue, Issues, SourceMap, Span};

/// What can be referred to, over all scenarios.
pub(super) struct Referring<'a> {
    pub(super) sources: &'a SourceMap,
    pub(super) scenarios: Vec<&'a str>,
    pub(super) windows: BTreeSet<String>,
    /// Windows that end with the last phase in every scenario that has them.
    pub(super) last_windows: BTreeSet<String>,
    pub(super) nodes: BTreeSet<String>,
    pub(super) scripts: BTreeSet<String>,
    pub(super) subscriptions: BTreeSet<String>,
    pub(super) slots: BTreeSet<String>,
    /// Nodes with `count`, and the most copies that a cell has.
    pub(super) numbered_nodes: BTreeMap<String, u64>,
    /// The same of subscriptions.
    pub(super) numbered_subscriptions: BTreeMap<String, u64>,
    /// Computed metrics by name; `None` for one that is wrong.
    pub(super) computed: IndexMap<String, Option<Computed>>,
    /// Axes of the matrix with their values.
    pub(super) axes: IndexMap<String, Vec<VarValue>>,
    /// Axes that a flag pins to one value.
    pub(super) pinned: BTreeSet<String>,
    /// The axis that `[compare]` names, if there is one.
    pub(super) compares: Option<String>,
    /// Axes that vary within a block of the matrix; within all of them under `None`.
    pub(super) varying: BTreeMap<Option<String>, Vec<String>>,
    /// Named blocks of the matrix.
    pub(super) blocks: Vec<String>,
    /// Whether `scripts` holds every name: not while a template gives one.
    pub(super) scripts_known: bool,
    /// Whether every scenario has a name.
    pub(super) scenarios_known: bool,
    /// Whether every phase of every scenario has a name, and all windows could be read.
    pub(super) windows_known: bool,
    /// What of the spec could not be read.
    pub(super) unread: &'a Unread,
}

/// The scenario of that name.
pub(super) fn scenario(name: &str, span: Span, known: &Referring<'_>, issues: &mut Issues) -> Option<String> {
    if known.scenarios.contains(&name) {
        return Some(name.to_owned());
    }
    if !known.scenarios_known || known.unread.covers(&["scenarios", name]) {
        return None;
    }
    issues.push(
        Issue::new(
            Code::UnknownScenario,
            format!("there is no scenario `{name}`"),
            span,
            "not defined under [[scenarios]]",
        )
        .suggest(name, known.scenarios.iter().copied()),
    );
    None
}

/// The block of the matrix of that name.
pub(super) fn block(name: &At<String>, known: &Referring<'_>, issues: &mut Issues) -> Option<String> {
    if known.blocks.contains(&name.value) {
        return Some(name.value.clone());
    }
    if !known.unread.covers(&["matrix"]) {
        issues.push(
            Issue::new(
                Code::UnknownAxis,
                format!("no block of the matrix is named `{}`", name.value),
                name.span,
                "not defined under [[matrix]]",
            )
            .suggest(&name.value, known.blocks.iter().map(String::as_str)),
        );
    }
    None
}

/// The quantity of that name or reference, its window and label values known.
pub(super) fn quantity(written: &At<String>, known: &Referring<'_>, issues: &mut Issues) -> Option<Quantity> {
    let text = written.value.as_str();
    if text.contains(['.', '{']) {
        return reference(written, 0..text.len(), known, issues).map(Quantity::Read);
    }
    if let Some(computed) = known.computed.get(text) {
        // One that is wrong is told where it is defined.
        return computed.clone().map(|computed| Quantity::Computed(Box::new(computed)));
    }
    if !known.unread.covers(&["metrics", text]) {
        let names = known.computed.keys().map(String::as_str);
        let issue = Issue::new(
            Code::UnknownMetric,
            format!("there is no computed metric `{text}`"),
            written.span,
            "not defined under [metrics]",
        );
        issues.push(match crate::text::suggest::nearest(text, names) {
            Some(name) => issue.help(format!("did you mean `{name}`?")),
            None => issue.help("write WINDOW.METRIC, or define it under [metrics]"),
        });
    }
    None
}

/// Whether a label means copies of what is numbered: one of them, or all as `NAME*`.
fn is_numbered(value: &str, numbered: Option<&BTreeMap<String, u64>>) -> bool {
    let of = |(base, most): (&String, &u64)| {
        let number = value.strip_prefix(base.as_str()).filter(|_| is_copy(value, base));
        number.is_some_and(|number| number == "*" || number.parse().is_ok_and(|number: u64| number <= *most))
    };
    numbered.is_some_and(|numbered| numbered.iter().any(of))
}

/// The metric of the reference at `part` of a text, its window and label values known.
pub(super) fn reference(
    written: &At<String>,
    part: std::ops::Range<usize>,
    known: &Referring<'_>,
    issues: &mut Issues,
) -> Option<Reference> {
    let whole = written.value.as_str();
    let text = &whole[part.clone()];
    // A string without escapes begins one byte after its quote; else the whole value is underlined.
    let place = |range: std::ops::Range<usize>| match known.sources.slice(written.span) {
        Some(literal) if literal.get(1..literal.len().saturating_sub(1)) == Some(whole) => {
            written.span.part(part.start + range.start + 1..part.start + range.end + 1)
        }
        _ => written.span,
    };
    let reference = match Reference::parse(text) {
        Ok(reference) => reference,
        Err(error @ (ReferenceError::Bare | ReferenceError::Malformed(_))) => {
            let range = if let ReferenceError::Malformed(range) = error { range } else { 0..text.len() };
            issues.push(
                Issue::new(Code::UnknownMetric, format!("`{text}` is no metric"), place(range), "not of the form")
                    .help("write WINDOW.METRIC or WINDOW.METRIC{label=value}"),
            );
            return None;
        }
        Err(ReferenceError::Metric(name, _)) if name.is_empty() => {
            issues.push(
                Issue::new(Code::UnknownMetric, format!("`{text}` names no metric"), written.span, "not of the form")
                    .help("write WINDOW.METRIC or WINDOW.METRIC{label=value}"),
            );
            return None;
        }
        Err(ReferenceError::Metric(name, range)) => {
            issues.push(
                Issue::new(
                    Code::UnknownMetric,
                    format!("there is no metric `{name}`"),
                    place(range),
                    "not in the catalogue",
                )
                .suggest(&name, Reference::known_metrics()),
            );
            return None;
        }
        Err(ReferenceError::Label { written, range, known }) => {
            let issue = Issue::new(
                Code::UnknownLabel,
                format!("this metric has no label `{written}`"),
                place(range),
                "no label of it",
            );
            issues.push(if known.is_empty() {
                issue.help("leave the braces out")
            } else {
                issue.suggest(&written, known)
            });
            return None;
        }
    };
    let mut good = true;
    let window_known = known.windows.contains(&reference.window);
    good &= window_known;
    let unread = ["phases", "windows"].iter().any(|table| known.unread.covers(&[table, &reference.window]));
    if !window_known && known.windows_known && !unread {
        issues.push(
            Issue::new(
                Code::UnknownPhase,
                format!("there is no phase or window `{}`", reference.window),
                place(reference.window_range.clone()),
                "neither under [[phases]] nor [windows]",
            )
            .suggest(&reference.window, known.windows.iter().map(String::as_str)),
        );
    }
    for ((dim, value), range) in reference.labels.0.iter().zip(&reference.value_ranges) {
        let mut values: Vec<&str> = match dim {
            Dim::Node => known.nodes.iter().map(String::as_str).collect(),
            Dim::Script => known.scripts.iter().map(String::as_str).collect(),
            Dim::Subscription => known.subscriptions.iter().map(String::as_str).collect(),
            Dim::Slot => known.slots.iter().map(String::as_str).collect(),
            Dim::Role => ROLES.to_vec(),
            Dim::Rmgr => RMGRS.to_vec(),
            Dim::Table => Vec::new(),
        };
        let (certain, table) = match dim {
            Dim::Node => (true, "nodes"),
            Dim::Script => (known.scripts_known, "workloads"),
            Dim::Subscription => (true, "subscriptions"),
            Dim::Slot => (true, "slots"),
            Dim::Role | Dim::Rmgr => (true, ""),
            // A publication may hold tables that no one has named.
            Dim::Table => (false, ""),
        };
        let numbered = match dim {
            Dim::Node => Some(&known.numbered_nodes),
            Dim::Subscription => Some(&known.numbered_subscriptions),
            _ => None,
        };
        if values.contains(&value.as_str()) || is_numbered(value, numbered) {
            continue;
        }
        let all: Vec<String> = numbered.into_iter().flat_map(BTreeMap::keys).map(|base| format!("{base}*")).collect();
        values.extend(all.iter().map(String::as_str));
        good &= !certain;
        if certain && !known.unread.covers(&[table, value]) {
            good = false;
            issues.push(
                Issue::new(
                    match dim {
                        Dim::Node => Code::UnknownNode,
                        Dim::Slot => Code::UnknownSlot,
                        _ => Code::UnknownLabel,
                    },
                    format!("there is no {} `{value}`", dim.as_str()),
                    place(range.clone()),
                    "not defined",
                )
                .suggest(value, values),
            );
        }
    }
    let settled = reference.metric.needs.iter().find_map(|probe| match probe {
        Probe::WalStatistics => {
            Some(", or use what is known of any: `wal_lsn_bytes`, `wal_rmgr_bytes`, `wal_rmgr_records`")
        }
        Probe::SlotStatistics => Some(""),
        _ => None,
    });
    if good
        && known.windows_known
        && let Some(instead) = settled
        && !known.last_windows.contains(&reference.window)
    {
        issues.push(
            Issue::new(
                Code::Impossible,
                format!("`{}` is exact only at the end of a run", reference.metric.name),
                place(reference.window_range.clone()),
                "does not end with the last phase",
            )
            .help(format!("name a window that ends with the last phase{instead}")),
        );
        return None;
    }
    good.then_some(reference)
}
