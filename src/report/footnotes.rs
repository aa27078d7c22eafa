//! Footnotes of one table: the same text has one mark, however often it is needed.

use indexmap::IndexMap;
use serde::Serialize;

/// Mark of figures taken on a host too busy for them to stand for themselves.
pub(super) const DAGGER: &str = "†";

/// What a mark means.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Footnote {
    /// As it stands in the cells.
    pub mark: String,
    /// What it means.
    pub text: String,
}

/// Collected while a table is made.
#[derive(Default)]
pub(super) struct Footnotes {
    texts: Vec<String>,
    /// The busiest median by window.
    contention: IndexMap<String, f64>,
}

impl Footnotes {
    /// The mark of a text.
    pub(super) fn mark(&mut self, text: &str) -> String {
        let index = self.texts.iter().position(|known| known == text).unwrap_or_else(|| {
            self.texts.push(text.to_owned());
            self.texts.len() - 1
        });
        superscript(index + 1)
    }

    /// The mark of a figure of contention.
    pub(super) fn contention(&mut self, window: &str, busy: f64) -> &'static str {
        let busiest = self.contention.entry(window.to_owned()).or_default();
        *busiest = busiest.max(busy);
        DAGGER
    }

    /// All of them, in the order of their marks.
    pub(super) fn into_list(self) -> Vec<Footnote> {
        let mut list = Vec::new();
        if !self.contention.is_empty() {
            let windows: Vec<String> = self
                .contention
                .iter()
                .map(|(window, busy)| format!("`{window}`: up to {:.0} %", busy * 100.0))
                .collect();
            list.push(Footnote {
                mark: DAGGER.to_owned(),
                text: format!(
                    "figure of contention: at least 90 % of the host was busy in its window ({})",
                    windows.join(", ")
                ),
            });
        }
        let numbered = self.texts.into_iter().enumerate();
        list.extend(numbered.map(|(index, text)| Footnote { mark: superscript(index + 1), text }));
        list
    }
}

/// A number that reads as a mark in plain text and in Markdown alike.
fn superscript(number: usize) -> String {
    const DIGITS: [char; 10] = ['⁰', '¹', '²', '³', '⁴', '⁵', '⁶', '⁷', '⁸', '⁹'];
    number.to_string().bytes().filter_map(|digit| DIGITS.get(usize::from(digit - b'0'))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_text_has_one_mark() {
        let mut notes = Footnotes::default();
        assert_eq!(notes.mark("a"), "¹");
        assert_eq!(notes.mark("b"), "²");
        assert_eq!(notes.mark("a"), "¹");
        notes.contention("load", 0.91);
        notes.contention("load", 0.97);
        let list = notes.into_list();
        assert_eq!(list.iter().map(|note| note.mark.as_str()).collect::<Vec<_>>(), ["†", "¹", "²"]);
        assert!(list[0].text.ends_with("(`load`: up to 97 %)"), "{}", list[0].text);
        assert_eq!(superscript(107), "¹⁰⁷");
    }
}
