//! What ends a client while its script runs, outside of SQL.
//!
//! Owns the texts, which are pgbench's where pgbench has some. A failed statement is not here: the driver counts it.

use std::ops::Range;

use super::eval::EvalError;

/// A command failed; pgbench aborts the client then.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("failed to evaluate {what} (command {command} of script {script}): {source}")]
pub struct RunError {
    /// The script's number in the program, from 0.
    pub script: usize,
    /// The command's number in the script, from 1 as pgbench counts.
    pub command: usize,
    /// The command, with the variable that it was to set if it was one: `\set x`, `\if`.
    pub what: String,
    /// The command's place in its script's text, in bytes.
    pub range: Range<usize>,
    /// Why.
    #[source]
    pub source: Fault,
}

/// Why a command failed.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum Fault {
    /// Its expression, or the variable it names, has no value.
    #[error(transparent)]
    Value(#[from] EvalError),
    /// The variable that `\sleep` was given holds no number.
    #[error("invalid sleep time \"{text}\" for variable \"{variable}\"")]
    SleepTime {
        /// The variable.
        variable: String,
        /// What it holds.
        text: String,
    },
    /// A query under `\gset` did not return exactly one row.
    #[error("query {query}: expected one row, got {rows}")]
    Rows {
        /// The query's number among those of its statement, from 0.
        query: usize,
        /// The rows it returned.
        rows: u64,
    },
    /// A column's name, behind its prefix, is no name of a variable.
    #[error("error storing into variable {0}; name the column with AS: a variable has letters, digits and underscores")]
    VariableName(String),
    /// `\startpipeline` inside of a pipeline.
    #[error("already in pipeline mode; end the pipeline with `\\endpipeline` first")]
    InPipeline,
    /// `\syncpipeline` or `\endpipeline` outside of a pipeline.
    #[error("not in pipeline mode; begin one with `\\startpipeline`")]
    NotInPipeline,
    /// A result is wanted inside of a pipeline, where none comes before its end.
    #[error("it is not allowed in pipeline mode; put the statement before `\\startpipeline` or behind `\\endpipeline`")]
    CaptureInPipeline,
    /// The script ends inside of a pipeline.
    #[error("end of script reached with pipeline open; end it with `\\endpipeline`")]
    OpenPipeline,
}
