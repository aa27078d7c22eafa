//! The run of a script: from command to command, up to the next that the driver has a part in.
//!
//! Owns a client's state between commands, control flow, and the errors that end a client. Its use from outside is
//! `machine`'s. Allocates nothing for statements and `\set`s.

use std::fmt;
use std::ops::Range;
use std::time::Duration;

use super::capture::ResultRows;
use super::eval::{EvalError, Scope};
use super::expr::Expr;
use super::fault::{Fault, RunError};
use super::flow::{Branch, Flow, PipelineEdge};
use super::names::Slot;
use super::program::Program;
use super::random::Random;
use super::sleep::{self, Sleep, Time};
use super::value::Value;
use super::{Command, Script};

/// What a client does next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// Send the statement of this index, see [`Machine::statement`](super::Machine::statement).
    Statement(usize),
    /// Write the statement of this index behind what the pipeline holds; its reply comes after the pipeline's end.
    Queue(usize),
    /// Write a Sync behind what the pipeline holds; its reply comes after the pipeline's end.
    Sync,
    /// Write a last Sync, send all of the pipeline and wait for its replies, one for each Sync.
    EndPipeline,
    /// Let this time pass.
    Sleep(Duration),
    /// The script is at its end; [`Machine::begin`](super::Machine::begin) starts the next transaction.
    Finished,
}

/// What a call of `debug` shows; printed it is the line that pgbench writes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Debugged {
    /// The script's number in the program, from 0.
    pub script: usize,
    /// The command's number in the script, from 1.
    pub command: usize,
    /// The argument.
    pub value: Value,
}

impl fmt::Display for Debugged {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Debugged { script, command, value } = self;
        write!(formatter, "debug(script={script},command={command}): ")?;
        match value {
            Value::Null => formatter.write_str("null"),
            value => write!(formatter, "{} {value}", value.type_name()),
        }
    }
}

/// What a client remembers.
pub(super) struct Run {
    pub(super) variables: Vec<Variable>,
    pub(super) random: Random,
    /// The generator as it was when the transaction began.
    pub(super) random_at_begin: Random,
    pub(super) script: usize,
    pub(super) position: usize,
    /// Whether a pipeline is open.
    pub(super) pipelining: bool,
    /// Room for the name of a captured column's variable.
    column: String,
    pub(super) debug: Option<Box<dyn FnMut(Debugged) + Send>>,
}

/// The state of one variable.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Variable {
    Undefined,
    Value(Value),
    /// Given from outside and kept as it was written; read as a value where one is needed.
    Text(String),
}

impl Run {
    /// A client at the start of its first script.
    pub(super) fn new(variables: Vec<Variable>, random: Random) -> Run {
        Run {
            variables,
            random_at_begin: random.clone(),
            random,
            script: 0,
            position: 0,
            pipelining: false,
            column: String::new(),
            debug: None,
        }
    }

    /// Runs commands up to the next that the driver has a part in, or to the script's end.
    pub(super) fn next(&mut self, program: &Program) -> Result<Step, RunError> {
        let Some(script) = program.scripts.get(self.script) else {
            return Ok(Step::Finished);
        };
        while let Some(command) = script.commands.get(self.position) {
            self.position += 1;
            match command {
                Command::Sql(index) if self.pipelining => return self.queue(script, *index),
                Command::Sql(index) => return Ok(Step::Statement(*index)),
                Command::Set(set) => match self.evaluate(program, &set.expression) {
                    Ok(value) => self.variables[set.variable.index()] = Variable::Value(value),
                    Err(source) => {
                        let name = &program.names.all()[set.variable.index()];
                        return Err(self.failed(format!("\\set {name}"), &set.range, source.into()));
                    }
                },
                Command::Flow(flow) => self.follow(program, script, flow)?,
                Command::Sleep(sleep) => {
                    return match self.time(program, sleep) {
                        Ok(time) => Ok(Step::Sleep(time)),
                        Err(source) => Err(self.failed("\\sleep".to_owned(), &sleep.range, source)),
                    };
                }
                Command::Pipeline(edge, range) => {
                    if let Some(step) = self.pipeline(*edge, range)? {
                        return Ok(step);
                    }
                }
            }
        }
        if self.pipelining {
            let end = script.pipelines.clone().unwrap_or_default();
            return Err(self.failed("\\startpipeline".to_owned(), &end, Fault::OpenPipeline));
        }
        Ok(Step::Finished)
    }

    fn evaluate(&mut self, program: &Program, expression: &Expr) -> Result<Value, EvalError> {
        let Run { variables, random, script, position, debug, .. } = self;
        let name = |slot: Slot| program.names.all()[slot.index()].as_str();
        Scope {
            variable: &|slot: Slot| match &variables[slot.index()] {
                Variable::Value(value) => Ok(*value),
                Variable::Text(text) => Value::from_text(name(slot), text),
                Variable::Undefined => Err(EvalError::UndefinedVariable(name(slot).to_owned())),
            },
            random,
            debug: &mut |value| {
                if let Some(show) = debug {
                    show(Debugged { script: *script, command: *position, value });
                }
            },
        }
        .evaluate(expression)
    }

    /// Goes on where a command of control flow leads. One that is reached in turn ends the branch before it.
    fn follow(&mut self, program: &Program, script: &Script, flow: &Flow) -> Result<(), RunError> {
        let mut what = "\\if";
        let mut branch = match flow {
            Flow::If(branch) => branch,
            Flow::Elif(Branch { end, .. }) | Flow::Else(end) => {
                self.position = end + 1;
                return Ok(());
            }
            Flow::Endif => return Ok(()),
        };
        loop {
            let holds = match self.evaluate(program, &branch.condition) {
                Ok(value) => value.holds(),
                Err(source) => {
                    return Err(self.failed(what.to_owned(), &branch.range, source.into()));
                }
            };
            if holds {
                return Ok(());
            }
            self.position = branch.otherwise + 1;
            match script.commands.get(branch.otherwise) {
                Some(Command::Flow(Flow::Elif(next))) => (branch, what) = (next, "\\elif"),
                _ => return Ok(()),
            }
        }
    }

    fn time(&self, program: &Program, sleep: &Sleep) -> Result<Duration, Fault> {
        let slot = match sleep.time {
            Time::Number(number) => return Ok(sleep.time(number)),
            Time::Variable(slot) => slot,
        };
        let mut text = Vec::new();
        let variable = || program.names.all()[slot.index()].clone();
        if !self.write_text(slot, &mut text) {
            return Err(EvalError::UndefinedVariable(variable()).into());
        }
        let text = String::from_utf8_lossy(&text);
        match sleep::from_text(&text) {
            Some(number) => Ok(sleep.time(number)),
            None => Err(Fault::SleepTime { variable: variable(), text: text.into_owned() }),
        }
    }

    fn pipeline(&mut self, edge: PipelineEdge, range: &Range<usize>) -> Result<Option<Step>, RunError> {
        let fault = match (edge, self.pipelining) {
            (PipelineEdge::Start, true) => Fault::InPipeline,
            (PipelineEdge::Sync | PipelineEdge::End, false) => Fault::NotInPipeline,
            (PipelineEdge::Start, false) => {
                self.pipelining = true;
                return Ok(None);
            }
            (PipelineEdge::Sync, true) => return Ok(Some(Step::Sync)),
            (PipelineEdge::End, true) => {
                self.pipelining = false;
                return Ok(Some(Step::EndPipeline));
            }
        };
        Err(self.failed(edge.command().to_owned(), range, fault))
    }

    fn queue(&self, script: &Script, index: usize) -> Result<Step, RunError> {
        let statement = &script.statements[index];
        match &statement.capture {
            None => Ok(Step::Queue(index)),
            Some(capture) => {
                let what = capture.results.command().to_owned();
                Err(self.failed(what, &statement.range, Fault::CaptureInPipeline))
            }
        }
    }

    #[cold]
    fn failed(&self, what: String, range: &Range<usize>, source: Fault) -> RunError {
        RunError { script: self.script, command: self.position, what, range: range.clone(), source }
    }

    /// See [`super::Machine::write_text`].
    pub(super) fn write_text(&self, slot: Slot, out: &mut Vec<u8>) -> bool {
        match &self.variables[slot.index()] {
            Variable::Undefined => return false,
            Variable::Value(value) => value.write_text(out),
            Variable::Text(text) => out.extend_from_slice(text.as_bytes()),
        }
        true
    }

    /// See [`super::Machine::capture`].
    pub(super) fn capture<'r>(
        &mut self,
        program: &Program,
        index: usize,
        result: ResultRows,
        columns: impl Iterator<Item = (&'r [u8], Option<&'r [u8]>)>,
    ) -> Result<(), RunError> {
        let statement = &program.scripts[self.script].statements[index];
        let Some(capture) = &statement.capture else {
            return Ok(());
        };
        let failed = |run: &Run, fault| run.failed(capture.results.command().to_owned(), &statement.range, fault);
        if !capture.takes(result).map_err(|fault| failed(self, fault))? {
            return Ok(());
        }
        let mut name = std::mem::take(&mut self.column);
        for (column, text) in columns {
            capture.name(column, &mut name).map_err(|fault| failed(self, fault))?;
            // A name that no script uses needs no place.
            if let Some(slot) = program.slot(&name) {
                let text = String::from_utf8_lossy(text.unwrap_or_default());
                match &mut self.variables[slot.index()] {
                    Variable::Text(known) => {
                        known.clear();
                        known.push_str(&text);
                    }
                    other => *other = Variable::Text(text.into_owned()),
                }
            }
        }
        self.column = name;
        Ok(())
    }
}
