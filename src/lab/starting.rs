//! How a lab starts its nodes: fresh from a template, or again on their data.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::process::Signal;

use super::child::Child;
use super::conf::{self, Reach};
use super::dataset::Dataset;
use super::node::{RunningNode, Start, Transport};
use super::opening::Lab;
use super::request::{LabError, NodeRequest, folder_error};
use super::stamp::{ProcessId, StampedServer};
use super::user::check_reach;
use super::{password, random_name, shared_memory, sockets, template};

/// How often a start is tried again because its TCP port was taken meanwhile.
const PORT_TRIES: usize = 5;

/// How long a server that cannot be stamped may take to end.
const END_BOUND: Duration = Duration::from_secs(3);

impl Lab {
    /// Starts a fresh server from a template and waits until it accepts connections. Its
    /// folder is gone again if it fails; the log stays in the error's words.
    pub async fn start(&mut self, request: NodeRequest) -> Result<RunningNode, LabError> {
        self.start_from(request, None).await
    }

    /// As [`Lab::start`], on a copy of `dataset` if there is one, which was made by such a server at this place.
    pub async fn start_from(
        &mut self,
        request: NodeRequest,
        dataset: Option<&Dataset>,
    ) -> Result<RunningNode, LabError> {
        let plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
        if request.name.is_empty() || !request.name.chars().all(plain) {
            return Err(LabError::Name(request.name));
        }
        if self.nodes.iter().any(|n| n.name == request.name && n.try_ended().is_none()) {
            return Err(LabError::Twice(request.name));
        }
        if let Some(user) = &self.options.run_as {
            check_reach(user, &request.installation.program("postgres"))?;
        }
        let run_as = self.options.run_as.clone();
        let template = template::template(
            &self.options.cache,
            &request.installation,
            request.initdb,
            request.place,
            run_as.as_ref(),
        )
        .await?;
        self.forget(&request.name);
        self.remove_data(&request.name)?;
        let data = self.nodes_folder.join(format!("{}-{}", request.name, random_name()));
        let copied = match dataset {
            Some(dataset) => dataset.copy(&data, run_as.as_ref()).await.map_err(LabError::from),
            None => template::copy(&template, &data, run_as.as_ref()).await.map_err(LabError::from),
        };
        if let Err(error) = copied {
            let _ = fs::remove_dir_all(&data);
            return Err(error);
        }
        // A fresh node of this name has a log of its own, not that of the one before.
        match fs::remove_file(self.log_of(&request.name)) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(folder_error(&self.log_of(&request.name), error));
            }
            _ => {}
        }
        let started = self.start_in(&request, &data, &template).await;
        if started.is_err() {
            self.forget(&request.name);
            let _ = self.write_stamp();
            let _ = fs::remove_dir_all(&data);
        }
        started
    }

    async fn start_in(&mut self, request: &NodeRequest, data: &Path, template: &Path) -> Result<RunningNode, LabError> {
        let socket_dir = self.home.join("sockets");
        let log = self.log_of(&request.name);
        let password = match request.transport {
            Transport::Unix => None,
            Transport::Tcp => Some(password::random_password().map_err(LabError::Random)?),
        };
        let initial = template.join("postgresql.conf");
        let initial = fs::read_to_string(&initial).map_err(|e| folder_error(&initial, e))?;
        let mut tries = 1;
        loop {
            let port = match request.transport {
                Transport::Unix => sockets::unix_port(request.place.saturating_add(request.shift)),
                Transport::Tcp => sockets::free_tcp_port().map_err(|e| folder_error(&socket_dir, e))?,
            };
            sockets::socket_path(&socket_dir, port)?;
            let folder = socket_dir.to_string_lossy();
            let reach = Reach { socket_folder: &folder, port, transport: request.transport };
            let text = initial.clone() + &conf::postgresql_conf(&request.settings, &reach);
            self.write_for_server(&data.join("postgresql.conf"), &text)?;
            self.write_for_server(&data.join("pg_hba.conf"), &conf::pg_hba_conf(request.transport))?;
            let run_as = self.options.run_as.clone();
            let start = Start {
                name: &request.name,
                installation: &request.installation,
                run_as: run_as.as_ref(),
                data,
                log: &log,
                detached: false,
            };
            match self.launch(start, port).await {
                Ok(server) => {
                    let node = RunningNode {
                        name: request.name.clone(),
                        pid: server.pid(),
                        data: data.to_owned(),
                        log,
                        socket_dir,
                        port,
                        transport: request.transport,
                        password,
                        installation: request.installation.clone(),
                        run_as,
                        server,
                    };
                    self.nodes.push(node.clone());
                    return Ok(node);
                }
                Err(LabError::Node(e))
                    if request.transport == Transport::Tcp && e.is_port_taken() && tries < PORT_TRIES =>
                {
                    tries += 1;
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Spawns, stamps, waits; in this order, so that a guard knows a server from its birth.
    async fn launch(&mut self, start: Start<'_>, port: u16) -> Result<Child, LabError> {
        self.stamp.servers.retain(|s| s.name != start.name);
        let (name, data) = (start.name.to_owned(), start.data.to_owned());
        let starting = start.spawn()?;
        let pid = starting.server.pid();
        if let Some(postmaster) = ProcessId::of(pid) {
            self.stamp.servers.push(StampedServer {
                name: name.clone(),
                postmaster,
                data,
                shared_memory: Vec::new(),
                port,
            });
        }
        let stamped = self.write_stamp();
        let ready = match stamped {
            Ok(()) => starting.ready(self.options.start_bound).await.map_err(LabError::from),
            Err(error) => {
                let _ = starting.server.signal(Signal::QUIT);
                starting.server.ended_within(END_BOUND).await;
                Err(error)
            }
        };
        ready?;
        if let Some(server) = self.stamp.servers.iter_mut().find(|s| s.name == name) {
            server.shared_memory = shared_memory::mapped(pid);
        }
        self.write_stamp()?;
        Ok(starting.server)
    }

    /// Starts a node again on its data directory, same configuration and port, after it was
    /// stopped or has crashed. `detached` lets it outlive us.
    pub async fn restart(&mut self, node: &RunningNode, detached: bool) -> Result<RunningNode, LabError> {
        if node.try_ended().is_none() {
            return Err(LabError::Twice(node.name.clone()));
        }
        let start = Start {
            name: &node.name,
            installation: &node.installation,
            run_as: node.run_as.as_ref(),
            data: &node.data,
            log: &node.log,
            detached,
        };
        let server = self.launch(start, node.port).await?;
        let again = RunningNode { pid: server.pid(), server, ..node.clone() };
        self.nodes.retain(|n| n.name != node.name);
        self.nodes.push(again.clone());
        Ok(again)
    }

    fn log_of(&self, name: &str) -> PathBuf {
        self.home.join("logs").join(format!("{name}.log"))
    }

    /// Removes the data directory of the node that had this name before.
    fn remove_data(&self, name: &str) -> Result<(), LabError> {
        let at_folder = |e| folder_error(&self.nodes_folder, e);
        for entry in fs::read_dir(&self.nodes_folder).map_err(at_folder)? {
            let entry = entry.map_err(at_folder)?;
            // A node's name holds no hyphen.
            if entry.file_name().to_str().and_then(|file| file.split_once('-')).is_some_and(|(of, _)| of == name) {
                let data = entry.path();
                fs::remove_dir_all(&data).map_err(|e| folder_error(&data, e))?;
            }
        }
        Ok(())
    }

    fn forget(&mut self, name: &str) {
        self.nodes.retain(|n| n.name != name);
        self.stamp.servers.retain(|s| s.name != name);
    }

    fn write_for_server(&self, path: &Path, text: &str) -> Result<(), LabError> {
        fs::write(path, text).map_err(|e| folder_error(path, e))?;
        self.give(path)
    }
}
