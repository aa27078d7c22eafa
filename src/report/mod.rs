//! The report: from stored records to a page for people and the same for machines.
//!
//! Pure. [`View::of`] decides everything that a reader sees; [`markdown`], [`plain()`], [`json`] and [`csv`] only write it
//! down. A
//! record of an older runner renders with what it holds; what it does not hold is absent with its reason. [`svg`] draws
//! charts of plain data.

mod builds;
mod cells;
mod charts;
mod claims;
mod compare;
mod compare_inputs;
mod compare_page;
mod compare_plain;
mod comparison;
mod csv;
mod definitions;
mod differences;
mod environment;
mod excluded;
mod fail_if;
mod figures;
mod footnotes;
mod format;
mod grid;
mod honesty;
mod json;
mod ledger;
mod markdown;
mod notes;
mod pivot;
mod plain;
mod plain_table;
mod plain_text;
mod redealt;
mod summary;
pub mod svg;
mod tables;
mod texts;
mod verdict_rules;
mod view;

pub use builds::{BuildRow, BuildsView};
pub use cells::CellView;
pub use charts::ChartView;
pub use claims::{CONFIDENCE, ClaimView, RoundFigure};
pub use compare::{CompareView, ComparedRow};
pub use compare_inputs::{CompareError, CompareOptions, ComparedSide};
pub use compare_page::{compare_json, compare_markdown};
pub use compare_plain::compare_plain;
pub use comparison::{ComparisonView, VerdictRow};
pub use csv::csv;
pub use differences::{DifferenceRow, DifferencesView};
pub use environment::{EnvironmentView, SettingView};
pub use excluded::{ExcludedRun, FailedTransactions};
pub use fail_if::{FailIf, FailIfView, Met, margin};
pub use footnotes::Footnote;
pub use json::json;
pub use ledger::{LedgerRow, LedgerView};
pub use markdown::{MarkdownError, markdown};
pub use plain::plain;
pub use plain_table::{PlainCell, PlainTable, Side};
pub use plain_text::{WIDTH, ascii, heading, paragraph, wrap};
pub use summary::{ExitStatus, Summary, exit_status};
pub use tables::{ColumnView, RowView, TableView};
pub use view::{FigureOfRun, RunFigures, View};

use crate::results::{RunRecord, Sample};
use crate::spec::Spec;

/// What a report is made of.
#[derive(Clone, Copy, Debug)]
pub struct Input<'a> {
    /// The spec, valid.
    pub spec: &'a Spec,
    /// What holds for the whole run.
    pub run: &'a RunRecord,
    /// Its turns, in the order they were run.
    pub samples: &'a [Sample],
}
