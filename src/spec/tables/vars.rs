//! `[vars]`: names for templates, in order; a later one may use an earlier one.

use indexmap::IndexMap;

use crate::spec::field::{At, is_template};
use crate::spec::scalar::VarValue;
use crate::spec::template::{Engine, Variables};
use crate::spec::unread::Unread;
use crate::text::Issue;

pub(in crate::spec) type RawVars = IndexMap<At<String>, At<VarValue>>;

/// The variables of one cell: the point of the axes wins over `[vars]`.
pub(in crate::spec) fn variables(
    scenario: &str,
    vars: &RawVars,
    point: &[(String, VarValue)],
    engine: &mut Engine<'_>,
    unread: &Unread,
    mut tell: impl FnMut(Issue),
) -> Variables {
    let mut out = Variables::new(unread.clone());
    out.insert("scenario", scenario);
    for (name, value) in point {
        insert(&mut out, name, value);
    }
    // Poisoned rather than left out, so that a variable's own mistake is not told again at each use.
    for name in unread.names_below(&["vars"]) {
        if !out.contains(name) {
            out.poison(name);
        }
    }
    for (name, at) in vars {
        if point.iter().any(|(axis, _)| *axis == name.value) {
            continue;
        }
        match &at.value {
            VarValue::Str(text) if is_template(text) => match engine.render(text, at.span, &out) {
                Ok(text) => insert(&mut out, &name.value, &VarValue::of_text(&text)),
                Err(mistakes) => {
                    mistakes.into_iter().for_each(&mut tell);
                    out.poison(&name.value);
                }
            },
            value => insert(&mut out, &name.value, value),
        }
    }
    out
}

fn insert(variables: &mut Variables, name: &str, value: &VarValue) {
    match value {
        VarValue::Int(n) => variables.insert(name, n),
        VarValue::Float(n) => variables.insert(name, n),
        VarValue::Bool(flag) => variables.insert(name, flag),
        VarValue::Str(text) => variables.insert(name, text),
    }
}
