//! A figure of a stored run: a quantity read from the evidence of the phases of its window. Pure.

use std::fmt;

use super::record::Sample;
use crate::measure::{Absent, Evidence, Labels, Metric, Operator, Quantity, Reference, Unit, find};
use crate::spec::scenario::{Phase, Scenario};

/// Why there is no figure.
#[derive(Clone, Debug, PartialEq)]
pub enum NoFigure {
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
            NoFigure::BelowFloor { name, floor, unit } => {
                let unit = match unit {
                    Unit::Seconds => " s",
                    Unit::Milliseconds => " ms",
                    Unit::Bytes => " bytes",
                    Unit::PerSecond => "/s",
                    Unit::Count | Unit::Fraction | Unit::Number => "",
                };
                write!(f, "no ratio: below {floor:.1}{unit} `{name}` is the noise of its instrument")
            }
            NoFigure::NotPositive => f.write_str("no ratio: one side is not above zero"),
            NoFigure::NotFinite => f.write_str("not a finite number"),
        }
    }
}

/// The figure of a quantity in a run of a scenario.
pub fn read(sample: &Sample, scenario: &Scenario, quantity: &Quantity) -> Result<f64, NoFigure> {
    let value = match quantity {
        Quantity::Read(reference) => read_one(sample, scenario, reference)?,
        Quantity::Computed(computed) => {
            let left = read_one(sample, scenario, &computed.left)?;
            let right = read_one(sample, scenario, &computed.right)?;
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

fn read_one(sample: &Sample, scenario: &Scenario, reference: &Reference) -> Result<f64, NoFigure> {
    let evidence = evidence(sample, phases(scenario, &reference.window)?)?;
    (reference.metric.read)(&evidence, &reference.labels).map_err(NoFigure::Absent)
}

/// The phases of a window, as the scenario orders them.
pub fn phases<'s>(scenario: &'s Scenario, window: &str) -> Result<&'s [Phase], NoFigure> {
    let phases = scenario.windows.get(window).and_then(|(first, last)| scenario.phases.get(*first..=*last));
    phases.ok_or_else(|| NoFigure::NoWindow(window.to_owned()))
}

/// The share of the host in use over the phases from the first to the last that `windows` touch.
pub fn busy<'w>(
    sample: &Sample,
    scenario: &Scenario,
    windows: impl IntoIterator<Item = &'w str>,
) -> Result<f64, NoFigure> {
    let spans = windows.into_iter().filter_map(|window| scenario.windows.get(window).copied());
    let hull = spans.reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)));
    let phases = hull
        .and_then(|(first, last)| scenario.phases.get(first..=last))
        .ok_or_else(|| NoFigure::NoWindow("of any column".to_owned()))?;
    let evidence = evidence(sample, phases)?;
    (host_busy().read)(&evidence, &Labels::default()).map_err(NoFigure::Absent)
}

/// The catalogue's entry of the share in use.
pub fn host_busy() -> &'static Metric {
    find("host_busy").expect("the catalogue has the host")
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
