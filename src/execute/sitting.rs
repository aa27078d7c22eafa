//! One pair of a paired comparison: both sides up at once, slices in turn, taken down on every path. Knows instructions
//! and time, nothing else.

use indexmap::IndexMap;
use tokio::sync::watch;
use tokio::time::Instant;

use super::event::Event;
use super::turn::{self, TurnResult};
use super::world::World;
use crate::measure::Evidence;
use crate::plan::Cell;
use crate::plan::instruction::{Instruction, TurnPlan};
use crate::plan::paired::{PairedPlan, Side, phases};
use crate::results::{Outcome, PhaseRecord};

/// The two sides of a pair.
#[derive(Clone, Copy, Debug)]
pub struct Sides<T> {
    /// What the verdict is about.
    pub of: T,
    /// What it is compared with.
    pub to: T,
}

impl<T> Sides<T> {
    /// One of them.
    pub fn side(&self, side: Side) -> &T {
        match side {
            Side::Of => &self.of,
            Side::To => &self.to,
        }
    }

    /// One of them, to be changed.
    pub fn side_mut(&mut self, side: Side) -> &mut T {
        match side {
            Side::Of => &mut self.of,
            Side::To => &mut self.to,
        }
    }
}

/// A slice that was begun.
#[derive(Debug)]
pub struct Slice {
    /// Its side.
    pub side: Side,
    /// Place within the sitting, from 1, warm-up included.
    pub place: u32,
    /// Whether it only warmed up.
    pub warm_up: bool,
    /// When it began, RFC 3339 in UTC.
    pub started: String,
    /// Wall time, in seconds.
    pub seconds: f64,
    /// How it ended.
    pub outcome: Outcome,
    /// Phases that were closed, in order.
    pub phases: IndexMap<String, PhaseRecord>,
}

/// What one pair gave.
#[derive(Debug)]
pub struct SittingResult {
    /// Slices in order.
    pub slices: Vec<Slice>,
    /// What each side's servers gave beside: convergence, records, notes, and how they ended.
    pub sides: Sides<TurnResult>,
}

impl SittingResult {
    /// Why the pair counts nowhere: the first thing that went wrong.
    pub fn complaint(&self) -> Option<String> {
        let slices = self.slices.iter().find_map(|slice| slice.outcome.complaint());
        slices.or_else(|| self.sides.to.outcome.complaint()).or_else(|| self.sides.of.outcome.complaint())
    }
}

/// Runs one pair. Whatever happens, both sides are taken down; what went wrong with a side stands in its outcome, and the
/// pair then counts nowhere.
pub async fn sitting<W: World>(
    worlds: &mut Sides<W>,
    cells: Sides<&Cell>,
    (plan, pair): (&PairedPlan, u32),
    stop: &mut watch::Receiver<bool>,
    observe: &mut dyn FnMut(Event<'_>),
) -> SittingResult {
    let mut result =
        SittingResult { slices: Vec::new(), sides: Sides { of: TurnResult::begun(), to: TurnResult::begun() } };
    let first = PairedPlan::first(pair);
    let order = [first, first.other()];
    // Statistics that exiting sessions flush belong to a turn, not to one of several slices.
    let turn = |side: Side| {
        let mut turn = cells.side(side).turn.clone();
        turn.finish.retain(|instruction| !matches!(instruction, Instruction::Settle));
        turn
    };
    let turns = Sides { of: turn(Side::Of), to: turn(Side::To) };
    let mut well = true;
    for side in order {
        let ended = turn::build(worlds.side_mut(side), turns.side(side), stop, observe).await;
        if let Err(end) = ended {
            result.sides.side_mut(side).outcome = end.into();
            well = false;
            break;
        }
    }
    if well {
        well = slices(worlds, cells, (plan, pair), stop, observe, &mut result.slices).await;
    }
    for side in order {
        let (world, turn) = (worlds.side_mut(side), turns.side(side));
        take_down(world, turn, well, stop, observe, result.sides.side_mut(side)).await;
    }
    result
}

/// Compares the nodes of a side if all went well, and takes it down.
async fn take_down<W: World>(
    world: &mut W,
    turn: &TurnPlan,
    well: bool,
    stop: &mut watch::Receiver<bool>,
    observe: &mut dyn FnMut(Event<'_>),
    result: &mut TurnResult,
) {
    let ended = if well { Some(turn::finish(world, turn, stop, observe, result).await) } else { None };
    turn::take_down(world, turn, result).await;
    if let Some(ended) = ended {
        result.outcome = turn::outcome(ended, result.convergence.as_ref());
    }
}

/// The slices of a pair, until one goes wrong or is disturbed: whether none was.
async fn slices<W: World>(
    worlds: &mut Sides<W>,
    cells: Sides<&Cell>,
    (plan, pair): (&PairedPlan, u32),
    stop: &mut watch::Receiver<bool>,
    observe: &mut dyn FnMut(Event<'_>),
    out: &mut Vec<Slice>,
) -> bool {
    let began = Instant::now();
    let measured = plan.slices(pair);
    let of = u32::try_from(measured.len()).unwrap_or(u32::MAX);
    let mut done = Sides { of: 0, to: 0 };
    let mut warm = PairedPlan::first(pair);
    let mut number = 0;
    loop {
        // Warm-up slices come in twos, one a side, until their time is over.
        let even = done.of == done.to;
        let warm_up = number == 0 && (!even || began.elapsed() < plan.warm_up);
        let side = if warm_up { warm } else { measured[number as usize] };
        warm = warm.other();
        number += u32::from(!warm_up);
        let cell = *cells.side(side);
        observe(Event::Slice { cell: &cell.name, number: (!warm_up).then_some(number), of });
        tokio::select! { biased;
            // What follows sees it too, and ends.
            _ = stop.wait_for(|stop| *stop) => {}
            () = tokio::time::sleep(plan.rest) => {}
        }
        let slice = done.side_mut(side);
        let world = worlds.side_mut(side);
        world.slice(*slice);
        let (started, clock) = (now(), Instant::now());
        let mut records = IndexMap::new();
        let ended = turn::phases(world, &phases(cell, *slice), stop, observe, &mut records).await;
        *slice += 1;
        let outcome = match turn::outcome(ended, None) {
            Outcome::Completed if !warm_up => disturbed(&records, plan).unwrap_or(Outcome::Completed),
            outcome => outcome,
        };
        let well = outcome.is_valid();
        out.push(Slice {
            side,
            place: u32::try_from(out.len() + 1).unwrap_or(u32::MAX),
            warm_up,
            started,
            seconds: clock.elapsed().as_secs_f64(),
            outcome,
            phases: records,
        });
        if !well || number == of {
            return well;
        }
    }
}

/// Whether something else had more of the cores in a slice than it may. Where the host was not read nothing is known of
/// it; the report says so.
fn disturbed(phases: &IndexMap<String, PhaseRecord>, plan: &PairedPlan) -> Option<Outcome> {
    let whole = Evidence::join(phases.values().map(|phase| &phase.evidence));
    let host = whole.host.filter(|host| host.capacity_seconds > 0.0)?;
    let over = |share: f64, most: Option<f64>, (who, key): (&str, &str)| {
        let most = most.filter(|most| share > *most)?;
        let reason = format!(
            "{who} {:.1} % of the cores in a slice, and run.paired.{key} allows {} %",
            share * 100.0,
            (most * 1e4).round() / 100.0
        );
        Some(Outcome::Disturbed { reason })
    };
    let steal = host.steal_seconds / host.capacity_seconds;
    over(steal, plan.steal, ("the hypervisor took", "steal"))
        .or_else(|| over(whole.other_load()?, plan.other_load, ("other processes used", "other_load")))
}

/// The moment, RFC 3339 in UTC.
pub(super) fn now() -> String {
    jiff::Timestamp::now().round(jiff::Unit::Millisecond).map_or_else(|_| String::new(), |now| now.to_string())
}
