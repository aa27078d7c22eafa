//! Where control goes: which `\elif`, `\else` and `\endif` belong to which `\if`, and where pipelines begin and end.
//!
//! Owns what is wrong with both before a script runs. Conditions are evaluated in `machine`; a pipeline that some
//! branches open and others do not is checked there too.

use std::ops::Range;

use super::ScriptError;
use super::expr::Expr;

/// An `\if` or `\elif`.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Branch {
    pub(super) condition: Expr,
    /// The command that has its turn if the condition does not hold: an `\elif`, `\else` or `\endif`.
    pub(super) otherwise: usize,
    /// The `\endif`.
    pub(super) end: usize,
    /// The command from its backslash on.
    pub(super) range: Range<usize>,
}

/// A command of control flow.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Flow {
    If(Branch),
    Elif(Branch),
    /// With its `\endif`.
    Else(usize),
    Endif,
}

/// What is known at a place of whether the client is in a pipeline there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Pipeline {
    Off,
    On,
    Either,
}

impl Pipeline {
    fn or(self, other: Pipeline) -> Pipeline {
        if self == other { self } else { Pipeline::Either }
    }
}

/// A pipeline's command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PipelineEdge {
    Start,
    Sync,
    End,
}

impl PipelineEdge {
    /// The command as it is written.
    pub(super) fn command(self) -> &'static str {
        match self {
            PipelineEdge::Start => "\\startpipeline",
            PipelineEdge::Sync => "\\syncpipeline",
            PipelineEdge::End => "\\endpipeline",
        }
    }
}

/// An `\if` whose `\endif` has not come.
struct Open {
    range: Range<usize>,
    /// The branches so far, the last of which waits for its alternative.
    branches: Vec<usize>,
    otherwise: Option<usize>,
    before: Pipeline,
    /// What the branches that have ended leave.
    after: Option<Pipeline>,
}

/// Follows a script from front to back.
pub(super) struct Follower {
    open: Vec<Open>,
    pipeline: Pipeline,
    /// Where the pipeline was begun that may be open.
    started: Range<usize>,
}

fn condition_error(range: Range<usize>, message: &str, help: &str) -> ScriptError {
    ScriptError { range, message: message.to_owned(), help: Some(help.to_owned()) }
}

impl Follower {
    pub(super) fn new() -> Follower {
        Follower { open: Vec::new(), pipeline: Pipeline::Off, started: 0..0 }
    }

    /// An `\if` that will be the command `index`.
    pub(super) fn begin(&mut self, index: usize, range: Range<usize>) {
        self.open.push(Open { range, branches: vec![index], otherwise: None, before: self.pipeline, after: None });
    }

    /// An `\elif` or (`last`) an `\else` that will be the command `index`.
    pub(super) fn alternative(&mut self, index: usize, last: bool, range: Range<usize>) -> Result<(), ScriptError> {
        let (unmatched, after_else) = if last {
            ("\\else without matching \\if", "\\else after \\else")
        } else {
            ("\\elif without matching \\if", "\\elif after \\else")
        };
        let Some(open) = self.open.last_mut() else {
            return Err(condition_error(range, unmatched, "put an `\\if` before it"));
        };
        if open.otherwise.is_some() {
            return Err(condition_error(range, after_else, "`\\else` is the last branch before its `\\endif`"));
        }
        open.after = Some(open.after.map_or(self.pipeline, |after| after.or(self.pipeline)));
        self.pipeline = open.before;
        if last {
            open.otherwise = Some(index);
        } else {
            open.branches.push(index);
        }
        Ok(())
    }

    /// An `\endif`: gives the branches in their order and the `\else`, for their targets to be set.
    pub(super) fn end(&mut self, range: Range<usize>) -> Result<(Vec<usize>, Option<usize>), ScriptError> {
        let Some(open) = self.open.pop() else {
            return Err(condition_error(range, "\\endif without matching \\if", "put an `\\if` before it"));
        };
        let mut after = open.after.map_or(self.pipeline, |after| after.or(self.pipeline));
        if open.otherwise.is_none() {
            // No branch may be taken at all.
            after = after.or(open.before);
        }
        self.pipeline = after;
        Ok((open.branches, open.otherwise))
    }

    /// A pipeline's command.
    pub(super) fn pipeline(&mut self, edge: PipelineEdge, range: Range<usize>) -> Result<(), ScriptError> {
        let before = self.pipeline;
        self.pipeline = if edge == PipelineEdge::End { Pipeline::Off } else { Pipeline::On };
        match (edge, before) {
            (PipelineEdge::Start, Pipeline::On) => {
                Err(condition_error(range, "already in pipeline mode", "end the pipeline with `\\endpipeline` first"))
            }
            (PipelineEdge::Sync | PipelineEdge::End, Pipeline::Off) => {
                self.pipeline = Pipeline::Off;
                Err(condition_error(range, "not in pipeline mode", "begin one with `\\startpipeline`"))
            }
            _ => {
                if edge == PipelineEdge::Start {
                    self.started = range;
                }
                Ok(())
            }
        }
    }

    /// Whether a place is certainly in a pipeline.
    pub(super) fn in_pipeline(&self) -> bool {
        self.pipeline == Pipeline::On
    }

    /// The script's end.
    pub(super) fn finish(self, errors: &mut Vec<ScriptError>) {
        for open in self.open {
            errors.push(condition_error(open.range, "\\if without matching \\endif", "end it with `\\endif`"));
        }
        if self.pipeline == Pipeline::On {
            errors.push(condition_error(
                self.started,
                "end of script reached with pipeline open",
                "end it with `\\endpipeline`",
            ));
        }
    }
}
