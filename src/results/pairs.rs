//! Pairs of a paired comparison, from stored slices: which are whole, what each says of the ratio, and which is next. Pure.

use std::collections::{BTreeMap, BTreeSet};

use super::reading::read;
use super::record::{Outcome, Sample};
use crate::measure::Quantity;
use crate::plan::paired::PairedPlan;
use crate::spec::scenario::Scenario;
use crate::stats::{self, PairEffect, Side, Slice, pair_effect};

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

/// How far a comparison has come.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Progress {
    /// Logarithm of the ratio of each whole pair, by its number.
    pub log_ratios: BTreeMap<u32, f64>,
    /// Pairs that were begun.
    pub begun: BTreeSet<u32>,
    /// Those of them that nothing went wrong with but that something else took the machine.
    pub disturbed: BTreeSet<u32>,
    /// Those that were under way when the run was interrupted or killed.
    pub stopped: BTreeSet<u32>,
    /// Those in which every run is valid and that have no ratio all the same: a figure is not there, or not above zero.
    pub blank: BTreeSet<u32>,
}

/// What follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// The pair of that number, if no earlier round of pairs is under way.
    Pair(u32),
    /// Nothing: its interval is narrow enough.
    Narrow,
    /// Nothing: it has the most pairs.
    Most,
    /// Nothing: too many were disturbed.
    OutOfAttempts,
}

impl Progress {
    /// What samples say of a comparison.
    pub fn of(cells: Cells<'_>, paired: &PairedPlan, samples: &[Sample]) -> Self {
        let effects = effects(&whole_pairs(samples, cells, &paired.metric, paired.slices));
        let log_ratios = effects.into_iter().map(|(pair, effect)| (pair, effect.log_ratio)).collect();
        let mut out = Self { log_ratios, ..Self::default() };
        let mut pairs: BTreeMap<u32, Vec<&Sample>> = BTreeMap::new();
        for sample in samples.iter().filter(|sample| [cells.of.0, cells.to.0].contains(&sample.cell.as_str())) {
            pairs.entry(sample.round).or_default().push(sample);
        }
        for (pair, samples) in pairs {
            out.begun.insert(pair);
            let disturbed = |sample: &&Sample| matches!(sample.outcome, Outcome::Disturbed { .. });
            let measured = samples.iter().filter(|sample| sample.slice.as_ref().is_some_and(|slice| !slice.warm_up));
            let whole = measured.count() == 2 * paired.slices as usize;
            let no_fault = samples.iter().all(|sample| sample.outcome.is_valid() || disturbed(sample));
            if samples.iter().any(|sample| sample.outcome == Outcome::Interrupted) {
                out.stopped.insert(pair);
            } else if no_fault && samples.iter().any(disturbed) {
                out.disturbed.insert(pair);
            } else if no_fault && !whole {
                out.stopped.insert(pair);
            } else if no_fault && !out.log_ratios.contains_key(&pair) {
                out.blank.insert(pair);
            }
        }
        out
    }

    /// Takes what further pairs say.
    pub fn extend(&mut self, further: Progress) {
        self.log_ratios.extend(further.log_ratios);
        self.begun.extend(further.begun);
        self.disturbed.extend(further.disturbed);
        self.stopped.extend(further.stopped);
        self.blank.extend(further.blank);
    }

    /// The same without what was under way when the run was stopped.
    #[must_use]
    pub fn ended(&self) -> Self {
        let begun = self.begun.difference(&self.stopped).copied().collect();
        Self { begun, stopped: BTreeSet::new(), ..self.clone() }
    }

    /// The logarithms, in the order of the pairs.
    pub fn logs(&self) -> Vec<f64> {
        self.log_ratios.values().copied().collect()
    }

    /// What follows: no pair is begun twice, and one that was disturbed is not among the most that there may be.
    pub fn next(&self, paired: &PairedPlan) -> Next {
        match paired.rule().next(&self.logs()) {
            stats::Next::Narrow => return Next::Narrow,
            stats::Next::Most => return Next::Most,
            stats::Next::More => {}
        }
        let spent = self.begun.difference(&self.disturbed).count();
        if spent >= paired.most as usize {
            return Next::Most;
        }
        (1..=paired.attempts()).find(|pair| !self.begun.contains(pair)).map_or(Next::OutOfAttempts, Next::Pair)
    }

    /// Pairs that are run anew, with their numbers, by whoever goes on: those that are neither whole nor disturbed, if without
    /// them another is needed. Of a comparison that is done nothing is taken away.
    pub fn set_aside(&self, paired: &PairedPlan) -> BTreeSet<u32> {
        let spoilt =
            self.begun.iter().filter(|pair| !self.log_ratios.contains_key(*pair) && !self.disturbed.contains(*pair));
        let spoilt: BTreeSet<u32> = spoilt.copied().collect();
        let without = Self { begun: self.begun.difference(&spoilt).copied().collect(), ..self.clone() };
        if matches!(without.next(paired), Next::Pair(_)) { spoilt } else { BTreeSet::new() }
    }
}

/// What each whole pair says.
pub fn effects(pairs: &BTreeMap<u32, Vec<Slice>>) -> BTreeMap<u32, PairEffect> {
    pairs.iter().filter_map(|(pair, slices)| Some((*pair, pair_effect(slices).ok()?))).collect()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::measure::Reference;

    /// 8 to 10 pairs until ± 1 %, of which each may be begun four times if `steal` is bounded.
    fn plan(steal: Option<f64>) -> PairedPlan {
        PairedPlan {
            comparisons: Vec::new(),
            least: 8,
            most: 10,
            slices: 2,
            warm_up: Duration::ZERO,
            rest: Duration::ZERO,
            steal,
            other_load: None,
            until: 0.01,
            confidence: 0.95,
            metric: Quantity::Read(Reference::parse("load.tps").expect("in the catalogue")),
            seed: 1,
        }
    }

    /// Pairs 1 to `whole` differ by `spread`; after them come disturbed ones, and then failed ones.
    fn progress(whole: u32, spread: f64, disturbed: u32, failed: u32) -> Progress {
        let ratio = |pair: u32| (pair, if pair.is_multiple_of(2) { spread } else { -spread });
        Progress {
            log_ratios: (1..=whole).map(ratio).collect(),
            begun: (1..=whole + disturbed + failed).collect(),
            disturbed: (whole + 1..=whole + disturbed).collect(),
            ..Progress::default()
        }
    }

    #[test]
    fn pairs_follow_until_the_interval_is_narrow_or_the_most_are_there_or_too_many_were_disturbed() {
        let (plain, bounded) = (plan(None), plan(Some(0.05)));
        for (progress, paired, next) in [
            (Progress::default(), &plain, Next::Pair(1)),
            (progress(7, 0.001, 0, 0), &plain, Next::Pair(8)),
            (progress(8, 0.001, 0, 0), &plain, Next::Narrow),
            (progress(8, 0.5, 0, 0), &plain, Next::Pair(9)),
            (progress(10, 0.5, 0, 0), &plain, Next::Most),
            // What failed was one of the most; what was disturbed was none.
            (progress(8, 0.5, 0, 2), &plain, Next::Most),
            (progress(0, 0.0, 0, 10), &plain, Next::Most),
            (progress(8, 0.5, 2, 0), &bounded, Next::Pair(11)),
            (progress(3, 0.5, 36, 0), &bounded, Next::Pair(40)),
            (progress(3, 0.5, 37, 0), &bounded, Next::OutOfAttempts),
            (progress(8, 0.001, 32, 0), &bounded, Next::Narrow),
        ] {
            assert_eq!(progress.next(paired), next, "{progress:?}");
        }
    }

    #[test]
    fn going_on_runs_what_went_wrong_anew_and_takes_nothing_from_what_is_done() {
        let plan = plan(Some(0.05));
        let aside = |progress: Progress| progress.set_aside(&plan).into_iter().collect::<Vec<_>>();
        assert_eq!(aside(progress(4, 0.5, 1, 2)), [6, 7], "a disturbed one stays");
        assert_eq!(aside(progress(8, 0.5, 0, 2)), [9, 10], "they have used up the most, and count for nothing");
        assert_eq!(aside(progress(8, 0.001, 0, 1)), [0; 0], "narrow enough without it");
        assert_eq!(aside(progress(10, 0.5, 0, 1)), [0; 0]);
        let mut gap = progress(4, 0.5, 0, 0);
        gap.begun = [1, 2, 3, 4, 6].into();
        assert_eq!((gap.next(&plan), aside(gap)), (Next::Pair(5), vec![6]));
    }
}
