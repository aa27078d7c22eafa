//! Declarative benchmarks of PostgreSQL replication.
pub mod cli;
pub mod commands;
pub mod execute;
pub mod exit;
pub mod lab;
pub mod load;
pub mod measure;
pub mod plan;
pub mod probe;
pub mod report;
pub mod results;
pub mod script;
pub mod spec;
pub mod stats;
pub mod text;
pub mod wire;
