//! The leaf that everything may import: texts with exact places, the mistakes told about them, quantities with
//! units, LSNs, names of copies and PostgreSQL's quoting. Pure; imports nothing of the crate.

pub mod copies;
pub mod issue;
pub mod lsn;
pub mod quantity;
pub mod quote;
pub mod source;
pub mod suggest;

pub use copies::copy_number;
pub use issue::{Code, Issue, Issues, SpecError};
pub use lsn::Lsn;
pub use quantity::{format_bytes, format_duration, parse_duration};
pub use source::{SourceMap, Span};
