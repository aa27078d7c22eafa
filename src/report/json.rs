//! The report for machines: the view as it is, every raw figure, interval and outcome in it.

use super::view::View;

/// One JSON object with a final newline. Figures are in their metric's unit; one that is missing has its reason.
pub fn json(view: &View) -> String {
    let mut text = serde_json::to_string_pretty(view).expect("a view holds text, numbers and maps keyed by text");
    text.push('\n');
    text
}
