//! Figures from records: a reference read in a run, over the phases of its window.
//!
//! Which runs count is decided here too; what is made of the figures is not.

use std::fmt;

use crate::measure::{Absent, Evidence, Labels, Metric, Operator, Quantity, Reference, Unit, find};
use crate::results::Sample;
use crate::spec::scenario::{Phase, Scenario};
use crate::spec::{LoweredCell, Spec};
use crate::stats::Summary;

use super::format::figure_with_unit;

/// From this share of the host in use on, times and rates are figures of contention.
pub(super) const CONTENTION: f64 = 0.9;

/// Why there is no figure.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum NoFigure {
    /// The evidence does not hold it.
    Absent(Absent),
    /// The run ended before that phase was closed.
    NotReached(String),
    /// The scenario has no such window.
    NoWindow(String),
    /// No run of the scenario is valid.
    NoValidRun,
    /// No valid run of that round stands on the other side.
    NoCounterpart,
    /// A side of a ratio is smaller than what the instrument tells apart.
    BelowFloor {
        /// The metric.
        name: String,
        /// The floor.
        floor: f64,
        /// Its unit.
        unit: Unit,
    },
    /// A ratio to zero.
    NotPositive,
    /// A division by a window without length.
    NotFinite,
}

impl fmt::Display for NoFigure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NoFigure::Absent(absent) => absent.fmt(f),
            NoFigure::NotReached(phase) => write!(f, "the run ended before phase `{phase}` did"),
            NoFigure::NoWindow(window) => write!(f, "no phase or window `{window}` in this scenario"),
            NoFigure::NoValidRun => f.write_str("no valid run"),
            NoFigure::NoCounterpart => f.write_str("no valid run in the same round to divide by"),
            NoFigure::BelowFloor { name, floor, unit } => write!(
                f,
                "no ratio: below {} `{name}` is the noise of its instrument",
                figure_with_unit(*floor, *unit, 1),
            ),
            NoFigure::NotPositive => f.write_str("no ratio: one side is not above zero"),
            NoFigure::NotFinite => f.write_str("not a finite number"),
        }
    }
}

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

    /// Runs of a cell that count.
    pub(super) fn valid(self, cell: &'a str) -> impl Iterator<Item = &'a Sample> {
        self.samples.iter().filter(move |sample| sample.cell == cell && sample.counts())
    }

    /// Phases of a window as the spec orders them.
    pub(super) fn phases(self, scenario: &str, window: &str) -> Result<&'a [Phase], NoFigure> {
        self.scenario(scenario)
            .and_then(|scenario| {
                let (first, last) = *scenario.windows.get(window)?;
                scenario.phases.get(first..=last)
            })
            .ok_or_else(|| NoFigure::NoWindow(window.to_owned()))
    }

    /// The figure of a quantity in a run.
    pub(super) fn read(self, sample: &Sample, quantity: &Quantity) -> Result<f64, NoFigure> {
        let value = match quantity {
            Quantity::Read(reference) => self.read_one(sample, reference)?,
            Quantity::Computed(computed) => {
                let (left, right) = (self.read_one(sample, &computed.left)?, self.read_one(sample, &computed.right)?);
                for (side, value) in [(&computed.left, left), (&computed.right, right)] {
                    let Metric { name, ratio_floor: floor, unit, .. } = *side.metric;
                    // A quotient is a ratio too.
                    if computed.operator == Operator::Divide && value < floor {
                        return Err(NoFigure::BelowFloor { name: name.to_owned(), floor, unit });
                    }
                }
                computed.operator.apply(left, right)
            }
        };
        if value.is_finite() { Ok(value) } else { Err(NoFigure::NotFinite) }
    }

    fn read_one(self, sample: &Sample, reference: &Reference) -> Result<f64, NoFigure> {
        let phases = self.phases(&sample.cell, &reference.window)?;
        let evidence = evidence(sample, phases)?;
        (reference.metric.read)(&evidence, &reference.labels).map_err(NoFigure::Absent)
    }

    /// The share of the host in use over the phases from the first to the last that `windows` touch.
    pub(super) fn busy<'w>(self, sample: &Sample, windows: impl IntoIterator<Item = &'w str>) -> Result<f64, NoFigure> {
        let scenario = self.scenario(&sample.cell);
        let spans = windows.into_iter().filter_map(|window| scenario?.windows.get(window).copied());
        let hull = spans.reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)));
        let phases = hull
            .and_then(|(first, last)| scenario?.phases.get(first..=last))
            .ok_or_else(|| NoFigure::NoWindow("of any column".to_owned()))?;
        let evidence = evidence(sample, phases)?;
        let metric = host_busy();
        (metric.read)(&evidence, &Labels::default()).map_err(NoFigure::Absent)
    }

    /// The median of a scenario's valid runs that have the figure, or why none has.
    pub(super) fn over_rounds(
        self,
        scenario: &'a str,
        read: impl Fn(&Sample) -> Result<f64, NoFigure>,
    ) -> Result<OverRounds, NoFigure> {
        let readings: Vec<Result<f64, NoFigure>> = self.valid(scenario).map(read).collect();
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

/// The joined evidence of consecutive phases of a run.
fn evidence(sample: &Sample, phases: &[Phase]) -> Result<Evidence, NoFigure> {
    let mut observed = Vec::new();
    for phase in phases {
        match sample.phases.get(&phase.name) {
            Some(record) => observed.push(&record.evidence),
            None => return Err(NoFigure::NotReached(phase.name.clone())),
        }
    }
    Ok(Evidence::join(observed))
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

/// The catalogue's entry of the share in use.
pub(super) fn host_busy() -> &'static Metric {
    find("host_busy").expect("the catalogue has the host")
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
