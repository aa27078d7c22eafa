//! The report for people: the view laid out by the template `templates/report.md`.
//!
//! Tables and lists are drawn here; their order and headings are the template's.

use serde::Serialize;

use super::builds::BuildsView;
use super::cells::CellView;
use super::charts::ChartView;
use super::claims::{ClaimView, JUDGED_ALONE};
use super::comparison::ComparisonView;
use super::differences::{BY_AXES, DifferencesView};
use super::excluded::{ExcludedRun, FailedTransactions};
use super::footnotes::Footnote;
use super::format::{NONE, counted, thousands};
use super::grid::{Align, Entry, Grid, escaped};
use super::ledger::{COLUMNS as LEDGER_COLUMNS, LedgerView};
use super::tables::{RowView, TableView};
use super::texts::TextView;
use super::view::View;
use crate::stats::ROUNDS_FOR_INTERVAL;

const TEMPLATE: &str = include_str!("../../templates/report.md");

/// The template does not fit the report.
#[derive(Debug, thiserror::Error)]
#[error("render the report's template: {source}")]
pub struct MarkdownError {
    /// What the template engine said.
    #[source]
    source: Box<tera::Error>,
}

/// The report as Markdown that reads well as plain text.
pub fn markdown(view: &View) -> Result<String, MarkdownError> {
    let broken = |source| MarkdownError { source: Box::new(source) };
    let mut engine = tera::Tera::default();
    engine.autoescape_on(Vec::<&str>::new());
    engine.add_raw_template("report.md", TEMPLATE).map_err(broken)?;
    let context = tera::Context::from_serialize(&page(view)).map_err(broken)?;
    let text = engine.render("report.md", &context).map_err(broken)?;
    Ok(format!("{}\n", text.trim()))
}

/// What the template lays out.
#[derive(Serialize)]
struct Page<'a> {
    title: &'a str,
    about: &'a str,
    stamps: Vec<String>,
    headline: &'a str,
    verdict_heading: String,
    verdicts: String,
    verdict_rules: Vec<String>,
    claims_heading: String,
    claims: Vec<Item>,
    rules: Vec<String>,
    differences: String,
    difference_notes: Vec<String>,
    by_version: &'a str,
    by_version_table: String,
    tables: Vec<Drawn>,
    charts: &'a [ChartView],
    excluded: Vec<Item>,
    failed_transactions: String,
    ledger: String,
    ledger_notes: Vec<String>,
    notes: Vec<String>,
    texts: Vec<Fenced>,
    environment: Vec<String>,
    builds: String,
    build_notes: Vec<String>,
    settings: String,
    definitions: Vec<String>,
}

/// A list item with lines below it.
#[derive(Serialize)]
struct Item {
    head: String,
    lines: Vec<String>,
}

/// A text between fences.
#[derive(Serialize)]
struct Fenced {
    title: String,
    fence: String,
    text: String,
}

/// A table of the spec.
#[derive(Serialize)]
struct Drawn {
    title: String,
    note: String,
    legend: String,
    body: String,
    ranges: String,
    footnotes: Vec<String>,
}

fn page(view: &View) -> Page<'_> {
    let (claims, rules) = claims(&view.claims);
    let (verdict_heading, verdicts, verdict_rules) = verdict(view.comparison.as_ref());
    let summary = &view.summary;
    Page {
        title: &view.title,
        about: view.about.as_deref().unwrap_or_default(),
        stamps: view.stamps.iter().map(|stamp| escaped(stamp)).collect(),
        headline: &view.headline,
        verdict_heading,
        verdicts,
        verdict_rules,
        claims_heading: format!(
            "{} held, {} not held, {} cannot tell",
            summary.held, summary.not_held, summary.cannot_tell
        ),
        claims,
        rules,
        differences: differences(&view.differences),
        difference_notes: footnotes(&view.differences.footnotes),
        by_version: &view.differences.by_version,
        by_version_table: by_version(&view.differences),
        tables: view.tables.iter().map(table).collect(),
        charts: &view.charts,
        excluded: view.excluded.iter().map(excluded).collect(),
        failed_transactions: failed_transactions(&view.failed_transactions),
        ledger: ledger(&view.ledger),
        ledger_notes: footnotes(&view.ledger.footnotes),
        notes: view.notes.iter().map(|note| tame(note)).collect(),
        texts: view.texts.iter().map(fenced).collect(),
        environment: view.environment.lines.iter().map(|(label, text)| format!("{label}: {}", tame(text))).collect(),
        builds: builds(&view.environment.builds),
        build_notes: build_notes(&view.environment.builds),
        settings: settings(view),
        definitions: view.definitions.clone(),
    }
}

/// Heading, table and rules of the verdict; empty without one.
fn verdict(view: Option<&ComparisonView>) -> (String, String, Vec<String>) {
    let Some(view) = view else { return (String::new(), String::new(), Vec::new()) };
    let mut grid = Grid::default();
    for (heading, align) in [
        ("Where", Align::Left),
        ("Change", Align::Right),
        ("Interval", Align::Right),
        ("Verdict", Align::Left),
        ("n", Align::Right),
        ("Could have seen", Align::Right),
    ] {
        grid.column(heading, align);
    }
    for row in &view.rows {
        let texts = [
            row.place.clone(),
            row.change_text(),
            row.interval_text(),
            row.verdict_text(),
            row.n.to_string(),
            row.smallest_text(),
        ];
        grid.row(texts.iter().map(|text| text.as_str().into()).collect());
    }
    let heading = format!("Verdict: {} against {}, by `{}`", view.of, view.to, view.metric);
    (heading, grid.draw(), view.rules.iter().map(|rule| tame(rule)).collect())
}

/// Claims as list items, and their rules, each once.
fn claims(claims: &[ClaimView]) -> (Vec<Item>, Vec<String>) {
    let mut rules: Vec<&str> = Vec::new();
    for claim in claims.iter().filter(|claim| claim.finding.is_some()) {
        if !rules.contains(&claim.rule.as_str()) {
            rules.push(&claim.rule);
        }
    }
    // One rule needs no number.
    let number = |rule: &str| {
        let index = rules.iter().position(|known| *known == rule).filter(|_| rules.len() > 1)?;
        Some(format!("rule {}", index + 1))
    };
    let items = claims
        .iter()
        .map(|claim| {
            let ours = claim.ours.clone().unwrap_or_else(|| "no figure".to_owned());
            let published = claim.published_text.as_ref().map(|figure| format!("; published {figure}"));
            let verdict = match (&claim.finding, claim.interval) {
                (None, _) => format!("cannot be told: {}", claim.rule),
                (Some(finding), Some(_)) if claim.n >= ROUNDS_FOR_INTERVAL => format!("the interval: {finding}"),
                _ => format!("borne out by {} of {}", claim.borne_out, counted(claim.n, claim.each)),
            };
            let number = number(&claim.rule).map(|number| format!(" ({number})")).unwrap_or_default();
            let figures = format!("{ours}{}", published.unwrap_or_default());
            let mut lines = vec![figures, format!("{}; {verdict}{number}", claim.about)];
            lines.extend(claim.remarks.iter().cloned());
            Item { head: format!("**{}**: {}", claim.outcome_text, tame(&claim.claim)), lines }
        })
        .collect();
    let label = |rule: &str| number(rule).map_or_else(|| "Rule".to_owned(), |number| capitalised(&number));
    let mut told: Vec<String> = rules.iter().map(|rule| format!("{}: {rule}.", label(rule))).collect();
    if claims.len() > 1 {
        told.push(format!("{JUDGED_ALONE}."));
    }
    (items, told)
}

/// A text with a fence that it does not hold itself.
fn fenced(view: &TextView) -> Fenced {
    let mut fence = "```".to_owned();
    while view.text.contains(&fence) {
        fence.push('`');
    }
    let of = if view.scenarios.is_empty() { String::new() } else { format!(" ({})", view.scenarios.join("; ")) };
    Fenced { title: escaped(&format!("{}{of}", view.title)), fence, text: view.text.clone() }
}

/// From more scenarios on than stand beside one another, each has a row of its own.
const MOST_BESIDE: usize = 6;

fn differences(view: &DifferencesView) -> String {
    if let Some(instead) = &view.instead {
        return instead.clone();
    }
    let mut grid = Grid::default();
    if !view.by_axes.is_empty() {
        for title in BY_AXES {
            grid.column(title, Align::Left);
        }
        for line in &view.by_axes {
            grid.row(line.iter().map(|cell| cell.as_str().into()).collect());
        }
        return grid.draw();
    }
    if view.scenarios.len() > MOST_BESIDE {
        grid.column("Scenario", Align::Left);
        for row in &view.rows {
            grid.column(&row.what, Align::Left);
        }
        for (index, (_, title)) in view.scenarios.iter().enumerate() {
            let cells = view.rows.iter().map(|row| row.cells[index].as_str().into());
            grid.row(std::iter::once(title.as_str().into()).chain(cells).collect());
        }
        return grid.draw();
    }
    grid.column("What differs", Align::Left);
    for (_, title) in &view.scenarios {
        grid.column(title, Align::Left);
    }
    for row in &view.rows {
        let cells = row.cells.iter().map(|cell| cell.as_str().into());
        grid.row(std::iter::once(row.what.as_str().into()).chain(cells).collect());
    }
    grid.draw()
}

fn by_version(view: &DifferencesView) -> String {
    if view.by_version_rows.is_empty() {
        return String::new();
    }
    let mut grid = Grid::default();
    grid.column("PostgreSQL", Align::Left);
    for column in &view.by_version_columns {
        grid.column(column, Align::Left);
    }
    for row in &view.by_version_rows {
        let cells = row.cells.iter().map(|cell| cell.as_str().into());
        grid.row(std::iter::once(row.what.as_str().into()).chain(cells).collect());
    }
    grid.draw()
}

fn table(view: &TableView) -> Drawn {
    Drawn {
        title: view.title.clone(),
        note: view.note.clone().unwrap_or_default(),
        legend: view.legend.join(" "),
        body: body(view),
        ranges: ranges(view),
        footnotes: footnotes(&view.footnotes),
    }
}

fn body(view: &TableView) -> String {
    let of_runs = view.each == "run";
    let counted = view.rows.iter().any(|row| row.n.is_some());
    let mut grid = Grid::default();
    if of_runs {
        grid.column("Round", Align::Right);
    }
    grid.column(&view.leading, Align::Left);
    if counted {
        grid.column("n", Align::Right);
    }
    for column in &view.columns {
        grid.column(&column.title, Align::Right);
    }
    for row in &view.rows {
        let mut entries = Vec::new();
        if let Some(round) = row.round {
            entries.push(round.to_string().as_str().into());
        }
        entries.push(leading(row));
        if let Some(n) = row.n {
            entries.push(n.to_string().as_str().into());
        }
        entries.extend(row.cells.iter().map(entry));
        grid.row(entries);
    }
    grid.draw()
}

fn leading(row: &RowView) -> Entry {
    let title = if row.excluded.is_some() { format!("{}, excluded", row.title) } else { row.title.clone() };
    Entry { mark: row.mark.clone(), ..title.as_str().into() }
}

fn entry(cell: &CellView) -> Entry {
    let published = cell.published_text.as_ref().map(|figure| format!("({figure})"));
    let gloss = cell.gloss.as_ref().map(|gloss| format!("= {gloss}"));
    let aside: Vec<String> = [gloss, published].into_iter().flatten().collect();
    Entry { figure: escaped(&cell.text), mark: cell.mark.clone(), aside: aside.join(" ") }
}

/// Lowest and highest run behind the medians, in a table of its own: beside them it would be too wide to read.
fn ranges(view: &TableView) -> String {
    let spread = |index: usize| view.rows.iter().any(|row| row.cells.get(index).is_some_and(|c| c.range.is_some()));
    let shown: Vec<usize> = (0..view.columns.len()).filter(|index| spread(*index)).collect();
    if shown.is_empty() {
        return String::new();
    }
    let mut grid = Grid::default();
    grid.column(&format!("Lowest–highest {}", view.ranges_of), Align::Left);
    for index in &shown {
        grid.column(&view.columns[*index].title, Align::Right);
    }
    for row in view.rows.iter().filter(|row| row.cells.iter().any(|cell| cell.range.is_some())) {
        let cells = shown.iter().map(|index| row.cells[*index].range.as_deref().unwrap_or_default().into());
        grid.row(std::iter::once(row.title.as_str().into()).chain(cells).collect());
    }
    grid.draw()
}

fn footnotes(notes: &[Footnote]) -> Vec<String> {
    notes.iter().map(|note| format!("{} {}", note.mark, tame(&note.text))).collect()
}

/// A list, since a server's own words are too long for a column.
fn excluded(run: &ExcludedRun) -> Item {
    Item {
        head: tame(&format!("round {}, {}: {}", run.round, run.title, run.reason)),
        lines: run.differing.iter().map(|text| tame(text)).collect(),
    }
}

fn failed_transactions(failed: &[FailedTransactions]) -> String {
    if failed.is_empty() {
        return String::new();
    }
    let mut grid = Grid::default();
    for (heading, align) in [
        ("Round", Align::Right),
        ("Scenario", Align::Left),
        ("Phase", Align::Left),
        ("Script", Align::Left),
        ("Committed", Align::Right),
        ("Failed", Align::Right),
        ("by SQLSTATE", Align::Left),
    ] {
        grid.column(heading, align);
    }
    for row in failed {
        let by_state: Vec<String> = row.failed.iter().map(|(state, count)| format!("{state}: {count}")).collect();
        let failed: u64 = row.failed.values().sum();
        grid.row(vec![
            row.round.to_string().as_str().into(),
            row.title.as_str().into(),
            row.phase.as_str().into(),
            row.script.as_str().into(),
            thousands(row.committed as f64).as_str().into(),
            thousands(failed as f64).as_str().into(),
            by_state.join(", ").as_str().into(),
        ]);
    }
    grid.draw()
}

/// Medians only: a spec's own table shows ranges.
fn ledger(view: &LedgerView) -> String {
    if view.rows.is_empty() {
        return String::new();
    }
    let mut grid = Grid::default();
    grid.column("Scenario", Align::Left);
    grid.column("Node", Align::Left);
    grid.column("n", Align::Right);
    // What no row has needs no column.
    let columns: Vec<(&str, &str)> = LEDGER_COLUMNS
        .into_iter()
        .filter(|(metric, _)| view.rows.iter().any(|row| row.medians.contains_key(metric)))
        .collect();
    let named = view.rows.iter().any(|row| !row.rmgr_bytes.is_empty() || !row.mark.is_empty());
    for (_, heading) in &columns {
        grid.column(heading, Align::Right);
    }
    if named {
        grid.column("Mostly", Align::Left);
    }
    for row in &view.rows {
        let mut entries: Vec<Entry> = vec![row.title.as_str().into(), row.node.as_str().into()];
        entries.push(row.n.to_string().as_str().into());
        entries.extend(columns.iter().map(|(metric, _)| match row.medians.get(metric) {
            Some(median) => thousands(median.round()).as_str().into(),
            None => NONE.into(),
        }));
        if named {
            entries.push(Entry { mark: row.mark.clone(), ..row.mostly().as_str().into() });
        }
        grid.row(entries);
    }
    grid.draw()
}

fn builds(view: &BuildsView) -> String {
    if view.rows.is_empty() {
        return String::new();
    }
    let mut grid = Grid::default();
    let headings =
        ["Build", "Nodes", "Version", "Binary", "lz4", "zstd", "ssl", "icu", "io_method", "Assertions", "CFLAGS"];
    for heading in headings {
        grid.column(heading, Align::Left);
    }
    for row in &view.rows {
        let nodes = row.nodes.join(", ");
        let mut entries: Vec<Entry> =
            [&row.title, &nodes, &row.version, &row.digest].map(|text| text.as_str().into()).into();
        entries.extend(row.with.values().map(|text| text.as_str().into()));
        entries.extend([&row.io_method, &row.assertions, &row.cflags].map(|text| text.as_str().into()));
        grid.row(entries);
    }
    grid.draw()
}

/// What is too long for the table, and what differs between the sides.
fn build_notes(view: &BuildsView) -> Vec<String> {
    let mut notes = footnotes(&view.footnotes);
    notes.extend(view.between_sides.iter().map(|line| tame(line)));
    notes
}

fn settings(view: &View) -> String {
    if view.environment.settings.is_empty() {
        return String::new();
    }
    let mut grid = Grid::default();
    for heading in ["Setting", "Value", "Nodes", "From"] {
        grid.column(heading, Align::Left);
    }
    for setting in &view.environment.settings {
        grid.row(vec![
            setting.name.as_str().into(),
            setting.value.as_str().into(),
            setting.nodes.join(", ").as_str().into(),
            setting.origin.as_str().into(),
        ]);
    }
    grid.draw()
}

/// Prose on one line that holds no tag: a server's own words may.
fn tame(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ").replace('<', "\\<")
}

fn capitalised(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
}
