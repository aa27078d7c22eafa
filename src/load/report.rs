//! What a load observed: counts, latencies, failures, the driver's own CPU; and how the parts of several threads merge.
//!
//! Pure counting. No metric is computed here (transactions per second is the reader's division).

use hdrhistogram::Histogram;
use std::collections::BTreeMap;
use std::fmt;
use std::time::{Duration, Instant};

/// The longest latency told apart, one hour; longer ones are recorded as this.
const LONGEST: Duration = Duration::from_hours(1);

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
    /// Latency of the committed transactions in nanoseconds: from just before the first statement is sent until the
    /// last statement's reply is complete. A `\sleep` is part of it, wherever it stands, as it is in pgbench's.
    pub latency_ns: Histogram<u64>,
}

impl ScriptReport {
    /// A report of nothing yet.
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), committed: 0, failed: 0, errors: BTreeMap::new(), latency_ns: latency_histogram() }
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
        for (sqlstate, failures) in other.errors {
            self.errors.entry(sqlstate).and_modify(|known| known.count += failures.count).or_insert(failures);
        }
        self.latency_ns.add(&other.latency_ns).expect("all latency histograms have the same bounds");
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
}

/// What one worker thread observed.
#[derive(Debug)]
pub struct WorkerReport {
    /// By script, in the request's order.
    pub scripts: Vec<ScriptReport>,
    /// By client.
    pub clients: Vec<ClientReport>,
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
            Ok(latency) => report.commit(Duration::from_nanos(latency)),
            Err(code) => report.fail(&format!("4000{code}"), || format!("message {code}")),
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
