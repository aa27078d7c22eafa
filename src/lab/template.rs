//! Keeps initialised data directories in the cache and copies them for nodes.
//!
//! A copy shares its template's system identifier, and tablesync slots are named by it: two
//! subscribers from one template collide on their publisher. So there is one template for
//! each *place* in a topology. A template is found by a digest of the binaries and options
//! that made it; `std::fs::copy` shares blocks where the file system can (`copy_file_range`,
//! `fclonefileat`), so no crate is needed for that.

use std::fmt::Write as _;
use std::fs;
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::time::Duration;

use sha2::{Digest, Sha256};

use super::cache::{Area, CacheError};
use super::find::Installation;
use super::initdb::{InitdbOptions, initdb};
use super::process::ProcessError;
use super::user::{RunAs, UserError, check_reach};

/// The area of the cache that templates stand in.
pub const AREA: &str = "templates";

/// How long to wait for another runner that is making templates.
const LOCK_BOUND: Duration = Duration::from_mins(5);

/// Changes when templates made by earlier versions of the runner no longer serve.
const FORMAT: u32 = 1;

/// How long an unused template is kept.
const UNUSED: Duration = Duration::from_hours(30 * 24);

/// Why there is no copy of a template.
#[derive(Debug, thiserror::Error)]
pub enum TemplateError {
    /// The cache is not usable.
    #[error(transparent)]
    Cache(#[from] CacheError),
    /// `initdb` failed.
    #[error("initdb of PostgreSQL {version} failed: {source}")]
    Initdb {
        /// The version.
        version: String,
        /// Why.
        #[source]
        source: ProcessError,
    },
    /// The servers' user cannot reach a folder.
    #[error(transparent)]
    User(#[from] UserError),
    /// A file could not be read, written or given to the servers' user.
    #[error("the data directory cannot be copied at {}: {source}", path.display())]
    Copy {
        /// The file or folder.
        path: PathBuf,
        /// The system's reason.
        #[source]
        source: io::Error,
    },
}

/// The template for an installation, its options and a place in the topology: the path of
/// its data directory, made by `initdb` if it is not in the cache yet.
pub async fn template(
    cache: &Path,
    installation: &Installation,
    options: InitdbOptions,
    place: u16,
    run_as: Option<&RunAs>,
) -> Result<PathBuf, TemplateError> {
    let name = name(installation, options, place)?;
    let area_folder = Area::folder(cache, AREA)?;
    let ready = area_folder.join(&name).join("data");
    if ready.join("PG_VERSION").is_file() {
        touch(&area_folder.join(&name));
        return Ok(ready);
    }
    let area = Area::lock(cache, AREA, LOCK_BOUND).await?;
    if ready.join("PG_VERSION").is_file() {
        return Ok(ready);
    }
    remove_unused(&area_folder);
    let making = area.making()?;
    let data = making.path().join("data");
    let at = |path: &Path| {
        let path = path.to_owned();
        move |source| TemplateError::Copy { path, source }
    };
    fs::create_dir(&data).map_err(at(&data))?;
    fs::set_permissions(&data, fs::Permissions::from_mode(0o700)).map_err(at(&data))?;
    if let Some(user) = run_as {
        // Traversable while it is made; `publish` closes it, so that the servers' user
        // cannot plant links in what root copies later.
        fs::set_permissions(making.path(), fs::Permissions::from_mode(0o711)).map_err(at(making.path()))?;
        chown(&data, Some(user.uid), Some(user.gid)).map_err(at(&data))?;
        check_reach(user, &data)?;
    }
    let log = making.path().join("initdb.log");
    let done = initdb(installation, options, run_as, &data, &log).await;
    done.map_err(|source| TemplateError::Initdb { version: installation.version.to_string(), source })?;
    Ok(making.publish(&name, 0o700)?.join("data"))
}

/// The template's folder name: readable version and place around a digest of what made it.
pub(crate) fn name(installation: &Installation, options: InitdbOptions, place: u16) -> Result<String, TemplateError> {
    let mut made_of = format!("{FORMAT}\n{}\n", installation.version.text);
    for program in ["postgres", "initdb"] {
        let path = installation.program(program);
        let metadata = fs::metadata(&path).map_err(|source| TemplateError::Copy { path: path.clone(), source })?;
        // Size and time stand for the content: reading 11 MB for each node would cost more
        // than the copy, and a rebuild changes them.
        let _ =
            writeln!(made_of, "{} {} {}.{}", path.display(), metadata.len(), metadata.mtime(), metadata.mtime_nsec());
    }
    made_of.push_str(&options.arguments(installation.version.major).join(" "));
    let digest = super::hexadecimal(&Sha256::digest(made_of)[..8]);
    Ok(format!("{}-{digest}-place{place}", installation.version))
}

/// Copies a template's data directory to `target` (which must not exist), with its modes and,
/// if we are root, for the servers' user. On ext4 about 0.1 s of blocking work.
pub async fn copy(template: &Path, target: &Path, run_as: Option<&RunAs>) -> Result<(), TemplateError> {
    let (from, to, owner) = (template.to_owned(), target.to_owned(), run_as.cloned());
    // Copying forks nothing, so it may leave the main thread.
    let copying = tokio::task::spawn_blocking(move || copy_tree(&from, &to, owner.as_ref()));
    copying.await.unwrap_or_else(|panicked| {
        Err(TemplateError::Copy { path: target.to_owned(), source: io::Error::other(panicked) })
    })
}

pub(crate) fn copy_tree(from: &Path, to: &Path, owner: Option<&RunAs>) -> Result<(), TemplateError> {
    let at = |source| TemplateError::Copy { path: from.to_owned(), source };
    let metadata = from.symlink_metadata().map_err(at)?;
    if metadata.is_dir() {
        fs::create_dir(to).map_err(at)?;
        for entry in fs::read_dir(from).map_err(at)? {
            let entry = entry.map_err(at)?;
            copy_tree(&entry.path(), &to.join(entry.file_name()), owner)?;
        }
        fs::set_permissions(to, metadata.permissions()).map_err(at)?;
    } else if metadata.is_file() {
        fs::copy(from, to).map_err(at)?;
    } else {
        return Err(at(io::Error::other("a template holds only files and folders")));
    }
    if let Some(user) = owner {
        chown(to, Some(user.uid), Some(user.gid)).map_err(at)?;
    }
    Ok(())
}

/// Marks a template as used now; a failure only lets it age.
fn touch(folder: &Path) {
    if let Ok(file) = fs::File::open(folder) {
        let _ = file.set_modified(std::time::SystemTime::now());
    }
}

/// Removes templates that nobody used for a month, such as those of replaced builds. Only
/// names of our own form go.
fn remove_unused(area: &Path) {
    for entry in fs::read_dir(area).into_iter().flatten().flatten() {
        let ours = entry.file_name().to_string_lossy().contains("-place");
        let age = entry.metadata().and_then(|m| m.modified()).ok().and_then(|t| t.elapsed().ok());
        if ours && age.is_some_and(|age| age > UNUSED) {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use super::*;
    use crate::lab::find::{Origin, Version};
    use std::collections::BTreeSet;

    #[test]
    fn a_place_an_option_or_a_rebuild_makes_another_template() {
        let bin = tempfile::tempdir().unwrap();
        for program in ["postgres", "initdb"] {
            fs::write(bin.path().join(program), "one").unwrap();
        }
        let installation = Installation {
            version: Version::parse("postgres (PostgreSQL) 18.6").unwrap(),
            bin: bin.path().to_owned(),
            tools: BTreeSet::new(),
            origin: Origin::Flag,
        };
        let of = |options, place| name(&installation, options, place).unwrap();
        let plain = of(InitdbOptions::default(), 0);
        assert!(plain.starts_with("18.6-") && plain.ends_with("-place0"), "{plain}");
        assert_eq!(plain, of(InitdbOptions::default(), 0));
        assert_ne!(plain, of(InitdbOptions::default(), 1));
        assert_ne!(plain, of(InitdbOptions { checksums: Some(false) }, 0));
        fs::write(bin.path().join("postgres"), "rebuilt").unwrap();
        assert_ne!(plain, of(InitdbOptions::default(), 0));
    }

    #[test]
    fn a_copy_keeps_modes_and_refuses_links() {
        let root = tempfile::tempdir().unwrap();
        let from = root.path().join("from");
        fs::create_dir_all(from.join("base/1")).unwrap();
        fs::write(from.join("base/1/file"), "x").unwrap();
        fs::set_permissions(from.join("base/1/file"), fs::Permissions::from_mode(0o600)).unwrap();
        fs::set_permissions(&from, fs::Permissions::from_mode(0o700)).unwrap();
        let to = root.path().join("to");
        copy_tree(&from, &to, None).unwrap();
        assert_eq!(to.metadata().unwrap().mode() & 0o777, 0o700);
        assert_eq!(to.join("base/1/file").metadata().unwrap().mode() & 0o777, 0o600);
        std::os::unix::fs::symlink("/etc/passwd", from.join("planted")).unwrap();
        let error = copy_tree(&from, &root.path().join("again"), None).unwrap_err();
        assert!(error.to_string().contains("planted"), "{error}");
    }
}
