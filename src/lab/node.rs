//! One running server: starting `postgres` as our own child, its readiness, its end.
//!
//! The data directory is ready when this file comes in (`template.rs`, `conf.rs`), and who
//! may be started when is `Lab`'s business. `postgres` is spawned itself, not through
//! `pg_ctl`: so it is our child, with its CPU seconds and a parent-death signal.

use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::time::Duration;

use rustix::process::Signal;
use serde::{Deserialize, Serialize};

use super::child::{Child, Ended};
use super::find::Installation;
use super::log;
use super::process::{ParentDeath, ProcessError, Program};
use super::user::RunAs;

/// How often the readiness of a starting server is looked at.
const READY_POLL: Duration = Duration::from_millis(5);

/// How long a server may take to stop before it is killed.
const STOP_BOUND: Duration = Duration::from_mins(1);

/// How long the remains of a killed server may take to be seen.
const KILL_BOUND: Duration = Duration::from_secs(10);

/// How a server is reached by clients and other servers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Transport {
    /// Through a socket in a private folder.
    #[default]
    Unix,
    /// Through 127.0.0.1 with a password (and through the socket).
    Tcp,
}

/// How a server is ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// SIGINT: disconnects everybody and writes a checkpoint.
    Fast,
    /// SIGQUIT: drops everything; right for a server whose data goes with it.
    Immediate,
    /// SIGKILL, as a crash would. Leaves shared memory until the next start.
    Kill,
}

/// The CPU seconds of a server's whole life, all its ended processes included.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ServerUsage {
    /// In user mode.
    pub user: Duration,
    /// In the kernel.
    pub system: Duration,
}

impl From<Ended> for ServerUsage {
    fn from(ended: Ended) -> Self {
        Self { user: ended.user, system: ended.system }
    }
}

/// Why a server did not start or stop.
#[derive(Debug, thiserror::Error)]
pub enum NodeError {
    /// It ended instead of getting ready.
    #[error("the server `{name}` did not start (`{command}` ended with {status}): {reason}")]
    Ended {
        /// The node.
        name: String,
        /// The command line.
        command: String,
        /// Its exit status.
        status: ExitStatus,
        /// The server's own reason, else its last lines.
        reason: String,
    },
    /// It did not get ready in time and was killed.
    #[error("the server `{name}` was not ready within {bound:?} and was killed; its log ends with:\n{tail}")]
    NotReady {
        /// The node.
        name: String,
        /// The bound.
        bound: Duration,
        /// The last lines of its log.
        tail: String,
    },
    /// Not even SIGKILL ended it.
    #[error("the server `{name}` (process {pid}) does not end, even by SIGKILL; is its disk stuck?")]
    Undying {
        /// The node.
        name: String,
        /// Its postmaster.
        pid: u32,
    },
    /// The process could not be started or signalled.
    #[error("the server `{name}`: {source}")]
    Process {
        /// The node.
        name: String,
        /// Why.
        #[source]
        source: ProcessError,
    },
}

impl NodeError {
    /// Whether the start failed only because its TCP port was taken meanwhile.
    pub fn is_port_taken(&self) -> bool {
        let taken = |text: &str| {
            let text = text.to_ascii_lowercase();
            text.contains("address already in use") || text.contains("could not create listen socket")
        };
        matches!(self, Self::Ended { reason, .. } if taken(reason))
    }
}

/// A running server. Clones speak of the same one; dropping does not end it (its `Lab` does).
#[derive(Clone, Debug)]
pub struct RunningNode {
    /// The node's name in the spec.
    pub name: String,
    /// Its postmaster's process id.
    pub pid: u32,
    /// Its data directory.
    pub data: PathBuf,
    /// The log of this start and all before it.
    pub log: PathBuf,
    /// The private folder of its socket.
    pub socket_dir: PathBuf,
    /// Its port, for the socket's name and for TCP.
    pub port: u16,
    /// How it is meant to be reached.
    pub transport: Transport,
    /// For TCP: the password to be set for `postgres`, see [`super::password`].
    pub password: Option<String>,
    /// What it runs.
    pub installation: Installation,
    pub(crate) run_as: Option<RunAs>,
    pub(crate) server: Child,
}

impl RunningNode {
    /// Whether it has ended by itself, and with which status.
    pub fn try_ended(&self) -> Option<ExitStatus> {
        self.server.try_ended().map(|ended| ended.status)
    }

    /// Ends it at once (SIGQUIT), as is right for a disposable server.
    pub async fn stop(&self) -> Result<ServerUsage, NodeError> {
        self.end(Stop::Immediate).await
    }

    /// Ends it with a checkpoint (SIGINT), so that it starts again without recovery.
    pub async fn stop_fast(&self) -> Result<ServerUsage, NodeError> {
        self.end(Stop::Fast).await
    }

    /// Ends it in the given way and waits; SIGKILL follows after a bound. Ended before, it
    /// gives the CPU seconds of its life.
    pub async fn end(&self, how: Stop) -> Result<ServerUsage, NodeError> {
        let wrap = |source| NodeError::Process { name: self.name.clone(), source };
        let signal = match how {
            Stop::Fast => Signal::INT,
            Stop::Immediate => Signal::QUIT,
            Stop::Kill => Signal::KILL,
        };
        self.server.signal(signal).map_err(wrap)?;
        if let Some(ended) = self.server.ended_within(STOP_BOUND).await {
            return Ok(ended.into());
        }
        self.server.signal(Signal::KILL).map_err(wrap)?;
        let ended = self.server.ended_within(KILL_BOUND).await;
        ended.map(Into::into).ok_or_else(|| NodeError::Undying { name: self.name.clone(), pid: self.pid })
    }

    /// A command line that opens psql on it; `psql` is the program to name.
    pub fn psql_command(&self, psql: &Path) -> String {
        let program = Program::new(psql).arg("-h").arg(&self.socket_dir);
        program.args(["-p", &self.port.to_string(), "-U", "postgres", "postgres"]).command_line()
    }
}

/// What a start needs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Start<'a> {
    pub(crate) name: &'a str,
    pub(crate) installation: &'a Installation,
    pub(crate) run_as: Option<&'a RunAs>,
    pub(crate) data: &'a Path,
    pub(crate) log: &'a Path,
    /// Whether the server shall outlive us (`--keep`).
    pub(crate) detached: bool,
}

/// A spawned server that may not be ready yet.
#[derive(Debug)]
pub(crate) struct Starting {
    pub(crate) server: Child,
    name: String,
    command: String,
    data: PathBuf,
    log: PathBuf,
    /// Where the log of this very start begins.
    log_offset: u64,
}

impl Start<'_> {
    /// Spawns `postgres` on this thread.
    pub(crate) fn spawn(self) -> Result<Starting, NodeError> {
        let death = if self.detached { ParentDeath::Outlive } else { ParentDeath::Quit };
        let program = Program::new(self.installation.program("postgres"))
            .arg("-D")
            .arg(self.data)
            .run_as(self.run_as.cloned())
            .parent_death(death);
        let log_offset = std::fs::metadata(self.log).map_or(0, |m| m.len());
        let wrap = |source| NodeError::Process { name: self.name.to_owned(), source };
        Ok(Starting {
            server: program.spawn(self.log).map_err(wrap)?,
            name: self.name.to_owned(),
            command: program.command_line(),
            data: self.data.to_owned(),
            log: self.log.to_owned(),
            log_offset,
        })
    }
}

impl Starting {
    /// Waits until it accepts connections; if it ends first the error holds its own words, if
    /// it takes longer than `bound` it is killed.
    pub(crate) async fn ready(&self, bound: Duration) -> Result<(), NodeError> {
        let until = tokio::time::Instant::now() + bound;
        loop {
            if let Some(ended) = self.server.try_ended() {
                let reason = log::reason_since(&self.log, self.log_offset);
                return Err(NodeError::Ended {
                    name: self.name.clone(),
                    command: self.command.clone(),
                    status: ended.status,
                    reason: reason.unwrap_or_else(|| self.tail()),
                });
            }
            let file = std::fs::read_to_string(self.data.join("postmaster.pid"));
            if file.is_ok_and(|text| accepts_connections(&text, self.server.pid())) {
                return Ok(());
            }
            if tokio::time::Instant::now() > until {
                let tail = self.tail();
                let _ = self.server.signal(Signal::QUIT);
                if self.server.ended_within(KILL_BOUND).await.is_none() {
                    let _ = self.server.signal(Signal::KILL);
                    self.server.ended_within(KILL_BOUND).await;
                }
                return Err(NodeError::NotReady { name: self.name.clone(), bound, tail });
            }
            tokio::time::sleep(READY_POLL).await;
        }
    }

    fn tail(&self) -> String {
        let tail = log::tail(&log::since(&self.log, self.log_offset).0, log::TAIL_LINES);
        if tail.is_empty() { "its log is empty".to_owned() } else { tail }
    }
}

/// Whether a `postmaster.pid` is that of `pid` (line 1; another one is left from a crash) and
/// says `ready`, or `standby` for a hot standby (line 8).
fn accepts_connections(text: &str, pid: u32) -> bool {
    let mut lines = text.lines();
    let of_ours = lines.next().is_some_and(|line| line.trim() == pid.to_string());
    of_ours && lines.nth(6).is_some_and(|status| matches!(status.trim(), "ready" | "standby"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn readiness_is_the_eighth_line_of_our_own_postmaster() {
        let file = |status: &str| format!("42\n/d\n1\n5432\n/s\n\n  1  2\n{status}\n");
        for (text, ready) in [
            (file("ready   "), true),
            (file("standby "), true),
            (file("starting"), false),
            ("42\n/d\n1\n".to_owned(), false),
            (file("ready   ").replace("42", "43"), false),
        ] {
            assert_eq!(accepts_connections(&text, 42), ready, "{text}");
        }
    }
}
