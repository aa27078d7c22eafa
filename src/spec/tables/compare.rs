//! `[compare]`: what the verdict is about.

use schemars::JsonSchema;
use serde::Deserialize;

use super::expect::Selector;
use crate::measure::Quantity;
use crate::spec::field::At;
use crate::spec::refer::{Referring, quantity};
use crate::spec::scalar::{Bound, VarValue};
use crate::spec::{LoweredCell, point_words};
use crate::text::{Code, Issue, Issues, Span};

/// Two values of an axis compared at each point of the others.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(
    deny_unknown_fields,
    default,
    expecting = "a table such as { axis = \"build\", of = \"patched\", to = \"head\", metric = \"load.tps\" }"
)]
#[schemars(rename = "Compare")]
pub(in crate::spec) struct RawCompare {
    /// Axis of the matrix, or `scenario`.
    #[schemars(required)]
    pub(in crate::spec) axis: Option<At<String>>,
    /// Its value that the verdict is about.
    #[schemars(required)]
    pub(in crate::spec) of: Option<At<VarValue>>,
    /// Its value that that is compared with.
    #[schemars(required)]
    pub(in crate::spec) to: Option<At<VarValue>>,
    /// Metric as `WINDOW.METRIC{label=value}`, or the name of a computed one.
    #[schemars(required)]
    metric: Option<At<String>>,
    /// Margin below which a change is of no interest, such as "1%": allows the verdict "same".
    same_within: Option<At<Bound>>,
    /// Confidence of all verdicts together, by Holm's method. Default 0.95.
    confidence: Option<At<f64>>,
}

/// Name of the axis that the scenarios are.
pub const SCENARIO_AXIS: &str = "scenario";

/// What is compared, resolved.
#[derive(Clone, Debug)]
pub struct Compare {
    /// Where it is written.
    pub span: Span,
    /// Axis of the matrix, or [`SCENARIO_AXIS`].
    pub axis: String,
    /// Its value that the verdict is about, as written.
    pub of: String,
    /// Its value that that is compared with.
    pub to: String,
    /// What of them.
    pub metric: Quantity,
    /// Margin of "same", as a share.
    pub same_within: Option<f64>,
    /// Confidence of all verdicts together.
    pub confidence: f64,
}

/// Confidence where the spec does not say.
const DEFAULT_CONFIDENCE: f64 = 0.95;

/// Axis and values of the two sides, as written; before anything is checked.
pub(in crate::spec) fn sides(raw: Option<&At<RawCompare>>) -> Option<(String, String, String)> {
    let raw = &raw?.value;
    let text = |value: &Option<At<VarValue>>| value.as_ref().map(|at| at.value.to_string());
    Some((raw.axis.as_ref()?.value.clone(), text(&raw.of)?, text(&raw.to)?))
}

pub(in crate::spec) fn lower(
    raw: Option<&At<RawCompare>>,
    known: &Referring<'_>,
    issues: &mut Issues,
) -> Option<Compare> {
    let at = raw?;
    let raw = &at.value;
    let before = issues.as_slice().len();
    let mut need = |missing: bool, key: &str, help: &str| {
        if missing && !known.unread.key(at.span, key) {
            issues.push(
                Issue::new(Code::MissingKey, format!("[compare] has no `{key}`"), at.span, "this one")
                    .help(format!("add {help}")),
            );
        }
    };
    need(raw.axis.is_none(), "axis", "axis = \"build\", an axis of the matrix");
    need(raw.of.is_none(), "of", "of = \"…\", the value that the verdict is about");
    need(raw.to.is_none(), "to", "to = \"…\", the value that it is compared with");
    need(raw.metric.is_none(), "metric", "metric = \"load.tps\"");
    if let Some(axis) = raw.axis.as_ref().filter(|axis| super::shown::axis(axis, known, issues)) {
        for side in [&raw.of, &raw.to].into_iter().flatten() {
            value_of_axis(&axis.value, side, known, issues);
        }
    }
    if let (Some(of), Some(to)) = (&raw.of, &raw.to)
        && of.value.to_string() == to.value.to_string()
    {
        issues.push(
            Issue::new(Code::Impossible, "[compare] compares a value with itself", of.span, "this")
                .also(to.span, "and this")
                .help("name two values; `--aa` runs both sides alike"),
        );
    }
    let metric = raw.metric.as_ref().and_then(|metric| quantity(metric, known, issues));
    let same_within = raw.same_within.as_ref().and_then(|margin| share(margin, issues));
    let confidence = raw.confidence.map_or(DEFAULT_CONFIDENCE, |at| at.value);
    if let Some(written) = raw.confidence
        && !(0.5..1.0).contains(&written.value)
    {
        let message = format!("{} is no confidence", written.value);
        issues.push(
            Issue::new(Code::WrongType, message, written.span, "not from 0.5 to below 1").help("write 0.95 or 0.99"),
        );
    }
    if issues.as_slice().len() > before {
        return None;
    }
    Some(Compare {
        span: at.span,
        axis: raw.axis.as_ref()?.value.clone(),
        of: raw.of.as_ref()?.value.to_string(),
        to: raw.to.as_ref()?.value.to_string(),
        metric: metric?,
        same_within,
        confidence,
    })
}

/// Tells a value that its axis does not have. A flag may have pinned the axis to another one: then nothing is compared.
pub(in crate::spec) fn value_of_axis(axis: &str, value: &At<VarValue>, known: &Referring<'_>, issues: &mut Issues) {
    let text = value.value.to_string();
    if axis == SCENARIO_AXIS {
        crate::spec::refer::scenario(&text, value.span, known, issues);
        return;
    }
    let Some(values) = known.axes.get(axis) else { return };
    if known.pinned.contains(axis) || values.iter().any(|own| own.to_string() == text) {
        return;
    }
    let written: Vec<String> = values.iter().map(ToString::to_string).collect();
    issues.push(
        Issue::new(Code::UnknownAxis, format!("axis `{axis}` has no value `{text}`"), value.span, "not in the matrix")
            .suggest(&text, written.iter().map(String::as_str)),
    );
}

/// A margin of a ratio: "1%", "± 1%" or 0.01.
pub(in crate::spec) fn share(margin: &At<Bound>, issues: &mut Issues) -> Option<f64> {
    let value = match &margin.value {
        Bound::Number(share) => Some(*share),
        Bound::Written(text) => {
            let text = text.trim().trim_start_matches(['±']).trim();
            text.strip_suffix('%').and_then(|number| number.trim().parse::<f64>().ok()).map(|percent| percent / 100.0)
        }
        Bound::Pair(_) => None,
    };
    let value = value.filter(|share| *share > 0.0 && *share < 1.0);
    if value.is_none() {
        issues.push(
            Issue::new(Code::WrongType, "this is no margin of a ratio", margin.span, "not a margin")
                .help("write \"1%\" or 0.01"),
        );
    }
    value
}

/// Two cells side by side: alike but for the axis that is compared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Comparison {
    /// Where they stand: the values of the other axes; the scenario where there are none.
    pub name: String,
    /// Index of the cell that the verdict is about.
    pub of: usize,
    /// Index of the cell that it is compared with.
    pub to: usize,
}

/// The comparisons among cells, in their order.
pub(in crate::spec) fn comparisons(compare: &Compare, cells: &[LoweredCell]) -> Vec<Comparison> {
    let side = |value: &str| {
        if compare.axis == SCENARIO_AXIS {
            Selector { scenario: Some(value.to_owned()), axes: Vec::new() }
        } else {
            Selector { scenario: None, axes: vec![(compare.axis.clone(), value.to_owned())] }
        }
    };
    let (of, to) = (side(&compare.of), side(&compare.to));
    let several = cells.iter().any(|cell| cell.scenario.name != cells[0].scenario.name);
    let mut out = Vec::new();
    for (index, cell) in cells.iter().enumerate().filter(|(_, cell)| of.fits(cell)) {
        let Some(other) = to.beside(cell, cells) else { continue };
        let Some(to) = cells.iter().position(|cell| cell.name == other.name) else { continue };
        let point: Vec<_> = cell.point.iter().filter(|(axis, _)| *axis != compare.axis).cloned().collect();
        let mut parts = Vec::new();
        if compare.axis != SCENARIO_AXIS && (several || point.is_empty()) {
            parts.push(cell.scenario.title.clone());
        }
        parts.push(point_words(&point));
        parts.retain(|part| !part.is_empty());
        let name = if parts.is_empty() { cell.title.clone() } else { parts.join(", ") };
        out.push(Comparison { name, of: index, to });
    }
    out
}
