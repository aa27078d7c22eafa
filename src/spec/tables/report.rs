//! `[report]`: the tables of the report with published figures beside ours.

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, de};

use crate::measure::Quantity;
use crate::spec::field::{At, Later};
use crate::spec::refer::{Referring, quantity, scenario};
use crate::spec::scope::not_yet;
use crate::text::{Code, Issue, Issues};

/// What the report shows.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default, expecting = "a table with `tables`")]
#[schemars(rename = "Report")]
pub(in crate::spec) struct RawReport {
    /// Tables in order.
    pub(in crate::spec) tables: Vec<At<RawTable>>,
    #[schemars(skip)]
    pub(in crate::spec) charts: Option<At<Later>>,
}

/// A table of the report.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default, expecting = "a table with `title`, `each` and `columns`")]
#[schemars(rename = "ReportTable")]
pub(in crate::spec) struct RawTable {
    /// Heading.
    title: Option<At<String>>,
    /// A line below the heading.
    note: Option<At<String>>,
    /// What a row is: `scenario` (medians over the rounds) or `run`.
    each: Option<At<Each>>,
    /// Scenarios that are shown; default all.
    scenarios: Option<At<Vec<At<String>>>>,
    /// Columns in order.
    columns: Option<At<RawColumns>>,
    #[schemars(skip)]
    rows: Option<At<Later>>,
    #[schemars(skip)]
    split: Option<At<Later>>,
    #[schemars(skip)]
    value: Option<At<Later>>,
    #[schemars(skip)]
    verdict: Option<At<Later>>,
    #[schemars(skip)]
    matrix: Option<At<Later>>,
    #[schemars(skip)]
    published: Option<At<Later>>,
}

/// What a row of a table is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Each {
    /// A scenario, with medians over its valid runs.
    Scenario,
    /// A run.
    Run,
}

/// Columns one by one; an axis comes with the matrix.
#[derive(Debug)]
pub(in crate::spec) enum RawColumns {
    Axis,
    Listed(Vec<At<RawColumn>>),
}

impl<'de> Deserialize<'de> for RawColumns {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl<'de> de::Visitor<'de> for Visitor {
            type Value = RawColumns;
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a list of columns such as [{ title = \"TPS\", value = \"load.tps\" }]")
            }
            fn visit_str<E: de::Error>(self, _: &str) -> Result<RawColumns, E> {
                Ok(RawColumns::Axis)
            }
            fn visit_seq<A: de::SeqAccess<'de>>(self, seq: A) -> Result<RawColumns, A::Error> {
                Vec::deserialize(de::value::SeqAccessDeserializer::new(seq)).map(RawColumns::Listed)
            }
        }
        deserializer.deserialize_any(Visitor)
    }
}

impl JsonSchema for RawColumns {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Columns".into()
    }
    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let column = generator.subschema_for::<RawColumn>();
        schemars::json_schema!({ "type": "array", "items": column })
    }
}

/// A column.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default, expecting = "a table such as { title = \"TPS\", value = \"load.tps\" }")]
#[schemars(rename = "Column")]
pub(in crate::spec) struct RawColumn {
    /// Heading.
    title: Option<At<String>>,
    /// Metric as `WINDOW.METRIC{label=value}`, or the name of a computed one.
    value: Option<At<String>>,
    /// Scenario whose median each is divided by: a ratio of medians.
    relative_to: Option<At<String>>,
    /// How a ratio is written: `times` (2.25x, the default) or `faster_slower`.
    r#as: Option<At<As>>,
    /// Published figures by scenario, in the metric's unit.
    published: IndexMap<At<String>, At<f64>>,
    #[schemars(skip)]
    stat: Option<At<Later>>,
    #[schemars(skip)]
    over: Option<At<Later>>,
}

/// How a ratio is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum As {
    /// As a factor, `2.25x`.
    #[default]
    Times,
    /// In words, `4.1x slower`, by the metric's better direction.
    FasterSlower,
}

/// A table, resolved.
#[derive(Clone, Debug)]
pub struct TableSpec {
    /// Heading.
    pub title: String,
    /// A line below it.
    pub note: Option<String>,
    /// What a row is.
    pub each: Each,
    /// Scenarios that are shown, in the spec's order.
    pub scenarios: Vec<String>,
    /// Columns.
    pub columns: Vec<ColumnSpec>,
}

/// A column, resolved.
#[derive(Clone, Debug)]
pub struct ColumnSpec {
    /// Heading.
    pub title: String,
    /// Metric.
    pub value: Quantity,
    /// Scenario that each is divided by.
    pub relative_to: Option<String>,
    /// How a ratio is written.
    pub written_as: As,
    /// Published figures by scenario.
    pub published: IndexMap<String, f64>,
}

pub(in crate::spec) fn lower(
    raw: Option<&At<RawReport>>,
    known: &Referring<'_>,
    issues: &mut Issues,
) -> Vec<TableSpec> {
    let Some(raw) = raw else { return Vec::new() };
    if let Some(charts) = &raw.value.charts {
        issues.push(not_yet("charts", "charts", charts.span));
    }
    raw.value.tables.iter().filter_map(|at| table(at, known, issues)).collect()
}

fn table(at: &At<RawTable>, known: &Referring<'_>, issues: &mut Issues) -> Option<TableSpec> {
    let raw = &at.value;
    let later = [
        ("rows", &raw.rows),
        ("split", &raw.split),
        ("value", &raw.value),
        ("verdict", &raw.verdict),
        ("matrix", &raw.matrix),
        ("published", &raw.published),
    ];
    if let Some((key, field)) = later.iter().find_map(|(key, field)| field.as_ref().map(|field| (key, field))) {
        issues.push(not_yet(key, "the matrix", field.span));
        return None;
    }
    let missing = |key: &str, issues: &mut Issues| {
        if known.unread.key(at.span, key) {
            return;
        }
        issues.push(
            Issue::new(Code::MissingKey, format!("a report table has no `{key}`"), at.span, "this one")
                .help(format!("add `{key} = …`")),
        );
    };
    if raw.title.is_none() {
        missing("title", issues);
    }
    let scenarios = match &raw.scenarios {
        None => known.scenarios.iter().map(|name| (*name).to_owned()).collect(),
        Some(list) => list.value.iter().filter_map(|name| scenario(&name.value, name.span, known, issues)).collect(),
    };
    let columns = match raw.columns.as_ref().map(|at| (&at.value, at.span)) {
        None => {
            missing("columns", issues);
            return None;
        }
        Some((RawColumns::Axis, span)) => {
            issues.push(not_yet("columns by an axis", "the matrix", span));
            return None;
        }
        Some((RawColumns::Listed(list), _)) => list.iter().filter_map(|at| column(at, known, issues)).collect(),
    };
    Some(TableSpec {
        title: raw.title.as_ref()?.value.clone(),
        note: raw.note.as_ref().map(|note| note.value.clone()),
        each: raw.each.map_or(Each::Scenario, |each| each.value),
        scenarios,
        columns,
    })
}

fn column(at: &At<RawColumn>, known: &Referring<'_>, issues: &mut Issues) -> Option<ColumnSpec> {
    let raw = &at.value;
    if let Some(stat) = raw.stat.as_ref().or(raw.over.as_ref()) {
        issues.push(not_yet("stat", "links and the matrix", stat.span));
        return None;
    }
    if raw.value.is_none() && !known.unread.key(at.span, "value") {
        issues.push(
            Issue::new(Code::MissingKey, "a column has no `value`", at.span, "this one")
                .help("add value = \"WINDOW.METRIC\""),
        );
    }
    let value = raw.value.as_ref().and_then(|value| quantity(value, known, issues));
    let relative_to = raw.relative_to.as_ref().and_then(|name| scenario(&name.value, name.span, known, issues));
    let mut published = IndexMap::new();
    for (name, figure) in &raw.published {
        if let Some(name) = scenario(&name.value, name.span, known, issues) {
            published.insert(name, figure.value);
        }
    }
    let value = value?;
    let title = raw.title.as_ref().map_or_else(|| value.display(), |title| title.value.clone());
    Some(ColumnSpec { title, value, relative_to, written_as: raw.r#as.map_or(As::Times, |at| at.value), published })
}
