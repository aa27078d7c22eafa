//! Pairs of a paired comparison, from stored slices: which are whole, and what each says of the ratio. Pure.

use std::collections::{BTreeMap, BTreeSet};

use super::reading::read;
use super::record::Sample;
use crate::measure::Quantity;
use crate::plan::Plan;
use crate::plan::paired::PairedPlan;
use crate::spec::scenario::Scenario;
use crate::stats::{PairEffect, Side, Slice, pair_effect};

/// The two cells of a comparison: name and scenario of each.
#[derive(Clone, Copy, Debug)]
pub struct Cells<'a> {
    /// What the verdict is about.
    pub of: (&'a str, &'a Scenario),
    /// What it is compared with.
    pub to: (&'a str, &'a Scenario),
}

/// The measured slices of each pair that is whole, in the order they were run: every slice counts and has its figure, and
/// each side has `slices` of them.
pub fn whole_pairs(samples: &[Sample], cells: Cells<'_>, metric: &Quantity, slices: u32) -> BTreeMap<u32, Vec<Slice>> {
    let mut pairs: BTreeMap<u32, Vec<(u32, Option<Slice>)>> = BTreeMap::new();
    for sample in samples {
        let Some(record) = sample.slice.as_ref().filter(|record| !record.warm_up) else { continue };
        let (side, scenario) = match sample.cell.as_str() {
            cell if cell == cells.of.0 => (Side::Of, cells.of.1),
            cell if cell == cells.to.0 => (Side::To, cells.to.1),
            _ => continue,
        };
        let value = read(sample, scenario, metric).ok().filter(|_| sample.counts());
        let slice = value.map(|value| Slice { side, value });
        pairs.entry(sample.round).or_default().push((record.place, slice));
    }
    pairs
        .into_iter()
        .filter_map(|(pair, mut found)| {
            found.sort_by_key(|(place, _)| *place);
            let all: Vec<Slice> = found.into_iter().map(|(_, slice)| slice).collect::<Option<_>>()?;
            let of = all.iter().filter(|slice| slice.side == Side::Of).count();
            (of == slices as usize && all.len() == 2 * of).then_some((pair, all))
        })
        .collect()
}

/// The pairs that are whole, each as its comparison's index and its number. What goes on with a paired run keeps these and
/// runs the others again, whole.
pub fn whole(plan: &Plan, paired: &PairedPlan, samples: &[Sample]) -> BTreeSet<(usize, u32)> {
    let side = |index: usize| (plan.cells[index].name.as_str(), &*plan.cells[index].scenario);
    let mut out = BTreeSet::new();
    for (index, comparison) in paired.comparisons.iter().enumerate() {
        let cells = Cells { of: side(comparison.of), to: side(comparison.to) };
        let pairs = whole_pairs(samples, cells, &paired.metric, paired.slices);
        out.extend(effects(&pairs).into_keys().map(|pair| (index, pair)));
    }
    out
}

/// What each whole pair says.
pub fn effects(pairs: &BTreeMap<u32, Vec<Slice>>) -> BTreeMap<u32, PairEffect> {
    pairs.iter().filter_map(|(pair, slices)| Some((*pair, pair_effect(slices).ok()?))).collect()
}
