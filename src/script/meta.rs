//! Backslash commands: which there are, and what belongs to each.
//!
//! Owns how far a command reaches (to the end of its line; a backslash there takes in the next
//! one) and what is said about commands that are refused. What commands mean together is in `flow`.

use std::ops::Range;

use super::ScriptError;
use super::capture::{Capture, Captured};
use super::expr::Expr;
use super::flow::PipelineEdge;
use super::grammar;
use super::names::{self, Names, Slot};
use super::sleep::{self, Sleep};
use crate::text::suggest::nearest;

/// A `\set` line.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Set {
    pub(super) variable: Slot,
    pub(super) expression: Expr,
    /// The command from its backslash on.
    pub(super) range: Range<usize>,
}

/// A command as its line says it.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Meta {
    Set(Set),
    If(Option<Expr>),
    Elif(Option<Expr>),
    Else,
    Endif,
    Sleep(Sleep),
    Capture(Capture),
    Pipeline(PipelineEdge),
}

/// A command with its range from the backslash on, blanks at its end left out.
pub(super) type Placed = (Meta, Range<usize>);

/// The commands.
const COMMANDS: &[&str] =
    &["aset", "elif", "else", "endif", "endpipeline", "gset", "if", "set", "sleep", "startpipeline", "syncpipeline"];

/// Commands that stay refused: a load runs nothing on the machine it measures.
const SHELL: &[&str] = &["setshell", "shell"];

/// Reads the command whose backslash is at `start`; gives it, and where its line ends. A condition that does not parse
/// is told and left out, so that its `\endif` is none too many.
pub(super) fn parse(
    script: &str,
    start: usize,
    names: &mut Names,
    errors: &mut Vec<ScriptError>,
) -> (Option<Placed>, usize) {
    let end = line_end(script, start);
    let Some(command) = word(script, start + 1..end) else {
        errors.push(ScriptError {
            range: start..start + 1,
            message: "a backslash without a command".to_owned(),
            help: Some("a command's name follows its backslash, as in `\\set`".to_owned()),
        });
        return (None, end);
    };
    let range = start..start + script[start..end].trim_end().len();
    let name = script[command.clone()].to_ascii_lowercase();
    let mut plain = |meta: Meta| {
        if let Some(more) = word(script, command.end..end) {
            errors.push(ScriptError {
                message: format!("unexpected argument: {}", &script[more.clone()]),
                help: Some(format!("`\\{name}` stands alone on its line")),
                range: more,
            });
        }
        Some(meta)
    };
    let meta = match name.as_str() {
        "set" => set(script, start, &command, end, names, errors).map(Meta::Set),
        "if" => Some(Meta::If(grammar::parse(script, command.end..end, names, errors))),
        "elif" => Some(Meta::Elif(grammar::parse(script, command.end..end, names, errors))),
        "else" => plain(Meta::Else),
        "endif" => plain(Meta::Endif),
        "startpipeline" => plain(Meta::Pipeline(PipelineEdge::Start)),
        "syncpipeline" => plain(Meta::Pipeline(PipelineEdge::Sync)),
        "endpipeline" => plain(Meta::Pipeline(PipelineEdge::End)),
        "gset" => capture(script, Captured::Last, &words(script, command.end..end), errors),
        "aset" => capture(script, Captured::Each, &words(script, command.end..end), errors),
        "sleep" => match sleep::parse(script, range.clone(), &words(script, command.end..end), names) {
            Ok(sleep) => Some(Meta::Sleep(sleep)),
            Err(error) => {
                errors.push(error);
                None
            }
        },
        _ => {
            errors.push(refusal(&script[command.clone()], start..command.end));
            None
        }
    };
    (meta.map(|meta| (meta, range)), end)
}

fn set(
    script: &str,
    start: usize,
    command: &Range<usize>,
    end: usize,
    names: &mut Names,
    errors: &mut Vec<ScriptError>,
) -> Option<Set> {
    let missing = |what: &str, at: usize| ScriptError {
        range: start..at,
        message: format!("missing argument: \\set has no {what}"),
        help: Some("it is `\\set name expression`".to_owned()),
    };
    let Some(variable) = word(script, command.end..end) else {
        errors.push(missing("name", command.end));
        return None;
    };
    let name = &script[variable.clone()];
    let valid = names::is_valid(name);
    if !valid {
        errors.push(ScriptError {
            range: variable.clone(),
            message: format!("invalid variable name: \"{name}\""),
            help: Some(match name.strip_prefix(':') {
                Some(bare) if names::is_valid(bare) => {
                    format!("\\set takes the name without its colon: `{bare}`")
                }
                _ => "a name has letters, digits and underscores, and no digit first".to_owned(),
            }),
        });
    }
    if word(script, variable.end..end).is_none() {
        errors.push(missing("expression", variable.end));
        if valid {
            names.defined(name);
        }
        return None;
    }
    let expression = grammar::parse(script, variable.end..end, names, errors);
    if !valid {
        return None;
    }
    // Defined only now: the expression still sees the variable as it was before.
    let slot = names.defined(name);
    let trimmed = start + script[start..end].trim_end().len();
    expression.map(|expression| Set { variable: slot, expression, range: start..trimmed })
}

fn capture(script: &str, results: Captured, words: &[Range<usize>], errors: &mut Vec<ScriptError>) -> Option<Meta> {
    if let Some(more) = words.get(1) {
        errors.push(ScriptError {
            range: more.clone(),
            message: format!("too many arguments for {}", results.command()),
            help: Some(format!("it is `{} [prefix]`; columns give the rest of the names", results.command())),
        });
        return None;
    }
    let prefix = words.first().map_or("", |word| &script[word.clone()]).to_owned();
    Some(Meta::Capture(Capture { results, prefix }))
}

fn refusal(name: &str, range: Range<usize>) -> ScriptError {
    let is = |known: &&str| known.eq_ignore_ascii_case(name);
    let (message, help) = if let Some(known) = SHELL.iter().find(|known| is(known)) {
        (format!("`\\{known}` runs host commands and is refused"), None)
    } else {
        let known = COMMANDS.iter().chain(SHELL).copied();
        (
            format!("invalid command `\\{name}`"),
            Some(match nearest(name, known) {
                Some(known) => format!("did you mean `\\{known}`?"),
                None => "scripts have SQL and pgbench's commands; psql's are not known here".to_owned(),
            }),
        )
    };
    ScriptError { range, message, help }
}

/// All words in a range of the script.
fn words(script: &str, range: Range<usize>) -> Vec<Range<usize>> {
    let mut at = range.start;
    std::iter::from_fn(|| {
        let found = word(script, at..range.end)?;
        at = found.end;
        Some(found)
    })
    .collect()
}

/// The end of the line that holds `start`; a line that ends with a backslash goes on.
fn line_end(script: &str, start: usize) -> usize {
    let mut from = start;
    loop {
        let Some(newline) = script[from..].find('\n').map(|at| from + at) else {
            return script.len();
        };
        let line = &script[start + 1..newline];
        if !line.strip_suffix('\r').unwrap_or(line).ends_with('\\') {
            return newline;
        }
        from = newline + 1;
    }
}

/// The first word in a range of the script. A backslash at the end of a line is space.
fn word(script: &str, range: Range<usize>) -> Option<Range<usize>> {
    let mut at = range.start;
    loop {
        let rest = &script[at..range.end];
        let start = at + rest.len() - rest.trim_ascii_start().len();
        let rest = &script[start..range.end];
        let length = rest.find(|letter: char| letter.is_ascii_whitespace()).unwrap_or(rest.len());
        let continued = rest[length..].starts_with(['\n', '\r']);
        let word = &rest[..length];
        let word = if continued { word.strip_suffix('\\').unwrap_or(word) } else { word };
        if !word.is_empty() {
            return Some(start..start + word.len());
        }
        if length == 0 {
            return None;
        }
        at = start + length;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(script: &str) -> Vec<(Range<usize>, String, String)> {
        let mut errors = Vec::new();
        let (_, end) = parse(script, 0, &mut Names::new(), &mut errors);
        assert_eq!(end, script.find('\n').unwrap_or(script.len()), "{script}");
        errors.into_iter().map(|error| (error.range, error.message, error.help.unwrap_or_default())).collect()
    }

    #[test]
    fn commands_are_refused_by_name() {
        for (script, range, message, help) in [
            ("\\SetShell x ls\n", 0..9, "`\\setshell` runs host commands and is refused", ""),
            ("\\st x 1\n", 0..3, "invalid command `\\st`", "did you mean `\\set`?"),
            (
                "\\timing\n",
                0..7,
                "invalid command `\\timing`",
                "scripts have SQL and pgbench's commands; psql's are not known here",
            ),
        ] {
            assert_eq!(told(script), [(range, message.to_owned(), help.to_owned())], "{script}");
        }
    }

    #[test]
    fn a_set_line_needs_a_name_and_an_expression() {
        for (script, range, message) in [
            ("\\\n", 0..1, "a backslash without a command"),
            ("\\set\n", 0..4, "missing argument: \\set has no name"),
            ("\\set x \n", 0..6, "missing argument: \\set has no expression"),
            ("\\set :x 1\n", 5..7, "invalid variable name: \":x\""),
            ("\\set 1x 1\n", 5..7, "invalid variable name: \"1x\""),
            ("\\set x 1;\n", 8..9, "unexpected character `;`"),
            ("\\set x 1 +\n", 10..10, "the expression ends too early"),
        ] {
            let told = told(script);
            assert_eq!(told.len(), 1, "{script}");
            assert_eq!((&told[0].0, &*told[0].1), (&range, message), "{script}");
        }
    }

    #[test]
    fn the_other_commands_take_what_pgbench_gives_them() {
        for (script, range, message) in [
            ("\\if\n", 3..3, "the expression ends too early"),
            ("\\elif 1 +\n", 9..9, "the expression ends too early"),
            ("\\else x\n", 6..7, "unexpected argument: x"),
            ("\\ENDIF x\n", 7..8, "unexpected argument: x"),
            ("\\startpipeline 1\n", 15..16, "unexpected argument: 1"),
            ("\\gset a b\n", 8..9, "too many arguments for \\gset"),
            ("\\sleep\n", 0..6, "missing argument: \\sleep has no time"),
        ] {
            let told = told(script);
            assert_eq!(told.len(), 1, "{script}");
            assert_eq!((&told[0].0, &*told[0].1), (&range, message), "{script}");
        }
        for script in ["\\gset", "\\aset p_", "\\else ", "\\sleep 1ms", "\\If :scale > 1", "\\syncPipeline"] {
            assert_eq!(told(script), [], "{script}");
        }
    }

    #[test]
    fn a_continued_line_is_read_to_its_last_one() {
        let script = "\\set\\\r\n x\\\n 1 \\\n\nSELECT 1;";
        let mut errors = Vec::new();
        let (set, end) = parse(script, 0, &mut Names::new(), &mut errors);
        assert_eq!(errors, []);
        assert_eq!(&script[end..], "\nSELECT 1;");
        let Some((Meta::Set(set), _)) = set else { panic!("a \\set") };
        assert_eq!(set.expression, Expr::Constant(super::super::Value::Integer(1)));
    }
}
