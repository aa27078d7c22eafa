//! Data of set-up in the cache: whole data directories that a stopped server left, copied for each node that starts
//! from them.
//!
//! One is found by the name of the template that it was made from (binaries, options, place) and the plan's key. It is
//! made in the lab, where a guard looks after it, and moved into the cache when its server has stopped: nothing half-made
//! is ever there. Whoever is about to copy one holds a shared lock on it, and what is locked is not removed.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use serde::{Deserialize, Serialize};

use super::cache::{Area, CacheError};
use super::opening::Lab;
use super::random_name;
use super::request::NodeRequest;
use super::template::{self, TemplateError};
use super::user::RunAs;
use crate::text::format_bytes;

/// The area of the cache that data of set-up stands in.
pub const AREA: &str = "datasets";

/// How many bytes of it are kept unless told otherwise.
pub const BOUND: u64 = 10 << 30;

/// How long to wait for another runner that is making data.
const LOCK_BOUND: Duration = Duration::from_hours(2);

/// The file that says how it was made, and is locked while it is in use.
const MADE: &str = "made.json";

/// Why there is no data of set-up.
#[derive(Debug, thiserror::Error)]
pub enum DatasetError {
    /// The cache is not usable.
    #[error(transparent)]
    Cache(#[from] CacheError),
    /// It could not be copied.
    #[error(transparent)]
    Copy(#[from] TemplateError),
    /// No room for a copy.
    #[error("the disk is full: a copy of the set-up's data needs {} at {}; free some, for instance by `runner clean --cache`", format_bytes(*needed), path.display())]
    Full {
        /// Bytes.
        needed: u64,
        /// Where it should go.
        path: PathBuf,
    },
    /// A link, as tablespaces are.
    #[error("the set-up's data cannot be kept: {} is no file or folder (tablespaces are not supported there); write `cache = false` in its steps", path.display())]
    Link {
        /// The link.
        path: PathBuf,
    },
    /// A file or folder.
    #[error("the set-up's data at {}: {source}", path.display())]
    File {
        /// The file or folder.
        path: PathBuf,
        /// The system's reason.
        #[source]
        source: io::Error,
    },
}

/// How data was made.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Made {
    /// Wall time, in seconds.
    pub seconds: f64,
    /// Size of its files, in bytes.
    pub bytes: u64,
}

/// Data of set-up, which stays until this is dropped.
#[derive(Debug)]
pub struct Dataset {
    folder: PathBuf,
    /// How it was made.
    pub made: Made,
    /// Whether it stays in the cache.
    pub kept: bool,
    /// Held open for its shared lock.
    _used: File,
}

impl Dataset {
    /// What stands in a folder; `None` if nothing whole does, or someone is removing it.
    fn open(folder: &Path, kept: bool) -> Option<Self> {
        let used = File::open(folder.join(MADE)).ok()?;
        used.try_lock_shared().ok()?;
        let made = serde_json::from_str(&fs::read_to_string(folder.join(MADE)).ok()?).ok()?;
        // Its age is that of its last use; a failure only lets it age.
        let _ = File::open(folder).and_then(|file| file.set_modified(SystemTime::now()));
        Some(Self { folder: folder.to_owned(), made, kept, _used: used })
    }

    /// Copies the data directory to `target`, which must not exist.
    pub(crate) async fn copy(&self, target: &Path, run_as: Option<&RunAs>) -> Result<(), DatasetError> {
        let copied = template::copy(&self.folder.join("data"), target, run_as).await;
        copied.map_err(|error| match error {
            TemplateError::Copy { source, .. } if source.kind() == io::ErrorKind::StorageFull => {
                DatasetError::Full { needed: self.made.bytes, path: target.to_owned() }
            }
            error => error.into(),
        })
    }
}

impl Lab {
    /// The name of data in the cache: of what made its template, and the plan's key.
    pub fn dataset_name(&self, request: &NodeRequest, key: &str) -> Result<String, DatasetError> {
        Ok(format!("{}-{key}", template::name(&request.installation, request.initdb, request.place)?))
    }

    /// Data by its name, if it has been made.
    pub fn dataset(&self, name: &str) -> Option<Dataset> {
        match self.unkept.get(name) {
            Some(folder) => Dataset::open(folder, false),
            None => Dataset::open(&self.options.cache.join(AREA).join(name), true),
        }
    }

    /// Where data is kept, to be locked by [`lock`].
    pub fn cache(&self) -> PathBuf {
        self.options.cache.clone()
    }

    /// Keeps the data directory of a server that was stopped in good order. Older data goes until there is room within
    /// the bound; what is larger than the bound stays in the lab and goes with it.
    pub fn keep_data(&mut self, area: &Area, name: &str, data: &Path, seconds: f64) -> Result<Dataset, DatasetError> {
        for file in ["postmaster.pid", "postmaster.opts"] {
            let _ = fs::remove_file(data.join(file));
        }
        let made = Made { seconds, bytes: size(data)? };
        let text = serde_json::to_string(&made).map_err(|error| file_error(data, error.into()))?;
        let own = self.nodes_folder.join(format!(".data-{}", random_name()));
        let kept = made.bytes <= self.options.data_bound;
        let folder = if kept {
            make_room(&self.options.cache.join(AREA), self.options.data_bound - made.bytes);
            let making = area.making()?;
            let target = making.path().join("data");
            match fs::rename(data, &target) {
                Err(error) if error.kind() == io::ErrorKind::CrossesDevices => {
                    let owner = self.options.run_as.as_ref();
                    template::copy_tree(data, &target, owner).map_err(|error| match error {
                        TemplateError::Copy { source, .. } if source.kind() == io::ErrorKind::StorageFull => {
                            DatasetError::Full { needed: made.bytes, path: target.clone() }
                        }
                        error => error.into(),
                    })?;
                }
                moved => moved.map_err(|error| file_error(&target, error))?,
            }
            fs::write(making.path().join(MADE), text).map_err(|error| file_error(making.path(), error))?;
            making.publish(name, 0o700)?
        } else {
            fs::create_dir(&own).map_err(|error| file_error(&own, error))?;
            fs::rename(data, own.join("data")).map_err(|error| file_error(&own, error))?;
            fs::write(own.join(MADE), text).map_err(|error| file_error(&own, error))?;
            self.unkept.insert(name.to_owned(), own.clone());
            own
        };
        let gone = || file_error(&folder, io::Error::other("it is not there though it was just made"));
        Dataset::open(&folder, kept).ok_or_else(gone)
    }
}

/// Locks the data of set-up for making some.
pub async fn lock(cache: &Path) -> Result<Area, DatasetError> {
    Ok(Area::lock(cache, AREA, LOCK_BOUND).await?)
}

/// A size: bytes, or a whole number with `kB`, `MB`, `GB` or `TB`, which are PostgreSQL's units of 1024.
pub fn parse_bound(text: &str) -> Option<u64> {
    let text = text.trim();
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic() || c == ' ');
    let unit: u64 = match text[digits.len()..].trim() {
        "" | "B" => 1,
        "kB" => 1 << 10,
        "MB" => 1 << 20,
        "GB" => 1 << 30,
        "TB" => 1 << 40,
        _ => return None,
    };
    digits.parse::<u64>().ok()?.checked_mul(unit)
}

/// Bytes of all files of a tree, which must hold only files and folders.
fn size(path: &Path) -> Result<u64, DatasetError> {
    let metadata = path.symlink_metadata().map_err(|error| file_error(path, error))?;
    if metadata.is_file() {
        return Ok(metadata.len());
    }
    if !metadata.is_dir() {
        return Err(DatasetError::Link { path: path.to_owned() });
    }
    let mut total = 0;
    for entry in fs::read_dir(path).map_err(|error| file_error(path, error))? {
        total += size(&entry.map_err(|error| file_error(path, error))?.path())?;
    }
    Ok(total)
}

/// Removes what was used longest ago until at most `bytes` are left; what is in use stays.
fn make_room(area: &Path, bytes: u64) {
    let entries = fs::read_dir(area).into_iter().flatten().flatten();
    let mut all: Vec<(SystemTime, PathBuf, Dataset)> = entries
        .filter_map(|entry| {
            let used = entry.metadata().and_then(|metadata| metadata.modified()).ok()?;
            Some((used, entry.path(), Dataset::open(&entry.path(), true)?))
        })
        .collect();
    all.sort_by_key(|(used, ..)| *used);
    let mut total: u64 = all.iter().map(|(.., dataset)| dataset.made.bytes).sum();
    for (used, path, dataset) in all {
        let size = dataset.made.bytes;
        // Looking at it was no use of it.
        let _ = File::open(&path).and_then(|file| file.set_modified(used));
        drop(dataset);
        let free = File::open(path.join(MADE))
            .is_ok_and(|file| total > bytes && file.try_lock().is_ok() && fs::remove_dir_all(&path).is_ok());
        if free {
            total -= size;
        }
    }
}

fn file_error(path: &Path, source: io::Error) -> DatasetError {
    DatasetError::File { path: path.to_owned(), source }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use super::*;

    fn kept(area: &Path, name: &str, bytes: u64, used: u64) -> PathBuf {
        let folder = area.join(name);
        fs::create_dir_all(folder.join("data")).unwrap();
        fs::write(folder.join(MADE), serde_json::to_string(&Made { seconds: 1.0, bytes }).unwrap()).unwrap();
        let moment = SystemTime::UNIX_EPOCH + Duration::from_secs(used);
        File::open(&folder).unwrap().set_modified(moment).unwrap();
        folder
    }

    #[test]
    fn what_was_used_longest_ago_goes_first_and_what_is_in_use_stays() {
        let area = tempfile::tempdir().unwrap();
        let oldest = kept(area.path(), "a", 40, 1);
        let in_use = kept(area.path(), "b", 30, 2);
        let newest = kept(area.path(), "c", 20, 3);
        let held = File::open(in_use.join(MADE)).unwrap();
        held.lock_shared().unwrap();
        make_room(area.path(), 90);
        assert!(oldest.exists() && in_use.exists() && newest.exists());
        make_room(area.path(), 50);
        assert!(!oldest.exists() && in_use.exists() && newest.exists());
        make_room(area.path(), 0);
        assert!(in_use.exists() && !newest.exists());
    }

    #[test]
    fn a_tablespace_is_refused() {
        let data = tempfile::tempdir().unwrap();
        fs::create_dir(data.path().join("pg_tblspc")).unwrap();
        fs::write(data.path().join("file"), "four").unwrap();
        assert_eq!(size(data.path()).unwrap(), 4);
        std::os::unix::fs::symlink("/", data.path().join("pg_tblspc/1")).unwrap();
        assert!(size(data.path()).unwrap_err().to_string().contains("tablespaces"));
    }

    #[test]
    fn a_size_is_bytes_or_has_a_unit() {
        assert_eq!(parse_bound("5000"), Some(5000));
        assert_eq!(parse_bound("20GB"), Some(20 << 30));
        assert_eq!(parse_bound(" 3 MB "), Some(3 << 20));
        for wrong in ["", "GB", "1.5GB", "20gb", "-1", "99999999999TB"] {
            assert_eq!(parse_bound(wrong), None, "{wrong}");
        }
    }
}
