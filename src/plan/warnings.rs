//! What a spec may ask and most likely does not mean: told, and run all the same.

use super::Cell;
use crate::spec::Scenario;
use crate::spec::scenario::{Published, Subscription};

/// Warnings over all cells, each once.
pub(super) fn of(cells: &[Cell]) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    for warning in cells.iter().flat_map(|cell| slow_confirmations(&cell.scenario)) {
        if !out.contains(&warning) {
            out.push(warning);
        }
    }
    out
}

/// A publisher that waits for a subscriber's flush, and a subscriber that leaves flushing to its WAL writer: with changes
/// to apply each commit then waits some 200 ms (measured on 14 to 18: 212 to 225 ms with one client).
fn slow_confirmations(scenario: &Scenario) -> Vec<String> {
    let mut out = Vec::new();
    for (name, node) in &scenario.nodes {
        let Some(synchronous) = &node.synchronous else { continue };
        let waits_for_flush = node
            .settings
            .get("synchronous_commit")
            .is_none_or(|own| ["on", "true", "yes", "1"].iter().any(|word| own.value.eq_ignore_ascii_case(word)));
        for member in &synchronous.of {
            let Some(subscription) = scenario.subscriptions.get(member) else { continue };
            let lazy = subscription
                .options
                .get("synchronous_commit")
                .is_none_or(|own| own.value.eq_ignore_ascii_case("off") || own.value.eq_ignore_ascii_case("false"));
            if waits_for_flush && lazy && is_written(scenario, name, subscription) {
                out.push(format!(
                    "each commit on `{name}` that changes what `{member}` subscribes to will wait some 200 ms: the \
                     subscription's own synchronous_commit is off, so that the subscriber's WAL writer flushes, and \
                     `{name}` waits for that; say synchronous_commit = \"local\" or \"on\" in its options, or \
                     synchronous_commit = \"remote_apply\" on `{name}`"
                ));
            }
        }
    }
    out
}

/// Whether a load on the publisher seems to change a table of the subscription: one that its scripts name.
fn is_written(scenario: &Scenario, publisher: &str, subscription: &Subscription) -> bool {
    let scripts: Vec<String> = scenario
        .workloads
        .values()
        .filter(|load| load.node == publisher)
        .flat_map(|load| load.scripts.iter().map(|script| script.text.to_lowercase()))
        .collect();
    subscription.publications.iter().filter_map(|name| scenario.publications.get(name)).any(|publication| {
        match &publication.of {
            Published::AllTables => true,
            Published::Listed { schemas, .. } if !schemas.is_empty() => true,
            Published::Listed { tables, .. } => tables
                .iter()
                .filter_map(|table| table.name.last())
                .any(|table| scripts.iter().any(|script| has_word(script, &table.to_lowercase()))),
        }
    })
}

fn has_word(text: &str, word: &str) -> bool {
    text.split(|c: char| !c.is_alphanumeric() && c != '_').any(|own| own == word)
}
