//! `[workloads.NAME]`: loads by script.

use std::time::Duration;

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::Deserialize;

use super::pgbench;
use super::scripts::{RawScript, Written, scripts};
use crate::script::Builtin;
use crate::spec::field::{At, Field, Later, Named, Templated};
use crate::spec::scalar::{Count, Flag, OneOf, Rate, Span_, Text, Tries, Word};
use crate::spec::scenario::{Engine, Extent, Protocol, Setup, UNREAD_NAME, Workload};
use crate::spec::scope::{Chosen, Kind, Scope};
use crate::text::{Code, Issue};

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
    let written = Written { script: &raw.script, file: &raw.file, builtin: &raw.builtin, list: raw.scripts.as_ref() };
    let scripts = scripts(&name.value, &written, &owner, place, protocol.value, scope);
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

#[cfg(test)]
mod tests {
    use std::path::Path;

    use crate::spec::{Options, Read, read};
    use crate::text::source::SourceMap;

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
}
