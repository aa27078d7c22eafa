//! `[workloads.NAME]`: loads by script.

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::script::Script;
use crate::spec::field::{At, Field, Later, Named};
use crate::spec::scalar::{Count, OneOf, Span_, Text, Word};
use crate::spec::scenario::{Extent, Protocol, ScriptText, UNREAD_NAME, Workload};
use crate::spec::scope::{Chosen, Kind, Scope, not_yet};
use crate::text::{Code, Issue, Span};

/// A load.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default, expecting = "a table with `node`, `script` and `transactions` or `duration`")]
#[schemars(rename = "Workload")]
pub(in crate::spec) struct RawWorkload {
    /// Node under load.
    pub(in crate::spec) node: Field<Text>,
    /// Client connections. Default 1.
    pub(in crate::spec) clients: Field<Count>,
    /// Threads of the load driver. Default: its own choice.
    pub(in crate::spec) threads: Field<Count>,
    /// Transactions of all clients together.
    pub(in crate::spec) transactions: Field<Count>,
    /// Length of the load.
    pub(in crate::spec) duration: Field<Span_>,
    /// Script in pgbench's language.
    pub(in crate::spec) script: Field<Text>,
    /// Script file, relative to this file.
    pub(in crate::spec) file: Field<Text>,
    /// How statements are sent: `prepared` (the default) or `simple`.
    pub(in crate::spec) protocol: Field<OneOf<RawProtocol>>,
    /// What runs the script: `runner`, the built-in driver.
    pub(in crate::spec) engine: Field<OneOf<RawEngine>>,
    #[schemars(skip)]
    pub(in crate::spec) builtin: Option<At<Later>>,
    #[schemars(skip)]
    pub(in crate::spec) scripts: Option<At<Later>>,
    #[schemars(skip)]
    pub(in crate::spec) cpus: Option<At<Later>>,
    #[schemars(skip)]
    pub(in crate::spec) rate: Option<At<Later>>,
}

/// How statements are sent, as written.
#[derive(Clone, Copy, Debug)]
pub(in crate::spec) enum RawProtocol {
    Prepared,
    Simple,
    Extended,
}
impl Word for RawProtocol {
    const EXPECTED: &'static str = "`prepared` or `simple`";
    const WORDS: &'static [(&'static str, Self)] =
        &[("prepared", RawProtocol::Prepared), ("simple", RawProtocol::Simple), ("extended", RawProtocol::Extended)];
}

/// What runs a script, as written.
#[derive(Clone, Copy, Debug)]
pub(in crate::spec) enum RawEngine {
    Runner,
    Pgbench,
}
impl Word for RawEngine {
    const EXPECTED: &'static str = "`runner`";
    const WORDS: &'static [(&'static str, Self)] = &[("runner", RawEngine::Runner), ("pgbench", RawEngine::Pgbench)];
}

/// Most clients a load may have: beyond it no server of this size answers.
const MAX_CLIENTS: u64 = 10_000;

pub(in crate::spec) fn lower(raw: &Named<RawWorkload>, scope: &mut Scope<'_, '_>) -> IndexMap<String, Workload> {
    let mut out = IndexMap::new();
    for (name, at) in raw {
        scope.enter("workloads", name, at.span);
        out.insert(name.value.clone(), workload(name, at, scope));
    }
    out
}

fn workload(name: &At<String>, at: &At<RawWorkload>, scope: &mut Scope<'_, '_>) -> Workload {
    let raw = &at.value;
    let place = (at.span, name.span);
    let owner = format!("workload `{}`", name.value);
    scope.later(raw.cpus.as_ref(), "cpus", "pinning");
    scope.later(raw.rate.as_ref(), "rate", "the rest of pgbench's language");
    let node = scope.required(&raw.node, "node", &owner, place).filter(|node| scope.known(Kind::Node, node));
    let small = |count: Count| u32::try_from(count.0.min(MAX_CLIENTS)).expect("bounded above");
    let clients = scope.chosen(&raw.clients, 1, small);
    let threads = scope.value(&raw.threads).map(|at| Chosen { value: small(at.value), at: Some(at.span) });
    if let Some(at) = scope.value(&raw.engine)
        && matches!(at.value.0, RawEngine::Pgbench)
    {
        scope.tell(not_yet("engine = \"pgbench\"", "pgbench as an engine", at.span));
    }
    let protocol = match scope.value(&raw.protocol) {
        None => Chosen::default_of(Protocol::Prepared),
        Some(at) => {
            let value = match at.value.0 {
                RawProtocol::Prepared => Protocol::Prepared,
                RawProtocol::Simple => Protocol::Simple,
                RawProtocol::Extended => {
                    scope.tell(not_yet("protocol = \"extended\"", "the rest of pgbench's language", at.span));
                    Protocol::Prepared
                }
            };
            Chosen { value, at: Some(at.span) }
        }
    };
    let (transactions, duration) = (scope.value(&raw.transactions), scope.value(&raw.duration));
    let given = [
        ("transactions", raw.transactions.as_ref().map(|at| at.span)),
        ("duration", raw.duration.as_ref().map(|at| at.span)),
    ];
    let one_extent = scope.exactly_one(&owner, place, &given);
    let extent = match (transactions, duration) {
        (Some(n), _) => Some(Extent::Transactions(n.value.0)),
        (_, Some(length)) => Some(Extent::Duration(length.value.0)),
        _ => None,
    };
    let script = script(&name.value, raw, &owner, place, scope);
    Workload {
        span: name.span,
        node: node.map_or_else(|| UNREAD_NAME.to_owned(), |node| node.value.0),
        clients,
        threads,
        // What is told as wrong is not run: this cell then is none that can be.
        extent: extent.filter(|_| one_extent).unwrap_or(Extent::Transactions(0)),
        protocol,
        scripts: script.into_iter().collect(),
    }
}

fn script(
    name: &str,
    raw: &RawWorkload,
    owner: &str,
    at: (Span, Span),
    scope: &mut Scope<'_, '_>,
) -> Option<ScriptText> {
    let later = scope.later(raw.builtin.as_ref(), "builtin", "pgbench as an engine")
        | scope.later(raw.scripts.as_ref(), "scripts", "the rest of pgbench's language");
    if later {
        return None;
    }
    let keys = [("script", raw.script.as_ref().map(|at| at.span)), ("file", raw.file.as_ref().map(|at| at.span))];
    if !scope.exactly_one(owner, at, &keys) {
        return None;
    }
    let text = match (&raw.script, &raw.file) {
        (Some(script), _) => scope.at(script).map(|at| At { span: at.span, value: at.value.0 }),
        (_, Some(file)) => scope.file(file),
        _ => None,
    }?;
    check(&text, raw, scope)?;
    Some(ScriptText { name: name.to_owned(), text: text.value, span: text.span })
}

/// Tells every mistake of a rendered script: at its own bytes where the script is written as it is sent, else at
/// the whole of it.
fn check(text: &At<String>, raw: &RawWorkload, scope: &mut Scope<'_, '_>) -> Option<()> {
    let simple = matches!(scope.value(&raw.protocol).map(|at| at.value.0), Some(RawProtocol::Simple));
    let mut mistakes: Vec<(std::ops::Range<usize>, String, Option<String>)> = Vec::new();
    match Script::parse(&text.value) {
        Err(errors) => mistakes.extend(errors.into_iter().map(|error| (error.range, error.message, error.help))),
        Ok(script) => {
            for (name, range) in script.undefined() {
                let help =
                    "give it a value with `\\set` before; a time or a cast needs no colon before a name".to_owned();
                mistakes.push((range.clone(), format!("the variable `:{name}` has no value here"), Some(help)));
            }
            if !simple {
                for (name, range) in script.quoted() {
                    let help = "take it out of the quotes, or choose protocol = \"simple\"".to_owned();
                    let message = format!("`:{name}` stands in quotes, where a prepared statement takes no parameter");
                    mistakes.push((range.clone(), message, Some(help)));
                }
            }
        }
    }
    let good = mistakes.is_empty();
    for (range, message, help) in mistakes {
        let line = text.value.get(range.clone()).unwrap_or_default().lines().next().unwrap_or_default().to_owned();
        let mut issue =
            Issue::new(Code::Script, message, scope.engine.place(text.span, &text.value, range), format!("`{line}`"));
        issue.help = help;
        scope.tell(issue);
    }
    good.then_some(())
}
