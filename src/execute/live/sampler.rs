//! What is seen of a node each second while a window is open. A task of the main thread on a session of its own, so
//! that neither it nor a window's closing ever waits for the other. In no sum, and what it costs is known:
//! `runner_cpu` and `runner_sessions_cpu`.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio_postgres::{Client, Statement};

use super::edge::{POSITIONS, Positions, positions};
use super::node::server_words;
use crate::execute::world::Failure;
use crate::measure::series::lag_seconds;
use crate::measure::{NodePoint, NodeSeries, SlotPoint};
use crate::probe::{CpuReading, CpuUse};
use crate::text::Lsn;

/// Between two points.
const INTERVAL: Duration = Duration::from_secs(1);

/// The sampler of one node, over all windows of a turn.
pub(super) struct Sampler {
    /// Its own session; one of the runner's own.
    pub(super) session: Arc<Client>,
    /// Prepared: a look costs the server a quarter of what it would.
    look: Statement,
    postmaster: u32,
    record: Arc<Mutex<Record>>,
    task: Option<tokio::task::JoinHandle<()>>,
}

/// What was seen.
struct Record {
    /// Since when `history` counts.
    origin: Instant,
    /// Insert positions of the whole turn with their times in seconds, by which lag is told.
    history: Vec<(f64, Lsn)>,
    opened: Instant,
    own_sessions: Vec<u32>,
    /// The readings of the point before.
    cpu: Option<CpuReading>,
    insert: Option<Lsn>,
    series: NodeSeries,
}

impl Sampler {
    /// A sampler of the node whose postmaster has that pid; it does nothing yet.
    pub(super) async fn new(session: Client, postmaster: u32) -> Result<Self, Failure> {
        let look = session.prepare(POSITIONS).await.map_err(|error| Failure::new(server_words(&error)))?;
        let now = Instant::now();
        let record = Record {
            origin: now,
            history: Vec::new(),
            opened: now,
            own_sessions: Vec::new(),
            cpu: None,
            insert: None,
            series: NodeSeries::default(),
        };
        let record = Arc::new(Mutex::new(record));
        Ok(Self { session: Arc::new(session), look, postmaster, record, task: None })
    }

    /// A window's clock has started; `cpu` and `seen` are the readings of its opening.
    pub(super) fn open(&mut self, opened: Instant, own_sessions: &[u32], cpu: &CpuReading, seen: Positions) {
        self.stop();
        {
            let mut record = self.record.lock().unwrap_or_else(PoisonError::into_inner);
            record.opened = opened;
            own_sessions.clone_into(&mut record.own_sessions);
            record.cpu = None;
            record.insert = None;
            record.series = NodeSeries::default();
            record.add(opened, cpu, Some(seen));
        }
        let (session, look, postmaster) = (self.session.clone(), self.look.clone(), self.postmaster);
        let record = self.record.clone();
        self.task = Some(tokio::spawn(async move {
            let mut next = opened + INTERVAL;
            loop {
                tokio::time::sleep_until(next.into()).await;
                let at = Instant::now();
                // A node that has died has no point, and its other observers say so.
                if let Ok(cpu) = CpuReading::take(postmaster) {
                    let rows = session.query(&look, &[]).await.unwrap_or_default();
                    let seen = positions(rows.iter().map(|row| |index| row.try_get(index).ok().flatten()));
                    record.lock().unwrap_or_else(PoisonError::into_inner).add(at, &cpu, seen);
                }
                // Seconds that were missed are missing.
                while next <= Instant::now() {
                    next += INTERVAL;
                }
            }
        }));
    }

    /// Looks no more; a query under way is not waited for. Before the readings of a window's end are taken, since none
    /// may come after them.
    pub(super) fn stop(&mut self) {
        if let Some(task) = self.task.take() {
            task.abort();
        }
    }

    /// The series of the window whose clock has stopped, with the readings of its end.
    pub(super) fn close(&mut self, now: Instant, cpu: &CpuReading, seen: Option<Positions>) -> NodeSeries {
        let mut record = self.record.lock().unwrap_or_else(PoisonError::into_inner);
        record.add(now, cpu, seen);
        std::mem::take(&mut record.series)
    }
}

impl Drop for Sampler {
    fn drop(&mut self) {
        self.stop();
    }
}

impl Record {
    fn add(&mut self, at: Instant, cpu: &CpuReading, seen: Option<Positions>) {
        let now = at.duration_since(self.origin).as_secs_f64();
        let used = self.cpu.replace(cpu.clone()).map(|before| cpu.since(&before, &self.own_sessions));
        let mut point = NodePoint {
            at: at.duration_since(self.opened).as_secs_f64(),
            cpu_ns: used.iter().flat_map(CpuUse::named_ns).map(|(role, ns)| (role.to_owned(), ns)).collect(),
            ..NodePoint::default()
        };
        if let Some((insert, slots)) = seen {
            point.wal_bytes = Some(self.insert.map_or(0, |before| insert.bytes_since(before)));
            self.insert = Some(insert);
            self.history.push((now, insert));
            point.slots = slots
                .into_iter()
                .map(|(name, slot)| {
                    let lag = slot.applied().and_then(|applied| lag_seconds(&self.history, applied, now));
                    (name, SlotPoint { lag_seconds: lag, ..slot.point(insert) })
                })
                .collect();
        }
        self.series.push(point);
    }
}
