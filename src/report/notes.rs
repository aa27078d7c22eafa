//! What a reader should know of the runs beside the figures: convergence, waits for the launcher, start-up,
//! CPU of processes that exited, warnings.

use std::collections::HashSet;

use indexmap::IndexMap;

use super::figures::Runs;
use super::format::{counted, figure, listed, range, thousands};
use crate::measure::{Evidence, Unit};
use crate::results::Sample;
use crate::stats::Summary;

/// From this share of a node's CPU in exited processes on, it is flagged.
const EXITED_SHARE: f64 = 0.05;

/// All notes, a paragraph each.
pub(super) fn notes(runs: Runs<'_>) -> Vec<String> {
    let mut notes = convergence(runs);
    notes.extend(launcher_waits(runs));
    notes.extend(startup(runs));
    notes.extend(exited(runs));
    notes.extend(unknown(runs));
    notes.extend(recorded(runs));
    notes.extend(series(runs));
    notes
}

/// Those of them that speak against the figures.
pub(super) fn warnings(runs: Runs<'_>) -> Vec<String> {
    unchecked(runs).into_iter().chain(unknown(runs)).chain(recorded(runs)).collect()
}

/// That the nodes held the same rows, with how many; and where nobody looked.
fn convergence(runs: Runs<'_>) -> Vec<String> {
    let valid: Vec<&Sample> = runs.samples.iter().filter(|sample| sample.outcome.is_valid()).collect();
    let mut rows: IndexMap<(&str, &str, &str), Vec<f64>> = IndexMap::new();
    // Servers of a pair are compared once, after the last of their slices.
    let mut seen: HashSet<(&str, u32)> = HashSet::new();
    let mut compared = valid.clone();
    compared.retain(|sample| !runs.is_paired() || seen.insert((&sample.cell, sample.round)));
    for table in compared.iter().filter_map(|sample| sample.convergence.as_ref()).flat_map(|checked| &checked.tables) {
        let key = (table.table.as_str(), table.publisher.as_str(), table.subscriber.as_str());
        rows.entry(key).or_default().push(table.published.rows as f64);
    }
    let mut notes = Vec::new();
    if !rows.is_empty() {
        let tables: Vec<String> = rows
            .iter()
            .filter_map(|((table, publisher, subscriber), rows)| {
                let spread = Summary::of(rows)?;
                let span = range(&thousands(spread.min), &thousands(spread.max));
                Some(format!(
                    "{table} ({publisher} to {subscriber}, {span} rows, {})",
                    if runs.is_paired() {
                        format!("{} sides of pairs", rows.len())
                    } else {
                        counted(rows.len(), "run")
                    }
                ))
            })
            .collect();
        notes.push(format!("Converged after the last phase, by row counts and checksums: {}.", listed(&tables)));
    }
    notes.extend(unchecked(runs));
    notes
}

/// That nobody looked whether the nodes held the same rows.
fn unchecked(runs: Runs<'_>) -> Option<String> {
    let valid = runs.samples.iter().filter(|sample| sample.outcome.is_valid());
    let replicating =
        |sample: &&Sample| runs.scenario(&sample.cell).is_some_and(|scenario| !scenario.subscriptions.is_empty());
    let unchecked = valid.filter(|sample| sample.convergence.is_none()).filter(replicating).count();
    (unchecked > 0)
        .then(|| format!("Convergence was not checked in {} with subscriptions.", counted(unchecked, "valid run")))
}

/// Time waited before a clock for the launcher of 14 and 15.
fn launcher_waits(runs: Runs<'_>) -> Vec<String> {
    by_phase(runs, |evidence| evidence.launcher_wait_seconds.filter(|waited| *waited > 0.0).into_iter().collect())
        .into_iter()
        .map(|(phase, waits)| {
            format!(
                "Before the clock of `{phase}` the runner waited {} in {}: up to PostgreSQL 15 the launcher starts no \
                 apply worker within `wal_retrieve_retry_interval` of the last start. The wait is in no figure.",
                seconds(&waits),
                counted(waits.len(), "run")
            )
        })
        .collect()
}

/// Time from ENABLE to the active slot, inside the clock.
fn startup(runs: Runs<'_>) -> Vec<String> {
    by_phase(runs, |evidence| evidence.startup_seconds.values().copied().collect())
        .into_iter()
        .map(|(phase, starts)| {
            let median = Summary::of(&starts).map_or(0.0, |spread| spread.median);
            format!(
                "From ENABLE to the active slot in `{phase}`: median {} s, {} (n = {}); it is part of the phase.",
                figure(median, Unit::Seconds, 3),
                seconds(&starts),
                starts.len()
            )
        })
        .collect()
}

/// Figures of the valid runs by phase.
fn by_phase(runs: Runs<'_>, of: fn(&Evidence) -> Vec<f64>) -> IndexMap<String, Vec<f64>> {
    let mut found: IndexMap<String, Vec<f64>> = IndexMap::new();
    for sample in runs.samples.iter().filter(|sample| sample.outcome.is_valid()) {
        for (phase, record) in &sample.phases {
            let figures = of(&record.evidence);
            if !figures.is_empty() {
                found.entry(phase.clone()).or_default().extend(figures);
            }
        }
    }
    found
}

fn seconds(values: &[f64]) -> String {
    let Some(spread) = Summary::of(values) else { return String::new() };
    let end = |value| figure(value, Unit::Seconds, 3);
    format!("{} s", range(&end(spread.min), &end(spread.max)))
}

/// Nodes much of whose CPU is known by the kernel's ticks only, over the measured phases of a run.
fn exited(runs: Runs<'_>) -> Vec<String> {
    let mut shares: IndexMap<(&str, String), Vec<f64>> = IndexMap::new();
    for sample in runs.samples.iter().filter(|sample| sample.counts()) {
        let measured = sample.phases.values().filter(|phase| phase.measure).map(|phase| &phase.evidence);
        for (node, observed) in &Evidence::join(measured).nodes {
            let all: u64 = observed.cpu_ns.values().sum();
            let exited = observed.cpu_ns.get("exited").copied().unwrap_or(0);
            let share = exited as f64 / all as f64;
            if all > 0 && share > EXITED_SHARE {
                shares.entry((runs.title(&sample.cell), node.clone())).or_default().push(share);
            }
        }
    }
    // Of many scenarios a line each would say the same over and over.
    let mut lines: IndexMap<(String, String), Vec<f64>> = IndexMap::new();
    for ((scenario, node), own) in &shares {
        let scenarios = shares.keys().filter(|(_, other)| other == node).count();
        let place = if scenarios > 3 { format!("{scenarios} scenarios") } else { (*scenario).to_owned() };
        lines.entry((place, node.clone())).or_default().extend(own);
    }
    lines
        .into_iter()
        .filter_map(|((place, node), shares)| {
            let spread = Summary::of(&shares)?;
            let percent = |share: f64| format!("{:.0}", share * 100.0);
            Some(format!(
                "{place}: {} % of the CPU of {node} is of processes that exited within the window ({}). It is in \
                 the sums, its role is not known, and it comes in steps of 10 ms.",
                range(&percent(spread.min), &percent(spread.max)),
                counted(shares.len(), "run")
            ))
        })
        .collect()
}

/// Runs that the tables cannot show, since another spec than theirs renders them.
fn unknown(runs: Runs<'_>) -> Option<String> {
    let mut scenarios: Vec<String> = Vec::new();
    for sample in runs.samples.iter().filter(|sample| runs.scenario(&sample.cell).is_none()) {
        let name = format!("`{}`", sample.cell);
        if !scenarios.contains(&name) {
            scenarios.push(name);
        }
    }
    (!scenarios.is_empty())
        .then(|| format!("Runs of {} are not shown: this spec has no such scenario.", listed(&scenarios)))
}

/// Where the series are.
fn series(runs: Runs<'_>) -> Option<String> {
    let has = |sample: &&Sample| {
        sample.phases.values().flat_map(|phase| phase.evidence.nodes.values()).any(|node| node.series.is_some())
    };
    let with = runs.samples.iter().filter(has).count();
    (with > 0).then(|| {
        format!(
            "Time series of {} (each second: CPU by role, WAL, and each slot's lag and retained WAL) are in \
             `report.json` under `runs[].series`.",
            counted(with, "run")
        )
    })
}

/// What the runner noted while it ran: once each, with the scenarios it was noted in unless that is all of them.
fn recorded(runs: Runs<'_>) -> Vec<String> {
    let mut notes: IndexMap<&str, IndexMap<&str, usize>> = IndexMap::new();
    for sample in runs.samples {
        for note in &sample.notes {
            *notes.entry(note).or_default().entry(runs.title(&sample.cell)).or_default() += 1;
        }
    }
    notes
        .into_iter()
        .map(|(note, scenarios)| {
            let times = counted(scenarios.values().sum(), "run");
            if scenarios.len() == runs.spec.cells.len() {
                return format!("{note} ({times})");
            }
            let scenarios: Vec<&str> = scenarios.into_keys().collect();
            format!("{}: {note} ({times})", listed(&scenarios))
        })
        .collect()
}
