//! Doing what the plan says: sittings, turns, phases. Decides nothing.

pub mod event;
pub mod live;
pub mod paired;
pub mod settle;
pub mod sitting;
pub mod stop;
pub mod turn;
pub mod world;

use std::collections::BTreeMap;
use std::path::PathBuf;

use tokio::sync::{Mutex, watch};

pub use event::{Event, PairEnded};
use live::Beside;

use crate::lab::{Installation, Lab};
use crate::plan::facts::Build;
use crate::plan::order::Turn;
use crate::plan::{Cell, Plan};
use crate::results::Sample;
use crate::results::record::{FORMAT, turn_name};

/// What the runs of a plan need beside it.
#[derive(Debug)]
pub struct Surroundings<'a> {
    /// The lab.
    pub lab: &'a Mutex<Lab>,
    /// Servers by node, for each cell of the plan.
    pub installations: Vec<indexmap::IndexMap<String, Installation>>,
    /// Client programs by name; there if anything asks for them.
    pub tools: BTreeMap<String, Build>,
    /// Seed of the scripts' random numbers.
    pub seed: u64,
    /// Folder for the logs of the servers and the load, by turn.
    pub logs: PathBuf,
    /// Of a paired comparison: those that are run here; `None` for all.
    pub comparisons: Option<Vec<usize>>,
    /// Turns of the whole plan, of which those of `plan` may be a part.
    pub whole: u32,
    /// Turns that are there already, of a run that is gone on with.
    pub before: Vec<Sample>,
    /// Whether the nodes of the last turn are left running.
    pub keep: bool,
}

/// Runs every turn in order and hands each over as it ends, so that none is lost. An interrupt ends the turn under
/// way and skips the rest. Nodes of one turn that fail to start are that turn's failure; the others go on.
pub async fn run(
    plan: &Plan,
    surroundings: &mut Surroundings<'_>,
    stop: &watch::Receiver<bool>,
    observe: &mut dyn FnMut(Event<'_>),
    save: &mut dyn FnMut(&Sample) -> std::io::Result<()>,
) -> std::io::Result<()> {
    if let Some(paired) = &plan.paired {
        return paired::run(plan, paired, surroundings, stop, observe, save).await;
    }
    let last = plan.turns.last().map_or(0, |turn| turn.number);
    let of = surroundings.whole;
    for turn in &plan.turns {
        if *stop.borrow() {
            break;
        }
        let number = turn.number;
        let cell = &plan.cells[turn.cell];
        observe(Event::Turn { cell: &cell.name, round: turn.round, turn: number, of });
        let sample = one(cell, *turn, surroundings, stop, observe, number == last).await;
        save(&sample)?;
        observe(Event::Ended(&sample));
    }
    Ok(())
}

async fn one(
    cell: &Cell,
    turn: Turn,
    surroundings: &mut Surroundings<'_>,
    stop: &watch::Receiver<bool>,
    observe: &mut dyn FnMut(Event<'_>),
    last: bool,
) -> Sample {
    let began = std::time::Instant::now();
    let started = sitting::now();
    let logs = surroundings.logs.join(turn_name(turn.number, &cell.name, turn.round));
    let mut plan = cell.turn.clone();
    if last && surroundings.keep {
        plan.down.clear();
    }
    let mut world = live::Live::new(
        cell,
        &surroundings.installations[turn.cell],
        (surroundings.lab, Beside::default()),
        &surroundings.tools,
        surroundings.seed.wrapping_add(u64::from(turn.round)),
        logs,
        stop.clone(),
    );
    let result = turn::turn(&mut world, &plan, &mut stop.clone(), observe).await;
    let mut notes = world.into_notes();
    notes.extend(result.notes);
    Sample {
        format: FORMAT,
        cell: cell.name.clone(),
        scenario: cell.scenario.name.clone(),
        point: cell.point.clone(),
        round: turn.round,
        slice: None,
        turn: turn.number,
        started,
        outcome: result.outcome,
        phases: result.phases,
        convergence: result.convergence,
        nodes: result.nodes,
        total_seconds: began.elapsed().as_secs_f64(),
        notes,
    }
}
