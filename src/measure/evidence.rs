//! What one phase of one turn observed. Only grows: a new field is optional, so that old records still read.

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};

use super::histogram::Histogram;
use super::ledger::{DecodingEvidence, Rmgrs, add_rmgrs};
use super::series::NodeSeries;
use crate::text::Lsn;

/// Observed in one phase; consecutive phases are joined into windows by [`Evidence::join`].
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Evidence {
    /// Wall time of the phase by the runner's monotonic clock, in seconds.
    pub seconds: f64,
    /// True for a phase that waited for the marker although the scenario has no downstream: its length is what
    /// the marker's commit took, which is counted in a window that holds it and means nothing alone.
    #[serde(default)]
    pub no_downstream: bool,
    /// By node name.
    #[serde(default)]
    pub nodes: IndexMap<String, NodeEvidence>,
    /// By workload name.
    #[serde(default)]
    pub loads: IndexMap<String, LoadEvidence>,
    /// By slot that has a consumer.
    #[serde(default)]
    pub slots: IndexMap<String, SlotEvidence>,
    /// Initial copies, in a phase that waited for them: by subscription, by table.
    #[serde(default)]
    pub syncs: IndexMap<String, IndexMap<String, SyncEvidence>>,
    /// The marker, in a phase that waited for it.
    #[serde(default)]
    pub marker: Option<MarkerEvidence>,
    /// Seconds from ENABLE to the active slot, by subscription enabled in this phase.
    #[serde(default)]
    pub startup_seconds: IndexMap<String, f64>,
    /// Seconds waited before the clock for the launcher of 14 and 15, which starts no worker within
    /// `wal_retrieve_retry_interval` of the last start.
    #[serde(default)]
    pub launcher_wait_seconds: Option<f64>,
    /// The whole machine.
    #[serde(default)]
    pub host: Option<HostEvidence>,
    /// What was sent and decoded, by replication slot, which for a subscription has its name.
    #[serde(default)]
    pub decoding: IndexMap<String, DecodingEvidence>,
    /// CPU nanoseconds of the runner's own main thread inside the clock: the loop, what it waits for, and the
    /// sampler; in no sum.
    #[serde(default)]
    pub runner_cpu_ns: Option<u64>,
}

/// One node in one phase.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct NodeEvidence {
    /// CPU nanoseconds of the server's processes, by role; `exited` holds those that ended in the phase.
    #[serde(default)]
    pub cpu_ns: IndexMap<String, u64>,
    /// CPU nanoseconds of the backends that serve the runner's own control sessions; in no sum.
    #[serde(default)]
    pub runner_sessions_ns: u64,
    /// Insert position of the WAL when the phase began.
    #[serde(default)]
    pub lsn_start: Option<Lsn>,
    /// Insert position of the WAL when the phase had ended.
    #[serde(default)]
    pub lsn_end: Option<Lsn>,
    /// `pg_stat_wal.wal_bytes` when the phase began.
    #[serde(default)]
    pub wal_bytes_start: Option<u64>,
    /// `pg_stat_wal.wal_bytes` after the last phase, once the load's sessions and the apply workers had exited
    /// and so flushed their statistics. Only in the last phase.
    #[serde(default)]
    pub wal_bytes_settled: Option<u64>,
    /// `pg_stat_wal.wal_records` when the phase began.
    #[serde(default)]
    pub wal_records_start: Option<u64>,
    /// `pg_stat_wal.wal_records`, settled as `wal_bytes_settled` is.
    #[serde(default)]
    pub wal_records_settled: Option<u64>,
    /// `pg_stat_wal.wal_fpi` when the phase began.
    #[serde(default)]
    pub wal_fpi_start: Option<u64>,
    /// `pg_stat_wal.wal_fpi`, settled as `wal_bytes_settled` is.
    #[serde(default)]
    pub wal_fpi_settled: Option<u64>,
    /// The WAL from `lsn_start` to `lsn_end` by resource manager, read after the last phase.
    #[serde(default)]
    pub wal_rmgrs: Option<Rmgrs>,
    /// The WAL between the phase before and this one; part of a window that spans both.
    #[serde(default)]
    pub wal_rmgrs_before: Option<Rmgrs>,
    /// Why there is no `wal_rmgrs`, where it was tried.
    #[serde(default)]
    pub wal_rmgrs_absent: Option<String>,
    /// What was seen each second.
    #[serde(default)]
    pub series: Option<NodeSeries>,
}

/// One workload in one phase.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LoadEvidence {
    /// Node under load.
    pub node: String,
    /// Client connections.
    pub clients: u32,
    /// CPU nanoseconds of the driver's threads.
    #[serde(default)]
    pub driver_cpu_ns: Option<u64>,
    /// Transactions a second that all clients together were to begin.
    #[serde(default)]
    pub rate: Option<f64>,
    /// Above which latency a transaction was late, in nanoseconds.
    #[serde(default)]
    pub latency_limit_ns: Option<u64>,
    /// Committed in each whole second since the load's start, up to that of the last commit; of a load by pgbench in each
    /// second of the clock on the wall, from that in which it began. In a window the phases stand
    /// one after another.
    #[serde(default)]
    pub committed_each_second: Vec<u64>,
    /// By script name.
    #[serde(default)]
    pub scripts: IndexMap<String, ScriptEvidence>,
    /// What only pgbench tells, of a load that it ran.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pgbench: Option<PgbenchEvidence>,
}

/// What pgbench told of a load that it ran.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PgbenchEvidence {
    /// `tps` as it printed it, without initial connection time; absent of several runs of it together.
    #[serde(default)]
    pub tps: Option<f64>,
    /// `initial connection time` as it printed it, in seconds.
    #[serde(default)]
    pub connecting_seconds: f64,
    /// Seconds of the phase up to its end that its own clock does not count: starting it, connecting, its end.
    #[serde(default)]
    pub outside_seconds: f64,
    /// Whether it kept no log of its transactions, so that no latencies are known.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unlogged: bool,
    /// `latency average` as it printed it, in milliseconds; absent of several runs of it together.
    #[serde(default)]
    pub latency_average_ms: Option<f64>,
}

/// One script of a workload in one phase.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ScriptEvidence {
    /// Transactions that committed.
    pub committed: u64,
    /// Transactions that failed, by SQLSTATE.
    #[serde(default)]
    pub failed: IndexMap<String, u64>,
    /// Transactions that never began, for under a target rate they were too late to.
    #[serde(default)]
    pub skipped: u64,
    /// Committed transactions above the latency limit.
    #[serde(default)]
    pub late: u64,
    /// Transactions that were tried more than once.
    #[serde(default)]
    pub retried: u64,
    /// Tries of all transactions beyond their first.
    #[serde(default)]
    pub retries: u64,
    /// Latency of the committed transactions, in nanoseconds; under a target rate from the scheduled start.
    #[serde(default)]
    pub latency: Histogram,
    /// By how much the committed transactions began after their scheduled start, in nanoseconds.
    #[serde(default)]
    pub lag: Histogram,
}

/// The marker of one phase.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct MarkerEvidence {
    /// What the marker's commit on the source took, in seconds.
    pub commit_seconds: f64,
    /// Seconds from the phase's clock to the row being visible, by downstream node.
    #[serde(default)]
    pub visible_seconds: IndexMap<String, f64>,
    /// Seconds from the phase's clock to its having been received, by slot, or by subscription in a phase that waits
    /// for that.
    #[serde(default)]
    pub received_seconds: IndexMap<String, f64>,
}

/// The consumer of a slot in one phase.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SlotEvidence {
    /// The client: `runner` or `pg_recvlogical`.
    pub consumer: String,
    /// CPU nanoseconds of the client.
    #[serde(default)]
    pub consumer_cpu_ns: Option<u64>,
    /// Bytes of the plugin's output.
    #[serde(default)]
    pub bytes: u64,
    /// Rows changed; absent where the client or the plugin does not tell.
    #[serde(default)]
    pub changes: Option<u64>,
    /// Transactions received to their end; absent where the client or the plugin does not tell.
    #[serde(default)]
    pub transactions: Option<u64>,
}

/// The initial copy of one table.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SyncEvidence {
    /// Seconds from the phase's clock to its rows being there (state f, s or r).
    #[serde(default)]
    pub copied_seconds: Option<f64>,
    /// Seconds from the phase's clock to its being ready (state r).
    #[serde(default)]
    pub ready_seconds: Option<f64>,
    /// CPU nanoseconds of its table synchronisation worker, as last seen before it ended.
    #[serde(default)]
    pub worker_cpu_ns: Option<u64>,
    /// CPU nanoseconds of the walsender that copied it on the publisher, as last seen before it ended.
    #[serde(default)]
    pub walsender_cpu_ns: Option<u64>,
}

/// The machine in one phase: seconds of all cores together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct HostEvidence {
    /// Core seconds that were there (cores times wall time).
    pub capacity_seconds: f64,
    /// Core seconds in use by anything.
    pub busy_seconds: f64,
    /// Core seconds taken by the hypervisor for others.
    #[serde(default)]
    pub steal_seconds: f64,
}

impl Evidence {
    /// The evidence of a window over consecutive phases: durations, counts and histograms add up, positions
    /// span from the first phase's start to the last one's end.
    #[must_use]
    pub fn join<'a>(phases: impl IntoIterator<Item = &'a Evidence>) -> Evidence {
        let mut phases = phases.into_iter();
        let mut whole = phases.next().cloned().unwrap_or_default();
        for next in phases {
            whole.extend(next);
        }
        whole
    }

    /// Share of the cores that was in use and is neither the nodes', nor the runner's, the loads' or the consumers', nor was
    /// it taken by the hypervisor: other processes, and the kernel's own work. `None` where the host was not read.
    pub fn other_load(&self) -> Option<f64> {
        let host = self.host.filter(|host| host.capacity_seconds > 0.0)?;
        let nodes: u64 = self.nodes.values().flat_map(|node| node.cpu_ns.values()).sum();
        let sessions: u64 = self.nodes.values().map(|node| node.runner_sessions_ns).sum();
        let loads: u64 = self.loads.values().filter_map(|load| load.driver_cpu_ns).sum();
        let consumers: u64 = self.slots.values().filter_map(|slot| slot.consumer_cpu_ns).sum();
        let known = (nodes + sessions + loads + consumers + self.runner_cpu_ns.unwrap_or(0)) as f64 / 1e9;
        Some(((host.busy_seconds - host.steal_seconds - known) / host.capacity_seconds).max(0.0))
    }

    fn extend(&mut self, next: &Evidence) {
        let offset = self.seconds;
        self.seconds += next.seconds;
        self.no_downstream = false;
        for (name, node) in &next.nodes {
            self.nodes.entry(name.clone()).or_default().extend(node, offset);
        }
        for (name, slot) in &next.decoding {
            self.decoding.entry(name.clone()).or_default().extend(slot);
        }
        self.runner_cpu_ns = add(self.runner_cpu_ns, next.runner_cpu_ns);
        for (name, load) in &next.loads {
            let whole = self.loads.entry(name.clone()).or_default();
            whole.node.clone_from(&load.node);
            whole.clients = whole.clients.max(load.clients);
            whole.rate = load.rate.or(whole.rate);
            whole.latency_limit_ns = load.latency_limit_ns.or(whole.latency_limit_ns);
            whole.committed_each_second.extend(&load.committed_each_second);
            whole.driver_cpu_ns = add(whole.driver_cpu_ns, load.driver_cpu_ns);
            for (script, more) in &load.scripts {
                whole.scripts.entry(script.clone()).or_default().extend(more);
            }
            match (&mut whole.pgbench, &load.pgbench) {
                (Some(whole), Some(next)) => whole.extend(next),
                (None, Some(next)) => whole.pgbench = Some(next.clone()),
                (_, None) => {}
            }
        }
        for (name, slot) in &next.slots {
            self.slots.entry(name.clone()).or_default().extend(slot);
        }
        for (name, tables) in &next.syncs {
            self.syncs.entry(name.clone()).or_default().extend(tables.clone());
        }
        if let Some(marker) = &next.marker {
            self.marker = Some(marker.clone());
        }
        for (subscription, seconds) in &next.startup_seconds {
            *self.startup_seconds.entry(subscription.clone()).or_default() += seconds;
        }
        self.launcher_wait_seconds = match (self.launcher_wait_seconds, next.launcher_wait_seconds) {
            (None, None) => None,
            (a, b) => Some(a.unwrap_or(0.0) + b.unwrap_or(0.0)),
        };
        self.host = match (self.host, next.host) {
            (Some(a), Some(b)) => Some(HostEvidence {
                capacity_seconds: a.capacity_seconds + b.capacity_seconds,
                busy_seconds: a.busy_seconds + b.busy_seconds,
                steal_seconds: a.steal_seconds + b.steal_seconds,
            }),
            _ => None,
        };
    }
}

impl NodeEvidence {
    /// `offset` is how many seconds the clocks before took.
    fn extend(&mut self, next: &NodeEvidence, offset: f64) {
        for (role, ns) in &next.cpu_ns {
            *self.cpu_ns.entry(role.clone()).or_default() += ns;
        }
        self.runner_sessions_ns += next.runner_sessions_ns;
        self.lsn_start = self.lsn_start.or(next.lsn_start);
        self.lsn_end = next.lsn_end;
        self.wal_bytes_start = self.wal_bytes_start.or(next.wal_bytes_start);
        self.wal_bytes_settled = next.wal_bytes_settled;
        self.wal_records_start = self.wal_records_start.or(next.wal_records_start);
        self.wal_records_settled = next.wal_records_settled;
        self.wal_fpi_start = self.wal_fpi_start.or(next.wal_fpi_start);
        self.wal_fpi_settled = next.wal_fpi_settled;
        // A part that is not known leaves the whole unknown.
        self.wal_rmgrs = match (self.wal_rmgrs.take(), &next.wal_rmgrs_before, &next.wal_rmgrs) {
            (Some(mut whole), Some(between), Some(more)) => {
                add_rmgrs(&mut whole, between);
                add_rmgrs(&mut whole, more);
                Some(whole)
            }
            _ => None,
        };
        if self.wal_rmgrs_absent.is_none() {
            self.wal_rmgrs_absent.clone_from(&next.wal_rmgrs_absent);
        }
        if let Some(series) = &next.series {
            self.series.get_or_insert_default().extend(series, offset);
        }
    }
}

impl SlotEvidence {
    fn extend(&mut self, next: &SlotEvidence) {
        self.consumer.clone_from(&next.consumer);
        self.consumer_cpu_ns = add(self.consumer_cpu_ns, next.consumer_cpu_ns);
        self.bytes += next.bytes;
        self.changes = add(self.changes, next.changes);
        self.transactions = add(self.transactions, next.transactions);
    }
}

impl PgbenchEvidence {
    fn extend(&mut self, next: &PgbenchEvidence) {
        (self.tps, self.latency_average_ms) = (None, None);
        self.connecting_seconds += next.connecting_seconds;
        self.outside_seconds += next.outside_seconds;
        self.unlogged |= next.unlogged;
    }
}

impl ScriptEvidence {
    fn extend(&mut self, next: &ScriptEvidence) {
        self.committed += next.committed;
        for (state, count) in &next.failed {
            *self.failed.entry(state.clone()).or_default() += count;
        }
        self.skipped += next.skipped;
        self.late += next.late;
        self.retried += next.retried;
        self.retries += next.retries;
        self.latency.merge(&next.latency);
        self.lag.merge(&next.lag);
    }

    /// Transactions that failed for any reason.
    pub fn failed_total(&self) -> u64 {
        self.failed.values().sum()
    }
}

fn add(a: Option<u64>, b: Option<u64>) -> Option<u64> {
    match (a, b) {
        (None, None) => None,
        (a, b) => Some(a.unwrap_or(0) + b.unwrap_or(0)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::ledger::{RmgrEvidence, SlotCounters};
    use crate::measure::series::NodePoint;

    #[test]
    fn a_window_spans_positions_and_adds_the_rest() {
        let phase = |seconds: f64, from: u64, to: u64, ns: u64| Evidence {
            seconds,
            no_downstream: true,
            nodes: IndexMap::from([(
                "p".to_owned(),
                NodeEvidence {
                    cpu_ns: IndexMap::from([("walsender".to_owned(), ns)]),
                    lsn_start: Some(Lsn(from)),
                    lsn_end: Some(Lsn(to)),
                    ..NodeEvidence::default()
                },
            )]),
            ..Evidence::default()
        };
        let whole = Evidence::join([&phase(1.0, 10, 20, 5), &phase(2.0, 20, 50, 7)]);
        assert!((whole.seconds - 3.0).abs() < 1e-12);
        assert!(!whole.no_downstream);
        let node = &whole.nodes["p"];
        assert_eq!((node.lsn_start, node.lsn_end), (Some(Lsn(10)), Some(Lsn(50))));
        assert_eq!(node.cpu_ns["walsender"], 12);
    }

    #[test]
    fn the_ledger_of_a_window_holds_what_was_written_between_its_phases() {
        let wrote = |records| Some(IndexMap::from([("Heap".to_owned(), rmgr(records))]));
        let phase = |own, before| Evidence {
            seconds: 2.0,
            nodes: IndexMap::from([(
                "p".to_owned(),
                NodeEvidence { wal_rmgrs: wrote(own), wal_rmgrs_before: wrote(before), ..NodeEvidence::default() },
            )]),
            ..Evidence::default()
        };
        let whole = Evidence::join([&phase(1, 100), &phase(10, 1000)]);
        assert_eq!(whole.nodes["p"].wal_rmgrs, wrote(1011));
        let mut unknown = phase(10, 1000);
        unknown.nodes["p"].wal_rmgrs = None;
        unknown.nodes["p"].wal_rmgrs_absent = Some("recycled".to_owned());
        let whole = Evidence::join([&phase(1, 100), &unknown, &phase(1, 1)]);
        assert_eq!(whole.nodes["p"].wal_rmgrs, None);
        assert_eq!(whole.nodes["p"].wal_rmgrs_absent.as_deref(), Some("recycled"));
    }

    fn rmgr(records: u64) -> RmgrEvidence {
        RmgrEvidence { records, record_bytes: records * 50, fpi_bytes: records * 8 }
    }

    #[test]
    fn series_follow_one_another_by_their_clocks_and_slots_span() {
        let phase = |seconds: f64, sent: (u64, u64), settled| {
            let mut series = NodeSeries::default();
            series.push(NodePoint { at: 0.0, ..NodePoint::default() });
            series.push(NodePoint { at: seconds, cpu_ns: vec![("walsender".to_owned(), 4)], ..NodePoint::default() });
            let node = NodeEvidence { series: Some(series), ..NodeEvidence::default() };
            let slot = DecodingEvidence {
                node: "p".to_owned(),
                sent_start: Some(Lsn(sent.0)),
                sent_end: Some(Lsn(sent.1)),
                counters_start: Some(SlotCounters::default()),
                counters_settled: settled,
            };
            Evidence {
                seconds,
                nodes: IndexMap::from([("p".to_owned(), node)]),
                decoding: IndexMap::from([("s".to_owned(), slot)]),
                runner_cpu_ns: Some(2),
                ..Evidence::default()
            }
        };
        let settled = Some(SlotCounters { spilled_bytes: 9, ..SlotCounters::default() });
        let phases = [phase(1.5, (0, 10), None), phase(2.0, (10, 20), None), phase(0.5, (20, 50), settled)];
        let whole = Evidence::join(&phases);
        let series = whole.nodes["p"].series.as_ref().expect("every phase has one");
        assert_eq!(series.at, [0.0, 1.5, 1.5, 3.5, 3.5, 4.0]);
        assert_eq!(series.cpu_ns["walsender"], [0, 4, 0, 4, 0, 4]);
        let slot = &whole.decoding["s"];
        assert_eq!((slot.sent_start, slot.sent_end), (Some(Lsn(0)), Some(Lsn(50))));
        assert_eq!((slot.counters_settled, whole.runner_cpu_ns), (settled, Some(6)));
        // Nothing is stored in another form than it is read.
        let text = serde_json::to_string(&whole).expect("plain data");
        assert_eq!(serde_json::from_str::<Evidence>(&text).expect("it reads"), whole);
    }

    #[test]
    fn a_record_of_an_older_version_still_reads() {
        let old = r#"{ "seconds": 2.5, "nodes": { "p": { "cpu_ns": { "walsender": 7 } } } }"#;
        let evidence: Evidence = serde_json::from_str(old).expect("missing fields are optional");
        assert_eq!(evidence.nodes["p"].lsn_start, None);
        assert_eq!((evidence.decoding.len(), &evidence.nodes["p"].series), (0, &None));
    }
}
