//! The built-in load driver: clients that send a script's transactions over connections of their own, from threads of
//! their own, and what they observe.
//!
//! Life: [`connect`] opens and prepares everything, [`Ready::go`] starts the clock, [`Running::finished`] waits for the
//! [`Finished`] load, whose connections stay open until they are dropped. It reads no server counters and judges
//! nothing. Beside it stands the [`consumer`] of a slot, the load of decoding, and what [`pgbench`] tells of a load that
//! it ran in the driver's place.

mod choice;
mod client;
pub mod consumer;
mod crew;
mod error;
mod gate;
mod pace;
pub mod pgbench;
mod readiness;
mod report;
mod request;
mod results;
mod retries;
mod running;
mod seconds;
mod session;
mod worker;

pub use error::LoadError;
pub use report::{ClientReport, Failures, LoadReport, ScriptReport, WorkerReport, latency_histogram};
pub use request::{End, LoadRequest, LoadScript, Protocol, share, threads};
pub use running::{Finished, OpenConnections, Ready, Running, connect};

#[cfg(test)]
mod tests;
#[cfg(test)]
mod tests_language;
#[cfg(test)]
mod tests_pace;
