//! `runner clean`: what earlier runs left behind, kept nodes included; with `--cache` everything that is kept for later runs.

use std::path::{Path, PathBuf};

use super::{Refused, machine, say};
use crate::exit;
use crate::lab::{cache, sockets, sweep, user};
use crate::text::quantity::format_bytes;

pub(super) fn clean(whole_cache: bool) -> Result<u8, Refused> {
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
    if whole_cache {
        remove_cache(&temporary, &cache)?;
    } else if swept.removed.is_empty() && swept.left.is_empty() {
        say("nothing was left behind\n");
    }
    Ok(exit::WELL)
}

/// Servers may run from the cache, so nobody else may be at work.
fn remove_cache(temporary: &Path, cache: &Path) -> Result<(), Refused> {
    if let Some(lab) = sweep::at_work(temporary).first() {
        return Err(Refused::Failed(format!(
            "another runner is at work in {}; the cache is left as it is",
            lab.display()
        )));
    }
    let bytes = cache::remove_all(cache).map_err(|error| Refused::Failed(error.to_string()))?;
    say(&format!("removed {} from the cache {}\n", format_bytes(bytes), cache.display()));
    Ok(())
}
