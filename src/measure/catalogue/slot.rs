//! The consumers of slots: what they got and what they cost.

use crate::measure::evidence::{Evidence, SlotEvidence};
use crate::measure::metric::{Absent, Better, Dim, Labels, Metric, Probe, Reading, Unit};

pub(super) static METRICS: &[Metric] = &[
    Metric {
        name: "received_seconds",
        unit: Unit::Seconds,
        better: Better::Lower,
        dims: &[Dim::Slot, Dim::Subscription],
        needs: &[Probe::Marker],
        about: "from the phase's clock to the marker having been received by a slot's consumer (by a subscription, in a phase that waits for that); without a label the last one's",
        ratio_floor: 0.0,
        read: received,
    },
    Metric {
        name: "consumer_cpu",
        unit: Unit::Seconds,
        better: Better::Lower,
        dims: &[Dim::Slot],
        needs: &[Probe::Consumer],
        about: "CPU of the clients that consume slots; in no other figure",
        ratio_floor: 0.1,
        read: |e, l| {
            let each: Option<Vec<u64>> = slots(e, l)?.iter().map(|slot| slot.consumer_cpu_ns).collect();
            each.map(|each| each.iter().sum::<u64>() as f64 / 1e9).ok_or(Absent::NotObserved(Probe::Consumer))
        },
    },
    Metric {
        name: "consumed_bytes",
        unit: Unit::Bytes,
        better: Better::Neither,
        dims: &[Dim::Slot],
        needs: &[Probe::Consumer],
        about: "output of the plugin that slots' consumers received",
        ratio_floor: 0.0,
        read: |e, l| Ok(slots(e, l)?.iter().map(|slot| slot.bytes).sum::<u64>() as f64),
    },
    Metric {
        name: "consumed_changes",
        unit: Unit::Count,
        better: Better::Neither,
        dims: &[Dim::Slot],
        needs: &[Probe::Consumer],
        about: "changed rows that slots' consumers received, the marker's among them; known of the runner's own client with test_decoding and pgoutput",
        ratio_floor: 0.0,
        read: |e, l| counted(e, l, |slot| slot.changes),
    },
    Metric {
        name: "consumed_transactions",
        unit: Unit::Count,
        better: Better::Neither,
        dims: &[Dim::Slot],
        needs: &[Probe::Consumer],
        about: "transactions that slots' consumers received to their end, the marker's among them; known as for consumed_changes",
        ratio_floor: 0.0,
        read: |e, l| counted(e, l, |slot| slot.transactions),
    },
];

fn slots<'e>(evidence: &'e Evidence, labels: &Labels) -> Result<Vec<&'e SlotEvidence>, Absent> {
    if evidence.slots.is_empty() {
        return Err(Absent::NotObserved(Probe::Consumer));
    }
    labels.among(Dim::Slot, &evidence.slots)
}

fn counted(evidence: &Evidence, labels: &Labels, count: fn(&SlotEvidence) -> Option<u64>) -> Reading {
    let total: Option<u64> = slots(evidence, labels)?.into_iter().map(count).sum();
    total.map(|count| count as f64).ok_or(Absent::NotObserved(Probe::Consumer))
}

fn received(evidence: &Evidence, labels: &Labels) -> Reading {
    let marker = evidence.marker.as_ref().ok_or(Absent::NotObserved(Probe::Marker))?;
    let dim = if labels.value(Dim::Slot).is_some() { Dim::Slot } else { Dim::Subscription };
    let meant = labels.among(dim, &marker.received_seconds)?;
    meant.into_iter().copied().reduce(f64::max).ok_or(Absent::NoDownstream)
}

#[cfg(test)]
mod tests {
    use indexmap::IndexMap;

    use super::*;
    use crate::measure::{MarkerEvidence, find};

    #[test]
    fn slots_sum_and_the_last_to_receive_counts() {
        let slot = |cpu, changes| SlotEvidence {
            consumer: "runner".into(),
            consumer_cpu_ns: Some(cpu),
            bytes: 10,
            changes,
            transactions: Some(1),
        };
        let mut evidence = Evidence {
            slots: IndexMap::from([
                ("a".to_owned(), slot(1_000_000_000, Some(3))),
                ("b".to_owned(), slot(500_000_000, Some(4))),
            ]),
            marker: Some(MarkerEvidence {
                received_seconds: IndexMap::from([("a".to_owned(), 0.5), ("b".to_owned(), 0.25)]),
                ..MarkerEvidence::default()
            }),
            ..Evidence::default()
        };
        let read = |e: &Evidence, name: &str, labels: &Labels| (find(name).expect("in the catalogue").read)(e, labels);
        let all = Labels::default();
        let b = Labels(vec![(Dim::Slot, "b".into())]);
        for (name, of_all, of_b) in [
            ("consumer_cpu", 1.5, 0.5),
            ("consumed_changes", 7.0, 4.0),
            ("consumed_bytes", 20.0, 10.0),
            ("consumed_transactions", 2.0, 1.0),
            ("received_seconds", 0.5, 0.25),
        ] {
            assert_eq!(read(&evidence, name, &all), Ok(of_all), "{name}");
            assert_eq!(read(&evidence, name, &b), Ok(of_b), "{name}");
        }
        evidence.slots["a"].changes = None;
        assert_eq!(read(&evidence, "consumed_changes", &all), Err(Absent::NotObserved(Probe::Consumer)));
    }
}
