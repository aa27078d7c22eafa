//! A replication stream: START_REPLICATION, the messages inside COPY BOTH, standby status updates, and the clean end.
//!
//! It serves logical slots of any plugin: a payload is opaque here (`decoding.rs` reads two plugins'), nothing is
//! counted, and when to report a position is the caller's decision. Creating slots is SQL's.

use super::connection::Connection;
use super::error::WireError;
use super::request::{message, refuse_zero_byte};
use super::server_error::ServerError;
use super::socket::{ShutdownHandle, Socket};
use crate::plan::sql::slot::PluginOption;
use crate::text::lsn::Lsn;
use crate::text::quote::identifier;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Seconds from the Unix epoch to PostgreSQL's, 2000-01-01.
const POSTGRES_EPOCH_SECONDS: u64 = 946_684_800;

/// The command that starts a logical stream. `from` 0/0 means: where the slot's confirmed position is (a later one
/// skips, an earlier one is moved up by the server).
///
/// The replication grammar has no `E''` strings: inside a literal only the quote is special.
pub fn start_replication(slot: &str, from: Lsn, options: &[PluginOption]) -> String {
    let mut command = format!("START_REPLICATION SLOT {} LOGICAL {from}", identifier(slot));
    let options: Vec<String> = options
        .iter()
        .map(|option| match &option.value {
            Some(value) => format!("{} '{}'", identifier(&option.name), value.replace('\'', "''")),
            None => identifier(&option.name),
        })
        .collect();
    if !options.is_empty() {
        command += &format!(" ({})", options.join(", "));
    }
    command
}

/// One message of the stream, borrowed from the read buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StreamMessage<'a> {
    /// XLogData: a piece of the plugin's output.
    Data {
        /// The position that the piece belongs to. All transactions that committed before it have been sent, so it
        /// may be confirmed.
        start: Lsn,
        /// The end of WAL that the server tells; of a logical stream the same as `start`.
        end: Lsn,
        /// What the plugin wrote.
        payload: &'a [u8],
    },
    /// Primary keepalive: how far the server has come, also where the plugin had nothing to say.
    Keepalive {
        /// Everything before this position has been sent.
        end: Lsn,
        /// Whether the server wants a status update at once.
        reply_requested: bool,
    },
    /// The server has ended the stream.
    Done,
}

/// A stream under way. Dropping it ends the session.
#[derive(Debug)]
pub struct ReplicationStream {
    connection: Connection,
    feedback: Feedback,
}

impl ReplicationStream {
    /// Starts streaming from `slot` over a session that was opened with [`Target::replication`](super::Target), and
    /// waits until the server has begun, within the session's receive bound.
    pub fn start(
        mut connection: Connection,
        slot: &str,
        from: Lsn,
        options: &[PluginOption],
    ) -> Result<Self, WireError> {
        let command = start_replication(slot, from, options);
        refuse_zero_byte(&command)?;
        connection.simple(|out| out.extend_from_slice(command.as_bytes()));
        connection.flush()?;
        let frame = connection.next_frame()?;
        match frame.tag {
            b'W' => {
                let feedback = Feedback { socket: connection.socket().clone(), told: Arc::default() };
                Ok(Self { connection, feedback })
            }
            b'E' => Err(Box::new(ServerError::parse(frame.body)).into()),
            tag => Err(WireError::Unexpected { tag, during: "starting replication" }),
        }
    }

    /// The walsender's process id.
    pub fn backend_pid(&self) -> u32 {
        self.connection.backend_pid()
    }

    /// What answers the server; it may be used from any thread.
    pub fn feedback(&self) -> &Feedback {
        &self.feedback
    }

    /// Bounds each later [`ReplicationStream::receive`], or lifts the bound.
    pub fn set_receive_timeout(&mut self, timeout: Option<Duration>) -> Result<(), WireError> {
        self.connection.set_receive_timeout(timeout)
    }

    /// The next message that has been received already; `None` when all are taken.
    #[inline]
    pub fn buffered(&mut self) -> Result<Option<StreamMessage<'_>>, WireError> {
        while let Some(cut) = self.connection.buffered_cut()? {
            match cut.tag() {
                b'd' => return copy_data(self.connection.frame(cut).body).map(Some),
                // The server's CopyDone. It may even stand before the last data, if the server read our own while it
                // was sending a transaction, so only CommandComplete is the end.
                b'c' => self.feedback.copy_done()?,
                b'C' => return Ok(Some(StreamMessage::Done)),
                b'E' => {
                    let error = Box::new(ServerError::parse(self.connection.frame(cut).body));
                    let ends = error.ends_session();
                    return Err(if ends { WireError::Closed { last: Some(error) } } else { error.into() });
                }
                tag => return Err(WireError::Unexpected { tag, during: "streaming" }),
            }
        }
        Ok(None)
    }

    /// Waits for bytes; false if none came within the bound.
    pub fn receive(&mut self) -> Result<bool, WireError> {
        match self.connection.receive() {
            Ok(()) => Ok(true),
            Err(WireError::TimedOut { .. }) => Ok(false),
            Err(error) => Err(error),
        }
    }
}

/// Reads the body of a CopyData message.
#[inline]
fn copy_data(body: &[u8]) -> Result<StreamMessage<'_>, WireError> {
    match body.split_first() {
        Some((b'w', rest)) => {
            // start, end, the server's clock
            if let Some((header, payload)) = rest.split_first_chunk::<24>() {
                return Ok(StreamMessage::Data { start: lsn(header, 0), end: lsn(header, 8), payload });
            }
        }
        Some((b'k', rest)) => {
            // end, the server's clock, whether it wants an answer
            if let Some((header, _)) = rest.split_first_chunk::<17>() {
                return Ok(StreamMessage::Keepalive { end: lsn(header, 0), reply_requested: header[16] != 0 });
            }
        }
        _ => {}
    }
    Err(WireError::Unexpected { tag: body.first().copied().unwrap_or(b'd'), during: "reading replication data" })
}

/// The eight bytes at `at`, which the caller has made sure of.
#[inline]
fn lsn<const N: usize>(bytes: &[u8; N], at: usize) -> Lsn {
    let mut position = [0; 8];
    position.copy_from_slice(&bytes[at..at + 8]);
    Lsn(u64::from_be_bytes(position))
}

/// The client's side of a stream: status updates and the end. Clones answer on the same stream, in turn.
#[derive(Debug, Clone)]
pub struct Feedback {
    socket: Socket,
    /// Held while sending, so that whoever reads it knows what was sent.
    told: Arc<Mutex<Told>>,
}

/// What the server was told.
#[derive(Debug, Default)]
struct Told {
    confirmed: Lsn,
    /// CopyDone, after which the server takes nothing more.
    done: bool,
}

impl Feedback {
    fn told(&self) -> MutexGuard<'_, Told> {
        self.told.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Tells the server that everything before `position` is received, stored and applied, so that the slot moves there;
    /// never back behind an earlier word. With `reply` the server answers by a keepalive. After the end nothing is sent.
    pub fn confirm(&self, position: Lsn, reply: bool) -> Result<(), WireError> {
        self.send_status(&mut self.told(), position, reply)
    }

    /// Confirms `position` a last time and ends our side (CopyDone); the server then sends what it has begun, and ends
    /// its own. Again does nothing.
    pub fn end(&self, position: Lsn) -> Result<(), WireError> {
        let mut told = self.told();
        self.send_status(&mut told, position, false)?;
        self.send_done(&mut told)
    }

    /// The position that the server was last told, 0/0 at first.
    pub fn confirmed(&self) -> Lsn {
        self.told().confirmed
    }

    /// Whether our side has been ended.
    pub fn is_done(&self) -> bool {
        self.told().done
    }

    /// Answers the server's CopyDone, unless ours was sent before.
    fn copy_done(&self) -> Result<(), WireError> {
        self.send_done(&mut self.told())
    }

    fn send_status(&self, told: &mut Told, position: Lsn, reply: bool) -> Result<(), WireError> {
        if !told.done {
            let position = position.max(told.confirmed);
            self.socket.send(&status_update(position, reply))?;
            told.confirmed = position;
        }
        Ok(())
    }

    fn send_done(&self, told: &mut Told) -> Result<(), WireError> {
        if !std::mem::replace(&mut told.done, true) {
            let mut out = Vec::new();
            message(&mut out, b'c', |_| {});
            self.socket.send(&out)?;
        }
        Ok(())
    }

    /// A handle that ends a blocked receive at once, without a clean end.
    pub fn shutdown_handle(&self) -> ShutdownHandle {
        self.socket.shutdown_handle()
    }
}

/// A standby status update as a whole message: written, flushed and applied alike, since a client that stores nothing
/// has no stages between.
fn status_update(position: Lsn, reply: bool) -> Vec<u8> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let now_us = now.saturating_sub(Duration::from_secs(POSTGRES_EPOCH_SECONDS)).as_micros() as i64;
    let mut out = Vec::with_capacity(40);
    message(&mut out, b'd', |out| {
        out.push(b'r');
        for _ in ["written", "flushed", "applied"] {
            out.extend_from_slice(&position.0.to_be_bytes());
        }
        out.extend_from_slice(&now_us.to_be_bytes());
        out.push(u8::from(reply));
    });
    out
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use super::super::fake_server::FakeServer;
    use super::*;
    use proptest::prelude::*;

    fn data(start: u64, payload: &[u8]) -> Vec<u8> {
        let mut body = vec![b'w'];
        body.extend_from_slice(&start.to_be_bytes());
        body.extend_from_slice(&start.to_be_bytes());
        body.extend_from_slice(&[0; 8]);
        body.extend_from_slice(payload);
        body
    }

    fn keepalive(end: u64, reply: bool) -> Vec<u8> {
        let mut body = vec![b'k'];
        body.extend_from_slice(&end.to_be_bytes());
        body.extend_from_slice(&[0; 8]);
        body.push(u8::from(reply));
        body
    }

    /// The position of a status update.
    fn confirmed(body: &[u8]) -> u64 {
        assert_eq!((body[0], body.len()), (b'r', 34));
        assert_eq!(body[1..9], body[9..17]);
        assert_eq!(body[1..9], body[17..25]);
        u64::from_be_bytes(body[1..9].try_into().unwrap())
    }

    #[test]
    fn names_and_values_are_quoted_as_the_replication_grammar_reads_them() {
        let options = [
            PluginOption::new("proto_version", "1"),
            PluginOption::names("publication_names", ["MyPub", "a,b", "it's", "q\"q", "back\\slash"]),
            PluginOption { name: String::from("include-xids"), value: None },
        ];
        assert_eq!(
            start_replication("s\"1", Lsn(0x1_0000_00ff), &options),
            "START_REPLICATION SLOT \"s\"\"1\" LOGICAL 1/FF (\"proto_version\" '1', \"publication_names\" \
             '\"MyPub\",\"a,b\",\"it''s\",\"q\"\"q\",\"back\\slash\"', \"include-xids\")"
        );
        assert_eq!(start_replication("s", Lsn(0), &[]), "START_REPLICATION SLOT \"s\" LOGICAL 0/0");
    }

    #[test]
    fn a_stream_is_read_confirmed_and_ended() {
        let (connection, server) = FakeServer::session(|server| {
            let command = server.expect(b"Q").remove(0);
            assert_eq!(command, b"START_REPLICATION SLOT \"s\" LOGICAL 0/0\0");
            server.send(b'W', &[0, 0, 0]);
            server.send(b'd', &data(10, b"BEGIN"));
            server.send(b'N', b"SNOTICE\0\0");
            server.send(b'd', &keepalive(20, true));
            let bodies = server.expect(b"ddc");
            assert_eq!((confirmed(&bodies[0]), bodies[0][33]), (20, 1));
            assert_eq!((confirmed(&bodies[1]), bodies[1][33]), (30, 0));
            server.send(b'c', b"");
            server.send(b'd', &data(40, b"late"));
            server.send(b'C', b"COPY 0\0");
            // Nothing after our CopyDone but the goodbye.
            server.expect(b"X");
        });
        let mut stream = ReplicationStream::start(connection, "s", Lsn(0), &[]).unwrap();
        let feedback = stream.feedback().clone();
        let mut seen = Vec::new();
        loop {
            let message = stream.buffered().unwrap();
            match message {
                Some(StreamMessage::Data { start, end, payload }) => {
                    assert_eq!(start, end);
                    seen.push((start.0, String::from_utf8(payload.to_vec()).unwrap()));
                }
                Some(StreamMessage::Keepalive { end, reply_requested }) => {
                    seen.push((end.0, reply_requested.to_string()));
                    feedback.confirm(end, true).unwrap();
                    feedback.end(Lsn(30)).unwrap();
                    feedback.confirm(Lsn(50), false).unwrap();
                    feedback.end(Lsn(50)).unwrap();
                    assert_eq!((feedback.confirmed(), feedback.is_done()), (Lsn(30), true));
                }
                Some(StreamMessage::Done) => break,
                None => assert!(stream.receive().unwrap()),
            }
        }
        let expected = [(10, "BEGIN"), (20, "true"), (40, "late")];
        assert_eq!(seen, expected.map(|(position, text)| (position, text.to_owned())));
        drop(stream);
        server.join().unwrap();
    }

    #[test]
    fn a_refusal_and_the_servers_last_words_are_told() {
        let (connection, server) = FakeServer::session(|server| {
            server.expect(b"Q");
            server.error("ERROR", "42704", "replication slot \"s\" does not exist");
            server.send(b'Z', b"I");
        });
        let error = ReplicationStream::start(connection, "s", Lsn(0), &[]).unwrap_err();
        assert!(matches!(&error, WireError::Server(error) if error.sqlstate == "42704"), "{error}");
        server.join().unwrap();
        let (connection, server) = FakeServer::session(|server| {
            server.expect(b"Q");
            server.send(b'W', &[0, 0, 0]);
            server.error("FATAL", "57P01", "terminating connection");
        });
        let mut stream = ReplicationStream::start(connection, "s", Lsn(0), &[]).unwrap();
        let error = loop {
            match stream.buffered() {
                Ok(_) => assert!(stream.receive().unwrap()),
                Err(error) => break error,
            }
        };
        assert!(matches!(&error, WireError::Closed { last: Some(last) } if last.sqlstate == "57P01"), "{error}");
        server.join().unwrap();
    }

    proptest! {
        #[test]
        fn no_body_is_too_strange_to_be_told(body: Vec<u8>) {
            match copy_data(&body) {
                Ok(StreamMessage::Data { payload, .. }) => prop_assert_eq!(payload.len() + 25, body.len()),
                Ok(StreamMessage::Keepalive { .. }) => prop_assert!(body.len() >= 18),
                Ok(StreamMessage::Done) => prop_assert!(false),
                Err(error) => { let is_unexpected = matches!(error, WireError::Unexpected { .. }); prop_assert!(is_unexpected); }
            }
        }
    }
}
