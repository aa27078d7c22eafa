//! The one seam: the loop decides nothing and does nothing itself, a [`World`] performs instructions and starts
//! activities. There are two: the live one and, in tests, a fake with a journal on a paused clock.

use std::future::Future;
use std::pin::Pin;

use indexmap::IndexMap;

use super::settle::Settled;
use crate::measure::Evidence;
use crate::plan::instruction::{Activity, Instruction};
use crate::results::{Convergence, NodeRecord};

/// Why something could not be done: the cause, in the server's own words where there are any.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
pub struct Failure {
    /// The cause.
    pub reason: String,
    /// Whether a bound ran out rather than something saying no.
    pub timed_out: bool,
}

impl Failure {
    /// Something said no.
    pub fn new(reason: impl Into<String>) -> Self {
        Self { reason: reason.into(), timed_out: false }
    }

    /// A bound ran out.
    pub fn timed_out(reason: impl Into<String>) -> Self {
        Self { reason: reason.into(), timed_out: true }
    }
}

/// What performing an instruction gave.
#[derive(Clone, Debug, PartialEq)]
pub enum Reply {
    /// Nothing to tell.
    Done,
    /// Data was made: wall time in seconds, size in bytes, and what a reader should know of it.
    Made {
        /// Wall time, in seconds.
        seconds: f64,
        /// Size on disk, in bytes.
        bytes: u64,
        /// What is not as usual, such as that it is not kept.
        note: Option<String>,
    },
    /// A phase was closed.
    Window(Box<Evidence>),
    /// What is known only after the last phase, by node.
    Settled(IndexMap<String, Settled>),
    /// The nodes were compared.
    Compared(Convergence),
    /// Nodes were stopped: what was read back of each.
    Stopped(IndexMap<String, NodeRecord>),
}

/// An activity under way. `stop` ends it soon; dropping it does not.
pub struct Running {
    /// Ends when the activity has ended, with its failure if it has one.
    pub done: Pin<Box<dyn Future<Output = Result<(), Failure>>>>,
    /// Asks it to end.
    pub stop: Box<dyn Fn()>,
}

impl std::fmt::Debug for Running {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Running")
    }
}

/// What the loop acts on.
pub trait World {
    /// Does one instruction completely. May be dropped in the middle, when the user interrupts or a bound runs out.
    fn perform(&mut self, instruction: &Instruction) -> impl Future<Output = Result<Reply, Failure>>;

    /// Starts an activity that was made ready.
    fn start(&mut self, activity: &Activity) -> Result<Running, Failure>;

    /// A slice begins on the same servers: its number, from 0. A turn by itself is slice 0.
    fn slice(&mut self, number: u32);

    /// What stands in the way of activities that did not end in time.
    fn explain(&mut self, activities: &[Activity]) -> impl Future<Output = String>;
}
