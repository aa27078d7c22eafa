//! What is not the same in all scenarios, and nothing else.

use serde::Serialize;

use super::figures::Runs;
use super::footnotes::{Footnote, Footnotes};
use super::format::NONE;
use crate::results::RunRecord;

/// A longer text stands below the table, with a mark in its cell.
const LONGEST: usize = 44;

/// The differences, decided.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct DifferencesView {
    /// Scenarios: name and title, a column each.
    pub scenarios: Vec<(String, String)>,
    /// What differs, a row each.
    pub rows: Vec<DifferenceRow>,
    /// Texts too long for a cell.
    pub footnotes: Vec<Footnote>,
    /// What stands in place of the table where there is none.
    pub instead: Option<String>,
    /// What differs by the nodes' versions without the spec's doing, one line.
    pub by_version: String,
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
    let rows: Vec<DifferenceRow> = run
        .differences
        .iter()
        .map(|difference| DifferenceRow {
            what: difference.what.clone(),
            cells: scenarios
                .iter()
                .map(|(name, _)| difference.values.get(name).map_or_else(|| NONE.to_owned(), |v| cell(v, &mut notes)))
                .collect(),
        })
        .collect();
    let instead = match (rows.is_empty(), scenarios.len()) {
        (false, _) => None,
        (true, 0 | 1) => Some("There is one scenario.".to_owned()),
        (true, _) => Some("The record of this run holds no differences between the scenarios.".to_owned()),
    };
    let by_version = if run.by_version.is_empty() {
        "By version, without the spec's doing: nothing that the runner knows of.".to_owned()
    } else {
        format!("By version, without the spec's doing: {}.", run.by_version.join("; "))
    };
    DifferencesView { scenarios, rows, footnotes: notes.into_list(), instead, by_version }
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
