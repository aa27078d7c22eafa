//! The report before it is written down: every figure, mark and sentence decided.
//!
//! Every form of the report is made from this one value, so that they cannot tell different things.

use indexmap::IndexMap;
use serde::Serialize;

use super::Input;
use super::charts::{ChartView, charts};
use super::claims::{ClaimView, judged};
use super::comparison::{ComparisonView, comparison};
use super::definitions::{definitions, quantities};
use super::differences::{DifferencesView, differences};
use super::environment::{EnvironmentView, environment, versions_text};
use super::excluded::{ExcludedRun, FailedTransactions, excluded, failed_transactions};
use super::figures::Runs;
use super::format::{counted, listed};
use super::honesty::{honesty, took};
use super::ledger::{LedgerView, ledger};
use super::notes::{notes, warnings};
use super::summary::Summary;
use super::tables::{TableView, table};
use super::texts::{TextView, texts};
use crate::measure::NodeSeries;
use crate::results::merge::shard_words;
use crate::results::record::FORMAT;
use crate::results::{Convergence, NodeRecord, Outcome, RunRecord, Sample};

/// A whole report.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct View {
    /// [`FORMAT`]; raised when a field of the JSON form changes its meaning.
    pub format: u32,
    /// The spec's title.
    pub title: String,
    /// The spec's Markdown about it.
    pub about: Option<String>,
    /// What a reader must know before any figure.
    pub stamps: Vec<String>,
    /// The run in one line.
    pub headline: String,
    /// The run in counts.
    pub summary: Summary,
    /// The verdict of `[compare]`.
    pub comparison: Option<ComparisonView>,
    /// The spec's claims, judged.
    pub claims: Vec<ClaimView>,
    /// What is not the same in all scenarios.
    pub differences: DifferencesView,
    /// The spec's tables.
    pub tables: Vec<TableView>,
    /// The spec's charts.
    pub charts: Vec<ChartView>,
    /// Runs that count nowhere.
    pub excluded: Vec<ExcludedRun>,
    /// Transactions that failed.
    pub failed_transactions: Vec<FailedTransactions>,
    /// What each node wrote to its WAL.
    pub ledger: LedgerView,
    /// What else a reader should know.
    pub notes: Vec<String>,
    /// Those of the notes that speak against the figures.
    #[serde(skip)]
    pub against: Vec<String>,
    /// How it was run.
    pub environment: EnvironmentView,
    /// How each figure is defined.
    pub definitions: Vec<String>,
    /// The stored record of the whole run.
    pub run: RunRecord,
    /// Unit of each figure of the runs, by reference.
    pub units: IndexMap<String, &'static str>,
    /// Every run with every figure that a table or a claim names.
    pub runs: Vec<RunFigures>,
    /// SQL of the set-up and scripts of the loads.
    pub texts: Vec<TextView>,
}

/// A run for machines.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RunFigures {
    /// Position in the whole run.
    pub turn: u32,
    /// Round.
    pub round: u32,
    /// Cell.
    pub cell: String,
    /// Scenario.
    pub scenario: String,
    /// When it began.
    pub started: String,
    /// Values of the axes, as written.
    #[serde(skip_serializing_if = "IndexMap::is_empty")]
    pub point: IndexMap<String, String>,
    /// Its place within its pair, from 1, if it is a slice of one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub slice: Option<u32>,
    /// Whether it only warmed up.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub warm_up: bool,
    /// Whether it counts.
    pub valid: bool,
    /// How it ended.
    pub outcome: Outcome,
    /// Wall time of the whole turn, in seconds.
    pub total_seconds: f64,
    /// By reference, in the metric's unit.
    pub figures: IndexMap<String, FigureOfRun>,
    /// Comparison of the nodes.
    pub convergence: Option<Convergence>,
    /// Nodes as they really were.
    pub nodes: IndexMap<String, NodeRecord>,
    /// What was seen each second, as stored: by phase and node.
    pub series: IndexMap<String, IndexMap<String, NodeSeries>>,
}

/// A figure of a run, or why there is none.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum FigureOfRun {
    /// In the metric's unit.
    Value(f64),
    /// Why there is none.
    Absent(String),
}

impl View {
    /// Decides everything.
    pub fn of(input: Input<'_>) -> View {
        let Input { spec, run, samples } = input;
        let runs = Runs { spec, samples };
        let claims: Vec<ClaimView> = spec.claims.iter().flat_map(|claim| judged(claim, runs)).collect();
        let comparison = comparison(runs, run.aa);
        let excluded = excluded(runs);
        let failed_transactions = failed_transactions(runs);
        let rounds = if run.rounds == 0 { spec.run.rounds.value } else { run.rounds } as usize;
        // How many pairs there will be is known only in the end.
        let share = run.shard.as_ref().and_then(|shard| shard.turns);
        let planned = if runs.is_paired() { None } else { Some(share.unwrap_or(rounds * spec.cells.len())) };
        let ended = run.finished.is_some();
        let rows = || comparison.iter().flat_map(|comparison| &comparison.rows);
        let short = rows().filter(|row| row.short.as_ref().is_some_and(|short| short.below_least)).count();
        let summary = Summary::of(planned, (run.interrupted, ended), samples, &excluded, &claims, short);
        let environment = environment(run, runs);
        View {
            format: FORMAT,
            title: spec.title.clone(),
            about: spec.about.as_ref().map(|about| about.trim().to_owned()).filter(|about| !about.is_empty()),
            stamps: stamps(run, &summary, &failed_transactions, &environment.builds.with_assertions),
            headline: headline(input, rounds, &summary, &environment),
            comparison: comparison.clone(),
            claims,
            differences: differences(run, runs),
            tables: spec.tables.iter().map(|spec| table(spec, runs, comparison.as_ref())).collect(),
            charts: charts(runs),
            excluded,
            failed_transactions,
            ledger: ledger(runs),
            against: [honesty(run, runs), warnings(runs)].concat(),
            notes: [honesty(run, runs), took(run), notes(runs)].concat(),
            texts: texts(runs),
            environment,
            definitions: definitions(runs),
            run: run.clone(),
            units: quantities(spec).map(|quantity| (quantity.display(), quantity.unit().as_str())).collect(),
            runs: samples.iter().map(|sample| figures(sample, runs)).collect(),
            summary,
        }
    }
}

/// What must not be overlooked.
fn stamps(
    run: &RunRecord,
    summary: &Summary,
    failed: &[FailedTransactions],
    with_assertions: &[String],
) -> Vec<String> {
    let mut stamps = Vec::new();
    if !with_assertions.is_empty() {
        let builds = with_assertions.join(", ");
        stamps.push(format!("Built with assertions: not for performance figures ({builds})."));
    }
    if run.aa {
        stamps.push("A/A: both sides of the comparison are alike; what differs is what this machine does.".to_owned());
    }
    if !run.only.is_empty() {
        let patterns: Vec<String> = run.only.iter().map(|pattern| format!("`{pattern}`")).collect();
        stamps.push(format!("--only: a part of the spec's cells, those of {}.", listed(&patterns)));
    }
    if let Some(shares) = &run.shard {
        let runs = match shares.whole {
            Some(whole) => format!("{} of {} runs", summary.runs, whole),
            None => counted(summary.runs, "run"),
        };
        stamps.push(format!("{}: {runs}; `runner merge` puts shards together.", capital(&shard_words(shares))));
    }
    if run.quick {
        stamps.push("--quick: one round, reduced values; not for publication.".to_owned());
    }
    let paired = run.order == "paired";
    let (runs, planned) = (summary.runs, summary.planned);
    if summary.interrupted || summary.unfinished {
        let how = if summary.interrupted { "Interrupted" } else { "Not finished" };
        stamps.push(match (paired, summary.interrupted) {
            (true, _) => format!(
                "{how}: the pair under way counts nowhere, and comparisons may have fewer pairs than they need; `runner \
                 resume` {}.",
                if run.merged.is_empty() { "goes on" } else { "goes on with the runs that it is of" }
            ),
            (false, true) => format!("{how}: {runs} of {planned} planned runs were begun."),
            (false, false) => format!("{how}: {runs} of {planned} planned runs are here."),
        });
    }
    if summary.short > 0 {
        stamps.push(format!(
            "{} ended with fewer pairs than the least that an interval should rest on; see what follows the verdict.",
            counted(summary.short, "comparison")
        ));
    }
    if !summary.failed.is_empty() {
        stamps.push(format!("{} of {} failed; see Excluded runs.", summary.failed.len(), counted(summary.runs, "run")));
    }
    let transactions: u64 = failed.iter().flat_map(|script| script.failed.values()).sum();
    if transactions > 0 {
        let transactions = counted(transactions as usize, "transaction");
        stamps.push(format!("{transactions} failed; see Failed transactions."));
    }
    if summary.valid == 0 {
        stamps.push("No run is valid: there are no figures.".to_owned());
    }
    stamps
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

/// `2 scenarios × 3 rounds, 6 runs, 6 valid; PostgreSQL 18.6; tcp; 2 cores`.
fn headline(input: Input<'_>, rounds: usize, summary: &Summary, environment: &EnvironmentView) -> String {
    let own = Runs { spec: input.spec, samples: input.samples };
    if own.is_paired() {
        let mut parts = vec![own.pairs_in_words()];
        parts.extend(machine(input, environment));
        return parts.join("; ");
    }
    let runs = if summary.runs == summary.planned {
        counted(summary.runs, "run")
    } else {
        format!("{} of {}", summary.runs, counted(summary.planned, "run"))
    };
    let mut parts = vec![format!(
        "{} × {}, {runs}, {} valid",
        counted(input.spec.cells.len(), if input.spec.axes.is_empty() { "scenario" } else { "cell" }),
        counted(rounds, "round"),
        summary.valid
    )];
    parts.extend(machine(input, environment));
    parts.join("; ")
}

/// Versions, transport and cores.
fn machine(input: Input<'_>, environment: &EnvironmentView) -> Vec<String> {
    let mut parts = Vec::new();
    let versions = versions_text(&environment.versions);
    if !versions.is_empty() {
        parts.push(format!("PostgreSQL {versions}"));
    }
    parts.push(environment.transports.join(" and "));
    if let Some(cores) = input.run.host.cores {
        parts.push(counted(cores, "core"));
    }
    parts.retain(|part| !part.is_empty());
    parts
}

fn figures(sample: &Sample, runs: Runs<'_>) -> RunFigures {
    let mut figures = IndexMap::new();
    for quantity in quantities(runs.spec) {
        figures.entry(quantity.display()).or_insert_with(|| match runs.read(sample, quantity) {
            Ok(value) => FigureOfRun::Value(value),
            Err(reason) => FigureOfRun::Absent(reason.to_string()),
        });
    }
    RunFigures {
        turn: sample.turn,
        round: sample.round,
        cell: sample.cell.clone(),
        scenario: sample.scenario.clone(),
        started: sample.started.clone(),
        point: sample.point.clone(),
        slice: sample.slice.as_ref().map(|slice| slice.place),
        warm_up: sample.slice.as_ref().is_some_and(|slice| slice.warm_up),
        valid: sample.counts(),
        outcome: sample.outcome.clone(),
        total_seconds: sample.total_seconds,
        figures,
        convergence: sample.convergence.clone(),
        nodes: sample.nodes.clone(),
        series: sample
            .phases
            .iter()
            .map(|(phase, record)| {
                let nodes = record.evidence.nodes.iter();
                let series = nodes.filter_map(|(node, observed)| Some((node.clone(), observed.series.clone()?)));
                (phase.clone(), series.collect::<IndexMap<_, _>>())
            })
            .filter(|(_, nodes)| !nodes.is_empty())
            .collect(),
    }
}
