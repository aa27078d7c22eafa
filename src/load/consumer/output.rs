//! The output of `pg_recvlogical`, read from a pipe by a thread of its own: counted, and looked through for markers.
//!
//! The program is started and ended by others.

use super::ConsumerError;
use super::arrivals::{Arrival, Arrivals, Awaited};
use super::scan::{Form, MarkerScan};
use crate::text::lsn::Lsn;
use std::io::{self, Read};
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use tokio::sync::oneshot;

/// What the pipe is made to hold, where that can be asked for, and what is read at once.
const BUFFER: usize = 1024 * 1024;

/// How long the thread sleeps when it has emptied the pipe. The program writes each message by itself; a reader that
/// is woken for each takes the program's and the server's processor from them.
const NAP: Duration = Duration::from_millis(1);

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
    pub fn start(mut pipe: impl Read + AsFd + Send + 'static, form: Form) -> io::Result<Self> {
        widen(&pipe);
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

    /// Tells, to the millisecond, when the marker of this number has come `times` times; what has come already is told too.
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

/// Asks for a pipe that holds what comes while the reader sleeps. One that stays small is read more often.
fn widen(pipe: &impl AsFd) {
    #[cfg(target_os = "linux")]
    {
        let _ = rustix::pipe::fcntl_setpipe_size(pipe, BUFFER);
    }
    #[cfg(not(target_os = "linux"))]
    {
        let _ = pipe;
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
        if count < buffer.len() {
            std::thread::sleep(NAP);
        }
    }
}
