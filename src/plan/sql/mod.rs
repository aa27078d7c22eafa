//! SQL as text, built from a scenario and printed in a plan before it is run. Pure.

pub mod checksum;
pub mod marker;
pub mod pgbench_init;
pub mod publication;
pub mod slot;
pub mod subscription;
pub mod synchronous;
