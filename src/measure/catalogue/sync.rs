//! Initial copies: `copy_data`, by table.

use crate::measure::evidence::{Evidence, SyncEvidence};
use crate::measure::metric::{Absent, Better, Dim, Labels, Metric, Probe, Reading, Unit};

macro_rules! sync_metric {
    ($name:literal, $floor:literal, $about:literal, $read:expr) => {
        Metric {
            name: $name,
            unit: Unit::Seconds,
            better: Better::Lower,
            dims: &[Dim::Subscription, Dim::Table],
            needs: &[Probe::Sync],
            about: $about,
            ratio_floor: $floor,
            read: $read,
        }
    };
}

pub(super) static METRICS: &[Metric] = &[
    sync_metric!(
        "copied_seconds",
        0.0,
        "from the phase's clock to a table's rows being there (srsubstate f or later); without a label the last table's",
        |e, l| latest(e, l, |table| table.copied_seconds)
    ),
    sync_metric!(
        "ready_seconds",
        0.0,
        "from the phase's clock to a table being ready (srsubstate r); without a label the last table's",
        |e, l| latest(e, l, |table| table.ready_seconds)
    ),
    sync_metric!(
        "copy_worker_cpu",
        0.1,
        "CPU of the table synchronisation workers, as last seen before each ended (a look every 20 ms; one that no look met adds nothing)",
        |e, l| total(e, l, |table| table.worker_cpu_ns)
    ),
    sync_metric!(
        "copy_walsender_cpu",
        0.1,
        "CPU of the walsenders that copied tables on the publisher, as last seen before each ended",
        |e, l| total(e, l, |table| table.walsender_cpu_ns)
    ),
];

fn tables<'e>(evidence: &'e Evidence, labels: &Labels) -> Result<Vec<&'e SyncEvidence>, Absent> {
    if evidence.syncs.is_empty() {
        return Err(Absent::NotObserved(Probe::Sync));
    }
    let table = labels.value(Dim::Table);
    let found: Vec<&SyncEvidence> = labels
        .among(Dim::Subscription, &evidence.syncs)?
        .into_iter()
        .flatten()
        .filter(|(name, _)| table.is_none_or(|wanted| wanted == name.as_str()))
        .map(|(_, table)| table)
        .collect();
    match table {
        Some(name) if found.is_empty() => Err(Absent::NoSuch(Dim::Table, name.to_owned())),
        _ => Ok(found),
    }
}

fn latest(evidence: &Evidence, labels: &Labels, moment: fn(&SyncEvidence) -> Option<f64>) -> Reading {
    let moments: Option<Vec<f64>> = tables(evidence, labels)?.into_iter().map(moment).collect();
    moments.and_then(|moments| moments.into_iter().reduce(f64::max)).ok_or(Absent::NotObserved(Probe::Sync))
}

fn total(evidence: &Evidence, labels: &Labels, ns: fn(&SyncEvidence) -> Option<u64>) -> Reading {
    let seen: Vec<u64> = tables(evidence, labels)?.into_iter().filter_map(ns).collect();
    if seen.is_empty() { Err(Absent::NotObserved(Probe::Sync)) } else { Ok(seen.iter().sum::<u64>() as f64 / 1e9) }
}

#[cfg(test)]
mod tests {
    use indexmap::IndexMap;

    use super::*;
    use crate::measure::find;

    #[test]
    fn the_last_table_counts_and_cpu_sums() {
        let table = |ready, cpu| SyncEvidence {
            copied_seconds: Some(ready / 2.0),
            ready_seconds: Some(ready),
            worker_cpu_ns: Some(cpu),
            walsender_cpu_ns: None,
        };
        let tables = IndexMap::from([
            ("public.a".to_owned(), table(2.0, 1_000_000_000)),
            ("public.b".to_owned(), table(1.0, 500_000_000)),
        ]);
        let evidence = Evidence { syncs: IndexMap::from([("feed".to_owned(), tables)]), ..Evidence::default() };
        let read = |name: &str, labels: &Labels| (find(name).expect("in the catalogue").read)(&evidence, labels);
        let b = Labels(vec![(Dim::Table, "public.b".into())]);
        assert_eq!(read("ready_seconds", &Labels::default()), Ok(2.0));
        assert_eq!(read("copied_seconds", &b), Ok(0.5));
        assert_eq!(read("copy_worker_cpu", &Labels::default()), Ok(1.5));
        assert_eq!(read("copy_walsender_cpu", &b), Err(Absent::NotObserved(Probe::Sync)));
        let none = Labels(vec![(Dim::Table, "c".into())]);
        assert_eq!(read("ready_seconds", &none), Err(Absent::NoSuch(Dim::Table, "c".into())));
    }
}
