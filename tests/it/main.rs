//! Tests of the crate from outside.
mod reports;
mod support;
