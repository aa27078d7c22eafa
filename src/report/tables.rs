//! The spec's tables: medians by scenario, or one row a run, each with how busy the host was.
//!
//! Every absent figure has its reason as a footnote. How a table is drawn is `markdown.rs`'s matter.

use serde::Serialize;

use super::cells::{CellView, digits, plain_cell, ratio_text, spread_text};
use super::comparison::ComparisonView;
use super::figures::{CONTENTION, NoFigure, Runs, host_busy, ratio};
use super::footnotes::{Footnote, Footnotes};
use super::format::{self, NONE, figure};
use super::pivot::pivot;
use crate::measure::Unit;
use crate::results::{Outcome, Sample};
use crate::spec::{As, ColumnSpec, Each, LoweredCell, ReportTable, Selector, TableSpec};
use crate::stats;

/// A table, decided.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TableView {
    /// Heading.
    pub title: String,
    /// The spec's own line below it.
    pub note: Option<String>,
    /// `scenario`, `run` or `axis`.
    pub each: &'static str,
    /// What the lowest and the highest are taken over: `run`, or `pair`.
    pub ranges_of: &'static str,
    /// Heading of the leading column.
    pub leading: String,
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

/// Decides a table of the spec.
pub(super) fn table<'a>(spec: &'a ReportTable, runs: Runs<'a>, verdicts: Option<&ComparisonView>) -> TableView {
    match spec {
        ReportTable::Listed(spec) => listed(spec, runs),
        ReportTable::Pivot(spec) => pivot(spec, runs, verdicts),
    }
}

fn listed<'a>(spec: &'a TableSpec, runs: Runs<'a>) -> TableView {
    let mut table = Table { spec, runs, notes: Footnotes::default() };
    let rows = match spec.each {
        Each::Scenario => {
            let shown = runs.spec.cells.iter().filter(|cell| spec.shown.holds(cell));
            shown.map(|cell| table.cell_row(cell)).collect()
        }
        Each::Run => {
            let shown = |sample: &&'a Sample| runs.cell(&sample.cell).is_some_and(|cell| spec.shown.holds(cell));
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
    let leading = "Scenario".to_owned();
    let (title, note) = (spec.title.clone(), spec.note.clone());
    TableView { title, note, each, ranges_of: ranges_of(runs), leading, legend, columns, rows, footnotes }
}

/// What the lowest and the highest of a table are taken over.
pub(super) fn ranges_of(runs: Runs<'_>) -> &'static str {
    if runs.is_paired() { "pair" } else { "run" }
}

struct Table<'a> {
    spec: &'a TableSpec,
    runs: Runs<'a>,
    notes: Footnotes,
}

impl<'a> Table<'a> {
    /// The cell of that scenario at the point of `cell`.
    fn base(&self, cell: &LoweredCell, scenario: &str) -> Option<&'a LoweredCell> {
        let base = Selector { scenario: Some(scenario.to_owned()), axes: Vec::new() };
        base.beside(cell, &self.runs.spec.cells)
    }

    fn cell_row(&mut self, of: &'a LoweredCell) -> RowView {
        let scenario = of.name.as_str();
        let mut cells: Vec<CellView> = Vec::new();
        for column in &self.spec.columns {
            let mut cell = match &column.relative_to {
                None => self.median_cell(column, scenario),
                Some(base) => {
                    let found = match self.base(of, base) {
                        Some(base) => self.ratio_of_medians(column, scenario, &base.name),
                        None => Err(NoFigure::NoCounterpart),
                    };
                    self.ratio_cell(column, found, of.scenario.name == *base)
                }
            };
            if cell.value.is_some() {
                let own = self.runs.contention(scenario, &column.value);
                let base = column.relative_to.as_ref().and_then(|base| self.base(of, base));
                let base = base.and_then(|base| self.runs.contention(&base.name, &column.value));
                self.mark_contention(&mut cell, column, own.into_iter().chain(base).reduce(f64::max));
            }
            cells.push(self.with_published(cell, column, &of.scenario.name));
        }
        let busy = self.runs.over_rounds(scenario, |sample| self.busy(sample));
        cells.push(self.busy_cell(busy.map(|busy| (busy.spread.median, Some(busy.spread)))));
        RowView {
            scenario: scenario.to_owned(),
            title: self.runs.title(scenario).to_owned(),
            round: None,
            turn: None,
            n: Some(self.runs.rounds(scenario).len()),
            mark: String::new(),
            excluded: None,
            cells,
        }
    }

    fn run_row(&mut self, sample: &'a Sample) -> RowView {
        let excluded = sample.outcome.complaint();
        let mark = kind_of_end(&sample.outcome).map_or_else(String::new, |kind| {
            let told = match sample.outcome {
                Outcome::Disturbed { .. } => "since something else had too much of the machine",
                _ => "see Excluded runs",
            };
            self.notes.mark(&format!("in no median and no claim: {kind}, {told}"))
        });
        let mut cells: Vec<CellView> = Vec::new();
        for column in &self.spec.columns {
            let mut cell = match &column.relative_to {
                None => {
                    let digits = digits(column, true);
                    match self.runs.read(sample, &column.value) {
                        Ok(value) => plain_cell(value, column.value.unit(), digits),
                        Err(reason) => self.absent_cell(&reason),
                    }
                }
                Some(base) => {
                    let found = self.ratio_within_round(column, sample, base);
                    self.ratio_cell(column, found, sample.scenario == *base)
                }
            };
            if cell.value.is_some() && format::suffers_contention(&column.value) {
                let busy = self.runs.busy(sample, column.value.windows()).ok();
                self.mark_contention(&mut cell, column, busy.filter(|busy| *busy >= CONTENTION));
            }
            cells.push(self.with_published(cell, column, &sample.scenario));
        }
        let busy = self.busy(sample);
        cells.push(self.busy_cell(busy.map(|busy| (busy, None))));
        RowView {
            scenario: sample.scenario.clone(),
            title: self.runs.title(&sample.cell).to_owned(),
            round: Some(sample.round),
            turn: Some(sample.turn),
            n: None,
            mark,
            excluded,
            cells,
        }
    }

    fn median_cell(&mut self, column: &ColumnSpec, scenario: &'a str) -> CellView {
        let unit = column.value.unit();
        let digits = digits(column, false);
        let over = match self.runs.over_rounds(scenario, |sample| self.runs.read(sample, &column.value)) {
            Ok(over) => over,
            Err(reason) => return self.absent_cell(&reason),
        };
        let mut cell = plain_cell(over.spread.median, unit, digits);
        if let Some(reason) = over.absent.first() {
            let all = over.values.len() + over.absent.len();
            cell.mark = self
                .notes
                .mark(&format!("median of {} of the {all} valid runs; in the rest: {reason}", over.values.len()));
        }
        cell.range = spread_text(&over.spread, unit, digits);
        cell.values = over.values;
        cell
    }

    /// As published tables do it: the median of one over the median of the other.
    fn ratio_of_medians(&self, column: &ColumnSpec, scenario: &'a str, base: &'a str) -> Result<f64, NoFigure> {
        let median = |scenario: &'a str| {
            let over = self.runs.over_rounds(scenario, |sample| self.runs.read(sample, &column.value))?;
            Ok::<f64, NoFigure>(over.spread.median)
        };
        ratio(median(scenario)?, median(base)?, &column.value)
    }

    fn ratio_within_round(&self, column: &ColumnSpec, sample: &Sample, base: &str) -> Result<f64, NoFigure> {
        let own = self.runs.read(sample, &column.value)?;
        let base =
            self.runs.cell(&sample.cell).and_then(|cell| self.base(cell, base)).ok_or(NoFigure::NoCounterpart)?;
        let rounds = self.runs.rounds(&base.name);
        let base = rounds.get(&sample.round).ok_or(NoFigure::NoCounterpart)?;
        ratio(own, self.runs.read_round(base, &column.value)?, &column.value)
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
                    figure(theirs, column.value.unit(), digits)
                }
            });
        }
        cell
    }

    fn mark_contention(&mut self, cell: &mut CellView, column: &ColumnSpec, busy: Option<f64>) {
        if let Some(busy) = busy {
            cell.contention = true;
            let windows = column.value.windows();
            let window = windows.last().copied().unwrap_or_default();
            cell.mark.insert_str(0, self.notes.contention(window, busy));
        }
    }

    fn busy(&self, sample: &Sample) -> Result<f64, NoFigure> {
        self.runs.busy(sample, self.spec.columns.iter().flat_map(|column| column.value.windows()))
    }

    fn busy_cell(&mut self, busy: Result<(f64, Option<stats::Summary>), NoFigure>) -> CellView {
        match busy {
            Ok((busy, spread)) => CellView {
                range: spread.and_then(|spread| spread_text(&spread, host_busy().unit, 0)),
                contention: busy >= CONTENTION,
                ..plain_cell(busy, host_busy().unit, 0)
            },
            Err(reason) => self.absent_cell(&reason),
        }
    }
}

/// How a run that does not count ended, in a few words.
fn kind_of_end(outcome: &Outcome) -> Option<String> {
    match outcome {
        Outcome::Completed => None,
        Outcome::Failed { during, .. } => Some(format!("failed in {during}")),
        Outcome::TimedOut { during, .. } => Some(format!("ran out of time in {during}")),
        Outcome::Diverged { .. } => Some("the nodes did not converge".to_owned()),
        Outcome::Interrupted => Some("interrupted".to_owned()),
        Outcome::Disturbed { .. } => Some("disturbed".to_owned()),
    }
}

fn column_view(column: &ColumnSpec) -> ColumnView {
    ColumnView {
        title: column.title.clone(),
        metric: column.value.display(),
        unit: if column.relative_to.is_some() { "ratio" } else { column.value.unit().as_str() },
        relative_to: column.relative_to.clone(),
    }
}

fn legend(spec: &TableSpec, runs: Runs<'_>, rows: &[RowView]) -> Vec<String> {
    let mut legend = Vec::new();
    match spec.each {
        Each::Scenario if rows.iter().all(|row| row.n.is_none_or(|n| n <= 1)) => {
            legend.push("One valid run each at most, so that no spread is known.".to_owned());
        }
        Each::Scenario if runs.is_paired() => {
            legend.push("Medians of the pairs' means over their slices (n pairs).".to_owned());
        }
        Each::Scenario => legend.push("Medians of the valid runs (n).".to_owned()),
        Each::Run => legend.push("One row a run, in the order they were run.".to_owned()),
    }
    for column in &spec.columns {
        if let Some(base) = &column.relative_to {
            let base = runs.title(base);
            legend.push(match spec.each {
                Each::Scenario => format!("{}: ratio of the medians, to {base}.", column.title),
                Each::Run => format!("{}: ratio to the run of {base} in the same round.", column.title),
            });
        }
    }
    if rows.iter().flat_map(|row| &row.cells).any(|cell| cell.published.is_some()) {
        legend.push("In parentheses: published.".to_owned());
    }
    legend
}
