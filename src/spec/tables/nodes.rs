//! `[postgres]` and `[nodes.NAME]`: the servers and their settings.

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::spec::field::{At, Field, Later, Named, Templated};
use crate::spec::scalar::{Flag, OneOf, Setting, Text, Word};
use crate::spec::scenario::{Node, Transport, Written};
use crate::spec::scope::{Chosen, Scope};
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
    #[schemars(skip)]
    pub(in crate::spec) build: Option<At<Later>>,
    #[schemars(skip)]
    pub(in crate::spec) synchronous: Option<At<Later>>,
    #[schemars(skip)]
    pub(in crate::spec) count: Option<At<Later>>,
    #[schemars(skip)]
    pub(in crate::spec) cpus: Option<At<Later>>,
    #[schemars(skip)]
    pub(in crate::spec) attach: Option<At<Later>>,
}

impl Word for Transport {
    const EXPECTED: &'static str = "`unix` or `tcp`";
    const WORDS: &'static [(&'static str, Self)] = &[("unix", Transport::Unix), ("tcp", Transport::Tcp)];
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
    nodes: &Named<RawNode>,
    scope: &mut Scope<'_, '_>,
) -> IndexMap<String, Node> {
    let none = RawPostgres::default();
    let postgres = postgres.map_or(&none, |at| &at.value);
    let common = settings(&postgres.settings, &["postgres"], scope);
    let mut out = IndexMap::new();
    for (name, at) in nodes {
        scope.enter("nodes", name, at.span);
        let raw = &at.value;
        scope.later(raw.build.as_ref(), "build", "builds");
        scope.later(raw.synchronous.as_ref(), "synchronous", "synchronous replication");
        scope.later(raw.count.as_ref(), "count", "the matrix");
        scope.later(raw.cpus.as_ref(), "cpus", "pinning");
        scope.later(raw.attach.as_ref(), "attach", "attached nodes");
        let own_or = |own: &Field<Text>, common: &Field<Text>, scope: &mut Scope<'_, '_>| {
            let field = if own.is_some() { own } else { common };
            scope.value(field).map(|at| Chosen { value: at.value.0, at: Some(at.span) })
        };
        let version = own_or(&raw.version, &postgres.version, scope).filter(|version| check_version(version, scope));
        let bin = own_or(&raw.bin, &postgres.bin, scope);
        let fields = [
            ("version", raw.version.is_some() || postgres.version.is_some(), version.is_some()),
            ("bin", raw.bin.is_some() || postgres.bin.is_some(), bin.is_some()),
        ];
        for (key, written, read) in fields {
            if written && !read {
                scope.unread.note(None, ["nodes", &name.value, key]);
            }
        }
        let checksums = if raw.checksums.is_some() { &raw.checksums } else { &postgres.checksums };
        let checksums = scope.value(checksums).map(|at| Chosen { value: at.value.0, at: Some(at.span) });
        let mut all = common.clone();
        all.extend(settings(&raw.settings, &["nodes", &name.value], scope));
        // One of the node's own that could not be read would win over the common one.
        all.retain(|setting, _| !scope.unread.covers(&["nodes", &name.value, "settings", setting]));
        out.insert(name.value.clone(), Node { span: name.span, version, bin, checksums, settings: all });
    }
    out
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
fn check_version(version: &Chosen<String>, scope: &mut Scope<'_, '_>) -> bool {
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
