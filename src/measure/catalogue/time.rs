//! Wall time and the machine.

use crate::measure::evidence::Evidence;
use crate::measure::metric::{Absent, Better, Labels, Metric, Probe, Reading, Unit};

pub(super) static METRICS: &[Metric] = &[
    Metric {
        name: "seconds",
        unit: Unit::Seconds,
        better: Better::Lower,
        dims: &[],
        needs: &[Probe::Clock],
        about: "wall time of the window; a phase that waits for the marker has none where nothing is downstream",
        ratio_floor: 0.0,
        read: seconds,
    },
    Metric {
        name: "host_busy",
        unit: Unit::Fraction,
        better: Better::Neither,
        dims: &[],
        needs: &[Probe::Host],
        about: "part of all cores in use by anything; from 0.9 on, times and rates are figures of contention",
        ratio_floor: 0.0,
        read: |e, _| {
            let host = e.host.filter(|host| host.capacity_seconds > 0.0).ok_or(Absent::NotObserved(Probe::Host))?;
            Ok(host.busy_seconds / host.capacity_seconds)
        },
    },
    Metric {
        name: "host_steal",
        unit: Unit::Fraction,
        better: Better::Lower,
        dims: &[],
        needs: &[Probe::Host],
        about: "part of all cores taken by the hypervisor for others",
        ratio_floor: 0.0,
        read: |e, _| {
            let host = e.host.filter(|host| host.capacity_seconds > 0.0).ok_or(Absent::NotObserved(Probe::Host))?;
            Ok(host.steal_seconds / host.capacity_seconds)
        },
    },
];

fn seconds(evidence: &Evidence, _: &Labels) -> Reading {
    if evidence.no_downstream { Err(Absent::NoDownstream) } else { Ok(evidence.seconds) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::{HostEvidence, find};

    #[test]
    fn a_drain_without_downstream_has_no_length_of_its_own_but_counts_in_a_window() {
        let load = Evidence { seconds: 2.0, ..Evidence::default() };
        let drain = Evidence { seconds: 0.03, no_downstream: true, ..Evidence::default() };
        assert_eq!(seconds(&drain, &Labels::default()), Err(Absent::NoDownstream));
        assert_eq!(seconds(&Evidence::join([&load, &drain]), &Labels::default()), Ok(2.03));
    }

    #[test]
    fn the_host_is_a_part_of_its_capacity() {
        let host = HostEvidence { capacity_seconds: 4.0, busy_seconds: 3.0, steal_seconds: 1.0 };
        let evidence = Evidence { host: Some(host), ..Evidence::default() };
        let read = |name: &str| (find(name).expect("in the catalogue").read)(&evidence, &Labels::default());
        assert_eq!(read("host_busy"), Ok(0.75));
        assert_eq!(read("host_steal"), Ok(0.25));
    }
}
