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
    /// A pair of a paired comparison begins: both sides are built.
    Pair {
        /// What is compared, at which point.
        comparison: &'a str,
        /// Pair, from 1.
        pair: u32,
        /// The fewest that there will be.
        least: u32,
        /// The most.
        most: u32,
    },
    /// A slice of a pair begins.
    Slice {
        /// Cell.
        cell: &'a str,
        /// Measured slice, from 1; `None` of one that warms up.
        number: Option<u32>,
        /// Measured slices of the pair.
        of: u32,
    },
    /// A pair has ended and is stored.
    Paired(PairEnded<'a>),
    /// Building has come to a stage.
    Stage(Stage),
    /// Data was made that later turns copy.
    Made {
        /// Of which node, in words.
        what: &'a str,
        /// Wall time, in seconds.
        seconds: f64,
        /// Size on disk, in bytes.
        bytes: u64,
        /// What is not as usual, such as that it is not kept.
        note: Option<&'a str>,
    },
    /// A phase begins.
    Phase(&'a str),
    /// The last phase is over.
    Finish,
    /// A turn has ended and is stored.
    Ended(&'a Sample),
}

/// How a comparison stands after a pair.
#[derive(Clone, Copy, Debug)]
pub struct PairEnded<'a> {
    /// What is compared, at which point.
    pub comparison: &'a str,
    /// Pair, from 1.
    pub pair: u32,
    /// Whole pairs so far.
    pub whole: u32,
    /// The ratio so far, and the half width of its interval as a share.
    pub ratio: Option<(f64, Option<f64>)>,
    /// Whether no further pair is needed, or allowed.
    pub done: bool,
    /// Why the pair counts nowhere.
    pub complaint: Option<&'a str>,
    /// Wall time of the pair, in seconds.
    pub seconds: f64,
}
