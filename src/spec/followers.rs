//! Mistakes that only follow from others: they would go away with those, so they are not told.

use std::collections::BTreeSet;

use crate::text::{Code, Issues, SourceMap, Span};

/// Whether a mistake of this kind says that something is not there.
fn says_absent(code: Code) -> bool {
    matches!(
        code,
        Code::MissingKey
            | Code::Neither
            | Code::PhaseIdle
            | Code::NothingToRemove
            | Code::UnknownNode
            | Code::UnknownPublication
            | Code::UnknownSubscription
            | Code::UnknownWorkload
            | Code::UnknownPhase
            | Code::UnknownSetup
            | Code::UnknownScenario
            | Code::UnknownLabel
            | Code::UnknownVariable
    )
}

/// Takes out what follows from other mistakes. `incomplete` says that a part of the spec could not be had.
pub(super) fn leave_out(issues: &mut Issues, sources: &SourceMap, incomplete: bool) {
    let broken: BTreeSet<usize> = issues
        .as_slice()
        .iter()
        .filter(|issue| issue.code == Code::Syntax)
        .map(|issue| sources.file_of(issue.span()).base)
        .collect();
    if incomplete || !broken.is_empty() {
        // What could be read of a text that is not TOML means nothing, and what is missing may be in the rest.
        issues.retain(|issue| {
            let in_broken = issue.labels.iter().any(|(span, _)| broken.contains(&sources.file_of(*span).base));
            issue.code == Code::Syntax || !in_broken && !says_absent(issue.code)
        });
    }
    // Of a table and a scalar under one key the one that is wrong is known.
    let wrong: BTreeSet<Span> =
        issues.as_slice().iter().filter(|issue| issue.code == Code::WrongType).map(|issue| issue.span()).collect();
    issues.retain(|issue| issue.code != Code::KindClash || !issue.labels.iter().any(|(span, _)| wrong.contains(span)));
}
