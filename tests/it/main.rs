//! One integration binary.
//!
//! - `loop_order`: the loop over a fake world;
//! - `reports`: the report from stored records.

mod loop_order;
mod reports;
mod support;
