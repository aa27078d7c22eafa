//! The driver's own connection to a PostgreSQL server: framing, start-up, authentication, and requests whose
//! replies are scanned without an allocation per message.
//!
//! It serves what is timed (load, marker watch, replication streams). It knows nothing of scripts, statistics or
//! clocks, and it is deliberately no general client: values travel as text and replies are counted, not decoded.
//! TLS and pooling are not here.

mod connection;
mod decoding;
mod error;
#[cfg(test)]
pub(crate) mod fake_server;
mod frame;
mod listen;
mod query;
mod replication;
mod reply;
mod request;
mod rows;
mod server_error;
mod socket;
mod startup;
mod target;
#[cfg(test)]
mod tests;

pub use connection::Connection;
pub use decoding::{Decoder, Piece};
pub use error::WireError;
pub use frame::{Frame, Framer, MalformedFrame};
pub use listen::{Listener, Notification};
pub use query::QueryResult;
pub use replication::{Feedback, ReplicationStream, StreamMessage, start_replication};
pub use reply::{Reply, TransactionStatus};
pub use request::{BindTemplate, Request};
pub use rows::{column_names, row_values};
pub use server_error::ServerError;
pub use socket::ShutdownHandle;
pub use target::{Host, Target};
