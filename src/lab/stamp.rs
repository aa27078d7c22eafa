//! The stamp of a lab's folder: which runner, guard and servers it belongs to, and whether
//! these processes still live. A process is named by its id *and* its start time, so that a
//! reused id is never taken for ours. Signals nobody; `sweep.rs` does.

use std::fs;
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

/// The stamp's file name in the lab's folder.
pub const FILE: &str = "stamp.json";

/// The prefix of the lab's folders.
pub const PREFIX: &str = "runner-";

/// Changes when stamps of earlier runners can no longer be understood.
const FORMAT: u32 = 1;

/// A process that cannot be mistaken for another.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcessId {
    /// Its id.
    pub pid: u32,
    /// When it started, as the system tells it (Linux: clock ticks since boot, field 22 of
    /// `/proc/PID/stat`).
    pub start: String,
}

impl ProcessId {
    /// The living process with this id; `None` if there is none or only its remains, a zombie.
    pub fn of(pid: u32) -> Option<Self> {
        Some(Self { pid, start: start_time(pid)? })
    }

    /// Ourselves.
    pub fn own() -> Self {
        let pid = std::process::id();
        Self::of(pid).unwrap_or(Self { pid, start: String::new() })
    }

    /// Whether this very process still lives.
    pub fn lives(&self) -> bool {
        Self::of(self.pid).as_ref() == Some(self)
    }
}

/// A server in a stamp.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StampedServer {
    /// The node's name.
    pub name: String,
    /// Its postmaster.
    pub postmaster: ProcessId,
    /// Its data directory.
    pub data: PathBuf,
    /// The names of its POSIX shared memory segments, in case it cannot remove them itself.
    pub shared_memory: Vec<String>,
    /// Its port, for those who want to connect to a kept server.
    pub port: u16,
}

/// What stands in the stamp.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stamp {
    format: u32,
    /// The runner that made the folder.
    pub runner: ProcessId,
    /// Its guard, if it has one.
    pub guard: Option<ProcessId>,
    /// Which boot of the machine the processes belong to.
    boot: String,
    /// Which process namespace their ids belong to: containers may share a `/tmp`.
    namespace: String,
    /// Set by `--keep`: only `runner clean` may end these servers.
    pub kept: bool,
    /// Where the data directories lie, if not in the lab's folder.
    pub bulk: Option<PathBuf>,
    /// The cache the runner works with.
    pub cache: PathBuf,
    /// The servers that were started and not yet seen to end.
    pub servers: Vec<StampedServer>,
}

impl Stamp {
    /// A stamp of our own process without servers.
    pub fn new(guard: Option<ProcessId>, bulk: Option<PathBuf>, cache: PathBuf) -> Self {
        Self {
            format: FORMAT,
            runner: ProcessId::own(),
            guard,
            boot: boot(),
            namespace: namespace(),
            kept: false,
            bulk,
            cache,
            servers: Vec::new(),
        }
    }

    /// Writes it into `home`, atomically: a reader sees the old or the new one.
    pub fn write(&self, home: &Path) -> io::Result<()> {
        let text = serde_json::to_vec_pretty(self).map_err(io::Error::other)?;
        let new = home.join("stamp.new");
        let mut options = fs::File::options();
        let mut file = options.create(true).truncate(true).write(true).mode(0o600).open(&new)?;
        io::Write::write_all(&mut file, &text)?;
        fs::rename(new, home.join(FILE))
    }

    /// Reads the stamp of `home`; `None` if there is none that we wrote: the folder and the
    /// file must be ours, no links, and of this format.
    pub fn read(home: &Path) -> Option<Self> {
        if !is_ours(home, true) || !is_ours(&home.join(FILE), false) {
            return None;
        }
        let stamp: Self = serde_json::from_slice(&fs::read(home.join(FILE)).ok()?).ok()?;
        (stamp.format == FORMAT).then_some(stamp)
    }

    /// Whether its processes can be judged from here (see the namespace).
    pub fn is_of_this_namespace(&self) -> bool {
        self.namespace == namespace() || self.boot != boot()
    }

    /// Whether a process of the stamp is that very one, still running in this boot.
    pub fn lives(&self, process: &ProcessId) -> bool {
        self.boot == boot() && process.lives()
    }
}

/// Whether a path is a folder (or file) of our own user and not a link.
pub(crate) fn is_ours(path: &Path, folder: bool) -> bool {
    path.symlink_metadata().is_ok_and(|m| {
        let kind = if folder { m.is_dir() } else { m.is_file() };
        kind && m.uid() == super::user::effective_uid()
    })
}

/// Waits, at most `bound`, until no process works in a folder or below it (Linux; elsewhere
/// there is no telling). Removing a data directory under a server makes it PANIC, and so
/// leave its shared memory behind.
pub(crate) fn wait_until_unused(folder: &Path, bound: Duration) {
    let until = Instant::now() + bound;
    while is_worked_in(folder) && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(10));
    }
}

fn is_worked_in(folder: &Path) -> bool {
    let Ok(folder) = folder.canonicalize() else {
        return false;
    };
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    processes
        .filter(|e| e.file_name().as_encoded_bytes().iter().all(u8::is_ascii_digit))
        .any(|e| fs::read_link(e.path().join("cwd")).is_ok_and(|cwd| cwd.starts_with(&folder)))
}

fn boot() -> String {
    let path = "/proc/sys/kernel/random/boot_id";
    fs::read_to_string(path).unwrap_or_default().trim().to_owned()
}

fn namespace() -> String {
    let link = fs::read_link("/proc/self/ns/pid").unwrap_or_default();
    link.to_string_lossy().into_owned()
}

#[cfg(target_os = "linux")]
fn start_time(pid: u32) -> Option<String> {
    start_time_in(&fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
}

/// Field 22 of a `/proc/PID/stat` line, unless its state says zombie or dead. The name in
/// field 2 may hold spaces and parentheses, so counting begins after its last one.
#[cfg(target_os = "linux")]
fn start_time_in(stat: &str) -> Option<String> {
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    match fields.first()? {
        &("Z" | "X") => None,
        _ => fields.get(19).map(|&start| start.to_owned()),
    }
}

#[cfg(not(target_os = "linux"))]
fn start_time(pid: u32) -> Option<String> {
    let asked = std::process::Command::new("ps").args(["-o", "stat=,lstart=", "-p", &pid.to_string()]).output().ok()?;
    let text = String::from_utf8_lossy(&asked.stdout).trim().to_owned();
    let (state, start) = text.split_once(' ')?;
    (!state.starts_with('Z')).then(|| start.trim().to_owned())
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use super::*;

    #[cfg(target_os = "linux")]
    #[test]
    fn a_name_with_spaces_and_parentheses_does_not_shift_the_fields() {
        let numbers: Vec<String> = (4..=52).map(|n| n.to_string()).collect();
        let stat = format!("7 (a) b (c)) S {}", numbers.join(" "));
        assert_eq!(start_time_in(&stat).unwrap(), "22");
        assert_eq!(start_time_in(&stat.replace(") S", ") Z")), None);
    }

    #[test]
    fn the_same_id_with_another_start_is_another_process() {
        let own = ProcessId::own();
        assert!(own.lives());
        assert!(!ProcessId { start: "1".to_owned(), ..own }.lives());
    }

    #[test]
    fn a_stamp_is_read_back_only_from_a_folder_of_ours() {
        let root = tempfile::tempdir().unwrap();
        let stamp = Stamp::new(None, None, PathBuf::from("/cache"));
        assert_eq!(Stamp::read(root.path()), None);
        stamp.write(root.path()).unwrap();
        assert_eq!(Stamp::read(root.path()).unwrap(), stamp);
        let link = root.path().join("link");
        std::os::unix::fs::symlink(root.path(), &link).unwrap();
        assert_eq!(Stamp::read(&link), None);
    }
}
