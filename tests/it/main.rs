//! One integration binary.

mod replication;
mod shell;
mod support;
