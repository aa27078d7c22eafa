//! Reads pgbench's logs while it writes them, on a thread of its own, so that at the end of the load next to nothing is
//! left to read: what comes after a load must not wait for a parser.
//!
//! A line is some 30 bytes: 10,000 transactions a second for ten minutes are 200 MB. What has been read is given back
//! to the file system (on Linux, where that can be done within a file), so that the logs take up little at any time.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::log::{Counted, LogForm, LogReader, UnreadableLine};

/// Between looks while pgbench runs.
const INTERVAL: Duration = Duration::from_millis(50);

/// How much is read at once.
const PIECE: usize = 1 << 18;

/// How much of a file has been read before it is given back.
#[cfg(target_os = "linux")]
const GIVE_BACK: u64 = 8 << 20;

/// Why the logs gave nothing.
#[derive(Debug, thiserror::Error)]
pub enum FollowError {
    /// A file could not be read.
    #[error("pgbench's log {} cannot be read: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The system's reason.
        #[source]
        source: io::Error,
    },
    /// It holds something else.
    #[error(transparent)]
    Line(#[from] UnreadableLine),
    /// The thread did not start, or did not end well.
    #[error("the thread that reads pgbench's log: {0}")]
    Thread(String),
}

/// What the logs held.
pub type Followed = Counted;

/// The thread. Dropping it ends it.
#[derive(Debug)]
pub struct Follower {
    ended: Arc<AtomicBool>,
    thread: Option<JoinHandle<Result<Counted, FollowError>>>,
}

/// The logs of a pgbench with `threads` threads: `PREFIX.PID`, and `PREFIX.PID.N` from the second on.
fn names(prefix: &Path, pid: u32, threads: u32) -> Vec<PathBuf> {
    let name = |thread: u32| {
        let mut name = prefix.as_os_str().to_owned();
        name.push(if thread == 0 { format!(".{pid}") } else { format!(".{pid}.{thread}") });
        PathBuf::from(name)
    };
    (0..threads.max(1)).map(name).collect()
}

impl Follower {
    /// Follows the logs of the process `pid`, which was called with this prefix and number of threads.
    pub fn start(
        prefix: &Path,
        pid: u32,
        threads: u32,
        scripts: &[String],
        form: LogForm,
    ) -> Result<Self, FollowError> {
        let ended = Arc::new(AtomicBool::new(false));
        let began = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
        let mut logs: Vec<Log> = names(prefix, pid, threads).into_iter().map(Log::new).collect();
        let mut reader = LogReader::new(scripts, form, began);
        let flag = Arc::clone(&ended);
        let follow = move || {
            loop {
                // What is written before the flag is set is read after it.
                let last = flag.load(Ordering::Acquire);
                for log in &mut logs {
                    log.read_on(&mut reader)?;
                }
                if last {
                    return logs.iter().try_for_each(Log::at_its_end).map(|()| reader.counted());
                }
                std::thread::park_timeout(INTERVAL);
            }
        };
        let thread = std::thread::Builder::new()
            .name("pgbench log".to_owned())
            .spawn(follow)
            .map_err(|error| FollowError::Thread(error.to_string()))?;
        Ok(Self { ended, thread: Some(thread) })
    }

    /// What all logs held, once pgbench has ended. Blocks for what is still to be read: a twentieth of a second's lines.
    pub fn finish(mut self) -> Result<Followed, FollowError> {
        let lost = || FollowError::Thread("it panicked".to_owned());
        self.end().ok_or_else(lost)?.map_err(|_| lost())?
    }

    fn end(&mut self) -> Option<std::thread::Result<Result<Counted, FollowError>>> {
        let thread = self.thread.take()?;
        self.ended.store(true, Ordering::Release);
        thread.thread().unpark();
        Some(thread.join())
    }
}

impl Drop for Follower {
    fn drop(&mut self) {
        let _ = self.end();
    }
}

/// One file.
struct Log {
    path: PathBuf,
    file: Option<File>,
    /// Read and not yet counted: the beginning of a line.
    rest: Vec<u8>,
    #[cfg(target_os = "linux")]
    read: u64,
    #[cfg(target_os = "linux")]
    given_back: u64,
}

impl Log {
    fn new(path: PathBuf) -> Self {
        Self {
            path,
            file: None,
            rest: Vec::new(),
            #[cfg(target_os = "linux")]
            read: 0,
            #[cfg(target_os = "linux")]
            given_back: 0,
        }
    }

    /// Reads to the end that the file has now.
    fn read_on(&mut self, reader: &mut LogReader) -> Result<(), FollowError> {
        let error = |source| FollowError::Read { path: self.path.clone(), source };
        if self.file.is_none() {
            // Each thread opens its own once it has connected.
            match File::options().read(true).write(true).open(&self.path) {
                Ok(file) => self.file = Some(file),
                Err(source) if source.kind() == io::ErrorKind::NotFound => return Ok(()),
                Err(source) => return Err(error(source)),
            }
        }
        let Some(file) = &mut self.file else { return Ok(()) };
        loop {
            let had = self.rest.len();
            self.rest.resize(had + PIECE, 0);
            let got = file.read(&mut self.rest[had..]).map_err(error)?;
            self.rest.truncate(had + got);
            if got == 0 {
                return Ok(());
            }
            let done = reader.take(&self.rest)?;
            self.rest.drain(..done);
            #[cfg(target_os = "linux")]
            {
                self.read += got as u64;
                if self.read - self.given_back >= GIVE_BACK {
                    use rustix::fs::FallocateFlags;
                    let hole = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
                    // A file system that cannot do so keeps the whole log until the load has ended.
                    let _ = rustix::fs::fallocate(&*file, hole, self.given_back, self.read - self.given_back);
                    self.given_back = self.read;
                }
            }
        }
    }

    /// After the end a beginning of a line would be a log cut short.
    fn at_its_end(&self) -> Result<(), FollowError> {
        match self.rest.as_slice() {
            [] => Ok(()),
            rest => Err(UnreadableLine(String::from_utf8_lossy(rest).chars().take(80).collect()).into()),
        }
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use super::*;
    use std::io::Write as _;

    #[test]
    fn files_that_grow_under_it_are_read_to_their_ends() {
        let folder = tempfile::tempdir().unwrap();
        let prefix = folder.path().join("log");
        let follower = Follower::start(&prefix, 7, 3, &["a".to_owned(), "b".to_owned()], LogForm::default()).unwrap();
        let mut first = File::create(folder.path().join("log.7")).unwrap();
        let mut third = File::create(folder.path().join("log.7.2")).unwrap();
        let line = |script: usize| format!("0 1 25 {script} 1700000000 5\n").into_bytes();
        for _ in 0..1000 {
            // In pieces that end within a line.
            let text = [line(0), line(1)].concat();
            first.write_all(&text[..20]).unwrap();
            third.write_all(&line(1)).unwrap();
            first.write_all(&text[20..]).unwrap();
        }
        let counted = follower.finish().unwrap();
        let committed: Vec<u64> = counted.scripts.iter().map(|script| script.committed).collect();
        assert_eq!(committed, [1000, 2000]);
    }

    #[test]
    fn what_was_read_is_given_back_and_a_log_cut_short_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let prefix = folder.path().join("log");
        let path = folder.path().join("log.7");
        let lines = "0 1 25 0 1700000000 123456\n".repeat(400_000);
        std::fs::write(&path, &lines).unwrap();
        let follower = Follower::start(&prefix, 7, 1, &["a".to_owned()], LogForm::default()).unwrap();
        assert_eq!(follower.finish().unwrap().scripts[0].committed, 400_000);
        #[cfg(target_os = "linux")]
        {
            use std::os::unix::fs::MetadataExt;
            let left = std::fs::metadata(&path).unwrap().blocks() * 512;
            assert!(left < lines.len() as u64 / 2 || left >= lines.len() as u64, "a hole or none, not {left} bytes");
        }
        std::fs::write(&path, "0 1 25 0 17000").unwrap();
        let follower = Follower::start(&prefix, 7, 1, &["a".to_owned()], LogForm::default()).unwrap();
        assert!(follower.finish().unwrap_err().to_string().contains("0 1 25 0 17000"));
    }
}
