//! Puts commands behind each other as a script is parsed, and leads branches to where they go.
//!
//! What a line says is `meta`'s, what is wrong with branches and pipelines is `flow`'s.

use std::ops::Range;

use super::capture::Capture;
use super::expr::Expr;
use super::flow::{Branch, Flow, Follower, PipelineEdge};
use super::meta::Meta;
use super::value::Value;
use super::{Command, Script, ScriptError};

impl Script {
    /// Adds a command at the end.
    pub(super) fn add(&mut self, meta: Meta, range: Range<usize>, follower: &mut Follower) -> Result<(), ScriptError> {
        let index = self.commands.len();
        // The targets are set when the `\endif` comes.
        let branch = |condition: Option<Expr>, range: &Range<usize>| Branch {
            condition: condition.unwrap_or(Expr::Constant(Value::Null)),
            otherwise: index,
            end: index,
            range: range.clone(),
        };
        let command = match meta {
            Meta::Set(set) => Command::Set(set),
            Meta::Sleep(sleep) => Command::Sleep(sleep),
            Meta::If(condition) => {
                follower.begin(index, range.clone());
                Command::Flow(Flow::If(branch(condition, &range)))
            }
            Meta::Elif(condition) => {
                follower.alternative(index, false, range.clone())?;
                Command::Flow(Flow::Elif(branch(condition, &range)))
            }
            Meta::Else => {
                follower.alternative(index, true, range)?;
                Command::Flow(Flow::Else(index))
            }
            Meta::Endif => {
                let (branches, otherwise) = follower.end(range)?;
                let alternatives = branches.iter().skip(1).copied().chain([otherwise.unwrap_or(index)]);
                for (&at, alternative) in branches.iter().zip(alternatives) {
                    if let Some(Command::Flow(Flow::If(branch) | Flow::Elif(branch))) = self.commands.get_mut(at) {
                        (branch.otherwise, branch.end) = (alternative, index);
                    }
                }
                if let Some(at) = otherwise {
                    self.commands[at] = Command::Flow(Flow::Else(index));
                }
                Command::Flow(Flow::Endif)
            }
            Meta::Pipeline(edge) => {
                follower.pipeline(edge, range.clone())?;
                if edge == PipelineEdge::Start {
                    self.pipelines.get_or_insert_with(|| range.clone());
                }
                Command::Pipeline(edge, range)
            }
            Meta::Capture(capture) => return self.capture(capture, range, follower),
        };
        self.commands.push(command);
        Ok(())
    }

    /// Gives the statement before it its `\gset` or `\aset`, which is no command of its own.
    fn capture(&mut self, capture: Capture, range: Range<usize>, follower: &Follower) -> Result<(), ScriptError> {
        let told = |message: String, help: &str| ScriptError { range, message, help: Some(help.to_owned()) };
        let command = capture.results.command();
        let Some(statement) = (match self.commands.last() {
            Some(Command::Sql(index)) => self.statements.get_mut(*index).filter(|known| known.capture.is_none()),
            _ => None,
        }) else {
            return Err(told(
                format!("{command} must follow an SQL command"),
                "it stands at the end of a statement, in place of its semicolon",
            ));
        };
        if follower.in_pipeline() {
            return Err(told(
                format!("{command} is not allowed in pipeline mode"),
                "put the statement before `\\startpipeline` or behind `\\endpipeline`",
            ));
        }
        self.names.captured(&capture.prefix);
        statement.capture = Some(capture);
        Ok(())
    }
}
