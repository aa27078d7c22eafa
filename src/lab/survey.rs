//! Asks a `postgres` binary whether it takes a setting, without a cluster and without
//! starting a server: `postgres -C NAME -D DIR -c NAME=VALUE` checks it and gives the server's
//! own words. Some 4 ms a setting, as root too. A dotted name always passes (it may belong to
//! an extension that is not loaded here).

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::find::Installation;
use super::log;
use super::process::{ProcessError, Program};

/// How long one answer may take.
const BOUND: Duration = Duration::from_secs(20);

/// Why nothing could be asked (a refused setting is an answer, not an error).
#[derive(Debug, thiserror::Error)]
pub enum SurveyError {
    /// The empty folder that the server insists on could not be made.
    #[error("the empty configuration {} cannot be made: {source}", path.display())]
    Folder {
        /// The folder or file.
        path: PathBuf,
        /// The system's reason.
        #[source]
        source: io::Error,
    },
    /// `postgres` could not be run.
    #[error("the settings cannot be checked: {0}")]
    Process(#[from] ProcessError),
}

/// For each setting in order: taken, or the server's own words against it. Each is asked
/// apart, so that all mistakes are told. Spawns children: main thread only.
pub async fn survey(
    installation: &Installation,
    cache: &Path,
    settings: &[(String, String)],
) -> Result<Vec<Result<(), String>>, SurveyError> {
    let folder = empty_configuration(cache)?;
    let mut answers = Vec::with_capacity(settings.len());
    for (name, value) in settings {
        let output = Program::new(installation.program("postgres"))
            // `-C` must come first: only then may root ask.
            .args(["-C", name, "-D"])
            .arg(&folder)
            .args(["-c", &format!("{name}={value}")])
            .output(BOUND)
            .await?;
        answers.push(if output.ended.status.success() { Ok(()) } else { Err(words(&output.stderr)) });
    }
    Ok(answers)
}

/// The server's words without time stamp and severity, with its hint.
fn words(stderr: &str) -> String {
    let Some(failure) = log::failures(stderr).pop() else {
        return log::tail(stderr, log::TAIL_LINES);
    };
    let told = failure.trim_start_matches("FATAL: ").trim_start_matches("ERROR: ");
    told.replace("; HINT: ", "; hint: ").replace("; DETAIL: ", "; ")
}

/// A folder with an empty `postgresql.conf`, kept in the cache: without one the server refuses
/// every value, and a temporary one could be left behind.
fn empty_configuration(cache: &Path) -> Result<PathBuf, SurveyError> {
    let folder = cache.join("empty");
    let at = |path: &Path| {
        let path = path.to_owned();
        move |source| SurveyError::Folder { path, source }
    };
    fs::create_dir_all(&folder).map_err(at(&folder))?;
    for name in ["postgresql.conf", "postgresql.auto.conf"] {
        let path = folder.join(name);
        if !path.is_file() {
            fs::write(&path, "").map_err(at(&path))?;
        }
    }
    Ok(folder)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_servers_words_come_without_their_prefix() {
        let stderr = "2026-11-30 18:00:25 GMT [1] LOG:  something\n\
                      2026-11-30 18:00:25 GMT [1] FATAL:  invalid value for parameter \"x\": \"y\"\n\
                      2026-11-30 18:00:25 GMT [1] HINT:  Available values: a, b.\n";
        assert_eq!(words(stderr), "invalid value for parameter \"x\": \"y\"; hint: Available values: a, b.");
        assert_eq!(words("postgres: odd\n"), "postgres: odd");
    }
}
