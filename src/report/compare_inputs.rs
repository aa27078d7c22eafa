//! What goes into a comparison of two runs: the metrics that both have, and what is not the same in them.

use indexmap::{IndexMap, IndexSet};

use super::Input;
use super::definitions::quantities;
use super::fail_if::FailIf;
use crate::measure::{Quantity, Reference, ReferenceError};
use crate::plan::facts::Facts;
use crate::plan::{Cell, Plan};
use crate::results::RunRecord;
use crate::results::merge::host_differences;

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

/// Metrics that are compared, as each side reads them.
pub(super) fn metrics(
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
    let wanted: IndexSet<String> = if options.metrics.is_empty() {
        known.keys().chain(options.fail_if.iter().map(|rule| &rule.metric)).cloned().collect()
    } else {
        options.metrics.iter().cloned().collect()
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

/// What is not the same in two runs, a sentence each.
pub(super) fn not_the_same(old: ComparedSide<'_>, new: ComparedSide<'_>) -> Vec<String> {
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
