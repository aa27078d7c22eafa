//! What a load observed: counts, latencies, failures, the driver's own CPU; and how the parts of several threads merge.
//!
//! Pure counting. No metric is computed here (transactions per second is the reader's division).

use super::seconds;
use hdrhistogram::Histogram;
use std::collections::BTreeMap;
use std::fmt;
use std::time::{Duration, Instant};

/// The longest latency told apart, one hour; longer ones are recorded as this.
const LONGEST: Duration = Duration::from_hours(1);

/// Why two histograms of this file can be added.
const SAME_BOUNDS: &str = "all latency histograms have the same bounds";

/// An empty latency histogram: nanoseconds, three significant digits, up to one hour. Its unit is one nanosecond, for
/// with a unit of a microsecond a latency of 80 µs would be known to 0.6 % only.
pub fn latency_histogram() -> Histogram<u64> {
    Histogram::new_with_bounds(1, LONGEST.as_nanos() as u64, 3)
        .expect("the bounds are constants that the histogram accepts")
}

/// The failures of one SQLSTATE.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failures {
    /// How many transactions failed so.
    pub count: u64,
    /// The message of one of them: the first that its thread met.
    pub first_message: String,
}

/// What one script did.
#[derive(Clone)]
pub struct ScriptReport {
    /// The script's name.
    pub name: String,
    /// Transactions that ended without an error.
    pub committed: u64,
    /// Transactions that an error ended; they count toward the load's number of transactions.
    pub failed: u64,
    /// The failed ones by SQLSTATE.
    pub errors: BTreeMap<String, Failures>,
    /// Transactions that never began, for under a target rate they were too late to; they count toward the load's number
    /// of transactions.
    pub skipped: u64,
    /// Committed transactions that took longer than the latency limit.
    pub late: u64,
    /// Transactions, committed or failed in the end, that were tried more than once.
    pub retried: u64,
    /// The tries of all transactions beyond their first.
    pub retries: u64,
    /// Latency of the committed transactions in nanoseconds: from just before the first statement is sent (under a target
    /// rate: from the scheduled start) until the last statement's reply is complete, all tries included. A `\sleep` is
    /// part of it, wherever it stands, as it is in pgbench's.
    pub latency_ns: Histogram<u64>,
    /// By how much the committed transactions began after their scheduled start, in nanoseconds; only under a target rate.
    pub lag_ns: Option<Histogram<u64>>,
}

impl ScriptReport {
    /// A report of nothing yet.
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            committed: 0,
            failed: 0,
            errors: BTreeMap::new(),
            skipped: 0,
            late: 0,
            retried: 0,
            retries: 0,
            latency_ns: latency_histogram(),
            lag_ns: None,
        }
    }

    /// Counts a committed transaction.
    #[inline]
    pub fn commit(&mut self, latency: Duration) {
        self.committed += 1;
        self.latency_ns.saturating_record(latency.as_nanos() as u64);
    }

    /// Counts a transaction that sent nothing, and so has no latency.
    pub fn commit_without_latency(&mut self) {
        self.committed += 1;
    }

    /// Adds the lag of a committed transaction.
    pub fn lag(&mut self, lag: Duration) {
        self.lag_ns.get_or_insert_with(latency_histogram).saturating_record(lag.as_nanos() as u64);
    }

    /// Counts a transaction that was tried again so often.
    pub fn retry(&mut self, retries: u32) {
        self.retried += 1;
        self.retries += u64::from(retries);
    }

    /// Counts a failed transaction.
    pub fn fail(&mut self, sqlstate: &str, message: impl FnOnce() -> String) {
        self.failed += 1;
        if let Some(known) = self.errors.get_mut(sqlstate) {
            known.count += 1;
        } else {
            let failures = Failures { count: 1, first_message: message() };
            self.errors.insert(sqlstate.to_owned(), failures);
        }
    }

    /// Adds what another thread observed of the same script.
    pub fn merge(&mut self, other: Self) {
        self.committed += other.committed;
        self.failed += other.failed;
        self.skipped += other.skipped;
        self.late += other.late;
        self.retried += other.retried;
        self.retries += other.retries;
        for (sqlstate, failures) in other.errors {
            self.errors.entry(sqlstate).and_modify(|known| known.count += failures.count).or_insert(failures);
        }
        self.latency_ns.add(&other.latency_ns).expect(SAME_BOUNDS);
        match (&mut self.lag_ns, other.lag_ns) {
            (Some(known), Some(more)) => known.add(&more).expect(SAME_BOUNDS),
            (known @ None, more) => *known = more,
            (Some(_), None) => {}
        }
    }
}

// By hand, for a histogram shows each of its thousands of counters.
impl fmt::Debug for ScriptReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ScriptReport")
            .field("name", &self.name)
            .field("committed", &self.committed)
            .field("failed", &self.failed)
            .field("errors", &self.errors)
            .field("skipped", &self.skipped)
            .field("late", &self.late)
            .field("retried", &self.retried)
            .field("retries", &self.retries)
            .field("latencies", &self.latency_ns.len())
            .finish_non_exhaustive()
    }
}

/// What one client did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClientReport {
    /// The client, from 0.
    pub client: u32,
    /// Its committed transactions.
    pub committed: u64,
    /// Its failed transactions.
    pub failed: u64,
    /// Its skipped transactions.
    pub skipped: u64,
}

/// What one worker thread observed.
#[derive(Debug)]
pub struct WorkerReport {
    /// By script, in the request's order.
    pub scripts: Vec<ScriptReport>,
    /// By client.
    pub clients: Vec<ClientReport>,
    /// Committed by whole seconds since the start.
    pub committed_each_second: Vec<u64>,
    /// The end of its last transaction.
    pub last_end: Option<Instant>,
    /// CPU that the thread used while the load ran.
    pub cpu: Duration,
}

/// What a load observed.
#[derive(Debug)]
pub struct LoadReport {
    /// When the clients were let go.
    pub started: Instant,
    /// The end of the last transaction; `started` if there was none.
    pub finished: Instant,
    /// By script, in the request's order.
    pub scripts: Vec<ScriptReport>,
    /// By client, in their order.
    pub clients: Vec<ClientReport>,
    /// Committed by all scripts in each whole second since the start, up to that of the last commit.
    pub committed_each_second: Vec<u64>,
    /// CPU that the worker threads used while the load ran, by their thread clocks, in nanoseconds.
    pub driver_cpu_ns: u64,
    /// Whether a stop ended the load before its time.
    pub interrupted: bool,
}

impl LoadReport {
    /// Puts the workers' parts together.
    pub fn merged(started: Instant, interrupted: bool, parts: impl IntoIterator<Item = WorkerReport>) -> Self {
        let mut whole = Self {
            started,
            finished: started,
            scripts: Vec::new(),
            clients: Vec::new(),
            committed_each_second: Vec::new(),
            driver_cpu_ns: 0,
            interrupted,
        };
        for part in parts {
            for (index, script) in part.scripts.into_iter().enumerate() {
                match whole.scripts.get_mut(index) {
                    Some(known) => known.merge(script),
                    None => whole.scripts.push(script),
                }
            }
            whole.clients.extend(part.clients);
            seconds::add(&mut whole.committed_each_second, &part.committed_each_second);
            whole.finished = whole.finished.max(part.last_end.unwrap_or(started));
            whole.driver_cpu_ns += part.cpu.as_nanos() as u64;
        }
        whole.clients.sort_by_key(|client| client.client);
        whole
    }

    /// Committed transactions of all scripts.
    pub fn committed(&self) -> u64 {
        self.scripts.iter().map(|script| script.committed).sum()
    }

    /// Failed transactions of all scripts.
    pub fn failed(&self) -> u64 {
        self.scripts.iter().map(|script| script.failed).sum()
    }

    /// Skipped transactions of all scripts.
    pub fn skipped(&self) -> u64 {
        self.scripts.iter().map(|script| script.skipped).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// One transaction as a test sees it: which worker, committed with a latency or failed with a code.
    type Observed = (usize, Result<u64, u8>);

    fn observed() -> impl Strategy<Value = Observed> {
        (0..4usize, prop_oneof![3 => (0..10_000_000_000_000u64).prop_map(Ok), 1 => (0..3u8).prop_map(Err)])
    }

    fn count(report: &mut ScriptReport, what: Result<u64, u8>) {
        match what {
            Ok(latency) => {
                report.commit(Duration::from_nanos(latency));
                if latency % 2 == 0 {
                    report.lag(Duration::from_nanos(latency / 3));
                }
            }
            Err(code) => {
                report.skipped += 1;
                report.retry(u32::from(code) + 1);
                report.fail(&format!("4000{code}"), || format!("message {code}"));
            }
        }
    }

    proptest! {
        #[test]
        fn the_merge_of_the_parts_is_the_whole(all in prop::collection::vec(observed(), 0..200)) {
            let mut whole = ScriptReport::new("s");
            let mut parts: Vec<_> = (0..4).map(|_| ScriptReport::new("s")).collect();
            for &(worker, what) in &all {
                count(&mut whole, what);
                count(&mut parts[worker], what);
            }
            let started = Instant::now();
            let merged = LoadReport::merged(started, false, parts.into_iter().map(|part| WorkerReport {
                clients: vec![],
                committed_each_second: vec![1, 2],
                last_end: None,
                cpu: Duration::from_nanos(5),
                scripts: vec![part],
            }));
            let merged_script = &merged.scripts[0];
            prop_assert_eq!(merged_script.committed, whole.committed);
            prop_assert_eq!(merged_script.failed, whole.failed);
            prop_assert_eq!(&merged_script.errors, &whole.errors);
            prop_assert_eq!(&merged_script.latency_ns, &whole.latency_ns);
            prop_assert_eq!(merged.committed() + merged.failed(), all.len() as u64);
            prop_assert_eq!(&merged.committed_each_second, &vec![4, 8]);
            prop_assert_eq!((merged_script.skipped, merged_script.retried, merged_script.retries),
                (whole.skipped, whole.retried, whole.retries));
            prop_assert_eq!(&merged_script.lag_ns, &whole.lag_ns);
            prop_assert_eq!((merged.driver_cpu_ns, merged.finished), (20, started));
        }
    }

    #[test]
    fn latencies_are_known_to_a_thousandth() {
        for nanoseconds in [80_000_u64, 1_234_567, 59_000_000_000] {
            let mut report = ScriptReport::new("s");
            report.commit(Duration::from_nanos(nanoseconds));
            let told = report.latency_ns.value_at_quantile(0.5);
            assert!(told.abs_diff(nanoseconds) * 1000 <= nanoseconds, "{told}");
        }
    }
}
