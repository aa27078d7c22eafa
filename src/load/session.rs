//! One client's way to the server: which bytes a statement of the script becomes, and the connection they go over.
//!
//! This is the seam at which another kind of session (to several nodes, or two-phase) will stand beside the direct one.
//! It counts nothing and decides nothing.

use super::error::{LoadError, first_words};
use super::request::{LoadScript, Protocol};
use super::results::Results;
use crate::script::{Machine, Program, RunError, Statement};
use crate::wire::{BindTemplate, Connection, Reply, ShutdownHandle, Target, TransactionStatus, WireError};
use rustix::fd::{AsFd, BorrowedFd};
use std::sync::Arc;

/// The scripts' statements in the form that the protocol sends; one for all clients of a load.
#[derive(Debug)]
pub(super) struct Statements {
    pub(super) program: Arc<Program>,
    names: Vec<String>,
    protocol: Protocol,
    /// By script and statement; not used by the simple protocol.
    templates: Vec<Vec<BindTemplate>>,
}

impl Statements {
    /// Lays out the requests of `scripts`.
    pub(super) fn new(scripts: &[LoadScript], protocol: Protocol) -> Result<Self, LoadError> {
        let program = Program::new(scripts.iter().map(|script| script.script.as_ref().clone()).collect());
        let names: Vec<String> = scripts.iter().map(|script| script.name.clone()).collect();
        let laid_out = |script: usize, statement: &Statement| {
            let parameters = statement.parameters.len() as u16;
            let template = match protocol {
                Protocol::Prepared => BindTemplate::prepared(&prepared_name(script, statement.index), parameters),
                // The simple protocol needs no template, but the same check of the text.
                Protocol::Extended | Protocol::Simple => {
                    BindTemplate::parsed_each_time(&statement.prepared_text, parameters)
                }
            }
            .map_err(|source| LoadError::Prepare {
                client: 0,
                script: names[script].clone(),
                statement: first_words(&statement.text),
                source,
            })?;
            Ok(if statement.capture.is_some() { template.described() } else { template })
        };
        let templates = program
            .scripts()
            .iter()
            .enumerate()
            .map(|(number, script)| script.statements().iter().map(|statement| laid_out(number, statement)).collect())
            .collect::<Result<_, _>>()?;
        Ok(Self { program: Arc::new(program), names, protocol, templates })
    }

    /// The name of a script.
    pub(super) fn name(&self, script: usize) -> String {
        self.names.get(script).cloned().unwrap_or_default()
    }

    /// The first words of a statement, for messages.
    pub(super) fn words(&self, script: usize, statement: usize) -> String {
        let known = self.program.scripts().get(script).and_then(|script| script.statements().get(statement));
        known.map_or_else(String::new, |known| first_words(&known.text))
    }
}

/// The name under which a statement is prepared.
fn prepared_name(script: usize, statement: usize) -> String {
    format!("s{script}_{statement}")
}

/// A session that sends everything to one server.
#[derive(Debug)]
pub(super) struct Session {
    connection: Connection,
    statements: Arc<Statements>,
    /// What the reply under way is kept in, where a variable is to come of it.
    results: Results,
    capturing: bool,
}

impl Session {
    /// Opens a connection for `client` and prepares what the protocol wants prepared; all within the target's
    /// time-out for each wait.
    pub(super) fn open(target: &Target, statements: &Arc<Statements>, client: u32) -> Result<Self, LoadError> {
        let connect = |source| LoadError::Connect { client, source };
        let mut connection = Connection::open(target).map_err(connect)?;
        if statements.protocol == Protocol::Prepared {
            connection.set_receive_timeout(Some(target.connect_timeout)).map_err(connect)?;
            for (number, script) in statements.program.scripts().iter().enumerate() {
                for statement in script.statements() {
                    let name = prepared_name(number, statement.index);
                    connection.prepare(&name, &statement.prepared_text).map_err(|source| LoadError::Prepare {
                        client,
                        script: statements.name(number),
                        statement: first_words(&statement.text),
                        source,
                    })?;
                }
            }
            connection.set_receive_timeout(None).map_err(connect)?;
        }
        Ok(Self { connection, statements: Arc::clone(statements), results: Results::default(), capturing: false })
    }

    /// Writes the request of a statement with the machine's present values into the buffer.
    #[inline]
    pub(super) fn write(&mut self, statement: usize, machine: &Machine) {
        let known = machine.statement(statement);
        self.capturing = known.capture.is_some();
        if self.capturing {
            self.results.clear();
        }
        if self.statements.protocol == Protocol::Simple {
            self.connection.simple(|out| machine.simple_text(known, out));
            return;
        }
        let mut request = self.connection.bind(&self.statements.templates[machine.script()][statement]);
        for &slot in &known.parameters {
            request.value(|out| machine.write_text(slot, out));
        }
        request.finish();
    }

    /// Writes the request of a statement without its Sync, for a pipeline (not in the simple protocol).
    pub(super) fn queue(&mut self, statement: usize, machine: &Machine) {
        let known = machine.statement(statement);
        let mut request = self.connection.bind(&self.statements.templates[machine.script()][statement]);
        for &slot in &known.parameters {
            request.value(|out| machine.write_text(slot, out));
        }
        request.finish_queued();
    }

    /// Writes a Sync.
    pub(super) fn sync(&mut self) {
        self.capturing = false;
        self.connection.sync();
    }

    /// Sends a pipeline whose last Sync was written.
    pub(super) fn flush_pipeline(&mut self) -> Result<(), WireError> {
        self.connection.flush_pipeline()
    }

    /// Writes a ROLLBACK into the buffer.
    pub(super) fn write_rollback(&mut self) {
        self.capturing = false;
        self.connection.simple(|out| out.extend_from_slice(b"ROLLBACK"));
    }

    /// Sends what was written.
    #[inline]
    pub(super) fn flush(&mut self) -> Result<(), WireError> {
        self.connection.flush()
    }

    /// Waits for the reply.
    #[inline]
    pub(super) fn reply(&mut self) -> Result<Reply, WireError> {
        if self.capturing {
            let results = &mut self.results;
            return self.connection.reply_with(&mut |frame| results.take(frame));
        }
        self.connection.reply()
    }

    /// The reply if it has arrived.
    #[inline]
    pub(super) fn reply_ready(&mut self) -> Result<Option<Reply>, WireError> {
        if self.capturing {
            let results = &mut self.results;
            return self.connection.reply_ready_with(&mut |frame| results.take(frame));
        }
        self.connection.reply_ready()
    }

    /// The next reply of a pipeline if it has been received already.
    pub(super) fn reply_received(&mut self) -> Result<Option<Reply>, WireError> {
        self.connection.reply_received()
    }

    /// Whether the statement under way is to give variables their values.
    #[inline]
    pub(super) fn capturing(&self) -> bool {
        self.capturing
    }

    /// Gives the variables what the reply of `statement` has for them.
    pub(super) fn store(&self, statement: usize, machine: &mut Machine) -> Result<(), RunError> {
        self.results.store(statement, machine)
    }

    /// The transaction status after the last reply.
    pub(super) fn transaction_status(&self) -> TransactionStatus {
        self.connection.transaction_status()
    }

    /// The server process of the session.
    pub(super) fn backend_pid(&self) -> u32 {
        self.connection.backend_pid()
    }

    /// A handle that ends a blocked wait.
    pub(super) fn shutdown_handle(&self) -> ShutdownHandle {
        self.connection.shutdown_handle()
    }

    /// Gives the connection away, open.
    pub(super) fn into_connection(self) -> Connection {
        self.connection
    }
}

impl AsFd for Session {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.connection.as_fd()
    }
}
