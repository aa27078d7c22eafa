//! The thread of a consumer: receives, counts, answers the server, and publishes what it has seen.
//!
//! Its cost for a message is a look at a few bytes; everything else happens once for each receive. Who waits for what
//! is not known here.

use super::arrivals::Arrival;
use super::{Consumed, ConsumerError, Shared, StreamEnd};
use crate::probe::thread_cpu;
use crate::text::lsn::Lsn;
use crate::wire::{Decoder, Piece, ReplicationStream, StreamMessage, WireError};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// How often a new position is confirmed by itself.
const CONFIRM_EVERY: Duration = Duration::from_secs(1);
/// How long the thread sleeps when it has taken what there was. The walsender sends each change by itself: a client
/// that is woken for each uses three times the CPU, and takes the walsender's.
///
/// Short enough that no socket buffer fills meanwhile: of changes of 200 bytes a unix socket takes some 200, and a
/// walsender that finds it full waits. With 500 µs a drain took three times as long.
const NAP: Duration = Duration::from_micros(100);
/// How often an old one is confirmed again, so that no server takes us for dead (`wal_receiver_status_interval` of a
/// subscriber).
const HEARTBEAT: Duration = Duration::from_secs(10);

/// What the thread publishes: after each receive its counts, and its CPU where the clock's system call is no burden.
#[derive(Debug)]
pub(super) struct Counters {
    /// Whether changes and transactions are known.
    reads: bool,
    began: Instant,
    messages: AtomicU64,
    payload_bytes: AtomicU64,
    changes: AtomicU64,
    transactions: AtomicU64,
    received: AtomicU64,
    /// Time of the last receive, since `began`.
    received_at_ns: AtomicU64,
    cpu_ns: AtomicU64,
}

impl Counters {
    /// Nothing counted.
    pub(super) fn new(reads: bool) -> Self {
        Self {
            reads,
            began: Instant::now(),
            messages: AtomicU64::new(0),
            payload_bytes: AtomicU64::new(0),
            changes: AtomicU64::new(0),
            transactions: AtomicU64::new(0),
            received: AtomicU64::new(0),
            received_at_ns: AtomicU64::new(0),
            cpu_ns: AtomicU64::new(0),
        }
    }

    /// How far the stream has come.
    pub(super) fn received(&self) -> Lsn {
        Lsn(self.received.load(Ordering::SeqCst))
    }

    /// How far the stream has come, and when it did.
    pub(super) fn last_arrival(&self) -> Arrival {
        let position = self.received();
        let at = self.began + Duration::from_nanos(self.received_at_ns.load(Ordering::SeqCst));
        Arrival { at, position }
    }

    /// All counts, with what others know.
    pub(super) fn read(&self, confirmed: Lsn, end: StreamEnd) -> Consumed {
        let count = |counter: &AtomicU64| counter.load(Ordering::SeqCst);
        Consumed {
            messages: count(&self.messages),
            payload_bytes: count(&self.payload_bytes),
            changes: self.reads.then(|| count(&self.changes)),
            transactions: self.reads.then(|| count(&self.transactions)),
            received: self.received(),
            confirmed,
            cpu_ns: count(&self.cpu_ns),
            end,
        }
    }

    fn publish(&self, tally: &Tally, at: Instant) {
        let since_began = at.saturating_duration_since(self.began);
        self.messages.store(tally.messages, Ordering::Release);
        self.payload_bytes.store(tally.payload_bytes, Ordering::Release);
        self.changes.store(tally.changes, Ordering::Release);
        self.transactions.store(tally.transactions, Ordering::Release);
        // The time before the position: whoever sees the position must not see an older time.
        self.received_at_ns.store(since_began.as_nanos() as u64, Ordering::Release);
        self.received.store(tally.received.0, Ordering::SeqCst);
    }

    fn publish_cpu(&self) {
        self.cpu_ns.store(thread_cpu().as_nanos() as u64, Ordering::Release);
    }
}

/// The thread's own counts.
#[derive(Debug, Default, Clone, Copy)]
struct Tally {
    messages: u64,
    payload_bytes: u64,
    changes: u64,
    transactions: u64,
    received: Lsn,
}

/// Everything that the thread works with.
#[derive(Debug)]
pub(super) struct StreamThread {
    slot: String,
    stream: ReplicationStream,
    decoder: Decoder,
    shared: Arc<Shared>,
    tally: Tally,
    /// When the thread last confirmed by itself.
    confirmed_at: Instant,
}

impl StreamThread {
    /// A thread's work, not begun.
    pub(super) fn new(slot: String, stream: ReplicationStream, decoder: Decoder, shared: Arc<Shared>) -> Self {
        Self { slot, stream, decoder, shared, tally: Tally::default(), confirmed_at: Instant::now() }
    }

    /// Consumes to the end of the stream.
    pub(super) fn run(mut self) -> Result<Consumed, ConsumerError> {
        let ended = self.consume();
        self.publish(Instant::now());
        let shared = Arc::clone(&self.shared);
        let (slot, received) = (std::mem::take(&mut self.slot), self.tally.received);
        let confirmed = self.stream.feedback().confirmed();
        // The session's end is part of the cost, and whoever hears of the end may connect again.
        drop(self);
        shared.counters.publish_cpu();
        let outcome = match ended {
            Ok(end) => Ok(shared.counters.read(confirmed, end)),
            Err(source) if source.is_stop() => Ok(shared.counters.read(confirmed, StreamEnd::Stopped)),
            Err(source) => Err(ConsumerError::Stream { slot, received, source }),
        };
        shared.arrivals.ended(&match &outcome {
            Ok(consumed) => match consumed.end {
                StreamEnd::ByServer => String::from("the server is shutting down"),
                StreamEnd::Streaming | StreamEnd::Clean | StreamEnd::Stopped => String::from("it was stopped"),
            },
            Err(error) => error.to_string(),
        });
        outcome
    }

    fn consume(&mut self) -> Result<StreamEnd, WireError> {
        exact_naps();
        self.stream.set_receive_timeout(Some(CONFIRM_EVERY))?;
        loop {
            let came = self.stream.receive()?;
            let now = Instant::now();
            let (ended, reply) = self.take_buffered(now)?;
            self.publish(now);
            if ended {
                return Ok(if self.stream.feedback().is_done() { StreamEnd::Clean } else { StreamEnd::ByServer });
            }
            let waited = now.saturating_duration_since(self.confirmed_at);
            let due = waited >= CONFIRM_EVERY && self.tally.received > self.stream.feedback().confirmed();
            if reply || due || waited >= HEARTBEAT {
                self.stream.feedback().confirm(self.tally.received, false)?;
                self.confirmed_at = now;
            }
            if came {
                std::thread::sleep(NAP);
            }
        }
    }

    /// Takes all whole messages that were received by `now`: whether the stream has ended, and whether the server asks
    /// for an answer.
    fn take_buffered(&mut self, now: Instant) -> Result<(bool, bool), WireError> {
        let mut reply = false;
        let tally = &mut self.tally;
        while let Some(message) = self.stream.buffered()? {
            match message {
                StreamMessage::Data { start, payload, .. } => {
                    tally.messages += 1;
                    tally.payload_bytes += payload.len() as u64;
                    tally.received = tally.received.max(start);
                    match self.decoder.read(payload) {
                        Piece::Change => tally.changes += 1,
                        Piece::Commit { marker } => {
                            tally.transactions += 1;
                            if let Some(id) = marker {
                                // Published first, so that whoever hears of the marker finds it counted.
                                self.shared.counters.publish(tally, now);
                                self.shared.counters.publish_cpu();
                                self.shared.arrivals.marker(id, Arrival { at: now, position: tally.received });
                            }
                        }
                        Piece::Other => {}
                    }
                }
                StreamMessage::Keepalive { end, reply_requested } => {
                    tally.received = tally.received.max(end);
                    reply |= reply_requested;
                }
                StreamMessage::Done => return Ok((true, false)),
            }
        }
        Ok((false, reply))
    }

    /// After each receive, of which there are at most some thousand a second.
    fn publish(&self, at: Instant) {
        self.shared.counters.publish(&self.tally, at);
        self.shared.counters.publish_cpu();
        self.shared.arrivals.reached(Arrival { at, position: self.tally.received });
    }
}

/// Lets this thread's naps end on time: by default the kernel may add half of one.
#[cfg(target_os = "linux")]
fn exact_naps() {
    // A kernel that refuses leaves them as they are.
    let _ = rustix::thread::set_current_timer_slack(std::num::NonZeroU64::new(1));
}

/// Lets this thread's naps end on time, where there is a way.
#[cfg(not(target_os = "linux"))]
fn exact_naps() {}
