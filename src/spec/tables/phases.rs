//! `[[phases]]` and `[windows]`: one clock each, and names for consecutive ones.

use std::collections::HashMap;
use std::time::Duration;

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::Deserialize;

use super::setup::{RawNodes, name_of, nodes, sql_or_file};
use crate::spec::field::{At, Field, Later, Templated};
use crate::spec::numbered::resolve;
use crate::spec::scalar::{Flag, OneOf, Span_, Text, Word};
use crate::spec::scenario::{Action, Body, Phase, Step};
use crate::spec::scope::{Kind, Scope};
use crate::text::{Code, Issue, Span};

/// A phase: one clock.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default, expecting = "a table with `name` and one of `run`, `wait` and `hold`")]
#[schemars(rename = "Phase")]
pub(in crate::spec) struct RawPhase {
    /// Name, first part of its metrics.
    pub(in crate::spec) name: Option<At<String>>,
    /// The phase that a scenario's new one stands behind; without it, new phases come last.
    pub(in crate::spec) after: Option<At<String>>,
    /// Done and complete before the clock starts.
    pub(in crate::spec) prepare: Vec<At<RawAction>>,
    /// First thing inside the clock; in a phase that waits for the marker, right after its commit.
    pub(in crate::spec) start: Vec<At<RawAction>>,
    /// Workloads to run, all at once, until each has ended.
    pub(in crate::spec) run: Option<At<Vec<At<Templated<Text>>>>>,
    /// What to wait for: `applied`, the marker being visible on every downstream; `received`, its having come there;
    /// `synced`, every table of every subscription being ready.
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
    /// Subscription to create here instead of in the building, as "subscriptions.NAME"; with wait = "synced" the phase
    /// is its initial copy.
    create: Field<Text>,
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
    const EXPECTED: &'static str = "`applied`, `received` or `synced`";
    const WORDS: &'static [(&'static str, Self)] =
        &[("applied", RawWait::Applied), ("received", RawWait::Received), ("synced", RawWait::Synced)];
}

/// Names for consecutive phases.
pub(in crate::spec) type RawWindows = IndexMap<At<String>, At<Vec<At<String>>>>;

/// Bound of a phase when the spec does not say.
const DEFAULT_TIMEOUT: Duration = Duration::from_mins(10);

pub(in crate::spec) fn lower(raw: &[At<RawPhase>], scope: &mut Scope<'_, '_>) -> Vec<Phase> {
    let mut out: Vec<Phase> = Vec::new();
    for at in raw {
        let raw = &at.value;
        let taken = out.iter().map(|phase| phase.name.as_str());
        let name = name_of(raw.name.as_ref(), "a phase", at.span, taken, scope);
        let owner = name.as_ref().map_or_else(|| "a phase".to_owned(), |name| format!("phase `{name}`"));
        scope.later(raw.at.as_ref(), "at", "events in a phase");
        let prepare = steps(&raw.prepare, scope);
        let start = steps(&raw.start, scope);
        let span = raw.name.as_ref().map_or(at.span, |name| name.span);
        // A phase whose body is wrong stands all the same: windows name it, and its actions are checked.
        let body = body(&owner, raw, (at.span, span), scope).unwrap_or(Body::Run(Vec::new()));
        let timeout = scope.chosen(&raw.timeout, DEFAULT_TIMEOUT, |length| length.0);
        let measure = scope.value(&raw.measure).is_none_or(|flag| flag.value.0);
        if let Some(name) = name {
            out.push(Phase { name, span, prepare, start, body, timeout, measure });
        }
    }
    check_created(&out, scope);
    out
}

/// A subscription is created once, before anything else is done with it, and not where the marker would be committed
/// before.
fn check_created(phases: &[Phase], scope: &mut Scope<'_, '_>) {
    let mut first: HashMap<&str, &Step> = HashMap::new();
    for step in phases.iter().flat_map(|phase| phase.prepare.iter().chain(&phase.start)) {
        let (Action::Create(name) | Action::Disable(name) | Action::Enable(name) | Action::Refresh(name)) =
            &step.action
        else {
            continue;
        };
        let before = *first.entry(name).or_insert(step);
        if matches!(step.action, Action::Create(_)) && !std::ptr::eq(before, step) {
            let message = format!("subscription `{name}` is created after something was done with it");
            scope.tell(
                Issue::new(Code::Impossible, message, step.span, "created here")
                    .also(before.span, "used here")
                    .help("create it once, before anything else is done with it"),
            );
        }
    }
    for phase in phases.iter().filter(|phase| matches!(phase.body, Body::WaitApplied | Body::WaitReceived)) {
        for step in phase.start.iter().filter(|step| matches!(step.action, Action::Create(_))) {
            let message = format!("phase `{}` commits its marker before the subscription is created", phase.name);
            scope.tell(
                Issue::new(Code::Impossible, message, step.span, "created too late")
                    .help("create it in `prepare`, or in a phase of its own with wait = \"synced\""),
            );
        }
    }
}

/// What fills a phase. `table` is where it stands, `span` where its name does.
fn body(owner: &str, raw: &RawPhase, (table, span): (Span, Span), scope: &mut Scope<'_, '_>) -> Option<Body> {
    let keys = [
        ("run", raw.run.as_ref().map(|at| at.span)),
        ("wait", raw.wait.as_ref().map(|at| at.span)),
        ("hold", raw.hold.as_ref().map(|at| at.span)),
    ];
    let unread = keys.iter().any(|(key, _)| scope.unread.key(table, key));
    let empty = raw.run.as_ref().is_some_and(|list| list.value.is_empty());
    if !unread && keys.iter().filter(|(key, span)| span.is_some() && !(*key == "run" && empty)).count() == 0 {
        scope.tell(
            Issue::new(Code::PhaseIdle, format!("{owner} neither runs nor waits"), span, "does nothing")
                .help("add exactly one of `run = [\"workload\"]`, `wait = \"applied\"` and `hold = \"30s\"`"),
        );
        return None;
    }
    if !scope.exactly_one(owner, (table, span), &keys) {
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
        RawWait::Received => Some(Body::WaitReceived),
        RawWait::Synced => Some(Body::WaitSynced),
    }
}

fn steps(raw: &[At<RawAction>], scope: &mut Scope<'_, '_>) -> Vec<Step> {
    let mut out = Vec::new();
    for at in raw {
        out.extend(actions(at, scope).into_iter().map(|action| Step { action, span: at.span }));
    }
    out
}

/// What is to be done; several of a kind where a name means several subscriptions.
fn actions(at: &At<RawAction>, scope: &mut Scope<'_, '_>) -> Vec<Action> {
    let raw = &at.value;
    let of = |field: &Field<Text>| field.as_ref().map(|at| at.span);
    let keys = [
        ("create", of(&raw.create)),
        ("disable", of(&raw.disable)),
        ("enable", of(&raw.enable)),
        ("refresh", of(&raw.refresh)),
        ("sql", of(&raw.sql)),
        ("file", of(&raw.file)),
        ("checkpoint", raw.checkpoint.as_ref().map(|at| at.span)),
    ];
    if !scope.exactly_one("an action", (at.span, at.span), &keys) {
        return Vec::new();
    }
    if let Some(list) = &raw.checkpoint {
        return vec![Action::Checkpoint(nodes(list, scope))];
    }
    if raw.sql.is_some() || raw.file.is_some() {
        let Some(list) = &raw.nodes else {
            scope.missing_key("nodes", "an action that runs SQL", (at.span, at.span));
            return Vec::new();
        };
        let nodes = nodes(list, scope);
        let sql = sql_or_file(raw.sql.as_ref(), raw.file.as_ref(), "an action", (at.span, at.span), scope);
        return sql.map(|sql| Action::Sql { nodes, sql: sql.value }).into_iter().collect();
    }
    for (field, make) in [
        (&raw.create, Action::Create as fn(String) -> Action),
        (&raw.disable, Action::Disable),
        (&raw.enable, Action::Enable),
        (&raw.refresh, Action::Refresh),
    ] {
        if field.is_some() {
            return subscriptions(field, scope).into_iter().map(make).collect();
        }
    }
    Vec::new()
}

/// A subscription named as "subscriptions.NAME", or all of a numbered one as "subscriptions.NAME*".
fn subscriptions(field: &Field<Text>, scope: &mut Scope<'_, '_>) -> Vec<String> {
    let Some(written) = scope.value(field) else { return Vec::new() };
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
        return Vec::new();
    };
    resolve(Kind::Subscription, &At { span: written.span, value: Text(name.to_owned()) }, scope)
}

/// Windows by name, each phase one of its own. `written` are the phases as they are written, `phases` those that
/// could be read.
pub(in crate::spec) fn windows(
    raw: &RawWindows,
    written: &[At<RawPhase>],
    phases: &[Phase],
    scope: &mut Scope<'_, '_>,
) -> IndexMap<String, (usize, usize)> {
    let mut out: IndexMap<String, (usize, usize)> =
        phases.iter().enumerate().map(|(index, phase)| (phase.name.clone(), (index, index))).collect();
    // A phase without a name is told; it may be the one that a window means.
    let all_named = written.iter().all(|phase| phase.value.name.is_some()) && !scope.unread.covers(&["phases"]);
    // A phase whose place could not be had is told, and stands last.
    let all_placed = written.iter().all(|phase| {
        let after = phase.value.after.as_ref();
        !scope.unread.key(phase.span, "after")
            && after.is_none_or(|after| phases.iter().any(|other| other.name == after.value))
    });
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
                None if !all_named || scope.unread.covers(&["phases", &phase.value]) => scope.failed = true,
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
        if indices.len() < list.value.len() || scope.unread.covers(&["windows", &name.value]) {
            continue;
        }
        match (indices.first(), indices.windows(2).all(|pair| pair[1] == pair[0] + 1)) {
            (Some(first), true) => {
                out.insert(name.value.clone(), (*first, first + indices.len() - 1));
            }
            _ if !all_placed => scope.failed = true,
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
