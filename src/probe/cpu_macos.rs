//! CPU readings on macOS through libproc: `proc_pid_rusage` counts live processes and reaped children alike.
//!
//! Compiled on macOS only, and not tested by the authors on a real one.
use super::{CpuReading, ProbeError, ProcessCpu};
use libproc::libproc::pid_rusage::{RUsageInfoV2, pidrusage};
use libproc::processes::{ProcFilter, pids_by_type};
use std::io;
use sysinfo::{Pid, ProcessRefreshKind, ProcessesToUpdate, System, UpdateKind};

const ATTEMPTS: usize = 20;

/// Reads the postmaster `pid` and its live children, again while a child ends under it.
pub(super) fn read(pid: u32) -> Result<CpuReading, ProbeError> {
    let mut attempt = 1;
    loop {
        let before = usage(pid).ok_or(ProbeError::Gone { pid })?;
        let listed = child_pids(pid)?;
        let titles = titles(pid, &listed)?;
        let children: Vec<ProcessCpu> = listed
            .iter()
            .filter_map(|&child| {
                let usage = usage(child)?;
                Some(process(child, &usage, own_ns(&usage) + reaped_ns(&usage), &titles))
            })
            .collect();
        let still_there = child_pids(pid)?;
        let after = usage(pid).ok_or(ProbeError::Gone { pid })?;
        let settled = children.len() == listed.len()
            && children.iter().all(|child| still_there.contains(&child.pid))
            && reaped_ns(&before) == reaped_ns(&after);
        if settled || attempt == ATTEMPTS {
            return Ok(CpuReading {
                postmaster: process(pid, &after, own_ns(&after), &titles),
                reaped_ns: reaped_ns(&after),
                children,
                settled,
            });
        }
        attempt += 1;
    }
}

/// CPU of one process, `None` if it has ended.
#[expect(clippy::unnecessary_wraps, reason = "elsewhere reading can fail")]
pub(super) fn read_process(pid: u32) -> Result<Option<u64>, ProbeError> {
    Ok(usage(pid).map(|usage| own_ns(&usage) + reaped_ns(&usage)))
}

fn process(pid: u32, usage: &RUsageInfoV2, cpu_ns: u64, titles: &System) -> ProcessCpu {
    let words = titles.process(Pid::from_u32(pid)).map(|process| {
        let words: Vec<_> = process.cmd().iter().map(|word| word.to_string_lossy()).collect();
        words.join(" ")
    });
    ProcessCpu { pid, started: usage.ri_proc_start_abstime, cpu_ns, title: words.unwrap_or_default() }
}

fn usage(pid: u32) -> Option<RUsageInfoV2> {
    pidrusage::<RUsageInfoV2>(i32::try_from(pid).ok()?).ok()
}

fn own_ns(usage: &RUsageInfoV2) -> u64 {
    nanoseconds(usage.ri_user_time + usage.ri_system_time)
}

fn reaped_ns(usage: &RUsageInfoV2) -> u64 {
    nanoseconds(usage.ri_child_user_time + usage.ri_child_system_time)
}

/// The kernel counts Mach ticks: 125/3 ns on Apple silicon, 1 ns on Intel.
fn nanoseconds(ticks: u64) -> u64 {
    if cfg!(target_arch = "aarch64") { (u128::from(ticks) * 125 / 3) as u64 } else { ticks }
}

fn child_pids(parent: u32) -> Result<Vec<u32>, ProbeError> {
    pids_by_type(ProcFilter::ByParentProcess { ppid: parent })
        .map_err(|source| ProbeError::Read { what: format!("the children of process {parent}"), source })
}

/// PostgreSQL writes its title over its arguments, which sysinfo reads.
fn titles(postmaster: u32, children: &[u32]) -> Result<System, ProbeError> {
    let mut system = System::new().map_err(|error| ProbeError::Read {
        what: "the process list".to_owned(),
        source: io::Error::other(error.to_string()),
    })?;
    let pids: Vec<Pid> = children.iter().chain([&postmaster]).map(|pid| Pid::from_u32(*pid)).collect();
    system.refresh_processes_specifics(
        ProcessesToUpdate::Some(&pids),
        true,
        ProcessRefreshKind::nothing().with_cmd(UpdateKind::Always),
    );
    Ok(system)
}
