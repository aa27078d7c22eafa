//! How the verdict of `[compare]` was measured and judged, in sentences: whole for the page, in short for a mail.

use std::time::Duration;

use super::comparison::VerdictRow;
use super::figures::Runs;
use super::format::{as_written, counted};
use crate::plan::paired::PairedPlan;
use crate::spec::Compare;
use crate::stats::{Comparison, StopRule};
use crate::text::format_duration;

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
            let steal = paired.steal.as_ref().map_or_else(String::new, |steal| {
                format!(
                    " A pair in one of whose slices the hypervisor took more than {} % of the cores counts nowhere; another \
                     was run for it, until {} had been begun.",
                    as_written(steal.value * 100.0),
                    most_begun.unwrap_or_default()
                )
            });
            out.push(format!(
                "Each pair is fresh servers of both sides, up at once, with {} slices of each in the order A B B A (the \
                 side that begins alternates){rest}{warm_up}.{steal}",
                paired.slices.value
            ));
            out.push(format!(
                "The change is the geometric mean over pairs, and the interval Student's t over the pairs' mean log \
                 ratios, {confidence} for each cell alone."
            ));
            out.push(if rule.least == rule.most {
                format!(
                    "The number of pairs was fixed before: {}. Standard errors are multiplied by 1 + 0.75/n, since pairs of \
                     servers are no normal sample.",
                    rule.most
                )
            } else {
                format!(
                "A cell was done when its interval was as narrow as ± {} % (from {} pairs on), whatever it said, or at {} \
                 pairs; standard errors are multiplied by 1 + 0.75/n, since that ends a little too often on pairs \
                 that agree by chance, and pairs of servers are no normal sample.",
                (rule.half_width * 1e4).round() / 100.0,
                rule.least,
                rule.most
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
         column is the smallest change that this many would have found with a probability of 80 %.",
        counted(rows.len(), "cell"),
        (1.0 - compare.confidence) * 100.0
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
        out.push(format!("Fresh pairs differed by {} (standard deviation{over}).", percent(spread.median)));
        out.push(
            "A slice is short: what comes seldom, such as a checkpoint or a vacuum, is in few of them or in none, and the \
             change is that of the time between."
                .to_owned(),
        );
    }
    out
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
            "Each pair: fresh servers of both sides, {} slices each, A B B A; pairs until +/- {} % ({} to {}).",
            runs.spec.run.paired.slices.value,
            as_written(rule.half_width * 100.0),
            rule.least,
            rule.most
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
