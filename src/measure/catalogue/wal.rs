//! Write-ahead log volume, by its two definitions, its records and full-page images, and what a transaction costs.

use super::cpu::nodes;
use crate::measure::evidence::{Evidence, NodeEvidence};
use crate::measure::metric::{Absent, Better, Dim, Labels, Metric, Probe, Reading, Unit};

pub(super) static METRICS: &[Metric] = &[
    Metric {
        name: "wal_lsn_bytes",
        unit: Unit::Bytes,
        better: Better::Lower,
        dims: &[Dim::Node],
        needs: &[Probe::WalPosition],
        about: "WAL written in the window by insert position: records with padding and page headers (about 2.5 % more than the records)",
        ratio_floor: 0.0,
        read: |e, l| sum(e, l, Probe::WalPosition, |n| Some(n.lsn_end?.bytes_since(n.lsn_start?))),
    },
    Metric {
        name: "wal_bytes",
        unit: Unit::Bytes,
        better: Better::Lower,
        dims: &[Dim::Node],
        needs: &[Probe::WalStatistics],
        about: "record bytes by pg_stat_wal; only of a window that ends with the last phase, after the workers have exited; of one that does not begin with the first it may be off by what running sessions had yet to report (wal_rmgr_bytes is not)",
        ratio_floor: 0.0,
        read: |e, l| sum(e, l, Probe::WalStatistics, bytes),
    },
    Metric {
        name: "wal_records",
        unit: Unit::Count,
        better: Better::Lower,
        dims: &[Dim::Node],
        needs: &[Probe::WalStatistics],
        about: "WAL records by pg_stat_wal, settled as wal_bytes is",
        ratio_floor: 0.0,
        read: |e, l| sum(e, l, Probe::WalStatistics, records),
    },
    Metric {
        name: "wal_fpi",
        unit: Unit::Count,
        better: Better::Lower,
        dims: &[Dim::Node],
        needs: &[Probe::WalStatistics],
        about: "full-page images in the WAL by pg_stat_wal, settled as wal_bytes is",
        ratio_floor: 0.0,
        read: |e, l| sum(e, l, Probe::WalStatistics, |n| Some(n.wal_fpi_settled?.saturating_sub(n.wal_fpi_start?))),
    },
    Metric {
        name: "wal_bytes_per_transaction",
        unit: Unit::Bytes,
        better: Better::Lower,
        dims: &[Dim::Node],
        needs: &[Probe::WalStatistics, Probe::Load],
        about: "wal_bytes over the committed transactions of the loads on that node; of all loads where it has none, and without a label",
        ratio_floor: 0.0,
        read: |e, l| Ok(sum(e, l, Probe::WalStatistics, bytes)? / transactions(e, l)?),
    },
    Metric {
        name: "wal_records_per_transaction",
        unit: Unit::Count,
        better: Better::Lower,
        dims: &[Dim::Node],
        needs: &[Probe::WalStatistics, Probe::Load],
        about: "wal_records over the same transactions as wal_bytes_per_transaction",
        ratio_floor: 0.0,
        read: |e, l| Ok(sum(e, l, Probe::WalStatistics, records)? / transactions(e, l)?),
    },
];

fn bytes(node: &NodeEvidence) -> Option<u64> {
    Some(node.wal_bytes_settled?.saturating_sub(node.wal_bytes_start?))
}

fn records(node: &NodeEvidence) -> Option<u64> {
    Some(node.wal_records_settled?.saturating_sub(node.wal_records_start?))
}

fn sum(evidence: &Evidence, labels: &Labels, probe: Probe, count: fn(&NodeEvidence) -> Option<u64>) -> Reading {
    let nodes = nodes(evidence, labels).map_err(|absent| match absent {
        Absent::NotObserved(_) => Absent::NotObserved(probe),
        other => other,
    })?;
    let total: Option<u64> = nodes.into_iter().map(count).sum();
    total.map(|count| count as f64).ok_or(Absent::NotObserved(probe))
}

/// Committed transactions of the loads on the labelled node, of all where it has none.
fn transactions(evidence: &Evidence, labels: &Labels) -> Reading {
    if evidence.loads.is_empty() {
        return Err(Absent::NotObserved(Probe::Load));
    }
    let on_node = evidence.loads.values().any(|load| labels.admit(Dim::Node, &load.node));
    let counted = evidence.loads.values().filter(|load| !on_node || labels.admit(Dim::Node, &load.node));
    match counted.flat_map(|load| load.scripts.values()).map(|script| script.committed).sum::<u64>() {
        0 => Err(Absent::NothingCommitted),
        committed => Ok(committed as f64),
    }
}

#[cfg(test)]
mod tests {
    use indexmap::IndexMap;

    use super::*;
    use crate::measure::{LoadEvidence, ScriptEvidence, find};
    use crate::text::Lsn;

    fn settled(bytes: u64, records: u64) -> NodeEvidence {
        NodeEvidence {
            wal_bytes_start: Some(1000),
            wal_bytes_settled: Some(1000 + bytes),
            wal_records_start: Some(100),
            wal_records_settled: Some(100 + records),
            wal_fpi_start: Some(4),
            wal_fpi_settled: Some(10),
            ..NodeEvidence::default()
        }
    }

    #[test]
    fn a_node_without_a_load_is_divided_by_the_transactions_that_reached_it() {
        let load = |node: &str, committed| LoadEvidence {
            node: node.to_owned(),
            scripts: IndexMap::from([("w".to_owned(), ScriptEvidence { committed, ..ScriptEvidence::default() })]),
            ..LoadEvidence::default()
        };
        let mut evidence = Evidence {
            nodes: IndexMap::from([("p".to_owned(), settled(8000, 40)), ("s".to_owned(), settled(4000, 20))]),
            loads: IndexMap::from([("a".to_owned(), load("p", 8)), ("b".to_owned(), load("q", 2))]),
            ..Evidence::default()
        };
        let read = |e: &Evidence, name: &str, node: Option<&str>| {
            let labels = Labels(node.map(|node| (Dim::Node, node.to_owned())).into_iter().collect());
            (find(name).expect("in the catalogue").read)(e, &labels)
        };
        for (name, of_p, of_s, of_all) in [
            ("wal_records", 40.0, 20.0, 60.0),
            ("wal_fpi", 6.0, 6.0, 12.0),
            ("wal_bytes_per_transaction", 1000.0, 400.0, 1200.0),
            ("wal_records_per_transaction", 5.0, 2.0, 6.0),
        ] {
            assert_eq!(read(&evidence, name, Some("p")), Ok(of_p), "{name}");
            assert_eq!(read(&evidence, name, Some("s")), Ok(of_s), "{name}");
            assert_eq!(read(&evidence, name, None), Ok(of_all), "{name}");
        }
        evidence.loads.clear();
        let absent = Err(Absent::NotObserved(Probe::Load));
        assert_eq!(read(&evidence, "wal_bytes_per_transaction", None), absent);
        evidence.loads = IndexMap::from([("a".to_owned(), load("p", 0))]);
        assert_eq!(read(&evidence, "wal_bytes_per_transaction", None), Err(Absent::NothingCommitted));
    }

    #[test]
    fn the_two_definitions_are_kept_apart() {
        let node = NodeEvidence {
            lsn_start: Some(Lsn(100)),
            lsn_end: Some(Lsn(350)),
            wal_bytes_start: Some(90),
            ..NodeEvidence::default()
        };
        let evidence = Evidence { nodes: IndexMap::from([("p".to_owned(), node)]), ..Evidence::default() };
        let read = |e: &Evidence, name: &str| (find(name).expect("in the catalogue").read)(e, &Labels::default());
        assert_eq!(read(&evidence, "wal_lsn_bytes"), Ok(250.0));
        assert_eq!(read(&evidence, "wal_bytes"), Err(Absent::NotObserved(Probe::WalStatistics)));
        let mut settled = evidence;
        settled.nodes["p"].wal_bytes_settled = Some(300);
        assert_eq!(read(&settled, "wal_bytes"), Ok(210.0));
    }
}
