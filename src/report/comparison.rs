//! The verdict of `[compare]`: at each point of the other axes the change, its interval, and what can be said of it,
//! jointly over all of them.

use std::collections::BTreeMap;

use serde::Serialize;

use super::figures::Runs;
use super::format::counted;
use super::pivot::label;
use super::redealt::{Of, Redealt, redealt, too_few};
use super::verdict_rules::{brief, rules};
use crate::measure;
use crate::plan::paired::PairedPlan;
use crate::results::pairs::{self, Cells, Progress, effects, whole_pairs};
use crate::spec::{Compare, Comparison as Pair, LoweredCell};
use crate::stats::{
    Better, CarryOver, Comparison, Interval, Judged, Next, PairEffect, PairedEstimate, StopRule, carry_over,
    joint_verdicts, paired_estimate, smallest_difference,
};

/// The verdict, decided.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ComparisonView {
    /// Side that the verdict is about.
    pub of: String,
    /// Side that it is compared with.
    pub to: String,
    /// Reference to the metric.
    pub metric: String,
    /// Confidence of all verdicts together, and of each interval alone.
    pub confidence: f64,
    /// At each point of the other axes.
    pub rows: Vec<VerdictRow>,
    /// Of an A/A run: its pairs dealt anew.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub redealt: Option<Redealt>,
    /// How it was measured and judged, a sentence or two each.
    pub rules: Vec<String>,
    /// The same in short.
    #[serde(skip)]
    pub brief: Vec<String>,
}

/// The verdict at one point.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct VerdictRow {
    /// Point of the other axes, in words.
    pub place: String,
    /// Cell that the verdict is about.
    pub of: String,
    /// Cell that it is compared with.
    pub to: String,
    /// Pairs or rounds that it rests on.
    pub n: usize,
    /// Ratio of the one to the other: geometric mean over pairs or rounds.
    pub ratio: Option<f64>,
    /// Its interval, of this cell alone.
    pub interval: Option<Interval>,
    /// What can be said, jointly; `None` where the comparison is refused.
    pub verdict: Option<Comparison>,
    /// What could be said of this cell alone.
    pub alone: Comparison,
    /// Holm's adjusted p.
    pub adjusted_p: Option<f64>,
    /// Smallest change, as a share, that this many pairs would have found with a probability of 80 %, jointly.
    pub smallest: Option<f64>,
    /// Standard deviation of the pairs' logarithms.
    pub sd_log: Option<f64>,
    /// Why the comparison is refused.
    pub refused: Option<String>,
    /// What a slice is after one of its own side, as a ratio to one after the other side, with its 99 % interval.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub carry_over: Option<CarryOver>,
    /// Whether its interval became as narrow as the rule asks for.
    pub narrow: bool,
    /// Why it has fewer pairs than its rule asks for, although no further one would be begun.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub short: Option<Short>,
    /// Logarithm of the ratio of each pair or round, by its number.
    pub log_ratios: BTreeMap<u32, f64>,
}

/// Pairs that a comparison lacks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Short {
    /// Whether these are fewer than the least.
    pub below_least: bool,
    /// How many there are and why, in words.
    pub why: String,
}

impl VerdictRow {
    /// `+1.6 %`; `–` where there is none.
    pub(super) fn change_text(&self) -> String {
        self.ratio.map_or_else(|| "–".to_owned(), percent)
    }

    /// `[-7.0 %, +11.0 %]`.
    pub(super) fn interval_text(&self) -> String {
        self.interval.map_or_else(|| "–".to_owned(), |own| format!("[{}, {}]", percent(own.low), percent(own.high)))
    }

    /// The verdict in words.
    pub(super) fn verdict_text(&self) -> String {
        match self.verdict {
            None => "refused".to_owned(),
            Some(verdict) => words(verdict).to_owned(),
        }
    }

    /// `9.3 %`: the smallest change that would have been seen.
    pub(super) fn smallest_text(&self) -> String {
        self.smallest.map_or_else(|| "–".to_owned(), |share| format!("{:.1} %", share * 100.0))
    }
}

pub(super) fn percent(ratio: f64) -> String {
    // A hair below one is no "-0.0 %".
    let change = (ratio - 1.0) * 100.0;
    let change = if change.abs() < 0.05 { 0.0 } else { change };
    format!("{change:+.1} %")
}

/// A verdict in words.
pub(super) fn words(verdict: Comparison) -> &'static str {
    match verdict {
        Comparison::Better => "better",
        Comparison::Worse => "worse",
        Comparison::Higher => "higher",
        Comparison::Lower => "lower",
        Comparison::Same => "the same",
        Comparison::CannotTell => "cannot tell",
    }
}

/// What one comparison rests on.
struct Read<'a> {
    pair: Pair,
    of: &'a LoweredCell,
    to: &'a LoweredCell,
    log_ratios: BTreeMap<u32, f64>,
    effects: Vec<PairEffect>,
    short: Option<Short>,
}

/// Decides the verdict; `None` of a spec without `[compare]`, or where nothing is to be compared.
/// Of an A/A run it tells what this machine's own noise would have been called.
pub(super) fn comparison(runs: Runs<'_>, aa: bool) -> Option<ComparisonView> {
    let compare = runs.spec.compare.as_ref()?;
    let read: Vec<Read<'_>> = runs.spec.comparisons().into_iter().map(|pair| read(pair, compare, runs)).collect();
    let first = read.first()?;
    let paired = &runs.spec.run.paired;
    let stop = StopRule {
        least: paired.least.value,
        most: paired.most.value,
        half_width: paired.until.value,
        confidence: compare.confidence,
    };
    let rule = runs.is_paired().then_some(stop);
    let widening = |n: usize| if rule.is_some() { StopRule::widening(n) } else { 1.0 };
    let better = match compare.metric.better() {
        measure::Better::Higher => Some(Better::Higher),
        measure::Better::Lower => Some(Better::Lower),
        measure::Better::Neither => None,
    };
    let judged: Vec<Judged> = read
        .iter()
        .map(|own| Judged {
            log_ratios: own.log_ratios.values().copied().collect(),
            widening: widening(own.log_ratios.len()),
            better,
            same_within: compare.same_within,
        })
        .collect();
    let level = 1.0 - compare.confidence;
    let verdicts = joint_verdicts(&judged, level);
    let cells = read.len().max(1) as f64;
    let rows: Vec<VerdictRow> = read
        .iter()
        .zip(judged.iter().zip(verdicts))
        .map(|(own, (judged, verdict))| {
            let logs = &judged.log_ratios;
            let estimate = paired_estimate(logs, compare.confidence, judged.widening).ok();
            let sd_log = estimate.as_ref().and_then(|estimate| estimate.sd_log);
            let carry_over = rule.and_then(|rule| carry_over(&own.effects, rule.half_width));
            let refused = carry_over.as_ref().and_then(refusal);
            VerdictRow {
                place: own.pair.name.clone(),
                of: own.of.name.clone(),
                to: own.to.name.clone(),
                n: logs.len(),
                ratio: estimate.as_ref().map(|estimate| estimate.ratio),
                interval: estimate.as_ref().and_then(|estimate: &PairedEstimate| estimate.interval),
                verdict: refused.is_none().then_some(verdict.outcome),
                alone: verdict.alone,
                adjusted_p: verdict.adjusted_p,
                smallest: sd_log.and_then(|sd| smallest_difference(sd * judged.widening, logs.len(), level / cells)),
                sd_log,
                refused,
                carry_over,
                narrow: rule.is_some_and(|rule| rule.next(logs) == Next::Narrow),
                short: own.short.clone(),
                log_ratios: own.log_ratios.clone(),
            }
        })
        .collect();
    let of = rule.map_or(Of::Rounds(compare.confidence), |rule| Of::Pairs(rule, 2 * paired.slices.value));
    let recorded: Vec<Vec<f64>> = judged.iter().map(|own| own.log_ratios.clone()).collect();
    let redealt = if aa { redealt(&recorded, of) } else { None };
    let told = aa.then(|| redealt.as_ref().map_or_else(|| too_few(of), Redealt::words));
    let side = |cell: &LoweredCell, value: &str| label(&[cell], &compare.axis, value);
    Some(ComparisonView {
        of: side(first.of, &compare.of),
        to: side(first.to, &compare.to),
        metric: compare.metric.display(),
        confidence: compare.confidence,
        rules: rules(runs, compare, &rows, rule).into_iter().chain(told.clone()).collect(),
        brief: brief(runs, compare, &rows, rule).into_iter().chain(told).collect(),
        redealt: redealt.clone(),
        rows,
    })
}

fn read<'a>(pair: Pair, compare: &Compare, runs: Runs<'a>) -> Read<'a> {
    let (of, to) = (&runs.spec.cells[pair.of], &runs.spec.cells[pair.to]);
    if runs.is_paired() {
        let cells = Cells { of: (&of.name, &of.scenario), to: (&to.name, &to.scenario) };
        let slices = runs.spec.run.paired.slices.value;
        let whole = whole_pairs(runs.samples, cells, &compare.metric, slices);
        let found = effects(&whole);
        let log_ratios = found.iter().map(|(pair, effect)| (*pair, effect.log_ratio)).collect();
        let short = PairedPlan::of(runs.spec).and_then(|plan| short(&Progress::of(cells, &plan, runs.samples), &plan));
        return Read { pair, of, to, log_ratios, effects: found.into_values().collect(), short };
    }
    let others = runs.rounds(&to.name);
    let ratio = |(round, own): (u32, Vec<_>)| {
        let own = runs.read_round(&own, &compare.metric).ok().filter(|value| *value > 0.0)?;
        let other = runs.read_round(others.get(&round)?, &compare.metric).ok().filter(|value| *value > 0.0)?;
        Some((round, (own / other).ln()))
    };
    let log_ratios = runs.rounds(&of.name).into_iter().filter_map(ratio).collect();
    Read { pair, of, to, log_ratios, effects: Vec::new(), short: None }
}

/// What a comparison lacks that will have no further pair. One that was under way when the run was stopped is run again.
fn short(progress: &Progress, paired: &PairedPlan) -> Option<Short> {
    let ended = progress.ended();
    let next = ended.next(paired);
    let (n, begun) = (ended.log_ratios.len(), ended.begun.len());
    let below_least = n < paired.least as usize;
    let over = next == pairs::Next::OutOfAttempts || (next == pairs::Next::Most && below_least);
    let (disturbed, blank) = (ended.disturbed.len(), ended.blank.len());
    let lost =
        [(disturbed, "disturbed"), (begun - n - disturbed - blank, "failed"), (blank, "without a figure above zero")];
    let lost: Vec<String> =
        lost.iter().filter(|(count, _)| *count > 0).map(|(count, how)| format!("{count} {how}")).collect();
    let wanted = if below_least {
        format!("and at least {} are wanted", paired.least)
    } else {
        format!("which is not as many as ± {} % would need", (paired.until * 1e4).round() / 100.0)
    };
    let why = format!("{} of {begun} begun count, {wanted} ({})", counted(n, "pair"), lost.join(", "));
    over.then_some(Short { below_least, why })
}

/// Why slices side by side are not to be trusted: what one side leaves behind shows in the other's next slice.
fn refusal(found: &CarryOver) -> Option<String> {
    let interval = found.interval.filter(|_| found.against_pairing)?;
    Some(format!(
        "carry-over: a slice after one of its own side gives {} [{}, {}] (99 %) of one after the other side, so that the \
         two sides are not measured apart; let each slice begin rested (rest = \"2s\" under [run.paired]), or use order = \
         \"shuffled\"",
        percent(found.ratio),
        percent(interval.low),
        percent(interval.high)
    ))
}
