//! What this machine has: servers found or installed, settings they refuse, the user they run as.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::{Refused, say};
use crate::lab::building;
use crate::lab::find::{self, Found, Search};
use crate::lab::source::{self, Source};
use crate::lab::{self, Installation, cache, install, survey, tools};
use crate::plan::facts::{Build, Facts, GitSource, PG_RECVLOGICAL, Questions, Refusal, Release, Wanted};

/// The version that is installed where none is asked for and none is found.
const DEFAULT_MAJOR: u32 = 18;

/// Whether what is missing is installed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Missing {
    /// By pip or npm.
    Install,
    /// An error.
    Refuse,
    /// Said, and left out.
    LeaveOut,
}

/// The cache of this user.
pub(super) fn cache() -> Result<PathBuf, Refused> {
    let path = |name: &str| std::env::var_os(name).map(PathBuf::from);
    let location =
        cache::location(lab::user::effective_uid(), path("XDG_CACHE_HOME").as_deref(), path("HOME").as_deref());
    location.map_err(|error| Refused::CannotStart(error.to_string()))
}

/// Servers on this machine.
pub(super) async fn search(flags: &[PathBuf], spec: Vec<PathBuf>, cache: &Path) -> Result<Found, Refused> {
    let search = Search {
        flags: flags.to_vec(),
        environment: std::env::var_os("RUNNER_PG_BIN").filter(|value| !value.is_empty()),
        spec,
        cache: install::cached(cache),
        path: std::env::var_os("PATH"),
    };
    find::search(&search).await.map_err(|error| Refused::CannotStart(error.to_string()))
}

/// A client program that a plan asks for: the newest there is, else that of the newest PostgreSQL that can be installed.
async fn tool(
    name: &'static str,
    found: &Found,
    cache: &Path,
    missing: Missing,
    facts: &mut Facts,
) -> Result<(), Refused> {
    let path = std::env::var_os("PATH");
    let tool = match tools::newest(name, found, path.as_deref()).await {
        Some(tool) => Some(tool),
        None if missing == Missing::LeaveOut => None,
        None => {
            let offline = missing == Missing::Refuse;
            let installed = install::install_tools(name, cache, offline, &mut |line| say(&format!("{line}\n"))).await;
            let installed = installed.map_err(|error| {
                let (asked, way_out) = match name {
                    PG_RECVLOGICAL => ("a slot says consumer = \"pg_recvlogical\"", "choose consumer = \"runner\""),
                    _ => ("a workload says engine = \"pgbench\"", "choose engine = \"runner\""),
                };
                Refused::CannotStart(format!("{asked}: {error}; or {way_out}"))
            })?;
            let found = Found { installations: vec![installed], passed_over: Vec::new() };
            tools::newest(name, &found, None).await
        }
    };
    facts.tools.extend(tool.map(|tool| {
        let build = Build {
            release: Release { major: tool.version.major, minor: tool.version.minor },
            bin: Some(tool.program),
            origin: origin_words(&tool.origin),
            words: None,
            digest: None,
        };
        (name.to_owned(), build)
    }));
    Ok(())
}

/// The answers to a plan's questions, with the installations behind them.
pub(super) async fn answer(
    questions: &Questions,
    flags: &[PathBuf],
    missing: Missing,
) -> Result<(Facts, BTreeMap<Wanted, Installation>), Refused> {
    let cache = cache()?;
    // What one node names by its folder is not another's of the same version.
    let found = search(flags, Vec::new(), &cache).await?;
    let mut facts = Facts::default();
    let mut installations = BTreeMap::new();
    for wanted in &questions.builds {
        if let Some(git) = &wanted.git {
            if let Some(installation) = from_source(wanted, git, &cache, missing, &mut facts).await? {
                facts.builds.insert(wanted.clone(), build(&installation));
                installations.insert(wanted.clone(), installation);
            }
            continue;
        }
        if let Some(installation) = choose(wanted, &found).await? {
            facts.builds.insert(wanted.clone(), build(&installation));
            installations.insert(wanted.clone(), installation);
            continue;
        }
        let major =
            wanted.version.as_ref().map_or(Some(DEFAULT_MAJOR), |version| version.split('.').next()?.parse().ok());
        let Some(major) = major else { continue };
        match missing {
            Missing::LeaveOut => {
                facts.left_out.push(format!(
                    "whether {wanted} takes the settings: it is not found here, and a run would install it"
                ));
            }
            Missing::Refuse | Missing::Install => {
                let offline = missing == Missing::Refuse;
                let installed = install::install(major, &cache, offline, &mut |line| say(&format!("{line}\n"))).await;
                let installed =
                    installed.map_err(|error| Refused::CannotStart(format!("{wanted} is not found: {error}")))?;
                if !fits(wanted, &installed) {
                    return Err(Refused::CannotStart(format!(
                        "{wanted} is not found, and what can be installed is {}; name its folder with --pg-bin, or ask for \"{major}\"",
                        installed.version
                    )));
                }
                facts.builds.insert(wanted.clone(), build(&installed));
                installations.insert(wanted.clone(), installed);
            }
        }
    }
    for name in &questions.tools {
        tool(name, &found, &cache, missing, &mut facts).await?;
    }
    survey_settings(questions, &installations, &cache, &mut facts).await;
    Ok((facts, installations))
}

/// The build of a revision: what is in the cache, else built now. Building downloads nothing, so `--offline` allows it.
async fn from_source(
    wanted: &Wanted,
    git: &GitSource,
    cache: &Path,
    missing: Missing,
    facts: &mut Facts,
) -> Result<Option<Installation>, Refused> {
    let source =
        Source { revision: git.revision.clone(), repository: git.source.clone(), configure: git.configure.clone() };
    let pinned = source::pin(&source).await.map_err(|error| Refused::CannotStart(error.to_string()))?;
    if missing == Missing::LeaveOut {
        let built = pinned.built(cache).await;
        if built.is_none() {
            let configure: Vec<&str> =
                std::iter::once("./configure").chain(git.configure.iter().map(String::as_str)).collect();
            let configure = configure.join(" ");
            facts.left_out.push(format!(
                "whether {wanted} takes the settings: commit {} is not built yet, and a run would build it \
                 ({configure}, make, make install, contrib)",
                pinned.revision.short()
            ));
        }
        return Ok(built);
    }
    building::build(&pinned, cache, &mut |line| say(&format!("{line}\n")))
        .await
        .map(Some)
        .map_err(|error| Refused::CannotStart(error.to_string()))
}

async fn choose(wanted: &Wanted, found: &Found) -> Result<Option<Installation>, Refused> {
    if let Some(bin) = &wanted.bin {
        // An installation's folder is as good as that of its programs.
        let below = bin.join("bin");
        if !bin.is_dir() {
            return Err(Refused::CannotStart(format!("{} (from the spec) is no folder", bin.display())));
        }
        let bin = if !bin.join("postgres").is_file() && below.is_dir() { &below } else { bin };
        let installation = find::examine(bin, lab::Origin::Spec, "the spec")
            .await
            .map_err(|error| Refused::CannotStart(error.to_string()))?;
        if !fits(wanted, &installation) {
            return Err(Refused::CannotStart(format!(
                "{wanted} is PostgreSQL {}; mend `version` or `bin`",
                installation.version
            )));
        }
        return Ok(Some(installation));
    }
    let mut parts = wanted.version.iter().flat_map(|version| version.split('.')).map(|part| part.parse::<u32>().ok());
    let (major, minor) = (parts.next().flatten(), parts.next().flatten());
    Ok(found.server(major, minor).filter(|installation| (14..=18).contains(&installation.version.major)).cloned())
}

fn fits(wanted: &Wanted, installation: &Installation) -> bool {
    let Some(version) = &wanted.version else { return true };
    let mut parts = version.split('.').map(|part| part.parse::<u32>().ok());
    parts.next().flatten() == Some(installation.version.major)
        && parts.next().flatten().is_none_or(|minor| minor == installation.version.minor)
}

fn build(installation: &Installation) -> Build {
    let words = installation.version.to_string();
    Build {
        release: Release { major: installation.version.major, minor: installation.version.minor },
        bin: Some(installation.bin.clone()),
        origin: origin(installation),
        words: (!words.contains('.')).then_some(words),
        digest: lab::find::digest(installation),
    }
}

/// Where an installation comes from, in words.
pub(super) fn origin(installation: &Installation) -> String {
    origin_words(&installation.origin)
}

fn origin_words(origin: &lab::Origin) -> String {
    match origin {
        lab::Origin::Flag => "named by --pg-bin".to_owned(),
        lab::Origin::Environment => "named by RUNNER_PG_BIN".to_owned(),
        lab::Origin::Spec => "named by the spec".to_owned(),
        lab::Origin::Cache => "installed by the runner".to_owned(),
        lab::Origin::Built(words) => words.clone(),
        lab::Origin::System(pattern) => format!("found as {pattern}"),
        lab::Origin::Path => "found on PATH".to_owned(),
    }
}

/// Asks each server for each setting that it would get.
async fn survey_settings(
    questions: &Questions,
    installations: &BTreeMap<Wanted, Installation>,
    cache: &Path,
    facts: &mut Facts,
) {
    for (wanted, installation) in installations {
        let asked: Vec<(String, String)> = questions
            .settings
            .iter()
            .filter(|(of, ..)| of == wanted)
            .map(|(_, name, value)| (name.clone(), value.clone()))
            .collect();
        match survey::survey(installation, cache, &asked).await {
            Ok(answers) => {
                for ((name, value), answer) in asked.into_iter().zip(answers) {
                    if let Err(words) = answer {
                        let refusal = if words.contains("unrecognized configuration parameter") {
                            Refusal::Lacking
                        } else {
                            Refusal::Value(words)
                        };
                        facts.refused.insert((wanted.clone(), name, value), refusal);
                    }
                }
            }
            Err(error) => facts.left_out.push(format!("whether {wanted} takes the settings: {error}")),
        }
    }
}
