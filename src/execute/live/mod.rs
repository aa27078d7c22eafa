//! The live world: one turn's nodes, sessions, loads and counters. Each instruction is a few lines here; what they
//! take is in the files beside.

mod conditions;
mod consumers;
mod data;
mod edge;
mod health;
mod ledger;
mod marker;
mod node;
mod pgbench;
mod sampler;
mod sync;
mod verify;
mod window;

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use indexmap::IndexMap;
use tokio::sync::{Mutex, Notify, watch};

use self::consumers::SlotConsumer;
use self::marker::Listening;
use self::node::LiveNode;
use self::pgbench::PreparedLoads;
use self::sync::Syncs;
use self::window::{Boundary, Window};
use super::world::{Failure, Reply, Running, World};
use crate::lab::dataset::Dataset;
use crate::lab::{Installation, Lab};
use crate::load::{self, Finished, LoadRequest, LoadScript, OpenConnections};
use crate::plan::Cell;
use crate::plan::facts::Build;
use crate::plan::instruction::{Activity, Instruction};
use crate::probe::Passing;
use crate::probe::marker::MarkerWatch;
use crate::results::NodeRecord;
use crate::script::Script;
use crate::spec::scenario::{Extent, Protocol};
use crate::text::Lsn;

/// How often logs are looked at for a replication error while something is waited for. Reading a file costs the
/// servers nothing.
const HEALTH_INTERVAL: Duration = Duration::from_millis(200);

/// How often the slot of an enabled subscription is looked at: 0.09 ms of the publisher's CPU each.
const STARTUP_INTERVAL: Duration = Duration::from_millis(5);

/// A load that has ended.
struct EndedLoad {
    finished: Finished,
    /// What pgbench told, if it ran it.
    pgbench: Option<pgbench::Told>,
}

/// What ended activities leave for the closing of their window.
#[derive(Default)]
struct Ended {
    loads: HashMap<String, EndedLoad>,
    visible: HashMap<String, Instant>,
    received: HashMap<String, Instant>,
    syncs: Syncs,
    /// When the slot was active, and when the worker was asked for.
    startups: HashMap<String, (Instant, Instant)>,
    /// Watches that have seen their marker: their sessions stay until closing them is counted nowhere.
    watches: Vec<MarkerWatch>,
    /// Processes that came and went while pgbench ran, by node.
    passing: HashMap<String, Passing>,
}

/// What tells the nodes of a turn from those of a topology that stands beside it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Beside {
    /// Before the names of its nodes in the lab.
    pub prefix: &'static str,
    /// Added to the places of its nodes for their ports.
    pub shift: u16,
}

/// One turn, live.
pub struct Live<'a> {
    cell: &'a Cell,
    installations: &'a IndexMap<String, Installation>,
    lab: &'a Mutex<Lab>,
    /// What tells its nodes from those of a topology beside it.
    beside: Beside,
    /// Client programs by name.
    tools: &'a BTreeMap<String, Build>,
    seed: u64,
    /// Slice under way, which has random numbers of its own.
    slice: u32,
    logs: PathBuf,
    stop: watch::Receiver<bool>,
    /// Data that nodes start from, by node; held until they have their copies.
    data: HashMap<String, Dataset>,
    nodes: IndexMap<String, LiveNode>,
    loads: HashMap<String, load::Ready>,
    prepared: PreparedLoads,
    markers: HashMap<u64, Listening>,
    /// A position behind the last marker's commit, where one is waited for.
    marked: Option<Lsn>,
    consumers: IndexMap<String, SlotConsumer>,
    window: Option<Window>,
    /// Where the last window ended, for one that follows.
    boundary: Option<Boundary>,
    /// Whether no window was opened yet.
    first_window: bool,
    /// Where each node's WAL stood at the edges of the phases so far.
    stretches: IndexMap<String, Vec<ledger::Stretch>>,
    /// Seconds waited for a launcher since the last window closed.
    launcher_wait: Option<f64>,
    ended: Rc<RefCell<Ended>>,
    /// Connections of loads whose window has been read.
    connections: Vec<OpenConnections>,
    /// Watches of markers whose window has been read.
    watches: Vec<MarkerWatch>,
    notes: Vec<String>,
}

impl<'a> Live<'a> {
    /// A turn of `cell` in an open lab; nothing is started yet.
    pub fn new(
        cell: &'a Cell,
        installations: &'a IndexMap<String, Installation>,
        (lab, beside): (&'a Mutex<Lab>, Beside),
        tools: &'a BTreeMap<String, Build>,
        seed: u64,
        logs: PathBuf,
        stop: watch::Receiver<bool>,
    ) -> Self {
        Self {
            cell,
            installations,
            lab,
            beside,
            tools,
            seed,
            slice: 0,
            logs,
            stop,
            data: HashMap::new(),
            nodes: IndexMap::new(),
            loads: HashMap::new(),
            prepared: PreparedLoads::new(),
            markers: HashMap::new(),
            marked: None,
            consumers: IndexMap::new(),
            window: None,
            boundary: None,
            first_window: true,
            stretches: IndexMap::new(),
            launcher_wait: None,
            ended: Rc::default(),
            connections: Vec::new(),
            watches: Vec::new(),
            notes: Vec::new(),
        }
    }

    /// What a reader of the turn should know.
    pub fn into_notes(self) -> Vec<String> {
        self.notes
    }

    /// Seed of the random numbers of the slice under way.
    fn seed(&self) -> u64 {
        self.seed.wrapping_add(u64::from(self.slice) << 32)
    }

    fn node(&self, name: &str) -> Result<&LiveNode, Failure> {
        self.nodes.get(name).ok_or_else(|| Failure::new(format!("node `{name}` is not running")))
    }

    async fn sql(&self, node: &str, sql: &crate::plan::instruction::SqlText) -> Result<(), Failure> {
        let text = sql.resolve(|_, to, _| match self.nodes.get(to) {
            Some(node) => crate::text::quote::literal(&node.conninfo()),
            None => crate::text::quote::literal(""),
        });
        self.node(node)?.batch(&text).await
    }

    async fn ready_load(&mut self, name: &str) -> Result<(), Failure> {
        let workload = &self.cell.scenario.workloads[name];
        if workload.by_pgbench() {
            return self.ready_pgbench(name).await;
        }
        let scale = self.scale_of(name).await?;
        let node = self.node(&workload.node)?;
        let scripts = workload
            .scripts
            .iter()
            .map(|script| {
                let parsed = Script::parse(&script.text).map_err(|errors| {
                    let all: Vec<String> = errors.iter().map(ToString::to_string).collect();
                    Failure::new(format!("script `{}`: {}", script.name, all.join("; ")))
                })?;
                Ok(LoadScript { name: script.name.clone(), script: Arc::new(parsed), weight: script.weight })
            })
            .collect::<Result<Vec<_>, Failure>>()?;
        let request = LoadRequest {
            target: node.target(self.cell.scenario.transport.value, &format!("load {name}")),
            scripts,
            protocol: match workload.protocol.value {
                Protocol::Simple => load::Protocol::Simple,
                Protocol::Extended => load::Protocol::Extended,
                Protocol::Prepared => load::Protocol::Prepared,
            },
            clients: workload.clients.value,
            threads: workload.threads.as_ref().map(|threads| threads.value),
            end: match workload.extent {
                Extent::Transactions(n) => load::End::Transactions(n),
                Extent::Duration(length) => load::End::Duration(length),
            },
            rate: workload.rate.as_ref().map(|rate| rate.value),
            latency_limit: workload.latency_limit.as_ref().map(|limit| limit.value),
            max_tries: workload.max_tries.value,
            seed: self.seed(),
            scale,
        };
        let ready = load::connect(request).map_err(|error| Failure::new(format!("workload `{name}`: {error}")))?;
        self.loads.insert(name.to_owned(), ready);
        Ok(())
    }

    /// `:scale` as pgbench has it: with a script of its own the number of branches there are, else what it is told.
    async fn scale_of(&self, name: &str) -> Result<i64, Failure> {
        let workload = &self.cell.scenario.workloads[name];
        if workload.scripts.iter().all(|script| script.builtin.is_none()) {
            return Ok(workload.scale.map_or(1, i64::from));
        }
        let counted = self.node(&workload.node)?.rows("SELECT count(*) FROM pgbench_branches").await;
        let counted =
            counted.map_err(|failure| Failure::new(format!("workload `{name}`, for :scale: {}", failure.reason)))?;
        let scale = counted.first().and_then(|row| row.get(0)).and_then(|count| count.parse().ok()).unwrap_or(0);
        if scale < 1 {
            return Err(Failure::new(format!(
                "workload `{name}`: pgbench_branches is empty on `{}`, so there is no :scale; make rows by pgbench_init",
                workload.node
            )));
        }
        Ok(scale)
    }

    fn start_load(&mut self, name: &str) -> Result<Running, Failure> {
        if self.cell.scenario.workloads[name].by_pgbench() {
            return self.start_pgbench(name);
        }
        let ready =
            self.loads.remove(name).ok_or_else(|| Failure::new(format!("workload `{name}` was not made ready")))?;
        let running = Rc::new(RefCell::new(Some(ready.go())));
        let stopping = running.clone();
        let ended = self.ended.clone();
        let name = name.to_owned();
        let stopped = Rc::new(Notify::new());
        let wake = stopped.clone();
        let done = Box::pin(async move {
            let Some(mut load) = running.borrow_mut().take() else { return Ok(()) };
            // The load is owned here while it is awaited, so a stop comes by notice.
            let mut told = false;
            let finished = loop {
                tokio::select! {
                    finished = load.finished() => break finished,
                    () = stopped.notified(), if !told => {
                        told = true;
                        load.stop();
                    }
                }
            };
            match finished {
                Ok(finished) => {
                    let refused = all_failed(&finished);
                    ended.borrow_mut().loads.insert(name.clone(), EndedLoad { finished, pgbench: None });
                    match refused {
                        Some(why) => Err(Failure::new(format!("workload `{name}`: {why}"))),
                        None => Ok(()),
                    }
                }
                Err(error) => Err(Failure::new(format!("workload `{name}`: {error}"))),
            }
        });
        let stop = Box::new(move || {
            if let Some(load) = stopping.borrow().as_ref() {
                load.stop();
            }
            wake.notify_one();
        });
        Ok(Running { done, stop })
    }

    fn start_startup(&self, name: &str) -> Result<Running, Failure> {
        let subscription = &self.cell.scenario.subscriptions[name];
        let publisher = self.node(&subscription.publisher)?.control.clone();
        // What the phase's start did is done.
        let enabled = self.node(&subscription.node)?.worker_started.unwrap_or_else(Instant::now);
        let ended = self.ended.clone();
        let name = name.to_owned();
        let done = Box::pin(async move {
            while !conditions::slot_active(&publisher, &name).await? {
                tokio::time::sleep(STARTUP_INTERVAL).await;
            }
            ended.borrow_mut().startups.insert(name, (Instant::now(), enabled));
            Ok(())
        });
        Ok(Running { done, stop: Box::new(|| {}) })
    }

    fn health(&self) -> health::Health {
        health::Health::of(self.nodes.iter().map(|(name, node)| (name.as_str(), node)))
    }
}

impl World for Live<'_> {
    async fn perform(&mut self, instruction: &Instruction) -> Result<Reply, Failure> {
        match instruction {
            Instruction::Data(dataset) => return self.make_data(dataset).await,
            Instruction::Start { nodes } => self.start_nodes(nodes).await?,
            Instruction::Stop { .. } => return self.stop_nodes().await,
            Instruction::Sql { node, sql } => {
                self.sql(node, sql)
                    .await
                    .map_err(|failure| Failure::new(format!("on `{node}`: {}", failure.reason)))?;
                self.note_start(node, sql);
            }
            Instruction::Mark { node, sql, downstream, .. } => {
                let began = Instant::now();
                self.sql(node, sql).await?;
                if let Some(window) = &mut self.window {
                    window.marked(began.elapsed(), !downstream);
                }
                self.note_position(node).await?;
            }
            Instruction::Await { condition, bound } => self.wait_for(condition, *bound).await?,
            Instruction::Consume(consume) => self.consume(consume).await?,
            Instruction::Ready { activity } => match activity {
                Activity::Load { workload } => {
                    self.release_loads().await?;
                    self.ready_load(workload).await?;
                }
                Activity::Marker { id, nodes, slots } => self.ready_marker(*id, nodes, slots)?,
                Activity::Received { .. } | Activity::Startup { .. } | Activity::Sync { .. } => {}
            },
            Instruction::Open { follows, .. } => self.open(*follows).await?,
            Instruction::Close { phase } => {
                return self.close(phase).await.map(|evidence| Reply::Window(Box::new(evidence)));
            }
            Instruction::Settle => return self.settle().await.map(Reply::Settled),
            Instruction::Verify { projections } => return self.verify(projections).await.map(Reply::Compared),
        }
        Ok(Reply::Done)
    }

    fn start(&mut self, activity: &Activity) -> Result<Running, Failure> {
        match activity {
            Activity::Load { workload } => self.start_load(workload),
            Activity::Marker { id, .. } => self.start_marker(*id),
            Activity::Received { subscriptions } => self.start_received(subscriptions),
            Activity::Sync { subscriptions } => self.start_sync(subscriptions),
            Activity::Startup { subscription } => self.start_startup(subscription),
        }
    }

    fn slice(&mut self, number: u32) {
        self.slice = number;
    }

    async fn explain(&mut self, activities: &[Activity]) -> String {
        let mut parts = Vec::new();
        let nodes = self.nodes.iter().map(|(name, node)| (name.as_str(), node));
        if let Some(error) = health::Health::whole(nodes).error() {
            parts.push(error);
        }
        for activity in activities {
            match activity {
                Activity::Load { workload } => parts.push(self.explain_load(workload).await),
                Activity::Marker { nodes, slots, .. } => {
                    for (slot, _) in slots {
                        if !self.ended.borrow().received.contains_key(slot) {
                            parts.push(self.explain_slot(slot).await);
                        }
                    }
                    for (node, _) in nodes {
                        if !self.ended.borrow().visible.contains_key(node) {
                            parts.push(self.explain_node(node).await);
                        }
                    }
                }
                Activity::Received { subscriptions } | Activity::Sync { subscriptions } => {
                    for subscription in subscriptions {
                        parts.push(self.explain_subscription(subscription).await);
                    }
                }
                Activity::Startup { subscription } => parts.push(self.explain_subscription(subscription).await),
            }
        }
        parts.join("; ")
    }
}

/// Why a load of which nothing was committed did nothing: its figures would be those of error messages.
fn all_failed(finished: &Finished) -> Option<String> {
    let scripts = &finished.report.scripts;
    let failed: u64 = scripts.iter().map(|script| script.failed).sum();
    if failed == 0 || scripts.iter().any(|script| script.committed > 0) {
        return None;
    }
    let (state, first) = scripts.iter().flat_map(|script| &script.errors).max_by_key(|(_, failures)| failures.count)?;
    Some(format!("none of its {failed} transaction(s) was committed; {state}: {}", first.first_message))
}

/// Read back of stopped nodes.
type Records = IndexMap<String, NodeRecord>;
