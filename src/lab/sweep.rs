//! Ends what a dead runner left behind: its servers, their shared memory, its folders.
//!
//! Used by the guard (at once), by the sweep at the start of the next runner (for what
//! outlived the guard too) and by `runner clean` (for kept servers). Signalled are only
//! postmasters that a stamp names by id and start time, or that a data directory of a stamped
//! folder names and that really work there, and their children. Blocking; forks no server.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use rustix::process::{Pid, Signal, kill_process};

use super::cache::clear_half_made;
use super::is_random_name;
use super::shared_memory;
use super::stamp::{FILE, PREFIX, ProcessId, Stamp, StampedServer, is_ours, wait_until_unused};

/// How long servers may take for an immediate shutdown before they are killed.
const QUIT_BOUND: Duration = Duration::from_secs(3);

/// How long killed processes may take to vanish.
const KILL_BOUND: Duration = Duration::from_secs(1);

/// How old an empty folder without a stamp must be before it counts as left over.
const STAMP_BOUND: Duration = Duration::from_mins(1);

/// What a sweep did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Swept {
    /// The labs that are gone now.
    pub removed: Vec<PathBuf>,
    /// Labs that could not be removed, with the reason.
    pub left: Vec<(PathBuf, String)>,
    /// Labs kept by `--keep`, in place.
    pub kept: Vec<PathBuf>,
}

/// Looks through the labs in `temporary` and removes those whose runner and guard are gone;
/// kept ones too if `kept_too` (`runner clean`). Clears half-made things in `cache`.
pub fn sweep(temporary: &Path, cache: &Path, kept_too: bool) -> Swept {
    let mut swept = Swept::default();
    for entry in fs::read_dir(temporary).into_iter().flatten().flatten() {
        let home = entry.path();
        let name = entry.file_name();
        let of_our_form = name.to_str().and_then(|n| n.strip_prefix(PREFIX)).is_some_and(is_random_name);
        if !of_our_form || !is_ours(&home, true) {
            continue;
        }
        let Some(stamp) = Stamp::read(&home) else {
            remove_if_abandoned(&home);
            continue;
        };
        let at_work = stamp.lives(&stamp.runner) || stamp.guard.as_ref().is_some_and(|g| stamp.lives(g));
        if !stamp.is_of_this_namespace() || (at_work && !stamp.kept) {
            continue;
        }
        if stamp.kept && !kept_too {
            swept.kept.push(home);
            continue;
        }
        match put_down(&home, Some(&stamp)) {
            Ok(()) => swept.removed.push(home),
            Err(error) => swept.left.push((home, error)),
        }
    }
    clear_half_made(cache);
    swept
}

/// Labs of ours in `temporary` whose runner or guard is at work.
pub fn at_work(temporary: &Path) -> Vec<PathBuf> {
    let mut labs = Vec::new();
    for entry in fs::read_dir(temporary).into_iter().flatten().flatten() {
        let of_our_form =
            entry.file_name().to_str().and_then(|name| name.strip_prefix(PREFIX)).is_some_and(is_random_name);
        if !of_our_form || !is_ours(&entry.path(), true) {
            continue;
        }
        let lives =
            |stamp: &Stamp| stamp.lives(&stamp.runner) || stamp.guard.as_ref().is_some_and(|guard| stamp.lives(guard));
        // Who works in another namespace cannot be seen to have ended.
        if Stamp::read(&entry.path()).is_some_and(|stamp| !stamp.is_of_this_namespace() || lives(&stamp)) {
            labs.push(entry.path());
        }
    }
    labs
}

/// Ends the servers of a lab and removes its folders.
pub(crate) fn put_down(home: &Path, stamp: Option<&Stamp>) -> Result<(), String> {
    if let Some(stamp) = stamp {
        let servers = servers(home, stamp);
        end_servers(&servers);
        wait_until_unused(&nodes_folder(home, stamp), KILL_BOUND);
        for server in &servers {
            shared_memory::remove_left_behind(&server.data, &server.shared_memory);
        }
    }
    let until = Instant::now() + KILL_BOUND;
    loop {
        // The last processes of a killed server may still be writing: try again.
        match remove_folders(home, stamp.and_then(|s| s.bulk.as_deref())) {
            Err(_) if Instant::now() < until => std::thread::sleep(Duration::from_millis(50)),
            Err(error) => return Err(error.to_string()),
            Ok(()) => return Ok(()),
        }
    }
}

/// Removes a lab's folders, the stamp last: as long as anything is there it can be told
/// whose it is. The folder elsewhere must bear the same name and be ours.
pub(crate) fn remove_folders(home: &Path, bulk: Option<&Path>) -> std::io::Result<()> {
    if let Some(bulk) = bulk
        && bulk.file_name() == home.file_name()
        && is_ours(bulk, true)
    {
        fs::remove_dir_all(bulk)?;
    }
    let entries = match fs::read_dir(home) {
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        entries => entries?,
    };
    for entry in entries {
        let entry = entry?;
        if entry.file_name() == FILE {
            continue;
        }
        let removed =
            if entry.file_type()?.is_dir() { fs::remove_dir_all(entry.path()) } else { fs::remove_file(entry.path()) };
        ignore_missing(removed)?;
    }
    ignore_missing(fs::remove_file(home.join(FILE)))?;
    ignore_missing(fs::remove_dir(home))
}

fn ignore_missing(result: std::io::Result<()>) -> std::io::Result<()> {
    match result {
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(()),
        other => other,
    }
}

fn nodes_folder(home: &Path, stamp: &Stamp) -> PathBuf {
    stamp.bulk.as_deref().unwrap_or(home).join("nodes")
}

/// The servers to end: those stamped and, because a runner can die between starting a server
/// and stamping it, those that `postmaster.pid` files in our folders name.
fn servers(home: &Path, stamp: &Stamp) -> Vec<StampedServer> {
    let mut servers = stamp.servers.clone();
    for server in &mut servers {
        if !stamp.lives(&server.postmaster) {
            // Restarted and not yet stamped anew, or gone: an identity that nothing living
            // has. Its shared memory may still be there.
            server.postmaster.start.clear();
            if let Some(again) = postmaster_at_work(&server.data) {
                server.shared_memory.extend(shared_memory::mapped(again.pid));
                server.postmaster = again;
            }
        }
    }
    for entry in fs::read_dir(nodes_folder(home, stamp)).into_iter().flatten().flatten() {
        let data = entry.path();
        if servers.iter().any(|s| s.data == data) {
            continue;
        }
        if let Some(postmaster) = postmaster_at_work(&data) {
            servers.push(StampedServer {
                name: entry.file_name().to_string_lossy().into_owned(),
                shared_memory: shared_memory::mapped(postmaster.pid),
                postmaster,
                data,
                port: 0,
            });
        }
    }
    servers
}

/// The process that `postmaster.pid` in `data` names, if its working folder is `data` (a
/// postmaster changes into it): a reused id would work elsewhere.
fn postmaster_at_work(data: &Path) -> Option<ProcessId> {
    let text = fs::read_to_string(data.join("postmaster.pid")).ok()?;
    let pid: u32 = text.lines().next()?.trim().parse().ok()?;
    let process = ProcessId::of(pid)?;
    let folder = fs::read_link(format!("/proc/{pid}/cwd")).ok()?;
    (folder == data.canonicalize().ok()?).then_some(process)
}

/// Immediate shutdown for all at once; after the bound SIGKILL for them and their children.
fn end_servers(servers: &[StampedServer]) {
    let postmasters: Vec<&ProcessId> = servers.iter().map(|s| &s.postmaster).filter(|p| p.lives()).collect();
    for postmaster in &postmasters {
        signal(postmaster, Signal::QUIT);
    }
    if all_gone(&postmasters, QUIT_BOUND) {
        return;
    }
    // Children of a killed postmaster notice its death only between two steps of work.
    let children: Vec<ProcessId> = postmasters.iter().flat_map(|p| children(p.pid)).collect();
    let mut doomed = postmasters;
    doomed.extend(&children);
    for process in &doomed {
        signal(process, Signal::KILL);
    }
    all_gone(&doomed, KILL_BOUND);
}

fn all_gone(processes: &[&ProcessId], bound: Duration) -> bool {
    let until = Instant::now() + bound;
    loop {
        if !processes.iter().any(|p| p.lives()) {
            return true;
        }
        if Instant::now() > until {
            return false;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}

fn signal(process: &ProcessId, signal: Signal) {
    let pid = i32::try_from(process.pid).ok().and_then(Pid::from_raw);
    if let Some(pid) = pid.filter(|_| process.lives()) {
        // It may have ended just now, which is what we want of it.
        let _ = kill_process(pid, signal);
    }
}

/// The direct children of a process (Linux; elsewhere none are known).
fn children(pid: u32) -> Vec<ProcessId> {
    let list = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
    list.split_whitespace().filter_map(|p| ProcessId::of(p.parse().ok()?)).collect()
}

/// Removes a folder of ours that is empty and no longer new: its runner died between making
/// and stamping it, or between removing the stamp and the folder.
fn remove_if_abandoned(home: &Path) {
    let age = home.metadata().and_then(|m| m.modified()).ok();
    let old = age.and_then(|t| SystemTime::now().duration_since(t).ok());
    if old.is_some_and(|age| age > STAMP_BOUND) {
        // Refused by the system unless it is empty.
        let _ = fs::remove_dir(home);
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use super::*;

    fn lab(root: &Path, name: &str, change: impl FnOnce(&mut Stamp)) -> PathBuf {
        let home = root.join(name);
        fs::create_dir_all(home.join("nodes/n1")).unwrap();
        let mut stamp = Stamp::new(None, None, root.join("cache"));
        stamp.runner.start = "another".to_owned();
        change(&mut stamp);
        stamp.write(&home).unwrap();
        home
    }

    #[test]
    fn only_labs_without_runner_and_guard_are_removed() {
        let root = tempfile::tempdir().unwrap();
        let dead = lab(root.path(), "runner-deaddead", |_| ());
        let alive = lab(root.path(), "runner-aaaaaaaa", |s| {
            s.runner = ProcessId::own();
        });
        let guarded = lab(root.path(), "runner-guarguar", |s| {
            s.guard = Some(ProcessId::own());
        });
        let kept = lab(root.path(), "runner-keptkept", |s| s.kept = true);
        let foreign = root.path().join("runner-fffffff2");
        fs::create_dir_all(foreign.join("nodes")).unwrap();
        let mut at_work = at_work(root.path());
        at_work.sort();
        assert_eq!(at_work, [alive.clone(), guarded.clone()]);
        let swept = sweep(root.path(), &root.path().join("cache"), false);
        assert_eq!(swept.removed, [dead]);
        assert_eq!(swept.kept, std::slice::from_ref(&kept));
        assert!(alive.exists() && guarded.exists() && foreign.exists());
        let swept = sweep(root.path(), &root.path().join("cache"), true);
        assert_eq!(swept.removed, [kept]);
    }

    #[test]
    fn a_process_with_another_start_time_is_not_signalled() {
        let root = tempfile::tempdir().unwrap();
        let mut sleeper = std::process::Command::new("sleep").arg("1000").spawn().unwrap();
        let mut postmaster = ProcessId::of(sleeper.id()).unwrap();
        postmaster.start = "1".to_owned();
        lab(root.path(), "runner-xxxxxxxx", |s| {
            s.servers.push(StampedServer {
                name: "n1".to_owned(),
                postmaster,
                data: root.path().join("runner-xxxxxxxx/nodes/n1"),
                shared_memory: Vec::new(),
                port: 5432,
            });
        });
        assert_eq!(sweep(root.path(), root.path(), false).removed.len(), 1);
        assert!(sleeper.try_wait().unwrap().is_none());
        sleeper.kill().unwrap();
        sleeper.wait().unwrap();
    }

    #[test]
    fn a_folder_elsewhere_goes_only_under_the_same_name() {
        let root = tempfile::tempdir().unwrap();
        for (name, bulk, goes) in
            [("runner-aaaaaaaa", "big/runner-aaaaaaaa", true), ("runner-bbbbbbbb", "big/other", false)]
        {
            let bulk = root.path().join(bulk);
            fs::create_dir_all(&bulk).unwrap();
            lab(root.path(), name, |s| s.bulk = Some(bulk.clone()));
            sweep(root.path(), root.path(), false);
            assert_eq!(!bulk.exists(), goes, "{name}");
        }
    }
}
