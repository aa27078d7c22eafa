//! Replication slots: what was sent and decoded, what did not fit into memory, how far behind, and what WAL they kept.

use crate::measure::evidence::Evidence;
use crate::measure::ledger::{DecodingEvidence, SlotCounters};
use crate::measure::metric::{Absent, Better, Dim, Labels, Metric, Probe, Reading, Unit};
use crate::measure::series::SlotSeries;

const DIMS: &[Dim] = &[Dim::Node, Dim::Subscription, Dim::Slot];

macro_rules! counter {
    ($name:literal, $unit:ident, $better:ident, $about:literal, $field:ident) => {
        Metric {
            name: $name,
            unit: Unit::$unit,
            better: Better::$better,
            dims: DIMS,
            needs: &[Probe::SlotStatistics],
            about: $about,
            ratio_floor: 0.0,
            read: |e, l| settled(e, l, |counters| counters.$field),
        }
    };
}

macro_rules! peak {
    ($name:literal, $unit:ident, $about:literal, $read:expr) => {
        Metric {
            name: $name,
            unit: Unit::$unit,
            better: Better::Lower,
            dims: DIMS,
            needs: &[Probe::Series],
            about: $about,
            ratio_floor: 0.0,
            read: |e, l| peak(e, l, $read),
        }
    };
}

pub(super) static METRICS: &[Metric] = &[
    Metric {
        name: "sent_lsn_bytes",
        unit: Unit::Bytes,
        better: Better::Neither,
        dims: DIMS,
        needs: &[Probe::SlotPosition],
        about: "WAL that the walsender got through in the window, by sent_lsn of pg_stat_replication (the slot's confirmed position while there is none): bytes of WAL, not of the network",
        ratio_floor: 0.0,
        read: |e, l| {
            let probe = Probe::SlotPosition;
            total(slots(e, l, probe)?.map(|slot| Some(slot.sent_end?.bytes_since(slot.sent_start?))), probe)
        },
    },
    counter!(
        "decoded_bytes",
        Bytes,
        Neither,
        "changes handed to the output plugin, in bytes of the decoder's memory (total_bytes of pg_stat_replication_slots): not of WAL, not of the network; only of a window that ends with the last phase, after the walsenders have exited",
        decoded_bytes
    ),
    counter!(
        "decoded_transactions",
        Count,
        Neither,
        "transactions handed to the output plugin (total_txns), settled as decoded_bytes is",
        decoded_transactions
    ),
    counter!(
        "spilled_bytes",
        Bytes,
        Lower,
        "decoded changes that went to disk, since they did not fit into logical_decoding_work_mem (spill_bytes), settled as decoded_bytes is",
        spilled_bytes
    ),
    counter!(
        "spilled_transactions",
        Count,
        Lower,
        "transactions of which changes went to disk (spill_txns), settled as decoded_bytes is",
        spilled_transactions
    ),
    counter!("spill_count", Count, Lower, "how often they did (spill_count), settled as decoded_bytes is", spill_count),
    counter!(
        "streamed_bytes",
        Bytes,
        Neither,
        "decoded changes sent before their transaction had committed (stream_bytes), settled as decoded_bytes is",
        streamed_bytes
    ),
    counter!(
        "streamed_transactions",
        Count,
        Neither,
        "transactions of which changes were sent before the commit (stream_txns), settled as decoded_bytes is",
        streamed_transactions
    ),
    peak!(
        "lag_bytes_peak",
        Bytes,
        "most WAL written and not yet applied downstream, seen each second and at both ends; without a label of the worst slot",
        |slot| slot.lag_bytes.iter().flatten().copied().max().map(|bytes| bytes as f64)
    ),
    peak!(
        "lag_seconds_peak",
        Seconds,
        "longest time since the insert position was where the downstream then was, seen each second and at both ends (known to about a second); without a label of the worst slot",
        |slot| slot.lag_seconds.iter().flatten().copied().reduce(f64::max)
    ),
    peak!(
        "retained_wal_peak",
        Bytes,
        "most WAL that a slot kept (from its restart_lsn to the insert position), seen each second and at both ends; without a label of the worst slot",
        |slot| slot.retained_bytes.iter().flatten().copied().max().map(|bytes| bytes as f64)
    ),
];

/// Whether a slot's name and node are as labelled.
fn wanted(labels: &Labels, node: &str, name: &str) -> bool {
    labels.admit(Dim::Node, node) && [Dim::Slot, Dim::Subscription].iter().all(|dim| labels.admit(*dim, name))
}

/// Why none is as labelled.
fn none(labels: &Labels, probe: Probe, any: bool) -> Absent {
    let label = [Dim::Slot, Dim::Subscription, Dim::Node].into_iter().find_map(|dim| Some((dim, labels.value(dim)?)));
    match label {
        Some((Dim::Node, node)) if any => Absent::NoSuch(Dim::Slot, format!("on {node}")),
        Some((dim, value)) if any => Absent::NoSuch(dim, value.to_owned()),
        _ => Absent::NotObserved(probe),
    }
}

fn slots<'e>(
    evidence: &'e Evidence,
    labels: &Labels,
    probe: Probe,
) -> Result<impl Iterator<Item = &'e DecodingEvidence>, Absent> {
    let found: Vec<&DecodingEvidence> = evidence
        .decoding
        .iter()
        .filter(|(name, slot)| wanted(labels, &slot.node, name))
        .map(|(_, slot)| slot)
        .collect();
    if found.is_empty() {
        return Err(none(labels, probe, !evidence.decoding.is_empty()));
    }
    Ok(found.into_iter())
}

fn total(parts: impl Iterator<Item = Option<u64>>, probe: Probe) -> Reading {
    parts.sum::<Option<u64>>().map(|sum| sum as f64).ok_or(Absent::NotObserved(probe))
}

fn settled(evidence: &Evidence, labels: &Labels, count: fn(&SlotCounters) -> u64) -> Reading {
    let probe = Probe::SlotStatistics;
    let used = |slot: &DecodingEvidence| {
        let (settled, start) = (slot.counters_settled.as_ref()?, slot.counters_start.as_ref()?);
        Some(count(settled).saturating_sub(count(start)))
    };
    total(slots(evidence, labels, probe)?.map(used), probe)
}

fn peak(evidence: &Evidence, labels: &Labels, read: fn(&SlotSeries) -> Option<f64>) -> Reading {
    let mut any = false;
    let mut found: Option<f64> = None;
    for (node, observed) in &evidence.nodes {
        for (name, slot) in observed.series.iter().flat_map(|series| &series.slots) {
            any = true;
            if wanted(labels, node, name) {
                found = found.into_iter().chain(read(slot)).reduce(f64::max);
            }
        }
    }
    found.ok_or_else(|| none(labels, Probe::Series, any))
}

#[cfg(test)]
mod tests {
    use indexmap::IndexMap;

    use super::*;
    use crate::measure::{NodeEvidence, NodePoint, NodeSeries, SlotPoint, find};
    use crate::text::Lsn;

    fn read(evidence: &Evidence, name: &str, labels: &[(Dim, &str)]) -> Reading {
        let labels = Labels(labels.iter().map(|(dim, value)| (*dim, (*value).to_owned())).collect());
        (find(name).expect("in the catalogue").read)(evidence, &labels)
    }

    #[test]
    fn slots_select_by_any_of_their_labels_and_the_rest_sums() {
        let counters = |n| SlotCounters {
            decoded_transactions: n,
            decoded_bytes: 10 * n,
            spilled_transactions: 20 * n,
            spill_count: 30 * n,
            spilled_bytes: 40 * n,
            streamed_transactions: 50 * n,
            stream_count: 60 * n,
            streamed_bytes: 70 * n,
        };
        let slot = |node: &str, n: u64| DecodingEvidence {
            node: node.to_owned(),
            sent_start: Some(Lsn(100)),
            sent_end: Some(Lsn(100 + n)),
            counters_start: Some(counters(1)),
            counters_settled: Some(counters(1 + n)),
        };
        let mut evidence = Evidence {
            decoding: IndexMap::from([("x".to_owned(), slot("p", 2)), ("y".to_owned(), slot("q", 5))]),
            ..Evidence::default()
        };
        for (name, each) in [
            ("sent_lsn_bytes", 1.0),
            ("decoded_transactions", 1.0),
            ("decoded_bytes", 10.0),
            ("spilled_transactions", 20.0),
            ("spill_count", 30.0),
            ("spilled_bytes", 40.0),
            ("streamed_transactions", 50.0),
            ("streamed_bytes", 70.0),
        ] {
            assert_eq!(read(&evidence, name, &[]), Ok(7.0 * each), "{name}");
            for labels in [(Dim::Slot, "y"), (Dim::Subscription, "y"), (Dim::Node, "q")] {
                assert_eq!(read(&evidence, name, &[labels]), Ok(5.0 * each), "{name} {labels:?}");
            }
            let unknown = read(&evidence, name, &[(Dim::Subscription, "z")]);
            assert_eq!(unknown, Err(Absent::NoSuch(Dim::Subscription, "z".to_owned())));
        }
        evidence.decoding["x"].counters_settled = None;
        assert_eq!(read(&evidence, "spilled_bytes", &[]), Err(Absent::NotObserved(Probe::SlotStatistics)));
        assert_eq!(read(&evidence, "spilled_bytes", &[(Dim::Slot, "y")]), Ok(200.0));
    }

    #[test]
    fn a_peak_is_of_the_worst_slot() {
        let point = |lag: Option<u64>, retained| SlotPoint {
            lag_bytes: lag,
            lag_seconds: lag.map(|lag| lag as f64 / 10.0),
            retained_bytes: Some(retained),
        };
        let mut series = NodeSeries::default();
        for (at, x, y) in [(0.0, Some(0), 50), (1.0, Some(30), 40), (2.0, None, 90)] {
            let slots = vec![("x".to_owned(), point(x, 5)), ("y".to_owned(), point(Some(20), y))];
            series.push(NodePoint { at, slots, ..NodePoint::default() });
        }
        let node = NodeEvidence { series: Some(series), ..NodeEvidence::default() };
        let evidence = Evidence { nodes: IndexMap::from([("p".to_owned(), node)]), ..Evidence::default() };
        for (name, all, of_y) in
            [("lag_bytes_peak", 30.0, 20.0), ("lag_seconds_peak", 3.0, 2.0), ("retained_wal_peak", 90.0, 90.0)]
        {
            assert_eq!(read(&evidence, name, &[]), Ok(all), "{name}");
            assert_eq!(read(&evidence, name, &[(Dim::Slot, "y"), (Dim::Node, "p")]), Ok(of_y), "{name}");
            let unknown = read(&evidence, name, &[(Dim::Slot, "z")]);
            assert_eq!(unknown, Err(Absent::NoSuch(Dim::Slot, "z".to_owned())));
        }
    }
}
