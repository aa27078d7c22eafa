//! Asks git which commit a revision is, and why there is none.

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::log;
use super::process::{Output, ProcessError, Program};

/// How long git may take for an answer.
const BOUND: Duration = Duration::from_mins(1);

/// A commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Revision {
    /// Its whole name, in hexadecimal digits.
    pub commit: String,
    /// First line of its message.
    pub subject: String,
    /// The folder in the repository that holds the source, such as `src/`; empty for its root.
    pub below: String,
}

impl Revision {
    /// The first 12 digits.
    pub fn short(&self) -> &str {
        self.commit.get(..12).unwrap_or(&self.commit)
    }
}

/// Why a revision is not known.
#[derive(Debug, thiserror::Error)]
pub enum RevisionError {
    /// git is not there.
    #[error("git is not on PATH, and revision {revision} of {} must be looked up: {source}", repository.display())]
    NoGit {
        /// The revision.
        revision: String,
        /// The repository.
        repository: PathBuf,
        /// The system's reason.
        #[source]
        source: ProcessError,
    },
    /// The folder is in no repository.
    #[error("{} is no git repository ({told}); `source` names a clone of PostgreSQL's", repository.display())]
    NoRepository {
        /// The folder.
        repository: PathBuf,
        /// git's own words.
        told: String,
    },
    /// The repository has no such revision.
    #[error("{} has no revision {revision}{hint}", repository.display())]
    NoRevision {
        /// The revision.
        revision: String,
        /// The repository.
        repository: PathBuf,
        /// What may help, with its punctuation.
        hint: &'static str,
    },
    /// git could not be asked.
    #[error(transparent)]
    Process(#[from] ProcessError),
}

/// git at work on a repository. Who may own it does not matter: what is built from it is run anyway.
pub(crate) fn git(repository: &Path) -> Program {
    Program::new("git").args(["-c", "safe.directory=*", "-C"]).arg(repository).variable("LC_ALL", "C")
}

/// The commit of a revision. Spawns git: main thread only.
pub async fn resolve(repository: &Path, revision: &str) -> Result<Revision, RevisionError> {
    // git is started in `/`.
    let repository = std::path::absolute(repository).unwrap_or_else(|_| repository.to_owned());
    let ask = async |arguments: &[&str]| git(&repository).args(arguments).output(BOUND).await;
    let inside = match ask(&["rev-parse", "--show-prefix"]).await {
        Err(source @ ProcessError::Spawn { .. }) => {
            return Err(RevisionError::NoGit { revision: revision.to_owned(), repository, source });
        }
        answer => answer?,
    };
    if !inside.ended.status.success() {
        let told = log::tail(&inside.stderr, 1).trim_start_matches("fatal: ").to_owned();
        return Err(RevisionError::NoRepository { repository, told });
    }
    let below = inside.stdout.trim().to_owned();
    // What begins with a dash would be taken for an option.
    let commit = if revision.starts_with('-') {
        None
    } else {
        let answer = ask(&["rev-parse", "--verify", "--quiet", &format!("{revision}^{{commit}}")]).await?;
        Output::successful(answer).ok().map(|text| text.trim().to_owned())
    };
    if let Some(commit) = commit {
        let subject = ask(&["log", "-1", "--format=%s", &commit]).await?;
        let subject = Output::successful(subject).map(|text| text.trim().to_owned()).unwrap_or_default();
        return Ok(Revision { commit, subject, below });
    }
    let shallow = ask(&["rev-parse", "--is-shallow-repository"]).await?.stdout.trim() == "true";
    let hint = if shallow {
        "; the clone is shallow: `git fetch --unshallow` brings the rest of its history"
    } else {
        "; `git fetch` brings what others have"
    };
    Err(RevisionError::NoRevision { revision: revision.to_owned(), repository, hint })
}
