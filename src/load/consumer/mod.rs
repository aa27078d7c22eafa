//! A consumer of a logical slot: a thread of its own that takes the stream as fast as it comes, counts it, confirms
//! positions, and tells when a marker or a position has arrived.
//!
//! It stores nothing and compares nothing. The slot is made and dropped by others; a lost connection is an error here,
//! never a reason to connect again.
//!
//! Life: [`Consumer::start`] connects and streams, [`Consumer::arrival`] is asked before the marker commits,
//! [`Consumer::end`] ends the stream cleanly and [`Consumer::finished`] gives what was consumed.

mod arrivals;
mod output;
mod scan;
mod thread;

pub use arrivals::{Arrival, Awaited};
pub use output::OutputReader;
pub use scan::{Form, MarkerScan};

use crate::plan::sql::slot::PluginOption;
use crate::text::lsn::Lsn;
use crate::wire::{Connection, Decoder, Feedback, ReplicationStream, Target, WireError};
use arrivals::Arrivals;
use std::io;
use std::sync::Arc;
use std::thread::JoinHandle;
use thread::{Counters, StreamThread};
use tokio::sync::oneshot;

/// What to consume.
#[derive(Debug, Clone)]
pub struct ConsumerRequest {
    /// The node and the slot's database; [`Target::replication`] is set here.
    pub target: Target,
    /// The slot.
    pub slot: String,
    /// Its plugin. `test_decoding` and `pgoutput` are read for changes and markers, any other is opaque.
    pub plugin: String,
    /// The plugin's options.
    pub options: Vec<PluginOption>,
}

/// How a stream ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StreamEnd {
    /// It goes on.
    Streaming,
    /// By [`Consumer::end`]: both sides have said so, and the slot is free.
    Clean,
    /// By [`Consumer::stop`]: what was received last may not be confirmed, and comes again to the next consumer.
    Stopped,
    /// By the server, which is shutting down and had sent everything.
    ByServer,
}

/// What was consumed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Consumed {
    /// Messages of the plugin.
    pub messages: u64,
    /// Bytes of their payloads.
    pub payload_bytes: u64,
    /// Rows inserted, updated or deleted, and TRUNCATEs, marker rows among them; `None` of an opaque plugin.
    pub changes: Option<u64>,
    /// Transactions that were received to their end; `None` of an opaque plugin.
    pub transactions: Option<u64>,
    /// Everything before this position has been received.
    pub received: Lsn,
    /// The position that the server was last told.
    pub confirmed: Lsn,
    /// CPU of the thread, as of the last receive or the end.
    pub cpu_ns: u64,
    /// How the stream ended.
    pub end: StreamEnd,
}

/// Why a consumer could not begin or go on. Each text fits behind "failed to consume: ".
#[derive(Debug, thiserror::Error)]
pub enum ConsumerError {
    /// No session.
    #[error("slot \"{slot}\": {source}")]
    Connect {
        /// The slot.
        slot: String,
        /// Why.
        #[source]
        source: WireError,
    },
    /// The server does not stream from the slot with these options.
    #[error("slot \"{slot}\" with plugin {plugin} could not be started: {source}")]
    Start {
        /// The slot.
        slot: String,
        /// The plugin.
        plugin: String,
        /// Why.
        #[source]
        source: WireError,
    },
    /// The stream broke.
    #[error("the stream of slot \"{slot}\" ended at {received}: {source}")]
    Stream {
        /// The slot.
        slot: String,
        /// How far it had come.
        received: Lsn,
        /// Why.
        #[source]
        source: WireError,
    },
    /// The plugin's output is not read, so a marker cannot be found in it.
    #[error("output of plugin {plugin} is opaque; wait for a position instead of a marker")]
    Opaque {
        /// The plugin.
        plugin: String,
    },
    /// The stream ended before what was awaited came.
    #[error("the stream ended before it came: {why}")]
    Ended {
        /// How it ended.
        why: String,
    },
    /// The thread could not be started.
    #[error("could not start a thread: {source}")]
    Thread {
        /// What the operating system said.
        #[source]
        source: io::Error,
    },
    /// The outcome was taken before, or the thread ended without one (a fault of this program).
    #[error("the consumer has no outcome left")]
    NoOutcome,
}

/// What the thread and its owner share.
#[derive(Debug)]
struct Shared {
    counters: Counters,
    arrivals: Arrivals,
}

/// A consumer at work. Dropping it stops it.
#[derive(Debug)]
pub struct Consumer {
    plugin: String,
    reads_markers: bool,
    backend_pid: u32,
    feedback: Feedback,
    shared: Arc<Shared>,
    outcome: Option<oneshot::Receiver<Result<Consumed, ConsumerError>>>,
    thread: Option<JoinHandle<()>>,
}

impl Consumer {
    /// Connects and starts streaming. Blocks within the target's time-out for each of the two, so call it before the
    /// clock. The server refuses a slot that is in use, as it is for a moment after a refusal or a [`Consumer::stop`].
    pub fn start(request: ConsumerRequest) -> Result<Self, ConsumerError> {
        let ConsumerRequest { mut target, slot, plugin, options } = request;
        target.replication = true;
        let bound = target.connect_timeout;
        let opened = Connection::open(&target).and_then(|mut connection| {
            connection.set_receive_timeout(Some(bound))?;
            Ok(connection)
        });
        let connection = opened.map_err(|source| ConsumerError::Connect { slot: slot.clone(), source })?;
        // 0/0: the slot knows its position.
        let stream = ReplicationStream::start(connection, &slot, Lsn(0), &options)
            .map_err(|source| ConsumerError::Start { slot: slot.clone(), plugin: plugin.clone(), source })?;
        let decoder = Decoder::new(&plugin);
        let reads_markers = decoder.reads_markers();
        let (backend_pid, feedback) = (stream.backend_pid(), stream.feedback().clone());
        let shared = Arc::new(Shared { counters: Counters::new(reads_markers), arrivals: Arrivals::default() });
        let (sender, outcome) = oneshot::channel();
        let work = StreamThread::new(slot, stream, decoder, Arc::clone(&shared));
        let thread = std::thread::Builder::new()
            .name(String::from("slot consumer"))
            .spawn(move || {
                // Nobody may be waiting any more.
                let _ = sender.send(work.run());
            })
            .map_err(|source| ConsumerError::Thread { source })?;
        Ok(Self { plugin, reads_markers, backend_pid, feedback, shared, outcome: Some(outcome), thread: Some(thread) })
    }

    /// The walsender.
    pub fn backend_pid(&self) -> u32 {
        self.backend_pid
    }

    /// Whether markers are found in the plugin's output; if not, await positions.
    pub fn reads_markers(&self) -> bool {
        self.reads_markers
    }

    /// Tells when the marker or position has been received; what has come already is told too. A marker is there when
    /// the end of its transaction is. The receiver gets an error if the stream ends before.
    pub fn arrival(&self, awaited: Awaited) -> oneshot::Receiver<Result<Arrival, ConsumerError>> {
        let (sender, receiver) = oneshot::channel();
        if matches!(awaited, Awaited::Marker { .. }) && !self.reads_markers {
            let _ = sender.send(Err(ConsumerError::Opaque { plugin: self.plugin.clone() }));
        } else {
            self.shared.arrivals.register(awaited, sender, || self.shared.counters.last_arrival());
        }
        receiver
    }

    /// Tells the server at once how far the stream was received; the slot moves there when the server reads it. It gives
    /// that position.
    pub fn confirm(&self) -> Result<Lsn, WireError> {
        let received = self.shared.counters.received();
        self.feedback.confirm(received, false)?;
        Ok(received)
    }

    /// What was consumed so far; costs the thread nothing.
    pub fn so_far(&self) -> Consumed {
        self.shared.counters.read(self.feedback.confirmed(), StreamEnd::Streaming)
    }

    /// Confirms and ends the stream cleanly. What the server was sending still arrives and is counted, but cannot be
    /// confirmed any more, so await the last arrival first. An error means that the stream is broken, which
    /// [`Consumer::finished`] tells too.
    pub fn end(&self) -> Result<(), WireError> {
        self.feedback.end(self.shared.counters.received())
    }

    /// Ends the stream now, even in the middle of a message. The slot is free when the walsender has noticed.
    pub fn stop(&self) {
        self.feedback.shutdown_handle().stop();
    }

    /// Waits for the end and gives what was consumed. Cancel-safe; the outcome is given once.
    pub async fn finished(&mut self) -> Result<Consumed, ConsumerError> {
        let Some(outcome) = &mut self.outcome else {
            return Err(ConsumerError::NoOutcome);
        };
        let consumed = outcome.await;
        self.outcome = None;
        consumed.unwrap_or(Err(ConsumerError::NoOutcome))
    }
}

impl Drop for Consumer {
    fn drop(&mut self) {
        self.stop();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
