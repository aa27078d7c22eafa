//! A comparison of two runs, written down: a table a metric.

use super::compare::{CompareView, ComparedRow, verdict_text};
use super::fail_if::Met;
use super::format::{NONE, times};
use super::grid::{Align, Grid, escaped};

/// For machines.
pub fn compare_json(view: &CompareView) -> String {
    let text = serde_json::to_string_pretty(view).expect("a view has nothing that JSON lacks");
    format!("{text}\n")
}

/// For people, as Markdown that reads well as plain text.
pub fn compare_markdown(view: &CompareView) -> String {
    let mut parts = vec![format!("# {} to {}", escaped(&view.new), escaped(&view.old))];
    if view.not_the_same.is_empty() {
        parts.push("Not the same: nothing that the runner knows of.".to_owned());
    } else {
        let lines: Vec<String> = view.not_the_same.iter().map(|line| format!("- {}", escaped(line))).collect();
        parts.push(format!("Not the same:\n\n{}", lines.join("\n")));
    }
    for (metric, unit, rows) in by_metric(view) {
        parts.push(format!("## {} ({unit})", escaped(metric)));
        parts.push(table(&rows));
        let absent = rows.iter().filter_map(|row| Some(format!("- {}: {}", row.cell, escaped(row.absent.as_ref()?))));
        let absent: Vec<String> = absent.collect();
        if !absent.is_empty() {
            parts.push(absent.join("\n"));
        }
    }
    if view.rows.is_empty() {
        parts.push("Neither has a figure of any metric.".to_owned());
    }
    if !view.fail_if.is_empty() {
        let lines: Vec<String> = view
            .fail_if
            .iter()
            .map(|own| {
                let met = if own.met == Met::Yes { "**holds**" } else { met_text(own.met) };
                format!("- {met}: {} ({})", escaped(&own.rule), escaped(&own.cell))
            })
            .collect();
        parts.push(format!("## Fail if\n\n{}", lines.join("\n")));
    }
    parts.push(rules(view));
    format!("{}\n", parts.join("\n\n"))
}

/// Whether a rule is met, in words.
pub(super) fn met_text(met: Met) -> &'static str {
    match met {
        Met::Yes => "holds",
        Met::CannotExclude => "cannot be excluded",
        Met::No => "does not hold",
    }
}

/// The rows of each metric, with its unit, in the order of the rows.
pub(super) fn by_metric(view: &CompareView) -> Vec<(&str, &'static str, Vec<&ComparedRow>)> {
    let mut out: Vec<(&str, &'static str, Vec<&ComparedRow>)> = Vec::new();
    for row in &view.rows {
        match out.iter_mut().find(|(metric, ..)| *metric == row.metric) {
            Some((.., rows)) => rows.push(row),
            None => out.push((&row.metric, row.unit, vec![row])),
        }
    }
    out
}

/// How the rows came about.
pub(super) fn rules(view: &CompareView) -> String {
    let same = view.same_within.map_or_else(
        || "nothing is called the same, since no --same-within is given".to_owned(),
        |margin| format!("the same is what lies within {} %", super::format::as_written(margin * 100.0)),
    );
    format!(
        "Old and new: geometric means of n rounds each. Ratio: new to old, with the 95 % interval of each by itself \
         (Welch's t on the logarithms; rounds of two runs are no pairs). Verdicts hold for all {} rows together at 95 % \
         (Holm, p adjusted); {same}. What moves both runs' rounds alike, such as another day on the host, is in no interval.",
        view.rows.len()
    )
}

/// The headings of a metric's table, the first and the last of words, the others of figures.
pub(super) const HEADINGS: [&str; 8] = ["Cell", "Old", "New", "New/Old", "95 % interval", "n", "p", "Verdict"];

/// What stands under them.
pub(super) fn texts(row: &ComparedRow) -> [String; 8] {
    let mean = |values: &[f64]| match values {
        [] => NONE.to_owned(),
        values if values.iter().all(|value| *value > 0.0) => {
            let mean = values.iter().map(|value| value.ln()).sum::<f64>() / values.len() as f64;
            format!("{:.*}", row.digits, mean.exp())
        }
        // Without logarithms there is the mean at least.
        values => format!("{:.*}", row.digits, values.iter().sum::<f64>() / values.len() as f64),
    };
    // A p of nothing at all there is not.
    let p = |p: f64| if p <= 0.001 { "≤0.001".to_owned() } else { format!("{p:.3}") };
    let interval = row.interval.map(|own| format!("[{:.3}, {:.3}]", own.low, own.high));
    [
        row.cell.clone(),
        mean(&row.old),
        mean(&row.new),
        row.ratio.map_or_else(|| NONE.to_owned(), |ratio| times(ratio, 3)),
        interval.unwrap_or_else(|| NONE.to_owned()),
        format!("{}+{}", row.old.len(), row.new.len()),
        row.adjusted_p.map_or_else(|| NONE.to_owned(), p),
        row.verdict.map_or(NONE, verdict_text).to_owned(),
    ]
}

fn table(rows: &[&ComparedRow]) -> String {
    let mut grid = Grid::default();
    for (index, heading) in HEADINGS.into_iter().enumerate() {
        let words = [0, HEADINGS.len() - 1].contains(&index);
        grid.column(heading, if words { Align::Left } else { Align::Right });
    }
    for row in rows {
        grid.row(texts(row).iter().map(|text| text.as_str().into()).collect());
    }
    grid.draw()
}
