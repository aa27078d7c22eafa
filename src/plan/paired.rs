//! A paired comparison, decided: which cells stand side by side, in how many fresh pairs at most, in which order their
//! slices come.
//!
//! The unit of the statistics is the pair: servers of one build differ by how their memory and files came to lie, for as
//! long as they live, so that many slices on one pair say little of the build (Kalibera and Jones, ISMM 2013).

use std::time::Duration;

use super::Cell;
use super::phase;
use crate::measure::Quantity;
use crate::plan::instruction::PhasePlan;
use crate::spec::{Comparison, Spec};
use crate::stats::{SplitMix64, StopRule};

pub use crate::stats::Side;

/// A paired comparison of a run.
#[derive(Clone, Debug)]
pub struct PairedPlan {
    /// What is compared, at each point of the other axes.
    pub comparisons: Vec<Comparison>,
    /// The fewest fresh pairs of servers for each.
    pub least: u32,
    /// The most.
    pub most: u32,
    /// Slices of each side in a pair, even.
    pub slices: u32,
    /// Time of slices that are thrown away at the beginning of each pair.
    pub warm_up: Duration,
    /// Pause before each slice, in no clock.
    pub rest: Duration,
    /// The most of the cores, as a share, that the hypervisor may take in a measured slice of a pair that counts.
    pub steal: Option<f64>,
    /// The same of other processes.
    pub other_load: Option<f64>,
    /// Half width of the ratio's interval, as a share, from which on no further pair is needed.
    pub until: f64,
    /// Confidence of that interval.
    pub confidence: f64,
    /// What of the sides is compared.
    pub metric: Quantity,
    /// Seed of the order of the comparisons within a round of pairs.
    pub seed: u64,
}

impl PairedPlan {
    /// The comparison of a spec whose order is paired; `None` if it has no `[compare]`.
    pub fn of(spec: &Spec) -> Option<Self> {
        let compare = spec.compare.as_ref()?;
        let paired = &spec.run.paired;
        Some(Self {
            comparisons: spec.comparisons(),
            least: paired.least.value,
            most: paired.most.value,
            slices: paired.slices.value,
            warm_up: paired.warm_up.value,
            rest: paired.rest.value,
            steal: paired.steal.as_ref().map(|steal| steal.value),
            other_load: paired.other_load.as_ref().map(|load| load.value),
            until: paired.until.value,
            confidence: compare.confidence,
            metric: compare.metric.clone(),
            seed: spec.run.seed.value,
        })
    }

    /// When enough pairs are there.
    pub fn rule(&self) -> StopRule {
        StopRule { least: self.least, most: self.most, half_width: self.until, confidence: self.confidence }
    }

    /// How many pairs of a comparison are begun at most: where some may be disturbed, four for each that it may have.
    pub fn attempts(&self) -> u32 {
        if self.steal.is_some() || self.other_load.is_some() { self.most.saturating_mul(4) } else { self.most }
    }

    /// The order of the comparisons in one round of pairs, from 1: shuffled anew in each.
    pub fn order(&self, pair: u32) -> Vec<usize> {
        let mut random = SplitMix64::seeded(self.seed.wrapping_mul(1_000_003).wrapping_add(u64::from(pair)));
        let mut order: Vec<usize> = (0..self.comparisons.len()).collect();
        for last in (1..order.len()).rev() {
            order.swap(last, random.below(last + 1));
        }
        order
    }

    /// The side that begins a pair: each in turn.
    pub fn first(pair: u32) -> Side {
        if pair % 2 == 1 { Side::To } else { Side::Of }
    }

    /// The measured slices of a pair in order: A B B A, as often as it takes, so that a drift that is even in time tells
    /// on both sides alike, and so that each side follows itself and the other.
    pub fn slices(&self, pair: u32) -> Vec<Side> {
        let (a, b) = (Self::first(pair), Self::first(pair).other());
        [a, b, b, a].into_iter().cycle().take(2 * self.slices as usize).collect()
    }
}

/// The phases of the slice of that number, from 0, on the same servers: as those of the first, with markers of their
/// own.
pub fn phases(cell: &Cell, slice: u32) -> Vec<PhasePlan> {
    let major = |node: &str| cell.nodes.get(node)?.build.as_ref().map(|build| build.release.major);
    phase::lower_slice(&cell.scenario, slice, &major)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::Reference;

    fn plan(slices: u32) -> PairedPlan {
        let comparison = |name: &str| Comparison { name: name.to_owned(), of: 0, to: 1 };
        PairedPlan {
            comparisons: ["a", "b", "c", "d"].map(comparison).to_vec(),
            least: 8,
            most: 30,
            slices,
            warm_up: Duration::ZERO,
            rest: Duration::ZERO,
            steal: None,
            other_load: None,
            until: 0.01,
            confidence: 0.95,
            metric: Quantity::Read(Reference::parse("load.tps").expect("in the catalogue")),
            seed: 1,
        }
    }

    #[test]
    fn slices_are_a_b_b_a_and_each_side_begins_in_turn() {
        use Side::{Of, To};
        assert_eq!(plan(2).slices(1), [To, Of, Of, To]);
        assert_eq!(plan(2).slices(2), [Of, To, To, Of]);
        assert_eq!(plan(4).slices(1), [To, Of, Of, To, To, Of, Of, To]);
        for pair in 1..5 {
            let slices = plan(6).slices(pair);
            assert_eq!(slices.iter().filter(|side| **side == Of).count(), 6);
        }
    }

    #[test]
    fn every_round_of_pairs_has_each_comparison_once_and_the_order_changes() {
        let plan = plan(4);
        let orders: Vec<Vec<usize>> = (1..=20).map(|pair| plan.order(pair)).collect();
        for order in &orders {
            let mut all = order.clone();
            all.sort_unstable();
            assert_eq!(all, [0, 1, 2, 3]);
        }
        assert!(orders.windows(2).any(|pair| pair[0] != pair[1]));
        assert_eq!(plan.order(7), plan.order(7));
    }
}
