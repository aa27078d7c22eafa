//! The lab itself: its folder, its stamp and its guard, from opening to closing. How nodes are
//! started is `starting.rs`.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::process::Signal;

use super::guard::Guard;
use super::node::{RunningNode, ServerUsage};
use super::request::{LabError, LabOptions, folder_error};
use super::stamp::{PREFIX, Stamp};
use super::sweep::{self, Swept};
use super::user::check_reach;
use super::{random_name, shared_memory};

/// How long an immediate shutdown may take in a destructor, which cannot await.
const DROP_BOUND: Duration = Duration::from_secs(3);

/// An open lab. [`Lab::close`] it; dropping is a last resort that blocks.
#[derive(Debug)]
pub struct Lab {
    pub(crate) options: LabOptions,
    pub(crate) home: PathBuf,
    pub(crate) nodes_folder: PathBuf,
    pub(crate) stamp: Stamp,
    guard: Option<Guard>,
    pub(crate) nodes: Vec<RunningNode>,
    /// Data of set-up that is too large to be kept, by name: it goes with the lab.
    pub(crate) unkept: BTreeMap<String, PathBuf>,
    closed: bool,
    swept: Swept,
}

impl Lab {
    /// The folder below which the data directories of nodes are made.
    pub fn data_folder(&self) -> &Path {
        &self.nodes_folder
    }

    /// Checks that the servers' user reaches every path, sweeps what dead runners left, then
    /// makes the folder under the eyes of a guard.
    pub async fn open(options: LabOptions) -> Result<Self, LabError> {
        if let Some(user) = &options.run_as {
            let fixed = [&options.temporary, &options.cache];
            for path in fixed.into_iter().chain(&options.scratch).chain(&options.reach) {
                check_reach(user, path)?;
            }
        }
        let swept = {
            let (temporary, cache) = (options.temporary.clone(), options.cache.clone());
            let sweeping = move || sweep::sweep(&temporary, &cache, false);
            tokio::task::spawn_blocking(sweeping).await.unwrap_or_default()
        };
        let name = format!("{PREFIX}{}", random_name());
        let home = options.temporary.join(&name);
        let bulk = options.scratch.as_ref().map(|scratch| scratch.join(&name));
        let guard = match &options.guard {
            Some(command) if !command.is_empty() => {
                Some(Guard::start(command, &home, bulk.as_deref(), &options.cache).map_err(LabError::Guard)?)
            }
            _ => None,
        };
        let identity = guard.as_ref().and_then(Guard::identity);
        let stamp = Stamp::new(identity, bulk.clone(), options.cache.clone());
        let nodes_folder = bulk.as_deref().unwrap_or(&home).join("nodes");
        // From here on dropping removes what there is.
        let lab = Self {
            options,
            home,
            nodes_folder,
            stamp,
            guard,
            nodes: Vec::new(),
            unkept: BTreeMap::new(),
            closed: false,
            swept,
        };
        lab.make_folders()?;
        Ok(lab)
    }

    fn make_folders(&self) -> Result<(), LabError> {
        // Under root the servers' user passes through, and can read and write only its own.
        let passage = if self.options.run_as.is_some() { 0o711 } else { 0o700 };
        make_folder(&self.home, passage)?;
        self.write_stamp()?;
        make_folder(&self.home.join("logs"), 0o700)?;
        if let Some(bulk) = &self.stamp.bulk {
            make_folder(bulk, passage)?;
        }
        make_folder(&self.nodes_folder, passage)?;
        spread_subfolders(&self.nodes_folder);
        let sockets = self.home.join("sockets");
        make_folder(&sockets, 0o700)?;
        self.give(&sockets)
    }

    /// The lab's folder, with `logs`.
    pub fn home(&self) -> &Path {
        &self.home
    }

    /// As whom servers run, where that is not ourselves.
    pub fn run_as(&self) -> Option<&super::RunAs> {
        self.options.run_as.as_ref()
    }

    /// A new folder in the lab's that only we and the servers' user enter, for a helper that runs as that user. It
    /// goes with the lab.
    pub fn private_folder(&self, name: &str) -> Result<PathBuf, LabError> {
        let path = self.home.join(format!("{name}-{}", random_name()));
        make_folder(&path, 0o700)?;
        self.give(&path)?;
        Ok(path)
    }

    /// What the sweep at the opening found.
    pub fn swept(&self) -> &Swept {
        &self.swept
    }

    /// The nodes that were started and not stopped through the lab.
    pub fn nodes(&self) -> &[RunningNode] {
        &self.nodes
    }

    /// Ends all nodes at once and gives each one's CPU seconds. The first failure is told
    /// after all were tried.
    pub async fn stop_all(&mut self) -> Result<Vec<(String, ServerUsage)>, LabError> {
        self.stop(|_| true).await
    }

    /// Ends the nodes of some names at once, as [`Lab::stop_all`].
    pub async fn stop(&mut self, which: impl Fn(&str) -> bool) -> Result<Vec<(String, ServerUsage)>, LabError> {
        let ending: Vec<RunningNode> = self.nodes.iter().filter(|node| which(&node.name)).cloned().collect();
        for node in &ending {
            // One that cannot be signalled is waited for below, and its error told.
            let _ = node.server.signal(Signal::QUIT);
        }
        let mut usages = Vec::new();
        let mut failed = None;
        for node in &ending {
            match node.stop().await {
                Ok(usage) => usages.push((node.name.clone(), usage)),
                Err(error) => failed = failed.or(Some(error)),
            }
        }
        if let Some(error) = failed {
            return Err(error.into());
        }
        self.clear_shared_memory(&which).await;
        self.nodes.retain(|node| !which(&node.name));
        self.stamp.servers.retain(|server| !which(&server.name));
        if self.home.exists() {
            self.write_stamp()?;
        }
        Ok(usages)
    }

    /// For `--keep`: starts every node again, detached from us, and leaves the folder to
    /// `runner clean`. The lab is closed then.
    pub async fn keep(&mut self) -> Result<Vec<RunningNode>, LabError> {
        let nodes = self.nodes.clone();
        for node in &nodes {
            node.stop_fast().await?;
        }
        let mut kept = Vec::new();
        for node in &nodes {
            kept.push(self.restart(node, true).await?);
        }
        self.stamp.kept = true;
        self.write_stamp()?;
        self.closed = true;
        if let Some(guard) = self.guard.take() {
            guard.dismiss().await;
        }
        Ok(kept)
    }

    /// Ends all nodes and removes the folder; again does nothing.
    pub async fn close(&mut self) -> Result<(), LabError> {
        if self.closed {
            return Ok(());
        }
        let stopped = self.stop_all().await;
        let (home, bulk) = (self.home.clone(), self.stamp.bulk.clone());
        let removing = move || sweep::remove_folders(&home, bulk.as_deref());
        let removed = tokio::task::spawn_blocking(removing).await.map_err(io::Error::other);
        self.closed = true;
        if let Some(guard) = self.guard.take() {
            guard.dismiss().await;
        }
        stopped?;
        removed.flatten().map_err(|e| folder_error(&self.home, e))
    }

    /// Removes the shared memory of nodes that were killed and not started again.
    async fn clear_shared_memory(&self, which: impl Fn(&str) -> bool) {
        let servers: Vec<_> = self.stamp.servers.iter().filter(|server| which(&server.name)).cloned().collect();
        let clearing = move || {
            for server in servers {
                shared_memory::remove_left_behind(&server.data, &server.shared_memory);
            }
        };
        // It panics nowhere; whatever happens, the servers are down.
        let _ = tokio::task::spawn_blocking(clearing).await;
    }

    pub(crate) fn write_stamp(&self) -> Result<(), LabError> {
        self.stamp.write(&self.home).map_err(|e| folder_error(&self.home, e))
    }

    /// Gives a path to the servers' user.
    pub(crate) fn give(&self, path: &Path) -> Result<(), LabError> {
        let Some(user) = &self.options.run_as else {
            return Ok(());
        };
        chown(path, Some(user.uid), Some(user.gid)).map_err(|e| folder_error(path, e))
    }
}

impl Drop for Lab {
    fn drop(&mut self) {
        if self.closed {
            return;
        }
        for node in &self.nodes {
            let _ = node.server.signal(Signal::QUIT);
        }
        for node in &self.nodes {
            if node.server.ended_within_blocking(DROP_BOUND).is_none() {
                let _ = node.server.signal(Signal::KILL);
                node.server.ended_within_blocking(DROP_BOUND);
            }
        }
        for server in &self.stamp.servers {
            shared_memory::remove_left_behind(&server.data, &server.shared_memory);
        }
        // Whatever this leaves, the guard finds when its pipe closes, right after this.
        if super::stamp::is_ours(&self.home, true) {
            let _ = sweep::remove_folders(&self.home, self.stamp.bulk.as_deref());
        }
    }
}

/// Has ext4 put each new folder in `path` into a block group of its own choice, by the folder's name, as for home folders.
///
/// Else all data directories go where `path` is, and each new file there is slow: for minutes ext4 passes over the
/// inodes of files that were just deleted, and a turn deletes two thousand. Measured: 0.77 s a copy after many turns,
/// 0.09 s with this and a new name each time. Other file systems know no such flag and have no such trouble.
fn spread_subfolders(path: &Path) {
    #[cfg(target_os = "linux")]
    if let Ok(folder) = fs::File::open(path)
        && let Ok(flags) = rustix::fs::ioctl_getflags(&folder)
    {
        let _ = rustix::fs::ioctl_setflags(&folder, flags | rustix::fs::IFlags::TOPDIR);
    }
    #[cfg(not(target_os = "linux"))]
    let _ = path;
}

/// Makes a folder that must not exist yet, with exactly this mode whatever the umask.
fn make_folder(path: &Path, mode: u32) -> Result<(), LabError> {
    let made = fs::DirBuilder::new().mode(0o700).create(path);
    made.and_then(|()| fs::set_permissions(path, fs::Permissions::from_mode(mode))).map_err(|e| folder_error(path, e))
}
