//! What is known only after the last phase, and where it belongs: statistics to the last phase, the WAL's records to
//! the phase that they were written in.

use indexmap::IndexMap;

use crate::measure::{Rmgrs, SlotCounters};
use crate::results::PhaseRecord;

/// `pg_stat_wal` at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WalCounters {
    /// Record bytes.
    pub bytes: u64,
    /// Records.
    pub records: u64,
    /// Full-page images.
    pub fpi: u64,
}

/// One node after the last phase, once all that wrote WAL or decoded it has exited.
#[derive(Clone, Debug, PartialEq)]
pub struct Settled {
    /// WAL statistics.
    pub wal: WalCounters,
    /// Statistics of its replication slots.
    pub slots: IndexMap<String, SlotCounters>,
    /// Its WAL by phase, or why that is not known.
    pub ledger: Result<IndexMap<String, PhaseLedger>, String>,
}

/// A phase's WAL by resource manager.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PhaseLedger {
    /// Between the phase before and its clock; nothing for the first.
    pub before: Rmgrs,
    /// Inside its window.
    pub inside: Rmgrs,
}

/// Puts what has settled where it belongs.
pub(super) fn book(phases: &mut IndexMap<String, PhaseRecord>, settled: &IndexMap<String, Settled>) {
    for (name, phase) in phases.iter_mut() {
        for (node, evidence) in &mut phase.evidence.nodes {
            match settled.get(node).map(|settled| &settled.ledger) {
                Some(Ok(ledger)) => {
                    evidence.wal_rmgrs = ledger.get(name).map(|phase| phase.inside.clone());
                    evidence.wal_rmgrs_before = ledger.get(name).map(|phase| phase.before.clone());
                }
                Some(Err(reason)) => evidence.wal_rmgrs_absent = Some(reason.clone()),
                None => {}
            }
        }
    }
    let Some((_, last)) = phases.last_mut() else { return };
    for (node, evidence) in &mut last.evidence.nodes {
        let wal = settled.get(node).map(|settled| settled.wal);
        evidence.wal_bytes_settled = wal.map(|wal| wal.bytes);
        evidence.wal_records_settled = wal.map(|wal| wal.records);
        evidence.wal_fpi_settled = wal.map(|wal| wal.fpi);
    }
    for (name, slot) in &mut last.evidence.decoding {
        slot.counters_settled = settled.get(&slot.node).and_then(|settled| settled.slots.get(name)).copied();
    }
}
