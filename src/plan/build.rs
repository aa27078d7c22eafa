//! The building and taking down of a turn, in the order that is fixed and printed: nodes, setup, publications,
//! subscriptions (until synced), checkpoint, phases.

use super::instruction::{Condition, Instruction, SqlText, Stage, Step, TurnPlan};
use super::phase::{self, STEP_BOUND};
use super::sql::checksum::{self, Projection};
use super::sql::{marker, publication, subscription};
use crate::spec::Scenario;

/// The version taken for SQL that depends on it where no server is known yet.
const NEWEST: u32 = 18;

pub(super) fn turn(scenario: &Scenario, checkpoint: bool, major: &dyn Fn(&str) -> Option<u32>) -> TurnPlan {
    let nodes: Vec<String> = scenario.nodes.keys().cloned().collect();
    let mut up = Vec::new();
    let mut step = |stage, what: String, instruction| up.push(Step { stage, what, instruction });
    let sql = |node: &str, text: &str| Instruction::Sql { node: node.to_owned(), sql: SqlText::plain(text) };

    step(Stage::Nodes, "all nodes".to_owned(), Instruction::Start { nodes: nodes.clone() });
    for setup in &scenario.setup {
        for node in &setup.nodes {
            step(Stage::Setup, format!("setup step `{}`", setup.name), sql(node, &setup.sql));
        }
    }
    for node in &nodes {
        step(Stage::Setup, "the marker's table".to_owned(), sql(node, marker::CREATE_TABLE));
    }
    let publishers: Vec<&String> =
        nodes.iter().filter(|node| scenario.publications.values().any(|p| p.node == **node)).collect();
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
    for node in &nodes {
        if scenario.subscriptions.values().any(|subscription| subscription.node == *node) {
            step(Stage::Subscriptions, "the marker's trigger".to_owned(), sql(node, marker::CREATE_TRIGGER));
        }
    }
    for (name, subscribed) in &scenario.subscriptions {
        let create = Instruction::Sql { node: subscribed.node.clone(), sql: subscription::create(name, subscribed) };
        step(Stage::Subscriptions, format!("subscription `{name}`"), create);
    }
    for name in scenario.subscriptions.keys() {
        let wait =
            Instruction::Await { condition: Condition::Synced { subscription: name.clone() }, bound: STEP_BOUND };
        step(Stage::Subscriptions, format!("subscription `{name}` synced"), wait);
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
    let mut finish = vec![Instruction::Settle];
    if !projections.is_empty() {
        finish.push(Instruction::Verify { projections });
    }
    TurnPlan { up, phases: phase::lower(scenario, major), finish, down: vec![Instruction::Stop { nodes }] }
}
