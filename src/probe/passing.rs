//! Processes that come and go within a window and are no client's, such as autovacuum workers: looked at now and then,
//! so that their CPU can be told from that of clients that exited.
//!
//! What a process used between the last look at it and its end is not seen, nor is one that lived between two looks:
//! both stay with the clients.

use std::collections::HashMap;

use super::{CpuReading, Role};

/// What was seen of a node's processes other than clients', by pid and start.
#[derive(Debug, Clone, Default)]
pub struct Passing {
    seen: HashMap<(u32, u64), u64>,
}

impl Passing {
    /// Takes in a look.
    pub fn look(&mut self, reading: &CpuReading) {
        for child in &reading.children {
            // A title that is not there, or not yet PostgreSQL's, may be a client's.
            let known = child.title.starts_with("postgres: ");
            if known && Role::of_title(&child.title) != Role::ClientBackend {
                self.seen.insert((child.pid, child.started), child.cpu_ns);
            }
        }
    }

    /// What those used between two readings that are not in the later one any more, in nanoseconds.
    pub fn exited_ns(&self, opened: &CpuReading, closed: &CpuReading) -> u64 {
        let find = |reading: &CpuReading, key: &(u32, u64)| {
            reading.children.iter().find(|child| (child.pid, child.started) == *key).map(|child| child.cpu_ns)
        };
        let gone = self.seen.iter().filter(|(key, _)| find(closed, key).is_none());
        gone.map(|(key, ns)| ns.saturating_sub(find(opened, key).unwrap_or(0))).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::probe::ProcessCpu;

    fn reading(children: &[(u32, u64, &str)]) -> CpuReading {
        let process = |pid, cpu_ns, title: &str| ProcessCpu { pid, started: 1, cpu_ns, title: title.to_owned() };
        CpuReading {
            postmaster: process(1, 0, "postgres"),
            reaped_ns: 0,
            children: children.iter().map(|(pid, ns, title)| process(*pid, *ns, title)).collect(),
            settled: true,
        }
    }

    #[test]
    fn only_what_is_gone_and_was_no_clients_counts_and_only_within_the_window() {
        const VACUUM: &str = "postgres: autovacuum worker postgres";
        let opened = reading(&[(2, 100, "postgres: walwriter "), (3, 40, VACUUM)]);
        let mut passing = Passing::default();
        passing.look(&reading(&[(2, 150, "postgres: walwriter "), (3, 70, VACUUM), (4, 9, "")]));
        passing.look(&reading(&[(3, 90, VACUUM), (5, 7, VACUUM), (6, 500, "postgres: u d [local] idle")]));
        let closed = reading(&[(2, 170, "postgres: walwriter ")]);
        assert_eq!(passing.exited_ns(&opened, &closed), 90 - 40 + 7);
    }
}
