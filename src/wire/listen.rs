//! A session that listens on one channel and waits for notifications (`LISTEN`, `NotificationResponse`).
//!
//! What a payload means is not known here.

use super::connection::Connection;
use super::error::WireError;
use super::socket::ShutdownHandle;
use super::target::Target;
use std::collections::VecDeque;
use std::time::Duration;

/// What `NOTIFY` or `pg_notify` sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notification {
    /// The process id of the session that notified.
    pub backend_pid: u32,
    /// The channel's name.
    pub channel: String,
    /// The payload, possibly empty.
    pub payload: String,
}

impl Notification {
    /// Reads the body of a `NotificationResponse`.
    pub(super) fn parse(body: &[u8]) -> Option<Self> {
        let (pid, texts) = body.split_first_chunk::<4>()?;
        let mut texts = texts.split(|&byte| byte == 0).map(|text| String::from_utf8_lossy(text).into_owned());
        Some(Self { backend_pid: u32::from_be_bytes(*pid), channel: texts.next()?, payload: texts.next()? })
    }
}

/// A listening session.
#[derive(Debug)]
pub struct Listener {
    connection: Connection,
}

impl Listener {
    /// Opens a session and listens on `channel`, all within the target's time-out for each wait; when it returns,
    /// every later notification will arrive.
    pub fn open(target: &Target, channel: &str) -> Result<Self, WireError> {
        let mut connection = Connection::open(target)?;
        connection.set_receive_timeout(Some(target.connect_timeout))?;
        Self::over(connection, channel)
    }

    /// Listens on `channel` over an open session, within the session's receive bound.
    pub fn over(mut connection: Connection, channel: &str) -> Result<Self, WireError> {
        connection.notifications = Some(VecDeque::new());
        connection.query(&format!("LISTEN \"{}\"", channel.replace('"', "\"\"")))?;
        Ok(Self { connection })
    }

    /// Waits for the next notification, at most `bound` (for ever without one). `None` if none came in time.
    pub fn wait(&mut self, bound: Option<Duration>) -> Result<Option<Notification>, WireError> {
        self.connection.set_receive_timeout(bound)?;
        match self.connection.wait_notification() {
            Ok(()) => Ok(self.taken()),
            Err(WireError::TimedOut { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// A notification that has arrived already, e.g. together with a query's reply.
    pub fn taken(&mut self) -> Option<Notification> {
        self.connection.notifications.as_mut()?.pop_front()
    }

    /// The session itself, for a query in between.
    pub fn connection(&mut self) -> &mut Connection {
        &mut self.connection
    }

    /// The server process of the session.
    pub fn backend_pid(&self) -> u32 {
        self.connection.backend_pid()
    }

    /// A handle that ends a blocked wait from another thread.
    pub fn shutdown_handle(&self) -> ShutdownHandle {
        self.connection.shutdown_handle()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_notification_has_pid_channel_and_payload() {
        assert_eq!(
            Notification::parse(b"\0\0\x01\0runner_marker\x0017\0"),
            Some(Notification {
                backend_pid: 256,
                channel: String::from("runner_marker"),
                payload: String::from("17")
            })
        );
        assert_eq!(Notification::parse(b"\0\0"), None);
    }
}
