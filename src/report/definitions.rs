//! How each figure of this report is defined: the metrics that it uses and the rules of its statistics.

use indexmap::IndexMap;

use super::figures::Runs;
use super::format::listed;
use crate::measure::{Computed, Metric, Quantity, Reference, UNDER_PGBENCH, Unit};
use crate::spec::ReportTable;
use crate::spec::scenario::Body;
use crate::spec::scenario::Workload;
use crate::spec::{Claim, Each, Spec, Statistic};

/// A line each, Markdown.
pub(super) fn definitions(runs: Runs<'_>) -> Vec<String> {
    let references: Vec<&Reference> = references(runs.spec).collect();
    let mut lines = windows(runs, &references);
    let mut metrics: Vec<&'static Metric> = Vec::new();
    for reference in &references {
        if !metrics.contains(&reference.metric) {
            metrics.push(reference.metric);
        }
    }
    lines.extend(waits(runs));
    for computed in computed(runs.spec) {
        let Computed { name, left, operator, right, unit, .. } = computed;
        let unit = if *unit == Unit::Number { String::new() } else { format!(" ({})", unit.as_str()) };
        lines.push(format!(
            "`{name}`{unit}: `{} {} {}`, computed in each run.",
            left.display(),
            operator.symbol(),
            right.display()
        ));
    }
    for metric in &metrics {
        let unit = if metric.unit == Unit::Count { String::new() } else { format!(" ({})", metric.unit.as_str()) };
        lines.push(format!("`{}`{unit}: {}.", metric.name, metric.about));
    }
    if runs.spec.cells.iter().any(|cell| cell.scenario.workloads.values().any(Workload::by_pgbench)) {
        let used = UNDER_PGBENCH.iter().filter(|(name, _)| metrics.iter().any(|metric| metric.name == *name));
        lines.extend(used.map(|(name, about)| format!("`{name}` of a load by pgbench: {about}.")));
    }
    if !runs.spec.tables.is_empty() {
        lines.push(
            "Host busy: part of all cores in use by anything, over the phases that a table's columns span. \
             † marks times and rates (not CPU) taken at 90 % or more: they say how the processes contended for this \
             host."
                .to_owned(),
        );
    }
    if metrics.iter().any(|metric| metric.name == "cpu") {
        lines.push(
            "Work that the kernel does outside of processes (writeback, network interrupts) is in no CPU figure."
                .to_owned(),
        );
    }
    lines.extend(statistics(runs));
    lines
}

/// From when to when phases last that wait for the marker, each way once.
fn waits(runs: Runs<'_>) -> Vec<String> {
    let mut ways: IndexMap<&str, Vec<String>> = IndexMap::new();
    for phase in runs.spec.cells.iter().flat_map(|cell| &cell.scenario.phases) {
        if phase.body == Body::WaitApplied {
            let from = if phase.start.is_empty() { "from the end of the phase before" } else { "from its own clock" };
            let names = ways.entry(from).or_default();
            let name = format!("`{}`", phase.name);
            if !names.contains(&name) {
                names.push(name);
            }
        }
    }
    let slots = runs.spec.cells.iter().any(|cell| !cell.scenario.slots.is_empty());
    let consumers = if slots { ", and the consumer of every slot has received it" } else { "" };
    ways.into_iter()
        .map(|(from, names)| {
            format!(
                "{}: {from} until a row that the runner then commits is visible on every subscriber{consumers}.",
                listed(&names)
            )
        })
        .collect()
}

/// Quantities of all tables and claims.
pub(super) fn quantities(spec: &Spec) -> impl Iterator<Item = &Quantity> {
    let of_tables = spec.tables.iter().flat_map(ReportTable::quantities);
    of_tables.chain(spec.claims.iter().map(|claim| &claim.metric))
}

/// References that all tables and claims read.
fn references(spec: &Spec) -> impl Iterator<Item = &Reference> {
    quantities(spec).flat_map(Quantity::references)
}

/// Computed metrics that are in use, each once.
fn computed(spec: &Spec) -> Vec<&Computed> {
    let mut out: Vec<&Computed> = Vec::new();
    for quantity in quantities(spec) {
        if let Quantity::Computed(computed) = quantity
            && !out.iter().any(|known| known.name == computed.name)
        {
            out.push(computed);
        }
    }
    out
}

/// Windows that are in use, with their phases.
fn windows(runs: Runs<'_>, references: &[&Reference]) -> Vec<String> {
    let mut windows: IndexMap<&str, Vec<String>> = IndexMap::new();
    for reference in references {
        let known = windows.entry(&reference.window).or_default();
        for cell in &runs.spec.cells {
            let Ok(phases) = runs.phases(&cell.name, &reference.window) else { continue };
            let phases: Vec<String> = phases.iter().map(|phase| format!("`{}`", phase.name)).collect();
            let text = listed(&phases);
            if phases.len() > 1 && !known.contains(&text) {
                known.push(text);
            }
        }
    }
    windows.retain(|_, ways| !ways.is_empty());
    windows
        .into_iter()
        .map(|(window, ways)| format!("`{window}`: the phases {} as one window.", ways.join(", or ")))
        .collect()
}

fn statistics(runs: Runs<'_>) -> Vec<String> {
    let spec = runs.spec;
    let mut lines = Vec::new();
    if spec.tables.iter().any(|table| !matches!(table, ReportTable::Listed(table) if table.each == Each::Run)) {
        lines.push(
            "Medians are of each column by itself over the valid runs, so that a sum of medians need not be the median of \
             the sums; a table's ratio is a ratio of two medians."
                .to_owned(),
        );
    }
    let judged = |statistic| spec.claims.iter().any(|claim: &Claim| claim.statistic == statistic);
    let mut rules = Vec::new();
    if judged(Statistic::Ratio) {
        rules.push(
            "a ratio is the geometric mean of the rounds' own ratios, its interval Student's t on their logarithms",
        );
    }
    if judged(Statistic::Difference) {
        rules.push("a difference is the mean of the rounds' own differences, its interval Student's t");
    }
    if judged(Statistic::Value) {
        rules.push("a value is the mean over the rounds, its interval Student's t");
    }
    if !rules.is_empty() {
        let (rules, each) = (rules.join("; ").replace("round", runs.unit()), runs.unit());
        let widened = if runs.is_paired() { ", widened as those of the verdict are" } else { "" };
        lines.push(format!(
            "Claims: {rules}; 95 %, both ends included{widened}. Only {each}s in which every run of a claim is valid count."
        ));
    }
    lines
}
