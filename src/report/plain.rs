//! The report for a mail: short, ASCII, 76 columns, what warns before what tells more.
//!
//! Made from the same view as the page, so that the two cannot tell different things; definitions, ledger, set-up and
//! most notes are left to the page.

use super::claims::{ClaimView, JUDGED_ALONE};
use super::comparison::ComparisonView;
use super::differences::{BY_AXES, DifferencesView};
use super::environment::{EnvironmentView, SettingView};
use super::excluded::{ExcludedRun, FailedTransactions};
use super::footnotes::Footnote;
use super::format::{counted, thousands};
use super::plain_table::{PlainCell, PlainTable, Side};
use super::plain_text::{WIDTH, ascii, command, heading, paragraph};
use super::tables::{RowView, TableView};
use super::view::View;
use crate::stats::ROUNDS_FOR_INTERVAL;

/// A longer table of differences is left to the page.
const DIFFERENCES: usize = 20;

/// The report in short, for a mail.
pub fn plain(view: &View) -> String {
    let mut parts = vec![heading(&view.title, '='), prose("", &view.headline)];
    let stamps: Vec<String> = view.stamps.iter().map(|stamp| prose("! ", stamp)).collect();
    parts.push(stamps.join("\n"));
    parts.extend(view.comparison.iter().flat_map(verdict));
    parts.extend(claims(view));
    parts.extend(view.tables.iter().flat_map(table));
    parts.extend(excluded(&view.excluded));
    parts.extend(failed_transactions(&view.failed_transactions));
    if !view.against.is_empty() {
        parts.push(heading("What speaks against the figures", '-'));
        parts.push(list(view.against.iter()));
    }
    parts.extend(differences(&view.differences, &view.run.by_version));
    parts.extend(environment(&view.environment));
    if !view.run.command.is_empty() {
        parts.push(format!("To run it again:\n\n{}", command(&view.run.command)));
    }
    parts.push("More in report.md and figures.csv.".to_owned());
    parts.retain(|part| !part.is_empty());
    format!("{}\n", parts.join("\n\n"))
}

/// A paragraph without what only Markdown reads.
fn prose(first: &str, text: &str) -> String {
    paragraph(first, &text.replace('`', ""))
}

fn list<S: AsRef<str>>(items: impl Iterator<Item = S>) -> String {
    items.map(|item| prose("* ", item.as_ref())).collect::<Vec<_>>().join("\n")
}

fn verdict(view: &ComparisonView) -> Vec<String> {
    let mut table = PlainTable::new(1);
    table.column("Where", Side::Left);
    for heading in ["Change, %", "Interval, %", "n"] {
        table.column(heading, Side::Right);
    }
    table.column("Verdict", Side::Left);
    table.column("Seen from, %", Side::Right);
    for row in &view.rows {
        let bare = |text: String| PlainCell::from(text.replace(" %", "").as_str());
        table.row(vec![
            row.place.as_str().into(),
            bare(row.change_text()),
            bare(row.interval_text()),
            row.n.to_string().as_str().into(),
            row.verdict_text().as_str().into(),
            bare(row.smallest_text()),
        ]);
    }
    let title = format!("Verdict: {} against {}, by {}", view.of, view.to, view.metric);
    let mut parts = vec![heading(&title, '-'), table.draw(WIDTH)];
    parts.extend(view.brief.iter().map(|rule| prose("", rule)));
    parts
}

/// Outcome first, then what was found.
fn claims(view: &View) -> Vec<String> {
    if view.claims.is_empty() {
        return Vec::new();
    }
    let own = &view.summary;
    let title = format!("Claims: {} held, {} not held, {} cannot tell", own.held, own.not_held, own.cannot_tell);
    let items: Vec<String> = view.claims.iter().map(claim).collect();
    let alone = (items.len() > 1).then(|| prose("", &format!("{JUDGED_ALONE}.")));
    [heading(&title, '-'), items.join("\n")].into_iter().chain(alone).collect()
}

fn claim(claim: &ClaimView) -> String {
    let ours = claim.ours.as_deref().unwrap_or("no figure");
    let mut found = ours.to_owned();
    if let Some(published) = &claim.published_text {
        found.push_str(&format!("; published {published}"));
    }
    if let Some((_, claimed)) = claim.about.rsplit_once(", claimed: ") {
        found.push_str(&format!("; claimed {claimed}"));
    }
    match (&claim.finding, claim.interval) {
        (None, _) => found.push_str(&format!("; cannot be told: {}", claim.rule)),
        (Some(_), Some(_)) if claim.n >= ROUNDS_FOR_INTERVAL => {}
        _ => found.push_str(&format!("; borne out by {} of {}", claim.borne_out, counted(claim.n, claim.each))),
    }
    let mut lines = vec![prose("* ", &format!("{}: {}", claim.outcome_text.to_uppercase(), claim.claim))];
    lines.push(prose("  ", &found));
    lines.extend(claim.remarks.iter().map(|remark| prose("  ", remark)));
    lines.join("\n")
}

fn table(view: &TableView) -> Vec<String> {
    let mut parts = vec![heading(&view.title, '-')];
    parts.extend(view.note.iter().map(|note| prose("", note)));
    parts.push(prose("", &view.legend.join(" ")));
    parts.push(body(view));
    parts.push(ranges(view));
    parts.push(footnotes(&view.footnotes));
    parts
}

fn body(view: &TableView) -> String {
    let of_runs = view.each == "run";
    let counted = view.rows.iter().any(|row| row.n.is_some());
    let mut table = PlainTable::new(1 + usize::from(of_runs));
    if of_runs {
        table.column("Round", Side::Right);
    }
    table.column(&view.leading, Side::Left);
    if counted {
        table.column("n", Side::Right);
    }
    for column in &view.columns {
        table.column(&column.title, Side::Right);
    }
    for row in &view.rows {
        let mut cells: Vec<PlainCell> = row.round.iter().map(|round| round.to_string().as_str().into()).collect();
        cells.push(leading(row));
        cells.extend(row.n.map(|n| n.to_string().as_str().into()));
        cells.extend(row.cells.iter().map(|cell| PlainCell {
            text: cell.text.clone(),
            mark: cell.mark.clone(),
            aside: cell.published_text.as_ref().map(|figure| format!("({figure})")).unwrap_or_default(),
        }));
        table.row(cells);
    }
    table.draw(WIDTH)
}

fn leading(row: &RowView) -> PlainCell {
    let excluded = if row.excluded.is_some() { ", excluded" } else { "" };
    PlainCell { text: format!("{}{excluded}", row.title), mark: row.mark.clone(), aside: String::new() }
}

fn ranges(view: &TableView) -> String {
    let spread = |index: &usize| view.rows.iter().any(|row| row.cells.get(*index).is_some_and(|c| c.range.is_some()));
    let shown: Vec<usize> = (0..view.columns.len()).filter(spread).collect();
    if shown.is_empty() {
        return String::new();
    }
    let mut table = PlainTable::new(1);
    table.column(&format!("Lowest-highest {}", view.ranges_of), Side::Left);
    for index in &shown {
        table.column(&view.columns[*index].title, Side::Right);
    }
    for row in view.rows.iter().filter(|row| row.cells.iter().any(|cell| cell.range.is_some())) {
        let cells = shown.iter().map(|index| row.cells[*index].range.as_deref().unwrap_or_default().into());
        table.row(std::iter::once(row.title.as_str().into()).chain(cells).collect());
    }
    table.draw(WIDTH)
}

fn footnotes(notes: &[Footnote]) -> String {
    let one = |note: &Footnote| prose(&format!("{} ", ascii(&note.mark)), &note.text);
    notes.iter().map(one).collect::<Vec<_>>().join("\n")
}

fn excluded(runs: &[ExcludedRun]) -> Vec<String> {
    if runs.is_empty() {
        return Vec::new();
    }
    let lines = runs.iter().flat_map(|run| {
        let head = format!("round {}, {}: {}", run.round, run.title, run.reason);
        std::iter::once(prose("* ", &head)).chain(run.differing.iter().map(|text| prose("  ", text)))
    });
    let lines: Vec<String> = lines.collect();
    vec![heading("Excluded runs, in no median and no claim", '-'), lines.join("\n")]
}

fn failed_transactions(failed: &[FailedTransactions]) -> Vec<String> {
    if failed.is_empty() {
        return Vec::new();
    }
    let one = |row: &FailedTransactions| {
        let states: Vec<String> = row.failed.iter().map(|(state, count)| format!("{state}: {count}")).collect();
        let all = thousands(row.failed.values().sum::<u64>() as f64);
        let committed = thousands(row.committed as f64);
        format!(
            "round {}, {}, {}, {}: {all} failed ({}), {committed} committed",
            row.round,
            row.title,
            row.phase,
            row.script,
            states.join(", ")
        )
    };
    vec![heading("Failed transactions", '-'), list(failed.iter().map(one))]
}

/// The table where it is short; else how long it is.
fn differences(view: &DifferencesView, by_version: &[String]) -> Vec<String> {
    let mut parts = Vec::new();
    if !view.rows.is_empty() {
        let mut table = PlainTable::new(1);
        if view.by_axes.is_empty() {
            table.column("", Side::Left);
            for (_, title) in &view.scenarios {
                table.column(title, Side::Left);
            }
            for row in &view.rows {
                let cells = row.cells.iter().map(|cell| cell.as_str().into());
                table.row(std::iter::once(row.what.as_str().into()).chain(cells).collect());
            }
        } else {
            for title in BY_AXES {
                table.column(title, Side::Left);
            }
            for line in &view.by_axes {
                table.row(line.iter().map(|cell| cell.as_str().into()).collect());
            }
        }
        let (drawn, notes) = (table.draw(WIDTH), footnotes(&view.footnotes));
        parts.push(heading("What differs between the scenarios", '-'));
        if drawn.lines().count() + notes.lines().count() > DIFFERENCES {
            parts.push(format!("{} in report.md.", counted(view.rows.len(), "row")));
        } else {
            parts.extend([drawn, notes]);
        }
    }
    if !by_version.is_empty() {
        parts.push(prose("", &view.by_version));
    }
    parts
}

/// Builds, machine, and the settings that the spec chose.
fn environment(view: &EnvironmentView) -> Vec<String> {
    let shown =
        ["When", "Gone on with", "Put together from", "PostgreSQL", "Replication", "Host", "Data folders", "Runner"];
    let lines = view.lines.iter().filter(|(label, _)| shown.contains(&label.as_str()));
    let mut lines: Vec<String> = lines.map(|(label, text)| prose("* ", &format!("{label}: {text}"))).collect();
    let mut nodes: Vec<&String> = view.settings.iter().flat_map(|setting| &setting.nodes).collect();
    nodes.sort();
    nodes.dedup();
    for node in nodes {
        let chosen = |setting: &&SettingView| {
            setting.nodes.contains(node) && !setting.origin.starts_with("the runner's default")
        };
        let own = view.settings.iter().filter(chosen).map(|setting| format!("{} = {}", setting.name, setting.value));
        let own: Vec<String> = own.collect();
        if !own.is_empty() {
            lines.push(prose("* ", &format!("Settings of {node}: {}", own.join(", "))));
        }
    }
    if lines.is_empty() { Vec::new() } else { vec![heading("How it was run", '-'), lines.join("\n")] }
}
