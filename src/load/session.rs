//! One client's way to the server: which bytes a statement of the script becomes, and the connection they go over.
//!
//! This is the seam at which another kind of session (to several nodes, or two-phase) will stand beside the direct one.
//! It counts nothing and decides nothing.

use super::error::{LoadError, first_words};
use super::request::Protocol;
use crate::script::{Machine, Program, Script, Statement};
use crate::wire::{BindTemplate, Connection, Reply, ShutdownHandle, Target, WireError};
use rustix::fd::{AsFd, BorrowedFd};
use std::sync::Arc;

/// A script's statements in the form that the protocol sends; one for all clients of a load.
#[derive(Debug)]
pub(super) struct Statements {
    pub(super) name: String,
    pub(super) program: Arc<Program>,
    protocol: Protocol,
    /// By statement; not used by the simple protocol.
    templates: Vec<BindTemplate>,
}

impl Statements {
    /// Lays out the requests of `script`.
    pub(super) fn new(name: String, script: Script, protocol: Protocol) -> Result<Self, LoadError> {
        let laid_out = |(index, statement): (usize, &Statement)| {
            let parameters = statement.parameters.len() as u16;
            match protocol {
                Protocol::Prepared => BindTemplate::prepared(&prepared_name(index), parameters),
                // The simple protocol needs no template, but the same check of the text.
                Protocol::Extended | Protocol::Simple => {
                    BindTemplate::parsed_each_time(&statement.prepared_text, parameters)
                }
            }
            .map_err(|source| LoadError::Prepare {
                client: 0,
                script: name.clone(),
                statement: first_words(&statement.text),
                source,
            })
        };
        let templates = script.statements().iter().enumerate().map(laid_out).collect::<Result<_, _>>()?;
        Ok(Self { name, program: Arc::new(script.into()), protocol, templates })
    }

    /// The load's only script's statements.
    fn all(&self) -> &[Statement] {
        self.program.scripts().first().map_or(&[], Script::statements)
    }

    /// The first words of a statement, for messages.
    pub(super) fn words(&self, statement: usize) -> String {
        self.all().get(statement).map_or_else(String::new, |known| first_words(&known.text))
    }
}

/// The name under which a statement is prepared.
fn prepared_name(statement: usize) -> String {
    format!("s{statement}")
}

/// A session that sends everything to one server.
#[derive(Debug)]
pub(super) struct Session {
    connection: Connection,
    statements: Arc<Statements>,
}

impl Session {
    /// Opens a connection for `client` and prepares what the protocol wants prepared; all within the target's
    /// time-out for each wait.
    pub(super) fn open(target: &Target, statements: &Arc<Statements>, client: u32) -> Result<Self, LoadError> {
        let connect = |source| LoadError::Connect { client, source };
        let mut connection = Connection::open(target).map_err(connect)?;
        if statements.protocol == Protocol::Prepared {
            connection.set_receive_timeout(Some(target.connect_timeout)).map_err(connect)?;
            for (index, statement) in statements.all().iter().enumerate() {
                connection.prepare(&prepared_name(index), &statement.prepared_text).map_err(|source| {
                    LoadError::Prepare {
                        client,
                        script: statements.name.clone(),
                        statement: first_words(&statement.text),
                        source,
                    }
                })?;
            }
            connection.set_receive_timeout(None).map_err(connect)?;
        }
        Ok(Self { connection, statements: Arc::clone(statements) })
    }

    /// Writes the request of a statement with the machine's present values into the buffer.
    #[inline]
    pub(super) fn write(&mut self, statement: usize, machine: &Machine) {
        let known = machine.statement(statement);
        if self.statements.protocol == Protocol::Simple {
            self.connection.simple(|out| machine.simple_text(known, out));
            return;
        }
        let mut request = self.connection.bind(&self.statements.templates[statement]);
        for &slot in &known.parameters {
            request.value(|out| machine.write_text(slot, out));
        }
        request.finish();
    }

    /// Writes a ROLLBACK into the buffer.
    pub(super) fn write_rollback(&mut self) {
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
        self.connection.reply()
    }

    /// The reply if it has arrived.
    #[inline]
    pub(super) fn reply_ready(&mut self) -> Result<Option<Reply>, WireError> {
        self.connection.reply_ready()
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
