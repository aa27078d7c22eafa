//! What lowering of one cell works in: the cell's variables, the names that exist, and where mistakes go.

use std::path::PathBuf;

use indexmap::IndexMap;

use super::field::{At, Field, Later, Scalar, Templated, is_template, without_example};
use super::numbered::{Counted, NUMBER, is_copy};
use super::scalar::Text;
use super::tables::builds::Build;
use super::template::{Engine, Variables};
use super::unread::{ANY_KEY, Unread};
use crate::text::source::relative_to;
use crate::text::{Code, Issue, Issues, Span};

/// A value with where it was set; without a place it is the product's default.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chosen<T> {
    /// The value.
    pub value: T,
    /// Where it was written, `None` for the default.
    pub at: Option<Span>,
}

impl<T> Chosen<T> {
    /// The product's default.
    pub fn default_of(value: T) -> Self {
        Self { value, at: None }
    }
}

/// Names that a cell defines, for references and suggestions.
#[derive(Default)]
pub(super) struct Names {
    pub(super) nodes: Vec<String>,
    pub(super) publications: Vec<String>,
    pub(super) subscriptions: Vec<String>,
    pub(super) workloads: Vec<String>,
    /// Those of them with `count`.
    counted: Vec<(Kind, Counted)>,
}

impl Names {
    fn all(&self, kind: Kind) -> &[String] {
        match kind {
            Kind::Node => &self.nodes,
            Kind::Publication => &self.publications,
            Kind::Subscription => &self.subscriptions,
            Kind::Workload => &self.workloads,
        }
    }

    /// Defines names of that kind.
    pub(super) fn define(&mut self, kind: Kind, names: impl IntoIterator<Item = String>) {
        match kind {
            Kind::Node => self.nodes.extend(names),
            Kind::Publication => self.publications.extend(names),
            Kind::Subscription => self.subscriptions.extend(names),
            Kind::Workload => self.workloads.extend(names),
        }
    }

    /// Notes how many copies there are of a table.
    pub(super) fn count(&mut self, kind: Kind, counted: Counted) {
        self.counted.push((kind, counted));
    }

    /// Tables of that kind with `count`.
    pub(super) fn counted(&self, kind: Kind) -> impl Iterator<Item = &Counted> {
        self.counted.iter().filter(move |(other, _)| *other == kind).map(|(_, counted)| counted)
    }
}

/// The surroundings of one cell's lowering.
pub(super) struct Scope<'a, 's> {
    pub(super) engine: &'a mut Engine<'s>,
    pub(super) vars: Variables,
    pub(super) names: Names,
    pub(super) issues: &'a mut Issues,
    pub(super) missing: &'a mut Vec<PathBuf>,
    /// Builds that nodes may name; `None` for one that is wrong and told.
    pub(super) builds: IndexMap<String, Option<Build>>,
    /// What is written but could not be read.
    pub(super) unread: Unread,
    /// Whether a copy of a numbered table is being read.
    pub(super) numbered: bool,
    /// Whether anything was wrong with this cell, told now or for an earlier cell.
    pub(super) failed: bool,
}

impl Scope<'_, '_> {
    /// Tells a mistake; this cell cannot be run.
    pub(super) fn tell(&mut self, issue: Issue) {
        self.failed = true;
        self.issues.push(issue);
    }

    /// Enters a copy of a numbered table, in whose templates its number is a variable; `None` leaves it.
    pub(super) fn number(&mut self, number: Option<u64>) {
        if std::mem::replace(&mut self.numbered, number.is_some()) {
            self.vars.remove(NUMBER);
        }
        if let Some(number) = number {
            self.vars.insert(NUMBER, &number);
        }
    }

    /// The value of a key. `None` is absent, or wrong and told.
    pub(super) fn value<T: Scalar>(&mut self, field: &Field<T>) -> Option<At<T>> {
        self.at(field.as_ref()?)
    }

    /// The value of a place.
    pub(super) fn at<T: Scalar>(&mut self, field: &At<Templated<T>>) -> Option<At<T>> {
        let value = match &field.value {
            Templated::Literal(value) => value.clone(),
            Templated::Template(template) => {
                let text = self.render(template, field.span)?;
                let Some(value) = T::rendered(&text) else {
                    self.tell(
                        Issue::new(
                            Code::TemplateValue,
                            format!("this template gives `{text}`, which is not {}", without_example(T::EXPECTED)),
                            field.span,
                            format!("gives `{text}`"),
                        )
                        .help(format!(
                            "make it give {}",
                            T::EXPECTED.split(", or one template").next().unwrap_or(T::EXPECTED)
                        )),
                    );
                    return None;
                };
                value
            }
        };
        Some(At { span: field.span, value })
    }

    /// The value of a key with its place, or the default.
    pub(super) fn chosen<T: Scalar, U>(&mut self, field: &Field<T>, default: U, into: fn(T) -> U) -> Chosen<U> {
        match self.value(field) {
            Some(at) => Chosen { value: into(at.value), at: Some(at.span) },
            None => Chosen::default_of(default),
        }
    }

    /// What a template gives. `None` is wrong and told, here or where a variable that it uses is defined.
    fn render(&mut self, template: &str, at: Span) -> Option<String> {
        match self.engine.render(template, at, &self.vars) {
            Ok(text) => Some(text),
            Err(mistakes) => {
                self.failed = true;
                for mistake in mistakes {
                    self.issues.push(mistake);
                }
                None
            }
        }
    }

    /// Begins a table by name: where part of it stands under a misspelt key, nothing is missing from it for sure.
    pub(super) fn enter(&mut self, tables: &str, name: &At<String>, table: Span) {
        if self.unread.covers(&[tables, &name.value]) {
            self.unread.note(Some(table), [ANY_KEY]);
        }
    }

    /// A key that must be there, in the table at `table`; its absence is shown at `at`.
    pub(super) fn required<T: Scalar>(
        &mut self,
        field: &Field<T>,
        key: &str,
        owner: &str,
        (table, at): (Span, Span),
    ) -> Option<At<T>> {
        if field.is_none() {
            self.missing_key(key, owner, (table, at));
        }
        self.value(field)
    }

    /// Tells a key that is absent from the table at `table`, unless it is there and could not be read.
    pub(super) fn missing_key(&mut self, key: &str, owner: &str, (table, at): (Span, Span)) {
        if self.unread.key(table, key) {
            self.failed = true;
            return;
        }
        let one_of = |names: &[String]| match names {
            [] => String::new(),
            _ => format!(", one of {}", names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")),
        };
        let help = match key {
            "node" => format!("add `node = \"…\"`{}", one_of(&self.names.nodes)),
            "nodes" => format!(
                "add `nodes = \"all\"`, or a list of them such as `nodes = [\"…\"]`{}",
                one_of(&self.names.nodes)
            ),
            "publications" => format!("add `publications = [\"…\"]`{}", one_of(&self.names.publications)),
            _ => format!("add `{key} = \"…\"`"),
        };
        self.tell(Issue::new(Code::MissingKey, format!("{owner} has no `{key}`"), at, "this one").help(help));
    }

    /// Refuses a part of the language that is not there yet.
    pub(super) fn later(&mut self, field: Option<&At<Later>>, key: &str, comes_with: &str) -> bool {
        if let Some(at) = field {
            self.tell(not_yet(key, comes_with, at.span));
        }
        field.is_some()
    }

    /// Whether a referenced name is defined.
    pub(super) fn known(&mut self, kind: Kind, name: &At<Text>) -> bool {
        let (written, names) = (name.value.0.as_str(), self.names.all(kind));
        if names.iter().any(|known| known == written) {
            return true;
        }
        let (code, table, tables) = kind.words();
        let of_unknown = |(base, count): &Counted| count.is_none() && is_copy(written, base);
        if self.unread.covers(&[tables, written]) || self.names.counted(kind).any(of_unknown) {
            self.failed = true;
            return false;
        }
        let issue = Issue::new(
            code,
            format!("there is no {table} `{written}`"),
            name.span,
            format!("not defined under [{tables}]"),
        );
        let issue = match self.names.counted(kind).find(|(base, _)| base == written.trim_end_matches('*')) {
            // All of them are no one.
            Some((base, _)) => issue.help(format!(
                "`{base}` is numbered by its `count`: name one of them, such as `{base}1`, or `{base}{{{{ number }}}}` in what is numbered alike"
            )),
            None => issue.suggest(written, names.iter().map(String::as_str)),
        };
        self.tell(issue);
        false
    }

    /// The text of a file named in the spec, rendered for this cell. Its path belongs to the file it is written
    /// in. `None` if it is wanted first, or wrong and told.
    pub(super) fn file(&mut self, field: &At<Templated<Text>>) -> Option<At<String>> {
        let written = self.at(field)?;
        let sources = self.engine.sources();
        let path = relative_to(&sources.file_of(written.span).path, &written.value.0);
        if let Some(why) = sources.absent(&path) {
            self.tell(
                Issue::new(
                    Code::Unreadable,
                    format!("cannot read `{}`: {why}", path.display()),
                    written.span,
                    "named here",
                )
                .help("write the path as seen from the file that names it"),
            );
            return None;
        }
        let Some(file) = sources.by_path(&path) else {
            self.missing.push(path);
            return None;
        };
        let (span, text) = (file.span(), file.text.clone());
        self.text(&text, span)
    }

    /// A text that may be a template, at its place.
    pub(super) fn text(&mut self, text: &str, span: Span) -> Option<At<String>> {
        if !is_template(text) {
            return Some(At { span, value: text.to_owned() });
        }
        self.render(text, span).map(|value| At { span, value })
    }

    /// Exactly one of these keys of the table at `table`; that none is there is shown at `at`.
    pub(super) fn exactly_one(
        &mut self,
        owner: &str,
        (table, at): (Span, Span),
        keys: &[(&str, Option<Span>)],
    ) -> bool {
        let mut given: Vec<&(&str, Option<Span>)> = keys.iter().filter(|(_, span)| span.is_some()).collect();
        given.sort_by_key(|(_, span)| *span);
        let list = keys.iter().map(|(key, _)| format!("`{key}`")).collect::<Vec<_>>().join(", ");
        match given.as_slice() {
            [_] => true,
            [] if keys.iter().any(|(key, _)| self.unread.key(table, key)) => {
                self.failed = true;
                false
            }
            [] => {
                self.tell(
                    Issue::new(Code::Neither, format!("{owner} has none of {list}"), at, "this one")
                        .help(format!("add exactly one of {list}")),
                );
                false
            }
            [(first, a), (second, b), ..] => {
                self.tell(
                    Issue::new(
                        Code::Both,
                        format!("{owner} has both `{first}` and `{second}`"),
                        a.unwrap_or(at),
                        "this",
                    )
                    .also(b.unwrap_or(at), "and this")
                    .help(format!("keep exactly one of {list}")),
                );
                false
            }
        }
    }
}

/// The issue of a part of the language that comes later.
pub(super) fn not_yet(key: &str, comes_with: &str, at: Span) -> Issue {
    Issue::new(Code::NotYet, format!("`{key}` comes with {comes_with}"), at, "not there yet")
        .help("leave it out for now")
}

/// Kinds of names that other tables refer to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Node,
    Publication,
    Subscription,
    Workload,
}

impl Kind {
    /// The code of a name that is none, what such a thing is called, and its table.
    pub(super) fn words(self) -> (Code, &'static str, &'static str) {
        match self {
            Kind::Node => (Code::UnknownNode, "node", "nodes"),
            Kind::Publication => (Code::UnknownPublication, "publication", "publications"),
            Kind::Subscription => (Code::UnknownSubscription, "subscription", "subscriptions"),
            Kind::Workload => (Code::UnknownWorkload, "workload", "workloads"),
        }
    }
}

/// Whether a name follows the rule `[a-z][a-z0-9_]*`, within PostgreSQL's 63 bytes.
pub(super) fn is_name(name: &str) -> bool {
    name.len() <= 63
        && name.starts_with(|c: char| c.is_ascii_lowercase())
        && name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
}
