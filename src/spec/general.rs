//! Mistakes that belong to no one scenario.

use std::collections::BTreeSet;
use std::path::Path;

use super::root::RawSpec;
use super::scalar::VarValue;
use super::tables::run::{Order, Run};
use super::unread::Unread;
use super::{Options, overlay};
use crate::text::{Code, Issue, Issues, SourceMap, Span};

/// Tells an order that pairs what nothing names.
pub(super) fn tell_uncompared(run: &Run, compare: Option<Span>, issues: &mut Issues) {
    if let (Order::Paired, Some(order), None) = (run.order.value, run.order.at, compare) {
        issues.push(
            Issue::new(
                Code::MissingKey,
                "order = \"paired\" compares two sides, and none are named",
                order,
                "of what?",
            )
            .help("add [compare] with axis, of, to and metric"),
        );
    }
}

/// Tells scenarios without a phase: all of them at the beginning of the spec, one of several at its name.
pub(super) fn tell_no_phases(
    root: &Path,
    sources: &SourceMap,
    laid: &[overlay::Laid<'_>],
    raws: &[(RawSpec, Unread)],
    issues: &mut Issues,
) {
    let idle: Vec<&overlay::Laid<'_>> = laid
        .iter()
        .zip(raws)
        .filter(|(_, (raw, unread))| raw.phases.is_empty() && !unread.covers(&["phases"]))
        .map(|(scenario, _)| scenario)
        .collect();
    let tell = |issue: Issue| issue.help("add [[phases]] with a name and `run = [\"workload\"]`");
    if idle.len() == laid.len() && !idle.is_empty() {
        let whole = sources
            .by_path(&crate::text::source::normal(root))
            .map(crate::text::source::File::span)
            .unwrap_or_default();
        let start = Span { start: whole.start, end: whole.start };
        issues.push(tell(Issue::new(Code::MissingKey, "the spec has no phases", start, "nothing to measure")));
        return;
    }
    for scenario in idle {
        let message = format!("scenario `{}` has no phases", scenario.name);
        issues.push(tell(Issue::new(Code::MissingKey, message, scenario.span, "nothing to measure")));
    }
}

/// Mistakes that do not belong to one scenario.
pub(super) fn tell_general(
    base: &RawSpec,
    unread: &Unread,
    sources: &SourceMap,
    options: Options,
    issues: &mut Issues,
) {
    for (name, at) in &base.quick {
        if !base.vars.contains_key(name.value.as_str()) && !unread.covers(&["vars", &name.value]) {
            issues.push(unknown_variable(&name.value, name.span, base));
        } else if options.quick && at.value == VarValue::Str(String::new()) {
            issues.push(Issue::new(Code::WrongType, "a quick value is empty", at.span, "empty"));
        }
    }
    // A bare `--set` names a variable that exists: a flag of one part sets `vars.NAME`.
    for (name, at) in &base.vars {
        let in_flag = sources.flags().any(|file| file.base <= at.span.start && at.span.start < file.span().end);
        let defined = sources
            .files()
            .filter(|file| !sources.flags().any(|flag| flag.base == file.base))
            .any(|file| toml_vars(&file.text).contains(&name.value));
        if in_flag && !defined && !unread.covers(&["vars"]) {
            issues.push(unknown_variable(&name.value, name.span, base));
        }
    }
}

/// Names under `[vars]` of a text.
fn toml_vars(text: &str) -> BTreeSet<String> {
    let (table, _) = toml::de::DeTable::parse_recoverable(text);
    let names = |table: &toml::de::DeTable<'_>| {
        table.get("vars").and_then(|vars| {
            vars.get_ref().as_table().map(|vars| vars.keys().map(|key| key.get_ref().to_string()).collect::<Vec<_>>())
        })
    };
    let table = table.into_inner();
    let mut out: BTreeSet<String> = names(&table).into_iter().flatten().collect();
    if let Some(list) = table.get("scenarios").and_then(|list| list.get_ref().as_array().cloned()) {
        for item in &list {
            out.extend(item.get_ref().as_table().and_then(names).into_iter().flatten());
        }
    }
    out
}

fn unknown_variable(name: &str, span: Span, base: &RawSpec) -> Issue {
    let known: Vec<&str> = base.vars.keys().map(|key| key.value.as_str()).filter(|other| *other != name).collect();
    Issue::new(Code::UnknownVariable, format!("no variable is named `{name}`"), span, "not defined under [vars]")
        .suggest(name, known)
}
