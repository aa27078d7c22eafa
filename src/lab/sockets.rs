//! Chooses the folder of the servers' sockets and their ports.
//!
//! A socket's path has a hard limit, so the folder lies in a short place whatever the
//! working folder is. The only effect here is asking the kernel for a free TCP port.

use std::io;
use std::net::{Ipv4Addr, TcpListener};
use std::path::{Path, PathBuf};

/// The longest path of a Unix socket in bytes: `sun_path` holds 108 with its ending NUL on
/// Linux, 104 on macOS and the BSDs.
pub const PATH_LIMIT_BYTES: usize = if cfg!(target_os = "linux") { 107 } else { 103 };

/// The port of the node at place 0; the next places count up. In a folder of our own no
/// other server can hold it.
pub const FIRST_PORT: u16 = 5432;

/// The longest our own part of a socket's path gets: folder, socket and its lock file.
const OWN_BYTES: usize = "/runner-XXXXXXXX/sockets/.s.PGSQL.65535.lock".len();

/// Why a socket cannot be placed.
#[derive(Debug, thiserror::Error)]
#[error(
    "the socket path {} would be {length} bytes long, and the system allows {PATH_LIMIT_BYTES}; \
     set TMPDIR to a shorter folder", path.display()
)]
pub struct SocketPathError {
    /// The path.
    pub path: PathBuf,
    /// Its length in bytes.
    pub length: usize,
}

/// The folder under which private folders with sockets are made: `TMPDIR` if it is short
/// enough and absolute, else `/tmp`. Under root always `/tmp`: the servers' user must be
/// able to pass.
pub fn temporary_folder(uid: u32, tmpdir: Option<&Path>) -> PathBuf {
    let fits = |p: &&Path| uid != 0 && p.is_absolute() && p.as_os_str().len() + OWN_BYTES <= PATH_LIMIT_BYTES;
    tmpdir.filter(fits).unwrap_or(Path::new("/tmp")).to_owned()
}

/// The path of the socket that a server with this port makes in `folder`, checked against
/// the limit together with the lock file beside it.
pub fn socket_path(folder: &Path, port: u16) -> Result<PathBuf, SocketPathError> {
    let path = folder.join(format!(".s.PGSQL.{port}"));
    let length = path.as_os_str().len();
    if length > PATH_LIMIT_BYTES {
        return Err(SocketPathError { path, length });
    }
    Ok(path)
}

/// The fixed port of a node that listens on its Unix socket alone.
pub fn unix_port(place: u16) -> u16 {
    FIRST_PORT.saturating_add(place)
}

/// A TCP port of 127.0.0.1 that is free now. Someone may take it before the server does:
/// the start is then tried again with another.
pub fn free_tcp_port() -> io::Result<u16> {
    Ok(TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?.port())
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use super::*;

    #[test]
    fn long_or_relative_temporary_folders_give_way_to_tmp() {
        let long = format!("/{}", "x".repeat(70));
        for (uid, given, expected) in [
            (1000, Some("/home/u/tmp"), "/home/u/tmp"),
            (1000, Some(long.as_str()), "/tmp"),
            (1000, Some("tmp"), "/tmp"),
            (1000, None, "/tmp"),
            (0, Some("/root/tmp"), "/tmp"),
        ] {
            assert_eq!(temporary_folder(uid, given.map(Path::new)), Path::new(expected));
        }
    }

    #[test]
    fn the_limit_counts_the_whole_path() {
        let fits = PathBuf::from(format!("/{}", "x".repeat(PATH_LIMIT_BYTES - 15)));
        assert_eq!(socket_path(&fits, 5432).unwrap().as_os_str().len(), PATH_LIMIT_BYTES);
        assert!(socket_path(&fits.join("y"), 5432).is_err());
    }
}
