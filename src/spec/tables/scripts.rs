//! The scripts of a workload: one or several, read, named, and every mistake in them told.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::script::{Builtin, Script};
use crate::spec::field::{At, Field};
use crate::spec::scalar::{Count, OneOf, Text};
use crate::spec::scenario::{Protocol, ScriptText};
use crate::spec::scope::{Scope, is_name};
use crate::text::{Code, Issue, Span};

/// One of several scripts.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(
    deny_unknown_fields,
    default,
    expecting = "a table such as { name = \"read\", weight = 80, file = \"read.pgbench\" }"
)]
#[schemars(rename = "WorkloadScript")]
pub(in crate::spec) struct RawScript {
    /// Name, the label of its metrics.
    #[schemars(required)]
    pub(in crate::spec) name: Field<Text>,
    /// Its share among the workload's scripts. Default 1.
    pub(in crate::spec) weight: Field<Count>,
    /// Script in pgbench's language.
    pub(in crate::spec) script: Field<Text>,
    /// Script file, relative to this file.
    pub(in crate::spec) file: Field<Text>,
    /// A script of pgbench's own: `tpcb-like`, `simple-update` or `select-only`.
    pub(in crate::spec) builtin: Field<OneOf<Builtin>>,
}

/// The largest weight; pgbench's is the same.
const MAX_WEIGHT: u64 = i32::MAX as u64;

/// The four ways in which a workload may say what it sends.
pub(super) struct Written<'r> {
    pub(super) script: &'r Field<Text>,
    pub(super) file: &'r Field<Text>,
    pub(super) builtin: &'r Field<OneOf<Builtin>>,
    pub(super) list: Option<&'r At<Vec<At<RawScript>>>>,
}

/// The scripts of a workload: its one, named like itself, or its list.
pub(super) fn scripts(
    name: &str,
    raw: &Written<'_>,
    owner: &str,
    at: (Span, Span),
    protocol: Protocol,
    scope: &mut Scope<'_, '_>,
) -> Option<Vec<ScriptText>> {
    let list = raw.list;
    let [script, file, builtin] = keys(raw.script, raw.file, raw.builtin);
    let keys = [script, file, builtin, ("scripts", list.map(|list| list.span))];
    if !scope.exactly_one(owner, at, &keys) {
        return None;
    }
    let Some(list) = list else {
        let text = text(raw.script, raw.file, raw.builtin, scope)?;
        let only = text.named(name.to_owned(), 1);
        return check(vec![only], protocol, scope);
    };
    if list.value.is_empty() {
        scope.tell(
            Issue::new(Code::Neither, format!("{owner} has an empty list of scripts"), list.span, "empty")
                .help("add one such as { name = \"read\", weight = 80, file = \"read.pgbench\" }"),
        );
    }
    let mut all: Vec<ScriptText> = Vec::new();
    let mut named: Vec<At<Text>> = Vec::new();
    for raw in &list.value {
        let (name, text) = one_of_several(owner, raw, scope);
        if let Some(name) = &name {
            if let Some(first) = named.iter().find(|known| known.value == name.value) {
                let message = format!("{owner} has two scripts named `{}`", name.value.0);
                scope.tell(
                    Issue::new(Code::Both, message, first.span, "this")
                        .also(name.span, "and this")
                        .help("give each its own name: it is the label of its metrics"),
                );
            }
            named.push(name.clone());
        }
        let weight = scope.chosen(&raw.value.weight, 1, |count: Count| count.0.min(MAX_WEIGHT) as u32);
        if let (Some(name), Some(text)) = (name, text) {
            all.push(text.named(name.value.0, weight.value));
        }
    }
    let complete = !all.is_empty() && all.len() == list.value.len();
    check(all, protocol, scope).filter(|_| complete)
}

/// The name and the text of an entry of `scripts`.
fn one_of_several(owner: &str, raw: &At<RawScript>, scope: &mut Scope<'_, '_>) -> (Option<At<Text>>, Option<Read>) {
    let (at, raw) = ((raw.span, raw.span), &raw.value);
    let owner = format!("a script of {owner}");
    let name = scope.required(&raw.name, "name", &owner, at).filter(|name| {
        let good = is_name(&name.value.0);
        if !good {
            let message = format!("`{}` is no name for a script", name.value.0);
            scope.tell(
                Issue::new(Code::BadName, message, name.span, "this name")
                    .help("use lower-case letters, digits and `_`, beginning with a letter"),
            );
        }
        good
    });
    let one = scope.exactly_one(&owner, at, &keys(&raw.script, &raw.file, &raw.builtin));
    let text = if one { text(&raw.script, &raw.file, &raw.builtin, scope) } else { None };
    (name, text)
}

/// The three ways to write a script, with the places of those that are there.
fn keys(
    script: &Field<Text>,
    file: &Field<Text>,
    builtin: &Field<OneOf<Builtin>>,
) -> [(&'static str, Option<Span>); 3] {
    let place = |field: &Field<Text>| field.as_ref().map(|at| at.span);
    [("script", place(script)), ("file", place(file)), ("builtin", builtin.as_ref().map(|at| at.span))]
}

/// A script's text as read, and the built-in script that it is.
struct Read {
    text: At<String>,
    builtin: Option<Builtin>,
}

impl Read {
    fn named(self, name: String, weight: u32) -> ScriptText {
        ScriptText { name, weight, text: self.text.value, builtin: self.builtin, span: self.text.span }
    }
}

fn text(
    script: &Field<Text>,
    file: &Field<Text>,
    builtin: &Field<OneOf<Builtin>>,
    scope: &mut Scope<'_, '_>,
) -> Option<Read> {
    if let Some(at) = scope.value(builtin) {
        let OneOf(builtin) = at.value;
        let text = At { span: at.span, value: builtin.text().to_owned() };
        return Some(Read { text, builtin: Some(builtin) });
    }
    let text = match (script, file) {
        (Some(script), _) => scope.at(script).map(|at| At { span: at.span, value: at.value.0 }),
        (_, Some(file)) => scope.file(file),
        _ => None,
    }?;
    Some(Read { text, builtin: None })
}

/// A mistake of a script: where it is in its text, what it is, the way out.
type Mistake = (std::ops::Range<usize>, String, Option<String>);

/// Tells every mistake of the rendered scripts: at its own bytes where a script is written as it is sent, else at
/// the whole of it. A client keeps its variables whichever script runs, so one may use what another gives a value.
fn check(scripts: Vec<ScriptText>, protocol: Protocol, scope: &mut Scope<'_, '_>) -> Option<Vec<ScriptText>> {
    let parsed: Vec<_> = scripts.iter().map(|script| Script::parse(&script.text)).collect();
    let elsewhere = |name: &str| parsed.iter().flatten().any(|script| parsed.len() > 1 && script.may_define(name));
    let mut good = true;
    for (text, parsed) in scripts.iter().zip(&parsed) {
        let mut mistakes: Vec<Mistake> = Vec::new();
        match parsed {
            Err(errors) => {
                let told = errors.iter().cloned();
                mistakes.extend(told.map(|error| (error.range, error.message, error.help)));
            }
            Ok(script) => {
                for (name, range) in script.undefined().iter().filter(|(name, _)| !elsewhere(name)) {
                    let help =
                        "give it a value with `\\set` before; a time or a cast needs no colon before a name".to_owned();
                    mistakes.push((range.clone(), format!("the variable `:{name}` has no value here"), Some(help)));
                }
                let help = |way: &str| Some(way.to_owned());
                if protocol == Protocol::Simple {
                    let message = "the simple protocol has no pipelines".to_owned();
                    let help = help("choose protocol = \"prepared\" or \"extended\"");
                    mistakes.extend(script.pipelines().map(|range| (range, message, help)));
                } else {
                    for (name, range) in script.quoted() {
                        let message =
                            format!("`:{name}` stands in quotes, where a prepared statement takes no parameter");
                        let help = help("take it out of the quotes, or choose protocol = \"simple\"");
                        mistakes.push((range.clone(), message, help));
                    }
                }
            }
        }
        good &= mistakes.is_empty();
        for (range, message, help) in mistakes {
            let line = text.text.get(range.clone()).unwrap_or_default().lines().next().unwrap_or_default().to_owned();
            let place = scope.engine.place(text.span, &text.text, range);
            let mut issue = Issue::new(Code::Script, message, place, format!("`{line}`"));
            issue.help = help;
            scope.tell(issue);
        }
    }
    good.then_some(scripts)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use crate::spec::{Options, Read, read};
    use crate::text::source::SourceMap;

    /// A spec of one workload, whose keys are `keys`.
    fn told(keys: &str) -> (Vec<String>, Vec<(String, u32)>) {
        let text = format!(
            "title = \"t\"\n[nodes.a]\n[[phases]]\nname = \"load\"\nrun = [\"w\"]\n\
             [workloads.w]\nnode = \"a\"\ntransactions = 1\n{keys}"
        );
        let mut sources = SourceMap::default();
        sources.add("s.toml", text);
        sources.add("read.pgbench", "SELECT :x;\n");
        let Read::Done(spec, issues) = read(Path::new("s.toml"), &sources, Options::default()) else {
            panic!("all texts are there");
        };
        let workloads = spec.cells.iter().flat_map(|cell| cell.scenario.workloads.values());
        let scripts = workloads.flat_map(|load| &load.scripts);
        (
            issues.as_slice().iter().map(|issue| issue.message.clone()).collect(),
            scripts.map(|script| (script.name.clone(), script.weight)).collect(),
        )
    }

    #[test]
    fn several_scripts_have_names_and_weights() {
        let (issues, scripts) = told(
            "protocol = \"extended\"\nscripts = [{ name = \"read\", weight = 80, file = \"read.pgbench\" }, \
             { name = \"write\", script = '''\\set x 1\nUPDATE t;''' }]",
        );
        assert_eq!(issues, [""; 0]);
        assert_eq!(scripts, [("read".to_owned(), 80), ("write".to_owned(), 1)]);
        assert_eq!(told("script = 'SELECT 1'").1, [("w".to_owned(), 1)]);
    }

    #[test]
    fn mistakes_of_scripts_are_told() {
        for (keys, expected) in [
            ("scripts = []", "workload `w` has an empty list of scripts"),
            (
                "script = 'A'\nscripts = [{ name = \"r\", script = 'A' }]",
                "workload `w` has both `script` and `scripts`",
            ),
            (
                "scripts = [{ name = \"r\", script = 'A' }, { name = \"r\", script = 'B' }]",
                "workload `w` has two scripts named `r`",
            ),
            ("scripts = [{ script = 'A' }]", "a script of workload `w` has no `name`"),
            ("scripts = [{ name = \"R\", script = 'A' }]", "`R` is no name for a script"),
            ("scripts = [{ name = \"r\" }]", "a script of workload `w` has none of `script`, `file`, `builtin`"),
            ("script = 'A'\nbuiltin = \"select-only\"", "workload `w` has both `script` and `builtin`"),
            ("scripts = [{ name = \"r\", file = \"read.pgbench\" }]", "the variable `:x` has no value here"),
            ("script = '\\startpipeline'", "end of script reached with pipeline open"),
            (
                "protocol = \"simple\"\nscript = '''\\startpipeline\nA;\n\\endpipeline'''",
                "the simple protocol has no pipelines",
            ),
            ("protocol = \"extended\"\nscript = '''\\set x 1\nA ':x';'''", "`:x` stands in quotes"),
            ("script = '\\shell ls'", "`\\shell` runs host commands and is refused"),
        ] {
            let (issues, scripts) = told(keys);
            assert!(issues.len() == 1 && issues[0].starts_with(expected), "{keys}: {issues:?}");
            assert_eq!(scripts, [], "{keys}");
        }
    }
}
