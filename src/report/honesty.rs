//! What speaks against the figures: drift, stolen time, other load, clients that were the bottleneck; and what
//! was planned and what it took.

use std::collections::BTreeMap;

use super::figures::Runs;
use super::format::{as_written, counted, listed};
use crate::measure::{Evidence, Quantity};
use crate::plan::paired::PairedPlan;
use crate::results::pairs::{Cells, Progress};
use crate::results::{RunRecord, Sample};
use crate::spec::scenario::Workload;
use crate::stats::{Summary, drift};

use super::claims::CONFIDENCE;

/// From this share of the host on, time that the hypervisor gave to others is told.
const STEAL: f64 = 0.02;

/// From this share of the host on, what neither the nodes nor the load used is told.
const OTHERS: f64 = 0.10;

/// Where it is less in the median, from this share in a single run on.
const OTHERS_ONCE: f64 = 0.25;

/// From this share of its threads on, a load was held up by itself.
const CLIENT_BOUND: f64 = 0.9;

/// A drift smaller than this is of no interest.
const DRIFT: f64 = 0.02;

/// All of it, a paragraph each.
pub(super) fn honesty(run: &RunRecord, runs: Runs<'_>) -> Vec<String> {
    let mut notes: Vec<String> = run.warnings.iter().map(|warning| format!("Warning: {warning}.")).collect();
    notes.extend(drifts(runs));
    notes.extend(stolen(runs));
    notes.extend(unbounded(runs));
    notes.extend(disturbed(runs));
    notes.extend(others(runs));
    notes.extend(client_bound(runs));
    notes
}

/// Figures of the comparison or the claims that drifted over the run.
fn drifts(runs: Runs<'_>) -> Option<String> {
    let mut quantities: Vec<&Quantity> = runs.spec.compare.iter().map(|compare| &compare.metric).collect();
    quantities.extend(runs.spec.claims.iter().map(|claim| &claim.metric));
    let mut seen: Vec<String> = Vec::new();
    let mut found: Vec<(f64, String)> = Vec::new();
    let mut tried = 0;
    for quantity in quantities {
        if seen.contains(&quantity.display()) {
            continue;
        }
        seen.push(quantity.display());
        for cell in &runs.spec.cells {
            let rounds = runs.rounds(&cell.name);
            let values: Vec<(u32, f64)> = rounds
                .iter()
                .filter_map(|(round, runs_of)| Some((*round, runs.read_round(runs_of, quantity).ok()?)))
                .collect();
            let Some(told) = drift(&values, CONFIDENCE) else { continue };
            tried += 1;
            if told.interval.contains(1.0) || (told.ratio - 1.0).abs() < DRIFT {
                continue;
            }
            let percent = |ratio: f64| format!("{:+.0} %", (ratio - 1.0) * 100.0);
            let text = format!(
                "`{}` of {} by {} [{}, {}]",
                quantity.display(),
                cell.title,
                percent(told.ratio),
                percent(told.interval.low),
                percent(told.interval.high)
            );
            found.push((told.ratio.ln().abs(), text));
        }
    }
    if found.is_empty() {
        return None;
    }
    found.sort_by(|a, b| b.0.total_cmp(&a.0));
    let all = found.len();
    let shown: Vec<String> = found.into_iter().take(3).map(|(_, text)| text).collect();
    let more = if all > shown.len() { format!(", and {} more", all - shown.len()) } else { String::new() };
    Some(format!(
        "Drift from the first round to the last, by a straight line, 95 % intervals: {}{more}. Of {tried} lines one in \
         twenty is called a drift by chance; pairs within rounds are not touched by it, medians are.",
        listed(&shown)
    ))
}

/// Evidence of each valid run from its first measured phase to its last.
fn measured(runs: Runs<'_>) -> Vec<(&Sample, Evidence)> {
    let counting = runs.samples.iter().filter(|sample| sample.counts());
    counting
        .map(|sample| {
            let phases = sample.phases.values().filter(|phase| phase.measure).map(|phase| &phase.evidence);
            (sample, Evidence::join(phases))
        })
        .collect()
}

fn percent(share: f64) -> String {
    format!("{:.0} %", share * 100.0)
}

fn stolen(runs: Runs<'_>) -> Option<String> {
    let shares: Vec<f64> = measured(runs)
        .iter()
        .filter_map(|(_, evidence)| evidence.host)
        .filter(|host| host.capacity_seconds > 0.0)
        .map(|host| host.steal_seconds / host.capacity_seconds)
        .collect();
    let spread = Summary::of(&shares)?;
    (spread.max >= STEAL).then(|| {
        format!(
            "The hypervisor gave {} of the cores' time to others (median over runs; {} to {}): times and rates hold this \
             machine's neighbours too.",
            percent(spread.median),
            percent(spread.min),
            percent(spread.max)
        )
    })
}

/// The bounds on what else may use the machine in a slice, in words; none of a run that is not paired.
pub(super) fn bounds(runs: Runs<'_>) -> Option<String> {
    let paired = &runs.spec.run.paired;
    let steal = paired.steal.as_ref().map(|own| {
        format!("the hypervisor took more than {} % of the cores (`run.paired.steal`)", as_written(own.value * 100.0))
    });
    let other = paired.other_load.as_ref().map(|own| {
        format!("other processes used more than {} % of them (`run.paired.other_load`)", as_written(own.value * 100.0))
    });
    let all: Vec<String> = [steal, other].into_iter().flatten().collect();
    (runs.is_paired() && !all.is_empty()).then(|| all.join(", or "))
}

/// Slices in which nobody knows what else used the machine, though it was bounded.
fn unbounded(runs: Runs<'_>) -> Option<String> {
    bounds(runs)?;
    let measured = measured(runs);
    let capacity = |evidence: &Evidence| evidence.host.map_or(0.0, |host| host.capacity_seconds);
    let unknown = measured.iter().filter(|(_, evidence)| capacity(evidence) <= 0.0).count();
    (unknown > 0).then(|| {
        format!(
            "The bounds on what else may use the machine were not kept in {unknown} of {}: it could not be read there, and they \
             count whatever it was.",
            counted(measured.len(), "slice")
        )
    })
}

/// Pairs that were given up because of them, and in whose slices.
pub(super) fn disturbed(runs: Runs<'_>) -> Option<String> {
    let bounds = bounds(runs)?;
    let plan = PairedPlan::of(runs.spec)?;
    let (mut begun, mut lost, mut of, mut to) = (0, 0, 0, 0);
    for pair in &plan.comparisons {
        let (first, second) = (&runs.spec.cells[pair.of], &runs.spec.cells[pair.to]);
        let cells = Cells { of: (&first.name, &first.scenario), to: (&second.name, &second.scenario) };
        let progress = Progress::of(cells, &plan, runs.samples);
        begun += progress.begun.len();
        for pair in &progress.disturbed {
            let slices = runs.samples.iter().filter(|sample| sample.round == *pair);
            let mine = slices.filter(|sample| [&first.name, &second.name].contains(&&sample.cell));
            // A pair ends with the slice that was disturbed.
            let last = mine.max_by_key(|sample| sample.slice.as_ref().map(|slice| slice.place));
            lost += 1;
            let side = if last.is_some_and(|sample| sample.cell == first.name) { &mut of } else { &mut to };
            *side += 1;
        }
    }
    let compare = runs.spec.compare.as_ref()?;
    (lost > 0).then(|| format!(
        "{lost} of {} begun count nowhere, since in one of their slices {bounds}; that slice was of `{}` in {of}, of `{}` in \
         {to}. A side that wants more CPU is disturbed more: where these differ by much, the pairs that count are a choice.",
        counted(begun, "pair"),
        compare.of,
        compare.to,
    ))
}

/// What neither the nodes nor the load used. A median hides what came and went.
fn others(runs: Runs<'_>) -> Option<String> {
    let shares: Vec<(u32, f64)> =
        measured(runs).iter().filter_map(|(sample, evidence)| Some((sample.round, evidence.other_load()?))).collect();
    let spread = Summary::of(&shares.iter().map(|(_, share)| *share).collect::<Vec<_>>())?;
    if spread.median < OTHERS && spread.max < OTHERS_ONCE {
        return None;
    }
    let mut by_round: BTreeMap<u32, usize> = BTreeMap::new();
    for (round, _) in shares.iter().filter(|(_, share)| *share >= OTHERS) {
        *by_round.entry(*round).or_default() += 1;
    }
    let disturbed: usize = by_round.values().sum();
    let slice = if runs.is_paired() { "slice" } else { "run" };
    let (round, most) = by_round.iter().max_by_key(|(_, count)| **count)?;
    let mostly = if by_round.len() > 1 && 2 * most > disturbed {
        format!(", {most} of them in {} {round}", runs.unit())
    } else {
        String::new()
    };
    let often = if disturbed == shares.len() {
        String::new()
    } else {
        format!(", and {} or more in {disturbed} of {}{mostly}", percent(OTHERS), counted(shares.len(), slice))
    };
    let bound = if runs.is_paired() && runs.spec.run.paired.other_load.is_none() {
        "; `other_load` under [run.paired] bounds it"
    } else {
        ""
    };
    Some(format!(
        "Other load: processes that are neither nodes nor load, and the kernel's own work, used {} of the cores' time \
         (median over {slice}s; {} to {}){often}{bound}.",
        percent(spread.median),
        percent(spread.min),
        percent(spread.max)
    ))
}

/// Loads whose own threads were nearly always busy: their rate says more of the driver than of the server.
fn client_bound(runs: Runs<'_>) -> Option<String> {
    let mut bound: Vec<String> = Vec::new();
    for cell in &runs.spec.cells {
        for (name, load) in &cell.scenario.workloads {
            let shares: Vec<f64> =
                runs.valid(&cell.name).filter_map(|sample| busy_threads(sample, name, load)).collect();
            if let Some(spread) = Summary::of(&shares).filter(|spread| spread.median >= CLIENT_BOUND) {
                bound.push(format!("`{name}` of {} ({} busy)", cell.title, percent(spread.median)));
            }
        }
    }
    (!bound.is_empty()).then(|| {
        format!(
            "Bound by the client: the driver's threads of {} had next to no idle time, so that rate and latency are the \
             driver's as much as the server's; more `threads` may help.",
            listed(&bound)
        )
    })
}

/// The share of a load's threads that were busy, in the phases that it ran in.
fn busy_threads(sample: &Sample, name: &str, load: &Workload) -> Option<f64> {
    let threads = if load.by_pgbench() {
        load.pgbench_threads()
    } else {
        load.threads.as_ref().map_or(load.clients.value, |threads| threads.value.min(load.clients.value))
    };
    let phases = sample.phases.values().filter(|phase| phase.measure).map(|phase| &phase.evidence);
    let (mut busy, mut there) = (0.0, 0.0);
    for evidence in phases {
        let Some(cpu) = evidence.loads.get(name).and_then(|load| load.driver_cpu_ns) else { continue };
        busy += cpu as f64 / 1e9;
        there += evidence.seconds * f64::from(threads);
    }
    (there > 0.0).then(|| busy / there)
}

/// What was planned and what it took.
pub(super) fn took(run: &RunRecord) -> Vec<String> {
    time(run).into_iter().collect()
}

fn time(run: &RunRecord) -> Option<String> {
    let planned = run.expected.as_ref()?;
    let moment = |text: &str| text.parse::<jiff::Timestamp>().ok();
    let (began, ended) = (moment(&run.started)?, moment(run.finished.as_ref()?)?);
    let took = std::time::Duration::from_secs_f64(ended.duration_since(began).as_secs_f64().max(0.0));
    Some(format!(
        "Time: planned {planned}; took {}{}.",
        crate::plan::estimate::rounded(took),
        if run.interrupted { ", until it was interrupted" } else { "" }
    ))
}
