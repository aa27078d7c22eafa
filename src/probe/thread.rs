//! CPU of the thread that asks.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// CPU that the calling thread has used since it began.
pub fn thread_cpu() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), time.tv_nsec as u32)
}
