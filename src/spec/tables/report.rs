//! `[report]`: the tables of the report with published figures beside ours.

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, de};

use super::charts::RawChart;
use super::shown::{Shown, axis, one_figure_a_cell, shown, split_title, splits};
use crate::measure::Quantity;
use crate::spec::field::{At, Later};
use crate::spec::refer::{Referring, quantity, scenario};
use crate::spec::scalar::VarValue;
use crate::spec::scope::not_yet;
use crate::spec::template::Engine;
use crate::text::{Code, Issue, Issues};

/// What the report shows.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default, expecting = "a table with `tables`")]
#[schemars(rename = "Report")]
pub(in crate::spec) struct RawReport {
    /// Tables in order.
    pub(in crate::spec) tables: Vec<At<RawTable>>,
    /// Charts in order.
    pub(in crate::spec) charts: Vec<At<RawChart>>,
}

/// A table of the report.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(
    deny_unknown_fields,
    default,
    expecting = "a table with `title`, `each` and `columns`, or with `title`, `rows`, `columns` and `value`"
)]
#[schemars(rename = "ReportTable")]
pub(in crate::spec) struct RawTable {
    /// Heading; a template may name the axis of `split`.
    title: Option<At<String>>,
    /// A line below the heading.
    note: Option<At<String>>,
    /// What a row is: `scenario` (medians over the rounds) or `run`.
    each: Option<At<Each>>,
    /// Scenarios that are shown; default all.
    scenarios: Option<At<Vec<At<String>>>>,
    /// Columns in order; or an axis, whose values are the columns.
    columns: Option<At<RawColumns>>,
    /// Axis whose values are the rows, or `scenario`; with `columns` as an axis, and `value`.
    rows: Option<At<String>>,
    /// Axis for each value of which the table is made anew.
    split: Option<At<String>>,
    /// Metric in the cells of a table by axes.
    value: Option<At<String>>,
    /// Rows for the change, its interval and the verdict of [compare], below a table by axes.
    verdict: Option<At<bool>>,
    /// Block of the matrix that is shown; default every cell.
    matrix: Option<At<String>>,
    /// Published figures of a table by axes: values of its axes, and `value`.
    #[serde(default)]
    published: Vec<At<IndexMap<At<String>, At<VarValue>>>>,
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

/// Columns one by one, or by an axis.
#[derive(Debug)]
pub(in crate::spec) enum RawColumns {
    Axis(String),
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
            fn visit_str<E: de::Error>(self, axis: &str) -> Result<RawColumns, E> {
                Ok(RawColumns::Axis(axis.to_owned()))
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
        schemars::json_schema!({ "anyOf": [{ "type": "array", "items": column }, { "type": "string" }] })
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
pub enum ReportTable {
    /// By scenario or run, with a column a metric.
    Listed(TableSpec),
    /// One metric by two axes.
    Pivot(PivotSpec),
}

impl ReportTable {
    /// Heading.
    pub fn title(&self) -> &str {
        match self {
            ReportTable::Listed(table) => &table.title,
            ReportTable::Pivot(pivot) => &pivot.title,
        }
    }

    /// A line below it.
    pub fn note(&self) -> Option<&str> {
        match self {
            ReportTable::Listed(table) => table.note.as_deref(),
            ReportTable::Pivot(pivot) => pivot.note.as_deref(),
        }
    }

    /// Which cells it shows.
    pub fn shown(&self) -> &Shown {
        match self {
            ReportTable::Listed(table) => &table.shown,
            ReportTable::Pivot(pivot) => &pivot.shown,
        }
    }

    /// Metrics that it shows.
    pub fn quantities(&self) -> Vec<&Quantity> {
        match self {
            ReportTable::Listed(table) => table.columns.iter().map(|column| &column.value).collect(),
            ReportTable::Pivot(pivot) => vec![&pivot.value],
        }
    }
}

/// A table by scenario or run, resolved.
#[derive(Clone, Debug)]
pub struct TableSpec {
    /// Heading.
    pub title: String,
    /// A line below it.
    pub note: Option<String>,
    /// What a row is.
    pub each: Each,
    /// Which cells are shown.
    pub shown: Shown,
    /// Columns.
    pub columns: Vec<ColumnSpec>,
}

/// A table of one metric by two axes, resolved.
#[derive(Clone, Debug)]
pub struct PivotSpec {
    /// Heading.
    pub title: String,
    /// A line below it.
    pub note: Option<String>,
    /// Which cells are shown.
    pub shown: Shown,
    /// Axis whose values are the rows, or `scenario`.
    pub rows: String,
    /// Axis whose values are the columns, or `scenario`.
    pub columns: String,
    /// Metric.
    pub value: Quantity,
    /// Whether the verdicts of `[compare]` stand below.
    pub verdict: bool,
    /// Published figures, each with the values of axes that it is of.
    pub published: Vec<(Vec<(String, String)>, f64)>,
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

/// The tables, each as often as it is split.
pub(in crate::spec) fn lower(
    raw: Option<&At<RawReport>>,
    known: &Referring<'_>,
    engine: &mut Engine<'_>,
    issues: &mut Issues,
) -> Vec<ReportTable> {
    let Some(raw) = raw else { return Vec::new() };
    raw.value.tables.iter().flat_map(|at| table(at, known, engine, issues)).collect()
}

fn table(at: &At<RawTable>, known: &Referring<'_>, engine: &mut Engine<'_>, issues: &mut Issues) -> Vec<ReportTable> {
    let raw = &at.value;
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
    let shown = shown(raw.scenarios.as_ref(), raw.matrix.as_ref(), known, issues);
    let Some((columns, span)) = raw.columns.as_ref().map(|at| (&at.value, at.span)) else {
        missing("columns", issues);
        return Vec::new();
    };
    let made = match columns {
        RawColumns::Axis(name) => pivot(at, &At { span, value: name.clone() }, &shown, known, issues),
        RawColumns::Listed(list) => {
            only_by_axes(raw, issues);
            let columns = list.iter().filter_map(|at| column(at, known, issues)).collect();
            let each = raw.each.map_or(Each::Scenario, |each| each.value);
            let (title, note) = (String::new(), raw.note.as_ref().map(|note| note.value.clone()));
            Some(ReportTable::Listed(TableSpec { title, note, each, shown, columns }))
        }
    };
    let (Some(made), Some(title)) = (made, &raw.title) else { return Vec::new() };
    let splits = splits(raw.split.as_ref(), known, issues);
    splits
        .into_iter()
        .filter_map(|split| {
            let title = split_title(title, split.as_ref(), engine, issues)?;
            let at: Vec<(String, String)> = split.into_iter().map(|(axis, value)| (axis, value.to_string())).collect();
            let mut table = made.clone();
            match &mut table {
                ReportTable::Listed(table) => (table.title, table.shown.at) = (title, at),
                ReportTable::Pivot(pivot) => (pivot.title, pivot.shown.at) = (title, at),
            }
            Some(table)
        })
        .collect()
}

/// Tells keys of a table by axes in a table of listed columns.
fn only_by_axes(raw: &RawTable, issues: &mut Issues) {
    let published = raw.published.first().map(|at| at.span);
    let keys = [
        ("rows", raw.rows.as_ref().map(|at| at.span)),
        ("value", raw.value.as_ref().map(|at| at.span)),
        ("verdict", raw.verdict.as_ref().map(|at| at.span)),
        ("published", published),
    ];
    for (key, span) in keys {
        let Some(span) = span else { continue };
        issues.push(
            Issue::new(Code::Impossible, format!("`{key}` is for a table by axes"), span, "not with listed columns")
                .help("write columns = \"AXIS\", or put it into a column"),
        );
    }
}

fn pivot(
    at: &At<RawTable>,
    columns: &At<String>,
    shown: &Shown,
    known: &Referring<'_>,
    issues: &mut Issues,
) -> Option<ReportTable> {
    let raw = &at.value;
    let before = issues.as_slice().len();
    if let Some(each) = &raw.each {
        issues.push(
            Issue::new(Code::Both, "a table by axes has no `each`", each.span, "this")
                .also(columns.span, "with columns by an axis")
                .help("leave it out, or list the columns"),
        );
    }
    for (key, absent) in [("rows", raw.rows.is_none()), ("value", raw.value.is_none())] {
        if absent && !known.unread.key(at.span, key) {
            issues.push(
                Issue::new(Code::MissingKey, format!("a table by axes has no `{key}`"), at.span, "this one")
                    .help(if key == "rows" { "add rows = \"AXIS\"" } else { "add value = \"WINDOW.METRIC\"" }),
            );
        }
    }
    let rows = raw.rows.as_ref()?;
    if rows.value == "stage" {
        issues.push(not_yet("stage", "cluster protocols", rows.span));
        return None;
    }
    let axes: Vec<&At<String>> = [Some(rows), Some(columns), raw.split.as_ref()].into_iter().flatten().collect();
    for name in &axes {
        axis(name, known, issues);
    }
    one_figure_a_cell(&axes, shown, at.span, known, issues);
    let value = raw.value.as_ref().and_then(|value| quantity(value, known, issues));
    let mut published = Vec::new();
    for figure in &raw.published {
        let mut place = Vec::new();
        let mut of = None;
        for (key, value) in &figure.value {
            match &value.value {
                VarValue::Int(n) if key.value == "value" => of = Some(*n as f64),
                VarValue::Float(n) if key.value == "value" => of = Some(*n),
                _ if key.value == "value" => issues.push(
                    Issue::new(Code::WrongType, "a published figure is a number", value.span, "not a number")
                        .help("write value = 4818.28"),
                ),
                own if axis(key, known, issues) => place.push((key.value.clone(), own.to_string())),
                _ => {}
            }
        }
        match of {
            Some(of) => published.push((place, of)),
            None if known.unread.key(figure.span, "value") => {}
            None => issues.push(
                Issue::new(Code::MissingKey, "a published figure has no `value`", figure.span, "this one")
                    .help("add value = …"),
            ),
        }
    }
    let verdict = raw.verdict.is_some_and(|verdict| verdict.value);
    if let Some(flag) = raw.verdict.as_ref().filter(|_| verdict && !known.compares.iter().any(|c| *c == rows.value)) {
        issues.push(
            Issue::new(Code::Impossible, "there is no verdict to show", flag.span, "of what?")
                .help(format!("add [compare] with axis = \"{}\"", rows.value)),
        );
    }
    if issues.as_slice().len() > before {
        return None;
    }
    Some(ReportTable::Pivot(PivotSpec {
        title: String::new(),
        note: raw.note.as_ref().map(|note| note.value.clone()),
        shown: shown.clone(),
        rows: rows.value.clone(),
        columns: columns.value.clone(),
        value: value?,
        verdict,
        published,
    }))
}

fn column(at: &At<RawColumn>, known: &Referring<'_>, issues: &mut Issues) -> Option<ColumnSpec> {
    let raw = &at.value;
    if let Some(stat) = raw.stat.as_ref().or(raw.over.as_ref()) {
        issues.push(not_yet("stat", "links with delay", stat.span));
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
