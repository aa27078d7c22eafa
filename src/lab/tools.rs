//! Finds a client tool such as pgbench wherever it stands: beside a server, in a distribution's folder of client tools
//! alone, or on `PATH`. Newer tools serve older servers, so the newest is taken whatever servers run.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::find::{Found, Origin, Version};
use super::folders::{expand, is_program, newest_first, system_patterns};
use super::process::{Output, Program};

/// How long a tool may take to print its version.
const BOUND: Duration = Duration::from_secs(10);

/// A client tool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tool {
    /// The program.
    pub program: PathBuf,
    /// Its own version.
    pub version: Version,
    /// How it was found.
    pub origin: Origin,
}

/// The newest `name` among the installations found, the usual folders and `path` (the value of `PATH`); of several
/// equally new ones the first in that order. A program that does not tell its version is passed over.
pub async fn newest(name: &str, found: &Found, path: Option<&OsStr>) -> Option<Tool> {
    let mut places: Vec<(PathBuf, Origin)> =
        found.installations.iter().map(|one| (one.program(name), one.origin.clone())).collect();
    for pattern in system_patterns() {
        let folders = newest_first(expand(Path::new(pattern)));
        places.extend(folders.iter().map(|bin| (bin.join(name), Origin::System((*pattern).to_owned()))));
    }
    let on_path = path.into_iter().flat_map(std::env::split_paths).filter(|folder| folder.is_absolute());
    places.extend(on_path.map(|folder| (folder.join(name), Origin::Path)));

    let mut best: Option<Tool> = None;
    let mut seen: Vec<PathBuf> = Vec::new();
    for (program, origin) in places {
        if !is_program(&program) || seen.contains(&program) {
            continue;
        }
        seen.push(program.clone());
        let Some(version) = version(name, &program).await else { continue };
        let newer = |tool: &Tool| (tool.version.major, tool.version.minor) < (version.major, version.minor);
        if best.as_ref().is_none_or(newer) {
            best = Some(Tool { program, version, origin });
        }
    }
    best
}

/// The version that `NAME --version` tells, such as `pgbench (PostgreSQL) 18.6`.
async fn version(name: &str, program: &Path) -> Option<Version> {
    let answer = Program::new(program).arg("--version").output(BOUND).await.and_then(Output::successful).ok()?;
    let rest = answer.trim().strip_prefix(name)?;
    Version::parse(&format!("postgres{rest}"))
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use super::*;
    use crate::lab::Installation;
    use std::collections::BTreeSet;
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    fn script(path: &Path, text: &str) {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, format!("#!/bin/sh\n{text}\n")).unwrap();
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    #[tokio::test(flavor = "current_thread")]
    async fn the_newest_is_taken_wherever_it_stands_and_the_first_of_equals() {
        let root = tempfile::tempdir().unwrap();
        let place = |name: &str| root.path().join(name);
        script(&place("server/tool"), "echo 'tool (PostgreSQL) 98.2'");
        script(&place("old/tool"), "echo 'tool (PostgreSQL) 97.9'");
        script(&place("broken/tool"), "exit 1");
        script(&place("new/tool"), "echo 'tool (PostgreSQL) 99.1 (Debian 99.1-1)'");
        script(&place("again/tool"), "echo 'tool (PostgreSQL) 99.1'");
        let installation = Installation {
            version: Version::parse("postgres (PostgreSQL) 98.2").unwrap(),
            bin: place("server"),
            tools: BTreeSet::new(),
            origin: Origin::Flag,
        };
        let found = Found { installations: vec![installation], passed_over: Vec::new() };
        let alone = newest("tool", &found, None).await.unwrap();
        assert_eq!((alone.program, alone.origin), (place("server/tool"), Origin::Flag));
        let path = std::env::join_paths(["old", "broken", "new", "again"].map(place)).unwrap();
        let newest = newest("tool", &found, Some(&path)).await.unwrap();
        assert_eq!((newest.program, newest.origin), (place("new/tool"), Origin::Path));
        assert_eq!(newest.version.to_string(), "99.1");
        assert_eq!(super::newest("no_such_tool", &found, Some(&path)).await, None);
    }
}
