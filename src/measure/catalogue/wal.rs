//! Write-ahead log volume, by its two definitions.

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
        about: "record bytes by pg_stat_wal; only of a window that ends with the last phase, after the workers have exited",
        ratio_floor: 0.0,
        read: |e, l| sum(e, l, Probe::WalStatistics, |n| Some(n.wal_bytes_settled?.saturating_sub(n.wal_bytes_start?))),
    },
];

fn sum(evidence: &Evidence, labels: &Labels, probe: Probe, bytes: fn(&NodeEvidence) -> Option<u64>) -> Reading {
    let nodes = nodes(evidence, labels).map_err(|absent| match absent {
        Absent::NotObserved(_) => Absent::NotObserved(probe),
        other => other,
    })?;
    let total: Option<u64> = nodes.into_iter().map(bytes).sum();
    total.map(|bytes| bytes as f64).ok_or(Absent::NotObserved(probe))
}

#[cfg(test)]
mod tests {
    use indexmap::IndexMap;

    use super::*;
    use crate::measure::find;
    use crate::text::Lsn;

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
