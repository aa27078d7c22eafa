//! What a run leaves behind. [`record`], [`run`], [`reading`] and [`pairs`] are pure; only [`store`] touches files.

pub mod pairs;
pub mod reading;
pub mod record;
pub mod run;
pub mod store;

pub use record::{
    Convergence, DataRecord, NodeRecord, Outcome, PhaseRecord, Sample, SliceRecord, TableComparison, TableDigest,
};
pub use run::{Build, DataFolder, Difference, PlannedSetting, RunRecord};
pub use store::{Store, StoreError};
