//! Exit codes.

/// All is well.
pub const WELL: u8 = 0;
/// A run failed or did not converge, or a claim did not hold (with `--strict` also one that cannot be told).
pub const FAILED: u8 = 1;
/// The spec or the call is wrong.
pub const WRONG: u8 = 2;
/// No run could start: no PostgreSQL, no user to run as.
pub const CANNOT_START: u8 = 3;
/// Interrupted by a signal.
pub const INTERRUPTED: u8 = 130;
