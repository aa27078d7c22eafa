//! What is stored of one turn: its outcome, the evidence of each phase, and what was read back. Pure.

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};

use crate::measure::Evidence;

/// Version of the record's meaning; raised when a stored number changes what it stands for.
pub const FORMAT: u32 = 1;

/// One turn of one cell: a file of its own, written atomically.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Sample {
    /// [`FORMAT`] of the writer.
    pub format: u32,
    /// Cell, the scenario's name where there are no axes.
    pub cell: String,
    /// Scenario.
    pub scenario: String,
    /// Values of the axes, as written; empty where there are none.
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    pub point: IndexMap<String, String>,
    /// Round, from 1. A round holds one turn of every cell. Of a slice, the pair that it belongs to.
    pub round: u32,
    /// Its place in a paired comparison, if it is a slice of one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slice: Option<SliceRecord>,
    /// Position of the turn in the whole run, from 1.
    pub turn: u32,
    /// When it began, RFC 3339 in UTC.
    pub started: String,
    /// How it ended.
    pub outcome: Outcome,
    /// By phase, in order: those that were closed.
    #[serde(default)]
    pub phases: IndexMap<String, PhaseRecord>,
    /// Comparison of the nodes after the last phase.
    #[serde(default)]
    pub convergence: Option<Convergence>,
    /// By node.
    #[serde(default)]
    pub nodes: IndexMap<String, NodeRecord>,
    /// Wall time of the whole turn, in seconds.
    #[serde(default)]
    pub total_seconds: f64,
    /// Things a reader should know, such as a WARNING of the server's log.
    #[serde(default)]
    pub notes: Vec<String>,
}

/// A slice: one turn of several on the same servers, side by side with those that it is compared with.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SliceRecord {
    /// Place within the sitting of its pair, from 1, warm-up included.
    pub place: u32,
    /// Whether it only warmed up: it counts in no figure.
    pub warm_up: bool,
}

/// A turn's name, by which its file and the folder of its logs are called.
pub fn turn_name(turn: u32, cell: &str, round: u32) -> String {
    format!("{turn:04}-{}-r{round}", plain(cell))
}

/// A text as part of a file's name: letters, digits, `.`, `_` and `-`, never empty or hidden.
pub(super) fn plain(text: &str) -> String {
    let kept = |c: char| if c.is_ascii_alphanumeric() || "._-".contains(c) { c } else { '-' };
    let plain: String = text.chars().map(kept).collect();
    let plain = plain.trim_start_matches('.');
    if plain.is_empty() { "run".to_owned() } else { plain.to_owned() }
}

impl Sample {
    /// Its turn's name.
    pub fn name(&self) -> String {
        turn_name(self.turn, &self.cell, self.round)
    }

    /// Whether it counts in statistics.
    pub fn counts(&self) -> bool {
        self.outcome.is_valid() && self.slice.as_ref().is_none_or(|slice| !slice.warm_up)
    }
}

/// A phase as stored.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PhaseRecord {
    /// False for a warm-up, whose figures are in no window but its own.
    pub measure: bool,
    /// What was observed.
    pub evidence: Evidence,
}

/// How a turn ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// All phases done and the nodes converged.
    Completed,
    /// Something said no.
    Failed {
        /// What was being done, such as a phase's name.
        during: String,
        /// The cause, in the server's own words where there are any.
        reason: String,
    },
    /// A bound ran out.
    TimedOut {
        /// What was being done.
        during: String,
        /// What was being waited for, and what stood in its way.
        reason: String,
    },
    /// The nodes do not hold the same rows.
    Diverged {
        /// The tables and rows.
        reason: String,
    },
    /// Stopped by the user.
    Interrupted,
    /// Something beside took too much of the machine, by a limit that the spec sets. No failure: another is run for it.
    Disturbed {
        /// What it was, and the limit.
        reason: String,
    },
}

impl Outcome {
    /// Whether the turn counts in statistics.
    pub fn is_valid(&self) -> bool {
        matches!(self, Outcome::Completed)
    }

    /// One line for people; `None` when all is well.
    pub fn complaint(&self) -> Option<String> {
        match self {
            Outcome::Completed => None,
            Outcome::Failed { during, reason } => Some(format!("failed in {during}: {reason}")),
            Outcome::TimedOut { during, reason } => Some(format!("ran out of time in {during}: {reason}")),
            Outcome::Diverged { reason } => Some(format!("the nodes did not converge: {reason}")),
            Outcome::Interrupted => Some("interrupted".to_owned()),
            Outcome::Disturbed { reason } => Some(format!("disturbed: {reason}")),
        }
    }
}

/// The comparison of what is replicated.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Convergence {
    /// Tables that were compared, with rows and checksum on either side.
    pub tables: Vec<TableComparison>,
}

impl Convergence {
    /// Whether every table agrees.
    pub fn agrees(&self) -> bool {
        self.tables.iter().all(TableComparison::agrees)
    }
}

/// One table compared between a publisher and a subscriber.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TableComparison {
    /// Table as SQL would name it.
    pub table: String,
    /// Publishing node.
    pub publisher: String,
    /// Subscribing node.
    pub subscriber: String,
    /// Rows and checksum on the publisher.
    pub published: TableDigest,
    /// Rows and checksum on the subscriber.
    pub subscribed: TableDigest,
    /// Some rows that are on one side only, in words.
    #[serde(default)]
    pub differing: Vec<String>,
}

impl TableComparison {
    /// Whether both sides hold the same.
    pub fn agrees(&self) -> bool {
        self.published == self.subscribed
    }
}

/// Rows of a table, and a checksum that does not depend on their order.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TableDigest {
    /// Rows.
    pub rows: u64,
    /// Sum of the rows' hashes, as text.
    pub checksum: String,
}

/// A node as it really was.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct NodeRecord {
    /// `server_version`.
    pub version: String,
    /// Effective settings that are not the server's defaults, read back: value by name.
    #[serde(default)]
    pub settings: IndexMap<String, String>,
    /// How it was built: of `pg_config` CONFIGURE, CC, CPPFLAGS, CFLAGS, LDFLAGS, LIBS and VERSION; `debug_assertions`,
    /// and `lz4`, `zstd`, `ssl`, `icu` as yes or no; `io_method` where there is one.
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    pub config: IndexMap<String, String>,
    /// CPU of the node's whole life by the kernel's account (wait4), in nanoseconds; of one that started from data that
    /// was made once, without the making.
    #[serde(default)]
    pub lifetime_cpu_ns: Option<u64>,
    /// The data that it started from, if that was made once and copied.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<DataRecord>,
}

/// Data of set-up that was made once and is copied for each turn.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct DataRecord {
    /// How long making it took, in seconds of wall time.
    pub seconds: f64,
    /// Size of the data directory, in bytes.
    pub bytes: u64,
}
