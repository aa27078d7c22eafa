//! What a node's control session tells at an edge of a window, in one round trip: WAL position and statistics, slots
//! and their walsenders. Between phases replication goes on outside of every clock, so that nothing is waited for.

use indexmap::{IndexMap, IndexSet};
use tokio_postgres::Client;

use super::node::rows;
use crate::execute::settle::WalCounters;
use crate::execute::world::Failure;
use crate::measure::{DecodingEvidence, SlotCounters, SlotPoint};
use crate::text::Lsn;

/// Slots with their walsenders, a row even where there is none. A table's own slot, made while it is copied, is gone
/// before a phase begins.
/// All columns are text, however they are asked for.
pub(super) const POSITIONS: &str = "SELECT 'slot', pg_catalog.pg_current_wal_insert_lsn()::text, s.slot_name::text, s.restart_lsn::text, \
     s.confirmed_flush_lsn::text, w.sent_lsn::text, w.replay_lsn::text \
     FROM (SELECT) one LEFT JOIN pg_catalog.pg_replication_slots s ON NOT s.temporary AND s.slot_name !~ '^pg_[0-9]+_sync_' \
     LEFT JOIN pg_catalog.pg_stat_get_wal_senders() w ON w.pid = s.active_pid";

const STATISTICS: &str = "SELECT 'wal', wal_bytes, wal_records, wal_fpi FROM pg_catalog.pg_stat_wal; \
     SELECT 'decoded', slot_name, total_txns, total_bytes, spill_txns, spill_count, spill_bytes, stream_txns, stream_count, stream_bytes \
     FROM pg_catalog.pg_stat_replication_slots";

/// A node at one moment.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Edge {
    /// Insert position.
    pub(super) lsn: Lsn,
    /// `pg_stat_wal`; as old as the sessions' last reports.
    pub(super) wal: WalCounters,
    pub(super) slots: IndexMap<String, SlotPosition>,
    /// `pg_stat_replication_slots` by slot.
    pub(super) decoded: IndexMap<String, SlotCounters>,
}

/// A slot at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct SlotPosition {
    restart: Option<Lsn>,
    confirmed: Option<Lsn>,
    sent: Option<Lsn>,
    replayed: Option<Lsn>,
}

impl SlotPosition {
    /// Up to where its walsender has sent; without one, from where the next will.
    pub(super) fn sent(&self) -> Option<Lsn> {
        self.sent.or(self.confirmed)
    }

    /// What the downstream has applied; without a walsender, what it has confirmed.
    pub(super) fn applied(&self) -> Option<Lsn> {
        self.replayed.or(self.confirmed)
    }

    /// As a point of a series, but for the lag in seconds.
    pub(super) fn point(&self, insert: Lsn) -> SlotPoint {
        SlotPoint {
            lag_bytes: self.applied().map(|applied| insert.bytes_since(applied)),
            lag_seconds: None,
            retained_bytes: self.restart.map(|restart| insert.bytes_since(restart)),
        }
    }
}

/// Insert position and slots.
pub(super) type Positions = (Lsn, IndexMap<String, SlotPosition>);

/// Reads the rows of [`POSITIONS`], each given as its columns by number.
pub(super) fn positions<'r, C>(rows: impl IntoIterator<Item = C>) -> Option<Positions>
where
    C: Fn(usize) -> Option<&'r str>,
{
    let mut insert = None;
    let mut slots = IndexMap::new();
    for column in rows {
        let lsn = |index: usize| column(index).and_then(|lsn| lsn.parse().ok());
        insert = insert.max(lsn(1));
        if let Some(name) = column(2) {
            let position = SlotPosition { restart: lsn(3), confirmed: lsn(4), sent: lsn(5), replayed: lsn(6) };
            slots.insert(name.to_owned(), position);
        }
    }
    Some((insert?, slots))
}

impl Edge {
    /// Asks `session`.
    pub(super) async fn read(session: &Client) -> Result<Edge, Failure> {
        let rows = rows(session, &format!("{POSITIONS}; {STATISTICS}")).await?;
        let of_slots = rows.iter().filter(|row| row.get(0) == Some("slot"));
        let (lsn, slots) = positions(of_slots.map(|row| |index| row.get(index)))
            .ok_or_else(|| Failure::new("no WAL position was told"))?;
        let mut edge = Edge { lsn, slots, ..Edge::default() };
        for row in &rows {
            let number = |index: usize| row.get(index).and_then(|number| number.parse().ok()).unwrap_or_default();
            match (row.get(0), row.get(1)) {
                (Some("wal"), _) => edge.wal = WalCounters { bytes: number(1), records: number(2), fpi: number(3) },
                (Some("decoded"), Some(slot)) => {
                    let counters = SlotCounters {
                        decoded_transactions: number(2),
                        decoded_bytes: number(3),
                        spilled_transactions: number(4),
                        spill_count: number(5),
                        spilled_bytes: number(6),
                        streamed_transactions: number(7),
                        stream_count: number(8),
                        streamed_bytes: number(9),
                    };
                    edge.decoded.insert(slot.to_owned(), counters);
                }
                _ => {}
            }
        }
        Ok(edge)
    }

    /// The slots of `node` from here to `end`, the same node later.
    pub(super) fn slots_until<'e>(
        &'e self,
        end: Option<&'e Edge>,
        node: &'e str,
    ) -> impl Iterator<Item = (String, DecodingEvidence)> + 'e {
        let later = end.into_iter().flat_map(|end| end.slots.keys());
        let names: IndexSet<&String> = self.slots.keys().chain(later).collect();
        names.into_iter().map(move |name| {
            let evidence = DecodingEvidence {
                node: node.to_owned(),
                // One that is made in between begins with nothing.
                sent_start: self.slots.get(name).map_or(Some(self.lsn), SlotPosition::sent),
                sent_end: end.and_then(|end| end.slots.get(name)).and_then(SlotPosition::sent),
                counters_start: if self.slots.contains_key(name) {
                    self.decoded.get(name).copied()
                } else {
                    Some(SlotCounters::default())
                },
                counters_settled: None,
            };
            (name.clone(), evidence)
        })
    }
}
