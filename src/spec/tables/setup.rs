//! `[[setup]]`: SQL and pgbench's tables, in order, before anything is wired.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, de};

use crate::spec::field::{At, Field, Templated};
use crate::spec::numbered::resolve;
use crate::spec::scalar::{Count, Flag, Text};
use crate::spec::scenario::{PgbenchInit, Setup, SetupWork};
use crate::spec::scope::{Kind, Scope};
use crate::text::{Code, Issue, Span};

/// A step of set-up.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default, expecting = "a table with `name`, `nodes` and `sql`, `file` or `pgbench_init`")]
#[schemars(rename = "Setup")]
pub(in crate::spec) struct RawSetup {
    /// Name, by which scenarios change or leave out the step.
    pub(in crate::spec) name: Option<At<String>>,
    /// The step that a scenario's new one stands behind; without it, new steps come last.
    pub(in crate::spec) after: Option<At<String>>,
    /// Nodes to run it on: a list of names, or "all".
    pub(in crate::spec) nodes: Option<At<RawNodes>>,
    /// SQL text.
    pub(in crate::spec) sql: Field<Text>,
    /// SQL file, relative to this file; a template like every text.
    pub(in crate::spec) file: Field<Text>,
    /// The tables of pgbench's built-in scripts, as `pgbench -i` makes them.
    pub(in crate::spec) pgbench_init: Option<At<RawPgbenchInit>>,
    /// Whether what this step and those before it make on a node is made once, kept in the cache and copied for each
    /// run, whose buffers are then cold. Default true for `pgbench_init` with rows, else false.
    pub(in crate::spec) cache: Field<Flag>,
}

/// What `pgbench_init` takes.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default, expecting = "a table such as { scale = 10 }")]
#[schemars(rename = "PgbenchInit")]
pub(in crate::spec) struct RawPgbenchInit {
    /// Scale: 100,000 accounts, 10 tellers and a branch each (`pgbench -s`). Default 1.
    pub(in crate::spec) scale: Field<Count>,
    /// Fillfactor of accounts, tellers and branches, 10 to 100 (`pgbench -F`). Default 100.
    pub(in crate::spec) fillfactor: Field<Count>,
    /// Whether rows are made. Default true; false for a subscriber that copies them.
    pub(in crate::spec) rows: Field<Flag>,
}

/// Nodes by name, or all.
#[derive(Debug, Clone)]
pub(in crate::spec) enum RawNodes {
    All(Templated<Text>),
    Listed(Vec<At<Templated<Text>>>),
}

impl<'de> Deserialize<'de> for RawNodes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl<'de> de::Visitor<'de> for Visitor {
            type Value = RawNodes;
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a list of nodes such as [\"publisher\"], or \"all\"")
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<RawNodes, E> {
                Ok(RawNodes::All(if crate::spec::field::is_template(text) {
                    Templated::Template(text.to_owned())
                } else {
                    Templated::Literal(Text(text.to_owned()))
                }))
            }
            fn visit_seq<A: de::SeqAccess<'de>>(self, seq: A) -> Result<RawNodes, A::Error> {
                Vec::deserialize(de::value::SeqAccessDeserializer::new(seq)).map(RawNodes::Listed)
            }
        }
        deserializer.deserialize_any(Visitor)
    }
}

impl JsonSchema for RawNodes {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Nodes".into()
    }
    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "anyOf": [{ "type": "string" }, { "type": "array", "items": { "type": "string" } }] })
    }
}

/// The nodes meant, each known. A single name is taken for a list of one.
pub(in crate::spec) fn nodes(raw: &At<RawNodes>, scope: &mut Scope<'_, '_>) -> Vec<String> {
    let written: Vec<At<Text>> = match &raw.value {
        RawNodes::All(field) => {
            let Some(text) = scope.at(&At { span: raw.span, value: field.clone() }) else { return Vec::new() };
            if text.value.0 == "all" {
                return scope.names.nodes.clone();
            }
            vec![text]
        }
        RawNodes::Listed(list) => list.iter().filter_map(|field| scope.at(field)).collect(),
    };
    let mut all: Vec<String> = written.iter().flat_map(|name| resolve(Kind::Node, name, scope)).collect();
    // One that is meant twice is one all the same.
    let mut seen = BTreeSet::new();
    all.retain(|name| seen.insert(name.clone()));
    all
}

pub(in crate::spec) fn lower(steps: &[At<RawSetup>], scope: &mut Scope<'_, '_>) -> Vec<Setup> {
    let mut out: Vec<Setup> = Vec::new();
    for at in steps {
        let raw = &at.value;
        let taken = out.iter().map(|step| step.name.as_str());
        let name = name_of(raw.name.as_ref(), "a setup step", at.span, taken, scope);
        let owner = name.as_ref().map_or_else(|| "a setup step".to_owned(), |name| format!("setup step `{name}`"));
        let place = (at.span, raw.name.as_ref().map_or(at.span, |name| name.span));
        let nodes = match &raw.nodes {
            Some(list) => nodes(list, scope),
            None => {
                scope.missing_key("nodes", &owner, place);
                Vec::new()
            }
        };
        if let (Some(name), Some(work)) = (name, work(raw, &owner, place, scope)) {
            let rows = matches!(&work.value, SetupWork::PgbenchInit(init) if init.rows);
            let cache = scope.chosen(&raw.cache, rows, |flag: Flag| flag.0);
            out.push(Setup { name, nodes, work: work.value, cache, span: work.span });
        }
    }
    out
}

/// What a step does: exactly one of its three keys.
fn work(raw: &RawSetup, owner: &str, place: (Span, Span), scope: &mut Scope<'_, '_>) -> Option<At<SetupWork>> {
    let keys = [
        ("sql", raw.sql.as_ref().map(|at| at.span)),
        ("file", raw.file.as_ref().map(|at| at.span)),
        ("pgbench_init", raw.pgbench_init.as_ref().map(|at| at.span)),
    ];
    if !scope.exactly_one(owner, place, &keys) {
        return None;
    }
    let sql = match (&raw.sql, &raw.file, &raw.pgbench_init) {
        (Some(sql), ..) => scope.at(sql).map(|at| At { span: at.span, value: at.value.0 }),
        (_, Some(file), _) => scope.file(file),
        (.., Some(init)) => {
            let value = SetupWork::PgbenchInit(pgbench_init(&init.value, scope));
            return Some(At { span: init.span, value });
        }
        _ => None,
    }?;
    Some(At { span: sql.span, value: SetupWork::Sql(sql.value) })
}

/// The largest scale: beyond it the tellers' numbers do not fit into their column.
const MAX_SCALE: u64 = i32::MAX as u64 / 10;

fn pgbench_init(raw: &RawPgbenchInit, scope: &mut Scope<'_, '_>) -> PgbenchInit {
    let mut within = |field: &Field<Count>, name: &str, default: u32, low: u64, high: u64| {
        let Some(at) = scope.value(field) else { return default };
        if (low..=high).contains(&at.value.0) {
            return u32::try_from(at.value.0).unwrap_or(default);
        }
        scope.tell(
            Issue::new(Code::WrongType, format!("`{name}` is {low} to {high}"), at.span, format!("{}", at.value.0))
                .help(format!("choose a whole number from {low} to {high}")),
        );
        default
    };
    let scale = within(&raw.scale, "scale", 1, 1, MAX_SCALE);
    let fillfactor = within(&raw.fillfactor, "fillfactor", 100, 10, 100);
    let rows = scope.chosen(&raw.rows, true, |flag: Flag| flag.0).value;
    PgbenchInit { scale, fillfactor, rows }
}

/// SQL written in place or in a file.
pub(in crate::spec) fn sql_or_file(
    sql: Option<&At<Templated<Text>>>,
    file: Option<&At<Templated<Text>>>,
    owner: &str,
    place: (Span, Span),
    scope: &mut Scope<'_, '_>,
) -> Option<At<String>> {
    if !scope.exactly_one(owner, place, &[("sql", sql.map(|sql| sql.span)), ("file", file.map(|file| file.span))]) {
        return None;
    }
    match (sql, file) {
        (Some(sql), _) => scope.at(sql).map(|at| At { span: at.span, value: at.value.0 }),
        (_, Some(file)) => scope.file(file),
        _ => None,
    }
}

/// The name of an entry of an array of tables: there, well formed, and not taken.
pub(in crate::spec) fn name_of<'a>(
    name: Option<&At<String>>,
    owner: &str,
    at: Span,
    mut taken: impl Iterator<Item = &'a str>,
    scope: &mut Scope<'_, '_>,
) -> Option<String> {
    let Some(name) = name else {
        scope.missing_key("name", owner, (at, at));
        return None;
    };
    check_name(name, scope);
    if taken.any(|other| other == name.value) {
        scope.tell(
            Issue::new(Code::BadName, format!("the name `{}` stands twice", name.value), name.span, "again here")
                .help("give each its own name"),
        );
        return None;
    }
    Some(name.value.clone())
}

/// Tells a name that breaks the rule.
pub(in crate::spec) fn check_name(name: &At<String>, scope: &mut Scope<'_, '_>) {
    if !crate::spec::scope::is_name(&name.value) {
        scope.tell(
            Issue::new(Code::BadName, format!("`{}` is no name", name.value), name.span, "not a name")
                .help("write a letter, then letters, digits and `_`, all in lower case; prose goes into `title`"),
        );
    }
}
