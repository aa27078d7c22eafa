//! What tests share.

pub(crate) mod runner;
