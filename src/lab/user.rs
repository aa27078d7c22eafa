//! Decides as whom servers run when we are root, and whether that user can reach a path.
//!
//! PostgreSQL refuses to run as uid 0, and `initdb` needs a passwd entry. The decisions are
//! pure functions over looked-up facts; the look-up reads `/etc/passwd` and asks `getent`
//! for users that a directory service knows. Access lists beyond the mode bits are not read.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Serialize;

use super::process::Program;

/// The users tried after `--run-as` and `SUDO_USER`.
const FALLBACKS: [&str; 2] = ["postgres", "nobody"];

/// The user that servers run as.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RunAs {
    /// The passwd name.
    pub name: String,
    /// The user id, never 0.
    pub uid: u32,
    /// The primary group; supplementary groups are dropped.
    pub gid: u32,
    /// The home folder, if the entry names one.
    pub home: Option<PathBuf>,
}

/// Why no user for the servers could be chosen, or why the chosen one cannot work.
#[derive(Debug, thiserror::Error)]
pub enum UserError {
    /// The user asked for is not known.
    #[error("the user `{name}` ({asked_by}) has no passwd entry; name one that has, with --run-as")]
    Unknown {
        /// The name.
        name: String,
        /// Where the name came from.
        asked_by: &'static str,
    },
    /// The user asked for is root.
    #[error("PostgreSQL refuses to run as root; name another user with --run-as")]
    Root,
    /// Nobody is left to try.
    #[error(
        "PostgreSQL refuses to run as root, and neither `postgres` nor `nobody` has a passwd \
         entry; name a user with --run-as (`useradd --system postgres` makes one)"
    )]
    Nobody,
    /// A folder on the way bars the user.
    #[error(
        "the user `{user}` cannot reach {}: {} (mode {mode:04o}) bars the way; open it \
         (`chmod o+x`), use another folder, or another user with --run-as",
        path.display(), barrier.display()
    )]
    Barred {
        /// The user.
        user: String,
        /// The path to be reached.
        path: PathBuf,
        /// Its first component that bars.
        barrier: PathBuf,
        /// That component's permission bits.
        mode: u32,
    },
    /// A component could not be looked at.
    #[error("{} cannot be examined: {source}", path.display())]
    Examine {
        /// The component.
        path: PathBuf,
        /// The system's reason.
        #[source]
        source: io::Error,
    },
}

/// Our effective user id.
pub fn effective_uid() -> u32 {
    rustix::process::geteuid().as_raw()
}

/// Chooses the servers' user: `None` unless `uid` is 0; then `--run-as`, else `SUDO_USER`
/// (unless that is root), else `postgres`, else `nobody`.
pub async fn choose(uid: u32, run_as: Option<&str>, sudo_user: Option<&str>) -> Result<Option<RunAs>, UserError> {
    if uid != 0 {
        return Ok(None);
    }
    let asked = run_as.map(|n| (n, "--run-as")).or_else(|| {
        let sudo = sudo_user.filter(|n| !n.is_empty() && *n != "root")?;
        Some((sudo, "SUDO_USER"))
    });
    if let Some((name, asked_by)) = asked {
        let found = look_up(name).await;
        let unknown = || UserError::Unknown { name: name.to_owned(), asked_by };
        let user = found.ok_or_else(unknown)?;
        return if user.uid == 0 { Err(UserError::Root) } else { Ok(Some(user)) };
    }
    for name in FALLBACKS {
        if let Some(user) = look_up(name).await.filter(|u| u.uid != 0) {
            return Ok(Some(user));
        }
    }
    Err(UserError::Nobody)
}

/// Finds a user by name in `/etc/passwd`, then by `getent` (not there on macOS).
async fn look_up(name: &str) -> Option<RunAs> {
    let file = fs::read_to_string("/etc/passwd").unwrap_or_default();
    if let Some(user) = entry(&file, name) {
        return Some(user);
    }
    let getent = Program::new("getent").args(["passwd", "--", name]);
    let output = getent.output(Duration::from_secs(10)).await.ok()?;
    entry(&output.stdout, name)
}

/// The entry of `name` in a text of passwd lines, `name:x:uid:gid:gecos:home:shell`.
fn entry(passwd: &str, name: &str) -> Option<RunAs> {
    passwd.lines().find_map(|line| {
        let fields: Vec<&str> = line.split(':').collect();
        let [found, _, uid, gid, _, home, ..] = fields[..] else {
            return None;
        };
        if found != name {
            return None;
        }
        Some(RunAs {
            name: name.to_owned(),
            uid: uid.parse().ok()?,
            gid: gid.parse().ok()?,
            home: (!home.is_empty()).then(|| PathBuf::from(home)),
        })
    })
}

/// Checks that `user` can traverse every folder above `path`, and the folder or executable
/// `path` itself; links are followed first. The error names the first component that bars.
/// A path that does not exist yet is judged by the part that does.
pub fn check_reach(user: &RunAs, path: &Path) -> Result<(), UserError> {
    let mut existing = path;
    let resolved = loop {
        match existing.canonicalize() {
            Ok(resolved) => break resolved,
            Err(e) if e.kind() == io::ErrorKind::NotFound => match existing.parent() {
                Some(parent) if !parent.as_os_str().is_empty() => existing = parent,
                _ => break PathBuf::from("/"),
            },
            Err(source) => {
                return Err(UserError::Examine { path: existing.to_owned(), source });
            }
        }
    };
    let mut components: Vec<&Path> = resolved.ancestors().collect();
    components.reverse();
    for component in components {
        let metadata =
            fs::metadata(component).map_err(|source| UserError::Examine { path: component.to_owned(), source })?;
        let mode = metadata.mode() & 0o7777;
        if !may_execute(user, metadata.uid(), metadata.gid(), mode) {
            return Err(UserError::Barred {
                user: user.name.clone(),
                path: path.to_owned(),
                barrier: component.to_owned(),
                mode,
            });
        }
    }
    Ok(())
}

/// Whether the execute bit that counts for `user` is set: the owner's for the owner, else
/// the group's for a member, else everyone's.
fn may_execute(user: &RunAs, owner: u32, group: u32, mode: u32) -> bool {
    let bit = match user {
        user if user.uid == owner => 0o100,
        user if user.gid == group => 0o010,
        _ => 0o001,
    };
    mode & bit != 0
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use super::*;
    use std::os::unix::fs::PermissionsExt;

    fn user(uid: u32, gid: u32) -> RunAs {
        RunAs { name: "pg".to_owned(), uid, gid, home: None }
    }

    #[test]
    fn passwd_lines_are_read_by_exact_name() {
        let text = "postgres2:x:7:7::/:\nbroken\npostgres:x:101:104:x,,,:/var/lib/postgresql:/bin/sh\n";
        let found = entry(text, "postgres").unwrap();
        assert_eq!((found.uid, found.gid), (101, 104));
        assert_eq!(found.home.unwrap(), Path::new("/var/lib/postgresql"));
        assert_eq!(entry(text, "broken"), None);
    }

    #[test]
    fn the_bit_of_the_nearest_class_decides() {
        // uid, gid, owner, group, mode, may
        for (u, g, owner, group, mode, may) in [
            (5, 5, 5, 9, 0o700, true),
            (5, 5, 5, 9, 0o011, false),
            (5, 5, 9, 5, 0o701, false),
            (5, 5, 9, 5, 0o710, true),
            (5, 5, 9, 9, 0o711, true),
            (5, 5, 9, 9, 0o750, false),
        ] {
            assert_eq!(may_execute(&user(u, g), owner, group, mode), may, "{u} {owner} {mode:o}");
        }
    }

    #[test]
    fn the_first_component_that_bars_is_named() {
        let root = tempfile::tempdir().unwrap();
        fs::set_permissions(root.path(), fs::Permissions::from_mode(0o711)).unwrap();
        let barrier = root.path().join("private");
        fs::create_dir_all(barrier.join("deep/er")).unwrap();
        fs::set_permissions(&barrier, fs::Permissions::from_mode(0o700)).unwrap();
        let stranger = user(54321, 54321);
        let error = check_reach(&stranger, &barrier.join("deep/not/there")).unwrap_err();
        let UserError::Barred { barrier: named, .. } = error else { panic!("{error}") };
        assert_eq!(named, barrier.canonicalize().unwrap());
        fs::set_permissions(&barrier, fs::Permissions::from_mode(0o711)).unwrap();
        check_reach(&stranger, &barrier.join("deep/not/there")).unwrap();
    }

    #[tokio::test(flavor = "current_thread")]
    async fn only_root_needs_another_user_and_unknown_ones_are_errors() {
        assert_eq!(choose(1000, Some("x"), None).await.unwrap(), None);
        assert!(matches!(choose(0, Some("root"), None).await, Err(UserError::Root)));
        let error = choose(0, Some("no such user"), None).await.unwrap_err();
        assert!(error.to_string().contains("--run-as"), "{error}");
    }
}
