//! pgbench's log of transactions: lines of `client transaction time script epoch µs [lag] [retries]`, counted as they
//! come. Pure; which files there are is `follow.rs`.

use std::time::Duration;

use crate::load::report::ScriptReport;

/// A transaction of the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LogLine<'l> {
    /// The script's number, in the order of the command line.
    pub script: usize,
    /// Its latency in microseconds; else why there is none: `skipped`, `serialization`, `deadlock`, `failed` …
    pub latency_us: Result<u64, &'l str>,
    /// When it ended, in seconds since 1970.
    pub ended_s: u64,
    /// How long after its scheduled start it began, in microseconds; under a target rate.
    pub lag_us: Option<u64>,
    /// Tries beyond the first; where there may be any.
    pub retries: u32,
}

/// What the options make of the lines.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LogForm {
    /// Whether each has a lag (`-R`).
    pub lag: bool,
    /// Whether each has a number of retries (`--max-tries` other than 1).
    pub retries: bool,
    /// From where on a transaction is late (`-L`).
    pub limit: Option<Duration>,
}

/// A line that is not of this form.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("pgbench's log holds a line that is not a transaction's: `{0}`")]
pub struct UnreadableLine(pub String);

impl<'l> LogLine<'l> {
    /// Reads one line without its end.
    pub fn parse(line: &'l str, form: LogForm) -> Option<Self> {
        let mut words = line.split(' ');
        let (_client, _transaction, time) = (words.next()?, words.next()?, words.next()?);
        let script = words.next()?.parse().ok()?;
        let ended_s = words.next()?.parse().ok()?;
        let _microseconds: u32 = words.next()?.parse().ok()?;
        let lag_us = if form.lag { Some(words.next()?.parse().ok()?) } else { None };
        let retries = if form.retries { words.next()?.parse().ok()? } else { 0 };
        let latency_us = match time.parse() {
            Ok(latency) => Ok(latency),
            Err(_) if time.bytes().all(|byte| byte.is_ascii_alphabetic() || byte == b'_') => Err(time),
            Err(_) => return None,
        };
        words.next().is_none().then_some(Self { script, latency_us, ended_s, lag_us, retries })
    }
}

/// Counts the lines of all logs of one load.
#[derive(Debug)]
pub struct LogReader {
    scripts: Vec<ScriptReport>,
    form: LogForm,
    began_s: u64,
    by_second: Vec<u64>,
}

/// What was counted.
#[derive(Debug)]
pub struct Counted {
    /// By script, in the order of the command line.
    pub scripts: Vec<ScriptReport>,
    /// Committed ones by the second they ended in, from the second that the load began in.
    pub by_second: Vec<u64>,
}

/// The most seconds that are told apart: what ended later counts into the last of them.
const MOST_SECONDS: usize = 24 * 60 * 60;

impl LogReader {
    /// Nothing yet; the load began `began_s` seconds after 1970.
    pub fn new(scripts: &[String], form: LogForm, began_s: u64) -> Self {
        let scripts = scripts.iter().map(ScriptReport::new).collect();
        Self { scripts, form, began_s, by_second: Vec::new() }
    }

    /// Takes whole lines; gives how many bytes they were. What follows the last end of a line is left for the next
    /// call.
    pub fn take(&mut self, bytes: &[u8]) -> Result<usize, UnreadableLine> {
        let Some(last) = bytes.iter().rposition(|byte| *byte == b'\n') else { return Ok(0) };
        for line in bytes[..last].split(|byte| *byte == b'\n') {
            let unreadable = || UnreadableLine(String::from_utf8_lossy(line).chars().take(80).collect());
            let text = std::str::from_utf8(line).map_err(|_| unreadable())?;
            self.line(LogLine::parse(text, self.form).ok_or_else(unreadable)?).ok_or_else(unreadable)?;
        }
        Ok(last + 1)
    }

    fn line(&mut self, line: LogLine<'_>) -> Option<()> {
        let script = self.scripts.get_mut(line.script)?;
        if line.retries > 0 {
            script.retry(line.retries);
        }
        match line.latency_us {
            Ok(latency) => {
                let latency = Duration::from_micros(latency);
                script.commit(latency);
                script.late += u64::from(self.form.limit.is_some_and(|limit| latency > limit));
                if let Some(lag) = line.lag_us {
                    script.lag(Duration::from_micros(lag));
                }
                let second = usize::try_from(line.ended_s.saturating_sub(self.began_s)).unwrap_or(usize::MAX);
                let second = second.min(MOST_SECONDS - 1);
                if self.by_second.len() <= second {
                    self.by_second.resize(second + 1, 0);
                }
                self.by_second[second] += 1;
            }
            Err("skipped") => script.skipped += 1,
            Err(why) => {
                let (state, message) = failure(why);
                script.fail(state, || message.to_owned());
            }
        }
        Some(())
    }

    /// What was counted so far.
    pub fn counted(self) -> Counted {
        Counted { scripts: self.scripts, by_second: self.by_second }
    }
}

/// pgbench's word for a failure as the SQLSTATE it stands for, with what the server says then.
pub(super) fn failure(word: &str) -> (&str, &str) {
    match word {
        "serialization" => ("40001", "serialization failure (pgbench's log does not keep the server's words)"),
        "deadlock" => ("40P01", "deadlock detected (pgbench's log does not keep the server's words)"),
        // Without --failures-detailed, which tools before 15 lack, it may be either.
        other => (other, "pgbench's log does not keep the server's words"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Written by pgbench 18.6: two scripts, then with failures, then at a rate with a limit and retries.
    const PLAIN: &str = include_str!("../../../tests/fixtures/pgbench/log_plain");
    const FAILURES: &str = include_str!("../../../tests/fixtures/pgbench/log_failures");
    const RATE: &str = include_str!("../../../tests/fixtures/pgbench/log_rate");

    fn counted(text: &str, form: LogForm, pieces: usize) -> Counted {
        let scripts = ["a".to_owned(), "b".to_owned()];
        let first = LogLine::parse(text.lines().next().expect("a line"), form).expect("a transaction");
        let mut reader = LogReader::new(&scripts, form, first.ended_s);
        // As it grows under the reader: in pieces that end anywhere.
        let bytes = text.as_bytes();
        let (mut done, mut seen) = (0, 0);
        while done < bytes.len() {
            seen = (seen + pieces).min(bytes.len());
            done += reader.take(&bytes[done..seen]).expect("pgbench's own lines");
        }
        reader.counted()
    }

    fn outcome(text: &str) -> Vec<(u64, Vec<(String, u64)>)> {
        let counted = counted(text, LogForm::default(), 7);
        let failures = |script: &ScriptReport| {
            script.errors.iter().map(|(state, failures)| (state.clone(), failures.count)).collect()
        };
        counted.scripts.iter().map(|script| (script.committed, failures(script))).collect()
    }

    #[test]
    fn scripts_are_told_apart_and_latencies_are_in_microseconds() {
        let lines: Vec<Vec<&str>> = PLAIN.lines().map(|line| line.split(' ').collect()).collect();
        let counted = counted(PLAIN, LogForm::default(), 100);
        for (index, script) in counted.scripts.iter().enumerate() {
            let own = lines.iter().filter(|words| words[3] == index.to_string());
            let latencies: Vec<u64> = own.map(|words| words[2].parse().expect("a number")).collect();
            assert!(!latencies.is_empty());
            assert_eq!(script.committed, latencies.len() as u64);
            let longest = latencies.iter().max().expect("some") * 1000;
            assert!(script.latency_ns.max().abs_diff(longest) * 1000 <= longest);
        }
        assert_eq!(counted.by_second.iter().sum::<u64>(), PLAIN.lines().count() as u64);
    }

    #[test]
    fn failures_are_told_by_sqlstate_and_what_was_skipped_is_no_transaction() {
        let failed = FAILURES.lines().filter(|line| line.contains("serialization")).count() as u64;
        let all = FAILURES.lines().count() as u64;
        assert!(failed > 0);
        assert_eq!(outcome(FAILURES), [(all - failed, vec![("40001".to_owned(), failed)]), (0, vec![])]);
        let skipped = RATE.lines().filter(|line| line.contains("skipped")).count() as u64;
        let all = RATE.lines().count() as u64;
        assert!(skipped > 0);
        let form = LogForm { lag: true, retries: true, limit: Some(Duration::from_millis(20)) };
        let script = &counted(RATE, form, 1000).scripts[0];
        assert_eq!((script.skipped, script.committed + script.failed), (skipped, all - skipped));
        let column = |index: usize| {
            let lines = RATE.lines().filter(|line| !line.contains("skipped"));
            lines.map(|line| line.split(' ').nth(index).expect("a column").parse().unwrap_or(0)).collect::<Vec<u64>>()
        };
        assert_eq!(script.retries, column(7).iter().sum::<u64>());
        assert_eq!(script.retried, column(7).iter().filter(|retries| **retries > 0).count() as u64);
        assert_eq!(script.late, column(2).iter().filter(|latency| **latency > 20_000).count() as u64);
        assert_eq!(script.lag_ns.as_ref().expect("a rate has a lag").len(), script.committed);
    }

    #[test]
    fn a_line_of_another_form_is_an_error() {
        for line in [
            "",
            "0 1 2 3",
            "0 1 12 0 1700000000 5 7",
            "0 1 12 0 x 5",
            "0 1 1.5 0 1700000000 5",
            "0 1 12 9 1700000000 5",
        ] {
            let mut reader = LogReader::new(&["a".to_owned()], LogForm::default(), 0);
            assert_eq!(reader.take(format!("{line}\n").as_bytes()), Err(UnreadableLine(line.to_owned())));
        }
    }
}
