//! `[[report.charts]]`: pictures of the figures.

use schemars::JsonSchema;
use serde::Deserialize;

use super::shown::{Shown, axis, one_figure_a_cell, shown, split_title, splits};
use crate::measure::{Dim, Quantity, Reference};
use crate::spec::field::At;
use crate::spec::refer::{Referring, quantity};
use crate::spec::template::Engine;
use crate::text::{Code, Issue, Issues};

/// A chart of the report.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(
    deny_unknown_fields,
    default,
    expecting = "a table such as { title = \"TPS\", kind = \"bars\", x = \"clients\", value = \"load.tps\" }"
)]
#[schemars(rename = "Chart")]
pub(in crate::spec) struct RawChart {
    /// Heading; a template may name the axis of `split`.
    title: Option<At<String>>,
    /// A line below the chart.
    note: Option<At<String>>,
    /// `bars` by an axis with every round as a dot, `lines` over the seconds of a run, or `stack`: shares by role.
    kind: Option<At<RawKind>>,
    /// Axis of the groups of bars, or `scenario`.
    x: Option<At<String>>,
    /// Axis of the bars of a group, or `scenario`.
    series: Option<At<String>>,
    /// Metric of bars and stacks; of lines `tps`, `lag_bytes`, `lag_seconds`, `retained_bytes`, `wal_bytes` or `cpu`.
    value: Option<At<String>>,
    /// Whether each bar of a stack is as long as the others. Default false.
    shares: Option<At<bool>>,
    /// Axis for each value of which the chart is made anew.
    split: Option<At<String>>,
    /// Scenarios that are shown; default all.
    scenarios: Option<At<Vec<At<String>>>>,
    /// Block of the matrix that is shown; default every cell.
    matrix: Option<At<String>>,
}

/// Kinds of charts, as written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum RawKind {
    Bars,
    Lines,
    Stack,
}

/// What is drawn over the seconds of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Course {
    /// Transactions committed in each second, of all loads.
    Tps,
    /// Bytes from what is applied downstream to the insert position, the furthest slot.
    LagBytes,
    /// The same in seconds.
    LagSeconds,
    /// WAL that slots keep, the most of any.
    RetainedBytes,
    /// WAL written each second, of all nodes.
    WalBytes,
    /// Cores in use by all nodes.
    Cpu,
}

const COURSES: &[(&str, Course)] = &[
    ("tps", Course::Tps),
    ("lag_bytes", Course::LagBytes),
    ("lag_seconds", Course::LagSeconds),
    ("retained_bytes", Course::RetainedBytes),
    ("wal_bytes", Course::WalBytes),
    ("cpu", Course::Cpu),
];

/// A chart, resolved.
#[derive(Clone, Debug)]
pub struct ChartSpec {
    /// Heading.
    pub title: String,
    /// A line below it.
    pub note: Option<String>,
    /// Which cells are shown.
    pub shown: Shown,
    /// What is drawn of them.
    pub kind: ChartKind,
}

/// What a chart draws.
#[derive(Clone, Debug)]
pub enum ChartKind {
    /// Groups of bars.
    Bars {
        /// Axis of the groups, or `scenario`.
        x: String,
        /// Axis of the bars in a group, or `scenario`.
        series: Option<String>,
        /// Metric.
        value: Quantity,
    },
    /// A line a cell.
    Lines(Course),
    /// A bar a cell, cut by role.
    Stack {
        /// Metric with a label for the role.
        value: Reference,
        /// Whether each bar is as long as the others.
        shares: bool,
    },
}

/// The charts, each as often as it is split.
pub(in crate::spec) fn lower(
    raw: &[At<RawChart>],
    known: &Referring<'_>,
    engine: &mut Engine<'_>,
    issues: &mut Issues,
) -> Vec<ChartSpec> {
    raw.iter().flat_map(|at| chart(at, known, engine, issues)).collect()
}

fn chart(at: &At<RawChart>, known: &Referring<'_>, engine: &mut Engine<'_>, issues: &mut Issues) -> Vec<ChartSpec> {
    let raw = &at.value;
    let before = issues.as_slice().len();
    let mut need = |missing: bool, key: &str, help: &str| {
        if missing && !known.unread.key(at.span, key) {
            issues.push(
                Issue::new(Code::MissingKey, format!("a chart has no `{key}`"), at.span, "this one")
                    .help(format!("add {help}")),
            );
        }
    };
    need(raw.title.is_none(), "title", "title = \"…\"");
    need(raw.kind.is_none(), "kind", "kind = \"bars\", \"lines\" or \"stack\"");
    need(raw.value.is_none(), "value", "value = \"WINDOW.METRIC\"");
    let kind = raw.kind.map(|kind| kind.value);
    need(kind == Some(RawKind::Bars) && raw.x.is_none(), "x", "x = \"AXIS\", or x = \"scenario\"");
    let shown = shown(raw.scenarios.as_ref(), raw.matrix.as_ref(), known, issues);
    let only = |key: &str, place: Option<crate::text::Span>, of: RawKind, issues: &mut Issues| {
        if let Some(span) = place.filter(|_| kind.is_some_and(|kind| kind != of)) {
            issues.push(
                Issue::new(Code::Impossible, format!("`{key}` is for another kind of chart"), span, "not of this kind")
                    .help("leave it out"),
            );
        }
    };
    only("x", raw.x.as_ref().map(|x| x.span), RawKind::Bars, issues);
    only("series", raw.series.as_ref().map(|series| series.span), RawKind::Bars, issues);
    only("shares", raw.shares.as_ref().map(|shares| shares.span), RawKind::Stack, issues);
    let (Some(title), Some(kind), Some(value)) = (&raw.title, kind, &raw.value) else { return Vec::new() };
    let made = match kind {
        RawKind::Bars => raw.x.as_ref().and_then(|x| bars(at, x, value, &shown, known, issues)),
        RawKind::Lines => lines(value, issues),
        RawKind::Stack => stack(value, raw.shares.is_some_and(|shares| shares.value), known, issues),
    };
    let splits = splits(raw.split.as_ref(), known, issues);
    let Some(made) = made.filter(|_| issues.as_slice().len() == before) else { return Vec::new() };
    let note = raw.note.as_ref().map(|note| note.value.clone());
    splits
        .into_iter()
        .filter_map(|split| {
            let title = split_title(title, split.as_ref(), engine, issues)?;
            let at = split.into_iter().map(|(axis, value)| (axis, value.to_string())).collect();
            let shown = Shown { at, ..shown.clone() };
            Some(ChartSpec { title, note: note.clone(), shown, kind: made.clone() })
        })
        .collect()
}

fn bars(
    at: &At<RawChart>,
    x: &At<String>,
    value: &At<String>,
    shown: &Shown,
    known: &Referring<'_>,
    issues: &mut Issues,
) -> Option<ChartKind> {
    let raw = &at.value;
    let axes: Vec<&At<String>> = [Some(x), raw.series.as_ref(), raw.split.as_ref()].into_iter().flatten().collect();
    for name in &axes {
        axis(name, known, issues);
    }
    one_figure_a_cell(&axes, shown, at.span, known, issues);
    let value = quantity(value, known, issues)?;
    Some(ChartKind::Bars { x: x.value.clone(), series: raw.series.as_ref().map(|own| own.value.clone()), value })
}

fn lines(value: &At<String>, issues: &mut Issues) -> Option<ChartKind> {
    let found = COURSES.iter().find(|(name, _)| *name == value.value).map(|(_, course)| *course);
    if found.is_none() {
        let message = format!("nothing called `{}` is seen each second", value.value);
        issues.push(
            Issue::new(Code::UnknownMetric, message, value.span, "not drawn over time")
                .suggest(&value.value, COURSES.iter().map(|(name, _)| *name)),
        );
    }
    found.map(ChartKind::Lines)
}

fn stack(value: &At<String>, shares: bool, known: &Referring<'_>, issues: &mut Issues) -> Option<ChartKind> {
    let Quantity::Read(reference) = quantity(value, known, issues)? else {
        issues.push(
            Issue::new(Code::Impossible, "a computed metric has no roles", value.span, "computed")
                .help("write WINDOW.cpu"),
        );
        return None;
    };
    if !reference.metric.dims.contains(&Dim::Role) || reference.labels.value(Dim::Role).is_some() {
        issues.push(
            Issue::new(Code::Impossible, "a stack is cut by role", value.span, "a metric without role, or of one")
                .help("write WINDOW.cpu, or WINDOW.cpu{node=NAME}"),
        );
        return None;
    }
    Some(ChartKind::Stack { value: reference, shares })
}
