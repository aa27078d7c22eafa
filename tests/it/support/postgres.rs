//! Real PostgreSQL for tests: found or installed as the product does it, in the user's ordinary cache. A missing one
//! is a failure, never a reason to skip.
//!
//! As root servers run as the user that the product chooses; as an ordinary user they run as that.
#![expect(clippy::unwrap_used, reason = "tests")]

use std::path::{Path, PathBuf};

use runner::lab::find::{self, Found, Search};
use runner::lab::{
    InitdbOptions, Installation, Lab, LabOptions, NodeRequest, RunningNode, Transport, cache, install, sockets, user,
};
use runner::wire::{Connection, Host, Target};
use tokio::sync::{RwLock, RwLockReadGuard, RwLockWriteGuard};

/// Held for reading by whoever runs servers, for writing by who looks for memory and processes that are left over.
static SERVERS: RwLock<()> = RwLock::const_new(());

/// Leave to run servers. Hold it while any runs.
pub(crate) async fn servers() -> RwLockReadGuard<'static, ()> {
    SERVERS.read().await
}

/// The same, while no other test of this binary that asks for leave runs any.
pub(crate) async fn no_other_servers() -> RwLockWriteGuard<'static, ()> {
    SERVERS.write().await
}

/// The program under test.
pub(crate) fn runner() -> &'static Path {
    Path::new(env!("CARGO_BIN_EXE_runner"))
}

/// Whether these tests run as root, and servers as somebody else.
pub(crate) fn is_root() -> bool {
    user::effective_uid() == 0
}

/// The user's ordinary cache: what a test installs serves the next run, and the product.
pub(crate) fn cache() -> PathBuf {
    let variable = |name: &str| std::env::var_os(name).map(PathBuf::from);
    let place =
        cache::location(user::effective_uid(), variable("XDG_CACHE_HOME").as_deref(), variable("HOME").as_deref());
    place.unwrap()
}

/// The folder that labs are made in, by this user's runner too.
pub(crate) fn temporary() -> PathBuf {
    sockets::temporary_folder(user::effective_uid(), std::env::var_os("TMPDIR").map(PathBuf::from).as_deref())
}

/// What is on this machine.
pub(crate) async fn found() -> Found {
    let search = Search {
        environment: std::env::var_os("RUNNER_PG_BIN").filter(|value| !value.is_empty()),
        cache: install::cached(&cache()),
        path: std::env::var_os("PATH"),
        ..Search::default()
    };
    find::search(&search).await.unwrap()
}

/// A server of this version, installed if there is none. Several tests may ask at once: the cache is locked while one
/// installs, and who waited takes what the other made.
pub(crate) async fn server(major: u32) -> Installation {
    if let Some(server) = found().await.server(Some(major), None) {
        return server.clone();
    }
    let installed = install::install(major, &cache(), false, &mut |_| ()).await;
    installed.unwrap_or_else(|error| panic!("these tests need PostgreSQL {major}: {error}"))
}

/// Options of a lab as the product opens it.
pub(crate) async fn options() -> LabOptions {
    let sudo_user = std::env::var("SUDO_USER").ok();
    let run_as = user::choose(user::effective_uid(), None, sudo_user.as_deref()).await.unwrap();
    let guard = vec![runner().into(), "__guard".into()];
    let mut options = LabOptions::new(cache(), run_as, Some(guard), None);
    options.temporary = temporary();
    options
}

/// An open lab.
pub(crate) async fn lab() -> Lab {
    Lab::open(options().await).await.unwrap()
}

/// A node that logical replication can start from, reached by its socket.
pub(crate) fn request(name: &str, place: u16, installation: &Installation) -> NodeRequest {
    NodeRequest {
        name: name.to_owned(),
        place,
        shift: 0,
        installation: installation.clone(),
        initdb: InitdbOptions::default(),
        settings: [("wal_level", "logical"), ("fsync", "off")].map(|(n, v)| (n.to_owned(), v.to_owned())).to_vec(),
        transport: Transport::Unix,
    }
}

/// The superuser's way to a node through its socket.
pub(crate) fn target(node: &RunningNode) -> Target {
    let host = Host::Unix { directory: node.socket_dir.clone(), port: node.port };
    Target::new(host, "postgres", "postgres")
}

/// A user's way to a node over TCP.
pub(crate) fn tcp(node: &RunningNode, user: &str, password: Option<&str>) -> Target {
    let mut target = Target::new(Host::Tcp(([127, 0, 0, 1], node.port).into()), user, "postgres");
    target.password = password.map(str::to_owned);
    target
}

/// A session of the superuser.
pub(crate) fn session(node: &RunningNode) -> Connection {
    Connection::open(&target(node)).unwrap()
}

/// Runs SQL and gives the first value of its last row.
pub(crate) fn value(connection: &mut Connection, sql: &str) -> String {
    let result = connection.query(sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
    result.rows.last().and_then(|row| row.first()?.clone()).unwrap_or_default()
}

/// A temporary folder in `/tmp`, short enough for sockets, that the servers' user can pass.
pub(crate) fn passable_folder() -> tempfile::TempDir {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::Builder::new().prefix("rt").tempdir_in("/tmp").unwrap();
    std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o711)).unwrap();
    folder
}
