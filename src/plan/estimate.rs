//! What a run is expected to take of time and disk, so that nobody starts one overnight by mistake; the report compares
//! it with what it took.

use std::time::Duration;

use super::order::Turn;
use super::paired::PairedPlan;
use super::sql::pgbench_init;
use super::{Cell, Plan};
use crate::spec::scenario::{Body, Extent, Scenario, SetupWork};

/// Starting, wiring, comparing and stopping the nodes of a turn, beside its phases: 0.3 to 0.8 s were measured with small
/// tables, and more is better expected.
const AROUND_A_TURN: Duration = Duration::from_secs(2);

/// Between the slices of a pair: connections, and a drain.
const AROUND_A_SLICE: Duration = Duration::from_millis(200);

/// A data directory after initdb, with its WAL.
const NODE_BYTES: u64 = 60 << 20;

/// What a run is expected to take.
#[derive(Clone, Debug, PartialEq)]
pub struct Estimate {
    /// The shortest: of a paired comparison with the fewest pairs.
    pub least: Duration,
    /// The longest, as far as lengths are known.
    pub most: Duration,
    /// Loads of a number of transactions, whose time nobody knows.
    pub unknown: Vec<String>,
    /// Most disk at any one time, in bytes, without what a load adds.
    pub disk_bytes: u64,
}

/// The estimate of a plan.
pub fn estimate(plan: &Plan) -> Estimate {
    let mut unknown: Vec<String> = Vec::new();
    let phases: Vec<Duration> = plan.cells.iter().map(|cell| phases(&cell.scenario, &mut unknown)).collect();
    let (least, most) = match &plan.paired {
        None => {
            let all = plan.turns.iter().map(|Turn { cell, .. }| phases[*cell] + AROUND_A_TURN).sum();
            (all, all)
        }
        Some(paired) => {
            let pair: Duration =
                paired.comparisons.iter().map(|own| of_pair(paired, phases[own.of], phases[own.to])).sum();
            (pair * paired.least, pair * paired.most)
        }
    };
    let disk = |cell: &Cell| cell.nodes.len() as u64 * NODE_BYTES + data(&cell.scenario);
    let disk_bytes = match &plan.paired {
        None => plan.cells.iter().map(disk).max(),
        Some(paired) => {
            let both = |of: usize, to: usize| disk(&plan.cells[of]) + disk(&plan.cells[to]);
            paired.comparisons.iter().map(|own| both(own.of, own.to)).max()
        }
    };
    Estimate { least, most, unknown, disk_bytes: disk_bytes.unwrap_or(0) }
}

fn of_pair(paired: &PairedPlan, of: Duration, to: Duration) -> Duration {
    let slice = of.max(to) + AROUND_A_SLICE + paired.rest;
    // Warm-up slices come in twos.
    let warm_up =
        if paired.warm_up.is_zero() { 0 } else { 2 * paired.warm_up.as_nanos().div_ceil(2 * slice.as_nanos()) };
    let slices = u128::from(2 * paired.slices) + warm_up;
    2 * AROUND_A_TURN + slice * u32::try_from(slices).unwrap_or(u32::MAX)
}

/// How long the phases of a turn take, as far as they say.
fn phases(scenario: &Scenario, unknown: &mut Vec<String>) -> Duration {
    let mut total = Duration::ZERO;
    for phase in &scenario.phases {
        match &phase.body {
            Body::Hold(length) => total += *length,
            Body::Run(loads) => {
                let mut longest = Duration::ZERO;
                for (name, load) in loads.iter().filter_map(|name| Some((name, scenario.workloads.get(name)?))) {
                    match (load.extent, &load.rate) {
                        (Extent::Duration(length), _) => longest = longest.max(length),
                        (Extent::Transactions(n), Some(rate)) => {
                            longest = longest.max(Duration::from_secs_f64(n as f64 / rate.value));
                        }
                        (Extent::Transactions(_), None) if !unknown.contains(name) => unknown.push(name.clone()),
                        (Extent::Transactions(_), None) => {}
                    }
                }
                total += longest;
            }
            Body::WaitApplied | Body::WaitReceived | Body::WaitSynced => {}
        }
    }
    total
}

/// Data of the set-up, in bytes; what SQL makes is not known.
fn data(scenario: &Scenario) -> u64 {
    let of = |work: &SetupWork| match work {
        SetupWork::PgbenchInit(init) => pgbench_init::expected_bytes(*init),
        SetupWork::Sql(_) => 0,
    };
    scenario.setup.iter().map(|setup| setup.nodes.len() as u64 * of(&setup.work)).sum()
}

impl Estimate {
    /// The time in words: `5 min to 18 min`.
    pub fn time_words(&self) -> String {
        let (least, most) = (rounded(self.least), rounded(self.most));
        if least == most { most } else { format!("{least} to {most}") }
    }

    /// In words: `5 min to 18 min and 0.2 GiB of disk; how long \`insert\` takes is not known`.
    pub fn words(&self) -> String {
        let time = self.time_words();
        let unknown = if self.unknown.is_empty() {
            String::new()
        } else {
            let names: Vec<String> = self.unknown.iter().map(|name| format!("`{name}`")).collect();
            format!(", and what the transactions of {} take", names.join(" and "))
        };
        format!(
            "about {time}{unknown}; about {} of disk beside what the loads write",
            crate::text::format_bytes(self.disk_bytes)
        )
    }
}

/// A length of time that nobody takes for exact.
pub fn rounded(length: Duration) -> String {
    let seconds = length.as_secs_f64().ceil() as u64;
    match seconds {
        0..120 => format!("{seconds} s"),
        120..7200 => format!("{} min", seconds.div_ceil(60)),
        _ => format!("{:.1} h", length.as_secs_f64() / 3600.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_as_exact_as_they_are_known() {
        for (seconds, words) in
            [(0.5, "1 s"), (119.0, "119 s"), (121.0, "3 min"), (7199.0, "120 min"), (9000.0, "2.5 h")]
        {
            assert_eq!(rounded(Duration::from_secs_f64(seconds)), words);
        }
    }
}
