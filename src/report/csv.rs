//! The figures for spreadsheets and plotting programs: RFC 4180, one line per run and figure.
//!
//! Excluded runs are in it too, with `valid` false: a reader who wants medians filters by that column.

use super::view::{FigureOfRun, RunFigures, View};

/// A column: its heading, and what stands in it.
type OfRun = (&'static str, fn(&RunFigures) -> String);

/// What a line says of its run, before the figure: further columns are added here.
const OF_RUN: [OfRun; 8] = [
    ("turn", |run| run.turn.to_string()),
    ("round", |run| run.round.to_string()),
    ("cell", |run| run.cell.clone()),
    ("scenario", |run| run.scenario.clone()),
    ("point", |run| run.point.iter().map(|(axis, value)| format!("{axis}={value}")).collect::<Vec<_>>().join(",")),
    ("slice", |run| run.slice.map_or_else(String::new, |slice| slice.to_string())),
    ("valid", |run| run.valid.to_string()),
    ("outcome", |run| {
        let well = if run.warm_up { "warm-up" } else { "completed" };
        run.outcome.complaint().unwrap_or_else(|| well.to_owned())
    }),
];

/// What a line says of the figure: exactly one of `value` and `why_absent` is there.
const OF_FIGURE: [&str; 4] = ["metric", "unit", "value", "why_absent"];

/// Every run with every figure that a table or a claim names, under a line of headings. Values are in their metric's
/// unit and have all their digits. Lines end in CR LF.
pub fn csv(view: &View) -> String {
    let headings: Vec<&str> = OF_RUN.iter().map(|(heading, _)| *heading).chain(OF_FIGURE).collect();
    let mut text = record(&headings);
    for run in &view.runs {
        let of_run: Vec<String> = OF_RUN.iter().map(|(_, read)| read(run)).collect();
        for (metric, figure) in &run.figures {
            let unit = view.units.get(metric).copied().unwrap_or_default();
            let (value, why_absent) = match figure {
                FigureOfRun::Value(value) => (value.to_string(), ""),
                FigureOfRun::Absent(reason) => (String::new(), reason.as_str()),
            };
            let fields = of_run.iter().map(String::as_str).chain([metric.as_str(), unit, value.as_str(), why_absent]);
            text.push_str(&record(&fields.collect::<Vec<_>>()));
        }
    }
    text
}

/// A line with its end.
fn record(fields: &[&str]) -> String {
    let fields: Vec<String> = fields.iter().map(|field| quoted(field)).collect();
    format!("{}\r\n", fields.join(","))
}

/// In quotes where it must be.
fn quoted(field: &str) -> String {
    if field.contains(['"', ',', '\r', '\n']) {
        format!("\"{}\"", field.replace('"', "\"\""))
    } else {
        field.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Reads what RFC 4180 allows.
    fn parsed(text: &str) -> Vec<Vec<String>> {
        let (mut records, mut fields, mut field, mut inside) = (Vec::new(), Vec::new(), String::new(), false);
        let mut chars = text.chars().peekable();
        while let Some(c) = chars.next() {
            match c {
                '"' if inside && chars.next_if_eq(&'"').is_some() => field.push('"'),
                '"' => inside = !inside,
                ',' if !inside => fields.push(std::mem::take(&mut field)),
                '\r' if !inside && chars.next_if_eq(&'\n').is_some() => {
                    fields.push(std::mem::take(&mut field));
                    records.push(std::mem::take(&mut fields));
                }
                other => field.push(other),
            }
        }
        assert!(!inside && field.is_empty() && fields.is_empty(), "{text:?}");
        records
    }

    proptest! {
        #[test]
        fn what_is_written_reads_the_same(
            records in prop::collection::vec(prop::collection::vec("[a\", \r\n\\PC]{0,8}", 1..5), 0..5)
        ) {
            let text: String = records.iter().map(|fields| {
                record(&fields.iter().map(String::as_str).collect::<Vec<_>>())
            }).collect();
            prop_assert_eq!(parsed(&text), records);
        }
    }
}
