//! Which cells a table or a chart shows, and over which axis it is split.

use super::compare::SCENARIO_AXIS;
use crate::spec::LoweredCell;
use crate::spec::field::{At, is_template};
use crate::spec::refer::{Referring, block, scenario};
use crate::spec::scalar::VarValue;
use crate::spec::template::{Engine, Variables};
use crate::text::{Code, Issue, Issues, Span};

/// Which cells are shown.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Shown {
    /// Their scenarios, in the spec's order.
    pub scenarios: Vec<String>,
    /// Their block of the matrix; `None` for any.
    pub matrix: Option<String>,
    /// Values of the axis that the table is split over.
    pub at: Vec<(String, String)>,
}

impl Shown {
    /// Whether a cell is shown.
    pub fn holds(&self, cell: &LoweredCell) -> bool {
        self.scenarios.contains(&cell.scenario.name)
            && self.matrix.as_ref().is_none_or(|block| cell.blocks.contains(block))
            && self.at.iter().all(|(axis, value)| cell.value(axis).is_some_and(|own| own.to_string() == *value))
    }
}

/// Which scenarios and block are shown.
pub(super) fn shown(
    scenarios: Option<&At<Vec<At<String>>>>,
    matrix: Option<&At<String>>,
    known: &Referring<'_>,
    issues: &mut Issues,
) -> Shown {
    let scenarios = match scenarios {
        None => known.scenarios.iter().map(|name| (*name).to_owned()).collect(),
        Some(list) => list.value.iter().filter_map(|name| scenario(&name.value, name.span, known, issues)).collect(),
    };
    Shown { scenarios, matrix: matrix.and_then(|name| block(name, known, issues)), at: Vec::new() }
}

/// The values of the axis that something is split over; a single `None` if it is not.
pub(super) fn splits(
    split: Option<&At<String>>,
    known: &Referring<'_>,
    issues: &mut Issues,
) -> Vec<Option<(String, VarValue)>> {
    let Some(split) = split.filter(|name| axis(name, known, issues) && name.value != SCENARIO_AXIS) else {
        return vec![None];
    };
    known.axes[&split.value].iter().map(|value| Some((split.value.clone(), value.clone()))).collect()
}

/// A title, which may name the axis that it is split over.
pub(super) fn split_title(
    title: &At<String>,
    split: Option<&(String, VarValue)>,
    engine: &mut Engine<'_>,
    issues: &mut Issues,
) -> Option<String> {
    if !is_template(&title.value) {
        let value = split.map_or_else(String::new, |(axis, value)| format!(", {axis} {value}"));
        return Some(format!("{}{value}", title.value));
    }
    let mut variables = Variables::default();
    if let Some((axis, value)) = split {
        variables.insert(axis, &value.to_string());
    }
    match engine.render(&title.value, title.span, &variables) {
        Ok(text) => Some(text),
        Err(mistakes) => {
            for mistake in mistakes {
                issues.push(mistake);
            }
            None
        }
    }
}

/// Whether there is an axis of that name; told if not.
pub(super) fn axis(name: &At<String>, known: &Referring<'_>, issues: &mut Issues) -> bool {
    let found = name.value == SCENARIO_AXIS || known.axes.contains_key(&name.value);
    if !found && !known.unread.covers(&["matrix"]) {
        let names = known.axes.keys().map(String::as_str).chain([SCENARIO_AXIS]);
        let message = format!("there is no axis `{}`", name.value);
        issues.push(
            Issue::new(Code::UnknownAxis, message, name.span, "not an axis of the matrix").suggest(&name.value, names),
        );
    }
    found
}

/// Tells axes that would put several figures into one place.
pub(super) fn one_figure_a_cell(
    axes: &[&At<String>],
    shown: &Shown,
    span: Span,
    known: &Referring<'_>,
    issues: &mut Issues,
) {
    let named = |axis: &str| axes.iter().any(|own| own.value == axis);
    let several = known.varying.get(&shown.matrix).into_iter().flatten().map(String::as_str);
    let scenarios = (shown.scenarios.len() > 1).then_some(SCENARIO_AXIS);
    for axis in several.chain(scenarios).filter(|axis| !named(axis)) {
        let way_out = if axis == SCENARIO_AXIS {
            "name one of `scenarios`".to_owned()
        } else {
            format!("add split = \"{axis}\"")
        };
        issues.push(
            Issue::new(Code::Impossible, format!("each place would hold several figures, by `{axis}`"), span, "here")
                .help(way_out),
        );
    }
}
