//! Where a connection goes and as whom: the data of a connection string, without its text form.
//!
//! Nothing is resolved or opened here.

use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

/// The place where a server listens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Host {
    /// A unix socket, `.s.PGSQL.PORT` in `directory`.
    Unix {
        /// The server's `unix_socket_directories` entry.
        directory: PathBuf,
        /// The port that is part of the socket's name.
        port: u16,
    },
    /// A TCP address; Nagle's algorithm is switched off.
    Tcp(SocketAddr),
}

impl Host {
    /// The path of the socket file, for a unix socket.
    pub fn socket_path(&self) -> Option<PathBuf> {
        match self {
            Self::Unix { directory, port } => Some(directory.join(format!(".s.PGSQL.{port}"))),
            Self::Tcp(_) => None,
        }
    }
}

impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unix { directory, port } => {
                write!(f, "unix socket {} port {port}", directory.display())
            }
            Self::Tcp(address) => write!(f, "tcp {address}"),
        }
    }
}

/// Everything that opening a connection needs.
#[derive(Clone)]
pub struct Target {
    /// The place where the server listens.
    pub host: Host,
    /// The role to log in as.
    pub user: String,
    /// The role's password; without one, a server that asks for it is an error.
    pub password: Option<String>,
    /// The database to connect to.
    pub database: String,
    /// `application_name`, by which sessions of the runner are told from others in `pg_stat_activity`.
    pub application_name: String,
    /// Further settings of the session (`name`, `value`), sent in the start-up packet.
    pub options: Vec<(String, String)>,
    /// Whether to ask for a walsender that can do logical decoding (`replication=database`).
    pub replication: bool,
    /// The longest that opening may take from connecting to the first `ReadyForQuery`.
    pub connect_timeout: Duration,
}

impl Target {
    /// A target with no password and no further settings, and ten seconds to connect.
    pub fn new(host: Host, user: impl Into<String>, database: impl Into<String>) -> Self {
        Self {
            host,
            user: user.into(),
            password: None,
            database: database.into(),
            application_name: String::from("runner"),
            options: Vec::new(),
            replication: false,
            connect_timeout: Duration::from_secs(10),
        }
    }
}

// Written by hand so that a password never reaches a log.
impl fmt::Debug for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Target")
            .field("host", &self.host)
            .field("user", &self.user)
            .field("password", &self.password.as_ref().map(|_| "…"))
            .field("database", &self.database)
            .field("application_name", &self.application_name)
            .field("options", &self.options)
            .field("replication", &self.replication)
            .field("connect_timeout", &self.connect_timeout)
            .finish()
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "database \"{}\" at {} as user \"{}\"", self.database, self.host, self.user)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_is_not_shown() {
        let mut target = Target::new(Host::Tcp(([127, 0, 0, 1], 5432).into()), "postgres", "db");
        target.password = Some(String::from("secret"));
        assert!(!format!("{target:?} {target}").contains("secret"));
    }

    #[test]
    fn the_socket_file_carries_the_port() {
        let host = Host::Unix { directory: PathBuf::from("/tmp/x"), port: 5433 };
        assert_eq!(host.socket_path(), Some(PathBuf::from("/tmp/x/.s.PGSQL.5433")));
    }
}
