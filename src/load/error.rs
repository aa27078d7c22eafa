//! Why a load could not begin or had to be given up.
//!
//! A failed transaction is not here: it is counted, and the load goes on.

use crate::script::RunError;
use crate::wire::WireError;
use std::io;

/// The end of a load before its time. Each text fits behind "failed to run the load: ".
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// Nothing to send.
    #[error("the load has no script with a weight; give it at least one")]
    NoScripts,
    /// A pipeline in the simple protocol, which has none.
    #[error("script \"{script}\" has a pipeline, which the simple protocol cannot send; use extended or prepared")]
    SimplePipeline {
        /// The script's name.
        script: String,
    },
    /// Nobody to send anything.
    #[error("the load has no clients; `clients` must be at least 1")]
    NoClients,
    /// A rate at which nothing would ever begin, or everything at once.
    #[error("the rate of the load is no number above 0; give it one, or none for as fast as the clients can")]
    Rate,
    /// Nothing would end the tries of a transaction.
    #[error("max_tries = 0 needs a latency limit or a duration to end the tries of a transaction; add one of them")]
    UnlimitedTries,
    /// A worker thread could not be started.
    #[error("could not start a thread: {source}")]
    Thread {
        /// What the operating system said.
        #[source]
        source: io::Error,
    },
    /// A client could not connect.
    #[error("client {client} could not connect: {source}")]
    Connect {
        /// The client, from 0.
        client: u32,
        /// Why.
        #[source]
        source: WireError,
    },
    /// The server refused to prepare a statement.
    #[error(
        "client {client} could not prepare `{statement}` of script \"{script}\": {source} (if the script itself creates what the statement names, use the simple or extended protocol)"
    )]
    Prepare {
        /// The client, from 0.
        client: u32,
        /// The script's name.
        script: String,
        /// The statement's first words.
        statement: String,
        /// Why.
        #[source]
        source: WireError,
    },
    /// A client lost its connection.
    #[error("client {client} had to give up at `{statement}` of script \"{script}\": {source}")]
    Connection {
        /// The client, from 0.
        client: u32,
        /// The script's name.
        script: String,
        /// The statement's first words.
        statement: String,
        /// Why.
        #[source]
        source: WireError,
    },
    /// A script failed while it ran, outside SQL.
    #[error("client {client} had to give up script \"{script}\": {source}")]
    Script {
        /// The client, from 0.
        client: u32,
        /// The script's name.
        script: String,
        /// Why.
        #[source]
        source: Box<RunError>,
    },
    /// A client lost its connection between statements.
    #[error("client {client} had to give up in a \\sleep of script \"{script}\": {source}")]
    Asleep {
        /// The client, from 0.
        client: u32,
        /// The script's name.
        script: String,
        /// Why.
        #[source]
        source: WireError,
    },
    /// A client lost its connection between transactions.
    #[error("client {client} had to give up while it waited for the scheduled start of its next transaction: {source}")]
    Waiting {
        /// The client, from 0.
        client: u32,
        /// Why.
        #[source]
        source: WireError,
    },
    /// A script ended inside a transaction block.
    #[error(
        "client {client} reached the end of script \"{script}\" inside a transaction block; end the script with COMMIT or ROLLBACK"
    )]
    OpenTransaction {
        /// The client, from 0.
        client: u32,
        /// The script's name.
        script: String,
    },
    /// Waiting for sockets failed.
    #[error("could not wait for the server's answers: {source}")]
    Wait {
        /// What the operating system said.
        #[source]
        source: io::Error,
    },
    /// The load's outcome was taken before, or its threads ended without one (a fault of this program).
    #[error("the load's threads ended without an outcome: {why}")]
    NoOutcome {
        /// What is known of it.
        why: String,
    },
}

/// The first words of a statement, on one line, for messages.
pub(super) fn first_words(sql: &str) -> String {
    const LONGEST: usize = 60;
    let mut words = String::new();
    for word in sql.split_whitespace() {
        if !words.is_empty() {
            words.push(' ');
        }
        words.push_str(word);
        if let Some((at, _)) = words.char_indices().nth(LONGEST) {
            words.truncate(at);
            words.push('…');
            break;
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_words_are_one_short_line() {
        assert_eq!(first_words("SELECT\n  1\t;"), "SELECT 1 ;");
        let long = first_words(&"é".repeat(100));
        assert_eq!(long.chars().count(), 61);
        assert!(long.ends_with('…'));
    }
}
