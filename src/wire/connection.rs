//! A session with a server: one socket, one read buffer, one write buffer.
//!
//! One request is under way at a time. The caller writes a request, flushes it and takes the reply, either waiting for
//! it (a thread of its own) or as far as it has come (an event loop). It measures no time and repeats nothing.

use super::error::WireError;
use super::frame::{Cut, Frame, Framer};
use super::listen::Notification;
use super::reply::{Reply, ReplyScan, TransactionStatus};
use super::request::{BindTemplate, Request, message, parse, refuse_zero_byte};
use super::server_error::ServerError;
use super::socket::{ShutdownHandle, Socket};
use super::startup::{Greeting, greet, remember_parameter};
use super::target::Target;
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use std::collections::VecDeque;
use std::time::Duration;

/// An open session.
#[derive(Debug)]
pub struct Connection {
    socket: Socket,
    framer: Framer,
    out: Vec<u8>,
    scan: ReplyScan,
    greeting: Greeting,
    status: TransactionStatus,
    /// Filled only while somebody listens, so that a load cannot grow it.
    pub(super) notifications: Option<VecDeque<Notification>>,
}

impl Connection {
    /// Opens a session: connects, starts up, authenticates, and waits until the server is ready, all within the
    /// target's time-out.
    pub fn open(target: &Target) -> Result<Self, WireError> {
        Self::greeted(Socket::connect(target)?, target)
    }

    /// Starts a session over a stream that is connected already (a socket pair, a relay).
    pub fn over(stream: impl Into<OwnedFd>, target: &Target) -> Result<Self, WireError> {
        Self::greeted(Socket::over(stream.into()), target)
    }

    fn greeted(mut socket: Socket, target: &Target) -> Result<Self, WireError> {
        let mut framer = Framer::new();
        let greeting = greet(&mut socket, &mut framer, target)?;
        socket.set_receive_timeout(None)?;
        Ok(Self {
            socket,
            framer,
            out: Vec::with_capacity(1024),
            scan: ReplyScan::default(),
            greeting,
            status: TransactionStatus::Idle,
            notifications: None,
        })
    }

    /// The process id of the server process that serves this session.
    pub fn backend_pid(&self) -> u32 {
        self.greeting.backend_pid
    }

    /// A setting that the server reports by itself, e.g. `server_version`.
    pub fn parameter(&self, name: &str) -> Option<&str> {
        let known = self.greeting.parameters.iter();
        known.into_iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// The transaction status after the last reply.
    pub fn transaction_status(&self) -> TransactionStatus {
        self.status
    }

    /// A handle that ends a blocked read from another thread.
    pub fn shutdown_handle(&self) -> ShutdownHandle {
        self.socket.shutdown_handle()
    }

    /// Bounds each later wait for the server, or lifts the bound (as it is after opening).
    pub fn set_receive_timeout(&mut self, timeout: Option<Duration>) -> Result<(), WireError> {
        Ok(self.socket.set_receive_timeout(timeout)?)
    }

    /// Prepares `sql` under `name` on the server and waits for its consent.
    pub fn prepare(&mut self, name: &str, sql: &str) -> Result<(), WireError> {
        refuse_zero_byte(name)?;
        refuse_zero_byte(sql)?;
        parse(&mut self.out, name, sql);
        message(&mut self.out, b'S', |_| {});
        self.flush()?;
        match self.reply()?.error {
            Some(error) => Err(error.into()),
            None => Ok(()),
        }
    }

    /// Begins a Bind + Execute + Sync request; nothing is sent before [`Connection::flush`].
    #[inline]
    pub fn bind<'a>(&'a mut self, template: &'a BindTemplate) -> Request<'a> {
        template.begin(&mut self.out)
    }

    /// Writes a request of the simple protocol: `write` appends the SQL text, which must have no zero byte. Nothing is
    /// sent before [`Connection::flush`].
    #[inline]
    pub fn simple(&mut self, write: impl FnOnce(&mut Vec<u8>)) {
        message(&mut self.out, b'Q', |out| {
            write(out);
            out.push(0);
        });
    }

    /// Writes a Sync, which ends a part of a pipeline with a reply of its own. Nothing is sent before
    /// [`Connection::flush_pipeline`].
    pub fn sync(&mut self) {
        message(&mut self.out, b'S', |_| {});
    }

    /// Sends what was written while it takes in what comes back: a server that has no room for the answers to a long
    /// pipeline would not read its end, and both sides would wait for ever.
    pub fn flush_pipeline(&mut self) -> Result<(), WireError> {
        let out = std::mem::take(&mut self.out);
        let sent = self.send_exchanging(&out);
        self.out = out;
        self.out.clear();
        sent.map_err(|error| self.with_last_words(error))
    }

    fn send_exchanging(&mut self, mut bytes: &[u8]) -> Result<(), WireError> {
        loop {
            bytes = &bytes[self.socket.send_ready(bytes)?..];
            if bytes.is_empty() {
                return Ok(());
            }
            self.socket.wait_either()?;
            if let Some(count) = self.socket.receive_ready(self.framer.space())? {
                self.framer.received(count);
            }
        }
    }

    /// Sends what was written. A send that finds the server gone tells the server's last words.
    #[inline]
    pub fn flush(&mut self) -> Result<(), WireError> {
        let sent = self.socket.send(&self.out);
        self.out.clear();
        sent.map_err(|error| self.with_last_words(error))
    }

    /// Waits for the reply to the request under way.
    #[inline]
    pub fn reply(&mut self) -> Result<Reply, WireError> {
        self.reply_with(&mut |_| {})
    }

    /// Waits for the reply and hands the messages of its results to `on_result`: `RowDescription` (where the protocol
    /// sends one), `DataRow`, and `CommandComplete` or `EmptyQueryResponse` at the end of each.
    pub fn reply_with(&mut self, on_result: &mut impl FnMut(Frame<'_>)) -> Result<Reply, WireError> {
        loop {
            // A fresh reply is never there yet, so receiving comes first unless bytes are left.
            if !self.framer.is_empty()
                && let Some(reply) = self.scan(on_result)?
            {
                return Ok(reply);
            }
            self.receive()?;
        }
    }

    /// Takes what has arrived of the reply without waiting; `None` while it is not complete. One receive a call: in an
    /// event loop that is told of readiness again, a second one would nearly always find nothing.
    #[inline]
    pub fn reply_ready(&mut self) -> Result<Option<Reply>, WireError> {
        self.reply_ready_with(&mut |_| {})
    }

    /// Like [`Connection::reply_ready`], with the results' messages as in [`Connection::reply_with`].
    #[inline]
    pub fn reply_ready_with(&mut self, on_result: &mut impl FnMut(Frame<'_>)) -> Result<Option<Reply>, WireError> {
        match self.socket.receive_ready(self.framer.space()) {
            Ok(Some(count)) => self.framer.received(count),
            Ok(None) => return Ok(None),
            Err(error) => return Err(self.with_last_words(error)),
        }
        self.scan(on_result)
    }

    /// The next reply of a pipeline if it has been received already.
    pub fn reply_received(&mut self) -> Result<Option<Reply>, WireError> {
        self.scan(&mut |_| {})
    }

    /// Sends one message as it is: for streams that are no request and reply (COPY BOTH).
    pub fn send_frame(&mut self, frame: Frame<'_>) -> Result<(), WireError> {
        message(&mut self.out, frame.tag, |out| {
            out.extend_from_slice(frame.body);
        });
        self.flush()
    }

    /// Waits for the next message, whatever it is, except what a server may send at any time (notices, settings,
    /// notifications): for streams that are no request and reply.
    pub fn next_frame(&mut self) -> Result<Frame<'_>, WireError> {
        loop {
            if let Some(cut) = self.buffered_cut()? {
                return Ok(self.framer.frame(cut));
            }
            self.receive()?;
        }
    }

    /// The next message that has been received already, except what a server may send at any time.
    #[inline]
    pub(super) fn buffered_cut(&mut self) -> Result<Option<Cut>, WireError> {
        while let Some(cut) = self.framer.cut()? {
            if !self.take_asynchronous(cut) {
                return Ok(Some(cut));
            }
        }
        Ok(None)
    }

    /// The message that was cut last. Valid until the next receive.
    #[inline]
    pub(super) fn frame(&self, cut: Cut) -> Frame<'_> {
        self.framer.frame(cut)
    }

    /// The stream below, for a part of it that another thread may use.
    pub(super) fn socket(&self) -> &Socket {
        &self.socket
    }

    /// Waits for a notification, within the receive bound.
    pub(super) fn wait_notification(&mut self) -> Result<(), WireError> {
        while self.notifications.as_ref().is_some_and(VecDeque::is_empty) {
            while let Some(cut) = self.framer.cut()? {
                let frame = self.framer.frame(cut);
                if frame.tag == b'E' {
                    let last = Some(Box::new(ServerError::parse(frame.body)));
                    return Err(WireError::Closed { last });
                }
                self.take_asynchronous(cut);
            }
            if self.notifications.as_ref().is_some_and(VecDeque::is_empty) {
                self.receive()?;
            }
        }
        Ok(())
    }

    /// Waits for bytes, within the receive bound.
    pub(super) fn receive(&mut self) -> Result<(), WireError> {
        match self.socket.receive(self.framer.space()) {
            Ok(count) => {
                self.framer.received(count);
                Ok(())
            }
            Err(error) => Err(self.with_last_words(error)),
        }
    }

    #[inline]
    fn scan(&mut self, on_result: &mut impl FnMut(Frame<'_>)) -> Result<Option<Reply>, WireError> {
        while let Some(cut) = self.framer.cut()? {
            if self.take_asynchronous(cut) {
                continue;
            }
            if let Some(reply) = self.scan.take(self.framer.frame(cut), on_result)? {
                self.status = reply.status;
                return Ok(Some(reply));
            }
        }
        Ok(None)
    }

    /// Takes a message that may come at any time; false if it is none of these.
    #[inline]
    fn take_asynchronous(&mut self, cut: Cut) -> bool {
        match cut.tag() {
            b'S' => {
                remember_parameter(&mut self.greeting.parameters, self.framer.frame(cut).body);
            }
            b'A' => {
                if let Some(kept) = &mut self.notifications {
                    kept.extend(Notification::parse(self.framer.frame(cut).body));
                }
            }
            b'N' => {}
            _ => return false,
        }
        true
    }

    /// A server that ends a session says why before; the words may lie in the socket still when a send fails.
    #[cold]
    fn with_last_words(&mut self, error: WireError) -> WireError {
        if !matches!(error, WireError::Closed { last: None }) {
            return error;
        }
        while let Ok(Some(count)) = self.socket.receive_ready(self.framer.space()) {
            self.framer.received(count);
        }
        // Messages after the error don't matter any more, nor does a reply that completes.
        while let Ok(Some(cut)) = self.framer.cut() {
            let frame = self.framer.frame(cut);
            if frame.tag == b'E' {
                let last = Some(Box::new(ServerError::parse(frame.body)));
                return WireError::Closed { last };
            }
        }
        WireError::Closed { last: self.scan.last_words() }
    }
}

impl AsFd for Connection {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

impl Drop for Connection {
    /// Says goodbye, so that the server logs no lost connection, and shuts the stream even if a
    /// [`ShutdownHandle`] outlives it.
    fn drop(&mut self) {
        self.out.clear();
        message(&mut self.out, b'X', |_| {});
        let _ = self.socket.send(&self.out);
        self.socket.close();
    }
}
