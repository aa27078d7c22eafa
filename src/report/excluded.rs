//! What must never be silent: runs that count nowhere, and transactions that failed.

use indexmap::IndexMap;
use serde::Serialize;

use super::figures::Runs;
use super::format::thousands;
use crate::results::Outcome;

/// A run that is in no median and no claim.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ExcludedRun {
    /// Position in the whole run.
    pub turn: u32,
    /// Round.
    pub round: u32,
    /// Scenario.
    pub scenario: String,
    /// Its title.
    pub title: String,
    /// How it ended.
    pub reason: String,
    /// Rows that are on one side only, where the nodes did not converge.
    pub differing: Vec<String>,
}

/// Transactions of one script in one phase of one run, some of which failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FailedTransactions {
    /// Position of the run in the whole run.
    pub turn: u32,
    /// Round.
    pub round: u32,
    /// Scenario.
    pub scenario: String,
    /// Its title.
    pub title: String,
    /// Phase.
    pub phase: String,
    /// Script.
    pub script: String,
    /// Transactions that committed.
    pub committed: u64,
    /// Transactions that failed, by SQLSTATE.
    pub failed: IndexMap<String, u64>,
}

/// Runs that are excluded, in turn order.
pub(super) fn excluded(runs: Runs<'_>) -> Vec<ExcludedRun> {
    let mut told: Vec<(u32, &str, String)> = Vec::new();
    runs.samples
        .iter()
        // What is disturbed is told together, as a note.
        .filter(|sample| !matches!(sample.outcome, Outcome::Disturbed { .. }))
        .filter_map(|sample| Some((sample, sample.outcome.complaint()?)))
        // The slices of a pair share what went wrong with it.
        .filter(|(sample, reason)| {
            let key = (sample.round, sample.cell.as_str(), reason.clone());
            let first = sample.slice.is_none() || !told.contains(&key);
            told.push(key);
            first
        })
        .map(|(sample, reason)| ExcludedRun {
            turn: sample.turn,
            round: sample.round,
            scenario: sample.scenario.clone(),
            title: runs.title(&sample.cell).to_owned(),
            reason,
            differing: sample
                .convergence
                .iter()
                .flat_map(|convergence| &convergence.tables)
                .filter(|table| !table.agrees())
                .map(|table| {
                    let rows = if table.differing.is_empty() {
                        String::new()
                    } else {
                        format!("; on one side only: {}", table.differing.join(", "))
                    };
                    format!(
                        "{}: {} rows on {}, {} on {}{rows}",
                        table.table,
                        thousands(table.published.rows as f64),
                        table.publisher,
                        thousands(table.subscribed.rows as f64),
                        table.subscriber
                    )
                })
                .collect(),
        })
        .collect()
}

/// Transactions that failed, in valid and in excluded runs.
pub(super) fn failed_transactions(runs: Runs<'_>) -> Vec<FailedTransactions> {
    let mut found = Vec::new();
    for sample in runs.samples {
        for (phase, record) in &sample.phases {
            for (script, evidence) in record.evidence.loads.values().flat_map(|load| &load.scripts) {
                if evidence.failed_total() > 0 {
                    found.push(FailedTransactions {
                        turn: sample.turn,
                        round: sample.round,
                        scenario: sample.scenario.clone(),
                        title: runs.title(&sample.cell).to_owned(),
                        phase: phase.clone(),
                        script: script.clone(),
                        committed: evidence.committed,
                        failed: evidence.failed.clone(),
                    });
                }
            }
        }
    }
    found
}
