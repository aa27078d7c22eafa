//! What a lab and its nodes are asked for with, and why they may be refused.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::dataset::{self, DatasetError};
use super::find::Installation;
use super::initdb::InitdbOptions;
use super::node::{NodeError, Transport};
use super::process::ProcessError;
use super::sockets::{self, SocketPathError};
use super::template::TemplateError;
use super::user::{RunAs, UserError, effective_uid};

/// What a lab is opened with.
#[derive(Clone, Debug)]
pub struct LabOptions {
    /// The cache (see [`super::cache::location`]).
    pub cache: PathBuf,
    /// Where the lab's short folder is made (see [`sockets::temporary_folder`]).
    pub temporary: PathBuf,
    /// Where data directories go if not there: a folder on the disk to be measured.
    pub scratch: Option<PathBuf>,
    /// As whom servers run (see [`super::user::choose`]).
    pub run_as: Option<RunAs>,
    /// Further paths that this user must be able to reach: the bin folders to be used.
    pub reach: Vec<PathBuf>,
    /// The command line of the guard, `[our executable, hidden argument]`; `None` for none.
    pub guard: Option<Vec<OsString>>,
    /// How long a server may take to get ready.
    pub start_bound: Duration,
    /// How many bytes of data of set-up are kept in the cache at most.
    pub data_bound: u64,
}

impl LabOptions {
    /// The usual options for this process: as user `run_as`, with this cache and guard; the
    /// temporary folder by [`sockets::temporary_folder`]; servers have a minute to start.
    pub fn new(cache: PathBuf, run_as: Option<RunAs>, guard: Option<Vec<OsString>>, tmpdir: Option<&Path>) -> Self {
        Self {
            cache,
            temporary: sockets::temporary_folder(effective_uid(), tmpdir),
            scratch: None,
            run_as,
            reach: Vec::new(),
            guard,
            start_bound: Duration::from_mins(1),
            data_bound: dataset::BOUND,
        }
    }
}

/// A server to be started.
#[derive(Clone, Debug)]
pub struct NodeRequest {
    /// The node's name; it names folders and files.
    pub name: String,
    /// Its place in the topology, counted from 0: it chooses template and port.
    pub place: u16,
    /// Added to the place for the port: of a topology that stands beside another.
    pub shift: u16,
    /// What it runs.
    pub installation: Installation,
    /// How its cluster is initialised.
    pub initdb: InitdbOptions,
    /// Its settings in order; the last of a name wins.
    pub settings: Vec<(String, String)>,
    /// How it is reached.
    pub transport: Transport,
}

/// Why a lab or a node in it could not be made.
#[derive(Debug, thiserror::Error)]
pub enum LabError {
    /// A folder or file of the lab.
    #[error("the lab's {} cannot be made: {source}", path.display())]
    Folder {
        /// The folder or file.
        path: PathBuf,
        /// The system's reason.
        #[source]
        source: io::Error,
    },
    /// The name cannot be a file's.
    #[error("`{0}` cannot name a node: use letters, digits and underscores")]
    Name(String),
    /// A node of this name runs already.
    #[error("a node `{0}` is running already; stop it first")]
    Twice(String),
    /// The servers' user cannot work.
    #[error(transparent)]
    User(#[from] UserError),
    /// The socket's path is too long.
    #[error(transparent)]
    Socket(#[from] SocketPathError),
    /// No data directory.
    #[error(transparent)]
    Template(#[from] TemplateError),
    /// No data of set-up.
    #[error(transparent)]
    Dataset(#[from] DatasetError),
    /// The server.
    #[error(transparent)]
    Node(#[from] NodeError),
    /// The guard could not be started.
    #[error("the guard process: {0}")]
    Guard(#[source] ProcessError),
    /// The system gives no random bytes.
    #[error("no random password: {0}")]
    Random(getrandom::Error),
}

pub(crate) fn folder_error(path: &Path, source: io::Error) -> LabError {
    LabError::Folder { path: path.to_owned(), source }
}
