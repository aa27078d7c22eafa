//! Starting and stopping the nodes of a turn, and the control session of each.

use std::net::{Ipv4Addr, SocketAddr};
use std::rc::Rc;
use std::time::Instant;

use indexmap::IndexMap;
use tokio_postgres::{Client, NoTls, SimpleQueryMessage, SimpleQueryRow};

use super::sampler::Sampler;
use super::{Live, Records};
use crate::execute::world::{Failure, Reply};
use crate::lab::{self, InitdbOptions, NodeRequest, RunningNode};
use crate::plan::instruction::SqlText;
use crate::results::{DataRecord, NodeRecord};
use crate::script;
use crate::spec::scenario::Transport;
use crate::text::quote::{conninfo_value, literal};
use crate::wire::{Host, Target};

/// Prefix of each line of a server's log; the kind of process tells an apply worker's error from a client's.
const LOG_LINE_PREFIX: &str = "%m [%p] %b ";

/// A running node with its control session.
pub(super) struct LiveNode {
    pub(super) node: RunningNode,
    pub(super) control: Rc<Client>,
    /// Looks each second while a window is open.
    pub(super) sampler: Sampler,
    pub(super) major: u32,
    /// Backends that serve the runner's own sessions.
    pub(super) own_sessions: Vec<u32>,
    /// When the launcher last started an apply worker, as far as we made it.
    pub(super) worker_started: Option<Instant>,
    pub(super) record: NodeRecord,
}

impl LiveNode {
    /// How another server reaches this one.
    pub(super) fn conninfo(&self) -> String {
        let (host, password) = match (self.node.transport, &self.node.password) {
            (lab::Transport::Tcp, Some(password)) => {
                ("127.0.0.1".to_owned(), format!(" password={}", conninfo_value(password)))
            }
            _ => (self.node.socket_dir.display().to_string(), String::new()),
        };
        format!("host={} port={} user=postgres dbname=postgres{password}", conninfo_value(&host), self.node.port)
    }

    /// How the runner's own threads reach it.
    pub(super) fn target(&self, transport: Transport, application_name: &str) -> Target {
        let host = match transport {
            Transport::Unix => Host::Unix { directory: self.node.socket_dir.clone(), port: self.node.port },
            Transport::Tcp => Host::Tcp(SocketAddr::from((Ipv4Addr::LOCALHOST, self.node.port))),
        };
        let mut target = Target::new(host, "postgres", "postgres");
        target.password.clone_from(&self.node.password);
        application_name.clone_into(&mut target.application_name);
        target
    }

    /// Statements one by one, as psql would send them.
    pub(super) async fn batch(&self, sql: &str) -> Result<(), Failure> {
        for statement in script::split(sql) {
            self.control.batch_execute(statement).await.map_err(|error| Failure::new(server_words(&error)))?;
        }
        Ok(())
    }

    /// The rows of a query, as text.
    pub(super) async fn rows(&self, sql: &str) -> Result<Vec<SimpleQueryRow>, Failure> {
        rows(&self.control, sql).await
    }
}

/// The rows of a query, as text.
pub(super) async fn rows(client: &Client, sql: &str) -> Result<Vec<SimpleQueryRow>, Failure> {
    let messages = client.simple_query(sql).await.map_err(|error| Failure::new(server_words(&error)))?;
    Ok(messages
        .into_iter()
        .filter_map(|message| match message {
            SimpleQueryMessage::Row(row) => Some(row),
            _ => None,
        })
        .collect())
}

/// A server's error in its own words, with what it adds.
pub(super) fn server_words(error: &tokio_postgres::Error) -> String {
    match error.as_db_error() {
        Some(error) => {
            let mut text = format!("{}: {}", error.severity(), error.message());
            for extra in [error.detail(), error.hint(), error.where_()].into_iter().flatten() {
                text += &format!(" ({})", extra.lines().next().unwrap_or(extra));
            }
            text
        }
        None => match std::error::Error::source(error) {
            Some(source) => format!("{error}: {source}"),
            None => error.to_string(),
        },
    }
}

impl Live<'_> {
    /// What the lab is asked for to start a node of the cell.
    pub(super) fn request(&self, name: &str) -> NodeRequest {
        let plan = &self.cell.nodes[name];
        let installation = self.installations[name].clone();
        let mut settings: Vec<(String, String)> =
            plan.settings.iter().map(|(name, planned)| (name.clone(), planned.value.clone())).collect();
        if !plan.settings.contains_key("log_line_prefix") {
            settings.push(("log_line_prefix".to_owned(), LOG_LINE_PREFIX.to_owned()));
        }
        NodeRequest {
            name: format!("{}{name}", self.beside.prefix),
            place: u16::try_from(plan.place).unwrap_or(u16::MAX),
            shift: self.beside.shift,
            installation,
            initdb: InitdbOptions { checksums: plan.checksums },
            settings,
            transport: match plan.transport {
                Transport::Unix => lab::Transport::Unix,
                Transport::Tcp => lab::Transport::Tcp,
            },
        }
    }

    pub(super) async fn start_nodes(&mut self, names: &[String]) -> Result<(), Failure> {
        for name in names {
            let request = self.request(name);
            let data = self.data.remove(name);
            let started = self.lab.lock().await.start_from(request, data.as_ref()).await;
            let node = started.map_err(|error| Failure::new(error.to_string()))?;
            let live =
                connect(node).await.map_err(|failure| Failure::new(format!("node `{name}`: {}", failure.reason)))?;
            let mut live = live;
            live.record.data = data.map(|data| DataRecord { seconds: data.made.seconds, bytes: data.made.bytes });
            self.nodes.insert(name.clone(), live);
        }
        Ok(())
    }

    /// Ends every node, keeps its log, and tells what was read back of it.
    pub(super) async fn stop_nodes(&mut self) -> Result<Reply, Failure> {
        self.loads.clear();
        self.prepared.clear();
        self.markers.clear();
        // Dropping a consumer ends it, whatever it is doing.
        self.consumers.clear();
        self.ended.borrow_mut().loads.clear();
        self.connections.clear();
        self.watches.clear();
        self.ended.borrow_mut().watches.clear();
        let mut records: Records = self.nodes.iter().map(|(name, node)| (name.clone(), node.record.clone())).collect();
        let prefix = self.beside.prefix;
        let own: Vec<String> = self.cell.nodes.keys().map(|name| format!("{prefix}{name}")).collect();
        let is_own = |name: &str| own.iter().any(|own| own == name);
        self.nodes.clear();
        let mut lab = self.lab.lock().await;
        let started = lab.nodes().iter().filter(|node| is_own(&node.name));
        let logs: Vec<(String, std::path::PathBuf)> =
            started.map(|node| (node.name.clone(), node.log.clone())).collect();
        let stopped = lab.stop(is_own).await;
        drop(lab);
        if let Err(error) = std::fs::create_dir_all(&self.logs) {
            self.notes.push(format!("logs are not kept: {error}"));
        }
        for (name, log) in logs {
            if let Err(error) = std::fs::copy(&log, self.logs.join(format!("{name}.log"))) {
                self.notes.push(format!("the log of `{name}` is not kept: {error}"));
            }
        }
        for (name, usage) in stopped.map_err(|error| Failure::new(error.to_string()))? {
            let ns = u64::try_from((usage.user + usage.system).as_nanos()).unwrap_or(u64::MAX);
            let name = name.strip_prefix(prefix).unwrap_or(&name);
            records.entry(name.to_owned()).or_default().lifetime_cpu_ns = Some(ns);
        }
        Ok(Reply::Stopped(records))
    }

    /// Notes when an apply worker is about to be started, for the launcher of 14 and 15.
    pub(super) fn note_start(&mut self, node: &str, sql: &SqlText) {
        let text = sql.display();
        let starts = text.starts_with("CREATE SUBSCRIPTION")
            || text.starts_with("ALTER SUBSCRIPTION") && text.ends_with(" ENABLE");
        if starts && let Some(node) = self.nodes.get_mut(node) {
            node.worker_started = Some(Instant::now());
        }
    }
}

/// A session of the runner's own, through the socket.
async fn session(node: &RunningNode, application_name: &str) -> Result<Client, Failure> {
    let mut config = tokio_postgres::Config::new();
    config.host_path(&node.socket_dir).port(node.port).user("postgres").dbname("postgres");
    config.application_name(application_name);
    let (client, connection) = config.connect(NoTls).await.map_err(|error| Failure::new(server_words(&error)))?;
    // It ends with the client or the server; its error comes out of the client's own call.
    tokio::spawn(async move {
        let _ = connection.await;
    });
    Ok(client)
}

/// How a server was built. What its libraries give is asked of what it accepts, since builds by meson tell nothing in
/// CONFIGURE. A server that does not answer has none of it in its record.
const CONFIG: &str = "\
SELECT name, setting FROM pg_config \
 WHERE name IN ('CONFIGURE', 'CC', 'CPPFLAGS', 'CFLAGS', 'LDFLAGS', 'LIBS', 'VERSION') \
UNION ALL SELECT name, setting FROM pg_settings WHERE name IN ('debug_assertions', 'io_method') \
UNION ALL SELECT 'lz4', CASE WHEN 'lz4' = ANY (enumvals) THEN 'yes' ELSE 'no' END \
  FROM pg_settings WHERE name = 'default_toast_compression' \
UNION ALL SELECT 'zstd', CASE WHEN 'zstd' = ANY (enumvals) THEN 'yes' ELSE 'no' END \
  FROM pg_settings WHERE name = 'wal_compression' \
UNION ALL SELECT 'ssl', CASE WHEN setting <> '' THEN 'yes' ELSE 'no' END FROM pg_settings WHERE name = 'ssl_library' \
UNION ALL SELECT 'icu', CASE WHEN EXISTS (SELECT FROM pg_collation WHERE collprovider = 'i') THEN 'yes' ELSE 'no' END";

pub(super) async fn connect(node: RunningNode) -> Result<LiveNode, Failure> {
    let client = session(&node, "runner").await?;
    let sampler = session(&node, "runner sampler").await?;
    if let Some(password) = &node.password {
        let salt = lab::password::random_salt().map_err(|error| Failure::new(error.to_string()))?;
        let verifier = lab::password::scram_verifier(password, &salt);
        let sql = format!("ALTER ROLE postgres PASSWORD {}", literal(&verifier));
        client.batch_execute(&sql).await.map_err(|error| Failure::new(server_words(&error)))?;
    }
    let first = rows(
        &client,
        "SELECT pg_backend_pid(), current_setting('server_version'), current_setting('server_version_num')",
    )
    .await?;
    let first = first.first().ok_or_else(|| Failure::new("the server gave no version"))?;
    let sampler_pid = rows(&sampler, "SELECT pg_backend_pid()").await?;
    let text = |index: usize| first.get(index).unwrap_or_default().to_owned();
    let settings = rows(
        &client,
        "SELECT name, current_setting(name) FROM pg_settings WHERE source NOT IN ('default', 'client') AND name NOT IN \
         ('port', 'unix_socket_directories', 'listen_addresses', 'data_directory', 'config_file', 'hba_file', 'ident_file', 'application_name') \
         ORDER BY name",
    )
    .await?;
    let config = rows(&client, CONFIG).await.unwrap_or_default();
    let pairs = |rows: &[SimpleQueryRow]| -> IndexMap<String, String> {
        let text = |row: &SimpleQueryRow, index: usize| row.get(index).unwrap_or_default().to_owned();
        rows.iter().map(|row| (text(row, 0), text(row, 1))).collect()
    };
    let (settings, config) = (pairs(&settings), pairs(&config));
    let pids = [first.get(0), sampler_pid.first().and_then(|row| row.get(0))];
    Ok(LiveNode {
        sampler: Sampler::new(sampler, node.pid).await?,
        node,
        control: Rc::new(client),
        major: text(2).parse::<u32>().unwrap_or(0) / 10_000,
        own_sessions: pids.into_iter().flatten().filter_map(|pid| pid.parse().ok()).collect(),
        worker_started: None,
        record: NodeRecord { version: text(1), settings, config, lifetime_cpu_ns: None, data: None },
    })
}
