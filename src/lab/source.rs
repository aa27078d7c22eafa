//! Builds a revision of PostgreSQL's source once and keeps what is installed in the cache.
//!
//! What is built is named by the commit, the options of `configure` and the compiler: the same three are the same
//! build, whatever the revision was called. The tree is taken by `git archive`, so uncommitted changes are not in it
//! and the repository is left as it is. No option of `configure` is added, and none of the environment's (CC, CFLAGS …)
//! is passed on: `configure` takes such variables as options. Asking git is `revision.rs`.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::cache::{Area, CacheError, Making};
use super::child::Child;
use super::find::{self, FindError, Installation, Origin};
use super::log;
use super::process::{ProcessError, Program};
use super::revision::{Revision, RevisionError, git, resolve};
use super::unpack::open_to_all;

/// The area of the cache that builds stand in.
pub const AREA: &str = "builds";

/// What a build's folder says of itself.
const FILE: &str = "runner-build.json";

/// How long another runner's build is waited for, and how long a phase of a build may take.
const BOUND: Duration = Duration::from_hours(2);

/// How often a long phase is heard of.
const HEARD_OF: Duration = Duration::from_secs(30);

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
    /// What the revision was called when it was built.
    pub revision: String,
    /// Options of `configure`.
    pub configure: Vec<String>,
    /// First line of what the compiler says of its version.
    pub compiler: String,
    /// How long it took, in seconds.
    pub seconds: u64,
}

/// Why a revision was not built.
#[derive(Debug, thiserror::Error)]
pub enum SourceError {
    /// There is no such revision, or no git.
    #[error(transparent)]
    Revision(#[from] RevisionError),
    /// The tree is not what we can build.
    #[error("{commit} of {} has no `configure`: it does not hold PostgreSQL's source", repository.display())]
    NoConfigure {
        /// The commit, shortened.
        commit: String,
        /// The repository.
        repository: PathBuf,
    },
    /// A phase of the build failed.
    #[error("{commit} cannot be built: `{command}` {end}; its whole output is in {}{}", log.display(), log::as_suffix(tail))]
    Phase {
        /// The commit, shortened.
        commit: String,
        /// The command line.
        command: String,
        /// How it ended.
        end: String,
        /// The file with its output.
        log: PathBuf,
        /// The lines that tell why.
        tail: String,
    },
    /// A program of the build could not be run.
    #[error(transparent)]
    Process(#[from] ProcessError),
    /// Files of the build could not be put in order.
    #[error("the build of {commit} cannot be kept: {source}")]
    Keep {
        /// The commit, shortened.
        commit: String,
        /// The system's reason.
        #[source]
        source: io::Error,
    },
    /// What was built does not run.
    #[error("what was built of {commit} does not work: {source}")]
    Unusable {
        /// The commit, shortened.
        commit: String,
        /// Why.
        #[source]
        source: FindError,
    },
    /// The cache is not usable.
    #[error(transparent)]
    Cache(#[from] CacheError),
}

/// Pins a revision down. Some milliseconds; builds nothing.
pub async fn pin(source: &Source) -> Result<Pinned, SourceError> {
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
        words(&self.revision.commit, &self.source.revision, &self.source.configure)
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

fn words(commit: &str, revision: &str, configure: &[String]) -> String {
    let commit: String = commit.chars().take(12).collect();
    let called = if revision.starts_with(&commit) { String::new() } else { format!(" ({revision})") };
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
        let origin = Origin::Built(words(&built.commit, &built.revision, &built.configure));
        if let Ok(installation) = find::examine(&folder.join("bin"), origin, "the cache").await {
            out.push((built, installation));
        }
    }
    out
}

/// Builds what is pinned down, or gives what was built before. `progress` is told each phase. Dropping the future ends
/// every process of the build and removes what is half made. Spawns children: main thread only.
pub async fn build(pinned: &Pinned, cache: &Path, progress: &mut dyn FnMut(&str)) -> Result<Installation, SourceError> {
    if let Some(installation) = pinned.built(cache).await {
        return Ok(installation);
    }
    let area = match Area::lock(cache, AREA, Duration::ZERO).await {
        Err(CacheError::Locked { .. }) => {
            progress("another runner is building; waiting until it is done");
            Area::lock(cache, AREA, BOUND).await?
        }
        area => area?,
    };
    // Another runner may have built the same meanwhile.
    if let Some(installation) = pinned.built(cache).await {
        return Ok(installation);
    }
    let commit = pinned.revision.short().to_owned();
    let keep = |source| SourceError::Keep { commit: commit.clone(), source };
    let folder = Area::folder(cache, AREA)?.canonicalize().map_err(keep)?;
    let kept_log = folder.join(format!("{}.log", pinned.name()));
    let _ = fs::remove_file(&kept_log);
    let began = Instant::now();
    let work = Work { pinned, target: folder.join(pinned.name()), making: area.making()?, kept_log, commit: &commit };
    let installed = work.build(progress).await?;

    // The installed tree alone is published.
    let result = area.making()?;
    fs::rename(&installed, result.path()).map_err(keep)?;
    open_to_all(result.path()).map_err(keep)?;
    let built = Built {
        commit: pinned.revision.commit.clone(),
        revision: pinned.source.revision.clone(),
        configure: pinned.source.configure.clone(),
        compiler: pinned.compiler.clone(),
        seconds: began.elapsed().as_secs(),
    };
    let text = serde_json::to_string_pretty(&built).map_err(|error| keep(error.into()))?;
    fs::write(result.path().join(FILE), text + "\n").map_err(keep)?;
    let origin = || Origin::Built(pinned.words());
    let unusable = |source| SourceError::Unusable { commit: commit.clone(), source };
    find::examine(&result.path().join("bin"), origin(), "the build").await.map_err(unusable)?;
    let published = result.publish(&pinned.name(), 0o755)?;
    drop(work);
    progress(&format!("built {commit} in {} s", began.elapsed().as_secs()));
    find::examine(&published.join("bin"), origin(), "the cache").await.map_err(unusable)
}

/// A build at work in its private folder.
struct Work<'a> {
    pinned: &'a Pinned,
    /// Where it will stand: `configure` must know.
    target: PathBuf,
    making: Making,
    /// Where the log is kept if it fails.
    kept_log: PathBuf,
    commit: &'a str,
}

impl Work<'_> {
    /// From the commit to an installed tree, whose folder it gives.
    async fn build(&self, progress: &mut dyn FnMut(&str)) -> Result<PathBuf, SourceError> {
        let keep = |source| SourceError::Keep { commit: self.commit.to_owned(), source };
        let [tree, staged, temporary] = ["tree", "staged", "tmp"].map(|name| self.making.path().join(name));
        for folder in [&tree, &staged, &temporary] {
            fs::create_dir(folder).map_err(keep)?;
        }
        let archive = self.making.path().join("tree.tar");
        let take = git(&self.pinned.source.repository).args(["archive", "--format=tar", "-o"]).arg(&archive);
        self.phase("take the source", &take.arg(&self.pinned.revision.commit), progress).await?;
        let unpack = Program::new("tar").args(["--no-same-owner", "-xf"]).arg(&archive).arg("-C").arg(&tree);
        self.phase("unpack it", &unpack, progress).await?;
        fs::remove_file(&archive).map_err(keep)?;
        if !tree.join("configure").is_file() {
            let repository = self.pinned.source.repository.clone();
            return Err(SourceError::NoConfigure { commit: self.commit.to_owned(), repository });
        }

        // Compilers keep their files in our folder, so that nothing of a killed one is left elsewhere.
        let program =
            |path: PathBuf| Program::new(path).folder(&tree).variable("TMPDIR", &temporary).variable("LC_ALL", "C");
        let configure = program(tree.join("configure"))
            .arg(format!("--prefix={}", self.target.display()))
            .args(&self.pinned.source.configure);
        self.phase("configure", &configure, progress).await?;
        let jobs = format!("-j{}", std::thread::available_parallelism().map_or(1, std::num::NonZero::get));
        let destination = format!("DESTDIR={}", staged.display());
        let make = |words: &[&str]| program("make".into()).args(words);
        self.phase("make", &make(&[&jobs]), progress).await?;
        self.phase("install", &make(&["install", &destination]), progress).await?;
        if tree.join("contrib/Makefile").is_file() {
            self.phase("make contrib", &make(&["-C", "contrib", &jobs]), progress).await?;
            self.phase("install contrib", &make(&["-C", "contrib", "install", &destination]), progress).await?;
        }
        // Everything stands below the staging folder under the path it will have.
        Ok(staged.join(self.target.strip_prefix("/").unwrap_or(&self.target)))
    }

    /// Runs one phase to its successful end, and keeps the log if it fails.
    async fn phase(&self, what: &str, program: &Program, progress: &mut dyn FnMut(&str)) -> Result<(), SourceError> {
        let log = self.making.path().join("build.log");
        let began = Instant::now();
        progress(&format!("building {}: {what}", self.commit));
        let from = fs::metadata(&log).map_or(0, |metadata| metadata.len());
        let child = program.spawn(&log)?;
        let _group = KillGroup(&child);
        let end = loop {
            let remaining = BOUND.saturating_sub(began.elapsed());
            if let Some(ended) = child.ended_within(HEARD_OF.min(remaining)).await {
                if ended.status.success() {
                    return Ok(());
                }
                break ended_with(ended.status);
            }
            if remaining.is_zero() {
                break format!("did not end within {BOUND:?}");
            }
            progress(&format!("building {}: {what}, {} s so far", self.commit, began.elapsed().as_secs()));
        };
        let tail = telling(&log::since(&log, from).0);
        // Without it the error says as much as it can.
        let _ = fs::copy(&log, &self.kept_log);
        Err(SourceError::Phase {
            commit: self.commit.to_owned(),
            command: program.command_line(),
            end,
            log: self.kept_log.clone(),
            tail,
        })
    }
}

fn ended_with(status: ExitStatus) -> String {
    format!("ended with {status}")
}

/// Kills a phase with all its descendants when its waiting is given up. A group whose leader has ended is left alone.
struct KillGroup<'a>(&'a Child);

impl Drop for KillGroup<'_> {
    fn drop(&mut self) {
        self.0.kill_group();
    }
}

/// The lines of an output that tell why it failed: of `make -j` the last lines alone may be another job's.
fn telling(text: &str) -> String {
    let errors: Vec<&str> = text.lines().filter(|line| line.contains("error:") || line.contains("*** ")).collect();
    if errors.is_empty() {
        return log::tail(text, log::TAIL_LINES);
    }
    errors[..errors.len().min(log::TAIL_LINES)].join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pinned(commit: &str, configure: &[&str], compiler: &str) -> Pinned {
        let configure = configure.iter().map(|option| (*option).to_owned()).collect();
        Pinned {
            source: Source { revision: "HEAD".to_owned(), repository: PathBuf::from("/r"), configure },
            revision: Revision { commit: commit.to_owned(), below: String::new() },
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
    }

    #[test]
    fn errors_before_the_last_lines_are_told() {
        let noise = "gcc -c x.c\n".repeat(20);
        let text = format!("a.c:1: error: no such thing\nmake[1]: *** [a.o] Error 1\n{noise}");
        assert_eq!(telling(&text), "a.c:1: error: no such thing\nmake[1]: *** [a.o] Error 1");
        assert_eq!(telling("one\ntwo\n"), "one\ntwo");
    }
}
