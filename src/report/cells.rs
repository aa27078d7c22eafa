//! Cells of a table, and figures of a column put into words.

use serde::Serialize;

use super::format::{self, as_written, figure, range, times};
use crate::measure::{Better, Unit};
use crate::spec::{As, ColumnSpec};
use crate::stats;

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

/// A figure alone.
pub(super) fn plain_cell(value: f64, unit: Unit, digits: usize) -> CellView {
    CellView {
        text: figure(value, unit, digits),
        gloss: format::gloss(value, unit),
        value: Some(value),
        ..CellView::default()
    }
}

/// Lowest and highest; one run has neither.
pub(super) fn spread_text(spread: &stats::Summary, unit: Unit, digits: usize) -> Option<String> {
    let end = |value| figure(value, unit, digits);
    (spread.n > 1).then(|| range(&end(spread.min), &end(spread.max)))
}

/// Decimals of a column.
pub(super) fn digits(column: &ColumnSpec, of_runs: bool) -> usize {
    format::decimals(&column.value, of_runs, column.published.values().copied())
}

/// `2.25x`, or `4.14x slower` by the metric's better direction.
pub(super) fn ratio_text(ratio: f64, column: &ColumnSpec) -> String {
    let worse_is_more = match column.value.better() {
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

/// A bound or a published figure in a sentence, with its unit and the digits that the spec gives.
pub(super) fn quoted(value: f64, unit: Unit, is_ratio: bool) -> String {
    match unit {
        _ if is_ratio => format!("{}x", as_written(value)),
        Unit::Seconds => format!("{} s", as_written(value)),
        Unit::Milliseconds => format!("{} ms", as_written(value)),
        Unit::PerSecond => format!("{}/s", as_written(value)),
        Unit::Fraction => format!("{} %", as_written(value * 100.0)),
        Unit::Bytes => format!("{} bytes", format::thousands(value)),
        Unit::Count | Unit::Number => as_written(value),
    }
}

#[cfg(test)]
mod tests {
    use indexmap::IndexMap;

    use super::*;
    use crate::measure::{Quantity, Reference};

    fn column(metric: &str, written_as: As) -> ColumnSpec {
        ColumnSpec {
            title: "x".to_owned(),
            value: Quantity::Read(Reference::parse(metric).expect("in the catalogue")),
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
