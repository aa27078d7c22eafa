//! WAL by resource manager: of any window, since records can be cut at a position where statistics cannot.

use super::cpu::nodes;
use crate::measure::evidence::Evidence;
use crate::measure::ledger::RmgrEvidence;
use crate::measure::metric::{Absent, Better, Dim, Labels, Metric, Probe, Reading, Unit};

macro_rules! rmgr_metric {
    ($name:literal, $unit:ident, $about:literal, $read:expr) => {
        Metric {
            name: $name,
            unit: Unit::$unit,
            better: Better::Lower,
            dims: &[Dim::Node, Dim::Rmgr],
            needs: &[Probe::WalRecords],
            about: $about,
            ratio_floor: 0.0,
            read: |e, l| sum(e, l, $read),
        }
    };
}

pub(super) static METRICS: &[Metric] = &[
    rmgr_metric!(
        "wal_rmgr_bytes",
        Bytes,
        "bytes of the window's WAL records by resource manager (Heap, Btree, …), full-page images included; PostgreSQL 15 and later with pg_walinspect",
        |wrote| wrote.record_bytes + wrote.fpi_bytes
    ),
    rmgr_metric!(
        "wal_rmgr_fpi_bytes",
        Bytes,
        "bytes of full-page images by resource manager, part of wal_rmgr_bytes",
        |wrote| wrote.fpi_bytes
    ),
    rmgr_metric!("wal_rmgr_records", Count, "records by resource manager, read as wal_rmgr_bytes is", |wrote| {
        wrote.records
    }),
];

fn sum(evidence: &Evidence, labels: &Labels, count: fn(&RmgrEvidence) -> u64) -> Reading {
    let unobserved = Absent::NotObserved(Probe::WalRecords);
    nodes(evidence, labels).map_err(|absent| match absent {
        Absent::NotObserved(_) => unobserved.clone(),
        other => other,
    })?;
    let wanted = labels.value(Dim::Rmgr);
    let mut total = 0;
    for (name, node) in evidence.nodes.iter().filter(|(name, _)| labels.admit(Dim::Node, name)) {
        let Some(rmgrs) = &node.wal_rmgrs else {
            return Err(match &node.wal_rmgrs_absent {
                Some(reason) => Absent::Refused(name.clone(), reason.clone()),
                None => unobserved,
            });
        };
        // One that wrote nothing is not in it: that is a value, not an absence.
        let counted = rmgrs.iter().filter(|(name, _)| wanted.is_none_or(|wanted| wanted == name.as_str()));
        total += counted.map(|(_, wrote)| count(wrote)).sum::<u64>();
    }
    Ok(total as f64)
}

#[cfg(test)]
mod tests {
    use indexmap::IndexMap;

    use super::*;
    use crate::measure::{NodeEvidence, find};

    #[test]
    fn resource_managers_select_and_the_rest_sums() {
        let wrote = |records, record_bytes, fpi_bytes| RmgrEvidence { records, record_bytes, fpi_bytes };
        let rmgrs = IndexMap::from([("Heap".to_owned(), wrote(3, 300, 8)), ("Btree".to_owned(), wrote(2, 100, 0))]);
        let node = NodeEvidence { wal_rmgrs: Some(rmgrs), ..NodeEvidence::default() };
        let mut evidence = Evidence {
            nodes: IndexMap::from([("p".to_owned(), node.clone()), ("s".to_owned(), node)]),
            ..Evidence::default()
        };
        let read = |e: &Evidence, name: &str, labels: &[(Dim, &str)]| {
            let labels = Labels(labels.iter().map(|(dim, value)| (*dim, (*value).to_owned())).collect());
            (find(name).expect("in the catalogue").read)(e, &labels)
        };
        assert_eq!(read(&evidence, "wal_rmgr_bytes", &[]), Ok(816.0));
        assert_eq!(read(&evidence, "wal_rmgr_bytes", &[(Dim::Node, "p"), (Dim::Rmgr, "Heap")]), Ok(308.0));
        assert_eq!(read(&evidence, "wal_rmgr_fpi_bytes", &[(Dim::Rmgr, "Heap")]), Ok(16.0));
        assert_eq!(read(&evidence, "wal_rmgr_records", &[(Dim::Node, "p")]), Ok(5.0));
        assert_eq!(read(&evidence, "wal_rmgr_records", &[(Dim::Rmgr, "Gin")]), Ok(0.0));
        evidence.nodes["s"].wal_rmgrs = None;
        evidence.nodes["s"].wal_rmgrs_absent = Some("its WAL was recycled".to_owned());
        let refused = read(&evidence, "wal_rmgr_bytes", &[]).expect_err("a part is not known");
        assert_eq!(refused.to_string(), "on s: its WAL was recycled");
        assert_eq!(read(&evidence, "wal_rmgr_bytes", &[(Dim::Node, "p")]), Ok(408.0));
    }
}
