//! A run in a few counts, and the exit status that follows from them.

use serde::Serialize;

use super::claims::ClaimView;
use super::excluded::ExcludedRun;
use crate::results::{Outcome as Ended, Sample};
use crate::stats::Outcome;

/// A run in a few counts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Summary {
    /// Runs that were planned: rounds times scenarios.
    pub planned: usize,
    /// Runs that were begun and stored.
    pub runs: usize,
    /// Those that count.
    pub valid: usize,
    /// Those that failed, ran out of time or did not converge; one that the user stopped is not among them.
    pub failed: Vec<ExcludedRun>,
    /// Claims that held.
    pub held: usize,
    /// Claims that did not.
    pub not_held: usize,
    /// Claims of which neither can be said.
    pub cannot_tell: usize,
    /// Whether the user stopped it.
    pub interrupted: bool,
    /// Whether fewer runs than planned are there although the user did not stop it.
    pub unfinished: bool,
    /// Paired comparisons that ended with fewer pairs than the least.
    pub short: usize,
}

impl Summary {
    /// Of `planned` turns, if that is known; `(interrupted, ended)` is what the record says of the whole run.
    pub(super) fn of(
        planned: Option<usize>,
        (interrupted, ended): (bool, bool),
        samples: &[Sample],
        excluded: &[ExcludedRun],
        claims: &[ClaimView],
        short: usize,
    ) -> Self {
        let stopped: Vec<u32> =
            samples.iter().filter(|sample| sample.outcome == Ended::Interrupted).map(|sample| sample.turn).collect();
        let came_out = |outcome| claims.iter().filter(|claim| claim.outcome == outcome).count();
        let interrupted = interrupted || !stopped.is_empty();
        Summary {
            planned: planned.unwrap_or(samples.len()),
            runs: samples.len(),
            valid: samples.iter().filter(|sample| sample.outcome.is_valid()).count(),
            failed: excluded.iter().filter(|run| !stopped.contains(&run.turn)).cloned().collect(),
            held: came_out(Outcome::Held),
            not_held: came_out(Outcome::NotHeld),
            cannot_tell: came_out(Outcome::CannotTell),
            interrupted,
            short,
            unfinished: !interrupted && planned.map_or(!ended, |planned| samples.len() < planned),
        }
    }
}

/// How the program ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExitStatus {
    /// 0: every planned run is valid and every claim held, or cannot be told and need not be.
    AllWell,
    /// 1: a run failed or is missing, a comparison has too few pairs, or a claim did not hold; with `--strict` also one that cannot be told.
    NotAllWell,
    /// 130: the user stopped it (as a shell reports SIGINT).
    Interrupted,
}

impl ExitStatus {
    /// The number for the operating system.
    pub fn code(self) -> u8 {
        match self {
            ExitStatus::AllWell => 0,
            ExitStatus::NotAllWell => 1,
            ExitStatus::Interrupted => 130,
        }
    }
}

/// The exit status of a run. An interrupt wins: what is missing is missing because of it.
pub fn exit_status(summary: &Summary, strict: bool) -> ExitStatus {
    if summary.interrupted {
        ExitStatus::Interrupted
    } else if summary.unfinished
        || summary.short > 0
        || !summary.failed.is_empty()
        || summary.not_held > 0
        || (strict && summary.cannot_tell > 0)
    {
        ExitStatus::NotAllWell
    } else {
        ExitStatus::AllWell
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_exit_status_follows_from_the_counts() {
        let failed = ExcludedRun {
            turn: 1,
            round: 1,
            scenario: "a".to_owned(),
            title: "A".to_owned(),
            reason: "failed".to_owned(),
            differing: Vec::new(),
        };
        let well = Summary { planned: 6, runs: 6, valid: 6, held: 1, ..Summary::default() };
        let cannot = Summary { cannot_tell: 1, ..well.clone() };
        let not_held = Summary { not_held: 1, ..well.clone() };
        let failed = Summary { failed: vec![failed], valid: 5, ..well.clone() };
        let unfinished = Summary { unfinished: true, runs: 3, valid: 3, ..well.clone() };
        let short = Summary { short: 1, ..well.clone() };
        let interrupted = Summary { interrupted: true, ..failed.clone() };
        for (summary, strict, expected) in [
            (&well, true, 0),
            (&cannot, false, 0),
            (&cannot, true, 1),
            (&not_held, false, 1),
            (&failed, false, 1),
            (&unfinished, false, 1),
            (&short, false, 1),
            (&interrupted, false, 130),
        ] {
            assert_eq!(exit_status(summary, strict).code(), expected, "{summary:?} {strict}");
        }
    }
}
