//! A comparison of two runs for a mail: ASCII, 76 columns.

use super::compare::CompareView;
use super::compare_page::{HEADINGS, by_metric, met_text, rules, texts};
use super::fail_if::FailIfView;
use super::plain_table::{PlainTable, Side};
use super::plain_text::{WIDTH, heading, paragraph};

/// Left out, so that a table fits on a line: the verdict says what it leads to.
const P: usize = 6;

/// The comparison in plain text.
pub fn compare_plain(view: &CompareView) -> String {
    let mut parts = vec![heading(&format!("{} to {}", view.new, view.old), '=')];
    if view.not_the_same.is_empty() {
        parts.push("Not the same: nothing that the runner knows of.".to_owned());
    } else {
        parts.push("Not the same:".to_owned());
        parts.push(list(view.not_the_same.iter().cloned()));
    }
    for (metric, unit, rows) in by_metric(view) {
        parts.push(heading(&format!("{metric} ({unit})"), '-'));
        let mut table = PlainTable::new(1);
        for (index, title) in HEADINGS.into_iter().enumerate().filter(|(index, _)| *index != P) {
            let words = [0, HEADINGS.len() - 1].contains(&index);
            table.column(title, if words { Side::Left } else { Side::Right });
        }
        for row in &rows {
            let shown = texts(row).into_iter().enumerate().filter(|(index, _)| *index != P);
            table.row(shown.map(|(_, text)| text.as_str().into()).collect());
        }
        parts.push(table.draw(WIDTH));
        parts.push(list(rows.iter().filter_map(|row| Some(format!("{}: {}", row.cell, row.absent.as_ref()?)))));
    }
    if view.rows.is_empty() {
        parts.push("Neither has a figure of any metric.".to_owned());
    }
    if !view.fail_if.is_empty() {
        parts.push(heading("Fail if", '-'));
        let rule = |own: &FailIfView| format!("{}: {} ({})", met_text(own.met), own.rule, own.cell);
        parts.push(list(view.fail_if.iter().map(rule)));
    }
    parts.push(paragraph("", &rules(view).replace(" (Holm, p adjusted)", " (Holm)")));
    parts.retain(|part| !part.is_empty());
    format!("{}\n", parts.join("\n\n"))
}

fn list(items: impl Iterator<Item = String>) -> String {
    items.map(|item| paragraph("* ", &item)).collect::<Vec<_>>().join("\n")
}
