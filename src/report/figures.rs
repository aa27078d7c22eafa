//! Figures from records: a reference read in a run, over the phases of its window.
//!
//! Which runs count is decided here too; what is made of the figures is not.

use std::collections::BTreeMap;

use super::format::counted;
use crate::measure::Quantity;
use crate::results::{Sample, reading};
use crate::spec::scenario::{Phase, Scenario};
use crate::spec::{LoweredCell, Order, Spec};
use crate::stats::Summary;

pub(super) use crate::results::reading::{NoFigure, host_busy};

/// From this share of the host in use on, times and rates are figures of contention.
pub(super) const CONTENTION: f64 = 0.9;

/// The runs of a spec.
#[derive(Clone, Copy)]
pub(super) struct Runs<'a> {
    pub(super) spec: &'a Spec,
    pub(super) samples: &'a [Sample],
}

impl<'a> Runs<'a> {
    /// The cell of that name.
    pub(super) fn cell(self, name: &str) -> Option<&'a LoweredCell> {
        self.spec.cells.iter().find(|cell| cell.name == name)
    }

    /// The scenario of a cell.
    pub(super) fn scenario(self, cell: &str) -> Option<&'a Scenario> {
        self.cell(cell).map(|cell| &*cell.scenario)
    }

    /// The title of a cell, its name if the spec no longer has it.
    pub(super) fn title(self, cell: &'a str) -> &'a str {
        self.cell(cell).map_or(cell, |cell| cell.title.as_str())
    }

    /// Whether the runs are slices of pairs.
    pub(super) fn is_paired(self) -> bool {
        self.spec.run.order.value == Order::Paired || self.samples.iter().any(|sample| sample.slice.is_some())
    }

    /// What figures rest on.
    pub(super) fn unit(self) -> &'static str {
        if self.is_paired() { "pair" } else { "round" }
    }

    /// Runs of a cell that count.
    pub(super) fn valid(self, cell: &'a str) -> impl Iterator<Item = &'a Sample> {
        self.samples.iter().filter(move |sample| sample.cell == cell && sample.counts())
    }

    /// Phases of a window as the spec orders them.
    pub(super) fn phases(self, cell: &str, window: &str) -> Result<&'a [Phase], NoFigure> {
        let scenario = self.scenario(cell).ok_or_else(|| NoFigure::NoWindow(window.to_owned()))?;
        reading::phases(scenario, window)
    }

    /// The figure of a quantity in a run.
    pub(super) fn read(self, sample: &Sample, quantity: &Quantity) -> Result<f64, NoFigure> {
        let scenario = self.scenario(&sample.cell).ok_or(NoFigure::NoValidRun)?;
        reading::read(sample, scenario, quantity)
    }

    /// The share of the host in use over the phases from the first to the last that `windows` touch.
    pub(super) fn busy<'w>(self, sample: &Sample, windows: impl IntoIterator<Item = &'w str>) -> Result<f64, NoFigure> {
        let scenario = self.scenario(&sample.cell).ok_or(NoFigure::NoValidRun)?;
        reading::busy(sample, scenario, windows)
    }

    /// Rounds of a cell with the runs that count: one each, or the slices of a pair.
    pub(super) fn rounds(self, cell: &'a str) -> BTreeMap<u32, Vec<&'a Sample>> {
        let mut rounds: BTreeMap<u32, Vec<&'a Sample>> = BTreeMap::new();
        for sample in self.valid(cell) {
            rounds.entry(sample.round).or_default().push(sample);
        }
        if self.is_paired() {
            // A pair that is not whole counts nowhere.
            let slices = self.spec.run.paired.slices.value as usize;
            rounds.retain(|_, runs| runs.len() == slices);
        }
        rounds
    }

    /// `3 comparisons, 8 to 12 fresh pairs each of 2 × 4 slices`.
    pub(super) fn pairs_in_words(self) -> String {
        let comparisons = self.spec.comparisons();
        let pairs = || comparisons.iter().map(|pair| self.rounds(&self.spec.cells[pair.of].name).len());
        let (least, most) = (pairs().min().unwrap_or(0), pairs().max().unwrap_or(0));
        let n = if least == most { most.to_string() } else { format!("{least} to {most}") };
        let slices = self.spec.run.paired.slices.value;
        format!("{}, {n} fresh pairs each of 2 × {slices} slices", counted(comparisons.len(), "comparison"))
    }

    /// The figure of a quantity in a round.
    pub(super) fn read_round(self, runs: &[&Sample], quantity: &Quantity) -> Result<f64, NoFigure> {
        of_slices(runs, |sample| self.read(sample, quantity))
    }

    /// The median over a cell's rounds that have the figure, or why none has.
    pub(super) fn over_rounds(
        self,
        cell: &'a str,
        read: impl Fn(&Sample) -> Result<f64, NoFigure>,
    ) -> Result<OverRounds, NoFigure> {
        let readings: Vec<Result<f64, NoFigure>> =
            self.rounds(cell).values().map(|runs| of_slices(runs, &read)).collect();
        let values: Vec<f64> = readings.iter().filter_map(|reading| reading.as_ref().ok().copied()).collect();
        let absent: Vec<NoFigure> = readings.into_iter().filter_map(Result::err).collect();
        match Summary::of(&values) {
            Some(spread) => Ok(OverRounds { spread, values, absent }),
            None => Err(absent.into_iter().next().unwrap_or(NoFigure::NoValidRun)),
        }
    }

    /// Whether the host was too busy over a window for times and rates to stand for themselves: the median share,
    /// if so.
    pub(super) fn contention(self, scenario: &'a str, quantity: &Quantity) -> Option<f64> {
        if !super::format::suffers_contention(quantity) {
            return None;
        }
        let busy = self.over_rounds(scenario, |sample| self.busy(sample, quantity.windows())).ok()?;
        (busy.spread.median >= CONTENTION).then_some(busy.spread.median)
    }
}

/// One figure of the slices of a pair: their geometric mean, as ratios are made of it; the mean where one is not above
/// zero.
fn of_slices(runs: &[&Sample], read: impl Fn(&Sample) -> Result<f64, NoFigure>) -> Result<f64, NoFigure> {
    let values: Vec<f64> = runs.iter().map(|sample| read(sample)).collect::<Result<_, _>>()?;
    match values.as_slice() {
        [one] => Ok(*one),
        [] => Err(NoFigure::NoValidRun),
        several => {
            let n = several.len() as f64;
            if several.iter().all(|value| *value > 0.0) {
                Ok((several.iter().map(|value| value.ln()).sum::<f64>() / n).exp())
            } else {
                Ok(several.iter().sum::<f64>() / n)
            }
        }
    }
}

impl OverRounds {
    /// What stands for all of them: the geometric mean where figures are compared by their ratios, so that the ratio of two
    /// is the change that is told; else, and where one is not above zero, the median.
    pub(super) fn centre(&self, by_ratios: bool) -> f64 {
        if !by_ratios || self.values.iter().any(|value| *value <= 0.0) {
            return self.spread.median;
        }
        (self.values.iter().map(|value| value.ln()).sum::<f64>() / self.values.len() as f64).exp()
    }
}

/// A figure over a scenario's rounds.
pub(super) struct OverRounds {
    /// Median and range.
    pub(super) spread: Summary,
    /// Each run's own, in turn order.
    pub(super) values: Vec<f64>,
    /// Why the other valid runs have none.
    pub(super) absent: Vec<NoFigure>,
}

/// A ratio of two figures of a quantity, refused where it would be noise.
pub(super) fn ratio(of: f64, to: f64, quantity: &Quantity) -> Result<f64, NoFigure> {
    let floor = quantity.ratio_floor();
    if of < floor || to < floor {
        Err(NoFigure::BelowFloor { name: quantity.name().to_owned(), floor, unit: quantity.unit() })
    } else if to <= 0.0 {
        Err(NoFigure::NotPositive)
    } else {
        Ok(of / to)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::{Reference, Unit};

    #[test]
    fn a_ratio_below_the_floor_is_refused() {
        let metric = |name: &str| Quantity::Read(Reference::parse(&format!("w.{name}")).expect("in the catalogue"));
        let below = NoFigure::BelowFloor { name: "cpu".to_owned(), floor: 0.1, unit: Unit::Seconds };
        assert_eq!(ratio(4.0, 2.0, &metric("cpu")), Ok(2.0));
        for (of, to) in [(0.09, 2.0), (2.0, 0.09), (0.0, 0.0)] {
            assert_eq!(ratio(of, to, &metric("cpu")), Err(below.clone()));
        }
        assert_eq!(below.to_string(), "no ratio: below 0.1 s `cpu` is the noise of its instrument");
        assert_eq!(ratio(0.001, 0.002, &metric("seconds")), Ok(0.5));
        assert_eq!(ratio(1.0, 0.0, &metric("seconds")), Err(NoFigure::NotPositive));
    }
}
