//! A server end for tests: a thread on the other end of a socket pair that expects and sends exact messages.
//!
//! It knows the framing of the client's messages and nothing of SQL.

#![expect(clippy::unwrap_used, reason = "a test helper: any surprise is a failed test")]

use super::{Connection, Host, Target, WireError};
use std::io::{Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::JoinHandle;

/// The server's end of one session.
pub(crate) struct FakeServer {
    stream: UnixStream,
}

impl FakeServer {
    /// Runs `play` on a thread as the server of one session; gives the client's end.
    pub(crate) fn play(play: impl FnOnce(&mut Self) + Send + 'static) -> (UnixStream, JoinHandle<()>) {
        let (client, server) = UnixStream::pair().unwrap();
        let thread = std::thread::spawn(move || play(&mut Self { stream: server }));
        (client, thread)
    }

    /// A target for tests; nothing listens at its address.
    pub(crate) fn target() -> Target {
        Target::new(Host::Tcp(([127, 0, 0, 1], 1).into()), "u", "d")
    }

    /// Opens a session whose start-up is trusted, then goes on with `play`.
    pub(crate) fn session(play: impl FnOnce(&mut Self) + Send + 'static) -> (Connection, JoinHandle<()>) {
        let (client, thread) = Self::play(|server| {
            server.welcome();
            play(server);
        });
        (Connection::over(client, &Self::target()).unwrap(), thread)
    }

    /// Listens in a folder of its own for `sessions` sessions, each played on a thread with its number from 0 (in the
    /// order of arrival). The folder is removed when the last has come.
    pub(crate) fn listen(
        sessions: usize,
        play: impl Fn(&mut Self, usize) + Send + Sync + 'static,
    ) -> (Target, JoinHandle<()>) {
        static FOLDERS: AtomicUsize = AtomicUsize::new(0);
        let folder = std::env::temp_dir().join(format!(
            "runner-fake-{}-{}",
            std::process::id(),
            FOLDERS.fetch_add(1, Ordering::Relaxed)
        ));
        std::fs::create_dir(&folder).unwrap();
        let host = Host::Unix { directory: folder.clone(), port: 1 };
        let listener = UnixListener::bind(host.socket_path().unwrap()).unwrap();
        let thread = std::thread::spawn(move || {
            std::thread::scope(|scope| {
                for number in 0..sessions {
                    let (stream, _) = listener.accept().unwrap();
                    let play = &play;
                    scope.spawn(move || play(&mut Self { stream }, number));
                }
                std::fs::remove_dir_all(folder).unwrap();
            });
        });
        (Target::new(host, "u", "d"), thread)
    }

    /// The next message, `None` when the client has gone.
    pub(crate) fn next(&mut self) -> Option<(u8, Vec<u8>)> {
        let mut header = [0; 5];
        self.stream.read_exact(&mut header).ok()?;
        let length = u32::from_be_bytes([header[1], header[2], header[3], header[4]]);
        let mut body = vec![0; length as usize - 4];
        self.stream.read_exact(&mut body).ok()?;
        Some((header[0], body))
    }

    /// Takes the start-up packet.
    pub(crate) fn start_up(&mut self) -> Vec<u8> {
        let mut length = [0; 4];
        self.stream.read_exact(&mut length).unwrap();
        let mut body = vec![0; u32::from_be_bytes(length) as usize - 4];
        self.stream.read_exact(&mut body).unwrap();
        body
    }

    /// Takes the start-up packet and lets the client in as backend 4711.
    pub(crate) fn welcome(&mut self) {
        self.start_up();
        self.send(b'R', &[0; 4]);
        self.send(b'S', b"server_version\x0018.6\0");
        self.send(b'K', &[0, 0, 0x12, 0x67, 1, 2, 3, 4]);
        self.send(b'Z', b"I");
    }

    /// Takes one message for each tag and returns their bodies.
    pub(crate) fn expect(&mut self, tags: &[u8]) -> Vec<Vec<u8>> {
        let mut bodies = Vec::new();
        for &tag in tags {
            let (came, body) = self.next().unwrap();
            assert_eq!(char::from(came), char::from(tag));
            bodies.push(body);
        }
        bodies
    }

    /// Sends several messages in one write.
    pub(crate) fn send_all(&mut self, messages: &[(u8, &[u8])]) {
        let mut bytes = Vec::new();
        for (tag, body) in messages {
            bytes.push(*tag);
            bytes.extend_from_slice(&(body.len() as u32 + 4).to_be_bytes());
            bytes.extend_from_slice(body);
        }
        self.stream.write_all(&bytes).unwrap();
    }

    /// Sends one message.
    pub(crate) fn send(&mut self, tag: u8, body: &[u8]) {
        let mut message = vec![tag];
        message.extend_from_slice(&(body.len() as u32 + 4).to_be_bytes());
        message.extend_from_slice(body);
        self.stream.write_all(&message).unwrap();
    }

    /// Sends an error with the given code and message.
    pub(crate) fn error(&mut self, severity: &str, sqlstate: &str, message: &str) {
        let body = format!("S{severity}\0V{severity}\0C{sqlstate}\0M{message}\0\0");
        self.send(b'E', body.as_bytes());
    }

    /// Waits until the client has gone, taking whatever it still says.
    pub(crate) fn until_closed(&mut self) {
        let mut rest = Vec::new();
        // A reset is as good an end as any.
        let _ = self.stream.read_to_end(&mut rest);
    }
}

/// Starts a session that must fail.
pub(crate) fn refused(target: &Target, play: impl FnOnce(&mut FakeServer) + Send + 'static) -> WireError {
    let (client, thread) = FakeServer::play(play);
    let error = Connection::over(client, target).unwrap_err();
    thread.join().unwrap();
    error
}
