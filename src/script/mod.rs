//! pgbench's script language as a pure machine: text in, statements and values out.
//!
//! Owns the language as the manual of PostgreSQL 18's pgbench describes it: SQL statements,
//! `\set` with the whole expression language, variables, seeded random numbers, conditions,
//! results as variables, pipelines. Knows no files, clocks, threads or connections: a driver asks
//! a [`Machine`] for the next statement, sends it and comes back. Commands that run programs on
//! the host are refused.

mod arithmetic;
mod body;
mod builtin;
mod capture;
mod commands;
mod eval;
mod expr;
mod fault;
mod flow;
mod functions;
mod grammar;
mod hash;
mod lex;
mod machine;
mod meta;
mod names;
mod operand;
mod program;
mod random;
mod run;
mod sleep;
mod statement;
mod text;
mod token;
mod value;

use std::ops::Range;

pub use builtin::Builtin;
pub use capture::{Capture, Captured, ResultRows};
pub use eval::EvalError;
pub use fault::{Fault, RunError};
pub use functions::{FUNCTIONS, FunctionEntry};
pub use machine::{Machine, Predefined};
pub use names::{PREDEFINED, Slot};
pub use program::Program;
pub use random::{Random, Seeds};
pub use run::{Debugged, Step};
pub use statement::{MAX_PARAMETERS, Statement, TransactionEdge};
pub use text::PlainDouble;
pub use value::Value;

use names::Names;

/// A parsed script.
#[derive(Debug, Clone)]
pub struct Script {
    commands: Vec<Command>,
    statements: Vec<Statement>,
    names: Names,
    quoted: Vec<(String, Range<usize>)>,
    pipelines: Option<Range<usize>>,
}

/// One step of a script.
#[derive(Debug, Clone, PartialEq)]
enum Command {
    /// The statement of this index.
    Sql(usize),
    Set(meta::Set),
    Flow(flow::Flow),
    Sleep(sleep::Sleep),
    /// A pipeline's command, from its backslash on.
    Pipeline(flow::PipelineEdge, Range<usize>),
}

/// A mistake in a script, or something this language does not have.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ScriptError {
    /// Where it is, in bytes of the script's text.
    pub range: Range<usize>,
    /// What is wrong; in pgbench's words where pgbench has some.
    pub message: String,
    /// The way out.
    pub help: Option<String>,
}

/// The statements of plain SQL, split where psql would; text that psql would not take is one statement, so that the
/// server says what is wrong with it.
pub fn split(sql: &str) -> Vec<&str> {
    match Script::parse(sql) {
        Ok(script) => script.statements().iter().filter_map(|statement| sql.get(statement.range.clone())).collect(),
        Err(_) => vec![sql],
    }
}

impl Script {
    /// Parses a script; on failure all of its mistakes, in the order of the text.
    pub fn parse(text: &str) -> Result<Script, Vec<ScriptError>> {
        let mut scanner = lex::Scanner::new(text);
        let mut errors = Vec::new();
        let mut follower = flow::Follower::new();
        let mut script = Script {
            commands: Vec::new(),
            statements: Vec::new(),
            names: Names::new(),
            quoted: Vec::new(),
            pipelines: None,
        };
        loop {
            let (sql, stop) = scanner.statement(&mut errors);
            if !sql.text.is_empty() {
                let index = script.statements.len();
                script.commands.push(Command::Sql(index));
                script.statements.push(Statement::compile(
                    index,
                    sql,
                    &mut script.names,
                    &mut script.quoted,
                    &mut errors,
                ));
            }
            match stop {
                lex::Stop::Semicolon => {}
                lex::Stop::Backslash(start) => {
                    let (meta, end) = meta::parse(text, start, &mut script.names, &mut errors);
                    if let Some((meta, range)) = meta
                        && let Err(error) = script.add(meta, range, &mut follower)
                    {
                        errors.push(error);
                    }
                    scanner.at = end;
                }
                lex::Stop::End => break,
            }
        }
        follower.finish(&mut errors);
        if script.commands.is_empty() && errors.is_empty() {
            errors.push(ScriptError {
                range: 0..text.len(),
                message: "empty command list: the script has no statement".to_owned(),
                help: Some("a script is SQL with lines of pgbench's commands between".to_owned()),
            });
        }
        if errors.is_empty() {
            Ok(script)
        } else {
            errors.sort_by_key(|error| error.range.start);
            Err(errors)
        }
    }

    /// The SQL statements in the order of the text. A script of `\set` lines alone has none.
    pub fn statements(&self) -> &[Statement] {
        &self.statements
    }

    /// The names of all variables, by slot; the first are [`PREDEFINED`].
    pub fn variables(&self) -> &[String] {
        self.names.all()
    }

    /// Uses of variables that neither pgbench nor a `\set` before them gives a value, with
    /// their ranges. In an expression such a use ends the client; in a statement the simple
    /// protocol sends the name as it stands and the others send NULL. A caller that gives
    /// variables of its own, or runs several scripts in one client, leaves out those names.
    pub fn undefined(&self) -> &[(String, Range<usize>)] {
        &self.names.undefined
    }

    /// Whether a `\set` of this script gives the variable a value, or a `\gset` or `\aset` may.
    pub fn may_define(&self, name: &str) -> bool {
        self.names.may_be_defined(name)
    }

    /// The first `\startpipeline`, if there is one: such a script cannot run in the simple protocol.
    pub fn pipelines(&self) -> Option<Range<usize>> {
        self.pipelines.clone()
    }

    /// Uses of variables within quotes or comments, with their ranges. The simple protocol
    /// replaces them like any other; with parameters the server sees the text `$1` there and
    /// refuses the statement for a parameter that it does not use.
    pub fn quoted(&self) -> &[(String, Range<usize>)] {
        &self.quoted
    }
}

#[cfg(test)]
mod tests;

#[cfg(test)]
mod parsing {
    use super::*;

    fn told(text: &str) -> Vec<(Range<usize>, String)> {
        match Script::parse(text) {
            Ok(_) => Vec::new(),
            Err(errors) => errors.into_iter().map(|error| (error.range, error.message)).collect(),
        }
    }

    #[test]
    fn all_mistakes_are_told_in_the_order_of_the_text() {
        let text = "\\set 1a 2\n\\sett b 3\n\\gset\n\\set c randon(1, 2) + abs()\n\\shell ls\nSELECT 'x";
        let told = told(text);
        let of = |part: &str| {
            let start = text.find(part).unwrap_or_default();
            start..start + part.len()
        };
        let expected = [
            (of("1a"), "invalid variable name: \"1a\""),
            (of("\\sett"), "invalid command `\\sett`"),
            (of("\\gset"), "\\gset must follow an SQL command"),
            (of("randon"), "unexpected function name `randon`"),
            (of("abs"), "unexpected number of arguments (abs)"),
            (of("\\shell"), "`\\shell` runs host commands and is refused"),
            (of("'"), "this string is never closed"),
        ];
        assert_eq!(told, expected.map(|(range, message)| (range, message.to_owned())));
    }

    #[test]
    fn a_script_without_commands_is_an_error() {
        for text in ["", "  \n", "-- nothing\n"] {
            assert_eq!(told(text), [(0..text.len(), "empty command list: the script has no statement".to_owned())]);
        }
        // pgbench runs a script that only sets variables.
        assert!(told("\\set x 1").is_empty());
    }

    #[test]
    fn a_backslash_ends_a_statement_and_its_command_ends_with_its_line() -> Result<(), Vec<ScriptError>> {
        let script =
            Script::parse("SELECT 1\n\\set x \\\n 1 + \\\r\n 1\r\nSELECT 2 \\SET y 1\nSELECT :y; -- end\nSELECT 4")?;
        let texts: Vec<&str> = script.statements().iter().map(|statement| statement.text.trim_end()).collect();
        assert_eq!(texts, ["SELECT 1", "SELECT 2", "SELECT :y;", "SELECT 4"]);
        assert_eq!(script.commands.len(), 6);
        Ok(())
    }

    #[test]
    fn a_statement_has_a_parameter_for_each_use_and_knows_its_place() -> Result<(), Vec<ScriptError>> {
        let text = "\\set a 1\nSELECT :a, :scale::int + :a;\nEND;";
        let script = Script::parse(text)?;
        let [select, end] = script.statements() else {
            panic!("two statements");
        };
        assert_eq!(select.prepared_text, "SELECT $1, $2::int + $3;");
        let names: Vec<&str> = select.parameters.iter().map(|slot| script.variables()[slot.index()].as_str()).collect();
        assert_eq!(names, ["a", "scale", "a"]);
        assert_eq!(&text[select.range.clone()], select.text);
        assert_eq!((end.index, end.edge), (1, TransactionEdge::End));
        assert_eq!(&text[end.range.clone()], "END;");
        Ok(())
    }

    #[test]
    fn names_without_a_value_and_names_in_quotes_are_noted() -> Result<(), Vec<ScriptError>> {
        let text = "\\set a :a + 1\nSELECT ':b', :c, :a; -- :a\n\\set c 1\nSELECT /* :c */ :c, :client_id;";
        let script = Script::parse(text)?;
        let named = |uses: &[(String, Range<usize>)]| -> Vec<String> {
            uses.iter()
                .map(|(name, range)| {
                    assert_eq!(text[range.clone()], format!(":{name}"));
                    name.clone()
                })
                .collect()
        };
        assert_eq!(named(script.undefined()), ["a", "b", "c"]);
        assert_eq!(named(script.quoted()), ["b", "c"]);
        Ok(())
    }

    #[test]
    fn more_parameters_than_pgbench_takes_are_refused() {
        let uses = |count| format!("SELECT {}", vec![":scale"; count].join(", "));
        assert!(told(&uses(MAX_PARAMETERS)).is_empty());
        let text = uses(MAX_PARAMETERS + 1);
        assert_eq!(told(&text), [(0..text.len(), "statement has too many arguments (maximum is 255): 256".to_owned())]);
    }
}
