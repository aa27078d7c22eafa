//! One turn: build, phases, finish, and taking down on every path. Knows instructions and time, nothing else.

use std::future::poll_fn;
use std::task::Poll;
use std::time::Duration;

use indexmap::IndexMap;
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until, timeout};

use super::event::Event;
use super::settle;
use super::world::{Failure, Reply, Running, World};
use crate::plan::display::{activity_words, words};
use crate::plan::instruction::{Filling, Instruction, PhasePlan, TurnPlan};
use crate::results::{Convergence, NodeRecord, Outcome, PhaseRecord};

/// How long an activity that was asked to stop is waited for.
const STOP_BOUND: Duration = Duration::from_secs(1);

/// What one turn gave.
#[derive(Debug)]
pub struct TurnResult {
    /// How it ended.
    pub outcome: Outcome,
    /// Phases that were closed, in order.
    pub phases: IndexMap<String, PhaseRecord>,
    /// The comparison, if it came to that.
    pub convergence: Option<Convergence>,
    /// By node.
    pub nodes: IndexMap<String, NodeRecord>,
    /// What went wrong beside the outcome, such as in taking down.
    pub notes: Vec<String>,
}

impl TurnResult {
    pub(super) fn begun() -> Self {
        Self {
            outcome: Outcome::Completed,
            phases: IndexMap::new(),
            convergence: None,
            nodes: IndexMap::new(),
            notes: Vec::new(),
        }
    }
}

/// Why a turn ended early.
pub(super) enum End {
    Interrupted,
    Failed { during: String, failure: Failure },
}

impl From<End> for Outcome {
    fn from(end: End) -> Self {
        match end {
            End::Interrupted => Outcome::Interrupted,
            End::Failed { during, failure } if failure.timed_out => {
                Outcome::TimedOut { during, reason: failure.reason }
            }
            End::Failed { during, failure } => Outcome::Failed { during, reason: failure.reason },
        }
    }
}

fn failed(during: &str) -> impl FnOnce(Failure) -> End {
    let during = during.to_owned();
    move |failure| End::Failed { during, failure }
}

/// Runs one turn. Whatever happens, `down` is performed.
pub async fn turn<W: World>(
    world: &mut W,
    plan: &TurnPlan,
    stop: &mut watch::Receiver<bool>,
    observe: &mut dyn FnMut(Event<'_>),
) -> TurnResult {
    let mut result = TurnResult::begun();
    let ended = body(world, plan, stop, observe, &mut result).await;
    take_down(world, plan, &mut result).await;
    result.outcome = outcome(ended, result.convergence.as_ref());
    result
}

/// Performs `down`, whatever came before.
pub(super) async fn take_down<W: World>(world: &mut W, plan: &TurnPlan, result: &mut TurnResult) {
    for instruction in &plan.down {
        match world.perform(instruction).await {
            Ok(Reply::Stopped(nodes)) => result.nodes.extend(nodes),
            Ok(_) => {}
            Err(failure) => result.notes.push(format!("{}: {}", words(instruction).0, failure.reason)),
        }
    }
}

/// How it ended, by the comparison of the nodes if it came to that.
pub(super) fn outcome(ended: Result<(), End>, convergence: Option<&Convergence>) -> Outcome {
    match ended {
        Ok(()) => match convergence {
            Some(convergence) if !convergence.agrees() => Outcome::Diverged { reason: divergence(convergence) },
            _ => Outcome::Completed,
        },
        Err(end) => end.into(),
    }
}

async fn body<W: World>(
    world: &mut W,
    plan: &TurnPlan,
    stop: &mut watch::Receiver<bool>,
    observe: &mut dyn FnMut(Event<'_>),
    result: &mut TurnResult,
) -> Result<(), End> {
    build(world, plan, stop, observe).await?;
    phases(world, &plan.phases, stop, observe, &mut result.phases).await?;
    finish(world, plan, stop, observe, result).await
}

/// Everything up to the first phase.
pub(super) async fn build<W: World>(
    world: &mut W,
    plan: &TurnPlan,
    stop: &mut watch::Receiver<bool>,
    observe: &mut dyn FnMut(Event<'_>),
) -> Result<(), End> {
    let mut stage = None;
    for step in &plan.up {
        if stage != Some(step.stage) {
            stage = Some(step.stage);
            observe(Event::Stage(step.stage));
        }
        let reply = step_of(world, &step.instruction, stop, &step.what).await?;
        if let Reply::Made { seconds, bytes, note } = &reply {
            observe(Event::Made { what: &step.what, seconds: *seconds, bytes: *bytes, note: note.as_deref() });
        }
    }
    Ok(())
}

/// The phases in order; those that were closed stand in `out` on every path.
pub(super) async fn phases<W: World>(
    world: &mut W,
    phases: &[PhasePlan],
    stop: &mut watch::Receiver<bool>,
    observe: &mut dyn FnMut(Event<'_>),
    out: &mut IndexMap<String, PhaseRecord>,
) -> Result<(), End> {
    for phase in phases {
        observe(Event::Phase(&phase.name));
        run_phase(world, phase, stop, out).await?;
    }
    Ok(())
}

/// Everything after the last phase, while the nodes are up.
pub(super) async fn finish<W: World>(
    world: &mut W,
    plan: &TurnPlan,
    stop: &mut watch::Receiver<bool>,
    observe: &mut dyn FnMut(Event<'_>),
    result: &mut TurnResult,
) -> Result<(), End> {
    observe(Event::Finish);
    for instruction in &plan.finish {
        match step_of(world, instruction, stop, "finish").await? {
            Reply::Settled(settled) => settle::book(&mut result.phases, &settled),
            Reply::Compared(convergence) => result.convergence = Some(convergence),
            _ => {}
        }
    }
    Ok(())
}

/// One instruction that an interrupt may cut short. Node processes are the exception: they are started and stopped
/// completely, so that none is ever in between.
async fn step_of<W: World>(
    world: &mut W,
    instruction: &Instruction,
    stop: &mut watch::Receiver<bool>,
    during: &str,
) -> Result<Reply, End> {
    if matches!(instruction, Instruction::Data(_) | Instruction::Start { .. } | Instruction::Stop { .. }) {
        if *stop.borrow() {
            return Err(End::Interrupted);
        }
        let reply = world.perform(instruction).await;
        // Making data starts and stops a node, and looks at the interrupt itself between.
        if reply.is_err() && *stop.borrow() && matches!(instruction, Instruction::Data(_)) {
            return Err(End::Interrupted);
        }
        return reply.map_err(failed(during));
    }
    tokio::select! { biased;
        () = interrupted(stop) => Err(End::Interrupted),
        reply = world.perform(instruction) => reply.map_err(failed(during)),
    }
}

async fn interrupted(stop: &mut watch::Receiver<bool>) {
    // A sender that is gone will never interrupt.
    if stop.wait_for(|stop| *stop).await.is_err() {
        std::future::pending::<()>().await;
    }
}

async fn run_phase<W: World>(
    world: &mut W,
    phase: &PhasePlan,
    stop: &mut watch::Receiver<bool>,
    out: &mut IndexMap<String, PhaseRecord>,
) -> Result<(), End> {
    let during = format!("phase `{}`", phase.name);
    for instruction in &phase.prepare {
        step_of(world, instruction, stop, &format!("{during}, before its clock")).await?;
    }
    let open = Instruction::Open { phase: phase.name.clone(), follows: phase.follows };
    step_of(world, &open, stop, &during).await?;
    let inside = inside(world, phase, stop, &during).await;
    // The window closes on every path.
    let closed = world.perform(&Instruction::Close { phase: phase.name.clone() }).await;
    if let Ok(Reply::Window(evidence)) = &closed {
        let record = PhaseRecord { measure: phase.measure, evidence: (**evidence).clone() };
        out.insert(phase.name.clone(), record);
    }
    inside?;
    closed.map_err(failed(&during))?;
    Ok(())
}

/// Everything inside the clock.
async fn inside<W: World>(
    world: &mut W,
    phase: &PhasePlan,
    stop: &mut watch::Receiver<bool>,
    during: &str,
) -> Result<(), End> {
    let opened = Instant::now();
    let deadline = opened + phase.bound;
    for instruction in &phase.start {
        tokio::select! { biased;
            () = interrupted(stop) => return Err(End::Interrupted),
            reply = world.perform(instruction) => { reply.map_err(failed(during))?; }
            () = sleep_until(deadline) => {
                let reason = format!("{} did not end", words(instruction).0);
                return Err(End::Failed { during: during.to_owned(), failure: Failure::timed_out(reason) });
            }
        }
    }
    let mut running = Vec::new();
    for activity in &phase.activities {
        match world.start(activity) {
            Ok(started) => running.push(started),
            Err(failure) => {
                end(&mut running).await;
                return Err(failed(during)(failure));
            }
        }
    }
    let ended = wait(world, phase, stop, &mut running, opened, deadline, during).await;
    if ended.is_err() {
        end(&mut running).await;
    }
    ended
}

async fn wait<W: World>(
    world: &mut W,
    phase: &PhasePlan,
    stop: &mut watch::Receiver<bool>,
    running: &mut Vec<Running>,
    opened: Instant,
    deadline: Instant,
    during: &str,
) -> Result<(), End> {
    let mut events = phase.events.iter().peekable();
    let held = match phase.filling {
        Filling::Hold(length) => Some(opened + length),
        Filling::Activities => None,
    };
    loop {
        let next = events.peek().map(|(after, _)| opened + *after);
        tokio::select! { biased;
            () = interrupted(stop) => return Err(End::Interrupted),
            () = at(next), if next.is_some() => {
                if let Some((_, instruction)) = events.next() {
                    world.perform(instruction).await.map_err(failed(during))?;
                }
            }
            // Activities that are over end a phase at once, unless it lasts a length of time.
            ended = all_ended(running), if held.is_none() || !running.is_empty() => {
                ended.map_err(failed(during))?;
                if held.is_none() {
                    return Ok(());
                }
            }
            () = at(held), if held.is_some() => return Ok(()),
            () = sleep_until(deadline) => {
                let waiting: Vec<String> = phase.activities.iter().map(activity_words).collect();
                let cause = world.explain(&phase.activities).await;
                let reason = format!("waited {:?} until {}: {cause}", phase.bound, waiting.join(" and "));
                return Err(End::Failed { during: during.to_owned(), failure: Failure::timed_out(reason) });
            }
        }
    }
}

async fn at(moment: Option<Instant>) {
    match moment {
        Some(moment) => sleep_until(moment).await,
        None => std::future::pending().await,
    }
}

/// Ends when every activity has, or with the first failure; at once if there is none.
async fn all_ended(running: &mut Vec<Running>) -> Result<(), Failure> {
    poll_fn(move |context| {
        let mut index = 0;
        while index < running.len() {
            match running[index].done.as_mut().poll(context) {
                Poll::Pending => index += 1,
                Poll::Ready(ended) => {
                    drop(running.swap_remove(index));
                    if ended.is_err() {
                        return Poll::Ready(ended);
                    }
                }
            }
        }
        if running.is_empty() { Poll::Ready(Ok(())) } else { Poll::Pending }
    })
    .await
}

/// Asks every activity to end and waits for it, a little.
async fn end(running: &mut Vec<Running>) {
    for activity in running.iter() {
        (activity.stop)();
    }
    for mut activity in running.drain(..) {
        // What it says now is a consequence of having been stopped.
        let _ = timeout(STOP_BOUND, activity.done.as_mut()).await;
    }
}

/// Where the nodes disagree, in words.
fn divergence(convergence: &Convergence) -> String {
    let parts: Vec<String> = convergence
        .tables
        .iter()
        .filter(|table| !table.agrees())
        .map(|table| {
            let mut text = format!(
                "{}: {} row(s) on {}, {} on {}",
                table.table, table.published.rows, table.publisher, table.subscribed.rows, table.subscriber
            );
            if !table.differing.is_empty() {
                text += &format!("; {}", table.differing.join("; "));
            }
            text
        })
        .collect();
    parts.join(". ")
}
