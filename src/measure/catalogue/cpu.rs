//! CPU of the server's processes.

use crate::measure::evidence::{Evidence, NodeEvidence};
use crate::measure::metric::{Absent, Better, CLIENT, CLIENTS_EXITED, Dim, Labels, Metric, Probe, Reading, Unit};

pub(super) static METRICS: &[Metric] = &[
    Metric {
        name: "cpu",
        unit: Unit::Seconds,
        better: Better::Lower,
        dims: &[Dim::Node, Dim::Role],
        needs: &[Probe::Cpu],
        about: "CPU of the server's processes, exited ones included; the runner's own sessions and the driver are not in it",
        // Exited processes are counted in steps of 10 ms: below a tenth of a second a ratio is noise.
        ratio_floor: 0.1,
        read: cpu,
    },
    Metric {
        name: "runner_cpu",
        unit: Unit::Seconds,
        better: Better::Lower,
        dims: &[],
        needs: &[Probe::Runner],
        about: "CPU of the runner's own thread that waits and samples, inside the clock; in no other figure",
        ratio_floor: 0.1,
        read: |e, _| e.runner_cpu_ns.map(|ns| ns as f64 / 1e9).ok_or(Absent::NotObserved(Probe::Runner)),
    },
    Metric {
        name: "runner_sessions_cpu",
        unit: Unit::Seconds,
        better: Better::Lower,
        dims: &[Dim::Node],
        needs: &[Probe::Cpu],
        about: "CPU of the backends that serve the runner's own sessions; in no other figure",
        ratio_floor: 0.1,
        read: |e, l| Ok(nodes(e, l)?.iter().map(|node| node.runner_sessions_ns).sum::<u64>() as f64 / 1e9),
    },
];

pub(super) fn nodes<'e>(evidence: &'e Evidence, labels: &Labels) -> Result<Vec<&'e NodeEvidence>, Absent> {
    if evidence.nodes.is_empty() {
        Err(Absent::NotObserved(Probe::Cpu))
    } else {
        labels.among(Dim::Node, &evidence.nodes)
    }
}

fn cpu(evidence: &Evidence, labels: &Labels) -> Reading {
    let role = labels.value(Dim::Role);
    let mut ns = 0;
    for node in nodes(evidence, labels)? {
        if node.cpu_ns.is_empty() {
            return Err(Absent::NotObserved(Probe::Cpu));
        }
        // A role that did not exist in this window used no CPU: that is a value, not an absence.
        ns += node
            .cpu_ns
            .iter()
            .filter(|(name, _)| role.is_none_or(|role| is_of(name, role)))
            .map(|(_, ns)| ns)
            .sum::<u64>();
    }
    Ok(ns as f64 / 1e9)
}

/// Whether a role as stored is of the kind that a label names.
fn is_of(name: &str, role: &str) -> bool {
    role == name || role == CLIENT && name == CLIENTS_EXITED
}

#[cfg(test)]
mod tests {
    use indexmap::IndexMap;

    use super::*;

    #[test]
    fn roles_and_nodes_select_and_the_rest_sums() {
        let node = |walsender, backend: u64| NodeEvidence {
            cpu_ns: IndexMap::from([
                ("walsender".to_owned(), walsender),
                ("client backend".to_owned(), backend - backend / 10),
                (CLIENTS_EXITED.to_owned(), backend / 10),
            ]),
            runner_sessions_ns: 3_000_000_000,
            ..NodeEvidence::default()
        };
        let evidence = Evidence {
            nodes: IndexMap::from([
                ("p".to_owned(), node(1_000_000_000, 2_000_000_000)),
                ("s".to_owned(), node(0, 500_000_000)),
            ]),
            ..Evidence::default()
        };
        let label = |dim, value: &str| (dim, value.to_owned());
        for (labels, expected) in [
            (vec![], Ok(3.5)),
            (vec![label(Dim::Node, "s")], Ok(0.5)),
            (vec![label(Dim::Role, "walsender")], Ok(1.0)),
            (vec![label(Dim::Node, "p"), label(Dim::Role, "startup")], Ok(0.0)),
            // The sessions of pgbench, which have ended, are of clients too.
            (vec![label(Dim::Role, "client backend")], Ok(2.5)),
            (vec![label(Dim::Role, "client backends (exited)")], Ok(0.25)),
            (vec![label(Dim::Node, "x")], Err(Absent::NoSuch(Dim::Node, "x".into()))),
        ] {
            assert_eq!(cpu(&evidence, &Labels(labels)), expected);
        }
    }
}
