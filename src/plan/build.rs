//! The building and taking down of a turn, in the order that is fixed and printed: data, nodes, setup, publications,
//! slots, subscriptions (until synced), synchronous names (until in force), checkpoint, phases.

use indexmap::IndexMap;

use super::dataset;
use super::instruction::{Condition, Consume, Instruction, SqlText, Stage, Step, TurnPlan};
use super::node::NodePlan;
use super::phase::{self, STEP_BOUND};
use super::sql::checksum::{self, Projection};
use super::sql::slot::{self, PGOUTPUT, PluginOption, SlotDefinition};
use super::sql::{marker, publication, subscription, synchronous as sync_names};
use crate::spec::Scenario;
use crate::spec::scenario::{Consumer, OptionValue, Slot, Subscription, Synchronous};

/// The version taken for SQL that depends on it where no server is known yet.
const NEWEST: u32 = 18;

pub(super) fn turn(
    scenario: &Scenario,
    checkpoint: bool,
    planned: &IndexMap<String, NodePlan>,
    major: &dyn Fn(&str) -> Option<u32>,
) -> TurnPlan {
    let nodes: Vec<String> = scenario.nodes.keys().cloned().collect();
    let mut up = Vec::new();
    let mut step = |stage, what: String, instruction| up.push(Step { stage, what, instruction });
    let sql = |node: &str, text: &str| Instruction::Sql { node: node.to_owned(), sql: SqlText::plain(text) };

    for (name, node) in planned {
        if let Some(dataset) = dataset::of(name, node, scenario) {
            step(Stage::Data, format!("data of `{name}`"), Instruction::Data(dataset));
        }
    }
    step(Stage::Nodes, "all nodes".to_owned(), Instruction::Start { nodes: nodes.clone() });
    for (place, setup) in scenario.setup.iter().enumerate() {
        for node in setup.nodes.iter().filter(|node| place >= dataset::prefix(scenario, node)) {
            let (what, text) = dataset::work(&setup.work);
            step(Stage::Setup, format!("setup step `{}`{what}", setup.name), sql(node, &text));
        }
    }
    for node in &nodes {
        step(Stage::Setup, "the marker's table".to_owned(), sql(node, marker::CREATE_TABLE));
    }
    let publishers: Vec<&String> = nodes.iter().filter(|node| publishes(scenario, node)).collect();
    for (name, publication) in &scenario.publications {
        step(
            Stage::Publications,
            format!("publication `{name}`"),
            sql(&publication.node, &publication::create(name, publication)),
        );
    }
    for node in publishers {
        step(Stage::Publications, "the marker's publication".to_owned(), sql(node, marker::CREATE_PUBLICATION));
    }
    for (name, of) in &scenario.slots {
        let major = major(&of.node).unwrap_or(NEWEST);
        // What cannot be created is told by the check, and the plan not run.
        if let Ok(create) = slot::create(&definition(name, of), major) {
            step(Stage::Slots, format!("slot `{name}`"), sql(&of.node, &create));
        }
        if of.consumer.value != Consumer::None {
            let consume = Instruction::Consume(consume(name, of, major));
            step(Stage::Slots, format!("consumer of slot `{name}`"), consume);
        }
    }
    for node in &nodes {
        if scenario.subscriptions.values().any(|subscription| subscription.node == *node) {
            step(Stage::Subscriptions, "the marker's trigger".to_owned(), sql(node, marker::CREATE_TRIGGER));
        }
    }
    for (name, subscribed) in built(scenario) {
        let create = Instruction::Sql { node: subscribed.node.clone(), sql: subscription::create(name, subscribed) };
        step(Stage::Subscriptions, format!("subscription `{name}`"), create);
    }
    for (name, _) in built(scenario) {
        let wait =
            Instruction::Await { condition: Condition::Synced { subscription: name.clone() }, bound: STEP_BOUND };
        step(Stage::Subscriptions, format!("subscription `{name}` synced"), wait);
    }
    for (node, of) in synchronous(scenario) {
        let set = Instruction::Sql { node: node.clone(), sql: sync_names::set(of) };
        step(Stage::Synchronous, format!("who confirms commits of `{node}`"), set);
        let states = sync_names::states(of).into_iter().map(|(name, state)| (name, state.to_owned())).collect();
        let condition = Condition::Synchronous { node: node.clone(), states };
        let wait = Instruction::Await { condition, bound: STEP_BOUND };
        step(Stage::Synchronous, format!("synchronous names of `{node}` in force"), wait);
    }
    if checkpoint {
        for node in &nodes {
            step(Stage::Checkpoint, "checkpoint".to_owned(), sql(node, "CHECKPOINT"));
        }
    }

    let projections: Vec<Projection> = scenario
        .subscriptions
        .iter()
        .map(|(name, subscribed)| Projection {
            subscription: name.clone(),
            publisher: subscribed.publisher.clone(),
            subscriber: subscribed.node.clone(),
            tables_sql: checksum::tables(&subscribed.publications, major(&subscribed.publisher).unwrap_or(NEWEST)),
        })
        .collect();
    // Verifying needs no running subscription, and settling ends them.
    let mut finish: Vec<Instruction> = synchronous(scenario)
        .map(|(node, _)| Instruction::Sql { node: node.clone(), sql: sync_names::reset() })
        .collect();
    finish.push(Instruction::Settle);
    if !projections.is_empty() {
        finish.push(Instruction::Verify { projections });
    }
    TurnPlan { up, phases: phase::lower(scenario, major), finish, down: vec![Instruction::Stop { nodes }] }
}

/// Nodes whose commits are confirmed by others.
fn synchronous(scenario: &Scenario) -> impl Iterator<Item = (&String, &Synchronous)> {
    scenario.nodes.iter().filter_map(|(name, node)| Some((name, node.synchronous.as_ref()?)))
}

/// Whether the marker's publication is needed on a node.
fn publishes(scenario: &Scenario, node: &str) -> bool {
    scenario.publications.values().any(|publication| publication.node == node)
        || scenario.slots.values().any(|slot| slot.node == node && slot.plugin == PGOUTPUT)
}

/// What a slot of the spec is created with.
pub(super) fn definition(name: &str, slot: &Slot) -> SlotDefinition {
    SlotDefinition {
        name: name.to_owned(),
        plugin: slot.plugin.clone(),
        two_phase: slot.two_phase.value,
        failover: slot.failover.value,
    }
}

/// A slot's consumer on a server of version `major`; the marker's publication is named beside the spec's.
fn consume(name: &str, slot: &Slot, major: u32) -> Consume {
    let mut publications: Vec<String> = Vec::new();
    let mut options: Vec<PluginOption> = Vec::new();
    for (key, option) in &slot.options {
        match &option.value {
            OptionValue::Plain(value) => options.push(PluginOption::new(key, value)),
            OptionValue::Names(names) => {
                let names: Vec<&String> = names.iter().map(|(name, _)| name).collect();
                if slot.plugin == PGOUTPUT && key == slot::PUBLICATION_NAMES {
                    publications.extend(names.into_iter().cloned());
                } else {
                    options.push(PluginOption::names(key, names));
                }
            }
        }
    }
    if slot.plugin == PGOUTPUT {
        options = slot::pgoutput_options(&publications, &options, major);
    }
    Consume {
        slot: name.to_owned(),
        node: slot.node.clone(),
        plugin: slot.plugin.clone(),
        options,
        consumer: slot.consumer.value,
    }
}

/// Subscriptions that the building creates; the others are created in a phase.
fn built(scenario: &Scenario) -> impl Iterator<Item = (&String, &Subscription)> {
    scenario.subscriptions.iter().filter(|(name, _)| scenario.created_in(name).is_none())
}
