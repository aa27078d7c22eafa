//! Probes: what is read of a running node and of the host, as evidence.
//!
//! A probe reads and subtracts; what a reading means as a metric is decided elsewhere.
mod cpu;
#[cfg(target_os = "linux")]
mod cpu_linux;
#[cfg(target_os = "macos")]
mod cpu_macos;
mod disk;
mod host;
pub mod marker;
mod passing;
mod roles;
mod thread;

pub use cpu::{CpuReading, CpuUse, ProcessCpu, process_cpu};
pub use disk::{Disk, disk_of};
pub use host::{HostTimes, HostUse, read_host_facts};
pub use passing::Passing;
pub use roles::Role;
pub use thread::thread_cpu;

/// Why a probe could not read.
#[derive(Debug, thiserror::Error)]
pub enum ProbeError {
    /// The postmaster has ended.
    #[error("read the CPU of postmaster {pid}: it is no longer running; its log says why")]
    Gone {
        /// The postmaster's pid.
        pid: u32,
    },
    /// A file of the kernel, or a call to it, failed.
    #[error("read {what}: {source}")]
    Read {
        /// The file or call.
        what: String,
        /// What the system said.
        #[source]
        source: std::io::Error,
    },
    /// A file of the kernel does not look as documented.
    #[error("make sense of {what}: {text:?}; this kernel's layout is not known to the runner")]
    Malformed {
        /// The file.
        what: String,
        /// What stood there.
        text: String,
    },
    /// This operating system has no such probe.
    #[error("read {what}: not available on this operating system")]
    Unavailable {
        /// What was asked for.
        what: &'static str,
    },
}
