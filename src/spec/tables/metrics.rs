//! `[metrics.NAME]`: metrics that the spec computes from two of the catalogue.

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::measure::computed::operator_in;
use crate::measure::{Better, Computed};
use crate::spec::field::{At, Named};
use crate::spec::refer::{Referring, reference};
use crate::spec::scope::is_name;
use crate::text::{Code, Issue, Issues};

/// A metric that is computed in each run, before any median, and referred to by its bare name.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(
    deny_unknown_fields,
    default,
    expecting = "a table such as { value = \"load.transactions / total.seconds\", better = \"higher\" }"
)]
#[schemars(rename = "Metric")]
pub(in crate::spec) struct RawMetric {
    /// One operator (+, -, * or /) between two metrics, such as "load.transactions / total.seconds".
    #[schemars(required)]
    value: Option<At<String>>,
    /// Which way is good: `higher`, `lower` or `neither` (the default).
    better: Option<At<RawBetter>>,
}

/// Which way is good, as written.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum RawBetter {
    Higher,
    Lower,
    Neither,
}

/// Computed metrics by name; `None` for one that is wrong and told.
pub(in crate::spec) fn lower(
    raw: &Named<RawMetric>,
    known: &Referring<'_>,
    issues: &mut Issues,
) -> IndexMap<String, Option<Computed>> {
    raw.iter().map(|(name, at)| (name.value.clone(), computed(name, at, known, issues))).collect()
}

fn computed(name: &At<String>, at: &At<RawMetric>, known: &Referring<'_>, issues: &mut Issues) -> Option<Computed> {
    if !is_name(&name.value) {
        issues.push(
            Issue::new(Code::BadName, format!("`{}` is no name", name.value), name.span, "not a name")
                .help("write a letter, then letters, digits and `_`, all in lower case"),
        );
    }
    let raw = &at.value;
    let Some(value) = &raw.value else {
        if !known.unread.key(at.span, "value") && !known.unread.covers(&["metrics", &name.value]) {
            issues.push(
                Issue::new(Code::MissingKey, format!("metric `{}` has no `value`", name.value), name.span, "this one")
                    .help("add value = \"load.transactions / total.seconds\""),
            );
        }
        return None;
    };
    let text = value.value.as_str();
    let Some((middle, operator)) = operator_in(text) else {
        issues.push(
            Issue::new(Code::UnknownMetric, format!("`{text}` computes nothing"), value.span, "no operator")
                .help("write one of +, -, * and / between two metrics, such as \"load.transactions / total.seconds\""),
        );
        return None;
    };
    let trimmed = |from: usize, to: usize| {
        let part = &text[from..to];
        let start = from + part.len() - part.trim_start().len();
        start..(start + part.trim().len())
    };
    let left = reference(value, trimmed(0, middle), known, issues);
    let right = reference(value, trimmed(middle + 1, text.len()), known, issues);
    let (left, right) = (left?, right?);
    let Some(unit) = operator.unit(left.metric.unit, right.metric.unit) else {
        let message = format!("`{text}` mixes {} and {}", left.metric.unit.as_str(), right.metric.unit.as_str());
        issues.push(
            Issue::new(Code::Impossible, message, value.span, "unlike units")
                .help("add and subtract metrics of one unit; divide or multiply others"),
        );
        return None;
    };
    let better = match raw.better.as_ref().map(|better| better.value) {
        Some(RawBetter::Higher) => Better::Higher,
        Some(RawBetter::Lower) => Better::Lower,
        Some(RawBetter::Neither) | None => Better::Neither,
    };
    Some(Computed { name: name.value.clone(), left, operator, right, unit, better })
}
