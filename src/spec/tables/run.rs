//! `[run]` and `[marker]`: how often, in which order, and how the marker commits.

use schemars::JsonSchema;
use serde::Deserialize;

use std::time::Duration;

use super::compare::share;
use crate::spec::field::{At, Field};
use crate::spec::scalar::{Bound, Count, Flag, OneOf, Span_, Word};
use crate::spec::scenario::MarkerCommit;
use crate::spec::scope::{Chosen, Scope};
use crate::text::{Code, Issue};

/// How often and in which order.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default, expecting = "a table such as { rounds = 3 }")]
#[schemars(rename = "Run")]
pub(in crate::spec) struct RawRun {
    /// Runs of every scenario; a round holds one run of each. Default 3.
    pub(in crate::spec) rounds: Field<Count>,
    /// Order of the runs within a round: `shuffled` (seeded, the default) or `as_written`; or `paired`, where there are
    /// no rounds but pairs of what [compare] names.
    pub(in crate::spec) order: Field<OneOf<Order>>,
    /// Seed of the order and of the scripts' random numbers. Default 1.
    pub(in crate::spec) seed: Field<Count>,
    /// CHECKPOINT on every node, once, before the first phase. Default true.
    pub(in crate::spec) checkpoint: Field<Flag>,
    /// How a paired comparison is run; with order = "paired".
    pub(in crate::spec) paired: Option<At<RawPaired>>,
}

/// A paired comparison: both sides up at once, slices in turn, fresh servers for each pair.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default, expecting = "a table such as { slices = 4, until = \"± 1%\" }")]
#[schemars(rename = "Paired")]
pub(in crate::spec) struct RawPaired {
    /// Fresh pairs of servers for each comparison. Default { min = 8, max = 30 }.
    instances: Option<At<RawInstances>>,
    /// Slices of each side in a pair, an even number. Default 4.
    slices: Field<Count>,
    /// Time of slices that are thrown away at the beginning of each pair. Default "0s".
    warm_up: Field<Span_>,
    /// Pause before each slice, in no clock: a server that has just worked may be slower than one that has rested.
    /// Default "0s".
    rest: Field<Span_>,
    /// The most that the hypervisor may take of the cores in a slice, such as "5%": a pair in which it takes more ends there,
    /// counts nowhere, and another is run in its place, until four times `max` have been begun. Default: no bound.
    steal: Option<At<Bound>>,
    /// The most that other processes, and the kernel's own work, may use of the cores in a slice, such as "15%"; what is then
    /// done is as for `steal`. Default: no bound.
    other_load: Option<At<Bound>>,
    /// Half width of the interval at which enough pairs are there, such as "± 1%". Default "± 1%".
    until: Option<At<Bound>>,
}

/// How many fresh pairs.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default, expecting = "a table such as { min = 8, max = 30 }")]
#[schemars(rename = "Instances")]
pub(in crate::spec) struct RawInstances {
    /// The fewest. Default 8, of which fewer would not show how much pairs differ.
    min: Field<Count>,
    /// The most.
    max: Field<Count>,
}

/// The marker: the row that says when everything has arrived.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default, expecting = "a table such as { commit = \"flushed\" }")]
#[schemars(rename = "Marker")]
pub(in crate::spec) struct RawMarker {
    /// How its commit is made durable: `flushed` (the default), or `as_load` with the node's own settings.
    pub(in crate::spec) commit: Field<OneOf<MarkerCommit>>,
}

impl Word for Order {
    const EXPECTED: &'static str = "`shuffled`, `as_written` or `paired`";
    const WORDS: &'static [(&'static str, Self)] =
        &[("shuffled", Order::Shuffled), ("as_written", Order::AsWritten), ("paired", Order::Paired)];
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
    /// No rounds: pairs of the sides that are compared.
    Paired,
}

impl Order {
    /// As written in a spec.
    pub fn as_str(self) -> &'static str {
        match self {
            Order::Shuffled => "shuffled",
            Order::AsWritten => "as_written",
            Order::Paired => "paired",
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
    /// How a paired comparison is run.
    pub paired: Paired,
}

/// How a paired comparison is run, valid.
#[derive(Clone, Debug)]
pub struct Paired {
    /// The fewest fresh pairs of servers.
    pub least: Chosen<u32>,
    /// The most.
    pub most: Chosen<u32>,
    /// Slices of each side in a pair, even.
    pub slices: Chosen<u32>,
    /// Time of slices that are thrown away at the beginning of each pair.
    pub warm_up: Chosen<Duration>,
    /// Pause before each slice.
    pub rest: Chosen<Duration>,
    /// The most of the cores, as a share, that the hypervisor may take in a slice.
    pub steal: Option<Chosen<f64>>,
    /// The most of the cores, as a share, that other processes may use in a slice.
    pub other_load: Option<Chosen<f64>>,
    /// Half width of the interval, as a share, at which no further pair is needed.
    pub until: Chosen<f64>,
}

impl Default for Paired {
    fn default() -> Self {
        Self {
            least: Chosen::default_of(LEAST_PAIRS),
            most: Chosen::default_of(30),
            slices: Chosen::default_of(4),
            warm_up: Chosen::default_of(Duration::ZERO),
            rest: Chosen::default_of(Duration::ZERO),
            steal: None,
            other_load: None,
            until: Chosen::default_of(0.01),
        }
    }
}

/// Fewer pairs say too little of how much pairs of one build differ.
pub const LEAST_PAIRS: u32 = 8;

/// Rounds when the spec does not say: the fewest that show a spread.
const DEFAULT_ROUNDS: u32 = 3;

pub(in crate::spec) fn lower(raw: Option<&At<RawRun>>, scope: &mut Scope<'_, '_>) -> Run {
    let none = RawRun::default();
    let raw = raw.map_or(&none, |at| &at.value);
    Run {
        rounds: scope.chosen(&raw.rounds, DEFAULT_ROUNDS, |n| u32::try_from(n.0).unwrap_or(u32::MAX)),
        order: scope.chosen(&raw.order, Order::Shuffled, |word| word.0),
        paired: paired(raw.paired.as_ref(), scope),
        seed: scope.chosen(&raw.seed, 1, |n| n.0),
        checkpoint: scope.chosen(&raw.checkpoint, true, |flag| flag.0),
    }
}

fn paired(raw: Option<&At<RawPaired>>, scope: &mut Scope<'_, '_>) -> Paired {
    let mut out = Paired::default();
    let Some(raw) = raw.map(|at| &at.value) else { return out };
    let whole = |n: Count| u32::try_from(n.0).unwrap_or(u32::MAX);
    if let Some(instances) = &raw.instances {
        out.least = scope.chosen(&instances.value.min, out.least.value, whole);
        out.most = scope.chosen(&instances.value.max, out.most.value.max(out.least.value), whole);
        if let Some(min) = out.least.at.filter(|_| out.least.value < LEAST_PAIRS) {
            scope.tell(
                Issue::new(Code::Impossible, format!("{} pairs are too few", out.least.value), min, "too few").help(
                    format!(
                        "ask for at least {LEAST_PAIRS}: pairs of one build differ, and fewer do not show by how much"
                    ),
                ),
            );
        }
        if let Some(max) = out.most.at.filter(|_| out.most.value < out.least.value) {
            let message =
                format!("the most pairs ({}) are fewer than the fewest ({})", out.most.value, out.least.value);
            scope.tell(Issue::new(Code::Impossible, message, max, "too few").help("raise `max`, or lower `min`"));
        }
    }
    out.slices = scope.chosen(&raw.slices, out.slices.value, whole);
    if let Some(slices) = out.slices.at.filter(|_| out.slices.value % 2 != 0) {
        scope.tell(
            Issue::new(Code::Impossible, "slices come in twos", slices, "an odd number")
                .help("write an even number: the order A B B A has two of each side"),
        );
    }
    out.warm_up = scope.chosen(&raw.warm_up, Duration::ZERO, |length| length.0);
    out.rest = scope.chosen(&raw.rest, Duration::ZERO, |length| length.0);
    let mut own = crate::text::Issues::default();
    let mut read = |bound: &At<Bound>| Some(Chosen { value: share(bound, &mut own)?, at: Some(bound.span) });
    if let Some(until) = raw.until.as_ref().and_then(&mut read) {
        out.until = until;
    }
    out.steal = raw.steal.as_ref().and_then(&mut read);
    out.other_load = raw.other_load.as_ref().and_then(&mut read);
    own.as_slice().iter().for_each(|issue| scope.tell(issue.clone()));
    out
}

pub(in crate::spec) fn marker_commit(raw: Option<&At<RawMarker>>, scope: &mut Scope<'_, '_>) -> Chosen<MarkerCommit> {
    match raw {
        Some(at) => scope.chosen(&at.value.commit, MarkerCommit::Flushed, |word| word.0),
        None => Chosen::default_of(MarkerCommit::Flushed),
    }
}
