//! The runner's cache folder: where it lies, and how something is made in it so that
//! nobody ever sees a half-made thing.
//!
//! Making happens under a file lock in a `.making-…` folder beside the target, which is
//! renamed into place at the end. The kernel frees the lock of a killed runner, so whatever
//! is called `.making-…` while we hold the lock is left over and can go.

use std::fs::{self, File, TryLockError};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::stamp::wait_until_unused;

/// The prefix of half-made folders.
const MAKING: &str = ".making-";

/// How long processes may still work in a half-made folder.
const UNUSED_BOUND: Duration = Duration::from_secs(3);

/// Why the cache cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum CacheError {
    /// There is no telling where it should lie.
    #[error("there is no place for the cache: neither XDG_CACHE_HOME nor HOME is set; set one")]
    NoPlace,
    /// A folder or file of it could not be made, moved or removed.
    #[error("the cache cannot be used at {}: {source}; point XDG_CACHE_HOME to another folder", path.display())]
    Unusable {
        /// The folder or file.
        path: PathBuf,
        /// The system's reason.
        #[source]
        source: io::Error,
    },
    /// Another runner held the lock too long.
    #[error("another runner has been working on {} for {bound:?}; try again when it is done", path.display())]
    Locked {
        /// The area.
        path: PathBuf,
        /// How long we waited.
        bound: Duration,
    },
    /// Another runner is making something in it.
    #[error("another runner is working on {}; nothing was removed", path.display())]
    InUse {
        /// The area.
        path: PathBuf,
    },
}

/// Where the cache lies: for root `/var/cache/runner`, because the servers' user cannot
/// traverse `/root`; else below `XDG_CACHE_HOME` (if absolute, as its standard demands), else
/// `~/.cache`.
pub fn location(uid: u32, xdg_cache_home: Option<&Path>, home: Option<&Path>) -> Result<PathBuf, CacheError> {
    if uid == 0 {
        return Ok(PathBuf::from("/var/cache/runner"));
    }
    if let Some(xdg) = xdg_cache_home.filter(|p| p.is_absolute()) {
        return Ok(xdg.join("runner"));
    }
    let home = home.filter(|p| p.is_absolute()).ok_or(CacheError::NoPlace)?;
    Ok(home.join(".cache/runner"))
}

/// One locked area of the cache (installations, templates).
#[derive(Debug)]
pub struct Area {
    folder: PathBuf,
    /// Held open for its lock.
    _lock: File,
}

impl Area {
    /// The folder of the area `name` in the cache, made if it is not there yet.
    pub fn folder(cache: &Path, name: &str) -> Result<PathBuf, CacheError> {
        let folder = cache.join(name);
        let mut builder = fs::DirBuilder::new();
        // Others may read what is installed: as root the servers' user has to.
        builder.recursive(true).mode(0o755).create(&folder).map_err(|e| unusable(&folder, e))?;
        Ok(folder)
    }

    /// Locks the area, waiting at most `bound` for another runner; clears what a killed one
    /// left half-made.
    pub async fn lock(cache: &Path, name: &str, bound: Duration) -> Result<Self, CacheError> {
        let folder = Self::folder(cache, name)?;
        let path = folder.join("lock");
        let open = File::options().create(true).append(true).open(&path);
        let file = open.map_err(|e| unusable(&path, e))?;
        let until = tokio::time::Instant::now() + bound;
        loop {
            match file.try_lock() {
                Ok(()) => break,
                Err(TryLockError::WouldBlock) if tokio::time::Instant::now() < until => {
                    tokio::time::sleep(Duration::from_millis(20)).await;
                }
                Err(TryLockError::WouldBlock) => {
                    return Err(CacheError::Locked { path: folder, bound });
                }
                Err(TryLockError::Error(e)) => return Err(unusable(&path, e)),
            }
        }
        clear(&folder);
        Ok(Self { folder, _lock: file })
    }

    /// A new empty folder to make something in; gone again when dropped unpublished.
    pub fn making(&self) -> Result<Making, CacheError> {
        let path = self.folder.join(format!("{MAKING}{}", super::random_name()));
        fs::create_dir(&path).map_err(|e| unusable(&path, e))?;
        Ok(Making { path, area: self.folder.clone(), published: false })
    }
}

/// Something being made in the cache.
#[derive(Debug)]
pub struct Making {
    path: PathBuf,
    area: PathBuf,
    published: bool,
}

impl Making {
    /// The folder to make it in.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Gives the folder `mode` and its final name, replacing what stood there.
    pub fn publish(mut self, name: &str, mode: u32) -> Result<PathBuf, CacheError> {
        let target = self.area.join(name);
        fs::set_permissions(&self.path, fs::Permissions::from_mode(mode)).map_err(|e| unusable(&self.path, e))?;
        if target.exists() {
            // A folder can't be renamed over a filled one; the old one goes first.
            let old = self.area.join(format!("{MAKING}old-{}", super::random_name()));
            fs::rename(&target, &old).map_err(|e| unusable(&target, e))?;
            let _ = fs::remove_dir_all(old);
        }
        fs::rename(&self.path, &target).map_err(|e| unusable(&target, e))?;
        self.published = true;
        Ok(target)
    }
}

impl Drop for Making {
    fn drop(&mut self) {
        if !self.published {
            remove(&self.path);
        }
    }
}

/// Removes a half-made folder once the processes in it have ended: the backend of a killed
/// `initdb` needs a moment to see that. What cannot go is tried again by the next runner.
fn remove(path: &Path) {
    wait_until_unused(path, UNUSED_BOUND);
    let _ = fs::remove_dir_all(path);
}

/// Removes what killed runners left half-made in every area that nobody is working on; whether that was all of them.
pub fn clear_half_made(cache: &Path) -> bool {
    let mut all = true;
    for area in fs::read_dir(cache).into_iter().flatten().flatten() {
        let Ok(lock) = File::options().append(true).open(area.path().join("lock")) else {
            continue;
        };
        match lock.try_lock() {
            Ok(()) => clear(&area.path()),
            Err(_) => all = false,
        }
    }
    all
}

/// Removes everything in the cache and tells how many bytes that was. Refuses, before anything is removed, while another
/// runner makes something in it; whether servers run from it must be known to the caller.
pub fn remove_all(cache: &Path) -> Result<u64, CacheError> {
    let entries: Vec<PathBuf> = match fs::read_dir(cache) {
        Ok(entries) => entries.flatten().map(|entry| entry.path()).collect(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(0),
        Err(error) => return Err(unusable(cache, error)),
    };
    let mut locks = Vec::new();
    for area in &entries {
        let Ok(lock) = File::options().append(true).open(area.join("lock")) else { continue };
        match lock.try_lock() {
            Ok(()) => locks.push(lock),
            Err(TryLockError::WouldBlock) => return Err(CacheError::InUse { path: area.clone() }),
            Err(TryLockError::Error(error)) => return Err(unusable(area, error)),
        }
    }
    let mut bytes = 0;
    for entry in &entries {
        bytes += size(entry);
        let removed =
            if entry.is_dir() && !entry.is_symlink() { fs::remove_dir_all(entry) } else { fs::remove_file(entry) };
        removed.map_err(|error| unusable(entry, error))?;
    }
    Ok(bytes)
}

/// Bytes on disk of a file or of all below a folder; links are not followed.
fn size(path: &Path) -> u64 {
    let Ok(metadata) = path.symlink_metadata() else { return 0 };
    let below = if metadata.is_dir() { fs::read_dir(path).ok() } else { None };
    let own = metadata.blocks() * 512;
    own + below.into_iter().flatten().flatten().map(|entry| size(&entry.path())).sum::<u64>()
}

/// Removes the half-made folders of an area whose lock we hold.
fn clear(area: &Path) {
    for entry in fs::read_dir(area).into_iter().flatten().flatten() {
        if entry.file_name().to_string_lossy().starts_with(MAKING) {
            remove(&entry.path());
        }
    }
}

fn unusable(path: &Path, source: io::Error) -> CacheError {
    CacheError::Unusable { path: path.to_owned(), source }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use super::*;

    #[test]
    fn root_has_a_place_that_others_can_traverse() {
        let at =
            |uid, xdg: Option<&str>, home: Option<&str>| location(uid, xdg.map(Path::new), home.map(Path::new)).ok();
        assert_eq!(at(0, Some("/x"), Some("/root")).unwrap(), Path::new("/var/cache/runner"));
        assert_eq!(at(7, Some("/x"), Some("/h")).unwrap(), Path::new("/x/runner"));
        assert_eq!(at(7, Some("x"), Some("/h")).unwrap(), Path::new("/h/.cache/runner"));
        assert_eq!(at(7, None, None), None);
    }

    #[tokio::test(flavor = "current_thread")]
    async fn nothing_half_made_outlives_its_maker() {
        let cache = tempfile::tempdir().unwrap();
        let left = cache.path().join("a/.making-left");
        fs::create_dir_all(&left).unwrap();
        let area = Area::lock(cache.path(), "a", Duration::ZERO).await.unwrap();
        assert!(!left.exists());
        let making = area.making().unwrap();
        let path = making.path().to_owned();
        clear_half_made(cache.path());
        assert!(path.exists(), "an area at work is left alone");
        drop(making);
        assert!(!path.exists());
        let error = Area::lock(cache.path(), "a", Duration::from_millis(50)).await.unwrap_err();
        assert!(matches!(error, CacheError::Locked { .. }), "{error}");
    }

    #[tokio::test(flavor = "current_thread")]
    async fn the_cache_is_removed_whole_or_while_somebody_works_on_it_not_at_all() {
        let cache = tempfile::tempdir().unwrap();
        fs::create_dir_all(cache.path().join("empty")).unwrap();
        let area = Area::lock(cache.path(), "builds", Duration::ZERO).await.unwrap();
        fs::write(cache.path().join("builds/thing"), vec![1; 100_000]).unwrap();
        let error = remove_all(cache.path()).unwrap_err();
        assert!(matches!(error, CacheError::InUse { .. }), "{error}");
        assert!(cache.path().join("empty").exists() && cache.path().join("builds/thing").exists());
        drop(area);
        assert!(remove_all(cache.path()).unwrap() >= 100_000);
        assert_eq!(fs::read_dir(cache.path()).unwrap().count(), 0);
        assert_eq!(remove_all(&cache.path().join("nowhere")).unwrap(), 0);
    }

    #[tokio::test(flavor = "current_thread")]
    async fn publishing_replaces_the_whole_folder() {
        let cache = tempfile::tempdir().unwrap();
        let area = Area::lock(cache.path(), "a", Duration::ZERO).await.unwrap();
        for content in ["one", "two"] {
            let making = area.making().unwrap();
            fs::write(making.path().join(content), content).unwrap();
            let target = making.publish("thing", 0o755).unwrap();
            let names: Vec<_> = fs::read_dir(target).unwrap().map(|e| e.unwrap().file_name()).collect();
            assert_eq!(names, [content]);
        }
    }
}
