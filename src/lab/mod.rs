//! Disposable PostgreSQL servers: found or installed, initialised from templates, run as our
//! own children, and gone with us whatever happens.
//!
//! [`Lab`] owns one short private folder with sockets, logs and data, a stamp that says whose
//! it is, and a guard process. Everything that spawns must be called on the thread that lives
//! as long as the runner (see `process.rs`). Nothing here speaks SQL or knows a spec.

pub mod building;
pub mod cache;
pub mod child;
pub mod conf;
pub mod dataset;
pub mod find;
pub mod guard;
pub mod initdb;
pub mod install;
pub mod log;
pub mod node;
pub mod password;
pub mod pins;
pub mod process;
pub mod revision;
pub mod shared_memory;
pub mod sockets;
pub mod source;
pub mod stamp;
pub mod survey;
pub mod sweep;
pub mod template;
pub mod tools;
pub mod user;

mod folders;
mod opening;
mod request;
mod starting;
mod unpack;

pub use find::{Installation, Origin, Version};
pub use initdb::InitdbOptions;
pub use node::{NodeError, RunningNode, ServerUsage, Stop, Transport};
pub use opening::Lab;
pub use request::{LabError, LabOptions, NodeRequest};
pub use user::RunAs;

/// Bytes as hexadecimal digits.
pub(crate) fn hexadecimal(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// The characters of [`random_name`].
const LETTERS: &[u8; 32] = b"abcdefghijkmnpqrstuvwxyz23456789";

/// Whether a text has the form of a [`random_name`].
pub(crate) fn is_random_name(text: &str) -> bool {
    text.len() == 8 && text.bytes().all(|b| LETTERS.contains(&b))
}

/// Eight random characters for the name of a file or folder.
pub(crate) fn random_name() -> String {
    let mut bytes = [0_u8; 8];
    if getrandom::fill(&mut bytes).is_err() {
        // Without the system's randomness: names are made exclusively, a clash is an error.
        let now = std::time::UNIX_EPOCH.elapsed().map_or(0, |d| d.as_nanos() as u64);
        bytes = (now ^ u64::from(std::process::id()).rotate_left(40)).to_le_bytes();
    }
    bytes.iter().map(|b| char::from(LETTERS[usize::from(b % 32)])).collect()
}
