//! Templates: compiled once for each place they are written at, rendered for each cell.

use std::collections::HashMap;

use super::numbered::NUMBER;
use super::unread::Unread;
use crate::text::{Code, Issue, SourceMap, Span};

/// The variables of a cell.
#[derive(Default)]
pub(super) struct Variables {
    context: tera::Context,
    names: Vec<String>,
    /// Those whose own value could not be had, which is told where they are defined.
    poisoned: Vec<String>,
    /// What could not be read: a variable that seems to be undefined may be in it.
    unread: Unread,
}

impl Variables {
    /// None yet, for a cell of which this could not be read.
    pub(super) fn new(unread: Unread) -> Self {
        Self { unread, ..Self::default() }
    }

    /// Gives a variable its value.
    pub(super) fn insert<T: serde::Serialize + ?Sized>(&mut self, name: &str, value: &T) {
        self.context.insert(name.to_owned(), value);
        self.names.push(name.to_owned());
    }

    /// Takes a variable away.
    pub(super) fn remove(&mut self, name: &str) {
        self.context.remove(name);
        self.names.retain(|known| known != name);
    }

    /// Defines a variable whose value could not be had.
    pub(super) fn poison(&mut self, name: &str) {
        self.insert(name, &1);
        self.poisoned.push(name.to_owned());
    }

    /// Whether a variable of that name is defined.
    pub(super) fn contains(&self, name: &str) -> bool {
        self.context.contains_key(name)
    }

    /// Whether the value of any could not be had.
    pub(super) fn any_poisoned(&self) -> bool {
        !self.poisoned.is_empty()
    }
}

/// The template engine with what it compiled: the variables that each template uses, or what is wrong with it.
pub(super) struct Engine<'s> {
    tera: tera::Tera,
    compiled: HashMap<Span, Result<Vec<String>, Issue>>,
    sources: &'s SourceMap,
}

impl<'s> Engine<'s> {
    pub(super) fn new(sources: &'s SourceMap) -> Self {
        let mut tera = tera::Tera::default();
        // SQL and scripts are no HTML.
        tera.autoescape_on(Vec::<&str>::new());
        Engine { tera, compiled: HashMap::new(), sources }
    }

    pub(super) fn sources(&self) -> &'s SourceMap {
        self.sources
    }

    /// The text that the template written at `at` gives, or every mistake in it: none if it only uses a variable
    /// whose own mistake is told elsewhere. An undefined variable is a mistake wherever it stands, where the
    /// template engine would take it for false or for nothing.
    pub(super) fn render(&mut self, text: &str, at: Span, variables: &Variables) -> Result<String, Vec<Issue>> {
        let name = format!("{}..{}", at.start, at.end);
        if !self.compiled.contains_key(&at) {
            let compiled = self.compile(&name, text, at);
            self.compiled.insert(at, compiled);
        }
        let uses = match &self.compiled[&at] {
            Ok(uses) => uses,
            Err(issue) => return Err(vec![issue.clone()]),
        };
        let undefined: Vec<Issue> = uses
            .iter()
            .filter(|name| !variables.contains(name) && !variables.unread.covers(&["vars", name]))
            .map(|name| self.undefined(name, text, at, &variables.names))
            .collect();
        if uses.iter().any(|name| !variables.contains(name))
            || uses.iter().any(|name| variables.poisoned.contains(name))
        {
            return Err(undefined);
        }
        self.tera.render(&name, &variables.context).map_err(|error| vec![self.explain(&error, text, at)])
    }

    fn compile(&mut self, name: &str, text: &str, at: Span) -> Result<Vec<String>, Issue> {
        self.tera.add_raw_template(name, text).map_err(|error| self.explain(&error, text, at))?;
        let variables = self.tera.get_template_variables(name).map_err(|error| self.explain(&error, text, at))?;
        let mut variables: Vec<String> = variables.into_iter().map(str::to_owned).collect();
        variables.sort();
        Ok(variables)
    }

    /// A variable that is not defined, at its first use.
    fn undefined(&self, name: &str, text: &str, at: Span, known: &[String]) -> Issue {
        let place = first_use(text, name).map_or(at, |range| match self.offset(at, text) {
            Some(start) => at.part(start + range.start..start + range.end),
            None => at,
        });
        let issue = Issue::new(
            Code::UnknownVariable,
            format!("no variable is named `{name}`"),
            place,
            "not defined under [vars]",
        );
        if name == NUMBER {
            return issue.help("it is the number of a copy, in tables that have a `count`");
        }
        issue.suggest(name, known.iter().map(String::as_str))
    }

    /// The engine's byte range inside the value as bytes of the file, where the literal has no escapes; else
    /// the whole value.
    fn explain(&self, error: &tera::Error, text: &str, at: Span) -> Issue {
        use tera::ErrorKind::{Msg, RenderingError, SyntaxError};
        let (message, inner) = match error.kind() {
            SyntaxError(report) | RenderingError(report) => {
                (report.message().to_owned(), Some(report.span().range.clone()))
            }
            Msg(whole) => {
                let first = whole.lines().next().unwrap_or(whole);
                (first.trim_start_matches("error: ").to_owned(), None)
            }
            _ => (error.to_string(), None),
        };
        let place = inner
            .and_then(|range| Some(at.part(self.offset(at, text)?..self.offset(at, text)? + text.len()).part(range)))
            .unwrap_or(at);
        Issue::new(
            Code::Template,
            format!("the template does not render: {}", lower_first(message.trim_end_matches('.'))),
            place,
            "in this template",
        )
        .help("mend the expression, or wrap braces that are no template in {% raw %} … {% endraw %}")
    }

    /// Where the decoded text begins inside what is written at `at`, if the two are byte for byte the same.
    fn offset(&self, at: Span, text: &str) -> Option<usize> {
        text_start(self.sources.slice(at)?, text)
    }

    /// The place of `range` of a decoded text that is written at `at`. Where escapes or templates make the two
    /// differ, the place of what is in that range, if it stands there once; else the whole.
    pub(super) fn place(&self, at: Span, text: &str, range: std::ops::Range<usize>) -> Span {
        if let Some(start) = self.offset(at, text) {
            return at.part(start + range.start..start + range.end);
        }
        let (Some(literal), Some(part)) = (self.sources.slice(at), text.get(range)) else { return at };
        let mut found = literal.match_indices(part);
        match (found.next(), found.next()) {
            (Some((start, _)), None) if !part.trim().is_empty() => at.part(start..start + part.len()),
            _ => at,
        }
    }
}

/// Where a template first uses a variable: a word within braces that is no part of a longer one and no field.
fn first_use(template: &str, name: &str) -> Option<std::ops::Range<usize>> {
    let of_word = |c: char| c.is_alphanumeric() || c == '_';
    let opened = |before: &str| {
        let last = |marks: [&str; 2]| marks.iter().filter_map(|mark| before.rfind(mark)).max();
        last(["{{", "{%"]) > last(["}}", "%}"])
    };
    template.match_indices(name).map(|(start, _)| start..start + name.len()).find(|range| {
        let (before, after) = (&template[..range.start], &template[range.end..]);
        opened(before) && !before.ends_with(of_word) && !before.ends_with('.') && !after.starts_with(of_word)
    })
}

fn lower_first(message: &str) -> String {
    let mut chars = message.chars();
    chars.next().map_or_else(String::new, |first| first.to_lowercase().chain(chars).collect())
}

/// Where the decoded text begins inside the literal (a TOML string, or a file as it is).
fn text_start(literal: &str, text: &str) -> Option<usize> {
    if literal == text {
        return Some(0);
    }
    for quote in ["'''", "\"\"\"", "'", "\""] {
        if let Some(rest) = literal.strip_prefix(quote) {
            let newline = match quote.len() {
                3 if rest.starts_with("\r\n") => 2,
                3 => usize::from(rest.starts_with('\n')),
                _ => 0,
            };
            return (rest.get(newline..)?.strip_suffix(quote)? == text).then_some(quote.len() + newline);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_use_of_a_variable_is_in_braces_and_a_whole_word() {
        for (template, expected) in [
            ("rows {{ rows }}", Some(8..12)),
            ("{{ all_rows }} {{ a.rows }} {{ rows_2 }} {% if rows %}", Some(47..51)),
            ("rows", None),
        ] {
            assert_eq!(first_use(template, "rows"), expected, "{template}");
        }
    }

    #[test]
    fn a_range_of_a_string_is_found_in_its_literal() {
        for (literal, text, expected) in
            [("'ab'", "ab", Some(1)), ("'''\nab'''", "ab", Some(4)), ("\"a\\tb\"", "a\tb", None), ("ab", "ab", Some(0))]
        {
            assert_eq!(text_start(literal, text), expected, "{literal}");
        }
    }
}
