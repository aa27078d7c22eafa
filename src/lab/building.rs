//! Builds a revision of PostgreSQL's source and publishes what is installed in the cache.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::time::{Duration, Instant};

use super::cache::{Area, CacheError, Making};
use super::child::Child;
use super::find::{self, FindError, Installation, Origin};
use super::log;
use super::process::{ProcessError, Program};
use super::revision::git;
use super::source::{AREA, Built, FILE, Pinned};
use super::unpack::open_to_all;

/// How long another runner's build is waited for, and how long a phase of a build may take.
const BOUND: Duration = Duration::from_hours(2);

/// How often a long phase is heard of.
const HEARD_OF: Duration = Duration::from_secs(30);

/// Why a revision was not built.
#[derive(Debug, thiserror::Error)]
pub enum BuildError {
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

/// Builds what is pinned down, or gives what was built before. `progress` is told each phase. Dropping the future ends
/// every process of the build and removes what is half made. Spawns children: main thread only.
pub async fn build(pinned: &Pinned, cache: &Path, progress: &mut dyn FnMut(&str)) -> Result<Installation, BuildError> {
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
    let keep = |source| BuildError::Keep { commit: commit.clone(), source };
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
        subject: pinned.revision.subject.clone(),
        revision: pinned.source.revision.clone(),
        configure: pinned.source.configure.clone(),
        compiler: pinned.compiler.clone(),
        seconds: began.elapsed().as_secs(),
    };
    let text = serde_json::to_string_pretty(&built).map_err(|error| keep(error.into()))?;
    fs::write(result.path().join(FILE), text + "\n").map_err(keep)?;
    let origin = || Origin::Built(pinned.words());
    let unusable = |source| BuildError::Unusable { commit: commit.clone(), source };
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
    async fn build(&self, progress: &mut dyn FnMut(&str)) -> Result<PathBuf, BuildError> {
        let keep = |source| BuildError::Keep { commit: self.commit.to_owned(), source };
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
            return Err(BuildError::NoConfigure { commit: self.commit.to_owned(), repository });
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
    async fn phase(&self, what: &str, program: &Program, progress: &mut dyn FnMut(&str)) -> Result<(), BuildError> {
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
        Err(BuildError::Phase {
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

    #[test]
    fn errors_before_the_last_lines_are_told() {
        let noise = "gcc -c x.c\n".repeat(20);
        let text = format!("a.c:1: error: no such thing\nmake[1]: *** [a.o] Error 1\n{noise}");
        assert_eq!(telling(&text), "a.c:1: error: no such thing\nmake[1]: *** [a.o] Error 1");
        assert_eq!(telling("one\ntwo\n"), "one\ntwo");
    }
}
