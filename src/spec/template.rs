//! Templates: compiled once for each place they are written at, rendered for each cell.

use std::collections::{HashMap, HashSet};

use crate::text::{Code, Issue, SourceMap, Span};

/// The template engine with what it compiled.
pub(super) struct Engine<'s> {
    tera: tera::Tera,
    compiled: HashSet<Span>,
    broken: HashMap<Span, Issue>,
    sources: &'s SourceMap,
}

impl<'s> Engine<'s> {
    pub(super) fn new(sources: &'s SourceMap) -> Self {
        let mut tera = tera::Tera::default();
        // SQL and scripts are no HTML.
        tera.autoescape_on(Vec::<&str>::new());
        Engine { tera, compiled: HashSet::new(), broken: HashMap::new(), sources }
    }

    pub(super) fn sources(&self) -> &'s SourceMap {
        self.sources
    }

    /// The text that the template written at `at` gives.
    pub(super) fn render(&mut self, text: &str, at: Span, vars: &tera::Context) -> Result<String, Issue> {
        let name = format!("{}..{}", at.start, at.end);
        if self.compiled.insert(at)
            && let Err(error) = self.tera.add_raw_template(&name, text)
        {
            let issue = self.explain(&error, text, at);
            self.broken.insert(at, issue);
        }
        if let Some(issue) = self.broken.get(&at) {
            return Err(issue.clone());
        }
        self.tera.render(&name, vars).map_err(|error| self.explain(&error, text, at))
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
        if let Some(rest) = message.strip_prefix("Variable `")
            && let Some((name, rest)) = rest.split_once("` is not defined")
        {
            let known: Vec<&str> =
                rest.split_once("variables: ").map(|(_, list)| list.split(", ").collect()).unwrap_or_default();
            return Issue::new(
                Code::UnknownVariable,
                format!("no variable is named `{name}`"),
                place,
                "not defined under [vars]",
            )
            .suggest(name, known);
        }
        Issue::new(
            Code::Template,
            format!("the template does not render: {}", lower_first(&message)),
            place,
            "in this template",
        )
        .help("wrap braces that are no template in {% raw %} … {% endraw %}")
    }

    /// Where the decoded text begins inside what is written at `at`, if the two are byte for byte the same.
    fn offset(&self, at: Span, text: &str) -> Option<usize> {
        text_start(self.sources.slice(at)?, text)
    }

    /// The place of `range` of a decoded text that is written at `at`; the whole place where escapes intervene.
    pub(super) fn place(&self, at: Span, text: &str, range: std::ops::Range<usize>) -> Span {
        match self.offset(at, text) {
            Some(start) => at.part(start + range.start..start + range.end),
            None => at,
        }
    }
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
    fn a_range_of_a_string_is_found_in_its_literal() {
        for (literal, text, expected) in
            [("'ab'", "ab", Some(1)), ("'''\nab'''", "ab", Some(4)), ("\"a\\tb\"", "a\tb", None), ("ab", "ab", Some(0))]
        {
            assert_eq!(text_start(literal, text), expected, "{literal}");
        }
    }
}
