//! One file a TOML table: what is written (`Raw…`, whose doc comments are the schema's descriptions), and how it
//! becomes valid.

pub(super) mod builds;
pub(super) mod charts;
pub(super) mod compare;
pub(super) mod expect;
pub(super) mod matrix;
pub(super) mod metrics;
pub(super) mod nodes;
mod pgbench;
pub(super) mod phases;
pub(super) mod publications;
pub(super) mod report;
pub(super) mod run;
mod scripts;
pub(super) mod setup;
pub(super) mod shown;
pub(super) mod slots;
pub(super) mod subscriptions;
pub(super) mod vars;
pub(super) mod workloads;
