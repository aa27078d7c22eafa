//! Revisions of PostgreSQL's source that are built once: what a build is called in the cache, and which there are.
//!
//! What is built is named by the commit, the options of `configure` and the compiler: the same three are the same
//! build, whatever the revision was called. The tree is taken by `git archive`, so uncommitted changes are not in it
//! and the repository is left as it is. No option of `configure` is added, and none of the environment's (CC, CFLAGS …)
//! is passed on: `configure` takes such variables as options. Asking git is `revision.rs`.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::find::{self, Installation, Origin};
use super::process::Program;
use super::revision::{Revision, RevisionError, resolve};

/// The area of the cache that builds stand in.
pub const AREA: &str = "builds";

/// What a build's folder says of itself.
pub(super) const FILE: &str = "runner-build.json";

/// How long a compiler may take to tell its version.
const VERSION_BOUND: Duration = Duration::from_secs(10);

/// What is to be built.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// Revision, as git reads it.
    pub revision: String,
    /// The repository, or a folder in it that holds PostgreSQL's source.
    pub repository: PathBuf,
    /// Options of `configure`.
    pub configure: Vec<String>,
}

/// A revision that is pinned down: what its build is called in the cache.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pinned {
    /// The source.
    pub source: Source,
    /// The commit.
    pub revision: Revision,
    /// First line of what the compiler says of its version; empty if there is none.
    pub compiler: String,
}

/// What is kept beside a build.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Built {
    /// The commit, 40 digits or more.
    pub commit: String,
    /// First line of its message.
    #[serde(default)]
    pub subject: String,
    /// What the revision was called when it was built.
    pub revision: String,
    /// Options of `configure`.
    pub configure: Vec<String>,
    /// First line of what the compiler says of its version.
    pub compiler: String,
    /// How long it took, in seconds.
    pub seconds: u64,
}

/// Pins a revision down. Some milliseconds; builds nothing.
pub async fn pin(source: &Source) -> Result<Pinned, RevisionError> {
    let revision = resolve(&source.repository, &source.revision).await?;
    Ok(Pinned { compiler: compiler(&source.configure).await, source: source.clone(), revision })
}

/// First line of the version of the compiler that `configure` will take: its option CC, else gcc, else cc.
async fn compiler(configure: &[String]) -> String {
    let chosen = configure.iter().rev().find_map(|option| option.strip_prefix("CC="));
    let candidates = chosen.map_or_else(|| vec!["gcc", "cc"], |chosen| vec![chosen]);
    for candidate in candidates {
        let mut words = candidate.split_whitespace();
        let Some(program) = words.next() else { continue };
        let asked = Program::new(program).args(words).arg("--version").output(VERSION_BOUND).await;
        let text = asked.and_then(super::process::Output::successful);
        if let Some(line) = text.ok().as_ref().and_then(|text| text.lines().next()) {
            return line.trim().to_owned();
        }
    }
    String::new()
}

impl Pinned {
    /// Its folder's name in the cache: the commit and a digest of everything that a build is made of.
    pub fn name(&self) -> String {
        let mut made_of = format!("{}\n{}\n{}\n", self.revision.commit, self.revision.below, self.compiler);
        for option in &self.source.configure {
            made_of.push_str(option);
            made_of.push('\n');
        }
        format!("{}-{}", self.revision.short(), super::hexadecimal(&Sha256::digest(made_of)[..4]))
    }

    /// What it is, without anyone's paths.
    pub fn words(&self) -> String {
        let revision = &self.revision;
        words((&revision.commit, &revision.subject), &self.source.revision, &self.source.configure)
    }

    /// The build, if it is in the cache and runs.
    pub async fn built(&self, cache: &Path) -> Option<Installation> {
        let folder = cache.join(AREA).join(self.name());
        if !folder.join(FILE).is_file() {
            return None;
        }
        find::examine(&folder.join("bin"), Origin::Built(self.words()), "the cache").await.ok()
    }
}

fn words((commit, subject): (&str, &str), revision: &str, configure: &[String]) -> String {
    let commit: String = commit.chars().take(12).collect();
    let revision = if revision.starts_with(&commit) { "" } else { revision };
    let called: Vec<&str> = [revision, subject].into_iter().filter(|part| !part.is_empty()).collect();
    let called = if called.is_empty() { String::new() } else { format!(" ({})", called.join(": ")) };
    let options = if configure.is_empty() { "no options".to_owned() } else { configure.join(" ") };
    format!("built from {commit}{called} with {options}")
}

/// All builds in the cache that run, by the names of their folders.
pub async fn all(cache: &Path) -> Vec<(Built, Installation)> {
    let mut folders: Vec<PathBuf> =
        fs::read_dir(cache.join(AREA)).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    folders.sort();
    let mut out = Vec::new();
    for folder in folders {
        let hidden = folder.file_name().is_none_or(|name| name.to_string_lossy().starts_with('.'));
        let told = fs::read_to_string(folder.join(FILE)).ok().filter(|_| !hidden);
        let Some(built) = told.and_then(|text| serde_json::from_str::<Built>(&text).ok()) else { continue };
        let origin = Origin::Built(words((&built.commit, &built.subject), &built.revision, &built.configure));
        if let Ok(installation) = find::examine(&folder.join("bin"), origin, "the cache").await {
            out.push((built, installation));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pinned(commit: &str, configure: &[&str], compiler: &str) -> Pinned {
        let configure = configure.iter().map(|option| (*option).to_owned()).collect();
        Pinned {
            source: Source { revision: "HEAD".to_owned(), repository: PathBuf::from("/r"), configure },
            revision: Revision { commit: commit.to_owned(), subject: String::new(), below: String::new() },
            compiler: compiler.to_owned(),
        }
    }

    #[test]
    fn a_build_is_named_by_commit_options_and_compiler() {
        let commit = "0123456789abcdef0123456789abcdef01234567";
        let plain = pinned(commit, &[], "gcc 12");
        assert!(plain.name().starts_with("0123456789ab-"), "{}", plain.name());
        let mut renamed = plain.clone();
        renamed.source.revision = "my_branch".to_owned();
        assert_eq!(plain.name(), renamed.name());
        for other in [
            pinned(&commit.replace('7', "8"), &[], "gcc 12"),
            pinned(commit, &["--enable-cassert"], "gcc 12"),
            pinned(commit, &[], "gcc 13"),
            pinned(commit, &["a", "b"], "gcc 12"),
        ] {
            assert_ne!(plain.name(), other.name());
        }
        assert_ne!(pinned(commit, &["a", "b"], "").name(), pinned(commit, &["ab"], "").name());
    }

    #[test]
    fn what_is_built_is_said_in_words() {
        let commit = "0123456789abcdef0123456789abcdef01234567";
        assert_eq!(pinned(commit, &[], "").words(), "built from 0123456789ab (HEAD) with no options");
        let mut by_commit = pinned(commit, &["--without-icu"], "");
        commit.clone_into(&mut by_commit.source.revision);
        assert_eq!(by_commit.words(), "built from 0123456789ab with --without-icu");
        "Skip them".clone_into(&mut by_commit.revision.subject);
        assert_eq!(by_commit.words(), "built from 0123456789ab (Skip them) with --without-icu");
        "my_branch".clone_into(&mut by_commit.source.revision);
        assert_eq!(by_commit.words(), "built from 0123456789ab (my_branch: Skip them) with --without-icu");
    }
}
