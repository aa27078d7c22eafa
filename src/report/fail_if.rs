//! `--fail-if`: a change beyond which a comparison is a failure.

use serde::Serialize;

use super::compare::ComparedRow;
use crate::measure::Better;

/// A rule such as `load.tps slower 3%`.
#[derive(Clone, Debug, PartialEq)]
pub struct FailIf {
    /// As written.
    pub text: String,
    /// The metric, as a spec writes it.
    pub metric: String,
    /// Which way.
    pub way: Way,
    /// How far, as a share.
    pub by: f64,
}

/// Which way a change goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// To the worse, by the metric's direction.
    Worse,
    /// To the better.
    Better,
    /// Upwards.
    Higher,
    /// Downwards.
    Lower,
}

/// Whether a rule is met.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Met {
    /// The whole interval lies beyond.
    Yes,
    /// It cannot be excluded.
    CannotExclude,
    /// The whole interval lies within.
    No,
}

/// A rule held against one row.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FailIfView {
    /// The rule as written.
    pub rule: String,
    /// The cell.
    pub cell: String,
    /// Whether it is met.
    pub met: Met,
}

/// A share such as `2%` or `0.02`; an error says how to write it.
pub fn margin(text: &str) -> Result<f64, String> {
    let text = text.trim();
    let value = match text.strip_suffix('%') {
        Some(percent) => percent.trim().parse::<f64>().ok().map(|percent| percent / 100.0),
        None => text.parse::<f64>().ok(),
    };
    value
        .filter(|share| *share > 0.0 && *share < 1.0)
        .ok_or_else(|| format!("`{text}` is no margin; write a percentage such as 2%, above 0 and below 100"))
}

impl FailIf {
    /// Reads a rule; an error says how one is written.
    pub fn parse(text: &str) -> Result<Self, String> {
        let teach = "write METRIC slower|faster|higher|lower|more|less PERCENT, such as 'load.tps slower 3%'";
        let words: Vec<&str> = text.split_whitespace().collect();
        // Between a number and its sign there may be a space.
        let (metric, way, percent) = match words.as_slice() {
            [metric, way, percent] => (*metric, *way, (*percent).to_owned()),
            [metric, way, number, "%"] => (*metric, *way, format!("{number}%")),
            _ => return Err(format!("`{text}` is no rule; {teach}")),
        };
        let way = match way {
            "slower" | "worse" => Way::Worse,
            "faster" | "better" => Way::Better,
            "higher" | "more" => Way::Higher,
            "lower" | "less" => Way::Lower,
            other => return Err(format!("`{other}` is no way to change; {teach}")),
        };
        if !percent.ends_with('%') {
            return Err(format!("`{percent}` has no percent sign; {teach}"));
        }
        let by = margin(&percent).map_err(|error| format!("{error}; {teach}"))?;
        Ok(Self { text: text.to_owned(), metric: metric.to_owned(), way, by })
    }

    /// Holds the rule against a row of its metric; an error if the metric has no better direction and one is asked for.
    pub(super) fn judge(&self, row: &ComparedRow, better: Better) -> Result<FailIfView, String> {
        let up = match (self.way, better) {
            (Way::Higher, _) | (Way::Better, Better::Higher) | (Way::Worse, Better::Lower) => true,
            (Way::Lower, _) | (Way::Better, Better::Lower) | (Way::Worse, Better::Higher) => false,
            (Way::Better | Way::Worse, Better::Neither) => {
                return Err(format!(
                    "`{}`: {} is neither better nor worse for being higher; write `higher` or `lower`",
                    self.text, self.metric
                ));
            }
        };
        let met = match &row.interval {
            None => Met::CannotExclude,
            Some(interval) if up => by_ends(interval.low > 1.0 + self.by, interval.high > 1.0 + self.by),
            Some(interval) => by_ends(interval.high < 1.0 - self.by, interval.low < 1.0 - self.by),
        };
        Ok(FailIfView { rule: self.text.clone(), cell: row.cell.clone(), met })
    }
}

fn by_ends(whole: bool, part: bool) -> Met {
    match (whole, part) {
        (true, _) => Met::Yes,
        (false, true) => Met::CannotExclude,
        (false, false) => Met::No,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::Interval;

    #[test]
    fn a_rule_that_is_none_is_taught() {
        let own = FailIf::parse("load.tps slower 3%").expect("a rule");
        assert_eq!((own.metric.as_str(), own.way), ("load.tps", Way::Worse));
        assert!((own.by - 0.03).abs() < 1e-12);
        assert!((FailIf::parse("load.tps less 0.5 %").expect("a rule").by - 0.005).abs() < 1e-12);
        for (wrong, part) in [
            ("load.tps", "such as 'load.tps slower 3%'"),
            ("load.tps slow 3%", "`slow` is no way"),
            ("load.tps slower 3", "no percent sign"),
            ("load.tps slower 0%", "above 0"),
            ("load.tps slower much%", "no margin"),
        ] {
            let error = FailIf::parse(wrong).expect_err("no rule");
            assert!(error.contains(part), "{error}");
        }
    }

    #[test]
    fn the_whole_interval_must_lie_beyond() {
        let row = |low, high| ComparedRow {
            interval: Some(Interval { low, high, confidence: 0.95 }),
            ..ComparedRow::default()
        };
        for (rule, better, low, high, expected) in [
            ("m slower 3%", Better::Higher, 0.90, 0.96, Met::Yes),
            ("m slower 3%", Better::Higher, 0.90, 0.98, Met::CannotExclude),
            ("m slower 3%", Better::Higher, 0.98, 1.20, Met::No),
            ("m slower 3%", Better::Lower, 1.04, 1.20, Met::Yes),
            ("m faster 3%", Better::Lower, 1.04, 1.20, Met::No),
            ("m more 3%", Better::Neither, 1.04, 1.20, Met::Yes),
            ("m less 3%", Better::Neither, 0.50, 1.20, Met::CannotExclude),
        ] {
            let rule = FailIf::parse(rule).expect("a rule");
            assert_eq!(rule.judge(&row(low, high), better).expect("a direction").met, expected, "{}", rule.text);
        }
        let none = FailIf::parse("m slower 3%").expect("a rule").judge(&ComparedRow::default(), Better::Neither);
        assert!(none.is_err());
    }
}
