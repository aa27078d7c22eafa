//! Runs `initdb`. The cluster's superuser is `postgres`, its encoding UTF8, its locale C;
//! it is not synced, since a template is only ever copied. Where the result is kept is
//! `template.rs`' business.

use std::path::Path;
use std::time::Duration;

use super::child::Ended;
use super::find::Installation;
use super::process::{ProcessError, Program};
use super::user::RunAs;

/// How long an `initdb` may take.
const BOUND: Duration = Duration::from_mins(3);

/// What can be chosen when a cluster is initialised.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct InitdbOptions {
    /// Data checksums on or off; `None` leaves the version's own default (on since 18).
    pub checksums: Option<bool>,
}

impl InitdbOptions {
    /// The arguments beside `-D`, which with the binaries determine the result.
    pub fn arguments(self, major: u32) -> Vec<&'static str> {
        let mut arguments = vec![
            "--username=postgres",
            "--encoding=UTF8",
            "--locale=C",
            "--auth=trust",
            "--no-sync",
            "--no-instructions",
        ];
        match self.checksums {
            Some(true) => arguments.push("--data-checksums"),
            // Before 18 off was the default and this switch did not exist.
            Some(false) if major >= 18 => arguments.push("--no-data-checksums"),
            _ => {}
        }
        arguments
    }
}

/// Initialises `data` (missing or empty, writable for the servers' user). An error carries
/// the last lines of `log`.
pub async fn initdb(
    installation: &Installation,
    options: InitdbOptions,
    run_as: Option<&RunAs>,
    data: &Path,
    log: &Path,
) -> Result<Ended, ProcessError> {
    Program::new(installation.program("initdb"))
        .arg("-D")
        .arg(data)
        .args(options.arguments(installation.version.major))
        .run_as(run_as.cloned())
        .run_to_end(log, BOUND)
        .await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checksums_are_asked_for_in_each_versions_own_way() {
        let has = |checksums, major, flag| InitdbOptions { checksums }.arguments(major).contains(&flag);
        assert!(has(Some(true), 14, "--data-checksums"));
        assert!(has(Some(false), 18, "--no-data-checksums"));
        assert!(!has(Some(false), 17, "--no-data-checksums"));
        assert!(!has(None, 18, "--data-checksums") && !has(None, 18, "--no-data-checksums"));
    }
}
