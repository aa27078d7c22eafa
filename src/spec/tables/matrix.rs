//! `[[matrix]]`: the points at which scenarios are run.

use indexmap::{IndexMap, IndexSet};
use schemars::JsonSchema;
use serde::Deserialize;

use super::vars::RawVars;
use crate::spec::Point;
use crate::spec::field::{At, is_template};
use crate::spec::scalar::VarValue;
use crate::spec::scope::is_name;
use crate::spec::unread::Unread;
use crate::text::{Code, Issue, Issues, Span};

/// The points of some axes: one for each combination of their values. The points of several blocks add up.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(
    deny_unknown_fields,
    default,
    expecting = "a table such as { name = \"all\", axes = { clients = [4, 8, 16] } }"
)]
#[schemars(rename = "Matrix")]
pub(in crate::spec) struct RawBlock {
    /// Name, by which claims and tables may refer to these points alone.
    name: Option<At<String>>,
    /// Axes: variables of `[vars]` with their values. A block without is the point of the variables' own values.
    axes: IndexMap<At<String>, At<Vec<At<VarValue>>>>,
    /// Scenarios that are run at these points; default all.
    scenarios: Option<At<Vec<At<String>>>>,
}

/// A block, valid.
#[derive(Debug)]
struct Block {
    name: String,
    axes: Vec<(String, Span, Vec<VarValue>)>,
    /// `None` for all.
    scenarios: Option<Vec<String>>,
}

/// The matrix of a spec.
#[derive(Debug, Default)]
pub(in crate::spec) struct Matrix {
    blocks: Vec<Block>,
}

/// A point with the names of the blocks that it belongs to.
#[derive(Clone, Debug, Default, PartialEq)]
pub(in crate::spec) struct Place {
    pub(in crate::spec) point: Point,
    pub(in crate::spec) blocks: Vec<String>,
}

/// What the matrix is read with.
pub(in crate::spec) struct Around<'a> {
    /// Scenarios that there are.
    pub(in crate::spec) scenarios: &'a [&'a str],
    /// Variables that any scenario has.
    pub(in crate::spec) known: &'a IndexSet<String>,
    /// The value to which a flag sets a variable, which pins the axis.
    pub(in crate::spec) pinned: &'a dyn Fn(&str) -> Option<VarValue>,
    pub(in crate::spec) unread: &'a Unread,
}

/// Reads the blocks.
pub(in crate::spec) fn lower(raw: &[At<RawBlock>], around: &Around<'_>, issues: &mut Issues) -> Matrix {
    let mut names: Vec<(&str, Span)> = Vec::new();
    let mut blocks = Vec::new();
    for at in raw {
        let own = at.value.name.as_ref();
        if let Some(name) = own {
            if !is_name(&name.value) {
                issues.push(
                    Issue::new(Code::BadName, format!("`{}` is no name", name.value), name.span, "not a name")
                        .help("write a letter, then letters, digits and `_`, all in lower case"),
                );
            }
            if let Some((_, first)) = names.iter().find(|(other, _)| *other == name.value) {
                issues.push(
                    Issue::new(
                        Code::BadName,
                        format!("two blocks are named `{}`", name.value),
                        name.span,
                        "again here",
                    )
                    .also(*first, "first here")
                    .help("give each its own name"),
                );
            }
            names.push((&name.value, name.span));
        }
        let axes = at.value.axes.iter().map(|(name, values)| axis(name, values, around, issues)).collect();
        let scenarios = at.value.scenarios.as_ref().map(|list| {
            let known = |name: &&At<String>| {
                let found = around.scenarios.contains(&name.value.as_str());
                if !found && !around.unread.covers(&["scenarios", &name.value]) {
                    let message = format!("there is no scenario `{}`", name.value);
                    issues.push(
                        Issue::new(Code::UnknownScenario, message, name.span, "not defined under [[scenarios]]")
                            .suggest(&name.value, around.scenarios.iter().copied()),
                    );
                }
                found
            };
            list.value.iter().filter(known).map(|name| name.value.clone()).collect()
        });
        blocks.push(Block { name: own.map_or_else(String::new, |name| name.value.clone()), axes, scenarios });
    }
    Matrix { blocks }
}

fn axis(
    name: &At<String>,
    values: &At<Vec<At<VarValue>>>,
    around: &Around<'_>,
    issues: &mut Issues,
) -> (String, Span, Vec<VarValue>) {
    if !around.known.contains(&name.value) && !around.unread.covers(&["vars", &name.value]) {
        issues.push(
            Issue::new(
                Code::UnknownVariable,
                format!("no variable is named `{}`", name.value),
                name.span,
                "an axis is a variable under [vars]",
            )
            .suggest(&name.value, around.known.iter().map(String::as_str)),
        );
    }
    if values.value.is_empty() {
        issues.push(
            Issue::new(Code::MissingKey, format!("axis `{}` has no values", name.value), values.span, "empty")
                .help("write its values, such as [4, 8, 16]"),
        );
    }
    let mut out: Vec<VarValue> = Vec::new();
    for value in &values.value {
        if out.iter().any(|other| other.to_string() == value.value.to_string()) {
            let message = format!("axis `{}` has {} twice", name.value, value.value);
            issues.push(Issue::new(Code::Impossible, message, value.span, "again").help("write each value once"));
            continue;
        }
        if let VarValue::Str(text) = &value.value
            && is_template(text)
        {
            issues.push(
                Issue::new(Code::Impossible, "a value of an axis is no template", value.span, "a template")
                    .help("write the value itself; a variable may be computed from an axis under [vars]"),
            );
        }
        out.push(value.value.clone());
    }
    if let Some(value) = (around.pinned)(&name.value) {
        out = vec![value];
    }
    (name.value.clone(), name.span, out)
}

impl Matrix {
    /// Every axis with its values over all blocks, in the order of the spec.
    pub(in crate::spec) fn axes(&self) -> IndexMap<String, Vec<VarValue>> {
        let mut out: IndexMap<String, Vec<VarValue>> = IndexMap::new();
        for (name, _, values) in self.blocks.iter().flat_map(|block| &block.axes) {
            let known = out.entry(name.clone()).or_default();
            for value in values {
                if !known.contains(value) {
                    known.push(value.clone());
                }
            }
        }
        out
    }

    /// Axes with several values among the cells of a block, of all blocks without a name.
    pub(in crate::spec) fn varying(&self, block: Option<&str>) -> Vec<String> {
        let own = self.blocks.iter().filter(|own| block.is_none_or(|name| own.name == name));
        let varying = own.flat_map(|own| &own.axes).filter(|(_, _, values)| values.len() > 1);
        let mut out: Vec<String> = varying.map(|(name, ..)| name.clone()).collect();
        if block.is_none() {
            out.extend(self.axes().into_iter().filter(|(_, values)| values.len() > 1).map(|(name, _)| name));
        }
        out.sort();
        out.dedup();
        out
    }

    /// Names of the blocks that have one.
    pub(in crate::spec) fn names(&self) -> Vec<&str> {
        self.blocks.iter().map(|block| block.name.as_str()).filter(|name| !name.is_empty()).collect()
    }

    /// The points of a scenario, each once: one without axes if no block is for it. A point of a block that lacks an
    /// axis of another is completed by the variable's own value, so that equal points are seen to be equal.
    pub(in crate::spec) fn points(&self, scenario: &str, vars: &RawVars) -> Vec<Place> {
        let all = |block: &&Block| block.scenarios.as_ref().is_none_or(|names| names.iter().any(|own| own == scenario));
        let blocks: Vec<&Block> = self.blocks.iter().filter(all).collect();
        let axes: IndexSet<&String> =
            blocks.iter().flat_map(|block| block.axes.iter().map(|(name, ..)| name)).collect();
        let own = |axis: &str| match &vars.get(axis)?.value {
            VarValue::Str(text) if is_template(text) => None,
            value => Some(vec![value.clone()]),
        };
        let mut out: IndexMap<String, Place> = IndexMap::new();
        for block in blocks {
            let mut points: Vec<Point> = vec![Vec::new()];
            for axis in &axes {
                let given = block.axes.iter().find(|(name, ..)| name == *axis).map(|(_, _, values)| values.clone());
                let Some(values) = given.or_else(|| own(axis)) else { continue };
                let with = |point: &Point, value: VarValue| {
                    let mut point = point.clone();
                    point.push(((*axis).clone(), value));
                    point
                };
                points =
                    points.iter().flat_map(|point| values.iter().map(|value| with(point, value.clone()))).collect();
            }
            for point in points {
                let place = out.entry(crate::spec::point_words(&point)).or_default();
                place.point = point;
                if !block.name.is_empty() {
                    place.blocks.push(block.name.clone());
                }
            }
        }
        if out.is_empty() { vec![Place::default()] } else { out.into_values().collect() }
    }

    /// Tells a scenario that sets a variable which is an axis of its own: which of the two would count?
    pub(in crate::spec) fn tell_clashes(&self, scenario: &str, own: &RawVars, base: &RawVars, issues: &mut Issues) {
        for block in &self.blocks {
            if block.scenarios.as_ref().is_some_and(|names| !names.iter().any(|name| name == scenario)) {
                continue;
            }
            for (axis, span, _) in &block.axes {
                let Some((name, value)) = own.get_key_value(axis.as_str()) else { continue };
                if base.get(axis.as_str()).is_some_and(|base| base.span != value.span) {
                    let message = format!("scenario `{scenario}` sets `{axis}`, which is an axis of it");
                    issues.push(
                        Issue::new(Code::Both, message, name.span, "set here").also(*span, "an axis here").help(
                            "leave it out of the scenario, or give the block `scenarios = [...]` without this one",
                        ),
                    );
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block(name: &str, axes: &[(&str, &[i64])], scenarios: Option<&[&str]>) -> Block {
        let axis = |(name, values): &(&str, &[i64])| {
            ((*name).to_owned(), Span::default(), values.iter().map(|n| VarValue::Int(*n)).collect())
        };
        Block {
            name: name.to_owned(),
            axes: axes.iter().map(axis).collect(),
            scenarios: scenarios.map(|names| names.iter().map(|name| (*name).to_owned()).collect()),
        }
    }

    fn vars(values: &[(&str, i64)]) -> RawVars {
        let at = |n: i64| At { span: Span::default(), value: VarValue::Int(n) };
        let key = |name: &str| At { span: Span::default(), value: name.to_owned() };
        values.iter().map(|(name, n)| (key(name), at(*n))).collect()
    }

    fn words(places: &[Place]) -> Vec<String> {
        places
            .iter()
            .map(|place| format!("{} ({})", crate::spec::point_words(&place.point), place.blocks.join(" ")))
            .collect()
    }

    #[test]
    fn points_of_several_blocks_add_up_and_equal_ones_are_one() {
        let matrix = Matrix {
            blocks: vec![
                block("a", &[("clients", &[1, 4]), ("scale", &[1, 100])], None),
                block("b", &[("clients", &[4, 8])], None),
            ],
        };
        let vars = vars(&[("clients", 4), ("scale", 1)]);
        assert_eq!(
            words(&matrix.points("x", &vars)),
            [
                "clients=1, scale=1 (a)",
                "clients=1, scale=100 (a)",
                "clients=4, scale=1 (a b)",
                "clients=4, scale=100 (a)",
                "clients=8, scale=1 (b)",
            ]
        );
    }

    #[test]
    fn a_scenario_that_no_block_is_for_has_one_point_without_axes() {
        let matrix = Matrix { blocks: vec![block("a", &[("clients", &[1, 4])], Some(&["x"]))] };
        let vars = vars(&[("clients", 4)]);
        assert_eq!(words(&matrix.points("x", &vars)).len(), 2);
        assert_eq!(matrix.points("y", &vars), [Place::default()]);
        assert_eq!(Matrix::default().points("x", &vars), [Place::default()]);
    }
}
