//! What was written to the WAL and what slots made of it, as counters. Not how they are read, nor what they mean.

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};

use crate::text::Lsn;

/// Records of one resource manager in a stretch of WAL, as `pg_walinspect` counts them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RmgrEvidence {
    /// Records.
    pub records: u64,
    /// Their bytes without full-page images.
    pub record_bytes: u64,
    /// Bytes of full-page images.
    pub fpi_bytes: u64,
}

/// Resource manager, as the server names it (`Heap`, `Btree`, …), to what it wrote.
pub type Rmgrs = IndexMap<String, RmgrEvidence>;

/// Adds what `more` wrote.
pub(super) fn add_rmgrs(whole: &mut Rmgrs, more: &Rmgrs) {
    for (name, wrote) in more {
        let sum = whole.entry(name.clone()).or_default();
        sum.records += wrote.records;
        sum.record_bytes += wrote.record_bytes;
        sum.fpi_bytes += wrote.fpi_bytes;
    }
}

/// `pg_stat_replication_slots` of one slot at one moment, since the slot was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SlotCounters {
    /// Transactions handed to the output plugin (`total_txns`).
    pub decoded_transactions: u64,
    /// Decoded changes of those in bytes of the decoder's memory (`total_bytes`): neither WAL nor network bytes.
    pub decoded_bytes: u64,
    /// Transactions that did not fit into `logical_decoding_work_mem` and went to disk (`spill_txns`).
    pub spilled_transactions: u64,
    /// How often they did (`spill_count`).
    pub spill_count: u64,
    /// Decoded changes written to disk, in bytes (`spill_bytes`).
    pub spilled_bytes: u64,
    /// Transactions sent before they had committed (`stream_txns`).
    pub streamed_transactions: u64,
    /// How often parts of them were (`stream_count`).
    pub stream_count: u64,
    /// Decoded changes of those, in bytes (`stream_bytes`).
    pub streamed_bytes: u64,
}

/// One replication slot in one phase.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DecodingEvidence {
    /// Node that the slot is on.
    pub node: String,
    /// Up to where its walsender had sent WAL when the phase began; the confirmed position while it had none.
    #[serde(default)]
    pub sent_start: Option<Lsn>,
    /// The same when the phase had ended.
    #[serde(default)]
    pub sent_end: Option<Lsn>,
    /// Counters when the phase began.
    #[serde(default)]
    pub counters_start: Option<SlotCounters>,
    /// Counters after the last phase, once the walsender had exited. Only in the last phase.
    #[serde(default)]
    pub counters_settled: Option<SlotCounters>,
}

impl DecodingEvidence {
    pub(super) fn extend(&mut self, next: &DecodingEvidence) {
        self.node.clone_from(&next.node);
        self.sent_start = self.sent_start.or(next.sent_start);
        self.sent_end = next.sent_end;
        self.counters_start = self.counters_start.or(next.counters_start);
        self.counters_settled = next.counters_settled;
    }
}
