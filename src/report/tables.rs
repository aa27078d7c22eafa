//! The spec's tables: medians by scenario, or one row a run, each with how busy the host was.
//!
//! Every absent figure has its reason as a footnote. How a table is drawn is `markdown.rs`'s matter.

use serde::Serialize;

use super::figures::{CONTENTION, NoFigure, Runs, host_busy, ratio};
use super::footnotes::{Footnote, Footnotes};
use super::format::{self, NONE, as_written, figure, range, times};
use crate::measure::{Better, Metric, Unit};
use crate::results::Sample;
use crate::spec::{As, ColumnSpec, Each, TableSpec};
use crate::stats;

/// A table, decided.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TableView {
    /// Heading.
    pub title: String,
    /// The spec's own line below it.
    pub note: Option<String>,
    /// `scenario` or `run`.
    pub each: &'static str,
    /// How to read it, sentences.
    pub legend: Vec<String>,
    /// Columns behind the leading ones, the host's last.
    pub columns: Vec<ColumnView>,
    /// Rows in order.
    pub rows: Vec<RowView>,
    /// What the marks in cells mean.
    pub footnotes: Vec<Footnote>,
}

/// A column.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ColumnView {
    /// Heading.
    pub title: String,
    /// Reference to the metric, as a spec writes it.
    pub metric: String,
    /// Unit of the values: the metric's, or `ratio`.
    pub unit: &'static str,
    /// Scenario that each is divided by.
    pub relative_to: Option<String>,
}

/// A row.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RowView {
    /// Scenario.
    pub scenario: String,
    /// Its title.
    pub title: String,
    /// Round, of a run.
    pub round: Option<u32>,
    /// Position in the whole run, of a run.
    pub turn: Option<u32>,
    /// How many valid runs the medians rest on.
    pub n: Option<usize>,
    /// Mark of an excluded run.
    pub mark: String,
    /// Why the run counts nowhere.
    pub excluded: Option<String>,
    /// A cell a column.
    pub cells: Vec<CellView>,
}

/// A cell.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct CellView {
    /// The figure as printed.
    pub text: String,
    /// Marks behind it.
    pub mark: String,
    /// The same in a unit that can be read aloud.
    pub gloss: Option<String>,
    /// Lowest and highest run, as printed.
    pub range: Option<String>,
    /// The published figure as printed.
    pub published_text: Option<String>,
    /// The figure itself.
    pub value: Option<f64>,
    /// Figures of the valid runs it is the median of, in turn order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub values: Vec<f64>,
    /// The published figure.
    pub published: Option<f64>,
    /// Why there is no figure.
    pub absent: Option<String>,
    /// Whether the host was too busy for it to stand for itself.
    pub contention: bool,
}

/// Decides a table of the spec.
pub(super) fn table<'a>(spec: &'a TableSpec, runs: Runs<'a>) -> TableView {
    let mut table = Table { spec, runs, notes: Footnotes::default() };
    let rows = match spec.each {
        Each::Scenario => spec.scenarios.iter().map(|scenario| table.scenario_row(scenario)).collect(),
        Each::Run => {
            let shown = |sample: &&'a Sample| spec.scenarios.contains(&sample.scenario);
            runs.samples.iter().filter(shown).map(|sample| table.run_row(sample)).collect::<Vec<_>>()
        }
    };
    let footnotes = table.notes.into_list();
    let legend = legend(spec, runs, &rows);
    let mut columns: Vec<ColumnView> = spec.columns.iter().map(column_view).collect();
    columns.push(ColumnView {
        title: "Host busy".to_owned(),
        metric: host_busy().name.to_owned(),
        unit: Unit::Fraction.as_str(),
        relative_to: None,
    });
    let each = if spec.each == Each::Run { "run" } else { "scenario" };
    TableView { title: spec.title.clone(), note: spec.note.clone(), each, legend, columns, rows, footnotes }
}

struct Table<'a> {
    spec: &'a TableSpec,
    runs: Runs<'a>,
    notes: Footnotes,
}

impl<'a> Table<'a> {
    fn scenario_row(&mut self, scenario: &'a str) -> RowView {
        let mut cells: Vec<CellView> = Vec::new();
        for column in &self.spec.columns {
            let mut cell = match &column.relative_to {
                None => self.median_cell(column, scenario),
                Some(base) => {
                    let found = self.ratio_of_medians(column, scenario, base);
                    self.ratio_cell(column, found, scenario == base)
                }
            };
            if cell.value.is_some() {
                let own = self.runs.contention(scenario, &column.value);
                let base = column.relative_to.as_ref().and_then(|base| self.runs.contention(base, &column.value));
                self.mark_contention(&mut cell, column, own.into_iter().chain(base).reduce(f64::max));
            }
            cells.push(self.with_published(cell, column, scenario));
        }
        let busy = self.runs.over_rounds(scenario, |sample| self.busy(sample));
        cells.push(self.busy_cell(busy.map(|busy| (busy.spread.median, Some(busy.spread)))));
        RowView {
            scenario: scenario.to_owned(),
            title: self.runs.title(scenario).to_owned(),
            round: None,
            turn: None,
            n: Some(self.runs.valid(scenario).count()),
            mark: String::new(),
            excluded: None,
            cells,
        }
    }

    fn run_row(&mut self, sample: &'a Sample) -> RowView {
        let mut cells: Vec<CellView> = Vec::new();
        for column in &self.spec.columns {
            let mut cell = match &column.relative_to {
                None => {
                    let digits = digits(column, true);
                    match self.runs.read(sample, &column.value) {
                        Ok(value) => plain_cell(value, column.value.metric, digits),
                        Err(reason) => self.absent_cell(&reason),
                    }
                }
                Some(base) => {
                    let found = self.ratio_within_round(column, sample, base);
                    self.ratio_cell(column, found, &sample.scenario == base)
                }
            };
            if cell.value.is_some() && format::suffers_contention(column.value.metric) {
                let busy = self.runs.busy(sample, [column.value.window.as_str()]).ok();
                self.mark_contention(&mut cell, column, busy.filter(|busy| *busy >= CONTENTION));
            }
            cells.push(self.with_published(cell, column, &sample.scenario));
        }
        let busy = self.busy(sample);
        cells.push(self.busy_cell(busy.map(|busy| (busy, None))));
        let excluded = sample.outcome.complaint();
        RowView {
            scenario: sample.scenario.clone(),
            title: self.runs.title(&sample.scenario).to_owned(),
            round: Some(sample.round),
            turn: Some(sample.turn),
            n: None,
            mark: excluded.as_ref().map_or_else(String::new, |why| {
                self.notes.mark(&format!("excluded, in no median and no claim: {why}"))
            }),
            excluded,
            cells,
        }
    }

    fn median_cell(&mut self, column: &ColumnSpec, scenario: &'a str) -> CellView {
        let metric = column.value.metric;
        let digits = digits(column, false);
        let over = match self.runs.over_rounds(scenario, |sample| self.runs.read(sample, &column.value)) {
            Ok(over) => over,
            Err(reason) => return self.absent_cell(&reason),
        };
        let mut cell = plain_cell(over.spread.median, metric, digits);
        if let Some(reason) = over.absent.first() {
            let all = over.values.len() + over.absent.len();
            cell.mark = self.notes.mark(&format!("of {} of {all} runs; else: {reason}", over.values.len()));
        }
        cell.range = spread_text(&over.spread, metric, digits);
        cell.values = over.values;
        cell
    }

    /// As published tables do it: the median of one over the median of the other.
    fn ratio_of_medians(&self, column: &ColumnSpec, scenario: &'a str, base: &'a str) -> Result<f64, NoFigure> {
        let median = |scenario: &'a str| {
            let over = self.runs.over_rounds(scenario, |sample| self.runs.read(sample, &column.value))?;
            Ok::<f64, NoFigure>(over.spread.median)
        };
        ratio(median(scenario)?, median(base)?, column.value.metric)
    }

    fn ratio_within_round(&self, column: &ColumnSpec, sample: &Sample, base: &'a str) -> Result<f64, NoFigure> {
        let own = self.runs.read(sample, &column.value)?;
        let base = self.runs.valid(base).find(|other| other.round == sample.round).ok_or(NoFigure::NoCounterpart)?;
        ratio(own, self.runs.read(base, &column.value)?, column.value.metric)
    }

    fn ratio_cell(&mut self, column: &ColumnSpec, found: Result<f64, NoFigure>, is_base: bool) -> CellView {
        match found {
            Ok(ratio) => CellView {
                text: if is_base && column.written_as == As::FasterSlower {
                    "baseline".to_owned()
                } else {
                    ratio_text(ratio, column)
                },
                value: Some(ratio),
                ..CellView::default()
            },
            Err(reason) => self.absent_cell(&reason),
        }
    }

    fn absent_cell(&mut self, reason: &NoFigure) -> CellView {
        let reason = reason.to_string();
        CellView { text: NONE.to_owned(), mark: self.notes.mark(&reason), absent: Some(reason), ..CellView::default() }
    }

    fn with_published(&self, mut cell: CellView, column: &ColumnSpec, scenario: &str) -> CellView {
        if let Some(&theirs) = column.published.get(scenario) {
            cell.published = Some(theirs);
            cell.published_text = Some(match &column.relative_to {
                Some(base) if base == scenario && column.written_as == As::FasterSlower => "baseline".to_owned(),
                Some(_) => ratio_text(theirs, column),
                None => {
                    let digits = digits(column, self.spec.each == Each::Run);
                    figure(theirs, column.value.metric.unit, digits)
                }
            });
        }
        cell
    }

    fn mark_contention(&mut self, cell: &mut CellView, column: &ColumnSpec, busy: Option<f64>) {
        if let Some(busy) = busy {
            cell.contention = true;
            cell.mark.insert_str(0, self.notes.contention(&column.value.window, busy));
        }
    }

    fn busy(&self, sample: &Sample) -> Result<f64, NoFigure> {
        self.runs.busy(sample, self.spec.columns.iter().map(|column| column.value.window.as_str()))
    }

    fn busy_cell(&mut self, busy: Result<(f64, Option<stats::Summary>), NoFigure>) -> CellView {
        match busy {
            Ok((busy, spread)) => CellView {
                range: spread.and_then(|spread| spread_text(&spread, host_busy(), 0)),
                contention: busy >= CONTENTION,
                ..plain_cell(busy, host_busy(), 0)
            },
            Err(reason) => self.absent_cell(&reason),
        }
    }
}

fn plain_cell(value: f64, metric: &Metric, digits: usize) -> CellView {
    CellView {
        text: figure(value, metric.unit, digits),
        gloss: format::gloss(value, metric.unit),
        value: Some(value),
        ..CellView::default()
    }
}

/// Lowest and highest; one run has neither.
fn spread_text(spread: &stats::Summary, metric: &Metric, digits: usize) -> Option<String> {
    let end = |value| figure(value, metric.unit, digits);
    (spread.n > 1).then(|| range(&end(spread.min), &end(spread.max)))
}

fn digits(column: &ColumnSpec, of_runs: bool) -> usize {
    format::decimals(column.value.metric, of_runs, column.published.values().copied())
}

/// `2.25x`, or `4.14x slower` by the metric's better direction.
fn ratio_text(ratio: f64, column: &ColumnSpec) -> String {
    let worse_is_more = match column.value.metric.better {
        Better::Lower => true,
        Better::Higher => false,
        Better::Neither => return times(ratio, 2),
    };
    if column.written_as == As::Times || ratio <= 0.0 {
        return times(ratio, 2);
    }
    let factor = times(if ratio < 1.0 { 1.0 / ratio } else { ratio }, 2);
    if factor == times(1.0, 2) {
        "the same".to_owned()
    } else if (ratio > 1.0) == worse_is_more {
        format!("{factor} slower")
    } else {
        format!("{factor} faster")
    }
}

fn column_view(column: &ColumnSpec) -> ColumnView {
    ColumnView {
        title: column.title.clone(),
        metric: column.value.display(),
        unit: if column.relative_to.is_some() { "ratio" } else { column.value.metric.unit.as_str() },
        relative_to: column.relative_to.clone(),
    }
}

fn legend(spec: &TableSpec, runs: Runs<'_>, rows: &[RowView]) -> Vec<String> {
    let mut legend = Vec::new();
    match spec.each {
        Each::Scenario => legend.push("Medians of the valid runs (n).".to_owned()),
        Each::Run => legend.push("One row a run, in the order they were run.".to_owned()),
    }
    for column in &spec.columns {
        if let Some(base) = &column.relative_to {
            let base = runs.title(base);
            legend.push(match spec.each {
                Each::Scenario => format!("{}: ratio of medians, to that of {base}.", column.title),
                Each::Run => format!("{}: ratio to the run of {base} in the same round.", column.title),
            });
        }
    }
    if rows.iter().flat_map(|row| &row.cells).any(|cell| cell.published.is_some()) {
        legend.push("In parentheses: published.".to_owned());
    }
    legend
}

/// The published figures' legend needs no more digits than a spec gives.
pub(super) fn published_alone(value: f64, unit: Unit, is_ratio: bool) -> String {
    match unit {
        _ if is_ratio => format!("{}x", as_written(value)),
        Unit::Seconds => format!("{} s", as_written(value)),
        Unit::Milliseconds => format!("{} ms", as_written(value)),
        Unit::PerSecond => format!("{}/s", as_written(value)),
        Unit::Fraction => format!("{} %", as_written(value * 100.0)),
        Unit::Bytes => format!("{} bytes", format::thousands(value)),
        Unit::Count => as_written(value),
    }
}

#[cfg(test)]
mod tests {
    use indexmap::IndexMap;

    use super::*;
    use crate::measure::Reference;

    fn column(metric: &str, written_as: As) -> ColumnSpec {
        ColumnSpec {
            title: "x".to_owned(),
            value: Reference::parse(metric).expect("in the catalogue"),
            relative_to: Some("base".to_owned()),
            written_as,
            published: IndexMap::new(),
        }
    }

    #[test]
    fn a_ratio_in_words_goes_by_the_better_direction() {
        for (metric, ratio, expected) in [
            ("load.tps", 0.25, "4.00x slower"),
            ("load.tps", 3.1, "3.10x faster"),
            ("load.latency_mean", 4.1, "4.10x slower"),
            ("load.latency_mean", 0.5, "2.00x faster"),
            ("load.latency_mean", 0.999, "the same"),
            ("load.transactions", 0.5, "0.50x"),
        ] {
            assert_eq!(ratio_text(ratio, &column(metric, As::FasterSlower)), expected, "{metric} {ratio}");
        }
        assert_eq!(ratio_text(0.25, &column("load.tps", As::Times)), "0.25x");
    }
}
