//! Tells when the marker row has become visible on a logical subscriber: a session that listens for what the marker
//! table's trigger notifies, on a thread of its own.
//!
//! The trigger, the marker row and the clock are others'. Physical standbys, where no trigger fires, are not watched
//! here. A notification is sent when the applying transaction has committed, so the row is visible then; one count
//! afterwards makes sure, and a slow count in between finds a marker whose notification never came.

use crate::wire::{Connection, Listener, ShutdownHandle, Target, WireError};
use std::io;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use tokio::sync::oneshot;

/// The time between counts when a notification has come and the row is not there yet.
const RECOUNT: Duration = Duration::from_millis(1);

/// What to watch for.
#[derive(Debug, Clone)]
pub struct MarkerRequest {
    /// The subscriber.
    pub target: Target,
    /// The channel that the marker table's trigger notifies.
    pub channel: String,
    /// The payload that the trigger sends for this marker (its id).
    pub payload: String,
    /// How many subscriptions deliver the marker, each by a row of its own.
    pub deliveries: u32,
    /// A query of one number: how many rows of this marker are visible.
    pub count_sql: String,
    /// How often to count while no notification comes.
    pub recount: Duration,
}

/// Which observation told that the marker is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MarkerSource {
    /// The last of the notifications.
    Notification,
    /// A count, since a notification did not come or came before its row.
    Count,
}

/// The marker was seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MarkerSeen {
    /// When.
    pub at: Instant,
    /// By what.
    pub by: MarkerSource,
    /// The time since the last look that did not see it: how much earlier it may have been there. Zero for a
    /// notification.
    pub resolution: Duration,
    /// The rows that were visible at last.
    pub rows: u64,
}

/// Why a watch ended without the marker. Each text fits behind "failed to watch for the marker: ".
#[derive(Debug, thiserror::Error)]
pub enum MarkerError {
    /// The session could not be opened, or not listen.
    #[error("could not listen on channel \"{channel}\": {source}")]
    Listen {
        /// The channel.
        channel: String,
        /// Why.
        #[source]
        source: WireError,
    },
    /// The session ended or a count failed.
    #[error("the watching session failed: {source}")]
    Session {
        /// Why.
        #[from]
        source: WireError,
    },
    /// The count is no number.
    #[error("`{sql}` must give one number and gave {answer}")]
    NoCount {
        /// The query.
        sql: String,
        /// What came.
        answer: String,
    },
    /// The watch was stopped.
    #[error("the watch was stopped")]
    Stopped,
    /// The thread could not be started.
    #[error("could not start a thread: {source}")]
    Thread {
        /// What the operating system said.
        #[source]
        source: io::Error,
    },
    /// The outcome was taken before, or the thread ended without one (a fault of this program).
    #[error("the watch has no outcome left")]
    NoOutcome,
}

/// A watch under way. Dropping it stops it.
#[derive(Debug)]
pub struct MarkerWatch {
    outcome: Option<oneshot::Receiver<Result<MarkerSeen, MarkerError>>>,
    handle: ShutdownHandle,
    backend_pid: u32,
    thread: Option<JoinHandle<()>>,
}

impl MarkerWatch {
    /// Connects and listens; when it returns, no later notification is missed. Blocks within the target's time-out, so
    /// call it before the clock.
    pub fn start(request: MarkerRequest) -> Result<Self, MarkerError> {
        let failed = |source| MarkerError::Listen { channel: request.channel.clone(), source };
        let connection = Connection::open(&request.target).map_err(failed)?;
        Self::over(connection, request)
    }

    /// Watches over an open session.
    fn over(mut connection: Connection, request: MarkerRequest) -> Result<Self, MarkerError> {
        let failed = |source| MarkerError::Listen { channel: request.channel.clone(), source };
        connection.set_receive_timeout(Some(request.target.connect_timeout)).map_err(failed)?;
        let listener = Listener::over(connection, &request.channel).map_err(failed)?;
        let (sender, outcome) = oneshot::channel();
        let handle = listener.shutdown_handle();
        let backend_pid = listener.backend_pid();
        let thread = std::thread::Builder::new()
            .name(String::from("marker"))
            .spawn(move || {
                // Nobody may be waiting any more.
                let _ = sender.send(watch(listener, &request));
            })
            .map_err(|source| MarkerError::Thread { source })?;
        Ok(Self { outcome: Some(outcome), handle, backend_pid, thread: Some(thread) })
    }

    /// The server process of the watching session: one of the runner's own, which is in no sum.
    pub fn backend_pid(&self) -> u32 {
        self.backend_pid
    }

    /// Waits until the marker is seen. Cancel-safe; the outcome is given once.
    pub async fn seen(&mut self) -> Result<MarkerSeen, MarkerError> {
        let Some(outcome) = &mut self.outcome else {
            return Err(MarkerError::NoOutcome);
        };
        let seen = outcome.await;
        self.outcome = None;
        seen.unwrap_or(Err(MarkerError::NoOutcome))
    }

    /// Ends the watch now; its outcome is [`MarkerError::Stopped`] unless the marker was seen before.
    pub fn stop(&self) {
        self.handle.stop();
    }
}

impl Drop for MarkerWatch {
    fn drop(&mut self) {
        self.handle.stop();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// The thread: waits for the notifications, then makes sure of the rows.
fn watch(mut listener: Listener, request: &MarkerRequest) -> Result<MarkerSeen, MarkerError> {
    let mut delivered = 0;
    let mut looked = Instant::now();
    loop {
        let until_count = request.recount.saturating_sub(looked.elapsed());
        let notification = listener.wait(Some(until_count)).map_err(session_error)?;
        let now = Instant::now();
        if let Some(notification) = notification {
            if notification.channel == request.channel && notification.payload == request.payload {
                delivered += 1;
            }
            if delivered >= request.deliveries {
                return confirm(&mut listener, request, now);
            }
        } else {
            let rows = count(listener.connection(), request)?;
            let now = Instant::now();
            if rows >= u64::from(request.deliveries) {
                return Ok(MarkerSeen {
                    at: now,
                    by: MarkerSource::Count,
                    resolution: now.duration_since(looked),
                    rows,
                });
            }
            looked = now;
        }
    }
}

/// Counts until the rows are there. The notification's time stands if the first count finds them.
fn confirm(listener: &mut Listener, request: &MarkerRequest, notified: Instant) -> Result<MarkerSeen, MarkerError> {
    listener.connection().set_receive_timeout(None).map_err(session_error)?;
    let mut missed = None;
    loop {
        let rows = count(listener.connection(), request)?;
        let now = Instant::now();
        if rows >= u64::from(request.deliveries) {
            return Ok(MarkerSeen {
                at: missed.map_or(notified, |_| now),
                by: missed.map_or(MarkerSource::Notification, |_| MarkerSource::Count),
                resolution: missed.map_or(Duration::ZERO, |missed| now.duration_since(missed)),
                rows,
            });
        }
        missed = Some(now);
        std::thread::sleep(RECOUNT);
    }
}

/// The rows of the marker that are visible now.
fn count(connection: &mut Connection, request: &MarkerRequest) -> Result<u64, MarkerError> {
    connection.set_receive_timeout(None).map_err(session_error)?;
    let result = connection.query(&request.count_sql).map_err(session_error)?;
    let answer = result.rows.first().and_then(|row| row.first());
    answer
        .and_then(Option::as_deref)
        .and_then(|text| text.parse().ok())
        .ok_or_else(|| MarkerError::NoCount { sql: request.count_sql.clone(), answer: format!("{:?}", result.rows) })
}

fn session_error(source: WireError) -> MarkerError {
    if source.is_stop() { MarkerError::Stopped } else { MarkerError::Session { source } }
}

#[cfg(test)]
mod tests;
