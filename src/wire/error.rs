//! Why a connection could not be opened or used.
//!
//! A statement's own failure is not here: the server survives it, so it is part of the reply.

use super::frame::MalformedFrame;
use super::server_error::ServerError;
use std::io;
use std::time::Duration;

/// An end of a connection, or of opening one. Each text fits behind "failed to …: ".
#[derive(Debug, thiserror::Error)]
pub enum WireError {
    /// The socket could not be opened.
    #[error("could not connect to {target}: {source}; is the server running, and does it listen there?")]
    Connect {
        /// Where it tried to connect to.
        target: String,
        /// What the operating system said.
        #[source]
        source: io::Error,
    },
    /// Reading or writing failed.
    #[error("the connection broke: {source}")]
    Socket {
        /// What the operating system said.
        #[from]
        source: io::Error,
    },
    /// The server went away, with its last words if it had any.
    #[error("the server closed the connection{}", last_words(.last.as_deref()))]
    Closed {
        /// The last error that the server sent on this connection.
        last: Option<Box<ServerError>>,
    },
    /// A [`ShutdownHandle`](super::ShutdownHandle) was used: no error, but the way to end a blocked read.
    #[error("the connection was stopped by the runner")]
    Stopped,
    /// The time allowed for an answer is over.
    #[error("no answer within {after:?}; the server's log tells whether it is busy, locked or starting")]
    TimedOut {
        /// How long the read that gave up had waited.
        after: Duration,
    },
    /// The server refused (while opening, preparing, or a query of the runner's own).
    #[error("{0}")]
    Server(#[source] Box<ServerError>),
    /// What came is not the protocol.
    #[error("the server's answer is not the PostgreSQL protocol: {source}")]
    Malformed {
        /// What is wrong with it.
        #[from]
        source: MalformedFrame,
    },
    /// A message that has no place here.
    #[error("the server sent an unexpected message of type '{}' while {during}", char::from(*.tag))]
    Unexpected {
        /// The message's type byte.
        tag: u8,
        /// What was going on.
        during: &'static str,
    },
    /// Logging in failed on our side.
    #[error("could not authenticate: {why}")]
    Authentication {
        /// The reason, with the way out.
        why: String,
    },
    /// A text that would end early on the wire.
    #[error("the text contains a zero byte, which PostgreSQL's protocol cannot carry; remove it")]
    ZeroByte,
    /// A statement began `COPY … FROM STDIN`, for which there is no data.
    #[error(
        "the statement asks for data (COPY FROM STDIN), which a script cannot give; use INSERT, or COPY FROM a file"
    )]
    CopyIn,
}

impl WireError {
    /// Whether this is the answer to a stop rather than a fault.
    pub fn is_stop(&self) -> bool {
        matches!(self, Self::Stopped)
    }
}

fn last_words(last: Option<&ServerError>) -> String {
    last.map_or_else(
        || String::from(" without a word; its log tells whether it crashed or was stopped"),
        |error| format!(": {error}"),
    )
}

impl From<Box<ServerError>> for WireError {
    fn from(error: Box<ServerError>) -> Self {
        Self::Server(error)
    }
}
