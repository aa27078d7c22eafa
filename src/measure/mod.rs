//! What is observed ([`Evidence`], stored) and what is concluded from it (the [`catalogue`], code).
//!
//! A leaf, pure: `spec` looks metric names up here, `plan` asks which probes they need, `report` computes.
//! Runs store evidence, never metric values, so an old folder renders with a newer catalogue; a metric over
//! evidence that is already there is one entry of the catalogue and its test.

pub mod catalogue;
pub mod computed;
pub mod evidence;
pub mod histogram;
pub mod host;
pub mod ledger;
pub mod metric;
pub mod name;
pub mod series;

pub use catalogue::{CATALOGUE, UNDER_PGBENCH, find};
pub use computed::{Computed, Operator, Quantity};
pub use evidence::{
    Evidence, HostEvidence, LoadEvidence, MarkerEvidence, NodeEvidence, PgbenchEvidence, ScriptEvidence, SlotEvidence,
    SyncEvidence,
};
pub use histogram::Histogram;
pub use host::HostFacts;
pub use ledger::{DecodingEvidence, RmgrEvidence, Rmgrs, SlotCounters};
pub use metric::{Absent, Better, Dim, Labels, Metric, Probe, Reading, Unit};
pub use name::{Reference, ReferenceError};
pub use series::{NodePoint, NodeSeries, SlotPoint, SlotSeries};
