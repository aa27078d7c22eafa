//! Waiting for many sockets at once: epoll on Linux, poll elsewhere, in level mode.
//!
//! It knows sockets and their numbers, nothing of what comes over them.

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::BorrowedFd;
use rustix::io::Errno;
use std::io;
use std::time::Instant;

#[cfg(target_os = "linux")]
mod system {
    use super::{BorrowedFd, Timespec};
    use rustix::buffer::spare_capacity;
    use rustix::event::{PollFd, PollFlags, epoll, poll};
    use rustix::fd::OwnedFd;

    /// An epoll set.
    pub(in super::super) struct Readiness {
        epoll: OwnedFd,
        events: Vec<epoll::Event>,
    }

    impl Readiness {
        pub(super) fn empty(sockets: usize) -> rustix::io::Result<Self> {
            Ok(Self { epoll: epoll::create(epoll::CreateFlags::CLOEXEC)?, events: Vec::with_capacity(sockets.max(1)) })
        }

        pub(super) fn add(&mut self, number: usize, fd: BorrowedFd<'_>) -> rustix::io::Result<()> {
            let data = epoll::EventData::new_u64(number as u64);
            epoll::add(&self.epoll, fd, data, epoll::EventFlags::IN)
        }

        pub(super) fn remove(&mut self, _number: usize, fd: BorrowedFd<'_>) -> rustix::io::Result<()> {
            epoll::delete(&self.epoll, fd)
        }

        pub(super) fn collect(&mut self, timeout: Option<&Timespec>, ready: &mut Vec<usize>) -> rustix::io::Result<()> {
            self.events.clear();
            epoll::wait(&self.epoll, spare_capacity(&mut self.events), timeout)?;
            // The field is read by value: the event is a packed struct.
            ready.extend(self.events.iter().map(|event| {
                let data = event.data;
                data.u64() as usize
            }));
            Ok(())
        }

        /// As `collect`, to the nanosecond: an epoll set knows milliseconds only, but is itself a descriptor to poll.
        pub(super) fn collect_within(&mut self, time: &Timespec, ready: &mut Vec<usize>) -> rustix::io::Result<()> {
            if poll(&mut [PollFd::new(&self.epoll, PollFlags::IN)], Some(time))? > 0 {
                self.collect(Some(&Timespec::default()), ready)?;
            }
            Ok(())
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod system {
    use super::{BorrowedFd, Timespec};
    use rustix::event::{PollFd, PollFlags, poll};
    use rustix::fd::OwnedFd;

    /// A list of descriptors, each duplicated so that the list can own them.
    #[derive(Debug)]
    pub(in super::super) struct Readiness {
        sockets: Vec<(usize, OwnedFd)>,
    }

    impl Readiness {
        #[expect(clippy::unnecessary_wraps, reason = "epoll can fail here")]
        pub(super) fn empty(sockets: usize) -> rustix::io::Result<Self> {
            Ok(Self { sockets: Vec::with_capacity(sockets) })
        }

        pub(super) fn add(&mut self, number: usize, fd: BorrowedFd<'_>) -> rustix::io::Result<()> {
            self.sockets.push((number, rustix::io::fcntl_dupfd_cloexec(fd, 0)?));
            Ok(())
        }

        #[expect(clippy::unnecessary_wraps, reason = "epoll can fail here")]
        pub(super) fn remove(&mut self, number: usize, _fd: BorrowedFd<'_>) -> rustix::io::Result<()> {
            self.sockets.retain(|(known, _)| *known != number);
            Ok(())
        }

        pub(super) fn collect(&mut self, timeout: Option<&Timespec>, ready: &mut Vec<usize>) -> rustix::io::Result<()> {
            let mut fds: Vec<_> = self.sockets.iter().map(|(_, fd)| PollFd::new(fd, PollFlags::IN)).collect();
            poll(&mut fds, timeout)?;
            ready.extend(
                fds.iter()
                    .zip(&self.sockets)
                    .filter(|(fd, _)| !fd.revents().is_empty())
                    .map(|(_, (number, _))| *number),
            );
            Ok(())
        }

        pub(super) fn collect_within(&mut self, time: &Timespec, ready: &mut Vec<usize>) -> rustix::io::Result<()> {
            self.collect(Some(time), ready)
        }
    }
}

pub(super) use system::Readiness;

fn time_left(until: Instant) -> Timespec {
    let left = until.saturating_duration_since(Instant::now());
    Timespec { tv_sec: left.as_secs().cast_signed(), tv_nsec: left.subsec_nanos().into() }
}

/// Waits until there is something to read (or the stream has ended), which is true, or until the time has come.
pub(super) fn readable_before(fd: BorrowedFd<'_>, until: Instant) -> io::Result<bool> {
    while Instant::now() < until {
        match poll(&mut [PollFd::new(&fd, PollFlags::IN)], Some(&time_left(until))) {
            Ok(0) | Err(Errno::INTR) => {}
            Ok(_) => return Ok(true),
            Err(errno) => return Err(errno.into()),
        }
    }
    Ok(false)
}

impl Readiness {
    /// Nothing to wait for yet; room for `sockets`.
    pub(super) fn new(sockets: usize) -> io::Result<Self> {
        Ok(Self::empty(sockets)?)
    }

    /// Waits from now on for `fd` too, under `number`. Remove it before it is closed.
    pub(super) fn watch(&mut self, number: usize, fd: BorrowedFd<'_>) -> io::Result<()> {
        Ok(self.add(number, fd)?)
    }

    /// Waits no longer for the socket.
    pub(super) fn forget(&mut self, number: usize, fd: BorrowedFd<'_>) -> io::Result<()> {
        Ok(self.remove(number, fd)?)
    }

    /// Waits until at least one socket has something to read (or has ended) and puts the numbers into `ready`; none if
    /// it is `until` before.
    pub(super) fn wait(&mut self, until: Option<Instant>, ready: &mut Vec<usize>) -> io::Result<()> {
        ready.clear();
        let Some(until) = until else {
            return self.wait_for_ever(ready);
        };
        match self.collect_within(&time_left(until), ready) {
            Ok(()) | Err(Errno::INTR) => Ok(()),
            Err(errno) => Err(errno.into()),
        }
    }

    fn wait_for_ever(&mut self, ready: &mut Vec<usize>) -> io::Result<()> {
        loop {
            match self.collect(None, ready) {
                Ok(()) if ready.is_empty() => {}
                Ok(()) => return Ok(()),
                Err(Errno::INTR) => {}
                Err(errno) => return Err(errno.into()),
            }
        }
    }
}
