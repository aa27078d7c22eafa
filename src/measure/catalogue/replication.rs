//! The marker's way and the start of apply workers.

use crate::measure::metric::{Absent, Better, Dim, Metric, Probe, Unit};

pub(super) static METRICS: &[Metric] = &[
    Metric {
        name: "startup_seconds",
        unit: Unit::Seconds,
        better: Better::Lower,
        dims: &[Dim::Subscription],
        needs: &[Probe::Startup],
        about: "from ENABLE (or CREATE SUBSCRIPTION) to the active slot, part of the window's seconds; without a label the longest",
        ratio_floor: 0.0,
        read: |e, l| {
            let all = &e.startup_seconds;
            let longest = all.values().copied().reduce(f64::max).ok_or(Absent::NotObserved(Probe::Startup))?;
            Ok(l.among(Dim::Subscription, all)?.into_iter().copied().reduce(f64::max).unwrap_or(longest))
        },
    },
    Metric {
        name: "marker_commit_seconds",
        unit: Unit::Seconds,
        better: Better::Lower,
        dims: &[],
        needs: &[Probe::Marker],
        about: "what the marker's commit took on the node that wrote it, part of the window's seconds",
        ratio_floor: 0.0,
        read: |e, _| e.marker.as_ref().map(|marker| marker.commit_seconds).ok_or(Absent::NotObserved(Probe::Marker)),
    },
    Metric {
        name: "visible_seconds",
        unit: Unit::Seconds,
        better: Better::Lower,
        dims: &[Dim::Node],
        needs: &[Probe::Marker],
        about: "from the phase's clock to the marker being visible on a node; without a label the last node's",
        ratio_floor: 0.0,
        read: |e, l| {
            let marker = e.marker.as_ref().ok_or(Absent::NotObserved(Probe::Marker))?;
            let meant = l.among(Dim::Node, &marker.visible_seconds)?;
            meant.into_iter().copied().reduce(f64::max).ok_or(Absent::NoDownstream)
        },
    },
];

#[cfg(test)]
mod tests {
    use indexmap::IndexMap;

    use super::*;
    use crate::measure::{Evidence, Labels, MarkerEvidence, find};

    #[test]
    fn without_a_label_the_slowest_counts() {
        let evidence = Evidence {
            startup_seconds: IndexMap::from([("a".to_owned(), 0.1), ("b".to_owned(), 0.3)]),
            marker: Some(MarkerEvidence {
                commit_seconds: 0.01,
                visible_seconds: IndexMap::from([("x".to_owned(), 1.0), ("y".to_owned(), 2.0)]),
                ..MarkerEvidence::default()
            }),
            ..Evidence::default()
        };
        let read = |name: &str, labels: Labels| (find(name).expect("in the catalogue").read)(&evidence, &labels);
        assert_eq!(read("startup_seconds", Labels::default()), Ok(0.3));
        assert_eq!(read("startup_seconds", Labels(vec![(Dim::Subscription, "a".into())])), Ok(0.1));
        assert_eq!(read("visible_seconds", Labels::default()), Ok(2.0));
        assert_eq!(read("visible_seconds", Labels(vec![(Dim::Node, "x".into())])), Ok(1.0));
        assert_eq!(read("marker_commit_seconds", Labels::default()), Ok(0.01));
    }
}
