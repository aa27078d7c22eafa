//! The spec's claims: each judged over the rounds in which both runs are valid, with its rule.
//!
//! The rule is the statistics' own; here the pairs are formed and what comes out is put into words.

use serde::Serialize;

use super::cells::quoted;
use super::figures::{NoFigure, Runs, ratio};
use super::format::{as_written, decimals, figure_with_unit, range, ratio_decimals, times};
use crate::measure::Unit;
use crate::spec::{Claim, LoweredCell, Statistic, point_words};
use crate::stats::{
    Bounds, Estimate, Interval, Judgement, Outcome, StopRule, difference_of_pairs, judge, mean_of_values,
    ratio_of_pairs,
};

/// Confidence of every interval of a report.
pub const CONFIDENCE: f64 = 0.95;

/// A judged claim, in numbers and in words.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ClaimView {
    /// The claim in words.
    pub claim: String,
    /// What became of it.
    pub outcome: Outcome,
    /// The same in words.
    #[serde(skip)]
    pub outcome_text: &'static str,
    /// `ratio`, `difference` or `value`.
    pub statistic: &'static str,
    /// Reference to the metric.
    pub metric: String,
    /// Unit of the figures: the metric's, or `ratio`.
    pub unit: &'static str,
    /// Scenario it is about.
    pub of: String,
    /// Scenario it is compared with.
    pub to: Option<String>,
    /// What is claimed of what, in words.
    pub about: String,
    /// The bounds.
    pub bounds: Bounds,
    /// Our figure: the geometric mean of ratios, the mean of others.
    pub centre: Option<f64>,
    /// Its interval.
    pub interval: Option<Interval>,
    /// Each round's own figure.
    pub rounds: Vec<RoundFigure>,
    /// What it rests on: `round`, or `pair` of servers.
    pub each: &'static str,
    /// How many of them it rests on.
    pub n: usize,
    /// How many bear it out by themselves.
    pub borne_out: usize,
    /// Our figure in words: with interval, range and n.
    pub ours: Option<String>,
    /// The published figure.
    pub published: Option<f64>,
    /// The same in words.
    pub published_text: Option<String>,
    /// By which rule it was judged.
    pub rule: String,
    /// How the rule came out.
    pub finding: Option<String>,
    /// What a reader should know of the figure.
    pub remarks: Vec<String>,
}

/// A round's own figure.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct RoundFigure {
    /// Round.
    pub round: u32,
    /// The scenario's figure.
    pub of: f64,
    /// That of the one it is compared with.
    pub to: Option<f64>,
}

/// What is told below several claims.
pub(super) const JUDGED_ALONE: &str =
    "Each is judged alone, so that what is claimed of all together is less sure than of one";

/// A claim of one pair of cells.
#[derive(Clone, Copy)]
struct Claimed<'a> {
    claim: &'a Claim,
    of: &'a LoweredCell,
    to: Option<&'a LoweredCell>,
    /// Whether the same is claimed of other cells too.
    of_several: bool,
}

impl std::ops::Deref for Claimed<'_> {
    type Target = Claim;
    fn deref(&self) -> &Claim {
        self.claim
    }
}

/// Judges a claim for every cell that it is about.
pub(super) fn judged<'a>(claim: &'a Claim, runs: Runs<'a>) -> Vec<ClaimView> {
    let cells = &runs.spec.cells;
    let fits = |cell: &&LoweredCell| {
        claim.of.fits(cell) && claim.matrix.as_ref().is_none_or(|block| cell.blocks.contains(block))
    };
    let pairs: Vec<(&LoweredCell, Option<&LoweredCell>)> = cells
        .iter()
        .filter(fits)
        .filter_map(|of| match &claim.to {
            None => Some((of, None)),
            Some(to) => Some((of, Some(to.beside(of, cells)?))),
        })
        .collect();
    let of_several = pairs.len() > 1;
    pairs.into_iter().map(|(of, to)| judged_of(Claimed { claim, of, to, of_several }, runs)).collect()
}

fn judged_of<'a>(claim: Claimed<'a>, runs: Runs<'a>) -> ClaimView {
    let read = read(claim, runs);
    let bounds = Bounds { at_least: claim.at_least, at_most: claim.at_most };
    let judgement = match refusal(&claim, &read) {
        Some(reason) => {
            let outcome = Outcome::CannotTell;
            Judgement { outcome, rule: reason.to_string(), n: read.rounds.len(), borne_out: 0, estimate: None }
        }
        None => {
            let estimate = estimate(claim.statistic, &read.rounds);
            // The number of pairs was chosen by a rule that looked at them.
            let widening = if runs.is_paired() { StopRule::widening(read.rounds.len()) } else { 1.0 };
            judge(estimate.map(|estimate| estimate.widened(widening)), bounds)
        }
    };
    let (rule, finding) = judgement.rule_and_finding();
    let is_ratio = claim.statistic == Statistic::Ratio;
    let unit = claim.metric.unit();
    let each = runs.unit();
    let mut remarks = Vec::new();
    if let (Some(reason), false) = (read.absent.first(), read.rounds.is_empty()) {
        remarks.push(format!(
            "{} of {} {each}s have the figure; in the rest: {reason}",
            read.rounds.len(),
            read.rounds.len() + read.absent.len()
        ));
    }
    let sides = [Some(claim.of), claim.to].map(|side| side.map(|cell| cell.name.as_str()));
    let busy = sides.into_iter().flatten().filter_map(|side| runs.contention(side, &claim.metric)).reduce(f64::max);
    if let (Some(busy), Some(_)) = (busy, &judgement.estimate) {
        remarks.push(format!(
            "† figure of contention: the host was up to {:.0} % busy in `{}`",
            busy * 100.0,
            claim.metric.windows().join("` and `")
        ));
    }
    ClaimView {
        claim: if claim.of_several {
            format!("{} ({})", claim.claim.claim, place(claim))
        } else {
            claim.claim.claim.clone()
        },
        outcome: judgement.outcome,
        outcome_text: outcome_text(judgement.outcome),
        statistic: match claim.statistic {
            Statistic::Ratio => "ratio",
            Statistic::Difference => "difference",
            Statistic::Value => "value",
        },
        metric: claim.metric.display(),
        unit: if is_ratio { "ratio" } else { unit.as_str() },
        of: claim.of.name.clone(),
        to: claim.to.map(|to| to.name.clone()),
        about: about(claim, bounds),
        bounds,
        centre: judgement.estimate.as_ref().map(Estimate::centre),
        interval: judgement.estimate.as_ref().and_then(|estimate| estimate.interval().copied()),
        n: judgement.n,
        borne_out: judgement.borne_out,
        ours: judgement.estimate.as_ref().map(|estimate| ours(&claim, estimate, each)),
        each,
        published: claim.published,
        published_text: claim.published.map(|figure| published_text(figure, unit, is_ratio)),
        rule: rule.to_owned(),
        finding: finding.map(str::to_owned),
        remarks,
        rounds: read.rounds,
    }
}

/// What the rounds gave for a claim.
struct Rounds {
    rounds: Vec<RoundFigure>,
    /// Why other rounds whose runs are valid have no figure.
    absent: Vec<NoFigure>,
}

/// The figures of the rounds in which every run that the claim needs is valid.
fn read<'a>(claim: Claimed<'a>, runs: Runs<'a>) -> Rounds {
    let mut found = Rounds { rounds: Vec::new(), absent: Vec::new() };
    let others = claim.to.map(|to| runs.rounds(&to.name));
    for (round, own) in runs.rounds(&claim.of.name) {
        let partner = match &others {
            None => None,
            Some(others) => match others.get(&round) {
                None => continue,
                some => some,
            },
        };
        let pair = || {
            let to = partner.map(|to| runs.read_round(to, &claim.metric)).transpose()?;
            Ok(RoundFigure { round, of: runs.read_round(&own, &claim.metric)?, to })
        };
        match pair() {
            Ok(figure) => found.rounds.push(figure),
            Err(reason) => found.absent.push(reason),
        }
    }
    found
}

/// Where a claim of several cells is made: the values of the axes that its own do not name.
fn place(claim: Claimed<'_>) -> String {
    let named = |axis: &str| claim.claim.of.axes.iter().any(|(own, _)| own == axis);
    let point: Vec<_> = claim.of.point.iter().filter(|(axis, _)| !named(axis)).cloned().collect();
    let words = point_words(&point);
    match &claim.claim.of.scenario {
        None if words.is_empty() => claim.of.scenario.title.clone(),
        _ => words,
    }
}

/// Why a claim is not even judged: nothing to judge, or ratios of what the instrument does not tell apart.
fn refusal(claim: &Claimed<'_>, read: &Rounds) -> Option<NoFigure> {
    if read.rounds.is_empty() {
        return read.absent.first().cloned();
    }
    if claim.statistic != Statistic::Ratio {
        return None;
    }
    read.rounds.iter().find_map(|round| match ratio(round.of, round.to?, &claim.metric) {
        Err(reason @ NoFigure::BelowFloor { .. }) => Some(reason),
        _ => None,
    })
}

fn estimate(statistic: Statistic, rounds: &[RoundFigure]) -> Result<Estimate, crate::stats::NoEstimate> {
    let pairs: Vec<(f64, f64)> = rounds.iter().filter_map(|round| Some((round.of, round.to?))).collect();
    match statistic {
        Statistic::Ratio => ratio_of_pairs(&pairs, CONFIDENCE).map(Estimate::Ratio),
        Statistic::Difference => difference_of_pairs(&pairs, CONFIDENCE).map(Estimate::Difference),
        Statistic::Value => {
            let values: Vec<f64> = rounds.iter().map(|round| round.of).collect();
            mean_of_values(&values, CONFIDENCE).map(Estimate::Value)
        }
    }
}

/// `31.13x, 95 % interval [29.46, 32.90], rounds 30.64x–31.64x, n = 3`.
fn ours(claim: &Claimed<'_>, estimate: &Estimate, each: &str) -> String {
    let unit = claim.metric.unit();
    let is_ratio = matches!(estimate, Estimate::Ratio(_));
    let digits =
        if is_ratio { ratio_decimals(estimate.centre()) } else { decimals(&claim.metric, true, std::iter::empty()) };
    let digits = telling(claim, estimate, digits);
    let one = |value: f64| if is_ratio { times(value, digits) } else { figure_with_unit(value, unit, digits) };
    let bare = |value: f64| {
        let text = if is_ratio { times(value, digits) } else { super::format::figure(value, unit, digits) };
        text.trim_end_matches('x').to_owned()
    };
    let mut parts = vec![one(estimate.centre())];
    if let Some(interval) = estimate.interval() {
        let percent = interval.confidence * 100.0;
        parts.push(format!("{percent:.0} % interval [{}, {}]", bare(interval.low), bare(interval.high)));
    }
    let n = estimate.rounds().len();
    if n > 1 {
        let (low, high) = estimate.range();
        parts.push(format!("{each}s {}", range(&one(low), &one(high))));
    }
    parts.push(format!("n = {n}"));
    parts.join(", ")
}

/// Enough decimals that no printed end reads like a bound that it does not meet.
fn telling(claim: &Claimed<'_>, estimate: &Estimate, least: usize) -> usize {
    let (lowest, highest) = estimate.range();
    let interval = estimate.interval().map(|interval| [interval.low, interval.high]);
    let shown: Vec<f64> =
        [estimate.centre(), lowest, highest].into_iter().chain(interval.into_iter().flatten()).collect();
    let bounds: Vec<f64> = [claim.at_least, claim.at_most].into_iter().flatten().collect();
    let reads_like_a_bound = |digits: usize| {
        shown.iter().any(|value| {
            bounds
                .iter()
                .any(|bound| (value - bound).abs() > 1e-9 && format!("{value:.digits$}") == format!("{bound:.digits$}"))
        })
    };
    (least..least + 2).find(|digits| !reads_like_a_bound(*digits)).unwrap_or(least + 2)
}

/// ``ratio of `apply.seconds`, No usable index to B-tree on id, claimed: at least 10x``.
fn about(claim: Claimed<'_>, bounds: Bounds) -> String {
    let metric = claim.metric.display();
    let unit = claim.metric.unit();
    let of = &claim.of.title;
    let to = claim.to.map(|to| to.title.as_str()).unwrap_or_default();
    let what = match claim.statistic {
        Statistic::Ratio => format!("ratio of `{metric}`, {of} to {to}"),
        Statistic::Difference => format!("difference of `{metric}`, {of} less {to}"),
        Statistic::Value => format!("`{metric}` of {of}"),
    };
    let one = |value: f64| bound_text(value, unit, claim.statistic);
    let claimed = match (bounds.at_least, bounds.at_most) {
        (Some(low), Some(high)) => format!("from {} to {}", one(low), one(high)),
        (Some(low), None) => format!("at least {}", one(low)),
        (None, Some(high)) => format!("at most {}", one(high)),
        (None, None) => "anything".to_owned(),
    };
    format!("{what}, claimed: {claimed}")
}

/// A published figure. A number does not remember the zeros it was printed with: ratios are published with three
/// digits at least.
fn published_text(value: f64, unit: Unit, is_ratio: bool) -> String {
    let digits = if value.abs() < 10.0 { 2 } else { 1 };
    if is_ratio && as_written(value).split_once('.').is_none_or(|(_, own)| own.len() < digits) {
        times(value, digits)
    } else {
        quoted(value, unit, is_ratio)
    }
}

fn bound_text(value: f64, unit: Unit, statistic: Statistic) -> String {
    quoted(value, unit, statistic == Statistic::Ratio)
}

fn outcome_text(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Held => "held",
        Outcome::NotHeld => "not held",
        Outcome::CannotTell => "cannot tell",
    }
}
