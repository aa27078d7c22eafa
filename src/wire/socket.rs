//! The stream below a connection: a unix or TCP socket, and the handle by which another thread shuts it.
//!
//! Bytes only. The socket stays in blocking mode; an event loop receives with a flag instead, so that one connection
//! serves both ways of waiting.

use super::error::WireError;
use super::target::{Host, Target};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::io::Errno;
use rustix::net::sockopt::{Timeout, set_socket_timeout, set_tcp_nodelay};
use rustix::net::{RecvFlags, SendFlags, Shutdown};
use std::io;
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// A connected stream socket. Clones are the same socket.
#[derive(Debug, Clone)]
pub(super) struct Socket {
    fd: Arc<OwnedFd>,
    stopped: Arc<AtomicBool>,
    receive_timeout: Option<Duration>,
}

impl Socket {
    /// Connects as the target says. The time-out bounds a TCP connect; a unix socket connects at once or is refused.
    pub(super) fn connect(target: &Target) -> Result<Self, WireError> {
        let failed = |source| WireError::Connect { target: target.to_string(), source };
        let fd: OwnedFd = match &target.host {
            Host::Tcp(address) => {
                let stream = TcpStream::connect_timeout(address, target.connect_timeout).map_err(failed)?;
                set_tcp_nodelay(&stream, true).map_err(|errno| failed(errno.into()))?;
                stream.into()
            }
            Host::Unix { directory, port } => {
                UnixStream::connect(directory.join(format!(".s.PGSQL.{port}"))).map_err(failed)?.into()
            }
        };
        Ok(Self::over(fd))
    }

    /// Takes over a connected stream socket.
    pub(super) fn over(fd: OwnedFd) -> Self {
        Self { fd: Arc::new(fd), stopped: Arc::new(AtomicBool::new(false)), receive_timeout: None }
    }

    /// Bounds each later blocking receive, or lifts the bound.
    pub(super) fn set_receive_timeout(&mut self, timeout: Option<Duration>) -> io::Result<()> {
        if self.receive_timeout != timeout {
            // The kernel reads a zero as "no bound".
            let at_least = timeout.map(|time| time.max(Duration::from_micros(1)));
            set_socket_timeout(&self.fd, Timeout::Recv, at_least)?;
            self.receive_timeout = timeout;
        }
        Ok(())
    }

    /// Waits for bytes and receives them; 0 only if `space` is empty.
    pub(super) fn receive(&self, space: &mut [u8]) -> Result<usize, WireError> {
        match self.receive_with(space, RecvFlags::empty())? {
            Some(count) => Ok(count),
            None => Err(WireError::TimedOut { after: self.receive_timeout.unwrap_or_default() }),
        }
    }

    /// Receives what is there already, `None` if there is nothing.
    pub(super) fn receive_ready(&self, space: &mut [u8]) -> Result<Option<usize>, WireError> {
        self.receive_with(space, RecvFlags::DONTWAIT)
    }

    #[inline]
    fn receive_with(&self, space: &mut [u8], flags: RecvFlags) -> Result<Option<usize>, WireError> {
        loop {
            match rustix::net::recv(&self.fd, &mut *space, flags) {
                Ok((_, 0)) => return Err(self.ended(None)),
                Ok((_, count)) => return Ok(Some(count)),
                Err(Errno::INTR) => {}
                Err(errno) if errno == Errno::AGAIN || errno == Errno::WOULDBLOCK => {
                    return Ok(None);
                }
                Err(errno) => return Err(self.ended(Some(errno))),
            }
        }
    }

    /// Sends all bytes, waiting for room if need be.
    pub(super) fn send(&self, mut bytes: &[u8]) -> Result<(), WireError> {
        while !bytes.is_empty() {
            match rustix::net::send(&self.fd, bytes, SendFlags::empty()) {
                Ok(count) => bytes = &bytes[count..],
                Err(Errno::INTR) => {}
                Err(errno) => return Err(self.ended(Some(errno))),
            }
        }
        Ok(())
    }

    /// Sends what there is room for now; 0 if there is none.
    pub(super) fn send_ready(&self, bytes: &[u8]) -> Result<usize, WireError> {
        loop {
            match rustix::net::send(&self.fd, bytes, SendFlags::DONTWAIT) {
                Ok(count) => return Ok(count),
                Err(Errno::INTR) => {}
                Err(errno) if errno == Errno::AGAIN || errno == Errno::WOULDBLOCK => return Ok(0),
                Err(errno) => return Err(self.ended(Some(errno))),
            }
        }
    }

    /// Waits until there is room to send, or something to receive.
    pub(super) fn wait_either(&self) -> Result<(), WireError> {
        let mut fds = [PollFd::new(&self.fd, PollFlags::IN | PollFlags::OUT)];
        match poll(&mut fds, None) {
            Ok(_) | Err(Errno::INTR) => Ok(()),
            Err(errno) => Err(self.ended(Some(errno))),
        }
    }

    /// What the end of the stream means: a stop if we asked for one, a lost peer otherwise.
    fn ended(&self, errno: Option<Errno>) -> WireError {
        if self.stopped.load(Ordering::Acquire) {
            return WireError::Stopped;
        }
        match errno {
            None | Some(Errno::CONNRESET | Errno::PIPE) => WireError::Closed { last: None },
            Some(errno) => WireError::Socket { source: errno.into() },
        }
    }

    /// The handle for another thread.
    pub(super) fn shutdown_handle(&self) -> ShutdownHandle {
        ShutdownHandle { fd: Arc::clone(&self.fd), stopped: Arc::clone(&self.stopped) }
    }

    /// Ends the stream for both sides, even while a handle keeps the descriptor open.
    pub(super) fn close(&self) {
        // A socket that the peer has closed already refuses, which is what we want anyway.
        let _ = rustix::net::shutdown(&self.fd, Shutdown::Both);
    }
}

impl AsFd for Socket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

/// Shuts a connection's socket from any thread, so that a blocked read returns with [`WireError::Stopped`].
#[derive(Debug, Clone)]
pub struct ShutdownHandle {
    fd: Arc<OwnedFd>,
    stopped: Arc<AtomicBool>,
}

impl ShutdownHandle {
    /// Marks the connection as stopped and shuts its socket. Any number of calls does no harm.
    pub fn stop(&self) {
        self.stopped.store(true, Ordering::Release);
        let _ = rustix::net::shutdown(&self.fd, Shutdown::Both);
    }
}
