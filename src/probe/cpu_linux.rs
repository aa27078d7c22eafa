//! CPU readings from `/proc`: `schedstat` for nanoseconds, `stat` for start, parent and reaped children.
//!
//! It reads; what two readings mean is in `cpu.rs`.
use super::{CpuReading, ProbeError, ProcessCpu};
use std::fs;
use std::io;
use std::path::Path;

/// How often a reading is tried again when a child ended under it; the last one is kept, unsettled.
const ATTEMPTS: usize = 20;

/// Reads the postmaster `pid` and its live children.
///
/// A child may end, and be reaped, after it was read and before the reaped figure is: it would be
/// in both. So the children and the reaped figure are read again at the end and must be the same.
pub(super) fn read(pid: u32) -> Result<CpuReading, ProbeError> {
    let ns_per_tick = 1_000_000_000 / rustix::param::clock_ticks_per_second().max(1);
    let gone = || ProbeError::Gone { pid };
    let mut attempt = 1;
    loop {
        let before = Stat::read(pid)?.ok_or_else(gone)?;
        let listed = child_pids(pid)?;
        let mut children = Vec::with_capacity(listed.len());
        for &child in &listed {
            children.extend(read_child(child, pid, ns_per_tick)?);
        }
        let postmaster = ProcessCpu {
            pid,
            started: before.started,
            cpu_ns: own_ns(pid, &before, ns_per_tick)?.ok_or_else(gone)?,
            title: title(pid)?.ok_or_else(gone)?,
        };
        let still_there = child_pids(pid)?;
        let after = Stat::read(pid)?.ok_or_else(gone)?;
        let settled = children.len() == listed.len()
            && children.iter().all(|child| still_there.contains(&child.pid))
            && before.reaped_ticks == after.reaped_ticks;
        if settled || attempt == ATTEMPTS {
            return Ok(CpuReading { postmaster, reaped_ns: after.reaped_ticks * ns_per_tick, children, settled });
        }
        attempt += 1;
    }
}

/// CPU of one process, `None` if it has ended.
pub(super) fn read_process(pid: u32) -> Result<Option<u64>, ProbeError> {
    let ns_per_tick = 1_000_000_000 / rustix::param::clock_ticks_per_second().max(1);
    let Some(stat) = Stat::read(pid)? else { return Ok(None) };
    Ok(own_ns(pid, &stat, ns_per_tick)?.map(|own| own + stat.reaped_ticks * ns_per_tick))
}

/// A child of `parent`, `None` if it has ended.
fn read_child(pid: u32, parent: u32, ns_per_tick: u64) -> Result<Option<ProcessCpu>, ProbeError> {
    let Some(stat) = Stat::read(pid)?.filter(|stat| stat.parent == parent) else {
        return Ok(None);
    };
    let Some(own) = own_ns(pid, &stat, ns_per_tick)? else {
        return Ok(None);
    };
    let Some(title) = title(pid)? else {
        return Ok(None);
    };
    Ok(Some(ProcessCpu {
        pid,
        started: stat.started,
        // The shell of an archive_command is reaped by the archiver and would otherwise be
        // nobody's until the archiver itself ends.
        cpu_ns: own + stat.reaped_ticks * ns_per_tick,
        title,
    }))
}

/// A process's own CPU: `schedstat` counts nanoseconds of its main thread, `stat` ticks of all of them.
///
/// The larger is nearer: the kernel brings `stat` up to the moment and `schedstat` only to the
/// last tick, threads of io_uring are in `stat` alone, and a kernel may be built without `schedstat`.
fn own_ns(pid: u32, stat: &Stat, ns_per_tick: u64) -> Result<Option<u64>, ProbeError> {
    let ticks_ns = stat.own_ticks * ns_per_tick;
    let what = format!("/proc/{pid}/schedstat");
    let Some(text) = read_if_there(&what)? else {
        return Ok(Path::new(&format!("/proc/{pid}")).exists().then_some(ticks_ns));
    };
    match text.split_whitespace().next().map(str::parse::<u64>) {
        Some(Ok(ns)) => Ok(Some(ns.max(ticks_ns))),
        _ => Err(ProbeError::Malformed { what, text }),
    }
}

/// What `/proc/PID/stat` says, in clock ticks.
#[derive(Debug, PartialEq, Eq)]
struct Stat {
    parent: u32,
    own_ticks: u64,
    reaped_ticks: u64,
    started: u64,
}

impl Stat {
    fn read(pid: u32) -> Result<Option<Self>, ProbeError> {
        let what = format!("/proc/{pid}/stat");
        let Some(text) = read_if_there(&what)? else {
            return Ok(None);
        };
        match Self::parse(&text) {
            Some(stat) => Ok(Some(stat)),
            None => Err(ProbeError::Malformed { what, text }),
        }
    }

    /// Fields 4, 14 to 17 and 22 of proc_pid_stat(5), counted from behind the name, which may hold spaces and parentheses.
    fn parse(text: &str) -> Option<Self> {
        let (_, after_name) = text.rsplit_once(')')?;
        let fields: Vec<&str> = after_name.split_whitespace().collect();
        let number = |field: usize| fields.get(field - 3)?.parse::<i64>().ok();
        let ticks = |field: usize| Some(number(field)?.max(0) as u64);
        Some(Self {
            parent: u32::try_from(number(4)?).ok()?,
            own_ticks: ticks(14)? + ticks(15)?,
            reaped_ticks: ticks(16)? + ticks(17)?,
            started: ticks(22)?,
        })
    }
}

/// The pids of a process's children, by the kernel's list or, where it keeps none, by their parents.
fn child_pids(parent: u32) -> Result<Vec<u32>, ProbeError> {
    match read_if_there(&format!("/proc/{parent}/task/{parent}/children"))? {
        Some(list) => Ok(list.split_whitespace().filter_map(|pid| pid.parse().ok()).collect()),
        None => scanned_child_pids(parent),
    }
}

fn scanned_child_pids(parent: u32) -> Result<Vec<u32>, ProbeError> {
    let unreadable = |source| ProbeError::Read { what: "/proc".to_owned(), source };
    let mut pids = Vec::new();
    for entry in fs::read_dir("/proc").map_err(unreadable)? {
        let name = entry.map_err(unreadable)?.file_name();
        let Some(pid) = name.to_str().and_then(|name| name.parse().ok()) else {
            continue;
        };
        if Stat::read(pid)?.is_some_and(|stat| stat.parent == parent) {
            pids.push(pid);
        }
    }
    Ok(pids)
}

/// The title as `ps` shows it; PostgreSQL overwrites its arguments and pads them with zeros.
fn title(pid: u32) -> Result<Option<String>, ProbeError> {
    let text = read_if_there(&format!("/proc/{pid}/cmdline"))?;
    Ok(text.map(|text| text.trim_end_matches('\0').replace('\0', " ")))
}

/// A file's text, `None` if the process, or this file of it, is not there.
fn read_if_there(path: &str) -> Result<Option<String>, ProbeError> {
    match fs::read(path) {
        Ok(bytes) => Ok(Some(String::from_utf8_lossy(&bytes).into_owned())),
        Err(error) if is_gone(&error) => Ok(None),
        Err(source) => Err(ProbeError::Read { what: path.to_owned(), source }),
    }
}

/// A process that ends between opening and reading gives ESRCH, before that ENOENT.
fn is_gone(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::NotFound || error.raw_os_error() == Some(rustix::io::Errno::SRCH.raw_os_error())
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]
    use super::*;
    use std::io::{BufRead, BufReader, Read, Write};
    use std::process::{Child, Command, Stdio};

    #[test]
    fn a_name_with_parentheses_does_not_shift_the_fields() {
        let text = "4711 (postgres: a) R (b) S 42 4711 4711 0 -1 4194560 1 2 3 4 150 50 600 25 20 0 1 0 98765 1 2";
        let stat = Stat::parse(text).unwrap();
        assert_eq!(stat, Stat { parent: 42, own_ticks: 200, reaped_ticks: 625, started: 98765 });
        assert_eq!(Stat::parse("4711 (postgres) S 42"), None);
    }

    #[test]
    fn both_ways_of_listing_children_agree() {
        let mut parent = shell("sleep 60 & sleep 60 & echo ready; read x; kill $(jobs -p); wait");
        let mut listed = child_pids(parent.id()).unwrap();
        let mut scanned = scanned_child_pids(parent.id()).unwrap();
        listed.sort_unstable();
        scanned.sort_unstable();
        assert_eq!(listed.len(), 2);
        assert_eq!(listed, scanned);
        finish(&mut parent);
    }

    #[test]
    fn a_postmaster_that_is_gone_is_said_to_be_gone() {
        let mut child = Command::new("true").spawn().unwrap();
        let pid = child.id();
        child.wait().unwrap();
        assert!(matches!(read(pid), Err(ProbeError::Gone { pid: told }) if told == pid));
    }

    /// A shell stands for the postmaster: one child that stays and works, one that works and ends. At its end the
    /// shell tells what all its children took by the kernel's own account. The one that stays is no other program
    /// all at once: in the middle of an exec a process has no title, like one that has ended.
    #[test]
    fn live_and_ended_children_are_counted_once_each() {
        let spin = "i=0; while [ $i -lt 150000 ]; do i=$((i+1)); done";
        let mut parent = shell(&format!(
            "echo ready; read x; (echo >/dev/null; {spin}) ; (echo >/dev/null; {spin}; echo ready; while :; do sleep 1 >/dev/null; done) & read x; kill %1; wait; times"
        ));
        let first = read(parent.id()).unwrap();
        go_on(&mut parent);
        let last = read(parent.id()).unwrap();
        let used = last.since(&first, &[]);
        assert!(used.settled);
        let live: u64 = used.by_role.values().sum();
        assert!(live > 0 && used.exited_ns > 0);
        finish(&mut parent);
        let mut told = String::new();
        parent.stdout.take().unwrap().read_to_string(&mut told).unwrap();
        let account: f64 = told.lines().last().unwrap().split_whitespace().map(seconds).sum();
        let counted = (live + used.exited_ns) as f64 / 1e9;
        // A child counted twice, or not at all, would be off by a half; exec and exit take some milliseconds.
        assert!((counted - account).abs() < 0.05 + 0.1 * account, "counted {counted} s, the account is {account} s");
    }

    /// `1m2.345s` of the shell's `times`.
    fn seconds(text: &str) -> f64 {
        let (minutes, seconds) = text.trim_end_matches('s').split_once('m').unwrap();
        minutes.parse::<f64>().unwrap() * 60.0 + seconds.parse::<f64>().unwrap()
    }

    fn shell(script: &str) -> Child {
        let mut child =
            Command::new("bash").args(["-c", script]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        await_ready(&mut child);
        child
    }

    fn await_ready(child: &mut Child) {
        let mut line = String::new();
        BufReader::with_capacity(1, child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        assert_eq!(line, "ready\n");
    }

    fn go_on(child: &mut Child) {
        child.stdin.as_mut().unwrap().write_all(b"\n").unwrap();
        await_ready(child);
    }

    fn finish(child: &mut Child) {
        child.stdin.as_mut().unwrap().write_all(b"\n").unwrap();
        child.wait().unwrap();
    }
}
