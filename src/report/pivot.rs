//! A table of one metric by two axes: means or medians over the rounds, published figures beside them.

use super::cells::{CellView, plain_cell, spread_text};
use super::comparison::{ComparisonView, VerdictRow};
use super::figures::{NoFigure, Runs};
use super::footnotes::Footnotes;
use super::format::{self, NONE};
use super::tables::{ColumnView, RowView, TableView, ranges_of};
use crate::spec::{LoweredCell, PivotSpec, SCENARIO_AXIS};

/// Decides a table by axes.
pub(super) fn pivot(spec: &PivotSpec, runs: Runs<'_>, verdicts: Option<&ComparisonView>) -> TableView {
    let mut notes = Footnotes::default();
    let shown: Vec<&LoweredCell> = runs.spec.cells.iter().filter(|cell| spec.shown.holds(cell)).collect();
    let (rows, columns) = (values(&shown, &spec.rows), values(&shown, &spec.columns));
    let mut table_rows = Vec::new();
    let mut rounds: Vec<usize> = Vec::new();
    for row in &rows {
        let mut cells = Vec::new();
        for column in &columns {
            let at = |cell: &&&LoweredCell| {
                value(cell, &spec.rows).is_some_and(|own| own == *row)
                    && value(cell, &spec.columns).is_some_and(|own| own == *column)
            };
            let found = shown.iter().find(at);
            rounds.extend(found.map(|cell| runs.rounds(&cell.name).len()));
            let cell = match found {
                Some(cell) => figure(spec, cell, runs, &mut notes),
                None => CellView { text: NONE.to_owned(), ..CellView::default() },
            };
            cells.push(cell);
        }
        let title = label(&shown, &spec.rows, row);
        table_rows.push(RowView {
            scenario: row.clone(),
            title,
            round: None,
            turn: None,
            n: None,
            mark: String::new(),
            excluded: None,
            cells,
        });
    }
    if let Some(verdicts) = verdicts.filter(|_| spec.verdict) {
        table_rows.extend(verdict_rows(spec, &shown, &columns, verdicts));
    }
    let unit = spec.value.unit().as_str();
    let columns = columns
        .iter()
        .map(|column| ColumnView {
            title: heading(&shown, &spec.columns, column),
            metric: spec.value.display(),
            unit,
            relative_to: None,
        })
        .collect();
    TableView {
        title: spec.title.clone(),
        note: spec.note.clone(),
        each: "axis",
        ranges_of: ranges_of(runs),
        leading: if spec.rows == SCENARIO_AXIS { "Scenario".to_owned() } else { spec.rows.clone() },
        legend: legend(spec, &table_rows, &rounds, runs),
        columns,
        rows: table_rows,
        footnotes: notes.into_list(),
    }
}

/// What stands in a cell of such a row.
type TextOfRow = fn(&VerdictRow) -> String;

/// Change, interval and verdict below the figures, column by column.
fn verdict_rows(
    spec: &PivotSpec,
    shown: &[&LoweredCell],
    columns: &[String],
    verdicts: &ComparisonView,
) -> Vec<RowView> {
    let of_column = |column: &String| {
        let cells = shown.iter().filter(|cell| value(cell, &spec.columns).is_some_and(|own| own == *column));
        let names: Vec<&str> = cells.map(|cell| cell.name.as_str()).collect();
        verdicts.rows.iter().find(|row| names.contains(&row.of.as_str()))
    };
    let percent = (verdicts.confidence * 100.0).round();
    let lines: [(String, TextOfRow); 3] = [
        (format!("change, {} to {}", verdicts.of, verdicts.to), VerdictRow::change_text),
        (format!("{percent} % interval"), VerdictRow::interval_text),
        ("verdict".to_owned(), VerdictRow::verdict_text),
    ];
    lines
        .into_iter()
        .map(|(title, text)| RowView {
            scenario: String::new(),
            title,
            round: None,
            turn: None,
            n: None,
            mark: String::new(),
            excluded: None,
            cells: columns
                .iter()
                .map(|column| CellView {
                    text: of_column(column).map_or_else(|| NONE.to_owned(), text),
                    ..CellView::default()
                })
                .collect(),
        })
        .collect()
}

fn legend(spec: &PivotSpec, rows: &[RowView], rounds: &[usize], runs: Runs<'_>) -> Vec<String> {
    let mut legend = Vec::new();
    let (least, most) = (rounds.iter().min().copied().unwrap_or(0), rounds.iter().max().copied().unwrap_or(0));
    let n = if least == most { format!("n = {most}") } else { format!("n = {least} to {most}") };
    let what = spec.value.display();
    legend.push(match (most, runs.is_paired(), spec.verdict) {
        (0, ..) => format!("`{what}`; no valid run."),
        (1, false, _) => format!("`{what}`, one valid run each, so that no spread is known."),
        (_, false, false) => format!("`{what}`, medians of the valid runs, {n} each."),
        (_, false, true) => format!("`{what}`, geometric means of the valid runs, {n} each."),
        (_, true, _) => {
            format!("`{what}`, geometric means over the pairs and their slices, {n} pairs each.")
        }
    });
    if rows.iter().flat_map(|row| &row.cells).any(|cell| cell.published.is_some()) {
        legend.push("In parentheses: published.".to_owned());
    }
    legend
}

/// Whether the figures are compared by their ratios, as below them or by pairs.
fn by_ratios(spec: &PivotSpec, runs: Runs<'_>) -> bool {
    spec.verdict || runs.is_paired()
}

fn figure(spec: &PivotSpec, cell: &LoweredCell, runs: Runs<'_>, notes: &mut Footnotes) -> CellView {
    let fits = |place: &[(String, String)]| {
        place.iter().all(|(axis, wanted)| value(cell, axis).is_some_and(|own| own == *wanted))
    };
    let published = spec.published.iter().find(|(place, _)| fits(place)).map(|(_, figure)| *figure);
    let unit = spec.value.unit();
    let digits = format::decimals(&spec.value, false, std::iter::empty());
    let name = runs.cell(&cell.name).map_or("", |cell| cell.name.as_str());
    let over = runs.over_rounds(name, |sample| runs.read(sample, &spec.value));
    let mut out = match over {
        Ok(over) => {
            let mut out = plain_cell(over.centre(by_ratios(spec, runs)), unit, digits);
            if let Some(reason) = over.absent.first() {
                let all = over.values.len() + over.absent.len();
                out.mark =
                    notes.mark(&format!("of {} of the {all} valid runs; in the rest: {reason}", over.values.len()));
            }
            out.range = spread_text(&over.spread, unit, digits);
            out.values = over.values;
            out
        }
        Err(reason) => absent(&reason, notes),
    };
    if let Some(busy) = out.value.and_then(|_| runs.contention(name, &spec.value)) {
        out.contention = true;
        let window = spec.value.windows().last().copied().unwrap_or_default();
        out.mark.insert_str(0, notes.contention(window, busy));
    }
    if let Some(theirs) = published {
        out.published = Some(theirs);
        out.published_text = Some(format::figure(theirs, unit, digits));
    }
    out
}

fn absent(reason: &NoFigure, notes: &mut Footnotes) -> CellView {
    let reason = reason.to_string();
    CellView { text: NONE.to_owned(), mark: notes.mark(&reason), absent: Some(reason), ..CellView::default() }
}

/// A cell's value of an axis, as written; the scenario's name is one too.
pub(super) fn value(cell: &LoweredCell, axis: &str) -> Option<String> {
    if axis == SCENARIO_AXIS {
        return Some(cell.scenario.name.clone());
    }
    cell.value(axis).map(ToString::to_string)
}

/// Values of an axis among cells, in the order of the spec.
pub(super) fn values(cells: &[&LoweredCell], axis: &str) -> Vec<String> {
    let mut out = Vec::new();
    for own in cells.iter().filter_map(|cell| value(cell, axis)) {
        if !out.contains(&own) {
            out.push(own);
        }
    }
    out
}

/// A value of an axis for people: the title of the scenario or build of that name.
pub(super) fn label(cells: &[&LoweredCell], axis: &str, of: &str) -> String {
    let mut scenarios = cells.iter().map(|cell| &cell.scenario);
    if axis == SCENARIO_AXIS {
        return scenarios.find(|own| own.name == of).map_or_else(|| of.to_owned(), |own| own.title.clone());
    }
    let mut builds = scenarios.flat_map(|own| own.nodes.values()).filter_map(|node| node.build.as_ref());
    builds.find(|(name, _)| name == of).map_or_else(|| of.to_owned(), |(_, build)| build.title.clone())
}

/// The heading of a column: a bare number says nothing without its axis.
fn heading(cells: &[&LoweredCell], axis: &str, of: &str) -> String {
    let label = label(cells, axis, of);
    if axis != SCENARIO_AXIS && label == of { format!("{axis} {of}") } else { label }
}
