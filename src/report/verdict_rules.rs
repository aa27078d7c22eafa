//! How the verdict of `[compare]` was measured and judged, in sentences: whole for the page, in short for a mail.

use std::time::Duration;

use super::comparison::{VerdictRow, percent};
use super::figures::Runs;
use super::format::{as_written, counted};
use super::honesty::{bounds, disturbed};
use crate::plan::paired::PairedPlan;
use crate::spec::Compare;
use crate::stats::{Comparison, StopRule};
use crate::text::format_duration;

/// Why intervals of pairs are wider than Student's.
const WIDENED: &str = "Standard errors are multiplied by 1 + 0.75/n, since pairs of servers are no normal sample";

/// How it was measured and judged.
pub(super) fn rules(runs: Runs<'_>, compare: &Compare, rows: &[VerdictRow], rule: Option<StopRule>) -> Vec<String> {
    let mut out = Vec::new();
    let confidence = format!("{:.0} %", compare.confidence * 100.0);
    let paired = &runs.spec.run.paired;
    match rule {
        Some(rule) => {
            let rest = match paired.rest.value {
                Duration::ZERO => String::new(),
                rest => format!(", each after a rest of {}", format_duration(rest)),
            };
            let warm_up = match paired.warm_up.value {
                Duration::ZERO => String::new(),
                length => format!(", the first {} thrown away", format_duration(length)),
            };
            let most_begun = PairedPlan::of(runs.spec).map(|plan| plan.attempts());
            let limits = bounds(runs).map_or_else(String::new, |bounds| {
                format!(
                    " A pair in one of whose slices {bounds} counts nowhere; another was run for it, until {} had been begun.{}",
                    most_begun.unwrap_or_default(),
                    if disturbed(runs).is_none() { " There was none." } else { "" }
                )
            });
            out.push(format!(
                "Each pair is fresh servers of both sides, up at once, with {} slices of each in the order A B B A (the \
                 side that begins alternates){rest}{warm_up}.{limits}",
                paired.slices.value
            ));
            out.push(format!(
                "The change is the geometric mean over pairs, and the interval Student's t over the pairs' mean log \
                 ratios, {confidence} for each cell alone."
            ));
            out.push(if rule.least == rule.most {
                format!("The number of pairs was fixed before: {}. {WIDENED}.", rule.most)
            } else {
                format!(
                    "A cell was done when its interval was as narrow as ± {} % (from {} pairs on), whatever it said, or at {} \
                     pairs; {}. {WIDENED}, also since ending on a narrow interval ends a little too often on pairs that \
                     agree by chance.",
                    (rule.half_width * 1e4).round() / 100.0,
                    rule.least,
                    rule.most,
                    narrow(rows)
                )
            });
        }
        None => out.push(format!(
            "The change is the geometric mean of the ratios within rounds, and the interval Student's t on their \
             logarithms, {confidence} for each cell alone."
        )),
    }
    let same = compare.same_within.map_or_else(
        || "no margin is stated, so that nothing is called the same".to_owned(),
        |margin| format!("the same: within ± {} %", margin * 100.0),
    );
    out.push(format!(
        "Verdicts are joint over {} by Holm's method: the probability of any wrong one is at most {:.0} %; {same}. The last \
         column is the smallest change that this many would have found with a probability of 80 %, at the level of its first \
         step ({:.1} %).",
        counted(rows.len(), "cell"),
        (1.0 - compare.confidence) * 100.0,
        (1.0 - compare.confidence) * 100.0 / rows.len().max(1) as f64
    ));
    out.extend(against(rows));
    let spreads: Vec<f64> = rows.iter().filter_map(|row| row.sd_log).collect();
    if let (Some(_), Some(spread)) = (rule, crate::stats::Summary::of(&spreads)) {
        let percent = |sd: f64| format!("{:.1} %", sd * 100.0);
        let over = if spreads.len() > 1 {
            format!(", median over cells; {} to {}", percent(spread.min), percent(spread.max))
        } else {
            String::new()
        };
        out.extend(left_behind(rows));
        out.push(format!("Fresh pairs differed by {} (standard deviation{over}).", percent(spread.median)));
        out.push(
            "A slice is short: what comes seldom, such as a checkpoint or a vacuum, is in few of them or in none, and the \
             change is that of the time between."
                .to_owned(),
        );
    }
    out
}

/// How many cells were as narrow as they were to be.
fn narrow(rows: &[VerdictRow]) -> String {
    match rows.iter().filter(|row| row.narrow).count() {
        0 => "none was as narrow".to_owned(),
        all if all == rows.len() => "all were as narrow".to_owned(),
        some => format!("{some} of {} were as narrow", rows.len()),
    }
}

/// What slices leave behind, in words; `None` where it cannot be told.
fn left_behind(rows: &[VerdictRow]) -> Option<String> {
    let found: Vec<_> = rows.iter().filter_map(|row| row.carry_over.as_ref()).collect();
    let spread = crate::stats::Summary::of(&found.iter().map(|found| found.ratio).collect::<Vec<_>>())?;
    let beyond = found.iter().filter(|found| found.interval.is_some_and(|own| !own.contains(1.0))).count();
    let span = if spread.n > 1 {
        format!("{} to {}", percent(spread.min), percent(spread.max))
    } else {
        percent(spread.median)
    };
    let chance = match beyond {
        0 => "nowhere beyond chance".to_owned(),
        some => format!("beyond chance in {}", counted(some, "cell")),
    };
    Some(format!(
        "Carry-over: a slice after one of its own side differed by {span} from one after the other side, {chance} (99 %); \
         pairing is refused where that is beyond chance and more than the width asked for."
    ))
}

/// The same in two or three lines, and what speaks against it whole.
pub(super) fn brief(runs: Runs<'_>, compare: &Compare, rows: &[VerdictRow], rule: Option<StopRule>) -> Vec<String> {
    let confidence = format!("{:.0} %", compare.confidence * 100.0);
    let how = match rule {
        Some(rule) if rule.least == rule.most => format!(
            "Each pair: fresh servers of both sides, {} slices each, A B B A; {} pairs.",
            runs.spec.run.paired.slices.value, rule.most
        ),
        Some(rule) => format!(
            "Each pair: fresh servers of both sides, {} slices each, A B B A; pairs until +/- {} % ({} to {}); {}.",
            runs.spec.run.paired.slices.value,
            as_written(rule.half_width * 100.0),
            rule.least,
            rule.most,
            narrow(rows)
        ),
        None => "Change: geometric mean of the ratios within rounds.".to_owned(),
    };
    let same = compare.same_within.map_or_else(
        || "no margin stated, nothing is called the same".to_owned(),
        |margin| format!("the same: within +/- {} %", as_written(margin * 100.0)),
    );
    let mut out = vec![format!(
        "{how} Intervals: {confidence} of each cell alone. Verdicts: joint over {} (Holm), any wrong one with at most \
             {:.0} %; {same}. Seen from: smallest change found with a probability of 80 %.",
        counted(rows.len(), "cell"),
        (1.0 - compare.confidence) * 100.0
    )];
    out.extend(against(rows));
    out
}

/// What a reader must not overlook: verdicts that only a cell alone would have, and refusals.
fn against(rows: &[VerdictRow]) -> Vec<String> {
    let mut out = Vec::new();
    let open: Vec<&str> = rows
        .iter()
        .filter(|row| row.verdict == Some(Comparison::CannotTell) && row.alone != Comparison::CannotTell)
        .map(|row| row.place.as_str())
        .collect();
    if !open.is_empty() {
        out.push(format!("Alone, but not jointly, a verdict could be given for {}.", open.join("; ")));
    }
    for row in rows {
        if let Some(refused) = &row.refused {
            out.push(format!("{}: refused, {refused}.", row.place));
        }
        if let Some(short) = &row.short {
            out.push(format!("{}: {}.", row.place, short.why));
        }
    }
    out
}
