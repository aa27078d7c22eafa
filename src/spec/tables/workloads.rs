//! `[workloads.NAME]`: loads by script.

use std::time::Duration;

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::Deserialize;

use super::pgbench;
use crate::script::{Builtin, Script};
use crate::spec::field::{At, Field, Later, Named, Templated};
use crate::spec::scalar::{Count, Flag, OneOf, Rate, Span_, Text, Tries, Word};
use crate::spec::scenario::{Engine, Extent, Protocol, ScriptText, Setup, UNREAD_NAME, Workload};
use crate::spec::scope::{Chosen, Kind, Scope, is_name};
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
    /// Threads of the load driver. Default: its own choice; 1 under pgbench.
    pub(in crate::spec) threads: Field<Count>,
    /// Transactions of all clients together; under pgbench a multiple of `clients`.
    pub(in crate::spec) transactions: Field<Count>,
    /// Length of the load; under pgbench whole seconds.
    pub(in crate::spec) duration: Field<Span_>,
    /// Transactions a second that all clients together begin, on a Poisson schedule from which latencies are counted
    /// (pgbench's `--rate`). Default: as fast as the clients can.
    pub(in crate::spec) rate: Field<Rate>,
    /// From which latency on a committed transaction counts as late; under a rate one that is later than this before it
    /// begins is skipped (pgbench's `--latency-limit`). Default: none.
    pub(in crate::spec) latency_limit: Field<Span_>,
    /// How often a transaction is tried that fails with 40001 or 40P01 (pgbench's `--max-tries`); 0 for as long as
    /// `latency_limit` and `duration` let it. Default 1.
    pub(in crate::spec) max_tries: Field<Tries>,
    /// Script in pgbench's language.
    pub(in crate::spec) script: Field<Text>,
    /// Script file, relative to this file.
    pub(in crate::spec) file: Field<Text>,
    /// Several scripts: each transaction runs one of them, drawn by weight.
    pub(in crate::spec) scripts: Option<At<Vec<At<RawScript>>>>,
    /// How statements are sent: `prepared` (the default), `extended` or `simple`.
    pub(in crate::spec) protocol: Field<OneOf<RawProtocol>>,
    /// What runs the scripts: `runner` (the default), the built-in driver; or `pgbench` itself.
    pub(in crate::spec) engine: Field<OneOf<Engine>>,
    /// Whether pgbench logs each transaction (its `--log`), from which its latencies are read; false where its rate and
    /// CPU alone are wanted, undisturbed. The built-in driver writes none either way. Default true.
    pub(in crate::spec) log: Field<Flag>,
    /// A script of pgbench's own: `tpcb-like`, `simple-update` or `select-only`.
    pub(in crate::spec) builtin: Field<OneOf<Builtin>>,
    #[schemars(skip)]
    pub(in crate::spec) cpus: Option<At<Later>>,
}

impl RawWorkload {
    /// The names of its scripts, the labels of their metrics; none for one that a template gives.
    pub(in crate::spec) fn script_names(&self, own: &str) -> Vec<Option<String>> {
        let Some(list) = &self.scripts else {
            return vec![Some(own.to_owned())];
        };
        let literal = |script: &At<RawScript>| match &script.value.name.as_ref()?.value {
            Templated::Literal(name) => Some(name.0.clone()),
            Templated::Template(_) => None,
        };
        list.value.iter().map(literal).collect()
    }
}

/// One of several scripts.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(
    deny_unknown_fields,
    default,
    expecting = "a table such as { name = \"read\", weight = 80, file = \"read.pgbench\" }"
)]
#[schemars(rename = "WorkloadScript")]
pub(in crate::spec) struct RawScript {
    /// Name, the label of its metrics.
    #[schemars(required)]
    pub(in crate::spec) name: Field<Text>,
    /// Its share among the workload's scripts. Default 1.
    pub(in crate::spec) weight: Field<Count>,
    /// Script in pgbench's language.
    pub(in crate::spec) script: Field<Text>,
    /// Script file, relative to this file.
    pub(in crate::spec) file: Field<Text>,
    /// A script of pgbench's own: `tpcb-like`, `simple-update` or `select-only`.
    pub(in crate::spec) builtin: Field<OneOf<Builtin>>,
}

/// How statements are sent, as written.
#[derive(Clone, Copy, Debug)]
pub(in crate::spec) enum RawProtocol {
    Prepared,
    Simple,
    Extended,
}
impl Word for RawProtocol {
    const EXPECTED: &'static str = "`prepared`, `extended` or `simple`";
    const WORDS: &'static [(&'static str, Self)] =
        &[("prepared", RawProtocol::Prepared), ("simple", RawProtocol::Simple), ("extended", RawProtocol::Extended)];
}

/// The largest weight; pgbench's is the same.
const MAX_WEIGHT: u64 = i32::MAX as u64;

/// Most clients a load may have: beyond it no server of this size answers.
const MAX_CLIENTS: u64 = 10_000;

/// `setup` are the scenario's steps, of which `all_setup` tells whether they are all there.
pub(in crate::spec) fn lower(
    raw: &Named<RawWorkload>,
    setup: &[Setup],
    all_setup: bool,
    scope: &mut Scope<'_, '_>,
) -> IndexMap<String, Workload> {
    let mut out = IndexMap::new();
    for (name, at) in raw {
        scope.enter("workloads", name, at.span);
        let mut load = workload(name, at, scope);
        load.scale = pgbench::scale_of(setup, &load.node);
        if all_setup && load.node != UNREAD_NAME {
            pgbench::check_tables(&name.value, &load, setup, scope);
        }
        out.insert(name.value.clone(), load);
    }
    out
}

fn workload(name: &At<String>, at: &At<RawWorkload>, scope: &mut Scope<'_, '_>) -> Workload {
    let raw = &at.value;
    let place = (at.span, name.span);
    let owner = format!("workload `{}`", name.value);
    scope.later(raw.cpus.as_ref(), "cpus", "pinning");
    let node = scope.required(&raw.node, "node", &owner, place).filter(|node| scope.known(Kind::Node, node));
    let small = |count: Count| u32::try_from(count.0.min(MAX_CLIENTS)).expect("bounded above");
    let clients = scope.chosen(&raw.clients, 1, small);
    let threads = scope.value(&raw.threads).map(|at| Chosen { value: small(at.value), at: Some(at.span) });
    let engine = scope.chosen(&raw.engine, Engine::Runner, |engine: OneOf<Engine>| engine.0);
    let protocol = match scope.value(&raw.protocol) {
        None => Chosen::default_of(Protocol::Prepared),
        Some(at) => {
            let value = match at.value.0 {
                RawProtocol::Prepared => Protocol::Prepared,
                RawProtocol::Simple => Protocol::Simple,
                RawProtocol::Extended => Protocol::Extended,
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
    let rate = scope.value(&raw.rate).map(|at| Chosen { value: at.value.0, at: Some(at.span) });
    let latency_limit = latency_limit(raw, scope);
    let max_tries = scope.chosen(&raw.max_tries, 1, |tries: Tries| tries.0);
    if let (0, Some(at)) = (max_tries.value, max_tries.at)
        && raw.latency_limit.is_none()
        && raw.transactions.is_some()
    {
        scope.tell(
            Issue::new(Code::Impossible, "nothing would end the tries of a transaction", at, "0 is no bound")
                .help("add `latency_limit`, use `duration` instead of `transactions`, or write a bound such as 100"),
        );
    }
    let scripts = scripts(&name.value, raw, &owner, place, protocol.value, scope);
    let load = Workload {
        span: name.span,
        engine,
        node: node.map_or_else(|| UNREAD_NAME.to_owned(), |node| node.value.0),
        clients,
        threads,
        // What is told as wrong is not run: this cell then is none that can be.
        extent: extent.filter(|_| one_extent).unwrap_or(Extent::Transactions(0)),
        rate,
        latency_limit,
        max_tries,
        protocol,
        log: scope.chosen(&raw.log, true, |flag: Flag| flag.0),
        scripts: scripts.unwrap_or_default(),
        scale: None,
    };
    pgbench::check_log(&name.value, &load, scope);
    let written = raw.transactions.as_ref().map(|at| at.span).or(raw.duration.as_ref().map(|at| at.span));
    if let Some(at) = written.filter(|_| one_extent && extent.is_some()) {
        pgbench::check_extent(&name.value, &load, at, scope);
    }
    load
}

/// The limit of the latency, which no transaction would meet if it were nothing.
fn latency_limit(raw: &RawWorkload, scope: &mut Scope<'_, '_>) -> Option<Chosen<Duration>> {
    let limit = scope.value(&raw.latency_limit)?;
    if limit.value.0.is_zero() {
        scope.tell(
            Issue::new(Code::Impossible, "every transaction is later than this", limit.span, "no time at all")
                .help("write what a transaction may take, such as \"20ms\", or leave it out for no limit"),
        );
        return None;
    }
    Some(Chosen { value: limit.value.0, at: Some(limit.span) })
}

/// The scripts of a workload: its one, named like itself, or its list.
fn scripts(
    name: &str,
    raw: &RawWorkload,
    owner: &str,
    at: (Span, Span),
    protocol: Protocol,
    scope: &mut Scope<'_, '_>,
) -> Option<Vec<ScriptText>> {
    let list = raw.scripts.as_ref();
    let [script, file, builtin] = keys(&raw.script, &raw.file, &raw.builtin);
    let keys = [script, file, builtin, ("scripts", list.map(|list| list.span))];
    if !scope.exactly_one(owner, at, &keys) {
        return None;
    }
    let Some(list) = list else {
        let text = text(&raw.script, &raw.file, &raw.builtin, scope)?;
        let only = text.named(name.to_owned(), 1);
        return check(vec![only], protocol, scope);
    };
    if list.value.is_empty() {
        scope.tell(
            Issue::new(Code::Neither, format!("{owner} has an empty list of scripts"), list.span, "empty")
                .help("add one such as { name = \"read\", weight = 80, file = \"read.pgbench\" }"),
        );
    }
    let mut all: Vec<ScriptText> = Vec::new();
    let mut named: Vec<At<Text>> = Vec::new();
    for raw in &list.value {
        let (name, text) = one_of_several(owner, raw, scope);
        if let Some(name) = &name {
            if let Some(first) = named.iter().find(|known| known.value == name.value) {
                let message = format!("{owner} has two scripts named `{}`", name.value.0);
                scope.tell(
                    Issue::new(Code::Both, message, first.span, "this")
                        .also(name.span, "and this")
                        .help("give each its own name: it is the label of its metrics"),
                );
            }
            named.push(name.clone());
        }
        let weight = scope.chosen(&raw.value.weight, 1, |count: Count| count.0.min(MAX_WEIGHT) as u32);
        if let (Some(name), Some(text)) = (name, text) {
            all.push(text.named(name.value.0, weight.value));
        }
    }
    let complete = !all.is_empty() && all.len() == list.value.len();
    check(all, protocol, scope).filter(|_| complete)
}

/// The name and the text of an entry of `scripts`.
fn one_of_several(owner: &str, raw: &At<RawScript>, scope: &mut Scope<'_, '_>) -> (Option<At<Text>>, Option<Read>) {
    let (at, raw) = ((raw.span, raw.span), &raw.value);
    let owner = format!("a script of {owner}");
    let name = scope.required(&raw.name, "name", &owner, at).filter(|name| {
        let good = is_name(&name.value.0);
        if !good {
            let message = format!("`{}` is no name for a script", name.value.0);
            scope.tell(
                Issue::new(Code::BadName, message, name.span, "this name")
                    .help("use lower-case letters, digits and `_`, beginning with a letter"),
            );
        }
        good
    });
    let one = scope.exactly_one(&owner, at, &keys(&raw.script, &raw.file, &raw.builtin));
    let text = if one { text(&raw.script, &raw.file, &raw.builtin, scope) } else { None };
    (name, text)
}

/// The three ways to write a script, with the places of those that are there.
fn keys(
    script: &Field<Text>,
    file: &Field<Text>,
    builtin: &Field<OneOf<Builtin>>,
) -> [(&'static str, Option<Span>); 3] {
    let place = |field: &Field<Text>| field.as_ref().map(|at| at.span);
    [("script", place(script)), ("file", place(file)), ("builtin", builtin.as_ref().map(|at| at.span))]
}

/// A script's text as read, and the built-in script that it is.
struct Read {
    text: At<String>,
    builtin: Option<Builtin>,
}

impl Read {
    fn named(self, name: String, weight: u32) -> ScriptText {
        ScriptText { name, weight, text: self.text.value, builtin: self.builtin, span: self.text.span }
    }
}

fn text(
    script: &Field<Text>,
    file: &Field<Text>,
    builtin: &Field<OneOf<Builtin>>,
    scope: &mut Scope<'_, '_>,
) -> Option<Read> {
    if let Some(at) = scope.value(builtin) {
        let OneOf(builtin) = at.value;
        let text = At { span: at.span, value: builtin.text().to_owned() };
        return Some(Read { text, builtin: Some(builtin) });
    }
    let text = match (script, file) {
        (Some(script), _) => scope.at(script).map(|at| At { span: at.span, value: at.value.0 }),
        (_, Some(file)) => scope.file(file),
        _ => None,
    }?;
    Some(Read { text, builtin: None })
}

/// A mistake of a script: where it is in its text, what it is, the way out.
type Mistake = (std::ops::Range<usize>, String, Option<String>);

/// Tells every mistake of the rendered scripts: at its own bytes where a script is written as it is sent, else at
/// the whole of it. A client keeps its variables whichever script runs, so one may use what another gives a value.
fn check(scripts: Vec<ScriptText>, protocol: Protocol, scope: &mut Scope<'_, '_>) -> Option<Vec<ScriptText>> {
    let parsed: Vec<_> = scripts.iter().map(|script| Script::parse(&script.text)).collect();
    let elsewhere = |name: &str| parsed.iter().flatten().any(|script| parsed.len() > 1 && script.may_define(name));
    let mut good = true;
    for (text, parsed) in scripts.iter().zip(&parsed) {
        let mut mistakes: Vec<Mistake> = Vec::new();
        match parsed {
            Err(errors) => {
                let told = errors.iter().cloned();
                mistakes.extend(told.map(|error| (error.range, error.message, error.help)));
            }
            Ok(script) => {
                for (name, range) in script.undefined().iter().filter(|(name, _)| !elsewhere(name)) {
                    let help =
                        "give it a value with `\\set` before; a time or a cast needs no colon before a name".to_owned();
                    mistakes.push((range.clone(), format!("the variable `:{name}` has no value here"), Some(help)));
                }
                let help = |way: &str| Some(way.to_owned());
                if protocol == Protocol::Simple {
                    let message = "the simple protocol has no pipelines".to_owned();
                    let help = help("choose protocol = \"prepared\" or \"extended\"");
                    mistakes.extend(script.pipelines().map(|range| (range, message, help)));
                } else {
                    for (name, range) in script.quoted() {
                        let message =
                            format!("`:{name}` stands in quotes, where a prepared statement takes no parameter");
                        let help = help("take it out of the quotes, or choose protocol = \"simple\"");
                        mistakes.push((range.clone(), message, help));
                    }
                }
            }
        }
        good &= mistakes.is_empty();
        for (range, message, help) in mistakes {
            let line = text.text.get(range.clone()).unwrap_or_default().lines().next().unwrap_or_default().to_owned();
            let place = scope.engine.place(text.span, &text.text, range);
            let mut issue = Issue::new(Code::Script, message, place, format!("`{line}`"));
            issue.help = help;
            scope.tell(issue);
        }
    }
    good.then_some(scripts)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use crate::spec::{Options, Read, read};
    use crate::text::source::SourceMap;

    /// A spec of one workload, whose keys are `keys`.
    fn told(keys: &str) -> (Vec<String>, Vec<(String, u32)>) {
        let text = format!(
            "title = \"t\"\n[nodes.a]\n[[phases]]\nname = \"load\"\nrun = [\"w\"]\n\
             [workloads.w]\nnode = \"a\"\ntransactions = 1\n{keys}"
        );
        let mut sources = SourceMap::default();
        sources.add("s.toml", text);
        sources.add("read.pgbench", "SELECT :x;\n");
        let Read::Done(spec, issues) = read(Path::new("s.toml"), &sources, Options::default()) else {
            panic!("all texts are there");
        };
        let workloads = spec.cells.iter().flat_map(|cell| cell.scenario.workloads.values());
        let scripts = workloads.flat_map(|load| &load.scripts);
        (
            issues.as_slice().iter().map(|issue| issue.message.clone()).collect(),
            scripts.map(|script| (script.name.clone(), script.weight)).collect(),
        )
    }

    /// Rate, limit in ms and tries.
    type Bounds = (Option<f64>, Option<u128>, u32);

    /// Those of the workload, or the mistakes, each with its way out.
    fn bounds(keys: &str) -> Result<Bounds, Vec<(String, Option<String>)>> {
        let text = format!(
            "title = \"t\"\n[vars]\nper_second = 300\n[nodes.a]\n[[phases]]\nname = \"load\"\nrun = [\"w\"]\n\
             [workloads.w]\nnode = \"a\"\nscript = \"SELECT 1\"\n{keys}"
        );
        let mut sources = SourceMap::default();
        sources.add("s.toml", text);
        let Read::Done(spec, issues) = read(Path::new("s.toml"), &sources, Options::default()) else {
            panic!("all texts are there");
        };
        if !issues.as_slice().is_empty() {
            return Err(issues.as_slice().iter().map(|issue| (issue.message.clone(), issue.help.clone())).collect());
        }
        let load = &spec.cells[0].scenario.workloads["w"];
        let limit = load.latency_limit.as_ref().map(|limit| limit.value.as_millis());
        Ok((load.rate.as_ref().map(|rate| rate.value), limit, load.max_tries.value))
    }

    #[test]
    fn rate_limit_and_tries_are_read() {
        for (keys, expected) in [
            ("transactions = 1", (None, None, 1)),
            (
                "transactions = 1\nrate = 4000\nlatency_limit = \"20ms\"\nmax_tries = 100",
                (Some(4_000.0), Some(20), 100),
            ),
            ("transactions = 1\nrate = \"{{ per_second / 2 }}\"", (Some(150.0), None, 1)),
            ("transactions = 1\nrate = 0.5\nmax_tries = \"{{ per_second / 3 }}\"", (Some(0.5), None, 100)),
            ("duration = \"1s\"\nmax_tries = 0", (None, None, 0)),
            ("transactions = 1\nlatency_limit = \"1s\"\nmax_tries = 0", (None, Some(1_000), 0)),
        ] {
            assert_eq!(bounds(keys), Ok(expected), "{keys}");
        }
    }

    #[test]
    fn mistakes_of_rate_limit_and_tries_have_a_way_out() {
        for (keys, message, help) in [
            ("rate = 0", "0 is not a number of transactions a second above 0", "as fast as the clients can"),
            ("rate = -4.5", "-4.5 is not a number", "such as 4000"),
            ("rate = \"fast\"", "\"fast\" is not a number", "such as 4000"),
            ("rate = \"{{ per_second - 300 }}\"", "this template gives `0`", "above 0"),
            ("latency_limit = 20", "20 has no unit", "such as"),
            ("latency_limit = \"0ms\"", "every transaction is later than this", "\"20ms\""),
            ("max_tries = -1", "-1 is not a whole number of tries", "such as 100"),
            ("max_tries = 1.5", "1.5 is not a whole number of tries", "such as 100"),
            ("max_tries = 0", "nothing would end the tries", "add `latency_limit`"),
        ] {
            let told = bounds(&format!("transactions = 1\n{keys}")).expect_err(keys);
            let [(found, way)] = &told[..] else { panic!("{keys}: {told:?}") };
            assert!(found.contains(message) && way.as_ref().is_some_and(|way| way.contains(help)), "{keys}: {told:?}");
        }
    }

    #[test]
    fn several_scripts_have_names_and_weights() {
        let (issues, scripts) = told(
            "protocol = \"extended\"\nscripts = [{ name = \"read\", weight = 80, file = \"read.pgbench\" }, \
             { name = \"write\", script = '''\\set x 1\nUPDATE t;''' }]",
        );
        assert_eq!(issues, [""; 0]);
        assert_eq!(scripts, [("read".to_owned(), 80), ("write".to_owned(), 1)]);
        assert_eq!(told("script = 'SELECT 1'").1, [("w".to_owned(), 1)]);
    }

    #[test]
    fn mistakes_of_scripts_are_told() {
        for (keys, expected) in [
            ("scripts = []", "workload `w` has an empty list of scripts"),
            (
                "script = 'A'\nscripts = [{ name = \"r\", script = 'A' }]",
                "workload `w` has both `script` and `scripts`",
            ),
            (
                "scripts = [{ name = \"r\", script = 'A' }, { name = \"r\", script = 'B' }]",
                "workload `w` has two scripts named `r`",
            ),
            ("scripts = [{ script = 'A' }]", "a script of workload `w` has no `name`"),
            ("scripts = [{ name = \"R\", script = 'A' }]", "`R` is no name for a script"),
            ("scripts = [{ name = \"r\" }]", "a script of workload `w` has none of `script`, `file`, `builtin`"),
            ("script = 'A'\nbuiltin = \"select-only\"", "workload `w` has both `script` and `builtin`"),
            ("scripts = [{ name = \"r\", file = \"read.pgbench\" }]", "the variable `:x` has no value here"),
            ("script = '\\startpipeline'", "end of script reached with pipeline open"),
            (
                "protocol = \"simple\"\nscript = '''\\startpipeline\nA;\n\\endpipeline'''",
                "the simple protocol has no pipelines",
            ),
            ("protocol = \"extended\"\nscript = '''\\set x 1\nA ':x';'''", "`:x` stands in quotes"),
            ("script = '\\shell ls'", "`\\shell` runs host commands and is refused"),
        ] {
            let (issues, scripts) = told(keys);
            assert!(issues.len() == 1 && issues[0].starts_with(expected), "{keys}: {issues:?}");
            assert_eq!(scripts, [], "{keys}");
        }
    }
}
