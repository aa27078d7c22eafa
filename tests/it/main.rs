//! One integration binary.

mod cli;
mod replication;
mod shell;
mod support;
