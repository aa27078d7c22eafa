//! The guard: a small process that outlives its runner by a few seconds, to put down what
//! the runner could not.
//!
//! It is our own executable with a hidden first argument, in a session of its own, and reads
//! a pipe that nothing but the runner holds open. When the pipe closes the runner is gone,
//! however it went. After an orderly end nothing is left to do.

use std::ffi::OsString;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::ChildStdin;
use std::time::{Duration, Instant};

use super::child::Child;
use super::process::{ParentDeath, ProcessError, Program};
use super::stamp::{ProcessId, Stamp, is_ours};
use super::{cache, sweep};

/// How long the guard of an orderly ended lab may take to notice.
const END_BOUND: Duration = Duration::from_secs(5);

/// How long a guard waits for another runner at work in the cache, to clear what its own left half-made there.
const CACHE_BOUND: Duration = Duration::from_secs(30);

/// Between looks at that.
const CACHE_INTERVAL: Duration = Duration::from_millis(20);

/// The runner's side of its guard.
#[derive(Debug)]
pub(crate) struct Guard {
    child: Child,
    pipe: Option<ChildStdin>,
}

impl Guard {
    /// Starts `command` (our executable and its hidden argument) for a lab folder that is
    /// about to be made: a guard that came later could miss it.
    pub(crate) fn start(
        command: &[OsString],
        home: &Path,
        bulk: Option<&Path>,
        cache: &Path,
    ) -> Result<Self, ProcessError> {
        let (program, arguments) = command.split_first().expect("a guard's command is not empty");
        let runner = ProcessId::own();
        let (child, pipe) = Program::new(program)
            .args(arguments)
            .arg(home)
            .arg(bulk.unwrap_or(Path::new("")))
            .arg(cache)
            .arg(runner.pid.to_string())
            .arg(runner.start)
            .parent_death(ParentDeath::Outlive)
            .spawn_with_input()?;
        Ok(Self { child, pipe })
    }

    /// Its identity for the stamp.
    pub(crate) fn identity(&self) -> Option<ProcessId> {
        ProcessId::of(self.child.pid())
    }

    /// Lets it go: closes the pipe and waits for its end, for a bounded time.
    pub(crate) async fn dismiss(mut self) {
        drop(self.pipe.take());
        self.child.ended_within(END_BOUND).await;
    }
}

/// The guard's whole life, called by `main` for the hidden argument with the arguments after
/// it and its standard input. Returns when nothing of the runner is left, or at once if the
/// arguments are not a runner's.
pub fn main(arguments: &[OsString], mut stdin: impl Read) {
    let [home, bulk, cache, pid, start] = arguments else {
        return;
    };
    let (home, cache) = (PathBuf::from(home), PathBuf::from(cache));
    let bulk = Some(PathBuf::from(bulk)).filter(|p| !p.as_os_str().is_empty());
    let Some(pid) = pid.to_str().and_then(|p| p.parse().ok()) else {
        return;
    };
    let runner = ProcessId { pid, start: start.to_string_lossy().into_owned() };
    wait_for_the_end(&mut stdin);
    // Its last clean-up may have been cut short anywhere, also before or after the stamp.
    let cut_short = is_ours(&home, true);
    if cut_short {
        let stamp = Stamp::read(&home);
        match &stamp {
            // Kept, or a folder of another runner (a random name met twice): not ours to touch.
            Some(stamp) if stamp.kept || stamp.runner != runner => return,
            _ => {
                // What fails here is left for the sweep of the next runner.
                let _ = sweep::put_down(&home, stamp.as_ref());
            }
        }
    }
    if let Some(bulk) = bulk.filter(|b| b.file_name() == home.file_name() && is_ours(b, true)) {
        let _ = std::fs::remove_dir_all(bulk);
    }
    // Another runner may be at work there for a moment, and may have come upon a folder that a dying process still wrote to.
    let until = Instant::now() + CACHE_BOUND;
    while !cache::clear_half_made(&cache) && cut_short && Instant::now() < until {
        std::thread::sleep(CACHE_INTERVAL);
    }
}

/// Reads until the pipe closes; nothing is ever written to it.
fn wait_for_the_end(stdin: &mut impl Read) {
    let mut byte = [0_u8; 1];
    loop {
        match stdin.read(&mut byte) {
            Ok(0) => return,
            Err(e) if e.kind() != std::io::ErrorKind::Interrupted => return,
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use super::*;

    fn arguments(home: &Path, runner: &ProcessId) -> Vec<OsString> {
        let pid = runner.pid.to_string();
        [home.as_os_str(), "".as_ref(), "/nowhere".as_ref(), pid.as_ref(), runner.start.as_ref()]
            .map(OsString::from)
            .to_vec()
    }

    #[test]
    fn a_closed_pipe_ends_the_lab_unless_it_is_kept_or_of_another_runner() {
        let root = tempfile::tempdir().unwrap();
        let own = ProcessId::own();
        let other = ProcessId { pid: 1, start: "1".to_owned() };
        for (name, kept, runner, goes) in
            [("runner-a", false, &own, true), ("runner-b", true, &own, false), ("runner-c", false, &other, false)]
        {
            let home = root.path().join(name);
            std::fs::create_dir_all(home.join("logs")).unwrap();
            let mut stamp = Stamp::new(None, None, PathBuf::from("/nowhere"));
            stamp.kept = kept;
            stamp.write(&home).unwrap();
            main(&arguments(&home, runner), std::io::empty());
            assert_eq!(!home.exists(), goes, "{name}");
        }
    }

    #[test]
    fn a_folder_whose_stamp_was_already_removed_is_finished() {
        let root = tempfile::tempdir().unwrap();
        let home = root.path().join("runner-a");
        std::fs::create_dir_all(&home).unwrap();
        main(&arguments(&home, &ProcessId::own()), std::io::empty());
        assert!(!home.exists());
    }
}
