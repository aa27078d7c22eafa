//! Numbered tables: `count = N` makes NAME1 … NAMEN of one table, and `NAME*` means all of them where there may be
//! several. In the templates of a copy the variable `number` is its number.

use super::field::{At, Field, Named};
use super::root::RawSpec;
use super::scalar::{Number, Text};
use super::scope::{Kind, Scope};
use super::unread::Unread;
use crate::text::{Code, Issue, Issues, copy_number};

/// The variable that tells a copy from the others.
pub(super) const NUMBER: &str = "number";

/// The key.
pub(super) const COUNT: &str = "count";

/// More copies than anyone means.
const MOST: u64 = 1_000;

/// A table that `count` may multiply.
pub(super) trait Numbered {
    /// What of its table refers to it.
    const KIND: Kind;
    /// The key as written.
    fn count(&self) -> &Field<Number>;
}

/// One of them, or a table without `count`.
pub(super) struct Copy<'r, T> {
    /// What it is called, at the place of the table's name.
    pub(super) name: At<String>,
    /// The table's name.
    pub(super) base: &'r At<String>,
    /// What is written.
    pub(super) raw: &'r At<T>,
    /// Its number from 1; `None` without `count`.
    pub(super) number: Option<u64>,
}

/// How many there are of a table with `count`; `None` if that could not be had, which is told.
pub(super) type Counted = (String, Option<u64>);

/// The copies of all tables, in order. Their names are known from here on.
pub(super) fn copies<'r, T: Numbered>(raw: &'r Named<T>, scope: &mut Scope<'_, '_>) -> Vec<Copy<'r, T>> {
    let mut out: Vec<Copy<'r, T>> = Vec::new();
    for (base, at) in raw {
        if !is_numbered(base, at, &scope.unread) {
            out.push(Copy { name: base.clone(), base, raw: at, number: None });
            continue;
        }
        let count = count(base, at, scope);
        if count.is_none() {
            scope.unread.note(None, [T::KIND.words().2, &base.value, COUNT]);
        }
        scope.names.count(T::KIND, (base.value.clone(), count));
        for number in 1..=count.unwrap_or(0) {
            let name = At { span: base.span, value: format!("{}{number}", base.value) };
            super::tables::setup::check_name(&name, scope);
            out.push(Copy { name, base, raw: at, number: Some(number) });
        }
    }
    scope.names.define(T::KIND, out.iter().map(|copy| copy.name.value.clone()));
    out
}

/// Tells what is called like a copy, wherever in the spec and however many copies there are: `NAME*` must mean the copies
/// and nothing else. A slot is called like a subscription, whose slot has its name.
pub(super) fn tell_mistakable(raws: &[(RawSpec, Unread)], issues: &mut Issues) {
    let digits = |name: &str, base: &str| {
        let rest = name.strip_prefix(base).filter(|rest| !rest.is_empty());
        rest.is_some_and(|rest| rest.bytes().all(|byte| byte.is_ascii_digit()))
    };
    let mut tell = |bases: Vec<&At<String>>, others: Vec<&At<String>>| {
        for base in bases {
            for other in others.iter().filter(|other| digits(&other.value, &base.value)) {
                let message = format!("`{}` has the name of a copy of `{}`", other.value, base.value);
                issues.push(
                    Issue::new(Code::Both, message, other.span, "this")
                        .also(base.span, "numbered by its `count`")
                        .help("rename one of them"),
                );
            }
        }
    };
    let raws = || raws.iter();
    tell(
        raws().flat_map(|(raw, unread)| bases(&raw.nodes, unread, true)).collect(),
        raws().flat_map(|(raw, _)| raw.nodes.keys()).collect(),
    );
    tell(
        raws().flat_map(|(raw, unread)| bases(&raw.subscriptions, unread, true)).collect(),
        raws().flat_map(|(raw, _)| raw.subscriptions.keys().chain(raw.slots.keys())).collect(),
    );
}

fn count<T: Numbered>(base: &At<String>, at: &At<T>, scope: &mut Scope<'_, '_>) -> Option<u64> {
    let Some(field) = at.value.count() else {
        scope.failed = true;
        return None;
    };
    let written = scope.at(field)?;
    if scope.vars.contains(NUMBER) {
        scope.tell(
            Issue::new(
                Code::Both,
                format!("`{NUMBER}` is the number of a copy of `{}`, and a variable", base.value),
                written.span,
                "numbers copies",
            )
            .help(format!("give the variable `{NUMBER}` under [vars] another name")),
        );
        return None;
    }
    let Number(count) = written.value;
    if count > MOST {
        scope.tell(
            Issue::new(Code::Impossible, format!("{count} copies of `{}`", base.value), written.span, "too many")
                .help(format!("write at most {MOST}")),
        );
        return None;
    }
    Some(count)
}

/// The copies that a name with `*` means, or the one of that name; each known. What is wrong is told.
pub(super) fn resolve(kind: Kind, name: &At<Text>, scope: &mut Scope<'_, '_>) -> Vec<String> {
    let Some(base) = name.value.0.strip_suffix('*') else {
        return if scope.known(kind, name) { vec![name.value.0.clone()] } else { Vec::new() };
    };
    let counted = scope.names.counted(kind).find(|(known, _)| known == base).map(|(_, count)| *count);
    match counted {
        Some(Some(count)) => (1..=count).map(|number| format!("{base}{number}")).collect(),
        // How many there are could not be had, which is told.
        Some(None) => {
            scope.failed = true;
            Vec::new()
        }
        None => {
            let bases: Vec<String> = scope.names.counted(kind).map(|(base, _)| format!("{base}*")).collect();
            let (code, table, tables) = kind.words();
            if scope.unread.covers(&[tables, base]) {
                scope.failed = true;
                return Vec::new();
            }
            let issue = Issue::new(
                code,
                format!("there are no numbered {table}s `{}`", name.value.0),
                name.span,
                format!("none under [{tables}] with `count`"),
            );
            scope.tell(if bases.is_empty() {
                issue.help(if base.is_empty() {
                    "name each by itself; NAME* means the copies of a table with `count`".to_owned()
                } else {
                    format!("give [{tables}.{base}] a `count`, or name each by itself")
                })
            } else {
                issue.suggest(&name.value.0, bases.iter().map(String::as_str))
            });
            Vec::new()
        }
    }
}

/// Whether a table has a `count`, be it one that could not be read.
fn is_numbered<T: Numbered>(base: &At<String>, at: &At<T>, unread: &Unread) -> bool {
    at.value.count().is_some() || unread.names_below(&[T::KIND.words().2, &base.value]).any(|key| key == COUNT)
}

/// Names of the tables that are numbered, or of those that are not.
pub(super) fn bases<'r, T: Numbered>(raw: &'r Named<T>, unread: &Unread, numbered: bool) -> Vec<&'r At<String>> {
    raw.iter().filter(|(name, at)| is_numbered(name, at, unread) == numbered).map(|(name, _)| name).collect()
}

/// Whether a name is that of a copy of `base`, or stands for all of them.
pub(super) fn is_copy(name: &str, base: &str) -> bool {
    copy_number(name, base).is_some() || name.strip_suffix('*') == Some(base)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use crate::spec::scenario::Action;
    use crate::spec::{Options, Read, Spec, read};
    use crate::text::source::SourceMap;

    const SPEC: &str = r#"
title = "t"
[vars]
standbys = 2
[[matrix]]
axes = { standbys = [0, 1, 3] }
[nodes.p]
synchronous = { any = 1, of = ["subscriptions.spare", "subscriptions.feed*", "subscriptions.spare"] }
[nodes.s]
count = "{{ standbys }}"
settings = { work_mem = "{{ number }}MB" }
[nodes.x]
[[setup]]
name = "table"
nodes = ["p", "s*", "x", "p"]
sql = "CREATE TABLE t (id int PRIMARY KEY)"
[publications.all]
node = "p"
tables = ["t"]
[subscriptions.feed]
count = "{{ standbys }}"
node = "s{{ number }}"
publications = ["all"]
[subscriptions.spare]
node = "x"
publications = ["all"]
[workloads.w]
node = "p"
transactions = 1
script = "SELECT 1"
[[phases]]
name = "load"
run = ["w"]
[[phases]]
name = "drain"
prepare = [{ disable = "subscriptions.feed*" }]
start = [{ enable = "subscriptions.feed*" }]
wait = "applied"
[[report.tables]]
title = "CPU"
each = "scenario"
columns = [{ title = "all", value = "load.cpu{node=s*}" }, { title = "third", value = "drain.visible_seconds{node=s3}" }]
"#;

    fn told(text: &str) -> (Spec, Vec<(String, String)>) {
        let mut sources = SourceMap::default();
        sources.add("s.toml", text.to_owned());
        let Read::Done(spec, issues) = read(Path::new("s.toml"), &sources, Options::default()) else {
            panic!("all texts are there");
        };
        let issues = issues.as_slice().iter();
        (*spec, issues.map(|issue| (issue.message.clone(), issue.help.clone().unwrap_or_default())).collect())
    }

    #[test]
    fn a_count_makes_numbered_nodes_and_subscriptions_in_each_cell() {
        let (spec, issues) = told(SPEC);
        assert_eq!(issues, []);
        let keys = |cell: usize| {
            let scenario = &spec.cells[cell].scenario;
            let of = |names: &mut dyn Iterator<Item = &String>| names.cloned().collect::<Vec<_>>().join(" ");
            (of(&mut scenario.nodes.keys()), of(&mut scenario.subscriptions.keys()), scenario.setup[0].nodes.join(" "))
        };
        let strings = |a: &str, b: &str, c: &str| (a.to_owned(), b.to_owned(), c.to_owned());
        assert_eq!(keys(0), strings("p x", "spare", "p x"));
        assert_eq!(keys(1), strings("p s1 x", "feed1 spare", "p s1 x"));
        assert_eq!(keys(2), strings("p s1 s2 s3 x", "feed1 feed2 feed3 spare", "p s1 s2 s3 x"));
        let three = &spec.cells[2].scenario;
        assert_eq!(three.nodes["s3"].settings["work_mem"].value, "3MB");
        assert_eq!(
            (three.subscriptions["feed2"].node.as_str(), three.subscriptions["feed2"].publisher.as_str()),
            ("s2", "p")
        );
        let synchronous = three.nodes["p"].synchronous.as_ref().expect("written");
        assert_eq!(synchronous.of, ["spare", "feed1", "feed2", "feed3"]);
        let disabled: Vec<_> = three.phases[1].prepare.iter().map(|step| &step.action).collect();
        assert!(
            matches!(&disabled[..], [Action::Disable(a), Action::Disable(_), Action::Disable(c)] if a == "feed1" && c == "feed3")
        );
        assert_eq!(spec.cells[0].scenario.phases[1].start.len(), 0);
    }

    #[test]
    fn mistakes_with_counts_are_told_once_with_a_way_out() {
        let counts = "count = \"{{ standbys }}\"\nsettings";
        let slot = |name: &str| format!("[slots.{name}]\nnode = \"p\"\nplugin = \"test_decoding\"\n[workloads.w]");
        for (from, to, expected) in [
            (
                "\"s{{ number }}\"",
                "\"s\"",
                &[("there is no node `s`", "or `s{{ number }}` in what is numbered alike")][..],
            ),
            ("\"s{{ number }}\"", "\"s*\"", &[("there is no node `s*`", "such as `s1`")]),
            ("\"x\"", "\"s{{ number }}\"", &[("no variable is named `number`", "in tables that have a `count`")]),
            ("\"p\", \"s*\", \"x\"", "\"x*\"", &[("there are no numbered nodes `x*`", "did you mean `s*`?")]),
            (
                "subscriptions.spare\", ",
                "subscriptions.spare*\", ",
                &[("there are no numbered subscriptions `spare*`", "choose one of `feed*`")],
            ),
            ("[nodes.x]", "[nodes.s2]\n[nodes.x]", &[("`s2` has the name of a copy of `s`", "rename one of them")]),
            ("[nodes.x]", "[nodes.s7]\ncount = 1\n[nodes.x]", &[("`s7` has the name of a copy of `s`", "rename")]),
            ("[nodes.x]", "[nodes.s007]\n[nodes.x]", &[("`s007` has the name of a copy of `s`", "rename")]),
            // The slot of a subscription has its name, so that `feed*` would mean this one too.
            ("[workloads.w]", &slot("feed9"), &[("`feed9` has the name of a copy of `feed`", "rename one of them")]),
            ("[workloads.w]", &slot("feed2"), &[("`feed2` has the name of a copy of `feed`", "rename one of them")]),
            // Even where the copies are left out of the only scenario that has the other.
            (
                "[[report.tables]]",
                "[[scenarios]]\nname = \"a\"\n[[scenarios]]\nname = \"b\"\nwithout = [\"nodes.s\", \"subscriptions.feed\", \
                 \"setup.table\", \"phases.drain\", \"nodes.p.synchronous\"]\n[scenarios.nodes.s5]\n[[report.tables]]",
                &[("`s5` has the name of a copy of `s`", "rename one of them")],
            ),
            (
                "[vars]",
                "[vars]\nnumber = 1",
                &[
                    ("`number` is the number of a copy of `s`, and a variable", "another name"),
                    ("`number` is the number of a copy of `feed`, and a variable", "another name"),
                ],
            ),
            (counts, "count = -1\nsettings", &[("-1 is not a whole number from 0", "such as 2")]),
            (counts, "count = \"{{ standbys * 999 }}\"\nsettings", &[("2997 copies of `s`", "at most 1000")]),
            (counts, "count = \"{{ standby }}\"\nsettings", &[("no variable is named `standby`", "mean `standbys`?")]),
            ("node=s3", "node=s4", &[("there is no node `s4`", "`s*`")]),
            ("node=s*", "node=x*", &[("there is no node `x*`", "")]),
            ("node=s*", "node=feed1", &[("there is no node `feed1`", "`s*`")]),
            ("any = 1", "any = 2", &[("2 must confirm, and 1 can", "lower it")]),
            (
                "\"subscriptions.spare\", \"subscriptions.feed*\", \"subscriptions.spare\"",
                "\"subscriptions.feed*\"",
                &[("1 must confirm, and 0 can", "leave `synchronous` out")],
            ),
            ("\"p\", \"s*\", \"x\", \"p\"", "\"*\"", &[("there are no numbered nodes `*`", "choose one of `s*`")]),
        ] {
            let text = SPEC.replacen(from, to, 1);
            assert_ne!(text, SPEC, "{from}");
            let issues = told(&text).1;
            let same = issues.len() == expected.len()
                && issues
                    .iter()
                    .zip(expected)
                    .all(|(told, (message, help))| told.0 == *message && told.1.contains(help));
            assert!(same, "{to}: {issues:#?}");
        }
    }
}
