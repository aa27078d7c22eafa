//! Two runs compared: cell by cell and metric by metric, after what is not the same in them.
//!
//! Rounds of two runs share no conditions, so they are no pairs: Welch's t on the logarithms, jointly by Holm.

use indexmap::IndexMap;
use serde::Serialize;

use super::Input;
use super::claims::CONFIDENCE;
use super::definitions::quantities;
use super::fail_if::{FailIf, FailIfView};
use super::figures::{Runs, ratio};
use crate::measure::{Better, Quantity, Reference, ReferenceError};
use crate::plan::facts::Facts;
use crate::plan::{Cell, Plan};
use crate::results::RunRecord;
use crate::results::merge::host_differences;
use crate::stats::{self, Comparison, Interval, Tested, Welch, holm, outcome};

/// One of the two runs.
#[derive(Clone, Copy, Debug)]
pub struct ComparedSide<'a> {
    /// What it is called: its path.
    pub name: &'a str,
    /// What is stored of it.
    pub input: Input<'a>,
    /// Its plan, made anew of what is stored.
    pub plan: &'a Plan,
    /// What was known of its machine.
    pub facts: &'a Facts,
}

/// What is asked for.
#[derive(Clone, Debug, Default)]
pub struct CompareOptions {
    /// Metrics; empty for those of tables and claims.
    pub metrics: Vec<String>,
    /// Margin of "same", as a share.
    pub same_within: Option<f64>,
    /// Rules for failing.
    pub fail_if: Vec<FailIf>,
    /// Whether cells that do other things are compared too.
    pub anyway: bool,
}

/// Why two runs are not compared.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CompareError {
    /// They have no cell of the same name.
    #[error("the two have no cell in common: {old} in the old, {new} in the new")]
    NoCommonCell {
        /// Cells of the old.
        old: String,
        /// Cells of the new.
        new: String,
    },
    /// Cells of the same name do other things.
    #[error(
        "under the same name something else was run in {0}, so that a ratio says nothing of the servers; `runner plan` shows what is run, --anyway compares them nevertheless"
    )]
    OtherInstructions(String),
    /// A metric is not known.
    #[error("no metric `{metric}`: {why}; the tables and claims have {known}, `runner metrics` lists all")]
    NoMetric {
        /// As written.
        metric: String,
        /// Why.
        why: String,
        /// What there is.
        known: String,
    },
    /// A metric has another unit on the other side.
    #[error("`{metric}` is in {old} in the old and in {new} in the new: the specs compute it otherwise")]
    OtherUnit {
        /// The metric.
        metric: String,
        /// Unit of the old.
        old: &'static str,
        /// Unit of the new.
        new: &'static str,
    },
    /// A rule for failing has nothing to judge.
    #[error("--fail-if: {0}")]
    Rule(String),
}

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

/// Metrics that are compared, as each side reads them.
fn metrics(
    old: ComparedSide<'_>,
    new: ComparedSide<'_>,
    options: &CompareOptions,
) -> Result<Vec<(Quantity, Quantity)>, CompareError> {
    let mut known: IndexMap<String, (Option<Quantity>, Option<Quantity>)> = IndexMap::new();
    for quantity in quantities(new.input.spec) {
        known.entry(quantity.display()).or_default().1 = Some(quantity.clone());
    }
    for quantity in quantities(old.input.spec) {
        known.entry(quantity.display()).or_default().0 = Some(quantity.clone());
    }
    let wanted: Vec<String> = if options.metrics.is_empty() {
        let rules = options.fail_if.iter().map(|rule| rule.metric.clone());
        let mut wanted: Vec<String> = known.keys().cloned().chain(rules).collect();
        let mut seen = Vec::new();
        wanted.retain(|name| {
            !seen.contains(name) && {
                seen.push(name.clone());
                true
            }
        });
        wanted
    } else {
        options.metrics.clone()
    };
    let mut out = Vec::new();
    for metric in wanted {
        let (of_old, of_new) = match known.get(&metric) {
            Some((Some(old), Some(new))) => (old.clone(), new.clone()),
            // A metric of the catalogue is read alike in both; one that is computed only in one spec, as that does.
            Some((Some(one), None) | (None, Some(one))) => (one.clone(), one.clone()),
            _ => {
                let parsed = Reference::parse(&metric).map_err(|error| CompareError::NoMetric {
                    metric: metric.clone(),
                    why: no_reference(&error),
                    known: known.keys().cloned().collect::<Vec<_>>().join(", "),
                })?;
                (Quantity::Read(parsed.clone()), Quantity::Read(parsed))
            }
        };
        if of_old.unit() != of_new.unit() {
            let (old, new) = (of_old.unit().as_str(), of_new.unit().as_str());
            return Err(CompareError::OtherUnit { metric, old, new });
        }
        out.push((of_old, of_new));
    }
    Ok(out)
}

fn no_reference(error: &ReferenceError) -> String {
    match error {
        ReferenceError::Bare => "no spec computes one of that name, and others are written WINDOW.METRIC".to_owned(),
        ReferenceError::Malformed(_) => "it is not WINDOW.METRIC{label=value}".to_owned(),
        ReferenceError::Metric(name, _) => format!("the catalogue has no `{name}`"),
        ReferenceError::Label { written, known, .. } => {
            format!(
                "it takes no label `{written}`, but {}",
                if known.is_empty() { "none".to_owned() } else { known.join(", ") }
            )
        }
    }
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

/// What is not the same in two runs, a sentence each.
fn not_the_same(old: ComparedSide<'_>, new: ComparedSide<'_>) -> Vec<String> {
    let (a, b): (&RunRecord, &RunRecord) = (old.input.run, new.input.run);
    let mut out = Vec::new();
    for (which, mine, other) in [("old", old, new), ("new", new, old)] {
        let lacks = |cell: &&Cell| !other.plan.cells.iter().any(|own| own.name == cell.name);
        let only: Vec<&str> = mine.plan.cells.iter().filter(lacks).map(|cell| cell.name.as_str()).collect();
        if !only.is_empty() {
            out.push(format!("Only in the {which}: {}.", only.join(", ")));
        }
        if mine.input.run.quick {
            out.push(format!("The {which} is a --quick run: reduced values, not for publication."));
        }
        if mine.input.run.interrupted || mine.input.run.finished.is_none() {
            out.push(format!("The {which} did not come to its end."));
        }
    }
    let mut differs = |what: &str, a: &str, b: &str| {
        if a != b {
            out.push(format!("{what}: {a} in the old, {b} in the new."));
        }
    };
    differs("Spec", &a.spec_name, &b.spec_name);
    differs("Digest of the plan", &a.digest, &b.digest);
    differs("Order", &a.order, &b.order);
    differs("Seed", &a.seed.to_string(), &b.seed.to_string());
    let unknown = |value: Option<String>| value.unwrap_or_else(|| "nothing".to_owned());
    let binary = |run: &RunRecord, node: &str| run.builds.get(node).and_then(|build| build.digest.clone());
    for (node, build) in &a.builds {
        let Some(other) = b.builds.get(node) else { continue };
        differs(&format!("PostgreSQL of {node}"), &build.version, &other.version);
        if let (Some(own), Some(other), true) = (binary(a, node), binary(b, node), build.version == other.version) {
            differs(&format!("Binary of {node} (SHA-256)"), &own, &other);
        }
    }
    for (name, tool) in &old.facts.tools {
        let other = new.facts.tools.get(name).map(crate::plan::facts::Build::version);
        differs(name, &tool.version(), &unknown(other));
    }
    let nodes = a.settings.keys().chain(b.settings.keys().filter(|node| !a.settings.contains_key(*node)));
    for node in nodes {
        let value = |run: &RunRecord, name: &str| {
            run.settings.get(node).and_then(|own| own.get(name)).map(|setting| setting.value.clone())
        };
        let of = |run: &RunRecord| -> Vec<String> {
            run.settings.get(node).into_iter().flat_map(|own| own.keys().cloned()).collect()
        };
        let mut settings = of(a);
        settings.extend(of(b));
        settings.sort();
        settings.dedup();
        for name in settings {
            differs(&format!("{node}: {name}"), &unknown(value(a, &name)), &unknown(value(b, &name)));
        }
    }
    for (key, choice) in &a.choices {
        if let Some(other) = b.choices.get(key) {
            differs(key, &choice.value, &other.value);
        }
    }
    for (what, own, other) in host_differences(&a.host, &b.host) {
        differs(&format!("Host, {what}"), &own, &other);
    }
    differs("Runner", &a.runner_version, &b.runner_version);
    out
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
