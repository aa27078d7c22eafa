//! Removes the shared memory that a killed server could not remove itself.
//!
//! A postmaster owns a tiny System V segment (an interlock, named in its `postmaster.pid`)
//! and POSIX segments `/dev/shm/PostgreSQL.*`. Any orderly or immediate shutdown removes
//! both; SIGKILL leaves them. So servers always get SIGQUIT first, and this file is for those
//! that somebody killed harder. There is no safe `shmctl` in our dependencies: `ipcrm`, part
//! of util-linux and of macOS, does it, and its absence leaves 56 bytes behind.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Where POSIX shared memory appears on Linux; elsewhere it has no names to list.
const FOLDER: &str = "/dev/shm";

/// How long the last processes of a killed server may hold its segment.
const DETACH_BOUND: Duration = Duration::from_secs(2);

/// The names of the POSIX segments of PostgreSQL that a process has mapped, without folder.
pub fn mapped(pid: u32) -> Vec<String> {
    names_in(&fs::read_to_string(format!("/proc/{pid}/maps")).unwrap_or_default())
}

fn names_in(maps: &str) -> Vec<String> {
    let prefix = format!("{FOLDER}/");
    let mut names: Vec<String> = maps
        .lines()
        .filter_map(|line| line.split_whitespace().nth(5)?.strip_prefix(&prefix))
        .filter(|name| is_segment_name(name))
        .map(str::to_owned)
        .collect();
    names.sort_unstable();
    names.dedup();
    names
}

fn is_segment_name(name: &str) -> bool {
    let number = name.strip_prefix("PostgreSQL.");
    number.is_some_and(|n| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()))
}

/// Removes what the server of `data` left behind. Does nothing if it ended by itself (its
/// `postmaster.pid` is gone then). The System V segment goes only if the kernel says that this
/// postmaster created it and nobody is attached; `segments` only if the data directory's
/// owner owns them.
pub fn remove_left_behind(data: &Path, segments: &[String]) {
    let Ok(lock_file) = fs::read_to_string(data.join("postmaster.pid")) else {
        return;
    };
    let Ok(owner) = fs::metadata(data).map(|m| m.uid()) else {
        return;
    };
    if let Some((pid, segment)) = interlock(&lock_file) {
        let until = Instant::now() + DETACH_BOUND;
        loop {
            let table = fs::read_to_string("/proc/sysvipc/shm").unwrap_or_default();
            match attached(&table, segment, pid) {
                None => break,
                Some(0) => {
                    let _ = Command::new("ipcrm")
                        .args(["-m", &segment.to_string()])
                        .stdin(Stdio::null())
                        .stdout(Stdio::null())
                        .stderr(Stdio::null())
                        .status();
                    break;
                }
                Some(_) if Instant::now() > until => break,
                Some(_) => std::thread::sleep(Duration::from_millis(20)),
            }
        }
    }
    let owned = |name: &str| {
        let path = Path::new(FOLDER).join(name);
        path.symlink_metadata().is_ok_and(|m| m.is_file() && m.uid() == owner).then_some(path)
    };
    for name in segments.iter().filter(|name| is_segment_name(name)) {
        let Some(path) = owned(name) else { continue };
        // The segments made later (statistics, parallel queries) stand in the control segment.
        let later = controlled(&fs::read(&path).unwrap_or_default());
        for path in later.iter().filter_map(|name| owned(name)).chain([path]) {
            let _ = fs::remove_file(path);
        }
    }
}

/// The segments that a control segment lists, as the server's own clean-up after a crash
/// reads them (`dsm_cleanup_using_control_segment`, 64-bit layout of 14 to 18); nothing if
/// these bytes are no control segment.
fn controlled(bytes: &[u8]) -> Vec<String> {
    /// `PG_DYNSHMEM_CONTROL_MAGIC`.
    const MAGIC: u32 = 0x9a50_3d32;
    /// `dsm_control_header` up to its items: magic, used and allocated items, padding.
    const HEADER: usize = 16;
    /// `dsm_control_item`: handle, reference count, three words and a flag.
    const ITEM: usize = 40;
    let word = |at: usize| {
        let bytes = bytes.get(at..at + 4)?;
        Some(u32::from_ne_bytes(bytes.try_into().expect("the slice has four bytes")))
    };
    if word(0) != Some(MAGIC) || bytes.len() % ITEM != HEADER {
        return Vec::new();
    }
    let items = word(4).unwrap_or(0) as usize;
    let places = (HEADER..bytes.len()).step_by(ITEM).take(items);
    places
        .filter(|at| word(at + 4).is_some_and(|references| references != 0))
        .filter_map(|at| word(at).map(|handle| format!("PostgreSQL.{handle}")))
        .collect()
}

/// The postmaster's id (line 1) and the System V segment's id (line 7, after its key).
fn interlock(lock_file: &str) -> Option<(u32, i64)> {
    let mut lines = lock_file.lines();
    let pid = lines.next()?.trim().parse().ok()?;
    let segment = lines.nth(5)?.split_whitespace().nth(1)?.parse().ok()?;
    Some((pid, segment))
}

/// How many processes are attached to a segment in a `/proc/sysvipc/shm` table, if it is
/// there and was created by `creator`.
fn attached(table: &str, segment: i64, creator: u32) -> Option<u64> {
    // Columns: key shmid perms size cpid lpid nattch …
    table.lines().skip(1).find_map(|line| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let is = |column: usize, value: &str| fields.get(column) == Some(&value);
        if is(1, &segment.to_string()) && is(4, &creator.to_string()) { fields.get(6)?.parse().ok() } else { None }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn segments_are_found_in_a_memory_map() {
        let maps = "7f00-7f01 rw-s 00000000 00:18 5   /dev/shm/PostgreSQL.1804289383\n\
                    7f02-7f03 rw-s 00000000 00:18 5   /dev/shm/PostgreSQL.1804289383\n\
                    7f04-7f05 rw-s 00000000 00:18 6   /dev/shm/other\n\
                    7f06-7f07 r--p 00000000 08:01 7   /dev/shm/PostgreSQL.x\n\
                    7f08-7f09 rw-p 00000000 00:00 0\n";
        assert_eq!(names_in(maps), ["PostgreSQL.1804289383"]);
    }

    #[test]
    fn a_control_segment_lists_the_referenced_segments_and_other_bytes_list_none() {
        let mut bytes = Vec::new();
        for word in [0x9a50_3d32_u32, 2, 3, 0] {
            bytes.extend(word.to_ne_bytes());
        }
        for (handle, references) in [(11_u32, 1_u32), (22, 0), (33, 2)] {
            bytes.extend(handle.to_ne_bytes());
            bytes.extend(references.to_ne_bytes());
            bytes.extend([0_u8; 32]);
        }
        assert_eq!(controlled(&bytes), ["PostgreSQL.11"]);
        bytes[0] = 0;
        assert!(controlled(&bytes).is_empty() && controlled(&[]).is_empty());
    }

    #[test]
    fn the_interlock_is_line_seven() {
        let file = "4711\n/data\n1764525600\n5432\n/tmp/s\n\n   5432001    32770\nready   \n";
        assert_eq!(interlock(file), Some((4711, 32770)));
        assert_eq!(interlock("4711\n/data\n"), None);
    }

    #[test]
    fn a_segment_of_another_creator_is_not_ours() {
        let table = "       key      shmid perms size  cpid  lpid nattch   uid\n\
                     5432001      32770   600   56  4711  4711      2   101\n";
        assert_eq!(attached(table, 32770, 4711), Some(2));
        assert_eq!(attached(table, 32770, 4712), None);
        assert_eq!(attached(table, 1, 4711), None);
    }
}
