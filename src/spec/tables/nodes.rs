//! `[postgres]` and `[nodes.NAME]`: the servers and their settings.

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::Deserialize;

use super::builds::Build;
use crate::spec::field::{At, Field, Later, Templated};
use crate::spec::numbered::{Copy, Numbered, resolve};
use crate::spec::scalar::{Count, Flag, Number, OneOf, Setting, Text, Word};
use crate::spec::scenario::{Node, Subscription, Synchronous, Transport, Written};
use crate::spec::scope::{Chosen, Kind, Scope};
use crate::text::{Code, Issue};

/// Settings by PostgreSQL's own names.
pub(in crate::spec) type RawSettings = IndexMap<At<String>, At<Templated<Setting>>>;

/// What holds for every node.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default, expecting = "a table such as { version = \"18\" }")]
#[schemars(rename = "Postgres")]
pub(in crate::spec) struct RawPostgres {
    /// Version of every node that names none, such as "18" or "15.18". Default: the newest that is found.
    pub(in crate::spec) version: Field<Text>,
    /// Folder of the server's programs, relative to this file.
    pub(in crate::spec) bin: Field<Text>,
    /// Name of a build under [builds], in place of `version` and `bin`.
    pub(in crate::spec) build: Field<Text>,
    /// How load and links reach servers: `unix` sockets (the default) or `tcp` on 127.0.0.1.
    pub(in crate::spec) transport: Field<OneOf<Transport>>,
    /// Data checksums; default: the version's own (on from 18).
    pub(in crate::spec) checksums: Field<Flag>,
    /// Server settings of every node, by PostgreSQL's own names.
    pub(in crate::spec) settings: RawSettings,
}

/// A server.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default, expecting = "a table such as { version = \"18\" }")]
#[schemars(rename = "Node")]
pub(in crate::spec) struct RawNode {
    /// Version, such as "18" or "15.18".
    pub(in crate::spec) version: Field<Text>,
    /// Folder of the server's programs, relative to this file.
    pub(in crate::spec) bin: Field<Text>,
    /// Data checksums; default: the version's own (on from 18).
    pub(in crate::spec) checksums: Field<Flag>,
    /// Server settings, over those of `[postgres]`.
    pub(in crate::spec) settings: RawSettings,
    /// Name of a build under [builds], in place of `version` and `bin`.
    pub(in crate::spec) build: Field<Text>,
    /// Who must confirm its commits: set once they stream, and taken away before the nodes are stopped.
    pub(in crate::spec) synchronous: Option<At<RawSynchronous>>,
    /// Makes so many of it, NAME1 … NAMEN, in whose templates `number` is the number; `NAME*` means all of them.
    pub(in crate::spec) count: Field<Number>,
    #[schemars(skip)]
    pub(in crate::spec) cpus: Option<At<Later>>,
    #[schemars(skip)]
    pub(in crate::spec) attach: Option<At<Later>>,
}

impl Numbered for RawNode {
    const KIND: Kind = Kind::Node;
    fn count(&self) -> &Field<Number> {
        &self.count
    }
}

impl Word for Transport {
    const EXPECTED: &'static str = "`unix` or `tcp`";
    const WORDS: &'static [(&'static str, Self)] = &[("unix", Transport::Unix), ("tcp", Transport::Tcp)];
}

/// Who must confirm a node's commits.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default, expecting = "a table such as { first = 1, of = [\"subscriptions.items\"] }")]
#[schemars(rename = "Synchronous")]
pub(in crate::spec) struct RawSynchronous {
    /// The first so many of `of` that are connected (`FIRST n`).
    first: Field<Count>,
    /// Any so many of `of` (`ANY n`).
    any: Field<Count>,
    /// Members in order, such as `["subscriptions.items"]`.
    #[schemars(required)]
    of: Vec<At<Templated<Text>>>,
}

/// Settings that the runner itself must decide, with the reason.
const OURS: &[(&str, &str)] = &[
    ("port", "the runner chooses free ports"),
    ("listen_addresses", "choose `transport` under [postgres]"),
    ("unix_socket_directories", "sockets lie in a private folder"),
    ("data_directory", "data folders are made and removed by the runner"),
    ("hba_file", "access is given to the runner alone"),
    ("ident_file", "access is given to the runner alone"),
    ("config_file", "the configuration is written from the spec"),
    ("synchronous_standby_names", "say `synchronous` under the node: names are set once their members stream"),
    ("external_pid_file", "processes are started and watched by the runner"),
    ("logging_collector", "the server's log is taken from its standard error"),
    ("log_destination", "the server's log is taken from its standard error"),
];

pub(in crate::spec) fn transport(raw: Option<&At<RawPostgres>>, scope: &mut Scope<'_, '_>) -> Chosen<Transport> {
    match raw {
        Some(at) => scope.chosen(&at.value.transport, Transport::Unix, |word| word.0),
        None => Chosen::default_of(Transport::Unix),
    }
}

pub(in crate::spec) fn lower(
    postgres: Option<&At<RawPostgres>>,
    nodes: &[Copy<'_, RawNode>],
    subscriptions: &IndexMap<String, Subscription>,
    scope: &mut Scope<'_, '_>,
) -> IndexMap<String, Node> {
    let none = RawPostgres::default();
    let postgres = postgres.map_or(&none, |at| &at.value);
    let common = settings(&postgres.settings, &["postgres"], scope);
    let mut out = IndexMap::new();
    for Copy { name, base, raw: at, number } in nodes {
        scope.enter("nodes", base, at.span);
        scope.number(*number);
        let raw = &at.value;
        scope.later(raw.cpus.as_ref(), "cpus", "pinning");
        scope.later(raw.attach.as_ref(), "attach", "attached nodes");
        let own_or = |own: &Field<Text>, common: &Field<Text>, scope: &mut Scope<'_, '_>| {
            let field = if own.is_some() { own } else { common };
            scope.value(field).map(|at| Chosen { value: at.value.0, at: Some(at.span) })
        };
        let build = build(base, raw, postgres, scope);
        let of_builds = build.is_some();
        let version = own_or(&raw.version, &postgres.version, scope)
            .filter(|_| !of_builds)
            .filter(|version| check_version(version, scope));
        let bin = own_or(&raw.bin, &postgres.bin, scope).filter(|_| !of_builds);
        let fields = [
            ("version", raw.version.is_some() || postgres.version.is_some(), version.is_some()),
            ("bin", raw.bin.is_some() || postgres.bin.is_some(), bin.is_some()),
        ];
        for (key, written, read) in fields {
            if written && !read && !of_builds {
                scope.unread.note(None, ["nodes", &name.value, key]);
            }
        }
        let checksums = if raw.checksums.is_some() { &raw.checksums } else { &postgres.checksums };
        let checksums = scope.value(checksums).map(|at| Chosen { value: at.value.0, at: Some(at.span) });
        let mut all = common.clone();
        all.extend(settings(&raw.settings, &["nodes", &base.value], scope));
        // One of the node's own that could not be read would win over the common one.
        all.retain(|setting, _| !scope.unread.covers(&["nodes", &base.value, "settings", setting]));
        let synchronous = raw.synchronous.as_ref().and_then(|at| synchronous(name, at, subscriptions, scope));
        let node = Node { span: name.span, version, bin, build, checksums, settings: all, synchronous };
        out.insert(name.value.clone(), node);
    }
    scope.number(None);
    out
}

/// The build that a node names, or that all do; a node's own `version` or `bin` wins over the common build.
fn build(
    name: &At<String>,
    raw: &RawNode,
    postgres: &RawPostgres,
    scope: &mut Scope<'_, '_>,
) -> Option<(String, Build)> {
    let both = |build: &Field<Text>, others: [&Field<Text>; 2], scope: &mut Scope<'_, '_>, owner: &str| {
        let Some(build) = build else { return };
        if let Some(other) = others.into_iter().flatten().next() {
            scope.tell(
                Issue::new(Code::Both, format!("{owner} has a build and another server"), build.span, "this")
                    .also(other.span, "and this")
                    .help("keep `build`, or `version` and `bin`"),
            );
        }
    };
    both(&raw.build, [&raw.version, &raw.bin], scope, &format!("node `{}`", name.value));
    both(&postgres.build, [&postgres.version, &postgres.bin], scope, "[postgres]");
    let field = match (&raw.build, raw.version.is_some() || raw.bin.is_some()) {
        (Some(_), _) => &raw.build,
        (None, true) => return None,
        (None, false) => &postgres.build,
    };
    let written = scope.value(field)?;
    if let Some(build) = scope.builds.get(&written.value.0) {
        // One that is wrong is told where it is defined.
        if build.is_none() {
            scope.failed = true;
        }
        return build.clone().map(|build| (written.value.0, build));
    }
    if !scope.unread.covers(&["builds", &written.value.0]) {
        let names: Vec<String> = scope.builds.keys().cloned().collect();
        let message = format!("there is no build `{}`", written.value.0);
        scope.tell(
            Issue::new(Code::UnknownBuild, message, written.span, "not defined under [builds]")
                .suggest(&written.value.0, names.iter().map(String::as_str)),
        );
    }
    scope.failed = true;
    None
}

fn synchronous(
    node: &At<String>,
    at: &At<RawSynchronous>,
    subscriptions: &IndexMap<String, Subscription>,
    scope: &mut Scope<'_, '_>,
) -> Option<Synchronous> {
    let raw = &at.value;
    let place = |field: &Field<Count>| field.as_ref().map(|field| field.span);
    let keys = [("first", place(&raw.first)), ("any", place(&raw.any))];
    if !scope.exactly_one("`synchronous`", (at.span, at.span), &keys) {
        return None;
    }
    let (any, field) = if raw.any.is_some() { (true, &raw.any) } else { (false, &raw.first) };
    let number = scope.value(field)?;
    if raw.of.is_empty() && !scope.unread.key(at.span, "of") {
        scope.tell(
            Issue::new(Code::MissingKey, "`synchronous` has no `of`", at.span, "of whom?")
                .help("add of = [\"subscriptions.NAME\"]"),
        );
        return None;
    }
    let mut of = Vec::new();
    for member in &raw.of {
        let Some(member) = scope.at(member) else { continue };
        let text = member.value.0.as_str();
        let Some(name) = text.strip_prefix("subscriptions.") else {
            if text.starts_with("standbys.") {
                scope.tell(crate::spec::scope::not_yet("standbys", "physical replication", member.span));
            } else {
                let message = format!("`{text}` names no subscription");
                scope.tell(
                    Issue::new(Code::UnknownSubscription, message, member.span, "not of the form")
                        .help("write subscriptions.NAME, or subscriptions.NAME* for all of a numbered one"),
                );
            }
            continue;
        };
        let name = At { span: member.span, value: Text(name.to_owned()) };
        for name in resolve(Kind::Subscription, &name, scope) {
            match subscriptions.get(&name) {
                Some(subscription) if subscription.publisher != node.value => {
                    let message = format!("`{name}` does not subscribe to `{}`", node.value);
                    scope.tell(
                        Issue::new(Code::Impossible, message, member.span, "of another publisher")
                            .also(subscription.span, format!("its publisher is `{}`", subscription.publisher))
                            .help("only those who receive a node's WAL can confirm its commits"),
                    );
                }
                // One that is meant twice confirms once.
                Some(_) if of.contains(&name) => {}
                Some(_) => of.push(name),
                // It could not be read, which is told.
                None => scope.failed = true,
            }
        }
    }
    let wanted = u32::try_from(number.value.0).unwrap_or(u32::MAX);
    if !scope.failed && wanted as usize > of.len() {
        let message = format!("{wanted} must confirm, and {} can", of.len());
        scope.tell(Issue::new(Code::Impossible, message, number.span, "commits would wait for ever").help(
            if of.is_empty() {
                "leave `synchronous` out of a scenario that has none of them (`without`), or let `count` be 1 or more"
            } else {
                "lower it, or name more in `of`"
            },
        ));
    }
    Some(Synchronous { any, number: wanted, of, span: at.span })
}

/// Settings of the table at `path`.
fn settings(raw: &RawSettings, path: &[&str], scope: &mut Scope<'_, '_>) -> IndexMap<String, Written> {
    let mut out = IndexMap::new();
    for (name, field) in raw {
        if let Some((_, reason)) = OURS.iter().find(|(ours, _)| *ours == name.value.to_lowercase()) {
            scope.tell(
                Issue::new(Code::Impossible, format!("`{}` cannot be set", name.value), name.span, "the runner's own")
                    .help((*reason).to_owned()),
            );
            continue;
        }
        let Some(at) = scope.at(field) else {
            scope.unread.note(None, path.iter().copied().chain(["settings", &name.value.to_lowercase()]));
            continue;
        };
        // Names are case-insensitive in PostgreSQL; one spelling lets a node's value win over the common one.
        out.insert(name.value.to_lowercase(), Written { value: at.value.0, key_span: name.span, value_span: at.span });
    }
    out
}

/// Whether a version is one that is supported; told if not.
pub(super) fn check_version(version: &Chosen<String>, scope: &mut Scope<'_, '_>) -> bool {
    let mut parts = version.value.split('.');
    let plain =
        parts.clone().count() <= 2 && parts.all(|part| !part.is_empty() && part.chars().all(|c| c.is_ascii_digit()));
    let major: u32 = version.value.split('.').next().and_then(|major| major.parse().ok()).unwrap_or(0);
    let at = version.at.unwrap_or_default();
    if !plain {
        scope.tell(
            Issue::new(Code::WrongType, format!("`{}` is no version", version.value), at, "not a version")
                .help("write a major version such as \"18\", or one with its minor such as \"15.18\""),
        );
    } else if !(14..=18).contains(&major) {
        scope.tell(
            Issue::new(Code::Impossible, format!("PostgreSQL {major} is not supported"), at, "14 to 18 are")
                .help("choose a version from 14 to 18"),
        );
    }
    plain && (14..=18).contains(&major)
}
