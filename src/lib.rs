//! Declarative benchmarks of PostgreSQL replication.
pub mod measure;
pub mod text;
