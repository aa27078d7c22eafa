//! The window of a phase: counters before its clock, counters after it, and the difference as evidence.

use std::io::Write as _;
use std::time::{Duration, Instant};

use indexmap::IndexMap;

use super::consumers::ConsumerReading;
use super::edge::Edge;
use super::ledger::{self, Stretch};
use super::sync::TableSync;
use super::{Ended, EndedLoad, Live};
use crate::execute::settle::Settled;
use crate::execute::world::Failure;
use crate::load::{LoadReport, OpenConnections};
use crate::measure::metric::CLIENTS_EXITED;
use crate::measure::{
    Evidence, Histogram, HostEvidence, LoadEvidence, MarkerEvidence, NodeEvidence, ScriptEvidence, SyncEvidence,
};
use crate::plan::instruction::{Condition, Filling};
use crate::probe::{CpuReading, CpuUse, HostTimes, Role, thread_cpu};

/// How long exiting backends and workers may take to flush their statistics; 14 needs up to 1.5 s.
const SETTLE_BOUND: Duration = Duration::from_secs(5);

/// How long a node may take to tell its counters.
const EDGE_BOUND: Duration = Duration::from_secs(5);

/// How long the sessions that pgbench left behind may take to be gone: they have nothing left to do.
const REAP_BOUND: Duration = Duration::from_secs(1);

/// How long the counters of 14 must stand still: sessions report every half second, exits within 1.5 s.
const QUIET: Duration = Duration::from_millis(1500);

/// The counters at the edge of a window.
pub(super) struct Boundary {
    at: Instant,
    cpu: IndexMap<String, CpuReading>,
    edges: IndexMap<String, Edge>,
    /// CPU of this thread.
    own_cpu: Duration,
    /// With the moment of the reading.
    host: Option<(Instant, HostTimes)>,
    consumers: IndexMap<String, ConsumerReading>,
}

/// An open window.
pub(super) struct Window {
    start: Boundary,
    marker_commit: Option<Duration>,
    no_downstream: bool,
}

impl Window {
    /// The marker was committed; `alone` if nothing is downstream.
    pub(super) fn marked(&mut self, took: Duration, alone: bool) {
        self.marker_commit = Some(took);
        self.no_downstream = alone;
    }
}

impl Live<'_> {
    async fn edges(&self) -> Result<IndexMap<String, Edge>, Failure> {
        let mut out = IndexMap::new();
        for (name, node) in &self.nodes {
            let edge = Edge::read(&node.control).await;
            let edge = edge.map_err(|failure| Failure::new(format!("`{name}`: {}", failure.reason)))?;
            out.insert(name.clone(), edge);
        }
        Ok(out)
    }

    fn cpu(&self) -> Result<IndexMap<String, CpuReading>, Failure> {
        self.nodes
            .iter()
            .map(|(name, node)| {
                let reading = CpuReading::take(node.node.pid).map_err(|error| Failure::new(error.to_string()))?;
                Ok((name.clone(), reading))
            })
            .collect()
    }

    /// SQL first, then CPU, then the clock: what the reading costs is outside.
    pub(super) async fn open(&mut self, follows: bool) -> Result<(), Failure> {
        let last = self.boundary.take().filter(|_| follows);
        let start = match last {
            Some(boundary) => boundary,
            None => {
                self.release_loads().await?;
                self.flush_own_statistics().await?;
                let edges = self.edges().await?;
                let cpu = self.cpu()?;
                let consumers = self.read_consumers();
                let host = HostTimes::take().ok().map(|host| (Instant::now(), host));
                let own_cpu = thread_cpu();
                Boundary { at: Instant::now(), cpu, edges, own_cpu, host, consumers }
            }
        };
        for (name, edge) in &start.edges {
            let (node, cpu) = (&mut self.nodes[name.as_str()], &start.cpu[name.as_str()]);
            node.sampler.open(start.at, &node.own_sessions, cpu, (edge.lsn, edge.slots.clone()));
        }
        // The connections of a load stay open beyond its window, until closing them is counted nowhere.
        let ended = std::mem::take(&mut *self.ended.borrow_mut());
        self.connections.extend(ended.loads.into_values().map(|load| load.finished.connections));
        self.watches.extend(ended.watches);
        self.window = Some(Window { start, marker_commit: None, no_downstream: false });
        Ok(())
    }

    /// The clock stops when the last activity ended, not when that was heard of; that of a phase that lasts a length of
    /// time, now.
    pub(super) async fn close(&mut self, phase: &str) -> Result<Evidence, Failure> {
        let now = Instant::now();
        let own_cpu = thread_cpu();
        let Some(window) = self.window.take() else { return Err(Failure::new("no window is open")) };
        for node in self.nodes.values_mut() {
            node.sampler.stop();
        }
        let holds =
            self.cell.turn.phases.iter().any(|plan| plan.name == phase && matches!(plan.filling, Filling::Hold(_)));
        let ended = self.ended.borrow().last().filter(|_| !window.no_downstream && !holds).unwrap_or(now);
        let host = HostTimes::take().ok().map(|host| (now, host));
        let of_pgbench = self.nodes_under_pgbench();
        self.wait_until_reaped(&window, &of_pgbench).await;
        let cpu = self.cpu();
        let consumers = self.read_consumers();
        let edges = self.last_edges().await?;
        if edges.is_none() && !*self.stop.borrow() {
            self.notes.push(format!(
                "at the end of phase `{phase}` the nodes did not tell their WAL and slots within {EDGE_BOUND:?}: a session was still \
                 busy with what the phase had begun"
            ));
        }
        let cpu = cpu?;
        let start = &window.start;
        let mut evidence = Evidence {
            seconds: ended.duration_since(start.at).as_secs_f64(),
            no_downstream: window.no_downstream,
            launcher_wait_seconds: self.launcher_wait.take(),
            slots: self.consumed(&start.consumers, &consumers),
            runner_cpu_ns: u64::try_from(own_cpu.saturating_sub(start.own_cpu).as_nanos()).ok(),
            ..Evidence::default()
        };
        for (name, reading) in &cpu {
            let (Some(before), Some(first)) = (start.cpu.get(name), start.edges.get(name)) else { continue };
            let node = &mut self.nodes[name.as_str()];
            let used = reading.since(before, &node.own_sessions);
            let last = edges.as_ref().and_then(|edges| edges.get(name));
            let series = node.sampler.close(ended, reading, last.map(|last| (last.lsn, last.slots.clone())));
            if let Some(last) = last {
                let stretch = Stretch { phase: phase.to_owned(), start: first.lsn, end: last.lsn };
                self.stretches.entry(name.clone()).or_default().push(stretch);
            }
            evidence.decoding.extend(first.slots_until(last, name));
            evidence.nodes.insert(
                name.clone(),
                NodeEvidence {
                    cpu_ns: by_role(&used, of_pgbench.contains(name).then(|| self.passed(name, before, reading))),
                    runner_sessions_ns: used.own_sessions_ns,
                    lsn_start: Some(first.lsn),
                    lsn_end: last.map(|last| last.lsn),
                    wal_bytes_start: Some(first.wal.bytes),
                    wal_records_start: Some(first.wal.records),
                    wal_fpi_start: Some(first.wal.fpi),
                    series: Some(series),
                    ..NodeEvidence::default()
                },
            );
        }
        if let (Some((from, before)), Some((to, after))) = (&start.host, &host) {
            let cores = std::thread::available_parallelism().map_or(1.0, |cores| cores.get() as f64);
            // The kernel counts the host in ticks of 10 ms: in a shorter phase there is nothing to see, which adds
            // nothing to a window that holds it.
            let used = after.since(before);
            let capacity = used.as_ref().map_or(0.0, |_| cores * to.duration_since(*from).as_secs_f64());
            evidence.host = Some(HostEvidence {
                capacity_seconds: capacity,
                busy_seconds: used.as_ref().map_or(0.0, |used| used.busy * capacity),
                steal_seconds: used.as_ref().map_or(0.0, |used| used.steal * capacity),
            });
        }
        self.take_in(&window, &mut evidence);
        self.boundary = edges.map(|edges| Boundary { at: ended, cpu, edges, own_cpu, host, consumers });
        Ok(evidence)
    }

    /// The edges at a window's end; `None` where a session is still busy with what was cut short, by an interrupt or by
    /// the phase's bound.
    async fn last_edges(&self) -> Result<Option<IndexMap<String, Edge>>, Failure> {
        let mut stop = self.stop.clone();
        tokio::select! { biased;
            _ = stop.wait_for(|stop| *stop) => Ok(None),
            edges = self.edges() => edges.map(Some),
            () = tokio::time::sleep(EDGE_BOUND) => Ok(None),
        }
    }

    /// Nodes on which pgbench ran a load in this window.
    fn nodes_under_pgbench(&self) -> Vec<String> {
        let ended = self.ended.borrow();
        let loads = ended.loads.iter().filter(|(_, load)| load.pgbench.is_some());
        loads.map(|(name, _)| self.cell.scenario.workloads[name.as_str()].node.clone()).collect()
    }

    /// What processes other than clients' were seen to use that exited while pgbench ran, in nanoseconds.
    fn passed(&self, name: &str, opened: &CpuReading, closed: &CpuReading) -> u64 {
        self.ended.borrow().passing.get(name).map_or(0, |passing| passing.exited_ns(opened, closed))
    }

    /// Waits until the sessions that pgbench left behind are gone: what they used is known once they are reaped, and
    /// would else count in the next window. The phase's clock has stopped; asking the kernel costs the servers nothing.
    async fn wait_until_reaped(&self, window: &Window, nodes: &[String]) {
        let began = Instant::now();
        for name in nodes {
            let (Some(node), Some(before)) = (self.nodes.get(name), window.start.cpu.get(name)) else { continue };
            // A reading that fails is told by the one that counts.
            while let Ok(reading) = CpuReading::take(node.node.pid)
                && reading.new_clients(before, &node.own_sessions) > 0
                && began.elapsed() < REAP_BOUND
                && !*self.stop.borrow()
            {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        }
    }

    /// What the phase's activities left behind, as evidence.
    fn take_in(&mut self, window: &Window, evidence: &mut Evidence) {
        let ended = self.ended.borrow();
        let since = |at: &Instant| at.duration_since(window.start.at).as_secs_f64();
        if let Some(commit) = window.marker_commit {
            evidence.marker = Some(MarkerEvidence {
                commit_seconds: commit.as_secs_f64(),
                visible_seconds: ended.visible.iter().map(|(node, at)| (node.clone(), since(at))).collect(),
                received_seconds: ended.received.iter().map(|(name, at)| (name.clone(), since(at))).collect(),
            });
        }
        for (name, tables) in &ended.syncs {
            let of = |table: &TableSync| SyncEvidence {
                copied_seconds: table.copied.as_ref().map(since),
                ready_seconds: table.ready.as_ref().map(since),
                worker_cpu_ns: table.worker_ns,
                walsender_cpu_ns: table.walsender_ns,
            };
            let tables = tables.iter().map(|(table, seen)| (table.clone(), of(seen))).collect();
            evidence.syncs.insert(name.clone(), tables);
        }
        evidence.startup_seconds = ended
            .startups
            .iter()
            .map(|(name, (at, enabled))| (name.clone(), at.duration_since(*enabled).as_secs_f64()))
            .collect();
        for (name, EndedLoad { finished, pgbench }) in &ended.loads {
            let mut observed = self.load_evidence(name, finished);
            let seconds = finished.report.finished.duration_since(window.start.at).as_secs_f64();
            observed.pgbench = pgbench.as_ref().map(|told| told.evidence(seconds));
            evidence.loads.insert(name.clone(), observed);
            // What pgbench printed is there already.
            if pgbench.is_none()
                && let Err(error) = self.keep_output(name, &finished.report)
            {
                self.notes.push(format!("the output of workload `{name}` is not kept: {error}"));
            }
        }
    }

    /// What the driver has to say beyond the evidence: each client's share, and a message for each kind of failure.
    fn keep_output(&self, name: &str, report: &LoadReport) -> std::io::Result<()> {
        let mut text = format!(
            "workload {name}: {:.6} s, {} committed, {} failed, {} skipped{}\n",
            report.finished.duration_since(report.started).as_secs_f64(),
            report.committed(),
            report.failed(),
            report.skipped(),
            if report.interrupted { ", interrupted" } else { "" }
        );
        for script in &report.scripts {
            if script.retried > 0 {
                text += &format!(
                    "script {}: {} tried again, {} retries in all\n",
                    script.name, script.retried, script.retries
                );
            }
            for (state, failures) in &script.errors {
                text += &format!(
                    "script {}: {} failed with {state}: {}\n",
                    script.name, failures.count, failures.first_message
                );
            }
        }
        for client in &report.clients {
            text += &format!(
                "client {}: {} committed, {} failed, {} skipped\n",
                client.client, client.committed, client.failed, client.skipped
            );
        }
        std::fs::create_dir_all(&self.logs)?;
        // A workload may run in more than one phase.
        let path = self.logs.join(format!("load-{name}.txt"));
        std::fs::File::options().create(true).append(true).open(path)?.write_all(text.as_bytes())
    }

    /// Closes the loads' connections before what they would be counted in begins, and waits until their backends are
    /// gone.
    pub(super) async fn release_loads(&mut self) -> Result<(), Failure> {
        let mut loads = std::mem::take(&mut self.connections);
        let ended = std::mem::take(&mut self.ended.borrow_mut().loads);
        loads.extend(ended.into_values().map(|load| load.finished.connections));
        let backends: Vec<u32> = loads.iter().flat_map(OpenConnections::backend_pids).collect();
        drop(loads);
        if backends.is_empty() || *self.stop.borrow() {
            return Ok(());
        }
        self.wait_until_gone(&backends).await
    }

    fn load_evidence(&self, name: &str, finished: &crate::load::Finished) -> LoadEvidence {
        let workload = &self.cell.scenario.workloads[name];
        let scripts = finished
            .report
            .scripts
            .iter()
            .map(|script| {
                let evidence = ScriptEvidence {
                    committed: script.committed,
                    failed: script.errors.iter().map(|(state, failures)| (state.clone(), failures.count)).collect(),
                    skipped: script.skipped,
                    late: script.late,
                    retried: script.retried,
                    retries: script.retries,
                    latency: histogram(&script.latency_ns),
                    lag: script.lag_ns.as_ref().map(histogram).unwrap_or_default(),
                };
                (script.name.clone(), evidence)
            })
            .collect();
        LoadEvidence {
            node: workload.node.clone(),
            clients: workload.clients.value,
            driver_cpu_ns: Some(finished.report.driver_cpu_ns),
            rate: workload.rate.as_ref().map(|rate| rate.value),
            latency_limit_ns: workload.latency_limit.as_ref().map(|limit| limit.value.as_nanos() as u64),
            committed_each_second: finished.report.committed_each_second.clone(),
            scripts,
            pgbench: None,
        }
    }

    /// Disables the subscriptions, so that every process that wrote WAL has exited and flushed its statistics; then
    /// reads them, and the WAL itself. The load's connections are closed first.
    pub(super) async fn settle(&mut self) -> Result<IndexMap<String, Settled>, Failure> {
        self.release_loads().await?;
        let names: Vec<String> = self.cell.scenario.subscriptions.keys().cloned().collect();
        for name in &names {
            let sql = crate::plan::sql::subscription::disable(name);
            self.sql(&self.cell.scenario.subscriptions[name.as_str()].node, &sql).await?;
        }
        for name in &names {
            self.wait_for(&Condition::Disabled { subscription: name.clone() }, SETTLE_BOUND).await?;
        }
        self.end_consumers().await?;
        self.note_scans().await?;
        let mut settled = IndexMap::new();
        for (name, edge) in self.quiet_wal().await? {
            let node = self.node(&name)?;
            let stretches = self.stretches.get(&name).map(Vec::as_slice).unwrap_or_default();
            // From here on the node writes WAL that is in no figure.
            let ledger = ledger::read(&node.sampler.session, node.major, stretches).await;
            settled.insert(name, Settled { wal: edge.wal, slots: edge.decoded, ledger });
        }
        Ok(settled)
    }

    /// A session reports its statistics at most once a second, so what the runner's own sessions wrote while building
    /// would be counted later, in the first window.
    async fn flush_own_statistics(&mut self) -> Result<(), Failure> {
        for node in self.nodes.values().filter(|node| node.major >= 15) {
            node.rows("SELECT pg_catalog.pg_stat_force_next_flush()").await?;
        }
        // Between phases nothing may be waited for: what is replicated would go on, outside every clock.
        if self.first_window {
            self.first_window = false;
            self.quiet_wal().await?;
        }
        Ok(())
    }

    /// Statistics; on 14, whose statistics collector hears of everything with a delay and cannot be hurried, once
    /// they have stood still for a while.
    async fn quiet_wal(&self) -> Result<IndexMap<String, Edge>, Failure> {
        let mut last = self.edges().await?;
        if self.nodes.values().all(|node| node.major >= 15) {
            return Ok(last);
        }
        let began = Instant::now();
        let mut quiet = Instant::now();
        while began.elapsed() < SETTLE_BOUND && quiet.elapsed() < QUIET {
            tokio::time::sleep(Duration::from_millis(100)).await;
            let next = self.edges().await?;
            if next.iter().any(|(name, edge)| {
                last.get(name).is_some_and(|last| (last.wal, &last.decoded) != (edge.wal, &edge.decoded))
            }) {
                quiet = Instant::now();
            }
            last = next;
        }
        Ok(last)
    }

    /// How the apply workers found their rows: the difference between an index and reading the whole table for each.
    async fn note_scans(&mut self) -> Result<(), Failure> {
        let sql = "SELECT format('%I.%I', schemaname, relname), seq_scan, coalesce(idx_scan, 0), n_tup_upd + n_tup_del \
                   FROM pg_catalog.pg_stat_user_tables WHERE n_tup_upd + n_tup_del > 0 ORDER BY 1";
        let mut notes = Vec::new();
        for (name, node) in &self.nodes {
            if !self.cell.scenario.subscriptions.values().any(|subscription| subscription.node == *name) {
                continue;
            }
            for row in node.rows(sql).await? {
                let text = |index: usize| row.get(index).unwrap_or("?").to_owned();
                notes.push(format!(
                    "on {name}, {} was searched by {} sequential scan(s) and {} index scan(s) for {} updated or deleted row(s)",
                    text(0), text(1), text(2), text(3)
                ));
            }
        }
        self.notes.extend(notes);
        Ok(())
    }

    async fn wait_until_gone(&self, backends: &[u32]) -> Result<(), Failure> {
        let list = backends.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
        let sql = format!(
            "SELECT 1 FROM pg_catalog.pg_stat_activity WHERE application_name LIKE 'load %' AND pid IN ({list}) LIMIT 1"
        );
        let began = Instant::now();
        for node in self.nodes.values() {
            while !node.rows(&sql).await?.is_empty() && began.elapsed() < SETTLE_BOUND {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        }
        Ok(())
    }
}

/// What was used by role. Where pgbench ran a load, what exited is its sessions, but for what others were seen to use
/// that came and went (`passed`).
fn by_role(used: &CpuUse, passed: Option<u64>) -> IndexMap<String, u64> {
    let mut named: IndexMap<String, u64> =
        used.named_ns().into_iter().map(|(role, ns)| (role.to_owned(), ns)).collect();
    if let Some(passed) = passed {
        let passed = passed.min(used.exited_ns);
        named.insert(Role::Exited.name().to_owned(), passed);
        named.insert(CLIENTS_EXITED.to_owned(), used.exited_ns - passed);
    }
    named
}

/// A distribution as it is stored.
fn histogram(recorded: &hdrhistogram::Histogram<u64>) -> Histogram {
    let buckets = recorded.iter_recorded().map(|value| (value.value_iterated_to(), value.count_at_value()));
    Histogram::from_buckets(buckets.collect())
}

impl Ended {
    /// The moment the last activity ended.
    fn last(&self) -> Option<Instant> {
        let loads = self.loads.values().map(|load| load.finished.report.finished);
        let ready = self.syncs.values().flat_map(IndexMap::values).filter_map(|table| table.ready);
        let arrivals = self.visible.values().chain(self.received.values()).copied();
        loads.chain(arrivals).chain(ready).chain(self.startups.values().map(|(at, _)| *at)).max()
    }
}
