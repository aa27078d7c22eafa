//! `[[expect]]`: claims with their bounds.

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, de};

use super::compare::{SCENARIO_AXIS, value_of_axis};
use crate::measure::{Quantity, Unit};
use crate::spec::LoweredCell;
use crate::spec::field::{At, Later};
use crate::spec::refer::{Referring, block, quantity, scenario};
use crate::spec::scalar::{Bound, VarValue};
use crate::spec::scope::not_yet;
use crate::text::quantity::{NotAQuantity, parse_duration};
use crate::text::{Code, Issue, Issues, Span};

/// A claim, judged after the runs.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default, expecting = "a table with `claim` and one of `ratio`, `difference` and `value`")]
#[schemars(rename = "Expect")]
pub(in crate::spec) struct RawExpect {
    /// The claim in words.
    pub(in crate::spec) claim: Option<At<String>>,
    /// Ratio of a metric between two scenarios, round by round.
    pub(in crate::spec) ratio: Option<At<RawStatistic>>,
    /// Difference of a metric between two scenarios, round by round.
    pub(in crate::spec) difference: Option<At<RawStatistic>>,
    /// A metric of one scenario.
    pub(in crate::spec) value: Option<At<RawStatistic>>,
    /// The published figure, shown beside ours.
    pub(in crate::spec) published: Option<At<Bound>>,
    /// Block of the matrix that it is claimed of; default every cell that has its scenarios.
    pub(in crate::spec) matrix: Option<At<String>>,
    #[schemars(skip)]
    pub(in crate::spec) slope: Option<At<Later>>,
}

/// What is claimed, with its bounds.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(
    deny_unknown_fields,
    default,
    expecting = "a table such as { metric = \"drain.seconds\", of = \"text\", to = \"binary\", at_least = 2 }"
)]
#[schemars(rename = "Statistic")]
pub(in crate::spec) struct RawStatistic {
    /// Metric as `WINDOW.METRIC{label=value}`, or the name of a computed one.
    metric: Option<At<String>>,
    /// What the claim is about: a scenario, or values of axes such as { build = "patched" }.
    of: Option<At<RawCell>>,
    /// What it is compared with, likewise; at the same values of all other axes.
    to: Option<At<RawCell>>,
    /// Lower bound.
    at_least: Option<At<Bound>>,
    /// Upper bound.
    at_most: Option<At<Bound>>,
    /// Margin around 1 (ratio) or 0 (difference), or a pair [low, high].
    within: Option<At<Bound>>,
}

/// A scenario, or values of axes (and of `scenario`).
#[derive(Debug)]
pub(in crate::spec) enum RawCell {
    Scenario(String),
    Axes(IndexMap<At<String>, At<VarValue>>),
}

impl<'de> Deserialize<'de> for RawCell {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl<'de> de::Visitor<'de> for Visitor {
            type Value = RawCell;
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a scenario's name in quotes, or values of axes such as { build = \"patched\" }")
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<RawCell, E> {
                Ok(RawCell::Scenario(text.to_owned()))
            }
            fn visit_map<A: de::MapAccess<'de>>(self, map: A) -> Result<RawCell, A::Error> {
                IndexMap::deserialize(de::value::MapAccessDeserializer::new(map)).map(RawCell::Axes)
            }
        }
        deserializer.deserialize_any(Visitor)
    }
}

impl JsonSchema for RawCell {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Cell".into()
    }
    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "anyOf": [
            { "type": "string" },
            { "type": "object", "additionalProperties": { "type": ["string", "number", "boolean"] } }
        ] })
    }
}

/// Which cells are meant.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selector {
    /// Their scenario; `None` for any.
    pub scenario: Option<String>,
    /// Values of axes, as written.
    pub axes: Vec<(String, String)>,
}

impl Selector {
    /// Whether a cell is meant.
    pub fn fits(&self, cell: &LoweredCell) -> bool {
        self.scenario.as_ref().is_none_or(|scenario| *scenario == cell.scenario.name)
            && self.axes.iter().all(|(axis, value)| cell.value(axis).is_some_and(|own| own.to_string() == *value))
    }

    /// The cell that stands on the other side of `of`: of this selector, and else at the same point.
    pub fn beside<'c>(&self, of: &LoweredCell, cells: &'c [LoweredCell]) -> Option<&'c LoweredCell> {
        let scenario = self.scenario.as_ref().unwrap_or(&of.scenario.name);
        let same = |(axis, value): &(String, VarValue)| match self.axes.iter().find(|(own, _)| own == axis) {
            Some((_, wanted)) => *wanted == value.to_string(),
            None => of.value(axis).is_none_or(|own| own == value),
        };
        cells.iter().find(|cell| cell.scenario.name == *scenario && cell.point.iter().all(same) && self.fits(cell))
    }
}

/// What is claimed about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Statistic {
    /// Of one scenario over another.
    Ratio,
    /// Of one scenario less another.
    Difference,
    /// Of one scenario alone.
    Value,
}

/// A claim, resolved.
#[derive(Clone, Debug)]
pub struct Claim {
    /// In words.
    pub claim: String,
    /// Where the words stand.
    pub span: Span,
    /// What is claimed about.
    pub statistic: Statistic,
    /// What is claimed about it.
    pub metric: Quantity,
    /// Cells that it is about.
    pub of: Selector,
    /// What each is compared with; `None` for a value.
    pub to: Option<Selector>,
    /// Block of the matrix that it is claimed of.
    pub matrix: Option<String>,
    /// Lower bound, in the metric's unit (a ratio has none).
    pub at_least: Option<f64>,
    /// Upper bound, likewise.
    pub at_most: Option<f64>,
    /// Published figure, likewise.
    pub published: Option<f64>,
}

pub(in crate::spec) fn lower(raw: &[At<RawExpect>], known: &Referring<'_>, issues: &mut Issues) -> Vec<Claim> {
    raw.iter().filter_map(|at| claim(at, known, issues)).collect()
}

fn claim(at: &At<RawExpect>, known: &Referring<'_>, issues: &mut Issues) -> Option<Claim> {
    let raw = &at.value;
    let Some(words) = &raw.claim else {
        if known.unread.key(at.span, "claim") {
            return None;
        }
        issues.push(
            Issue::new(Code::MissingKey, "an expectation has no `claim`", at.span, "this one")
                .help("add claim = \"…\""),
        );
        return None;
    };
    if let Some(slope) = &raw.slope {
        issues.push(not_yet("slope", "links with delay", slope.span));
        return None;
    }
    let matrix = raw.matrix.as_ref().and_then(|name| block(name, known, issues));
    let kinds = [
        ("ratio", Statistic::Ratio, &raw.ratio),
        ("difference", Statistic::Difference, &raw.difference),
        ("value", Statistic::Value, &raw.value),
    ];
    let given: Vec<_> =
        kinds.iter().filter_map(|(key, kind, field)| field.as_ref().map(|field| (*key, *kind, field))).collect();
    let (key, statistic, table) = match given.as_slice() {
        [one] => *one,
        [] if kinds.iter().any(|(key, ..)| known.unread.key(at.span, key)) => return None,
        [] => {
            issues.push(
                Issue::new(Code::Neither, "an expectation says nothing to judge", words.span, "this one")
                    .help("add exactly one of `ratio`, `difference` and `value`"),
            );
            return None;
        }
        [(_, _, a), (_, _, b), ..] => {
            issues.push(
                Issue::new(Code::Both, "an expectation judges two things", a.span, "this")
                    .also(b.span, "and this")
                    .help("make two expectations of it"),
            );
            return None;
        }
    };
    let raw_statistic = &table.value;
    let need = |missing: &str, issues: &mut Issues| {
        if known.unread.key(table.span, missing) {
            return;
        }
        issues.push(
            Issue::new(Code::MissingKey, format!("`{key}` has no `{missing}`"), table.span, "this one")
                .help(format!("add `{missing} = …`")),
        );
    };
    let metric = match &raw_statistic.metric {
        Some(written) => quantity(written, known, issues),
        None => {
            need("metric", issues);
            None
        }
    };
    let cell = |field: &Option<At<RawCell>>, issues: &mut Issues| match field.as_ref().map(|at| (&at.value, at.span)) {
        None => None,
        Some((RawCell::Axes(values), _)) => selector(values, known, issues),
        Some((RawCell::Scenario(name), span)) => {
            scenario(name, span, known, issues).map(|name| Selector { scenario: Some(name), axes: Vec::new() })
        }
    };
    if raw_statistic.of.is_none() {
        need("of", issues);
    }
    let of = cell(&raw_statistic.of, issues);
    let to = cell(&raw_statistic.to, issues);
    match (statistic, &raw_statistic.to) {
        (Statistic::Value, Some(extra)) => issues.push(
            Issue::new(Code::Impossible, "a `value` is compared with nothing", extra.span, "not here")
                .help("use `ratio` or `difference`"),
        ),
        (Statistic::Ratio | Statistic::Difference, None) => need("to", issues),
        _ => {}
    }
    // What a bound may be depends on the metric's unit; whether there is one does not.
    let unread = ["at_least", "at_most", "within"].iter().any(|key| known.unread.key(table.span, key));
    if !unread && raw_statistic.within.is_none() && raw_statistic.at_least.is_none() && raw_statistic.at_most.is_none()
    {
        issues.push(
            Issue::new(Code::MissingKey, format!("`{key}` has no bound"), table.span, "true of anything")
                .help("add `at_least`, `at_most` or `within`"),
        );
    }
    let metric = metric.filter(|_| !unread)?;
    let unit = metric.unit();
    let (at_least, at_most) = bounds(raw_statistic, statistic, unit, issues)?;
    let published = raw
        .published
        .as_ref()
        .filter(|_| !known.unread.key(at.span, "published"))
        .and_then(|bound| single(bound, statistic, unit, issues));
    if statistic != Statistic::Value && to.is_none() {
        return None;
    }
    Some(Claim {
        claim: words.value.clone(),
        span: words.span,
        statistic,
        metric,
        of: of?,
        to,
        matrix,
        at_least,
        at_most,
        published,
    })
}

/// Values of axes, each known; none if one is not.
fn selector(
    values: &IndexMap<At<String>, At<VarValue>>,
    known: &Referring<'_>,
    issues: &mut Issues,
) -> Option<Selector> {
    let before = issues.as_slice().len();
    let mut out = Selector::default();
    for (axis, value) in values {
        if !super::shown::axis(axis, known, issues) {
            continue;
        }
        value_of_axis(&axis.value, value, known, issues);
        if axis.value == SCENARIO_AXIS {
            out.scenario = Some(value.value.to_string());
        } else {
            out.axes.push((axis.value.clone(), value.value.to_string()));
        }
    }
    (issues.as_slice().len() == before).then_some(out)
}

fn bounds(
    raw: &RawStatistic,
    statistic: Statistic,
    unit: Unit,
    issues: &mut Issues,
) -> Option<(Option<f64>, Option<f64>)> {
    if let Some(within) = &raw.within {
        if let Some(other) = raw.at_least.as_ref().or(raw.at_most.as_ref()) {
            issues.push(
                Issue::new(Code::Both, "`within` is both bounds already", within.span, "this")
                    .also(other.span, "and this")
                    .help("keep `within`, or `at_least` and `at_most`"),
            );
            return None;
        }
        return match &within.value {
            Bound::Pair(pair) => match pair.as_slice() {
                [low, high] if low <= high => Some((Some(*low), Some(*high))),
                _ => {
                    issues.push(
                        Issue::new(Code::WrongType, "`within` is a pair [low, high]", within.span, "not a pair")
                            .help("write [0.8, 1.2]"),
                    );
                    None
                }
            },
            _ => {
                let margin = margin(within, statistic, unit, issues)?;
                match statistic {
                    Statistic::Ratio => Some((Some(1.0 - margin), Some(1.0 + margin))),
                    Statistic::Difference => Some((Some(-margin), Some(margin))),
                    Statistic::Value => {
                        issues.push(
                            Issue::new(
                                Code::Impossible,
                                "a `value` has no middle to be within",
                                within.span,
                                "a margin around what?",
                            )
                            .help("write a pair [low, high]"),
                        );
                        None
                    }
                }
            }
        };
    }
    if raw.at_least.is_none() && raw.at_most.is_none() {
        return None;
    }
    let mut one = |bound: &Option<At<Bound>>| match bound {
        None => Some(None),
        Some(bound) => single(bound, statistic, unit, issues).map(Some),
    };
    Some((one(&raw.at_least)?, one(&raw.at_most)?))
}

/// A margin: "1%" of a ratio, a number, or a quantity of a difference.
fn margin(within: &At<Bound>, statistic: Statistic, unit: Unit, issues: &mut Issues) -> Option<f64> {
    if let (Bound::Written(text), Statistic::Ratio) = (&within.value, statistic) {
        let percent = text.trim().strip_suffix('%').and_then(|number| number.trim().parse::<f64>().ok());
        return percent.map(|percent| percent / 100.0).or_else(|| {
            issues.push(
                Issue::new(Code::WrongType, format!("`{text}` is no margin of a ratio"), within.span, "not a margin")
                    .help("write \"1%\" or 0.01"),
            );
            None
        });
    }
    single(within, statistic, unit, issues)
}

/// One bound in the metric's unit.
fn single(bound: &At<Bound>, statistic: Statistic, unit: Unit, issues: &mut Issues) -> Option<f64> {
    match &bound.value {
        Bound::Number(number) => Some(*number),
        Bound::Pair(_) => {
            issues.push(
                Issue::new(Code::WrongType, "a pair is no single bound", bound.span, "a pair").help("use `within`"),
            );
            None
        }
        Bound::Written(text) => {
            let seconds = parse_duration(text).map(|length| length.as_secs_f64());
            let value = match (statistic, unit, seconds) {
                (Statistic::Ratio, _, _) => Err("write a number: a ratio has no unit".to_owned()),
                (_, Unit::Seconds, Ok(seconds)) => Ok(seconds),
                (_, Unit::Milliseconds, Ok(seconds)) => Ok(seconds * 1e3),
                (_, Unit::Seconds | Unit::Milliseconds, Err(NotAQuantity::UnitMissing)) => {
                    Err(format!("add its unit, or write a number of {}", unit.as_str()))
                }
                _ => Err(format!("write a number in the metric's unit ({})", unit.as_str())),
            };
            value
                .map_err(|help| {
                    issues.push(
                        Issue::new(Code::WrongType, format!("`{text}` is no bound here"), bound.span, "not a bound")
                            .help(help),
                    );
                })
                .ok()
        }
    }
}
