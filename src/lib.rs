//! Declarative benchmarks of PostgreSQL replication.
pub mod measure;
pub mod probe;
pub mod report;
pub mod results;
pub mod spec;
pub mod stats;
pub mod text;
