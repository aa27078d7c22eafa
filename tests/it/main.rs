//! One integration binary.
//!
//! - `loop_order`: the loop over a fake world.
#![expect(clippy::unwrap_used, reason = "tests")]

mod loop_order;
