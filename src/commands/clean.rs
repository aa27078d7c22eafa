//! `runner clean`: what earlier runs left behind, kept nodes included.

use std::path::PathBuf;

use super::{Refused, machine, say};
use crate::exit;
use crate::lab::{sockets, sweep, user};

pub(super) fn clean() -> Result<u8, Refused> {
    let cache = machine::cache()?;
    let temporary =
        sockets::temporary_folder(user::effective_uid(), std::env::var_os("TMPDIR").map(PathBuf::from).as_deref());
    let swept = sweep::sweep(&temporary, &cache, true);
    for folder in &swept.removed {
        say(&format!("removed {}\n", folder.display()));
    }
    for (folder, why) in &swept.left {
        say(&format!("left {}: {why}\n", folder.display()));
    }
    if swept.removed.is_empty() && swept.left.is_empty() {
        say("nothing was left behind\n");
    }
    Ok(exit::WELL)
}
