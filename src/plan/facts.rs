//! What is known of the machine when a plan is made: which servers there are and which settings they refuse.
//!
//! The plan asks ([`Questions`]); someone with hands answers ([`Facts`]); both are data, so planning stays pure.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// A version as printed by `postgres --version`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Release {
    /// Major version.
    pub major: u32,
    /// Minor version.
    pub minor: u32,
}

impl std::fmt::Display for Release {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

/// A server that can be started, or a client tool.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Build {
    /// Its version.
    pub release: Release,
    /// Folder of its programs, of a tool the program itself; `None` if it would first be installed.
    pub bin: Option<PathBuf>,
    /// Where it comes from, in words.
    pub origin: String,
    /// Its version in its own words where it has no minor one, such as `19devel`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub words: Option<String>,
    /// SHA-256 of the server's program, shortened; `None` if it was not read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
}

impl Build {
    /// Its version for people: `15.18`, or `19devel`.
    pub fn version(&self) -> String {
        self.words.clone().unwrap_or_else(|| self.release.to_string())
    }
}

/// What a node asks for.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Wanted {
    /// Version such as "18" or "15.18"; `None` for the newest.
    pub version: Option<String>,
    /// Folder of programs, or of an installation, as seen from the working folder.
    pub bin: Option<PathBuf>,
    /// Revision of a source tree, to be built.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub git: Option<GitSource>,
}

/// A revision of a source tree, to be built.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct GitSource {
    /// Revision, as git reads it.
    pub revision: String,
    /// The repository, as seen from the working folder.
    pub source: PathBuf,
    /// Options of `configure`.
    pub configure: Vec<String>,
}

impl std::fmt::Display for Wanted {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if let Some(git) = &self.git {
            return write!(f, "PostgreSQL of revision {} of {}", git.revision, git.source.display());
        }
        match (&self.version, &self.bin) {
            (Some(version), None) => write!(f, "PostgreSQL {version}"),
            (None, None) => f.write_str("the newest PostgreSQL"),
            (Some(version), Some(bin)) => write!(f, "PostgreSQL {version} in {}", bin.display()),
            (None, Some(bin)) => write!(f, "the PostgreSQL in {}", bin.display()),
        }
    }
}

/// The program of `engine = "pgbench"`.
pub const PGBENCH: &str = "pgbench";
/// The program of `consumer = "pg_recvlogical"`.
pub const PG_RECVLOGICAL: &str = "pg_recvlogical";

/// What must be found out before a plan can be made.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Questions {
    /// Servers.
    pub builds: BTreeSet<Wanted>,
    /// Settings, by the server that must take them: name and value.
    pub settings: BTreeSet<(Wanted, String, String)>,
    /// Client programs that something is done by: [`PGBENCH`], [`PG_RECVLOGICAL`].
    pub tools: BTreeSet<&'static str>,
}

/// What a server says of a setting it does not take.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Refusal {
    /// It has no such setting.
    Lacking,
    /// It refuses the value, in these words.
    Value(String),
}

/// The answers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Facts {
    /// The server for each that was asked for; one that is not there is not in it.
    #[serde(with = "pairs")]
    pub builds: BTreeMap<Wanted, Build>,
    /// Settings that a server refuses.
    #[serde(with = "pairs")]
    pub refused: BTreeMap<(Wanted, String, String), Refusal>,
    /// Client programs, for each that was asked for and is there; `bin` is the program itself.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub tools: BTreeMap<String, Build>,
    /// Checks that could not be made, with the reason; printed.
    pub left_out: Vec<String>,
}

/// Maps whose keys are not text, stored as lists of pairs.
mod pairs {
    use std::collections::BTreeMap;

    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub(super) fn serialize<K: Serialize, V: Serialize, S: Serializer>(
        map: &BTreeMap<K, V>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(map)
    }

    pub(super) fn deserialize<'de, K, V, D>(deserializer: D) -> Result<BTreeMap<K, V>, D::Error>
    where
        K: Deserialize<'de> + Ord,
        V: Deserialize<'de>,
        D: Deserializer<'de>,
    {
        Ok(Vec::<(K, V)>::deserialize(deserializer)?.into_iter().collect())
    }
}
