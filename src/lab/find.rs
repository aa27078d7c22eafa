//! Finds the PostgreSQL installations of this machine and tells their versions and tools.
//!
//! Folders that a person named (flag, environment, spec) must fit or are errors; folders
//! found by searching that do not fit are passed over, with the reason kept. The inputs
//! come as values: nothing here reads the environment. Installing is `install.rs`.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Serialize;
use sha2::{Digest as _, Sha256};

use super::folders::{behind_path_entry, expand, is_program, newest_first, system_patterns};
use super::process::{ProcessError, Program};

/// The client tools the runner can make use of.
pub const TOOLS: [&str; 4] = ["pg_basebackup", "pg_recvlogical", "pgbench", "psql"];

/// How long a program may take to print its version.
const BOUND: Duration = Duration::from_secs(10);

/// A server's version.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Version {
    /// The major version, 18 of `18.6`.
    pub major: u32,
    /// The minor version, 6 of `18.6`; 0 for a development build.
    pub minor: u32,
    /// The whole of what the server says, without `postgres (PostgreSQL)`.
    pub text: String,
}

impl Version {
    /// Reads the output of `postgres --version`, such as `postgres (PostgreSQL) 15.18
    /// (Debian 15.18-0+deb12u1)` or `postgres (PostgreSQL) 19devel`.
    pub fn parse(output: &str) -> Option<Self> {
        let text = output.trim().strip_prefix("postgres (PostgreSQL) ")?;
        let number = text.split_whitespace().next()?;
        let digits = |part: &str| -> Option<u32> {
            let end = part.find(|c: char| !c.is_ascii_digit()).unwrap_or(part.len());
            part[..end].parse().ok()
        };
        let (first, rest) = number.split_once('.').unwrap_or((number, "0"));
        let minor = digits(rest).unwrap_or(0);
        Some(Self { major: digits(first)?, minor, text: text.to_owned() })
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // A development build has no minor version: its own word says more.
        let number = self.text.split_whitespace().next().unwrap_or_default();
        if number.contains('.') { write!(f, "{}.{}", self.major, self.minor) } else { f.write_str(number) }
    }
}

/// How an installation was come by.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// `--pg-bin`.
    Flag,
    /// `RUNNER_PG_BIN`.
    Environment,
    /// A `bin` of the spec.
    Spec,
    /// Installed by us.
    Cache,
    /// Built by us from source, said in words.
    Built(String),
    /// One of the usual folders of a distribution, given as its search pattern.
    System(String),
    /// `PATH`.
    Path,
}

/// One PostgreSQL: a folder with at least `postgres` and `initdb`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Installation {
    /// Its version.
    pub version: Version,
    /// The folder of its programs, links resolved.
    pub bin: PathBuf,
    /// Which of [`TOOLS`] stand there.
    pub tools: BTreeSet<String>,
    /// How it was found.
    pub origin: Origin,
}

impl Installation {
    /// The path of one of its programs.
    pub fn program(&self, name: &str) -> PathBuf {
        self.bin.join(name)
    }
}

/// Where to look, in this order, then in the usual folders and on `path`.
#[derive(Clone, Debug, Default)]
pub struct Search {
    /// The values of `--pg-bin`.
    pub flags: Vec<PathBuf>,
    /// The value of `RUNNER_PG_BIN`: folders separated by colons.
    pub environment: Option<OsString>,
    /// The `bin` folders that the spec names.
    pub spec: Vec<PathBuf>,
    /// The `bin` folders of our own cache.
    pub cache: Vec<PathBuf>,
    /// The value of `PATH`.
    pub path: Option<OsString>,
}

/// What a search brought.
#[derive(Clone, Debug, Default)]
pub struct Found {
    /// The installations in the order of the search, each folder once.
    pub installations: Vec<Installation>,
    /// Folders that looked like one and are none, with the reason.
    pub passed_over: Vec<(PathBuf, String)>,
}

/// Why a folder that was named does not serve.
#[derive(Debug, thiserror::Error)]
pub enum FindError {
    /// The folder, or a program in it, is missing.
    #[error(
        "{} (from {origin}) lacks {}; name the folder that holds `postgres` and `initdb`",
        folder.display(), lacking.join(" and ")
    )]
    Lacks {
        /// The folder as named.
        folder: PathBuf,
        /// Who named it.
        origin: &'static str,
        /// What is not there.
        lacking: Vec<&'static str>,
    },
    /// `postgres --version` did not answer.
    #[error("{} (from {origin}) does not tell its version: {source}", folder.display())]
    Version {
        /// The folder.
        folder: PathBuf,
        /// Who named it.
        origin: &'static str,
        /// What went wrong.
        #[source]
        source: ProcessError,
    },
    /// It answered something else.
    #[error("{} (from {origin}) is not PostgreSQL: it calls itself `{answer}`", folder.display())]
    Foreign {
        /// The folder.
        folder: PathBuf,
        /// Who named it.
        origin: &'static str,
        /// The answer.
        answer: String,
    },
}

/// Searches this machine. Takes a few milliseconds an installation.
pub async fn search(search: &Search) -> Result<Found, FindError> {
    let mut found = Found::default();
    let environment: Vec<PathBuf> = search
        .environment
        .as_ref()
        .map(|value| std::env::split_paths(value).filter(|p| !p.as_os_str().is_empty()).collect())
        .unwrap_or_default();
    let named = [
        (&search.flags, Origin::Flag, "--pg-bin"),
        (&environment, Origin::Environment, "RUNNER_PG_BIN"),
        (&search.spec, Origin::Spec, "the spec"),
    ];
    for (folders, origin, by) in named {
        for folder in folders {
            let installation = examine(folder, origin.clone(), by).await?;
            found.add(installation);
        }
    }
    let mut places: Vec<(PathBuf, Origin)> = search.cache.iter().map(|bin| (bin.clone(), Origin::Cache)).collect();
    for pattern in system_patterns() {
        let origin = Origin::System((*pattern).to_owned());
        places.extend(newest_first(expand(Path::new(pattern))).into_iter().map(|p| (p, origin.clone())));
    }
    if let Some(path) = &search.path {
        for folder in std::env::split_paths(path) {
            if let Some(bin) = behind_path_entry(&folder).await {
                places.push((bin, Origin::Path));
            }
        }
    }
    for (folder, origin) in places {
        match examine(&folder, origin, "the search").await {
            Ok(installation) => found.add(installation),
            // A distribution's folder with client tools alone is no news.
            Err(FindError::Lacks { lacking, .. }) if lacking.len() > 1 => {}
            Err(error) => found.passed_over.push((folder, error.to_string())),
        }
    }
    Ok(found)
}

impl Found {
    fn add(&mut self, installation: Installation) {
        if !self.installations.iter().any(|i| i.bin == installation.bin) {
            self.installations.push(installation);
        }
    }

    /// The server for a wanted version: the first in search order with this major (and
    /// minor) version; without a wish the first that was named, else the newest.
    pub fn server(&self, major: Option<u32>, minor: Option<u32>) -> Option<&Installation> {
        let fits = |i: &&Installation| {
            major.is_none_or(|m| i.version.major == m) && minor.is_none_or(|m| i.version.minor == m)
        };
        let named = |i: &&Installation| matches!(i.origin, Origin::Flag | Origin::Environment | Origin::Spec);
        let mut fitting = self.installations.iter().filter(fits);
        if major.is_some() {
            return fitting.next();
        }
        let newest_first_found = || {
            let mut all: Vec<&Installation> = self.installations.iter().filter(fits).collect();
            all.sort_by_key(|i| std::cmp::Reverse((i.version.major, i.version.minor)));
            all.first().copied()
        };
        fitting.find(named).or_else(newest_first_found)
    }

    /// The newest installation that has a client tool: newer tools serve older servers.
    pub fn tool(&self, name: &str) -> Option<&Installation> {
        let having = self.installations.iter().filter(|i| i.tools.contains(name));
        having.max_by_key(|i| (i.version.major, i.version.minor))
    }

    /// The newest installation that has both psql and pgbench.
    pub fn clients(&self) -> Option<&Installation> {
        let having =
            self.installations.iter().filter(|i| ["psql", "pgbench"].iter().all(|tool| i.tools.contains(*tool)));
        having.max_by_key(|i| (i.version.major, i.version.minor))
    }
}

/// What an installation's server is, whatever it is called: the first 16 hexadecimal digits of the SHA-256 of its
/// `postgres`. `None` if it cannot be read.
pub fn digest(installation: &Installation) -> Option<String> {
    let program = std::fs::read(installation.program("postgres")).ok()?;
    Some(super::hexadecimal(&Sha256::digest(program)[..8]))
}

/// Looks at one folder: its programs, its version, its tools.
pub async fn examine(folder: &Path, origin: Origin, by: &'static str) -> Result<Installation, FindError> {
    let lacking: Vec<&'static str> =
        ["postgres", "initdb"].into_iter().filter(|name| !is_program(&folder.join(name))).collect();
    if !lacking.is_empty() {
        return Err(FindError::Lacks { folder: folder.to_owned(), origin: by, lacking });
    }
    let bin = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
    let answer = Program::new(bin.join("postgres")).arg("--version").output(BOUND).await;
    let answer = answer.and_then(super::process::Output::successful).map_err(|source| FindError::Version {
        folder: folder.to_owned(),
        origin: by,
        source,
    })?;
    let version = Version::parse(&answer).ok_or_else(|| FindError::Foreign {
        folder: folder.to_owned(),
        origin: by,
        answer: answer.trim().to_owned(),
    })?;
    let has = |name: &&&str| is_program(&bin.join(name));
    let tools = TOOLS.iter().filter(has).map(|name| (*name).to_owned()).collect();
    Ok(Installation { version, bin, tools, origin })
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use super::*;
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};

    fn script(path: &Path, text: &str) {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, format!("#!/bin/sh\n{text}\n")).unwrap();
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    #[test]
    fn versions_of_packages_and_development_builds_are_read() {
        for (output, major, minor, shown) in [
            ("postgres (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1)\n", 15, 18, "15.18"),
            ("postgres (PostgreSQL) 18.6", 18, 6, "18.6"),
            ("postgres (PostgreSQL) 19devel", 19, 0, "19devel"),
            ("postgres (PostgreSQL) 19beta2", 19, 0, "19beta2"),
        ] {
            let version = Version::parse(output).unwrap();
            assert_eq!((version.major, version.minor), (major, minor));
            assert_eq!(version.to_string(), shown);
        }
        assert_eq!(Version::parse("pgbouncer 1.2"), None);
    }

    #[tokio::test(flavor = "current_thread")]
    async fn a_named_folder_that_lacks_a_program_is_an_error_naming_it() {
        let root = tempfile::tempdir().unwrap();
        script(&root.path().join("postgres"), "echo 'postgres (PostgreSQL) 18.6'");
        let wanted = Search { flags: vec![root.path().to_owned()], ..Search::default() };
        let error = search(&wanted).await.unwrap_err().to_string();
        assert!(error.contains("lacks initdb") && error.contains("--pg-bin"), "{error}");
    }

    #[tokio::test(flavor = "current_thread")]
    async fn a_folder_is_listed_once_with_its_first_origin_and_its_tools() {
        let root = tempfile::tempdir().unwrap();
        let bin = root.path().join("bin");
        script(&bin.join("postgres"), "echo 'postgres (PostgreSQL) 99.1'");
        script(&bin.join("initdb"), "");
        script(&bin.join("psql"), "");
        symlink(&bin, root.path().join("link")).unwrap();
        let wanted =
            Search { environment: Some(root.path().join("link").into()), spec: vec![bin.clone()], ..Search::default() };
        let found = search(&wanted).await.unwrap();
        let ours = found.server(None, None).unwrap();
        assert_eq!(ours.origin, Origin::Environment);
        assert_eq!(ours.bin, bin.canonicalize().unwrap());
        assert_eq!(found.tool("psql").unwrap(), ours);
        assert_eq!(found.installations.iter().filter(|i| i.version.major == 99).count(), 1);
        let json = serde_json::to_string(ours).unwrap();
        assert!(json.contains(r#""origin":"environment""#), "{json}");
    }

    #[tokio::test(flavor = "current_thread")]
    async fn a_program_that_fails_to_tell_its_version_is_passed_over_on_path() {
        let root = tempfile::tempdir().unwrap();
        script(&root.path().join("real/initdb"), "");
        fs::copy("/bin/false", root.path().join("real/postgres")).unwrap();
        let path = Some(root.path().join("real").into());
        let found = search(&Search { path, ..Search::default() }).await.unwrap();
        assert_eq!(found.passed_over.len(), 1, "{found:?}");
    }
}
