//! What a run leaves behind. [`record`] is pure; only `store` touches files.

pub mod record;

pub use record::{Convergence, NodeRecord, Outcome, PhaseRecord, Sample, TableComparison, TableDigest};
