//! A worker thread's part of a load: its clients, driven until each has ended, in one of two ways of waiting.
//!
//! How many threads there are and which clients they have is decided elsewhere; so is what a client does.

use super::client::{Client, Next, Quota, Tally};
use super::error::LoadError;
use super::readiness::Readiness;
use rustix::fd::AsFd;
use rustix::time::{ClockId, clock_gettime};
use std::time::Duration;

/// Drives the clients to their ends. One client is waited for in its read; several by readiness.
pub(super) fn drive(
    clients: &mut [Client],
    quota: impl Fn(usize) -> Quota,
    tally: &mut Tally<'_>,
) -> Result<(), LoadError> {
    match clients {
        [client] => drive_one(client, quota(0), tally),
        clients => drive_many(clients, quota, tally),
    }
}

/// The thread belongs to one client and blocks in its reads: no system call but send and receive.
fn drive_one(client: &mut Client, quota: Quota, tally: &mut Tally<'_>) -> Result<(), LoadError> {
    let mut next = client.start(quota, tally)?;
    while next == Next::Reply {
        next = client.wait(tally)?;
    }
    Ok(())
}

/// The thread serves many clients, whichever has an answer.
fn drive_many(clients: &mut [Client], quota: impl Fn(usize) -> Quota, tally: &mut Tally<'_>) -> Result<(), LoadError> {
    let failed = |source| LoadError::Wait { source };
    let mut readiness = Readiness::new(clients.len()).map_err(failed)?;
    let mut running = 0_usize;
    for (number, client) in clients.iter_mut().enumerate() {
        if client.start(quota(number), tally)? == Next::Reply {
            let socket = client.session().as_fd();
            readiness.watch(number, socket).map_err(failed)?;
            running += 1;
        }
    }
    let mut ready = Vec::with_capacity(clients.len());
    while running > 0 {
        readiness.wait(&mut ready).map_err(failed)?;
        for &number in &ready {
            let client = &mut clients[number];
            if client.poll(tally)? == Next::Over {
                let socket = client.session().as_fd();
                readiness.forget(number, socket).map_err(failed)?;
                running -= 1;
            }
        }
    }
    Ok(())
}

/// CPU that this thread has used since it began.
pub(super) fn thread_cpu() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), time.tv_nsec as u32)
}
