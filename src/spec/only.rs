//! `--only`: a part of a spec's cells. Pure.

use super::{LoweredCell, Order, SCENARIO_AXIS, Spec};
use crate::text::suggest::nearest;

/// Why a pattern keeps nothing; every message names what there is.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OnlyError {
    /// A part of it has no name or no value.
    #[error(
        "`{0}` is no pattern of cells; write NAME=VALUE, several with commas (all must fit), or a scenario's name, such as 'clients=8,build=*'"
    )]
    Malformed(String),
    /// It names no axis.
    #[error("there is no axis `{name}`{}; {known}", nearest_words(.nearest.as_ref()))]
    NoAxis {
        /// As written.
        name: String,
        /// The axis that is most likely meant.
        nearest: Option<String>,
        /// What there is, a sentence.
        known: String,
    },
    /// It fits no cell.
    #[error("`{pattern}` fits no cell; {known}")]
    NoCell {
        /// As written.
        pattern: String,
        /// What there is, a sentence.
        known: String,
    },
    /// What is left has no two sides.
    #[error(
        "what is left by --only has nothing to compare: order = \"paired\" needs both sides of [compare] ({axis}={of} and {axis}={to})"
    )]
    OneSided {
        /// Axis of `[compare]`.
        axis: String,
        /// Its value that the verdict is about.
        of: String,
        /// Its value that that is compared with.
        to: String,
    },
}

fn nearest_words(nearest: Option<&String>) -> String {
    nearest.map_or_else(String::new, |name| format!(" (did you mean `{name}`?)"))
}

/// One pattern: names of axes (or `scenario`), each with a glob that its value must fit.
fn parse(pattern: &str) -> Result<Vec<(String, String)>, OnlyError> {
    let wrong = || OnlyError::Malformed(pattern.to_owned());
    // A cell's name as reports print it is a pattern too: `text[clients=4,build=head]`.
    let flat = match pattern.trim().strip_suffix(']') {
        Some(inner) => inner.replacen('[', ",", 1),
        None => pattern.to_owned(),
    };
    flat.split(',')
        .map(|part| {
            let (name, value) = part.split_once('=').unwrap_or((SCENARIO_AXIS, part));
            let (name, value) = (name.trim(), value.trim());
            if name.is_empty() || value.is_empty() { Err(wrong()) } else { Ok((name.to_owned(), value.to_owned())) }
        })
        .collect()
}

/// Whether a glob with `*` (any text) and `?` (any character) fits a whole text.
fn fits(glob: &str, text: &str) -> bool {
    let (glob, text): (Vec<char>, Vec<char>) = (glob.chars().collect(), text.chars().collect());
    let (mut g, mut t) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    while t < text.len() {
        if g < glob.len() && glob[g] == '*' {
            star = Some((g, t));
            g += 1;
        } else if g < glob.len() && (glob[g] == '?' || glob[g] == text[t]) {
            g += 1;
            t += 1;
        } else if let Some((at, from)) = star {
            // The star takes one character more.
            star = Some((at, from + 1));
            g = at + 1;
            t = from + 1;
        } else {
            return false;
        }
    }
    glob[g..].iter().all(|c| *c == '*')
}

fn cell_fits(pattern: &[(String, String)], cell: &LoweredCell) -> bool {
    pattern.iter().all(|(name, glob)| match cell.value(name) {
        Some(value) => fits(glob, &value.to_string()),
        None => name == SCENARIO_AXIS && fits(glob, &cell.scenario.name),
    })
}

impl Spec {
    /// Keeps only cells that fit one of `patterns` (all cells where there is none), and what speaks of them: values of
    /// axes, claims and tables. Errors name the axes, scenarios and values that there are.
    pub fn keep_only(&mut self, patterns: &[String]) -> Result<(), OnlyError> {
        if patterns.is_empty() {
            return Ok(());
        }
        let parsed = patterns.iter().map(|pattern| parse(pattern)).collect::<Result<Vec<_>, _>>()?;
        for (pattern, written) in parsed.iter().zip(patterns) {
            for (name, _) in pattern {
                if name != SCENARIO_AXIS && !self.axes.contains_key(name) {
                    let names = self.axes.keys().map(String::as_str).chain([SCENARIO_AXIS]);
                    let nearest = nearest(name, names).map(str::to_owned);
                    return Err(OnlyError::NoAxis { name: name.clone(), nearest, known: self.known() });
                }
            }
            if !self.cells.iter().chain(&self.unfit).any(|cell| cell_fits(pattern, cell)) {
                return Err(OnlyError::NoCell { pattern: written.clone(), known: self.known() });
            }
        }
        let kept = |cell: &LoweredCell| parsed.iter().any(|pattern| cell_fits(pattern, cell));
        self.cells.retain(kept);
        self.unfit.retain(kept);
        if let (Order::Paired, Some(compare)) = (self.run.order.value, &self.compare)
            && self.comparisons().is_empty()
        {
            let (axis, of, to) = (compare.axis.clone(), compare.of.clone(), compare.to.clone());
            return Err(OnlyError::OneSided { axis, of, to });
        }
        let cells = &self.cells;
        for (axis, values) in &mut self.axes {
            values.retain(|value| cells.iter().any(|cell| cell.value(axis) == Some(value)));
        }
        self.claims.retain(|claim| {
            cells
                .iter()
                .any(|cell| claim.of.fits(cell) && claim.to.as_ref().is_none_or(|to| to.beside(cell, cells).is_some()))
        });
        self.charts.retain(|chart| cells.iter().any(|cell| chart.shown.holds(cell)));
        self.tables.retain(|table| cells.iter().any(|cell| table.shown().holds(cell)));
        Ok(())
    }

    /// What a pattern may name.
    fn known(&self) -> String {
        let mut scenarios: Vec<&str> = Vec::new();
        for cell in self.cells.iter().chain(&self.unfit) {
            if !scenarios.contains(&cell.scenario.name.as_str()) {
                scenarios.push(&cell.scenario.name);
            }
        }
        let mut parts = vec![format!("scenario is {}", scenarios.join(", "))];
        for (axis, values) in &self.axes {
            let values: Vec<String> = values.iter().map(ToString::to_string).collect();
            parts.push(format!("{axis} is {}", values.join(", ")));
        }
        format!("there are: {}", parts.join("; "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn globs_fit_whole_texts() {
        for (glob, text, expected) in [
            ("8", "8", true),
            ("8", "80", false),
            ("*", "", true),
            ("h*d", "head", true),
            ("h*d", "heads", false),
            ("?", "8", true),
            ("1?", "1", false),
            ("*1*", "pg_16_1", true),
            ("a*b*c", "aXbYbZc", true),
            ("a*b*c", "aXcYb", false),
        ] {
            assert_eq!(fits(glob, text), expected, "{glob} {text}");
        }
    }

    #[test]
    fn a_pattern_is_names_with_values_or_a_cell_as_printed() {
        let pairs = |text: &str| parse(text).expect("a pattern");
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        assert_eq!(pairs("clients=8, build=*"), [pair("clients", "8"), pair("build", "*")]);
        assert_eq!(pairs("text"), [pair("scenario", "text")]);
        assert_eq!(pairs("text[clients=4]"), [pair("scenario", "text"), pair("clients", "4")]);
        for wrong in ["", "clients=", "=8", "a,,b"] {
            assert_eq!(parse(wrong), Err(OnlyError::Malformed(wrong.to_owned())));
        }
    }

    proptest! {
        #[test]
        fn a_text_fits_itself_and_whatever_of_it_is_left_open(text in "[a-z0-9_.]{1,12}", at in 0usize..12) {
            prop_assert!(fits(&text, &text));
            let at = at.min(text.len() - 1);
            let one = format!("{}?{}", &text[..at], &text[at + 1..]);
            let open = format!("{}*", &text[..at]);
            prop_assert!(fits(&one, &text));
            prop_assert!(fits(&open, &text));
        }
    }
}
