//! `[[phases]]` and `[windows]`: one clock each, and names for consecutive ones.

use std::time::Duration;

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::Deserialize;

use super::setup::{RawNodes, name_of, nodes, sql_or_file};
use crate::spec::field::{At, Field, Later, Templated};
use crate::spec::scalar::{Flag, OneOf, Span_, Text, Word};
use crate::spec::scenario::{Action, Body, Phase, Step};
use crate::spec::scope::{Kind, Scope, not_yet};
use crate::text::{Code, Issue};

/// A phase: one clock.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default, expecting = "a table with `name` and one of `run`, `wait` and `hold`")]
#[schemars(rename = "Phase")]
pub(in crate::spec) struct RawPhase {
    /// Name, first part of its metrics.
    #[schemars(required)]
    pub(in crate::spec) name: Option<At<String>>,
    /// The phase that a scenario's new one stands behind; without it, new phases come last.
    pub(in crate::spec) after: Option<At<String>>,
    /// Done and complete before the clock starts.
    pub(in crate::spec) prepare: Vec<At<RawAction>>,
    /// First thing inside the clock; in a phase that waits for the marker, right after its commit.
    pub(in crate::spec) start: Vec<At<RawAction>>,
    /// Workloads to run, all at once, until each has ended.
    pub(in crate::spec) run: Option<At<Vec<At<Templated<Text>>>>>,
    /// What to wait for: `applied`, the marker being visible on every downstream.
    pub(in crate::spec) wait: Field<OneOf<RawWait>>,
    /// A length of time to let pass.
    pub(in crate::spec) hold: Field<Span_>,
    /// Bound after which the phase fails with its cause. Default 10min.
    pub(in crate::spec) timeout: Field<Span_>,
    /// Whether its figures count; false for a warm-up. Default true.
    pub(in crate::spec) measure: Field<Flag>,
    #[schemars(skip)]
    pub(in crate::spec) at: Option<At<Later>>,
}

/// What to do; exactly one of its keys.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default, expecting = "a table such as { disable = \"subscriptions.items\" }")]
#[schemars(rename = "Action")]
pub(in crate::spec) struct RawAction {
    /// Subscription to disable, as "subscriptions.NAME"; complete when no apply worker runs and its slot is inactive.
    disable: Field<Text>,
    /// Subscription to enable, as "subscriptions.NAME".
    enable: Field<Text>,
    /// Subscription whose publications are read again, as "subscriptions.NAME".
    refresh: Field<Text>,
    /// SQL to run on `nodes`.
    sql: Field<Text>,
    /// SQL file to run on `nodes`.
    file: Field<Text>,
    /// Nodes of `sql` and `file`.
    nodes: Option<At<RawNodes>>,
    /// Nodes to checkpoint: a list, or "all".
    checkpoint: Option<At<RawNodes>>,
}

/// What a phase waits for, as written.
#[derive(Clone, Copy, Debug)]
pub(in crate::spec) enum RawWait {
    Applied,
    Received,
    Synced,
}
impl Word for RawWait {
    const EXPECTED: &'static str = "`applied`";
    const WORDS: &'static [(&'static str, Self)] =
        &[("applied", RawWait::Applied), ("received", RawWait::Received), ("synced", RawWait::Synced)];
}

/// Names for consecutive phases.
pub(in crate::spec) type RawWindows = IndexMap<At<String>, At<Vec<At<String>>>>;

/// Bound of a phase when the spec does not say.
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(600);

pub(in crate::spec) fn lower(raw: &[At<RawPhase>], scope: &mut Scope<'_, '_>) -> Vec<Phase> {
    let mut out: Vec<Phase> = Vec::new();
    for at in raw {
        let raw = &at.value;
        let taken = out.iter().map(|phase| phase.name.as_str());
        let Some(name) = name_of(raw.name.as_ref(), "a phase", at.span, taken, scope) else { continue };
        scope.later(raw.at.as_ref(), "at", "events in a phase");
        let prepare = steps(&raw.prepare, scope);
        let start = steps(&raw.start, scope);
        let span = raw.name.as_ref().map_or(at.span, |name| name.span);
        let Some(body) = body(&name, raw, span, scope) else { continue };
        let timeout = scope.chosen(&raw.timeout, DEFAULT_TIMEOUT, |length| length.0);
        let measure = scope.value(&raw.measure).is_none_or(|flag| flag.value.0);
        out.push(Phase { name, span, prepare, start, body, timeout, measure });
    }
    out
}

fn body(name: &str, raw: &RawPhase, span: crate::text::Span, scope: &mut Scope<'_, '_>) -> Option<Body> {
    let keys = [
        ("run", raw.run.as_ref().map(|at| at.span)),
        ("wait", raw.wait.as_ref().map(|at| at.span)),
        ("hold", raw.hold.as_ref().map(|at| at.span)),
    ];
    if keys.iter().all(|(_, span)| span.is_none()) {
        scope.tell(
            Issue::new(Code::PhaseIdle, format!("phase `{name}` neither runs nor waits"), span, "does nothing")
                .help("add exactly one of `run = [\"workload\"]`, `wait = \"applied\"` and `hold = \"30s\"`"),
        );
        return None;
    }
    if !scope.exactly_one(&format!("phase `{name}`"), span, &keys) {
        return None;
    }
    if let Some(list) = &raw.run {
        let mut run = Vec::new();
        for field in &list.value {
            if let Some(workload) = scope.at(field)
                && scope.known(Kind::Workload, &workload)
            {
                run.push(workload.value.0);
            }
        }
        return Some(Body::Run(run));
    }
    if raw.hold.is_some() {
        return scope.value(&raw.hold).map(|length| Body::Hold(length.value.0));
    }
    let wait = scope.value(&raw.wait)?;
    match wait.value.0 {
        RawWait::Applied => Some(Body::WaitApplied),
        RawWait::Received => {
            scope.tell(not_yet("wait = \"received\"", "decode-only slots", wait.span));
            None
        }
        RawWait::Synced => {
            scope.tell(not_yet("wait = \"synced\"", "initial sync as a phase", wait.span));
            None
        }
    }
}

fn steps(raw: &[At<RawAction>], scope: &mut Scope<'_, '_>) -> Vec<Step> {
    raw.iter().filter_map(|at| Some(Step { action: action(at, scope)?, span: at.span })).collect()
}

fn action(at: &At<RawAction>, scope: &mut Scope<'_, '_>) -> Option<Action> {
    let raw = &at.value;
    let of = |field: &Field<Text>| field.as_ref().map(|at| at.span);
    let keys = [
        ("disable", of(&raw.disable)),
        ("enable", of(&raw.enable)),
        ("refresh", of(&raw.refresh)),
        ("sql", of(&raw.sql)),
        ("file", of(&raw.file)),
        ("checkpoint", raw.checkpoint.as_ref().map(|at| at.span)),
    ];
    if !scope.exactly_one("an action", at.span, &keys) {
        return None;
    }
    if let Some(list) = &raw.checkpoint {
        return Some(Action::Checkpoint(nodes(list, scope)));
    }
    if raw.sql.is_some() || raw.file.is_some() {
        let Some(list) = &raw.nodes else {
            scope.missing_key("nodes", "an action that runs SQL", at.span);
            return None;
        };
        let nodes = nodes(list, scope);
        let sql = sql_or_file(raw.sql.as_ref(), raw.file.as_ref(), "an action", at.span, scope)?;
        return Some(Action::Sql { nodes, sql: sql.value });
    }
    for (field, make) in [
        (&raw.disable, Action::Disable as fn(String) -> Action),
        (&raw.enable, Action::Enable),
        (&raw.refresh, Action::Refresh),
    ] {
        if field.is_some() {
            return subscription(field, scope).map(make);
        }
    }
    None
}

/// A subscription named as "subscriptions.NAME".
fn subscription(field: &Field<Text>, scope: &mut Scope<'_, '_>) -> Option<String> {
    let written = scope.value(field)?;
    let Some(name) = written.value.0.strip_prefix("subscriptions.") else {
        scope.tell(
            Issue::new(
                Code::UnknownSubscription,
                format!("`{}` names no subscription", written.value.0),
                written.span,
                "not \"subscriptions.NAME\"",
            )
            .help(format!("write \"subscriptions.{}\"", written.value.0)),
        );
        return None;
    };
    let name = At { span: written.span, value: Text(name.to_owned()) };
    scope.known(Kind::Subscription, &name).then_some(name.value.0)
}

/// Windows by name, each phase one of its own.
pub(in crate::spec) fn windows(
    raw: &RawWindows,
    phases: &[Phase],
    scope: &mut Scope<'_, '_>,
) -> IndexMap<String, (usize, usize)> {
    let mut out: IndexMap<String, (usize, usize)> =
        phases.iter().enumerate().map(|(index, phase)| (phase.name.clone(), (index, index))).collect();
    for (name, list) in raw {
        super::setup::check_name(name, scope);
        if phases.iter().any(|phase| phase.name == name.value) {
            scope.tell(
                Issue::new(
                    Code::BadName,
                    format!("`{}` is both a phase and a window", name.value),
                    name.span,
                    "a window",
                )
                .help("give the window another name; each phase is a window by its own"),
            );
            continue;
        }
        let mut indices = Vec::new();
        for phase in &list.value {
            match phases.iter().position(|other| other.name == phase.value) {
                Some(index) => indices.push(index),
                None => scope.tell(
                    Issue::new(
                        Code::UnknownPhase,
                        format!("there is no phase `{}`", phase.value),
                        phase.span,
                        "not defined under [[phases]]",
                    )
                    .suggest(&phase.value, phases.iter().map(|phase| phase.name.as_str())),
                ),
            }
        }
        if indices.len() < list.value.len() {
            continue;
        }
        match (indices.first(), indices.windows(2).all(|pair| pair[1] == pair[0] + 1)) {
            (Some(first), true) => {
                out.insert(name.value.clone(), (*first, first + indices.len() - 1));
            }
            _ => scope.tell(
                Issue::new(
                    Code::Impossible,
                    format!("the phases of window `{}` do not follow one another", name.value),
                    list.span,
                    "not consecutive",
                )
                .help("name consecutive phases in their order"),
            ),
        }
    }
    out
}
