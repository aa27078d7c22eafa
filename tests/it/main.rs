//! One integration binary.
//!
//! - `consumer`: the slot consumer against a real server;
//! - `cpu`: CPU readings against independent instruments;
//! - `lab_servers`, `lab_faults`, `lab_installing`: real servers start, stop, refuse; the runner is killed or
//!   interrupted; installing fails;
//! - `load_server`: the load driver, logins and the marker watch against a real server;
//! - `loop_order`: the loop over a fake world;
//! - `replication`, `shell`: real runs of small specs, and of the shell script that a plan prints;
//! - `reports`: the report from stored records.

mod consumer;
#[cfg(target_os = "linux")]
mod cpu;
#[cfg(target_os = "linux")]
mod lab_faults;
mod lab_installing;
mod lab_servers;
mod load_server;
mod loop_order;
mod replication;
mod reports;
mod shell;
mod support;
