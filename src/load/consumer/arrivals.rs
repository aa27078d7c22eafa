//! Who waits for which marker or position of a stream, and what has arrived.
//!
//! Reading the stream is others'. Markers are few (one a phase), so all are kept: a question that comes after its
//! answer is answered too.

use super::ConsumerError;
use crate::text::lsn::Lsn;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;
use tokio::sync::oneshot;

/// What is waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Awaited {
    /// The transaction of the marker row of this id, for the `times`th time: a node that gets it in two ways decodes it
    /// twice.
    Marker {
        /// The marker's number.
        id: u64,
        /// How often it must have come.
        times: u32,
    },
    /// Data or a keepalive at or past this position. To have a transaction whose commit was flushed, take
    /// `pg_current_wal_flush_lsn()` after it: the insert position may lie behind a page header that no record's end
    /// reaches, and WAL that is not flushed is not sent.
    Position(Lsn),
}

/// It has been received.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Arrival {
    /// When; of a position that had been passed before it was asked for, when the last bytes before the question came.
    pub at: Instant,
    /// How far the stream had come by then.
    pub position: Lsn,
}

type Sender = oneshot::Sender<Result<Arrival, ConsumerError>>;

/// The waiting and the arrived.
#[derive(Debug)]
pub(super) struct Arrivals {
    board: Mutex<Board>,
    /// The lowest position that is waited for, so that the thread looks at the board only when it is reached.
    nearest: AtomicU64,
}

#[derive(Debug, Default)]
struct Board {
    waiting: Vec<(Awaited, Sender)>,
    markers: Vec<(u64, Arrival)>,
    ended: Option<String>,
}

impl Default for Arrivals {
    fn default() -> Self {
        Self { board: Mutex::default(), nearest: AtomicU64::new(u64::MAX) }
    }
}

impl Arrivals {
    fn board(&self) -> MutexGuard<'_, Board> {
        self.board.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a question, and answers it if it can. `last` tells how far the stream has come.
    pub(super) fn register(&self, awaited: Awaited, sender: Sender, last: impl FnOnce() -> Arrival) {
        let mut board = self.board();
        let known = match awaited {
            Awaited::Marker { id, times } => board.nth(id, times),
            Awaited::Position(wanted) => {
                // First here, then there, and the thread the other way round: one of us sees the other's.
                self.nearest.fetch_min(wanted.0, Ordering::SeqCst);
                Some(last()).filter(|last| last.position >= wanted)
            }
        };
        // Who asked may have gone already, here and below.
        if let Some(arrival) = known {
            let _ = sender.send(Ok(arrival));
        } else if let Some(why) = &board.ended {
            let _ = sender.send(Err(ConsumerError::Ended { why: why.clone() }));
        } else {
            board.waiting.push((awaited, sender));
        }
    }

    /// A marker's transaction has been received.
    pub(super) fn marker(&self, id: u64, arrival: Arrival) {
        let mut board = self.board();
        board.markers.push((id, arrival));
        let come = board.markers.iter().filter(|(known, _)| *known == id).count();
        board.answer(arrival, |awaited| {
            matches!(awaited, Awaited::Marker { id: wanted, times } if wanted == id && times as usize <= come)
        });
    }

    /// The stream has come to `arrival`, whose position has been published before.
    #[inline]
    pub(super) fn reached(&self, arrival: Arrival) {
        if arrival.position.0 >= self.nearest.load(Ordering::SeqCst) {
            self.answer_positions(arrival);
        }
    }

    #[cold]
    fn answer_positions(&self, arrival: Arrival) {
        let mut board = self.board();
        board.answer(arrival, |awaited| matches!(awaited, Awaited::Position(wanted) if wanted <= arrival.position));
        let positions = board.waiting.iter().filter_map(|(awaited, _)| match awaited {
            Awaited::Position(position) => Some(position.0),
            Awaited::Marker { .. } => None,
        });
        self.nearest.store(positions.min().unwrap_or(u64::MAX), Ordering::SeqCst);
    }

    /// The stream has ended: nothing more will come.
    pub(super) fn ended(&self, why: &str) {
        let mut board = self.board();
        board.ended = Some(why.to_owned());
        for (_, sender) in board.waiting.drain(..) {
            let _ = sender.send(Err(ConsumerError::Ended { why: why.to_owned() }));
        }
    }
}

impl Board {
    /// The arrival of a marker for the `times`th time.
    fn nth(&self, id: u64, times: u32) -> Option<Arrival> {
        let mut arrivals = self.markers.iter().filter(|(known, _)| *known == id).map(|(_, arrival)| *arrival);
        arrivals.nth(times.saturating_sub(1) as usize)
    }

    fn answer(&mut self, arrival: Arrival, which: impl Fn(Awaited) -> bool) {
        for (_, sender) in self.waiting.extract_if(.., |(awaited, _)| which(*awaited)) {
            let _ = sender.send(Ok(arrival));
        }
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use super::*;
    use std::sync::Arc;

    fn arrival(position: u64) -> Arrival {
        Arrival { at: Instant::now(), position: Lsn(position) }
    }

    fn ask(arrivals: &Arrivals, awaited: Awaited, last: Arrival) -> oneshot::Receiver<Result<Arrival, ConsumerError>> {
        let (sender, receiver) = oneshot::channel();
        arrivals.register(awaited, sender, || last);
        receiver
    }

    #[test]
    fn a_marker_is_told_to_all_who_ask_before_and_after() {
        let arrivals = Arrivals::default();
        let (nowhere, here) = (arrival(0), arrival(7));
        let mut before = [1, 1, 2].map(|id| ask(&arrivals, Awaited::Marker { id, times: 1 }, nowhere));
        arrivals.marker(1, here);
        let mut after = ask(&arrivals, Awaited::Marker { id: 1, times: 1 }, here);
        assert_eq!(before[0].try_recv().unwrap().unwrap(), here);
        assert_eq!(before[1].try_recv().unwrap().unwrap(), here);
        assert_eq!(after.try_recv().unwrap().unwrap(), here);
        assert!(before[2].try_recv().is_err());
        arrivals.ended("it was stopped");
        let error = before[2].try_recv().unwrap().unwrap_err();
        assert_eq!(error.to_string(), "the stream ended before it came: it was stopped");
        // What came before the end is still known, and what did not is told at once.
        assert!(ask(&arrivals, Awaited::Marker { id: 1, times: 1 }, here).try_recv().unwrap().is_ok());
        assert!(ask(&arrivals, Awaited::Position(Lsn(7)), here).try_recv().unwrap().is_ok());
        assert!(ask(&arrivals, Awaited::Position(Lsn(8)), here).try_recv().unwrap().is_err());
    }

    #[test]
    fn positions_are_told_when_they_are_reached_or_passed() {
        let arrivals = Arrivals::default();
        let mut asked = [10, 30, 20].map(|position| ask(&arrivals, Awaited::Position(Lsn(position)), arrival(5)));
        arrivals.reached(arrival(9));
        assert!(asked.iter_mut().all(|asked| asked.try_recv().is_err()));
        let there = arrival(20);
        arrivals.reached(there);
        assert_eq!(asked[0].try_recv().unwrap().unwrap(), there);
        assert_eq!(asked[2].try_recv().unwrap().unwrap(), there);
        assert!(asked[1].try_recv().is_err());
        arrivals.reached(arrival(31));
        assert_eq!(asked[1].try_recv().unwrap().unwrap().position, Lsn(31));
    }

    #[test]
    fn no_position_is_missed_between_asking_and_arriving() {
        let arrivals = Arc::new(Arrivals::default());
        let come = Arc::new(AtomicU64::new(0));
        let stream = {
            let (arrivals, come) = (Arc::clone(&arrivals), Arc::clone(&come));
            std::thread::spawn(move || {
                for position in 1..=20_000 {
                    come.store(position, Ordering::SeqCst);
                    arrivals.reached(arrival(position));
                }
            })
        };
        for wanted in (1..=20_000).step_by(7) {
            let (sender, receiver) = oneshot::channel();
            arrivals.register(Awaited::Position(Lsn(wanted)), sender, || arrival(come.load(Ordering::SeqCst)));
            assert!(receiver.blocking_recv().unwrap().unwrap().position >= Lsn(wanted));
        }
        stream.join().unwrap();
    }
}
