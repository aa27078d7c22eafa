//! A paired comparison: fresh pairs of servers until each comparison's interval is narrow enough, or the most are done.
//! The rule is the plan's and the statistics'; here it is kept.

use tokio::sync::watch;

use super::Surroundings;
use super::event::{Event, PairEnded};
use super::live::{Beside, Live};
use super::sitting::{Sides, SittingResult, Slice, now, sitting};
use crate::plan::paired::{PairedPlan, Side};
use crate::plan::{Cell, Plan};
use crate::results::pairs::{Cells, Next, Progress};
use crate::results::record::{FORMAT, turn_name};
use crate::results::{Outcome, Sample, SliceRecord};
use crate::spec::Comparison;
use crate::stats::{StopRule, paired_estimate};

/// Runs pairs in rounds, one of each comparison that still needs one, and hands each slice over when its pair has ended.
/// Pairs that are there whole already (from a run that is gone on with) are taken as they are.
pub async fn run(
    plan: &Plan,
    paired: &PairedPlan,
    surroundings: &mut Surroundings<'_>,
    stop: &watch::Receiver<bool>,
    observe: &mut dyn FnMut(Event<'_>),
    save: &mut dyn FnMut(&Sample) -> std::io::Result<()>,
) -> std::io::Result<()> {
    let cells = |comparison: &Comparison| {
        let side = |index: usize| (plan.cells[index].name.as_str(), &*plan.cells[index].scenario);
        Cells { of: side(comparison.of), to: side(comparison.to) }
    };
    let told = |samples: &[Sample], comparison: &Comparison| Progress::of(cells(comparison), paired, samples);
    let mut progress: Vec<Progress> =
        paired.comparisons.iter().map(|comparison| told(&surroundings.before, comparison)).collect();
    let mut turn = surroundings.before.iter().map(|sample| sample.turn).max().unwrap_or(0);
    for pair in 1..=paired.attempts() {
        for index in paired.order(pair) {
            let here = surroundings.comparisons.as_ref().is_none_or(|own| own.contains(&index));
            if !here || progress[index].next(paired) != Next::Pair(pair) {
                continue;
            }
            if *stop.borrow() {
                return Ok(());
            }
            let comparison = &paired.comparisons[index];
            let began = std::time::Instant::now();
            observe(Event::Pair { comparison: &comparison.name, pair, least: paired.least, most: paired.most });
            let cells = Sides { of: &plan.cells[comparison.of], to: &plan.cells[comparison.to] };
            let (result, notes) = one(comparison, cells, (paired, pair), surroundings, stop, observe).await;
            let complaint = result.complaint();
            let samples = samples(result, notes, cells, pair, &mut turn);
            for sample in &samples {
                save(sample)?;
            }
            progress[index].extend(told(&samples, comparison));
            let known = progress[index].logs();
            let estimate = paired_estimate(&known, paired.confidence, StopRule::widening(known.len())).ok();
            let half = |low: f64, high: f64| (high / low).sqrt() - 1.0;
            let ratio = estimate.map(|own| (own.ratio, own.interval.map(|interval| half(interval.low, interval.high))));
            observe(Event::Paired(PairEnded {
                comparison: &comparison.name,
                pair,
                whole: u32::try_from(known.len()).unwrap_or(u32::MAX),
                ratio,
                done: !matches!(progress[index].next(paired), Next::Pair(_)),
                complaint: complaint.as_deref(),
                seconds: began.elapsed().as_secs_f64(),
            }));
        }
    }
    Ok(())
}

async fn one(
    comparison: &Comparison,
    cells: Sides<&Cell>,
    (paired, pair): (&PairedPlan, u32),
    surroundings: &mut Surroundings<'_>,
    stop: &watch::Receiver<bool>,
    observe: &mut dyn FnMut(Event<'_>),
) -> (SittingResult, Sides<Vec<String>>) {
    let logs = surroundings.logs.join(turn_name(pair, &cells.of.name, pair));
    // Both sides draw the same random numbers in their slices, and other ones in another pair.
    let seed = surroundings.seed.wrapping_add(u64::from(pair));
    let shift = u16::try_from(cells.of.nodes.len()).unwrap_or(u16::MAX);
    let live = |cell, index: usize, beside| {
        let installations = &surroundings.installations[index];
        let lab = (surroundings.lab, beside);
        Live::new(cell, installations, lab, &surroundings.tools, seed, logs.clone(), stop.clone())
    };
    let mut worlds = Sides {
        of: live(cells.of, comparison.of, Beside { prefix: "of_", shift: 0 }),
        to: live(cells.to, comparison.to, Beside { prefix: "to_", shift }),
    };
    let result = sitting(&mut worlds, cells, (paired, pair), &mut stop.clone(), observe).await;
    (result, Sides { of: worlds.of.into_notes(), to: worlds.to.into_notes() })
}

/// What is stored of a pair: a sample a slice. What went wrong with a pair, in whatever slice, keeps all of its slices
/// out of the statistics; a pair that came to no slice leaves one sample that says why.
fn samples(
    result: SittingResult,
    notes: Sides<Vec<String>>,
    cells: Sides<&Cell>,
    pair: u32,
    turn: &mut u32,
) -> Vec<Sample> {
    let SittingResult { slices, sides, .. } = result;
    let mut notes = notes;
    let mut slices = slices;
    for side in [Side::Of, Side::To] {
        // One that came to nothing still has to say why.
        let failed = !sides.side(side).outcome.is_valid();
        if failed && !slices.iter().any(|slice| slice.side == side && !slice.warm_up) {
            slices.push(Slice {
                side,
                place: u32::try_from(slices.len() + 1).unwrap_or(u32::MAX),
                warm_up: false,
                started: now(),
                seconds: 0.0,
                outcome: sides.side(side).outcome.clone(),
                phases: indexmap::IndexMap::new(),
            });
        }
        notes.side_mut(side).extend(sides.side(side).notes.iter().cloned());
    }
    let spoilt = spoilt(&slices, &sides);
    let mut out = Vec::new();
    for slice in slices {
        let (cell, own) = (*cells.side(slice.side), sides.side(slice.side));
        *turn += 1;
        let outcome = match (&slice.outcome, &own.outcome, &spoilt) {
            (Outcome::Completed, Outcome::Completed, None) => Outcome::Completed,
            (Outcome::Completed, Outcome::Completed, Some(why)) => why.clone(),
            (Outcome::Completed, of_side, _) => of_side.clone(),
            (of_slice, ..) => of_slice.clone(),
        };
        out.push(Sample {
            format: FORMAT,
            cell: cell.name.clone(),
            scenario: cell.scenario.name.clone(),
            point: cell.point.clone(),
            round: pair,
            slice: Some(SliceRecord { place: slice.place, warm_up: slice.warm_up }),
            turn: *turn,
            started: slice.started,
            outcome,
            phases: slice.phases,
            convergence: own.convergence.clone(),
            nodes: own.nodes.clone(),
            total_seconds: slice.seconds,
            notes: std::mem::take(notes.side_mut(slice.side)),
        });
    }
    out
}

/// What the slices that went well themselves are told as, if the pair did not.
fn spoilt(slices: &[Slice], sides: &Sides<super::turn::TurnResult>) -> Option<Outcome> {
    let outcomes = slices.iter().map(|slice| &slice.outcome).chain([&sides.of.outcome, &sides.to.outcome]);
    let first = outcomes.into_iter().find(|outcome| !outcome.is_valid())?;
    Some(match first {
        Outcome::Interrupted | Outcome::Disturbed { .. } => first.clone(),
        _ => Outcome::Failed {
            during: "its pair".to_owned(),
            reason: format!("another slice: {}", first.complaint().unwrap_or_default()),
        },
    })
}
