//! What the loop tells while it runs; printing it is someone else's job.

use crate::plan::instruction::Stage;
use crate::results::Sample;

/// Something happened.
#[derive(Clone, Copy, Debug)]
pub enum Event<'a> {
    /// A turn begins.
    Turn {
        /// Cell.
        cell: &'a str,
        /// Round, from 1.
        round: u32,
        /// Position, from 1.
        turn: u32,
        /// How many there are.
        of: u32,
    },
    /// Building has come to a stage.
    Stage(Stage),
    /// A phase begins.
    Phase(&'a str),
    /// The last phase is over.
    Finish,
    /// A turn has ended and is stored.
    Ended(&'a Sample),
}
