//! A node as it will be started: its server, and every setting with its origin.

use indexmap::IndexMap;

use super::facts::{Build, GitSource, Wanted};
use crate::spec::scenario::{Body, Node, Transport};
use crate::spec::{BuildSource, Chosen, Scenario};
use crate::text::{Code, Issue, Span};

/// Where a value comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// Written there.
    Spec(Span),
    /// The runner's own, for this reason.
    Runner(String),
}

/// A setting with its origin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlannedSetting {
    /// As PostgreSQL will read it.
    pub value: String,
    /// Where it comes from.
    pub origin: Origin,
}

/// A node as it will be started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodePlan {
    /// Place in the topology: nodes of one place are cloned from one template, so that no two nodes of a run
    /// share a system identifier.
    pub place: usize,
    /// What the spec asks for.
    pub wanted: Wanted,
    /// The server; `None` if none was found and none can be installed.
    pub build: Option<Build>,
    /// Data checksums; `None` for the version's default.
    pub checksums: Option<bool>,
    /// How it is reached.
    pub transport: Transport,
    /// Settings in order: the spec's, then the runner's.
    pub settings: IndexMap<String, PlannedSetting>,
}

impl NodePlan {
    /// Data checksums in words: what the spec says, else what the version does.
    pub fn checksums_words(&self) -> String {
        match (self.checksums, &self.build) {
            (Some(on), _) => on.to_string(),
            (None, Some(build)) => format!("{} (default of {})", build.release.major >= 18, build.release.major),
            (None, None) => "the version's default".to_owned(),
        }
    }
}

/// What a node of the spec asks for, its folder as seen from the working folder.
pub(super) fn wanted(node: &Node, relative: impl Fn(Span, &str) -> std::path::PathBuf) -> Wanted {
    let path = |chosen: &Chosen<String>| relative(chosen.at.unwrap_or_default(), &chosen.value);
    let Some((_, build)) = &node.build else {
        return Wanted {
            version: node.version.as_ref().map(|version| version.value.clone()),
            bin: node.bin.as_ref().map(path),
            git: None,
        };
    };
    match &build.source {
        BuildSource::Version(version) => Wanted { version: Some(version.value.clone()), ..Wanted::default() },
        BuildSource::Path(folder) => Wanted { bin: Some(path(folder)), ..Wanted::default() },
        BuildSource::Git { revision, source, configure } => Wanted {
            git: Some(GitSource {
                revision: revision.value.clone(),
                source: path(source),
                configure: configure.clone(),
            }),
            ..Wanted::default()
        },
    }
}

/// Connections that the runner itself opens on a node beside the load's: control, marker watch, samplers.
const OWN_CONNECTIONS: u32 = 8;

/// A server default that a topology may outgrow.
struct Minimum {
    setting: &'static str,
    default: u32,
    needed: u32,
    reason: String,
}

/// What the topology needs of a node, from PostgreSQL's manual on configuring logical replication.
fn minimums(name: &str, scenario: &Scenario) -> Vec<Minimum> {
    let subscriptions = |on: fn(&crate::spec::scenario::Subscription) -> &String| {
        u32::try_from(scenario.subscriptions.values().filter(|subscription| on(subscription) == name).count())
            .unwrap_or(u32::MAX)
    };
    let (published, subscribed) = (subscriptions(|s| &s.publisher), subscriptions(|s| &s.node));
    let slots = u32::try_from(scenario.slots.values().filter(|slot| slot.node == name).count()).unwrap_or(u32::MAX);
    let clients: u32 = scenario
        .phases
        .iter()
        .map(|phase| match &phase.body {
            Body::Run(loads) => loads
                .iter()
                .filter_map(|load| scenario.workloads.get(load))
                .filter(|load| load.node == name)
                .map(|load| load.clients.value)
                .sum(),
            _ => 0,
        })
        .max()
        .unwrap_or(0);
    // Each subscription may have its apply worker and two table synchronisation workers, each with a walsender and
    // a slot on the publisher.
    let workers = 3;
    let mut out = Vec::new();
    let mut need = |setting, default, needed, reason: String| out.push(Minimum { setting, default, needed, reason });
    if published > 0 || slots > 0 {
        let mut parts = Vec::new();
        if published > 0 {
            parts.push(format!("{published} subscription(s), each with up to two table synchronisation workers"));
        }
        if slots > 0 {
            parts.push(format!("{slots} slot(s) of its own"));
        }
        let reason = parts.join(", and ");
        need("max_wal_senders", 10, published * workers + slots + 2, reason.clone());
        need("max_replication_slots", 10, published.max(subscribed) * workers + slots, reason);
    }
    if subscribed > 0 {
        let reason =
            format!("{subscribed} subscription(s), each with its apply worker and two table synchronisation workers");
        need("max_logical_replication_workers", 4, subscribed * workers, reason.clone());
        need("max_worker_processes", 8, subscribed * workers + 2, reason.clone());
        need("max_replication_slots", 10, published.max(subscribed) * workers + slots, reason);
    }
    need(
        "max_connections",
        100,
        clients + OWN_CONNECTIONS + 3,
        format!("{clients} client(s) and the runner's own sessions"),
    );
    out
}

/// Settings of a node with origins; what the topology needs is raised where the spec is silent, and refused where
/// the spec says less.
pub(super) fn settings(
    name: &str,
    node: &Node,
    scenario: &Scenario,
    tell: &mut dyn FnMut(Issue),
) -> IndexMap<String, PlannedSetting> {
    let mut out: IndexMap<String, PlannedSetting> = node
        .settings
        .iter()
        .map(|(key, written)| {
            (key.clone(), PlannedSetting { value: written.value.clone(), origin: Origin::Spec(written.value_span) })
        })
        .collect();
    for minimum in minimums(name, scenario) {
        let written = node.settings.get(minimum.setting);
        let too_low =
            written.filter(|written| written.value.trim().parse::<u32>().is_ok_and(|value| value < minimum.needed));
        if let Some(written) = too_low {
            tell(
                Issue::new(
                    Code::Impossible,
                    format!("`{}` is too low for this topology", minimum.setting),
                    written.value_span,
                    format!("at least {} are needed", minimum.needed),
                )
                .help(format!("raise it to {} ({}), or leave it out", minimum.needed, minimum.reason)),
            );
        }
        let set = out.get(minimum.setting).and_then(|set| set.value.parse::<u32>().ok()).unwrap_or(minimum.default);
        if written.is_none() && minimum.needed > set {
            let origin = Origin::Runner(minimum.reason);
            out.insert(minimum.setting.to_owned(), PlannedSetting { value: minimum.needed.to_string(), origin });
        }
    }
    check_logical(name, node, scenario, tell);
    out
}

/// A publisher needs `wal_level = logical`; saying so is the spec's, since it changes what is measured.
fn check_logical(name: &str, node: &Node, scenario: &Scenario, tell: &mut dyn FnMut(Issue)) {
    let subscribed = scenario.subscriptions.iter().find(|(_, subscription)| subscription.publisher == name);
    let decoded = scenario.slots.iter().find(|(_, slot)| slot.node == name);
    let (what, cause, label) = match (subscribed, decoded) {
        (Some((first, subscription)), _) => ("publishes", subscription.span, format!("`{first}` subscribes to it")),
        (None, Some((first, slot))) => ("is decoded", slot.span, format!("`{first}` is a logical slot of it")),
        (None, None) => return,
    };
    let level = node.settings.get("wal_level");
    if level.is_none() && scenario.setting_unread(name, "wal_level") {
        return;
    }
    if level.is_some_and(|level| level.value.eq_ignore_ascii_case("logical")) {
        return;
    }
    let (span, found) = match level {
        Some(level) => (level.value_span, "not logical".to_owned()),
        None => (node.span, "wal_level is replica".to_owned()),
    };
    tell(
        Issue::new(Code::Impossible, format!("`{name}` {what}, which needs wal_level = \"logical\""), span, found)
            .also(cause, label)
            .help(format!("add wal_level = \"logical\" under [nodes.{}.settings]", scenario.numbered.node_table(name))),
    );
}
