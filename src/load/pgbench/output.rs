//! pgbench's closing report, and why it ended without one. Pure.

use super::log::{Counted, failure};
use crate::load::report::ScriptReport;

/// What pgbench prints of a load that went to its end.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Output {
    /// Transactions that were committed.
    pub processed: u64,
    /// Transactions of all clients that were asked for; `None` of a load by time.
    pub planned: Option<u64>,
    /// Transactions that failed, by serialization or deadlock.
    pub failed: u64,
    /// Those of them that failed by serialization; 0 where it does not tell.
    pub serialization: u64,
    /// Those of them that failed by deadlock; 0 where it does not tell.
    pub deadlock: u64,
    /// Transactions that a rate had no time for.
    pub skipped: u64,
    /// Transactions above the latency limit.
    pub late: Option<u64>,
    /// Transactions that were tried again, at least once.
    pub retried: Option<u64>,
    /// Tries beyond the first of all transactions.
    pub retries: Option<u64>,
    /// `latency average`, in milliseconds; failed transactions are in it.
    pub latency_average_ms: f64,
    /// `initial connection time`, in milliseconds.
    pub connecting_ms: f64,
    /// `tps`, without the initial connection time.
    pub tps: f64,
}

/// What kept an output from being read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Told {
    /// A line that must be there is not.
    #[error("pgbench's report has no line `{0}`")]
    Missing(&'static str),
    /// Not all that was asked for was done.
    #[error("pgbench did {done} of {planned} transactions")]
    Incomplete {
        /// Committed, failed and skipped ones.
        done: u64,
        /// Asked for.
        planned: u64,
    },
}

impl Output {
    /// Reads standard output; other lines may stand among its own. A report of less than was asked for is refused.
    pub fn parse(text: &str) -> Result<Self, Told> {
        // What each script did follows, in lines that begin the same: only the first of each counts.
        let find = |key: &str| text.lines().find_map(|line| line.strip_prefix(key)).map(str::trim);
        let number = |key: &'static str| find(key).and_then(|rest| first(rest).parse::<f64>().ok());
        let count = |key: &'static str| number(key).map(|value| value as u64);
        let processed = find("number of transactions actually processed: ")
            .ok_or(Told::Missing("number of transactions actually processed"))?;
        let (done, planned) = match processed.split_once('/') {
            Some((done, planned)) => (done, planned.parse().ok()),
            None => (processed, None),
        };
        let output = Self {
            processed: done.parse().map_err(|_| Told::Missing("number of transactions actually processed"))?,
            planned,
            failed: count("number of failed transactions: ").unwrap_or(0),
            serialization: count("number of serialization failures: ").unwrap_or(0),
            deadlock: count("number of deadlock failures: ").unwrap_or(0),
            skipped: count("number of transactions skipped: ").unwrap_or(0),
            late: text
                .lines()
                .filter(|line| line.starts_with("number of transactions above the "))
                .find_map(|line| first(line.split_once("limit: ")?.1).split('/').next()?.parse().ok()),
            retried: count("number of transactions retried: "),
            retries: count("total number of retries: "),
            latency_average_ms: number("latency average = ").unwrap_or(0.0),
            connecting_ms: number("initial connection time = ").ok_or(Told::Missing("initial connection time"))?,
            tps: number("tps = ").ok_or(Told::Missing("tps"))?,
        };
        let done = output.processed + output.failed + output.skipped;
        match output.planned {
            Some(planned) if planned != done => Err(Told::Incomplete { done, planned }),
            _ => Ok(output),
        }
    }
}

impl Output {
    /// The counts that a log would give, without latencies. All are the first script's: without a log there is one.
    pub fn counted(&self, scripts: &[String]) -> Counted {
        let mut scripts: Vec<ScriptReport> = scripts.iter().map(ScriptReport::new).collect();
        if let Some(script) = scripts.first_mut() {
            script.committed = self.processed;
            script.skipped = self.skipped;
            let other = self.failed - (self.serialization + self.deadlock).min(self.failed);
            for (word, count) in [("serialization", self.serialization), ("deadlock", self.deadlock), ("failed", other)]
            {
                let (state, message) = failure(word);
                (0..count).for_each(|_| script.fail(state, || message.to_owned()));
            }
        }
        Counted { scripts, by_second: Vec::new() }
    }
}

fn first(text: &str) -> &str {
    text.split_whitespace().next().unwrap_or_default()
}

/// The most complaints that are passed on: of many clients that die, the first tells why.
const MOST: usize = 3;

/// pgbench's own words for why it failed, on one line: its errors with what it adds to them.
pub fn complaint(text: &str) -> Option<String> {
    let mut parts: Vec<String> = Vec::new();
    for line in text.lines() {
        let Some(words) = line.strip_prefix("pgbench: ") else { continue };
        let told = ["error: ", "fatal: "].iter().find_map(|kind| words.strip_prefix(kind));
        let hint = ["hint: ", "detail: "].iter().find_map(|kind| words.strip_prefix(kind));
        match (told, hint) {
            (Some(told), _) if parts.len() < MOST => parts.push(told.to_owned()),
            (_, Some(hint)) => {
                if let Some(last) = parts.last_mut() {
                    *last = format!("{last} ({hint})");
                }
            }
            _ => {}
        }
    }
    (!parts.is_empty()).then(|| parts.join("; "))
}

#[cfg(test)]
mod tests {
    use super::*;

    macro_rules! output {
        ($name:literal) => {
            include_str!(concat!("../../../tests/fixtures/pgbench/output_", $name))
        };
    }

    #[test]
    fn the_whole_report_is_read_and_not_its_scripts() {
        let output = Output::parse(output!("scripts")).expect("a report");
        assert_eq!((output.processed, output.planned, output.failed), (200, Some(200), 0));
        let line = output!("scripts").lines().find(|line| line.starts_with("tps = ")).expect("a line");
        assert_eq!(line, format!("tps = {:.6} (without initial connection time)", output.tps));
        assert!(output.connecting_ms > 0.0 && output.latency_average_ms > 0.0);
        let timed = Output::parse(output!("duration")).expect("a report");
        assert_eq!(timed.planned, None);
        assert!(timed.processed > 0 && timed.tps > 0.0);
    }

    #[test]
    fn failed_skipped_late_and_retried_transactions_are_counted() {
        for text in [output!("failures"), output!("failures_15")] {
            let output = Output::parse(text).expect("a report");
            assert!(output.failed > 0);
            assert_eq!(output.processed + output.failed, 400);
        }
        let rate = Output::parse(output!("rate")).expect("a report");
        assert_eq!((rate.processed, rate.failed, rate.skipped, rate.late), (394, 6, 0, Some(3)));
        assert_eq!((rate.retried, rate.retries), (Some(96), Some(143)));
    }

    #[test]
    fn without_a_log_the_counts_are_the_reports() {
        let output = Output::parse(output!("failures")).expect("a report");
        let counted = output.counted(&["w".to_owned()]);
        let script = &counted.scripts[0];
        assert_eq!((script.name.as_str(), script.committed, script.failed, script.skipped), ("w", 142, 258, 0));
        assert_eq!(script.errors["40001"].count, 258);
        assert_eq!((script.errors.len(), script.latency_ns.len()), (1, 0));
        // A tool before 15 does not tell the kinds.
        let untold = Output { failed: 3, ..Output::default() }.counted(&["w".to_owned()]);
        assert_eq!(untold.scripts[0].errors["failed"].count, 3);
    }

    #[test]
    fn a_plausible_rate_of_an_incomplete_run_is_refused() {
        assert!(output!("incomplete").contains("tps = "));
        assert_eq!(Output::parse(output!("incomplete")), Err(Told::Incomplete { done: 150, planned: 200 }));
        assert_eq!(Output::parse(output!("aborted")), Err(Told::Missing("number of transactions actually processed")));
    }

    #[test]
    fn complaints_are_in_pgbenchs_own_words() {
        for (text, expected) in [
            (
                output!("aborted"),
                "client 1 script 0 aborted in command 0 query 0: ERROR:  division by zero; Run was aborted due to an error in thread 0",
            ),
            (
                output!("aborted_set"),
                "division by zero; client 1 aborted in command 0 (set) of script 0; evaluation of meta-command failed; Run was aborted due to an error in thread 0",
            ),
            (
                output!("refused"),
                "could not count number of branches: ERROR:  relation \"pgbench_branches\" does not exist (Perhaps you need to do initialization (\"pgbench -i\") in database \"template1\".)",
            ),
        ] {
            assert_eq!(complaint(text).as_deref(), Some(expected));
        }
        assert_eq!(complaint(output!("duration")), None);
    }
}
