//! References to metrics: `WINDOW.METRIC{label=value, …}`.

use std::ops::Range;

use super::catalogue::{CATALOGUE, find};
use super::metric::{Dim, Labels, Metric};

/// A reference whose metric and labels exist; whether the window and the labels' values do is the spec's matter.
#[derive(Clone, Debug, PartialEq)]
pub struct Reference {
    /// Window or phase.
    pub window: String,
    /// The catalogue's entry.
    pub metric: &'static Metric,
    /// Labels as given.
    pub labels: Labels,
    /// Where the window stands in the text.
    pub window_range: Range<usize>,
    /// Where each label's value stands in the text.
    pub value_ranges: Vec<Range<usize>>,
}

/// Why a text is no reference.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReferenceError {
    /// Neither a dot nor braces: the name of a computed metric.
    Bare,
    /// Not of the form at all.
    Malformed(Range<usize>),
    /// The catalogue has no such metric.
    Metric(String, Range<usize>),
    /// The metric does not take such a label.
    Label {
        /// As written.
        written: String,
        /// Where.
        range: Range<usize>,
        /// Labels that the metric takes.
        known: Vec<&'static str>,
    },
}

impl Reference {
    /// Reads `text`.
    pub fn parse(text: &str) -> Result<Reference, ReferenceError> {
        if !text.contains(['.', '{']) {
            return Err(ReferenceError::Bare);
        }
        let whole = 0..text.len();
        let dot = text.find('.').ok_or_else(|| ReferenceError::Malformed(whole.clone()))?;
        let end = text.find('{').unwrap_or(text.len());
        if dot > end {
            return Err(ReferenceError::Malformed(whole));
        }
        let name = &text[dot + 1..end];
        let metric = find(name).ok_or_else(|| ReferenceError::Metric(name.to_owned(), dot + 1..end))?;
        let mut labels = Labels::default();
        let mut value_ranges = Vec::new();
        if end < text.len() {
            let inner = text[end + 1..].strip_suffix('}').ok_or(ReferenceError::Malformed(end..text.len()))?;
            let mut offset = end + 1;
            for pair in inner.split(',') {
                let range = trimmed(pair, offset);
                offset += pair.len() + 1;
                let (key, value) = pair.split_once('=').ok_or(ReferenceError::Malformed(range.clone()))?;
                let written = key.trim();
                let dim =
                    metric.dims.iter().find(|dim| dim.as_str() == written).ok_or_else(|| ReferenceError::Label {
                        written: written.to_owned(),
                        range: range.start..range.start + written.len(),
                        known: metric.dims.iter().map(|dim| dim.as_str()).collect(),
                    })?;
                let value = value.trim().trim_matches('"');
                let start = range.end - pair.trim_end().len() + pair.trim_end().rfind(value).unwrap_or(0);
                value_ranges.push(start..start + value.len());
                labels.0.push((*dim, value.to_owned()));
            }
        }
        Ok(Reference { window: text[..dot].to_owned(), metric, labels, window_range: 0..dot, value_ranges })
    }

    /// Every name of the catalogue, for suggestions.
    pub fn known_metrics() -> impl Iterator<Item = &'static str> {
        CATALOGUE.iter().map(|metric| metric.name)
    }

    /// The reference as written in a report (`total.cpu{node=publisher}`).
    pub fn display(&self) -> String {
        let labels: Vec<String> =
            self.labels.0.iter().map(|(dim, value): &(Dim, String)| format!("{}={value}", dim.as_str())).collect();
        let labels = if labels.is_empty() { String::new() } else { format!("{{{}}}", labels.join(", ")) };
        format!("{}.{}{labels}", self.window, self.metric.name)
    }
}

/// Where the trimmed text of `part`, which begins at `offset`, lies.
fn trimmed(part: &str, offset: usize) -> Range<usize> {
    let start = offset + (part.len() - part.trim_start().len());
    start..offset + part.trim_end().len().max(start - offset)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_reference_has_window_metric_and_labels() {
        let text = "total.cpu{node=publisher, role=walsender}";
        let reference = Reference::parse(text).expect("it is one");
        assert_eq!(reference.window, "total");
        assert_eq!(reference.metric.name, "cpu");
        assert_eq!(reference.labels.value(Dim::Role), Some("walsender"));
        assert_eq!(&text[reference.value_ranges[0].clone()], "publisher");
        assert_eq!(&text[reference.value_ranges[1].clone()], "walsender");
        assert_eq!(reference.display(), text);
    }

    #[test]
    fn what_is_wrong_is_named_at_its_place() {
        assert_eq!(Reference::parse("sustainable_tps"), Err(ReferenceError::Bare));
        assert_eq!(Reference::parse("load.tsp"), Err(ReferenceError::Metric("tsp".into(), 5..8)));
        let text = "load.cpu{nod=publisher}";
        let Err(ReferenceError::Label { written, range, .. }) = Reference::parse(text) else {
            panic!("an unknown label");
        };
        assert_eq!((written.as_str(), &text[range]), ("nod", "nod"));
        assert!(matches!(Reference::parse("load.cpu{node"), Err(ReferenceError::Malformed(_))));
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in "[a-z.{}=, \"]{0,30}") {
            let _ = Reference::parse(&text);
        }
    }
}
