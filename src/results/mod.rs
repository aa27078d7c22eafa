//! What a run leaves behind. All is pure but [`store`], which touches files.

pub mod merge;
pub mod pairs;
pub mod reading;
pub mod record;
pub mod run;
pub mod store;

pub use record::{
    Convergence, DataRecord, NodeRecord, Outcome, PhaseRecord, Sample, SliceRecord, TableComparison, TableDigest,
};
pub use run::{Build, Call, DataFolder, Difference, PlannedSetting, RunRecord, Shares};
pub use store::{Store, StoreError};
