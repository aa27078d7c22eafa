//! Two runs compared: cell by cell and metric by metric, after what is not the same in them.
//!
//! Rounds of two runs share no conditions, so they are no pairs: Welch's t on the logarithms, jointly by Holm.

use serde::Serialize;

use super::claims::CONFIDENCE;
use super::compare_inputs::{CompareError, CompareOptions, ComparedSide, metrics, not_the_same};
use super::fail_if::FailIfView;
use super::figures::{Runs, ratio};
use crate::measure::{Better, Quantity};
use crate::plan::Cell;
use crate::stats::{self, Comparison, Interval, Tested, Welch, holm, outcome};

/// A comparison, decided.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CompareView {
    /// The old run.
    pub old: String,
    /// The new run.
    pub new: String,
    /// What is not the same in the two, a sentence each.
    pub not_the_same: Vec<String>,
    /// By metric and cell.
    pub rows: Vec<ComparedRow>,
    /// Margin of "same".
    pub same_within: Option<f64>,
    /// Rules for failing, held against each row.
    pub fail_if: Vec<FailIfView>,
}

/// One cell and metric.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ComparedRow {
    /// The metric, as a spec writes it.
    pub metric: String,
    /// Its unit.
    pub unit: &'static str,
    /// The cell.
    pub cell: String,
    /// Figures of the old, a round each.
    pub old: Vec<f64>,
    /// Figures of the new.
    pub new: Vec<f64>,
    /// The ratio of the geometric means, new to old.
    pub ratio: Option<f64>,
    /// Its interval by itself.
    pub interval: Option<Interval>,
    /// The smallest joint level at which its verdict would be the same decision.
    pub adjusted_p: Option<f64>,
    /// How it came out, jointly with all others.
    pub verdict: Option<Comparison>,
    /// Why there is no ratio.
    pub absent: Option<String>,
    #[serde(skip)]
    pub(super) digits: usize,
}

impl CompareView {
    /// Compares.
    pub fn of(old: ComparedSide<'_>, new: ComparedSide<'_>, options: &CompareOptions) -> Result<Self, CompareError> {
        let common: Vec<(&Cell, &Cell)> = (new.plan.cells.iter())
            .filter_map(|cell| Some((old.plan.cells.iter().find(|other| other.name == cell.name)?, cell)))
            .collect();
        if common.is_empty() {
            let (old, new) = (names(&old.plan.cells), names(&new.plan.cells));
            return Err(CompareError::NoCommonCell { old, new });
        }
        let other: Vec<String> = common.iter().filter(|(a, b)| !same_work(a, b)).map(|(a, _)| a.name.clone()).collect();
        if !other.is_empty() && !options.anyway {
            return Err(CompareError::OtherInstructions(other.join(", ")));
        }
        let mut not_the_same = not_the_same(old, new);
        if !other.is_empty() {
            not_the_same.insert(0, format!("Something else was run in {}.", other.join(", ")));
        }
        let metrics = metrics(old, new, options)?;
        let mut rows = Vec::new();
        for (of_old, of_new) in &metrics {
            let chosen = options.metrics.contains(&of_new.display());
            rows.extend(common.iter().filter_map(|(cell, _)| row(&cell.name, (old, of_old), (new, of_new), chosen)));
        }
        let welch: Vec<Option<Welch>> = rows.iter_mut().map(estimate).collect();
        judge(&mut rows, &welch, &metrics, options.same_within);
        let mut fail_if = Vec::new();
        for rule in &options.fail_if {
            let own: Vec<&ComparedRow> = rows.iter().filter(|row| row.metric == rule.metric).collect();
            if own.is_empty() {
                let known: Vec<String> = metrics.iter().map(|(metric, _)| metric.display()).collect();
                let text = format!("`{}`: no row has `{}`; there are {}", rule.text, rule.metric, known.join(", "));
                return Err(CompareError::Rule(text));
            }
            for row in own {
                fail_if.push(rule.judge(row, better(&metrics, &row.metric)).map_err(CompareError::Rule)?);
            }
        }
        let (old, new) = (old.name.to_owned(), new.name.to_owned());
        Ok(Self { old, new, not_the_same, rows, same_within: options.same_within, fail_if })
    }
}

fn names(cells: &[Cell]) -> String {
    cells.iter().map(|cell| cell.name.as_str()).collect::<Vec<_>>().join(", ")
}

/// Whether two cells do the same on their servers.
fn same_work(a: &Cell, b: &Cell) -> bool {
    // Instructions may depend on the major version.
    let with_instructions = a.majors() == b.majors();
    a.digest(with_instructions) == b.digest(with_instructions)
}

/// One row; none where neither side's cell has such a window and nobody asked for it.
fn row(
    cell: &str,
    (old, of_old): (ComparedSide<'_>, &Quantity),
    (new, of_new): (ComparedSide<'_>, &Quantity),
    chosen: bool,
) -> Option<ComparedRow> {
    let mut absent = None;
    let mut values = |side: ComparedSide<'_>, quantity: &Quantity, which: &str| -> Vec<f64> {
        let runs = Runs { spec: side.input.spec, samples: side.input.samples };
        let rounds: Vec<Result<f64, _>> =
            runs.rounds(cell).values().map(|slices| runs.read_round(slices, quantity)).collect();
        if rounds.is_empty() {
            absent.get_or_insert_with(|| format!("no valid run in the {which}"));
        }
        rounds
            .into_iter()
            .filter_map(|value| {
                value.map_err(|why| absent.get_or_insert_with(|| format!("{which}: {why}")).clone()).ok()
            })
            .collect()
    };
    let (old, new) = (values(old, of_old, "old"), values(new, of_new, "new"));
    if old.is_empty() && new.is_empty() && !chosen {
        return None;
    }
    let mut row = ComparedRow {
        metric: of_new.display(),
        unit: of_new.unit().as_str(),
        cell: cell.to_owned(),
        absent: absent.filter(|_| old.is_empty() || new.is_empty()),
        digits: super::format::decimals(of_new, false, std::iter::empty()),
        old,
        new,
        ..ComparedRow::default()
    };
    let least = |values: &[f64]| values.iter().copied().reduce(f64::min);
    if let (Some(a), Some(b), None) = (least(&row.new), least(&row.old), &row.absent)
        && let Err(why) = ratio(a, b, of_new)
    {
        row.absent = Some(why.to_string());
    }
    Some(row)
}

/// Ratio and interval of a row.
fn estimate(row: &mut ComparedRow) -> Option<Welch> {
    if row.absent.is_some() {
        return None;
    }
    match Welch::of(&row.old, &row.new) {
        Ok(welch) => {
            row.ratio = Some(welch.ratio());
            row.interval = welch.interval(CONFIDENCE);
            Some(welch)
        }
        Err(why) => {
            row.absent = Some(why.to_string());
            None
        }
    }
}

fn better(metrics: &[(Quantity, Quantity)], metric: &str) -> Better {
    metrics.iter().find(|(_, own)| own.display() == metric).map_or(Better::Neither, |(_, own)| own.better())
}

/// Verdicts of all rows together.
fn judge(rows: &mut [ComparedRow], welch: &[Option<Welch>], metrics: &[(Quantity, Quantity)], margin: Option<f64>) {
    let p = |own: &Welch| {
        let same = margin.and_then(|margin| own.p_beyond(margin));
        Some(Tested { different: own.p_no_difference()?, same })
    };
    let tested: Vec<(usize, Tested)> =
        welch.iter().enumerate().filter_map(|(index, own)| Some((index, own.as_ref().and_then(p)?))).collect();
    for row in rows.iter_mut().filter(|row| row.ratio.is_some()) {
        row.verdict = Some(Comparison::CannotTell);
    }
    let of_cells: Vec<Tested> = tested.iter().map(|(_, own)| *own).collect();
    for ((index, _), stepped) in tested.into_iter().zip(holm(&of_cells, 1.0 - CONFIDENCE)) {
        let row = &mut rows[index];
        row.adjusted_p = Some(stepped.adjusted);
        let direction = match better(metrics, &row.metric) {
            Better::Higher => Some(stats::Better::Higher),
            Better::Lower => Some(stats::Better::Lower),
            Better::Neither => None,
        };
        row.verdict = Some(outcome(&stepped, row.ratio.is_some_and(|ratio| ratio > 1.0), direction));
    }
}

/// What stands for a verdict.
pub(super) fn verdict_text(verdict: Comparison) -> &'static str {
    match verdict {
        stats::Comparison::Better => "better",
        stats::Comparison::Worse => "worse",
        stats::Comparison::Higher => "higher",
        stats::Comparison::Lower => "lower",
        stats::Comparison::Same => "same",
        stats::Comparison::CannotTell => "cannot tell",
    }
}
