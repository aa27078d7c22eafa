//! `[run]` and `[marker]`: how often, in which order, and how the marker commits.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::spec::field::{At, Field, Later};
use crate::spec::scalar::{Count, Flag, OneOf, Word};
use crate::spec::scenario::MarkerCommit;
use crate::spec::scope::{Chosen, Scope};

/// How often and in which order.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default, expecting = "a table such as { rounds = 3 }")]
#[schemars(rename = "Run")]
pub(in crate::spec) struct RawRun {
    /// Runs of every scenario; a round holds one run of each. Default 3.
    pub(in crate::spec) rounds: Field<Count>,
    /// Order of the runs within a round: `shuffled` (seeded, the default) or `as_written`.
    pub(in crate::spec) order: Field<OneOf<RawOrder>>,
    /// Seed of the order and of the scripts' random numbers. Default 1.
    pub(in crate::spec) seed: Field<Count>,
    /// CHECKPOINT on every node, once, before the first phase. Default true.
    pub(in crate::spec) checkpoint: Field<Flag>,
    #[schemars(skip)]
    pub(in crate::spec) paired: Option<At<Later>>,
}

/// The marker: the row that says when everything has arrived.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default, expecting = "a table such as { commit = \"flushed\" }")]
#[schemars(rename = "Marker")]
pub(in crate::spec) struct RawMarker {
    /// How its commit is made durable: `flushed` (the default), or `as_load` with the node's own settings.
    pub(in crate::spec) commit: Field<OneOf<MarkerCommit>>,
}

/// Order of the runs within a round, as written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::spec) enum RawOrder {
    Shuffled,
    AsWritten,
    Paired,
}

impl Word for RawOrder {
    const EXPECTED: &'static str = "`shuffled` or `as_written`";
    const WORDS: &'static [(&'static str, Self)] =
        &[("shuffled", RawOrder::Shuffled), ("as_written", RawOrder::AsWritten), ("paired", RawOrder::Paired)];
}

impl Word for MarkerCommit {
    const EXPECTED: &'static str = "`flushed` or `as_load`";
    const WORDS: &'static [(&'static str, Self)] =
        &[("flushed", MarkerCommit::Flushed), ("as_load", MarkerCommit::AsLoad)];
}

/// Order of the runs within a round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Seeded, anew in each round.
    Shuffled,
    /// As the spec lists the scenarios.
    AsWritten,
}

impl Order {
    /// As written in a spec.
    pub fn as_str(self) -> &'static str {
        match self {
            Order::Shuffled => "shuffled",
            Order::AsWritten => "as_written",
        }
    }
}

/// How often and in which order, valid.
#[derive(Clone, Debug)]
pub struct Run {
    /// Runs of every cell.
    pub rounds: Chosen<u32>,
    /// Order within a round.
    pub order: Chosen<Order>,
    /// Seed of the order and of the scripts.
    pub seed: Chosen<u64>,
    /// CHECKPOINT before the first phase.
    pub checkpoint: Chosen<bool>,
}

/// Rounds when the spec does not say: the fewest that show a spread.
const DEFAULT_ROUNDS: u32 = 3;

pub(in crate::spec) fn lower(raw: Option<&At<RawRun>>, scope: &mut Scope<'_, '_>) -> Run {
    let none = RawRun::default();
    let raw = raw.map_or(&none, |at| &at.value);
    scope.later(raw.paired.as_ref(), "paired", "paired comparison");
    let order = match scope.value(&raw.order) {
        None => Chosen::default_of(Order::Shuffled),
        Some(at) => {
            let order = match at.value.0 {
                RawOrder::Shuffled => Order::Shuffled,
                RawOrder::AsWritten => Order::AsWritten,
                RawOrder::Paired => {
                    scope.tell(super::super::scope::not_yet("order = \"paired\"", "paired comparison", at.span));
                    Order::Shuffled
                }
            };
            Chosen { value: order, at: Some(at.span) }
        }
    };
    Run {
        rounds: scope.chosen(&raw.rounds, DEFAULT_ROUNDS, |n| u32::try_from(n.0).unwrap_or(u32::MAX)),
        order,
        seed: scope.chosen(&raw.seed, 1, |n| n.0),
        checkpoint: scope.chosen(&raw.checkpoint, true, |flag| flag.0),
    }
}

pub(in crate::spec) fn marker_commit(raw: Option<&At<RawMarker>>, scope: &mut Scope<'_, '_>) -> Chosen<MarkerCommit> {
    match raw {
        Some(at) => scope.chosen(&at.value.commit, MarkerCommit::Flushed, |word| word.0),
        None => Chosen::default_of(MarkerCommit::Flushed),
    }
}
