//! Where PostgreSQL usually stands: the folders of distributions, and what is really behind
//! an entry of `PATH`. What stands there is examined by `find.rs`.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::process::Program;

/// How long `pg_config` may take.
const BOUND: Duration = Duration::from_secs(10);

/// The usual folders, with `*` for a version.
pub(crate) fn system_patterns() -> &'static [&'static str] {
    if cfg!(target_os = "macos") {
        &[
            "/opt/homebrew/opt/postgresql@*/bin",
            "/usr/local/opt/postgresql@*/bin",
            "/Applications/Postgres.app/Contents/Versions/*/bin",
        ]
    } else {
        &["/usr/lib/postgresql/*/bin", "/usr/pgsql-*/bin", "/home/linuxbrew/.linuxbrew/opt/postgresql@*/bin"]
    }
}

/// The folders that a pattern with at most one `*` in one component names.
pub(crate) fn expand(pattern: &Path) -> Vec<PathBuf> {
    let mut paths = vec![PathBuf::new()];
    for component in pattern.components() {
        let part = component.as_os_str().to_string_lossy();
        let Some((before, after)) = part.split_once('*') else {
            for path in &mut paths {
                path.push(component);
            }
            continue;
        };
        let matching = |folder: &PathBuf| -> Vec<PathBuf> {
            let entries = fs::read_dir(folder).into_iter().flatten().flatten();
            let names = entries.map(|e| e.file_name()).filter(|name| {
                let name = name.to_string_lossy();
                let long = name.len() >= before.len() + after.len();
                long && name.starts_with(before) && name.ends_with(after)
            });
            names.map(|name| folder.join(name)).collect()
        };
        paths = paths.iter().flat_map(matching).collect();
    }
    paths.retain(|p| p.is_dir());
    paths
}

/// Sorts folders such as `…/postgresql/15/bin` by the numbers in them, highest first.
pub(crate) fn newest_first(mut folders: Vec<PathBuf>) -> Vec<PathBuf> {
    let key = |path: &PathBuf| -> Vec<u32> {
        let text = path.to_string_lossy().into_owned();
        text.split(|c: char| !c.is_ascii_digit()).filter_map(|n| n.parse().ok()).collect()
    };
    folders.sort_by_key(|p| std::cmp::Reverse(key(p)));
    folders
}

/// The real bin folder behind an entry of `PATH`: where its `postgres` leads when that is a
/// program, else (a wrapper script, or Debian's client wrappers without any `postgres`)
/// where the entry's `pg_config` points.
pub(crate) async fn behind_path_entry(folder: &Path) -> Option<PathBuf> {
    let postgres = folder.join("postgres");
    if is_program(&postgres) && !is_script(&postgres) {
        let real = postgres.canonicalize().ok()?;
        let behind = real.parent()?;
        let whole = is_program(&behind.join("initdb"));
        return Some(if whole { behind.to_owned() } else { folder.to_owned() });
    }
    let pg_config = folder.join("pg_config");
    if !is_program(&pg_config) {
        return None;
    }
    let answer = Program::new(pg_config).arg("--bindir").output(BOUND).await.ok()?;
    let bin = PathBuf::from(answer.successful().ok()?.trim());
    (is_program(&bin.join("postgres")) && !is_script(&bin.join("postgres"))).then_some(bin)
}

/// Whether a regular file with an execute bit stands there, links followed.
pub(crate) fn is_program(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    fs::metadata(path).is_ok_and(|m| m.is_file() && m.permissions().mode() & 0o111 != 0)
}

fn is_script(path: &Path) -> bool {
    let mut start = [0_u8; 2];
    let read = fs::File::open(path).and_then(|mut f| f.read_exact(&mut start));
    read.is_ok() && start == *b"#!"
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use super::*;
    use std::os::unix::fs::PermissionsExt;

    fn script(path: &Path, text: &str) {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, format!("#!/bin/sh\n{text}\n")).unwrap();
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    #[tokio::test(flavor = "current_thread")]
    async fn wrapper_scripts_on_path_lead_to_where_pg_config_points() {
        let root = tempfile::tempdir().unwrap();
        let real = root.path().join("real");
        fs::create_dir(&real).unwrap();
        fs::copy("/bin/true", real.join("postgres")).unwrap();
        let shims = root.path().join("shims");
        script(&shims.join("postgres"), "exec elsewhere");
        script(&shims.join("pg_config"), &format!("echo {}", real.display()));
        assert_eq!(behind_path_entry(&shims).await.unwrap(), real);
    }

    #[test]
    fn patterns_expand_newest_first() {
        let root = tempfile::tempdir().unwrap();
        for version in ["9", "15", "18"] {
            fs::create_dir_all(root.path().join(format!("pg-{version}/bin"))).unwrap();
        }
        let folders = newest_first(expand(&root.path().join("pg-*/bin")));
        let ends: Vec<bool> =
            ["18", "15", "9"].iter().zip(&folders).map(|(v, f)| f.ends_with(format!("pg-{v}/bin"))).collect();
        assert_eq!(ends, [true, true, true]);
    }
}
