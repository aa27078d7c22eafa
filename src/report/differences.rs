//! What is not the same in all scenarios, and nothing else.

use serde::Serialize;

use super::figures::Runs;
use super::footnotes::{Footnote, Footnotes};
use super::format::NONE;
use crate::plan::cases::{Place, cases, place};
use crate::results::{Difference, RunRecord};

/// A longer text stands below the table, with a mark in its cell.
const LONGEST: usize = 44;

/// Columns of the lines by axes.
pub(super) const BY_AXES: [&str; 3] = ["What differs", "Where", "What it is there"];

/// The differences, decided.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct DifferencesView {
    /// Scenarios: name and title, a column each.
    pub scenarios: Vec<(String, String)>,
    /// What differs, a row each.
    pub rows: Vec<DifferenceRow>,
    /// The same by the axes on which it depends, where there are axes and more than two cells: what, where, and what it
    /// is there. What is named once for all its lines.
    pub by_axes: Vec<[String; 3]>,
    /// Texts too long for a cell.
    pub footnotes: Vec<Footnote>,
    /// What stands in place of the table where there is none.
    pub instead: Option<String>,
    /// What differs by the nodes' versions without the spec's doing, one line.
    pub by_version: String,
    /// The same as a table; its columns are versions with their nodes.
    pub by_version_columns: Vec<String>,
    /// Its rows.
    pub by_version_rows: Vec<DifferenceRow>,
}

/// Something that differs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DifferenceRow {
    /// What, as the spec names it.
    pub what: String,
    /// Cells by scenario.
    pub cells: Vec<String>,
}

pub(super) fn differences(run: &RunRecord, runs: Runs<'_>) -> DifferencesView {
    let scenarios: Vec<(String, String)> =
        runs.spec.cells.iter().map(|cell| (cell.name.clone(), cell.title.clone())).collect();
    let mut notes = Footnotes::default();
    let differing: Vec<&Difference> = run.differences.iter().filter(|own| is_one(own, &scenarios)).collect();
    let rows: Vec<DifferenceRow> = differing
        .iter()
        .map(|difference| DifferenceRow {
            what: difference.what.clone(),
            cells: scenarios
                .iter()
                .map(|(name, _)| difference.values.get(name).map_or_else(|| NONE.to_owned(), |v| cell(v, &mut notes)))
                .collect(),
        })
        .collect();
    let by_axes = by_axes(&differing, runs, &mut notes);
    let instead = match (rows.is_empty(), scenarios.len()) {
        (false, _) => None,
        (true, 0 | 1) => Some("There is one scenario.".to_owned()),
        (true, _) => Some("The record of this run holds no differences between the scenarios.".to_owned()),
    };
    let by_version = match (run.by_version.is_empty(), run.by_version_table.is_empty()) {
        (_, false) => "By version, without the spec's doing:".to_owned(),
        (true, true) => "By version, without the spec's doing: nothing that the runner knows of.".to_owned(),
        (false, true) => format!("By version, without the spec's doing: {}.", run.by_version.join("; ")),
    };
    let mut columns: Vec<String> = Vec::new();
    for column in run.by_version_table.iter().flat_map(|row| row.values.keys()) {
        if !columns.contains(column) {
            columns.push(column.clone());
        }
    }
    let by_version_rows = run.by_version_table.iter().map(|row| DifferenceRow {
        what: row.what.clone(),
        cells: columns.iter().map(|of| row.values.get(of).map_or_else(|| NONE.to_owned(), Clone::clone)).collect(),
    });
    DifferencesView {
        scenarios,
        rows,
        by_axes,
        footnotes: notes.into_list(),
        instead,
        by_version,
        by_version_rows: by_version_rows.collect(),
        by_version_columns: columns,
    }
}

/// Whether it is one between these cells.
fn is_one(difference: &Difference, cells: &[(String, String)]) -> bool {
    let value = |(name, _): &(String, String)| difference.values.get(name).map_or(NONE, String::as_str);
    cells.windows(2).any(|pair| value(&pair[0]) != value(&pair[1]))
}

/// None where the cells stand better beside one another.
fn by_axes(differing: &[&Difference], runs: Runs<'_>, notes: &mut Footnotes) -> Vec<[String; 3]> {
    let cells = &runs.spec.cells;
    if cells.len() < 3 || cells.iter().all(|cell| cell.point.is_empty()) {
        return Vec::new();
    }
    let several = cells.iter().any(|cell| cell.scenario.name != cells[0].scenario.name);
    let places: Vec<Place<'_>> = cells
        .iter()
        .map(|cell| {
            let scenario = several.then_some(cell.scenario.name.as_str());
            place(scenario, cell.point.iter().map(|(axis, value)| (axis.as_str(), value.to_string())))
        })
        .collect();
    let mut lines = Vec::new();
    for difference in differing {
        let value = |name: &String| difference.values.get(name).map_or(NONE, String::as_str);
        let known: Vec<(Place<'_>, &str)> =
            cells.iter().zip(&places).map(|(cell, place)| (place.clone(), value(&cell.name))).collect();
        let mut what = difference.what.clone();
        for case in cases(&known) {
            lines.push([std::mem::take(&mut what), case.place, cell(case.value, notes)]);
        }
    }
    lines
}

/// The value on one line, or its beginning with a mark.
fn cell(value: &str, notes: &mut Footnotes) -> String {
    let line = value.split_whitespace().collect::<Vec<_>>().join(" ");
    if line.chars().count() <= LONGEST {
        return line;
    }
    let mark = notes.mark(&line);
    let begun: String = line.chars().take(LONGEST - 16).collect();
    format!("{} …{mark}", begun.trim_end())
}
