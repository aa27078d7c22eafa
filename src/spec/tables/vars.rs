//! `[vars]`: names for templates, in order; a later one may use an earlier one.

use indexmap::IndexMap;

use crate::spec::field::{At, is_template};
use crate::spec::scalar::VarValue;
use crate::spec::template::Engine;
use crate::text::Issue;

pub(in crate::spec) type RawVars = IndexMap<At<String>, At<VarValue>>;

/// The variables of one cell: the point of the axes wins over `[vars]`.
pub(in crate::spec) fn context(
    scenario: &str,
    vars: &RawVars,
    point: &[(String, VarValue)],
    engine: &mut Engine<'_>,
    mut tell: impl FnMut(Issue),
) -> tera::Context {
    let mut context = tera::Context::new();
    context.insert("scenario".to_owned(), scenario);
    for (name, value) in point {
        insert(&mut context, name, value);
    }
    for (name, at) in vars {
        if point.iter().any(|(axis, _)| *axis == name.value) {
            continue;
        }
        match &at.value {
            VarValue::Str(text) if is_template(text) => match engine.render(text, at.span, &context) {
                Ok(text) => insert(&mut context, &name.value, &VarValue::of_text(&text)),
                Err(issue) => {
                    tell(issue);
                    // Defined all the same, so that this mistake is not told again at each use.
                    insert(&mut context, &name.value, &VarValue::Int(1));
                }
            },
            value => insert(&mut context, &name.value, value),
        }
    }
    context
}

fn insert(context: &mut tera::Context, name: &str, value: &VarValue) {
    match value {
        VarValue::Int(n) => context.insert(name.to_owned(), n),
        VarValue::Float(n) => context.insert(name.to_owned(), n),
        VarValue::Bool(flag) => context.insert(name.to_owned(), flag),
        VarValue::Str(text) => context.insert(name.to_owned(), text),
    }
}
