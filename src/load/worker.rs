//! A worker thread's part of a load: its clients, driven until each has ended, in one of two ways of waiting.
//!
//! How many threads there are and which clients they have is decided elsewhere; so is what a client does.

use super::client::{Client, Next, Quota, Tally};
use super::error::LoadError;
use super::readiness::{Readiness, readable_before};
use rustix::fd::AsFd;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::Instant;

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
    loop {
        next = match next {
            Next::Reply => client.wait(tally)?,
            Next::Sleep(until) => sleep_one(client, until, tally)?,
            Next::Over => return Ok(()),
        };
    }
}

/// Lets a client of its own thread sleep, unless its connection ends before.
#[cold]
fn sleep_one(client: &mut Client, until: Instant, tally: &mut Tally<'_>) -> Result<Next, LoadError> {
    while readable_before(client.session().as_fd(), until).map_err(|source| LoadError::Wait { source })? {
        if client.poll(tally)? == Next::Over {
            return Ok(Next::Over);
        }
    }
    client.wake(tally)
}

/// The thread serves many clients, whichever has an answer.
fn drive_many(clients: &mut [Client], quota: impl Fn(usize) -> Quota, tally: &mut Tally<'_>) -> Result<(), LoadError> {
    let failed = |source| LoadError::Wait { source };
    let mut readiness = Readiness::new(clients.len()).map_err(failed)?;
    let mut asleep = BinaryHeap::new();
    let mut running = 0_usize;
    for (number, client) in clients.iter_mut().enumerate() {
        let next = client.start(quota(number), tally)?;
        if next != Next::Over {
            let socket = client.session().as_fd();
            readiness.watch(number, socket).map_err(failed)?;
            running += 1;
        }
        if let Next::Sleep(until) = next {
            asleep.push(Reverse((until, number)));
        }
    }
    let mut ready = Vec::with_capacity(clients.len());
    while running > 0 {
        let first = asleep.peek().map(|&Reverse((until, _))| until);
        readiness.wait(first, &mut ready).map_err(failed)?;
        let mut follow = |number: usize, client: &Client, next: Next, asleep: &mut BinaryHeap<_>| {
            match next {
                Next::Reply => {}
                Next::Sleep(until) => asleep.push(Reverse((until, number))),
                Next::Over => {
                    readiness.forget(number, client.session().as_fd()).map_err(failed)?;
                    running -= 1;
                }
            }
            Ok(())
        };
        for &number in &ready {
            let client = &mut clients[number];
            let next = client.poll(tally)?;
            follow(number, client, next, &mut asleep)?;
        }
        if first.is_none() {
            continue;
        }
        let now = Instant::now();
        while let Some(&Reverse((until, number))) = asleep.peek()
            && until <= now
        {
            asleep.pop();
            let client = &mut clients[number];
            // One whose connection has ended in its sleep is over already.
            if client.asleep_until() == Some(until) {
                let next = client.wake(tally)?;
                follow(number, client, next, &mut asleep)?;
            }
        }
    }
    Ok(())
}
