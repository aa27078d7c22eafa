//! Phases to instructions: actions lower here, and the executor never hears of them.

use std::time::Duration;

use indexmap::IndexMap;

use super::instruction::{Activity, Condition, Filling, Instruction, PhasePlan, SqlText};
use super::sql::{marker, subscription};
use crate::spec::Scenario;
use crate::spec::scenario::{Action, Body, Consumer, OptionValue, Phase, Slot, Subscription};

/// Bound of one preparing or building step that waits.
pub(super) const STEP_BOUND: Duration = Duration::from_mins(10);

/// The phases of a scenario. `major` gives a node's version, where known.
pub(super) fn lower(scenario: &Scenario, major: &dyn Fn(&str) -> Option<u32>) -> Vec<PhasePlan> {
    lower_slice(scenario, 0, major)
}

/// The phases of the slice of that number, from 0, on the same servers: its markers are its own.
pub(super) fn lower_slice(scenario: &Scenario, slice: u32, major: &dyn Fn(&str) -> Option<u32>) -> Vec<PhasePlan> {
    let marked = |phase: &&Phase| matches!(phase.body, Body::WaitApplied | Body::WaitReceived);
    let mut marker_id = u64::from(slice) * scenario.phases.iter().filter(marked).count() as u64;
    let mut phases: Vec<PhasePlan> = (0..scenario.phases.len())
        .map(|index| {
            if matches!(scenario.phases[index].body, Body::WaitApplied | Body::WaitReceived) {
                marker_id += 1;
            }
            phase(scenario, index, marker_id, major)
        })
        .collect();
    join(&mut phases);
    phases
}

/// A phase that only waits follows the one before it without a gap, since what is replicated goes on: what it listens
/// with is made ready before that one's clock. Connections of a load would be counted there, and an action at the start
/// wants a clock of its own, so those never follow.
fn join(phases: &mut [PhasePlan]) {
    let mut first = 0;
    for index in 1..phases.len() {
        let passive = |instruction: &Instruction| matches!(instruction, Instruction::Ready { activity } if !matches!(activity, Activity::Load { .. }));
        let acts = |instruction: &Instruction| !matches!(instruction, Instruction::Mark { .. });
        let loads = phases[index].activities.iter().any(|activity| matches!(activity, Activity::Load { .. }));
        if loads || phases[index].start.iter().any(acts) || !phases[index].prepare.iter().all(passive) {
            first = index;
            continue;
        }
        let listening = std::mem::take(&mut phases[index].prepare);
        phases[index].follows = true;
        phases[first].prepare.extend(listening);
    }
}

fn phase(scenario: &Scenario, index: usize, marker_id: u64, major: &dyn Fn(&str) -> Option<u32>) -> PhasePlan {
    let phase = &scenario.phases[index];
    let mut prepare: Vec<Instruction> =
        phase.prepare.iter().flat_map(|step| action(&step.action, scenario, true)).collect();
    let mut start = Vec::new();
    let mut activities = Vec::new();
    let filling = match &phase.body {
        Body::Hold(length) => Filling::Hold(*length),
        Body::Run(loads) => {
            activities.extend(loads.iter().map(|workload| Activity::Load { workload: workload.clone() }));
            Filling::Activities
        }
        Body::WaitSynced => {
            let subscriptions: Vec<String> = scenario.subscribed_in(index).map(|(name, _)| name.clone()).collect();
            if !subscriptions.is_empty() {
                activities.push(Activity::Sync { subscriptions });
            }
            Filling::Activities
        }
        Body::WaitApplied | Body::WaitReceived => {
            let source = source(scenario, index);
            let sql = SqlText::plain(marker::insert(marker_id, scenario.marker_commit.value));
            activities.extend(arriving(scenario, index, marker_id, &source));
            let downstream = !activities.is_empty();
            start.push(Instruction::Mark { node: source, id: marker_id, sql, downstream });
            Filling::Activities
        }
    };
    start.extend(phase.start.iter().flat_map(|step| action(&step.action, scenario, false)));
    for name in started(phase) {
        let node = &scenario.subscriptions[name].node;
        if major(node).is_some_and(|major| major < 16) {
            prepare.push(Instruction::Await {
                condition: Condition::LauncherFree { node: node.clone() },
                bound: STEP_BOUND,
            });
        }
        activities.push(Activity::Startup { subscription: name.to_owned() });
    }
    prepare.extend(activities.iter().map(|activity| Instruction::Ready { activity: activity.clone() }));
    PhasePlan {
        name: phase.name.clone(),
        measure: phase.measure,
        follows: false,
        prepare,
        start,
        activities,
        filling,
        events: Vec::new(),
        bound: phase.timeout.value,
    }
}

/// Subscriptions whose apply worker a phase's start brings up.
fn started(phase: &Phase) -> Vec<&str> {
    phase
        .start
        .iter()
        .filter_map(|step| match &step.action {
            Action::Enable(name) | Action::Create(name) => Some(name.as_str()),
            _ => None,
        })
        .collect()
}

/// An action as instructions. Before a clock it is complete when the last of them is done.
fn action(action: &Action, scenario: &Scenario, complete: bool) -> Vec<Instruction> {
    let on_subscriber =
        |name: &str, sql: SqlText| Instruction::Sql { node: scenario.subscriptions[name].node.clone(), sql };
    let wait = |condition: Condition| Instruction::Await { condition, bound: STEP_BOUND };
    match action {
        Action::Create(name) => {
            let mut out = vec![on_subscriber(name, subscription::create(name, &scenario.subscriptions[name]))];
            if complete {
                out.push(wait(Condition::Synced { subscription: name.clone() }));
            }
            out
        }
        Action::Disable(name) => {
            let mut out = vec![on_subscriber(name, subscription::disable(name))];
            if complete {
                out.push(wait(Condition::Disabled { subscription: name.clone() }));
            }
            out
        }
        Action::Enable(name) => {
            let mut out = vec![on_subscriber(name, subscription::enable(name))];
            if complete {
                out.push(wait(Condition::Synced { subscription: name.clone() }));
            }
            out
        }
        Action::Refresh(name) => {
            let mut out = vec![on_subscriber(name, subscription::refresh(name))];
            if complete {
                out.push(wait(Condition::Synced { subscription: name.clone() }));
            }
            out
        }
        Action::Sql { nodes, sql } => {
            nodes.iter().map(|node| Instruction::Sql { node: node.clone(), sql: SqlText::plain(sql.clone()) }).collect()
        }
        Action::Checkpoint(nodes) => nodes
            .iter()
            .map(|node| Instruction::Sql { node: node.clone(), sql: SqlText::plain("CHECKPOINT") })
            .collect(),
    }
}

/// The node that writes the marker: the one under load in the nearest earlier phase, else the first that
/// publishes, else the first.
fn source(scenario: &Scenario, index: usize) -> String {
    let loaded = scenario.phases[..index].iter().rev().find_map(|phase| match &phase.body {
        Body::Run(loads) => loads.first().and_then(|load| scenario.workloads.get(load)).map(|load| load.node.clone()),
        _ => None,
    });
    loaded
        .or_else(|| scenario.subscriptions.values().next().map(|subscription| subscription.publisher.clone()))
        .or_else(|| scenario.slots.values().next().map(|slot| slot.node.clone()))
        .or_else(|| scenario.nodes.keys().next().cloned())
        .unwrap_or_default()
}

/// The ways of a marker, as activities; none where nothing is downstream.
fn arriving(scenario: &Scenario, phase: usize, id: u64, source: &str) -> Vec<Activity> {
    let copies = copies(scenario, phase, source);
    let slots: Vec<(String, u32)> = scenario
        .slots
        .iter()
        .filter(|(_, slot)| slot.consumer.value != Consumer::None)
        .filter(|(_, slot)| slot.node == source || !slot_wants_no_origin(slot))
        .filter_map(|(name, slot)| Some((name.clone(), *copies.get(slot.node.as_str())?)))
        .collect();
    let mut out = Vec::new();
    let mut nodes = Vec::new();
    if scenario.phases[phase].body == Body::WaitReceived {
        // A position is one of the source's WAL: only those that subscribe there can be asked for it.
        let direct = scenario.subscribed_in(phase).filter(|(_, subscription)| subscription.publisher == source);
        let subscriptions: Vec<String> = direct.map(|(name, _)| name.clone()).collect();
        if !subscriptions.is_empty() {
            out.push(Activity::Received { subscriptions });
        }
    } else {
        let away = copies.iter().filter(|(node, _)| **node != source);
        nodes.extend(away.map(|(node, count)| ((*node).to_owned(), *count)));
    }
    if !nodes.is_empty() || !slots.is_empty() {
        out.push(Activity::Marker { id, nodes, slots });
    }
    out
}

/// How often the row is on each node that it comes to: once on the source, elsewhere once for each way there.
fn copies<'s>(scenario: &'s Scenario, phase: usize, source: &'s str) -> IndexMap<&'s str, u32> {
    let mut copies = IndexMap::from([(source, 1)]);
    // One round for each node is enough without a circle, and bounds the count with one.
    for _ in 0..scenario.nodes.len() {
        let mut next = IndexMap::from([(source, 1)]);
        for (_, subscription) in scenario.subscribed_in(phase) {
            // A row that came by replication has an origin, and goes no further where none is wanted.
            let passes = subscription.publisher == source || !wants_no_origin(subscription);
            if let Some(count) = copies.get(subscription.publisher.as_str()).copied()
                && subscription.node != source
                && passes
            {
                *next.entry(subscription.node.as_str()).or_default() += count;
            }
        }
        copies = next;
    }
    copies
}

fn wants_no_origin(subscription: &Subscription) -> bool {
    subscription.options.get("origin").is_some_and(|option| option.value.eq_ignore_ascii_case("none"))
}

fn slot_wants_no_origin(slot: &Slot) -> bool {
    let option = slot.options.get("origin").map(|option| &option.value);
    matches!(option, Some(OptionValue::Plain(value)) if value.eq_ignore_ascii_case("none"))
}
