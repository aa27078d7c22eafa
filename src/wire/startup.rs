//! Start-up and authentication: from a connected socket to the first `ReadyForQuery`.
//!
//! Trust, cleartext, MD5 and SCRAM-SHA-256 (without channel binding, since there is no TLS here). Nothing is retried:
//! waiting for a server to come up is the lab's.

use super::error::WireError;
use super::frame::Framer;
use super::server_error::ServerError;
use super::socket::Socket;
use super::target::Target;
use bytes::BytesMut;
use postgres_protocol::authentication::md5_hash;
use postgres_protocol::authentication::sasl::{ChannelBinding, SCRAM_SHA_256, ScramSha256};
use postgres_protocol::message::frontend;
use std::io;
use std::time::Instant;

/// What the server tells of itself while a session begins.
#[derive(Debug, Default)]
pub(super) struct Greeting {
    /// The server process of this session.
    pub(super) backend_pid: u32,
    /// Reported settings (`server_version`, `TimeZone` …).
    pub(super) parameters: Vec<(String, String)>,
}

/// Sends the start-up packet, authenticates, and reads up to the first `ReadyForQuery`. Leaves the socket's receive
/// bound as short as the time left; the caller sets it anew.
pub(super) fn greet(socket: &mut Socket, framer: &mut Framer, target: &Target) -> Result<Greeting, WireError> {
    let began = Instant::now();
    let mut out = BytesMut::new();
    frontend::startup_message(startup_parameters(target), &mut out).map_err(unwritable)?;
    socket.send(&out)?;
    let mut greeting = Greeting::default();
    let mut scram = None;
    loop {
        while let Some(cut) = framer.cut()? {
            let body = framer.frame(cut).body;
            match cut.tag() {
                b'R' => {
                    out.clear();
                    answer_authentication(body, target, &mut scram, &mut out)?;
                    socket.send(&out)?;
                }
                b'S' => remember_parameter(&mut greeting.parameters, body),
                b'K' => {
                    greeting.backend_pid = body.first_chunk().map_or(0, |bytes| u32::from_be_bytes(*bytes));
                }
                b'E' => return Err(Box::new(ServerError::parse(body)).into()),
                // NoticeResponse and NegotiateProtocolVersion change nothing for us.
                b'N' | b'v' => {}
                b'Z' => return Ok(greeting),
                tag => {
                    return Err(WireError::Unexpected { tag, during: "starting a session" });
                }
            }
        }
        let left = target.connect_timeout.saturating_sub(began.elapsed());
        if left.is_zero() {
            return Err(WireError::TimedOut { after: target.connect_timeout });
        }
        socket.set_receive_timeout(Some(left))?;
        let count = socket.receive(framer.space())?;
        framer.received(count);
    }
}

fn startup_parameters(target: &Target) -> impl Iterator<Item = (&str, &str)> {
    let given = [
        ("user", target.user.as_str()),
        ("database", target.database.as_str()),
        ("application_name", target.application_name.as_str()),
        ("client_encoding", "UTF8"),
    ];
    let options = target.options.iter().map(|(name, value)| (name.as_str(), value.as_str()));
    given.into_iter().chain(options).chain(target.replication.then_some(("replication", "database")))
}

/// Answers one authentication request by what it appends to `out`.
fn answer_authentication(
    body: &[u8],
    target: &Target,
    scram: &mut Option<ScramSha256>,
    out: &mut BytesMut,
) -> Result<(), WireError> {
    let failed = |why: String| WireError::Authentication { why };
    let (kind, data) =
        body.split_first_chunk::<4>().ok_or_else(|| failed(String::from("the server's request is cut short")))?;
    let password = || {
        target.password.as_deref().ok_or_else(|| {
            failed(format!("the server asks for the password of user \"{}\" and none is given", target.user))
        })
    };
    match u32::from_be_bytes(*kind) {
        0 => {}
        3 => frontend::password_message(password()?.as_bytes(), out).map_err(unwritable)?,
        5 => {
            let salt =
                data.first_chunk::<4>().ok_or_else(|| failed(String::from("the server's MD5 salt is cut short")))?;
            let hash = md5_hash(target.user.as_bytes(), password()?.as_bytes(), *salt);
            frontend::password_message(hash.as_bytes(), out).map_err(unwritable)?;
        }
        10 => {
            if !data.split(|&byte| byte == 0).any(|name| name == SCRAM_SHA_256.as_bytes()) {
                return Err(failed(String::from(
                    "the server offers no SASL mechanism that works without TLS; it must accept scram-sha-256",
                )));
            }
            let exchange = ScramSha256::new(password()?.as_bytes(), ChannelBinding::unsupported());
            frontend::sasl_initial_response(SCRAM_SHA_256, exchange.message(), out).map_err(unwritable)?;
            *scram = Some(exchange);
        }
        11 => {
            let exchange = scram.as_mut().ok_or_else(|| out_of_order(11))?;
            exchange.update(data).map_err(|error| failed(error.to_string()))?;
            frontend::sasl_response(exchange.message(), out).map_err(unwritable)?;
        }
        12 => {
            let exchange = scram.as_mut().ok_or_else(|| out_of_order(12))?;
            exchange.finish(data).map_err(|error| failed(error.to_string()))?;
        }
        other => {
            return Err(failed(format!(
                "the server asks for authentication method {other}, which is not supported; use trust, password, md5 or scram-sha-256 in pg_hba.conf"
            )));
        }
    }
    Ok(())
}

fn out_of_order(kind: u32) -> WireError {
    WireError::Authentication { why: format!("the server sent SASL step {kind} before SASL began") }
}

/// The protocol crate refuses texts with a zero byte, and nothing else that we give it.
fn unwritable(_: io::Error) -> WireError {
    WireError::ZeroByte
}

/// Notes a `ParameterStatus` message, replacing an older value.
pub(super) fn remember_parameter(parameters: &mut Vec<(String, String)>, body: &[u8]) {
    let mut texts = body.split(|&byte| byte == 0).map(|text| String::from_utf8_lossy(text).into_owned());
    let (Some(name), Some(value)) = (texts.next(), texts.next()) else {
        return;
    };
    match parameters.iter_mut().find(|(known, _)| *known == name) {
        Some((_, old)) => *old = value,
        None => parameters.push((name, value)),
    }
}
