//! The spec's charts, filled with figures and drawn.

use indexmap::IndexSet;
use serde::Serialize;

use super::claims::CONFIDENCE;
use super::figures::Runs;
use super::format::listed;
use super::pivot::{label, value, values};
use super::svg::{
    self, Bar, BarSeries, Bars, Chart, Figure, LineSeries, Lines, LinesAxis, Phase, Stack, StackRow, Unit, ValueAxis,
};
use crate::measure::metric::{CLIENT, CLIENTS_EXITED, ROLES};
use crate::measure::{self, Dim, Evidence, NodeSeries, Quantity, Reference};
use crate::results::Sample;
use crate::spec::scenario::Body;
use crate::spec::{ChartKind, ChartSpec, Course, LoweredCell, ReportTable};
use crate::stats::mean_of_values;

/// A chart as a file.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ChartView {
    /// Heading.
    pub title: String,
    /// A line below it.
    pub note: Option<String>,
    /// Its file in the results folder, such as `charts/tps-by-clients.svg`.
    pub file: String,
    /// The picture.
    #[serde(skip)]
    pub svg: String,
}

/// Draws every chart of the spec.
pub(super) fn charts(runs: Runs<'_>) -> Vec<ChartView> {
    let specs = &runs.spec.charts;
    let titles: Vec<&str> = specs.iter().map(|spec| spec.title.as_str()).collect();
    specs
        .iter()
        .zip(svg::file_names(&titles))
        .map(|(spec, file)| ChartView {
            title: spec.title.clone(),
            note: with_unlogged(spec.note.clone(), spec, runs),
            file: format!("charts/{file}"),
            svg: svg::draw(&chart(spec, runs)),
        })
        .collect()
}

/// A note, with the loads that a chart of TPS over time leaves out, since nothing is known of them by the second.
fn with_unlogged(note: Option<String>, spec: &ChartSpec, runs: Runs<'_>) -> Option<String> {
    if !matches!(spec.kind, ChartKind::Lines(Course::Tps)) {
        return note;
    }
    let cells = runs.spec.cells.iter().filter(|cell| spec.shown.holds(cell));
    let loads = cells.flat_map(|cell| {
        let run = |name: &String| {
            let mut phases = cell.scenario.phases.iter().filter(|phase| phase.measure);
            phases.any(|phase| matches!(&phase.body, Body::Run(loads) if loads.contains(name)))
        };
        cell.scenario.workloads.iter().filter(move |(name, _)| run(name))
    });
    let unlogged: IndexSet<String> =
        loads.filter(|(_, load)| load.by_pgbench() && !load.log.value).map(|(name, _)| format!("`{name}`")).collect();
    if unlogged.is_empty() {
        return note;
    }
    let left_out = format!("without {}, run with log = false", listed(&unlogged.into_iter().collect::<Vec<_>>()));
    Some(note.map_or(left_out.clone(), |note| format!("{} ({left_out})", note.trim_end())))
}

fn chart(spec: &ChartSpec, runs: Runs<'_>) -> Chart {
    let cells: Vec<&LoweredCell> = runs.spec.cells.iter().filter(|cell| spec.shown.holds(cell)).collect();
    let figure = match &spec.kind {
        ChartKind::Bars { x, series, value } => Figure::Bars(bars(&cells, x, series.as_deref(), value, runs)),
        ChartKind::Lines(course) => Figure::Lines(lines(&cells, *course, runs)),
        ChartKind::Stack { value, shares } => Figure::Stack(stack(&cells, value, *shares, runs)),
    };
    let about = match &spec.kind {
        ChartKind::Bars { value, .. } if runs.is_paired() => {
            format!(
                "{}: geometric means over pairs, a dot a pair; whiskers are of each side alone, the verdict is of the pairs",
                value.display()
            )
        }
        ChartKind::Bars { value, .. } => format!("{}: medians, a dot a round", value.display()),
        ChartKind::Lines(_) => "the first valid run of each".to_owned(),
        ChartKind::Stack { value, .. } => format!("{}: medians by role", Quantity::Read(value.clone()).display()),
    };
    let note = with_unlogged(spec.note.clone().or_else(|| Some(about.clone())), spec, runs).unwrap_or_default();
    Chart { title: spec.title.clone(), about, note, figure }
}

fn unit(of: measure::Unit) -> Unit {
    match of {
        measure::Unit::Seconds => Unit::Plain("s".to_owned()),
        measure::Unit::Milliseconds => Unit::Plain("ms".to_owned()),
        measure::Unit::PerSecond => Unit::Plain("/s".to_owned()),
        measure::Unit::Bytes => Unit::Bytes,
        measure::Unit::Fraction => Unit::Fraction,
        measure::Unit::Count | measure::Unit::Number => Unit::Plain(String::new()),
    }
}

fn bars(cells: &[&LoweredCell], x: &str, series: Option<&str>, of: &Quantity, runs: Runs<'_>) -> Bars {
    let groups = values(cells, x);
    let names = series.map_or_else(|| vec![String::new()], |axis| values(cells, axis));
    let bar = |group: &String, name: &String| {
        let here = |cell: &&&LoweredCell| {
            value(cell, x).is_some_and(|own| own == *group)
                && series.is_none_or(|axis| value(cell, axis).is_some_and(|own| own == *name))
        };
        let Some(cell) = cells.iter().find(here) else { return Bar::missing() };
        let published = published(cell, of, runs);
        let with = |bar: Bar| published.map_or(bar.clone(), |figure| bar.with_published(figure));
        let Some(own) = runs.cell(&cell.name) else { return with(Bar::missing()) };
        let Ok(over) = runs.over_rounds(&own.name, |sample| runs.read(sample, of)) else {
            return with(Bar::missing());
        };
        let mut bar = Bar::of(over.centre(runs.is_paired())).with_rounds(over.values.iter().copied());
        let logs: Vec<f64> = over.values.iter().filter(|own| **own > 0.0).map(|own| own.ln()).collect();
        if logs.len() == over.values.len()
            && let Some(interval) = mean_of_values(&logs, CONFIDENCE).ok().and_then(|mean| mean.interval)
        {
            bar = bar.with_interval(interval.low.exp(), interval.high.exp());
        }
        with(bar)
    };
    Bars {
        axis: if x == crate::spec::SCENARIO_AXIS { String::new() } else { x.to_owned() },
        groups: groups.iter().map(|group| label(cells, x, group)).collect(),
        values: ValueAxis { title: of.display(), unit: unit(of.unit()) },
        series: names
            .iter()
            .map(|name| BarSeries {
                name: series.map_or_else(|| of.display(), |axis| label(cells, axis, name)),
                bars: groups.iter().map(|group| bar(group, name)).collect(),
            })
            .collect(),
        interval: format!("{:.0} % interval of the mean", CONFIDENCE * 100.0),
        dot: if runs.is_paired() { "one pair".to_owned() } else { String::new() },
    }
}

/// What a table of the spec says was published of the same figure.
fn published(cell: &LoweredCell, of: &Quantity, runs: Runs<'_>) -> Option<f64> {
    runs.spec.tables.iter().find_map(|table| match table {
        ReportTable::Pivot(pivot) if pivot.value.display() == of.display() => {
            let fits = |place: &[(String, String)]| {
                place.iter().all(|(axis, wanted)| value(cell, axis).is_some_and(|own| own == *wanted))
            };
            pivot.published.iter().find(|(place, _)| fits(place)).map(|(_, figure)| *figure)
        }
        ReportTable::Listed(table) => {
            let column = table
                .columns
                .iter()
                .find(|column| column.relative_to.is_none() && column.value.display() == of.display())?;
            column.published.get(&cell.scenario.name).copied()
        }
        ReportTable::Pivot(_) => None,
    })
}

fn lines(cells: &[&LoweredCell], course: Course, runs: Runs<'_>) -> Lines {
    let mut series = Vec::new();
    let mut phases: Vec<Phase> = Vec::new();
    for cell in cells {
        let Some(own) = runs.cell(&cell.name) else { continue };
        let Some(sample) = runs.valid(&own.name).next() else { continue };
        series.push(LineSeries::new(cell.title.clone(), points(sample, course)));
        if phases.is_empty() {
            let mut begin = 0.0;
            for (name, record) in sample.phases.iter().filter(|(_, record)| record.measure) {
                phases.extend(Phase::new(name.clone(), begin));
                begin += record.evidence.seconds;
            }
        }
    }
    let (title, unit) = match course {
        Course::Tps => ("committed transactions", Unit::Plain("/s".to_owned())),
        Course::LagBytes => ("lag of the furthest slot", Unit::Bytes),
        Course::LagSeconds => ("lag of the furthest slot", Unit::Plain("s".to_owned())),
        Course::RetainedBytes => ("WAL that a slot keeps", Unit::Bytes),
        Course::WalBytes => ("WAL written each second", Unit::Bytes),
        Course::Cpu => ("CPU of all nodes", Unit::Plain("cores".to_owned())),
    };
    let values = ValueAxis { title: title.to_owned(), unit };
    Lines { axes: LinesAxis { time: "time since the first phase began".to_owned(), values }, series, phases }
}

/// What is drawn of a run, by the second.
fn points(sample: &Sample, course: Course) -> Vec<(f64, f64)> {
    let whole = Evidence::join(sample.phases.values().filter(|record| record.measure).map(|record| &record.evidence));
    if course == Course::Tps {
        let mut each: Vec<u64> = Vec::new();
        for load in whole.loads.values() {
            each.resize(each.len().max(load.committed_each_second.len()), 0);
            each.iter_mut().zip(&load.committed_each_second).for_each(|(all, own)| *all += own);
        }
        // The last second is not a whole one.
        each.pop();
        return each.iter().enumerate().map(|(second, count)| (second as f64 + 0.5, *count as f64)).collect();
    }
    let nodes: Vec<&NodeSeries> = whole.nodes.values().filter_map(|node| node.series.as_ref()).collect();
    let Some(first) = nodes.first() else { return Vec::new() };
    let worst = |of: fn(&crate::measure::SlotSeries, usize) -> Option<f64>, index: usize| {
        let slots = nodes.iter().flat_map(|node| node.slots.values());
        slots.filter_map(|slot| of(slot, index)).reduce(f64::max).unwrap_or(f64::NAN)
    };
    let since = |index: usize| if index == 0 { f64::NAN } else { first.at[index] - first.at[index - 1] };
    (0..first.at.len())
        .map(|index| {
            let value = match course {
                Course::LagBytes => worst(|slot, at| (*slot.lag_bytes.get(at)?).map(|own| own as f64), index),
                Course::LagSeconds => worst(|slot, at| *slot.lag_seconds.get(at)?, index),
                Course::RetainedBytes => worst(|slot, at| (*slot.retained_bytes.get(at)?).map(|own| own as f64), index),
                Course::WalBytes => {
                    let all = nodes.iter().filter_map(|node| node.wal_bytes.get(index).copied().flatten());
                    all.sum::<u64>() as f64 / since(index)
                }
                Course::Cpu | Course::Tps => {
                    let all = nodes.iter().flat_map(|node| node.cpu_ns.values()).filter_map(|role| role.get(index));
                    all.sum::<u64>() as f64 / 1e9 / since(index)
                }
            };
            (first.at[index], value)
        })
        .collect()
}

fn stack(cells: &[&LoweredCell], of: &Reference, shares: bool, runs: Runs<'_>) -> Stack {
    let medians = |cell: &LoweredCell| -> Vec<Option<f64>> {
        let Some(own) = runs.cell(&cell.name) else { return Vec::new() };
        ROLES
            .iter()
            .map(|role| {
                let of_role = |role: &str| {
                    let mut reference = of.clone();
                    reference.labels.0.push((Dim::Role, role.to_owned()));
                    Quantity::Read(reference)
                };
                let (whole, exited) = (of_role(role), of_role(CLIENTS_EXITED));
                let read = |sample: &Sample| {
                    let all = runs.read(sample, &whole)?;
                    // The role of clients has those that exited too, and they are a segment of their own.
                    let twice = if *role == CLIENT { runs.read(sample, &exited).unwrap_or(0.0) } else { 0.0 };
                    Ok(all - twice)
                };
                let over = runs.over_rounds(&own.name, read).ok()?;
                Some(over.spread.median).filter(|median| *median > 0.0)
            })
            .collect()
    };
    let rows: Vec<(String, Vec<Option<f64>>)> = cells.iter().map(|cell| (cell.title.clone(), medians(cell))).collect();
    // Roles that nobody has stand in no legend.
    let used: Vec<usize> = (0..ROLES.len())
        .filter(|index| rows.iter().any(|(_, amounts)| amounts.get(*index).copied().flatten().is_some()))
        .collect();
    let whole = Quantity::Read(of.clone());
    Stack {
        amounts: ValueAxis { title: whole.display(), unit: unit(whole.unit()) },
        roles: used.iter().map(|index| ROLES[*index].to_owned()).collect(),
        rows: rows
            .into_iter()
            .map(|(name, amounts)| {
                StackRow::new(name, used.iter().map(|index| amounts.get(*index).copied().flatten()).collect::<Vec<_>>())
            })
            .collect(),
        shares,
    }
}
