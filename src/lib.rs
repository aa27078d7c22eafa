//! Declarative benchmarks of PostgreSQL replication.
pub mod lab;
pub mod measure;
pub mod plan;
pub mod probe;
pub mod results;
pub mod script;
pub mod spec;
pub mod stats;
pub mod text;
