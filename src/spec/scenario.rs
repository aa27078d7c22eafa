//! A scenario at one point of the axes: typed, resolved, without a template or an undefined name left.

use std::time::Duration;

use indexmap::IndexMap;

use super::scope::Chosen;
use super::tables::builds::Build;
use super::unread::Unread;
use crate::script::Builtin;
use crate::text::{Span, copy_number};

/// Everything that holds for one cell.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// Name as in the spec.
    pub name: String,
    /// Prose for people; the name if none is given.
    pub title: String,
    /// How clients and links reach servers.
    pub transport: Chosen<Transport>,
    /// Servers, in the order of the spec.
    pub nodes: IndexMap<String, Node>,
    /// SQL before anything is wired.
    pub setup: Vec<Setup>,
    /// Publications.
    pub publications: IndexMap<String, Publication>,
    /// Subscriptions.
    pub subscriptions: IndexMap<String, Subscription>,
    /// Logical slots that are decoded without a subscription.
    pub slots: IndexMap<String, Slot>,
    /// Loads.
    pub workloads: IndexMap<String, Workload>,
    /// Phases in order.
    pub phases: Vec<Phase>,
    /// Windows by name: indices of consecutive phases, first and last.
    pub windows: IndexMap<String, (usize, usize)>,
    /// How the marker's row is committed.
    pub marker_commit: Chosen<MarkerCommit>,
    /// Nodes and subscriptions with `count`.
    pub numbered: Numbered,
    /// What is written but could not be read; empty in a cell that can be run.
    pub unread: Unread,
}

/// How many copies there are of a table with `count`, by its name: `s` of 2 are `s1` and `s2`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Numbered {
    /// Nodes.
    pub nodes: IndexMap<String, u64>,
    /// Subscriptions.
    pub subscriptions: IndexMap<String, u64>,
}

impl Numbered {
    /// The table under `[nodes]` that a node is written in: of a copy the numbered one.
    pub fn node_table<'a>(&'a self, node: &'a str) -> &'a str {
        self.nodes.keys().find(|base| copy_number(node, base).is_some()).map_or(node, String::as_str)
    }
}

/// Stands for a node's name that could not be read, in a cell that cannot be run. No node has it.
pub(super) const UNREAD_NAME: &str = "";

/// How clients and links reach servers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transport {
    /// Unix sockets in a private folder.
    Unix,
    /// TCP on 127.0.0.1, with a password.
    Tcp,
}

/// How the marker's row is committed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MarkerCommit {
    /// With `synchronous_commit = local`: flushed, so that the walsender can send it at once.
    Flushed,
    /// As the node's settings say.
    AsLoad,
}

/// A server.
#[derive(Clone, Debug)]
pub struct Node {
    /// Where it is defined.
    pub span: Span,
    /// Version asked for, such as "18" or "15.18"; `None` for the newest that is there.
    pub version: Option<Chosen<String>>,
    /// Folder of its programs.
    pub bin: Option<Chosen<String>>,
    /// Build that it names, in place of version and folder.
    pub build: Option<(String, Build)>,
    /// Data checksums; `None` for the version's default.
    pub checksums: Option<Chosen<bool>>,
    /// Server settings, those of `[postgres]` first.
    pub settings: IndexMap<String, Written>,
    /// Who must confirm its commits.
    pub synchronous: Option<Synchronous>,
}

/// Who must confirm a node's commits: its `synchronous_standby_names`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Synchronous {
    /// `ANY` rather than `FIRST`.
    pub any: bool,
    /// How many must.
    pub number: u32,
    /// Subscriptions, in order of priority.
    pub of: Vec<String>,
    /// Where it is written.
    pub span: Span,
}

/// A setting or option as written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Written {
    /// As PostgreSQL will read it.
    pub value: String,
    /// Place of the key.
    pub key_span: Span,
    /// Place of the value.
    pub value_span: Span,
}

/// A step of set-up.
#[derive(Clone, Debug)]
pub struct Setup {
    /// Name.
    pub name: String,
    /// Nodes it runs on.
    pub nodes: Vec<String>,
    /// What is done there.
    pub work: SetupWork,
    /// Whether what is there after it is made once and copied for each turn.
    pub cache: Chosen<bool>,
    /// Its place.
    pub span: Span,
}

impl Setup {
    /// The SQL as written; none of a step that is no SQL in the spec.
    pub fn sql(&self) -> Option<&str> {
        match &self.work {
            SetupWork::Sql(sql) => Some(sql),
            SetupWork::PgbenchInit(_) => None,
        }
    }
}

/// What a step of set-up does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SetupWork {
    /// SQL, rendered.
    Sql(String),
    /// The tables of pgbench's built-in scripts.
    PgbenchInit(PgbenchInit),
}

/// The tables that `pgbench -i` makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PgbenchInit {
    /// Scale: 100,000 accounts each.
    pub scale: u32,
    /// Fillfactor of every table but the history.
    pub fillfactor: u32,
    /// Whether rows are made; a subscriber that copies them needs the tables alone.
    pub rows: bool,
}

/// A publication.
#[derive(Clone, Debug)]
pub struct Publication {
    /// Where it is defined.
    pub span: Span,
    /// Node that publishes.
    pub node: String,
    /// What it publishes.
    pub of: Published,
    /// Options of CREATE PUBLICATION.
    pub options: IndexMap<String, Written>,
}

/// What a publication publishes.
#[derive(Clone, Debug)]
pub enum Published {
    /// `FOR TABLE …` and `TABLES IN SCHEMA …`.
    Listed {
        /// Tables.
        tables: Vec<PublishedTable>,
        /// Schemas with the place of each.
        schemas: Vec<(String, Span)>,
    },
    /// `FOR ALL TABLES`.
    AllTables,
}

/// A table of a publication.
#[derive(Clone, Debug)]
pub struct PublishedTable {
    /// Schema (if written) and name, as SQL would read them.
    pub name: Vec<String>,
    /// Columns; empty for all.
    pub columns: Vec<String>,
    /// Row filter.
    pub filter: Option<String>,
    /// Where it stands.
    pub span: Span,
    /// Where its column list or row filter stands.
    pub narrowed_at: Option<Span>,
}

/// A subscription.
#[derive(Clone, Debug)]
pub struct Subscription {
    /// Where it is defined.
    pub span: Span,
    /// Node that subscribes.
    pub node: String,
    /// Node that publishes, by its publications.
    pub publisher: String,
    /// Publications by name.
    pub publications: Vec<String>,
    /// Options of CREATE SUBSCRIPTION.
    pub options: IndexMap<String, Written>,
}

/// A logical slot that is decoded without a subscription.
#[derive(Clone, Debug)]
pub struct Slot {
    /// Where it is defined.
    pub span: Span,
    /// Node whose WAL is decoded.
    pub node: String,
    /// Output plugin.
    pub plugin: String,
    /// Options of the plugin, by its own names.
    pub options: IndexMap<String, SlotOption>,
    /// What takes the stream.
    pub consumer: Chosen<Consumer>,
    /// Whether prepared transactions are decoded at PREPARE.
    pub two_phase: Chosen<bool>,
    /// Whether it is kept on standbys too.
    pub failover: Chosen<bool>,
}

/// An option of an output plugin as written.
#[derive(Clone, Debug)]
pub struct SlotOption {
    /// What the plugin gets.
    pub value: OptionValue,
    /// Place of the key.
    pub key_span: Span,
    /// Place of the value.
    pub value_span: Span,
}

/// What a plugin gets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OptionValue {
    /// A text as it is.
    Plain(String),
    /// Identifiers, quoted and joined for the plugin, each with its place.
    Names(Vec<(String, Span)>),
}

/// What takes a slot's stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Consumer {
    /// The runner's own client of the replication protocol.
    Runner,
    /// PostgreSQL's client program.
    PgRecvlogical,
    /// Nothing: the slot retains WAL.
    None,
}

impl Consumer {
    /// As written in a spec.
    pub fn as_str(self) -> &'static str {
        match self {
            Consumer::Runner => "runner",
            Consumer::PgRecvlogical => "pg_recvlogical",
            Consumer::None => "none",
        }
    }
}

/// How statements are sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// Simple query protocol: the text with values in it.
    Simple,
    /// Extended protocol, each statement parsed each time.
    Extended,
    /// Extended protocol with statements prepared before the clock.
    Prepared,
}

impl Protocol {
    /// As written in a spec and given to `pgbench -M`.
    pub fn as_str(self) -> &'static str {
        match self {
            Protocol::Simple => "simple",
            Protocol::Extended => "extended",
            Protocol::Prepared => "prepared",
        }
    }
}

/// What runs a load's scripts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Engine {
    /// The built-in driver.
    Runner,
    /// pgbench itself.
    Pgbench,
}

impl Engine {
    /// As written in a spec.
    pub fn as_str(self) -> &'static str {
        match self {
            Engine::Runner => "runner",
            Engine::Pgbench => "pgbench",
        }
    }
}

/// When a load ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// After this many transactions of all clients together.
    Transactions(u64),
    /// After this time.
    Duration(Duration),
}

/// A load.
#[derive(Clone, Debug)]
pub struct Workload {
    /// Where it is defined.
    pub span: Span,
    /// Node under load.
    pub node: String,
    /// What runs it.
    pub engine: Chosen<Engine>,
    /// Client connections.
    pub clients: Chosen<u32>,
    /// Threads of the driver; `None` for its own choice.
    pub threads: Option<Chosen<u32>>,
    /// When it ends.
    pub extent: Extent,
    /// Transactions a second that all clients together begin; `None` for as fast as they can.
    pub rate: Option<Chosen<f64>>,
    /// From which latency on a transaction is late, and under a rate is skipped if it did not begin before.
    pub latency_limit: Option<Chosen<Duration>>,
    /// How often a transaction is tried that fails with 40001 or 40P01; 0 for as long as limit and duration let it.
    pub max_tries: Chosen<u32>,
    /// How statements are sent.
    pub protocol: Chosen<Protocol>,
    /// Whether pgbench logs each transaction, without which it tells no latencies but their mean.
    pub log: Chosen<bool>,
    /// Scripts; each transaction runs one of them.
    pub scripts: Vec<ScriptText>,
    /// Scale of the tables that a setup step made on its node by `pgbench_init`; `None` if none did.
    pub scale: Option<u32>,
}

impl Workload {
    /// Whether pgbench runs it.
    pub fn by_pgbench(&self) -> bool {
        self.engine.value == Engine::Pgbench
    }

    /// Threads that pgbench is given: its own default is 1, and more than clients it does not take.
    pub fn pgbench_threads(&self) -> u32 {
        self.threads.as_ref().map_or(1, |threads| threads.value).min(self.clients.value)
    }
}

/// A script as the driver will read it.
#[derive(Clone, Debug)]
pub struct ScriptText {
    /// Name, the label of its metrics.
    pub name: String,
    /// Its share among the workload's scripts.
    pub weight: u32,
    /// Rendered text.
    pub text: String,
    /// The built-in script that it is.
    pub builtin: Option<Builtin>,
    /// Its place.
    pub span: Span,
}

/// A step that changes the topology or runs SQL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// CREATE SUBSCRIPTION, here instead of in the building.
    Create(String),
    /// ALTER SUBSCRIPTION … DISABLE, complete when no apply worker runs and the slot is inactive.
    Disable(String),
    /// ALTER SUBSCRIPTION … ENABLE.
    Enable(String),
    /// ALTER SUBSCRIPTION … REFRESH PUBLICATION.
    Refresh(String),
    /// SQL on nodes.
    Sql {
        /// Nodes it runs on.
        nodes: Vec<String>,
        /// SQL, rendered.
        sql: String,
    },
    /// CHECKPOINT on nodes.
    Checkpoint(Vec<String>),
}

/// An action with its place.
#[derive(Clone, Debug)]
pub struct Step {
    /// What is done.
    pub action: Action,
    /// Where it is written.
    pub span: Span,
}

/// What fills a phase.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Body {
    /// Loads, all at once, until each has ended.
    Run(Vec<String>),
    /// Until the marker is visible on every downstream.
    WaitApplied,
    /// Until every downstream has received the marker.
    WaitReceived,
    /// Until every table of every subscription is ready.
    WaitSynced,
    /// A length of time.
    Hold(Duration),
}

/// A phase: one clock.
#[derive(Clone, Debug)]
pub struct Phase {
    /// Name, also that of its window.
    pub name: String,
    /// Where it is defined.
    pub span: Span,
    /// Done and complete before the clock.
    pub prepare: Vec<Step>,
    /// First thing inside it.
    pub start: Vec<Step>,
    /// What fills it.
    pub body: Body,
    /// Bound of the body.
    pub timeout: Chosen<Duration>,
    /// Whether its figures count; warm-up phases say no.
    pub measure: bool,
}

impl Scenario {
    /// Whether a setting of a node is written but could not be read: then nobody knows that it is not there.
    pub fn setting_unread(&self, node: &str, setting: &str) -> bool {
        let table = self.numbered.node_table(node);
        self.unread.covers(&["nodes", table, "settings", setting])
            || self.unread.covers(&["postgres", "settings", setting])
    }

    /// Whether the version or folder of a node is written but could not be read: then nobody knows its server.
    pub fn server_unread(&self, node: &str) -> bool {
        let table = self.numbered.node_table(node);
        ["version", "bin"]
            .iter()
            .any(|key| self.unread.covers(&["nodes", table, key]) || self.unread.covers(&["postgres", key]))
    }

    /// The phase that creates a subscription; `None` for one that the building creates.
    pub fn created_in(&self, subscription: &str) -> Option<usize> {
        self.phases.iter().position(|phase| {
            let mut steps = phase.prepare.iter().chain(&phase.start);
            steps.any(|step| matches!(&step.action, Action::Create(name) if name == subscription))
        })
    }

    /// Subscriptions that are there in a phase, once its `start` is done.
    pub fn subscribed_in(&self, phase: usize) -> impl Iterator<Item = (&String, &Subscription)> {
        let there = move |name: &str| self.created_in(name).is_none_or(|created| created <= phase);
        self.subscriptions.iter().filter(move |(name, _)| there(name))
    }

    /// Subscriptions whose publisher is `node`, transitively: what is downstream of it.
    pub fn downstream_of(&self, node: &str) -> Vec<&str> {
        let mut reached: Vec<&str> = vec![node];
        let mut out = Vec::new();
        let mut index = 0;
        while index < reached.len() {
            for (name, subscription) in &self.subscriptions {
                if subscription.publisher == reached[index] && !out.contains(&name.as_str()) {
                    out.push(name.as_str());
                    if !reached.contains(&subscription.node.as_str()) {
                        reached.push(&subscription.node);
                    }
                }
            }
            index += 1;
        }
        out
    }
}
