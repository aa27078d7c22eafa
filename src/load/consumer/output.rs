//! The output of `pg_recvlogical`, read from a pipe by a thread of its own: counted, and looked through for markers.
//!
//! The program is started and ended by others.

use super::arrivals::{Arrival, Arrivals, Awaited};
use super::scan::{Form, MarkerScan};
use super::ConsumerError;
use crate::text::lsn::Lsn;
use std::io::{self, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::Instant;
use tokio::sync::oneshot;

/// As much as a pipe holds, so that a read empties it.
const BUFFER: usize = 64 * 1024;

#[derive(Debug, Default)]
struct Seen {
    bytes: AtomicU64,
    arrivals: Arrivals,
}

/// A reader at work. It ends with its pipe, which the program's end closes.
#[derive(Debug)]
pub struct OutputReader {
    seen: Arc<Seen>,
    thread: Option<JoinHandle<()>>,
}

impl OutputReader {
    /// Starts reading. Fails if no thread can be started.
    pub fn start(mut pipe: impl Read + Send + 'static, form: Form) -> io::Result<Self> {
        let seen = Arc::new(Seen::default());
        let shared = Arc::clone(&seen);
        let thread = std::thread::Builder::new().name(String::from("slot output")).spawn(move || {
            let why = match read(&mut pipe, &mut MarkerScan::new(form), &shared) {
                Ok(()) => String::from("its output has ended"),
                Err(error) => format!("its output could not be read: {error}"),
            };
            shared.arrivals.ended(&why);
        })?;
        Ok(Self { seen, thread: Some(thread) })
    }

    /// Tells when the marker of this number has come `times` times; what has come already is told too.
    pub fn arrival(&self, id: u64, times: u32) -> oneshot::Receiver<Result<Arrival, ConsumerError>> {
        let (sender, receiver) = oneshot::channel();
        let nowhere = || Arrival { at: Instant::now(), position: Lsn(0) };
        self.seen.arrivals.register(Awaited::Marker { id, times }, sender, nowhere);
        receiver
    }

    /// Bytes that have come, without the newlines between messages being told apart.
    pub fn bytes(&self) -> u64 {
        self.seen.bytes.load(Ordering::Acquire)
    }
}

impl Drop for OutputReader {
    fn drop(&mut self) {
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn read(pipe: &mut impl Read, scan: &mut MarkerScan, seen: &Seen) -> io::Result<()> {
    let mut buffer = vec![0; BUFFER];
    loop {
        let count = match pipe.read(&mut buffer) {
            Ok(0) => return Ok(()),
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        let at = Instant::now();
        seen.bytes.fetch_add(count as u64, Ordering::Release);
        for id in scan.take(&buffer[..count]) {
            // How far the stream has come is not in it.
            seen.arrivals.marker(id, Arrival { at, position: Lsn(0) });
        }
    }
}
