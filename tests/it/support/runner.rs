//! The program itself, run as a user would: specs in a temporary folder, flags, and what came out.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use serde_json::Value;
use tempfile::TempDir;

/// The program under test.
pub(crate) const PROGRAM: &str = env!("CARGO_BIN_EXE_runner");

/// A call to be made.
pub(crate) struct RunnerCommand {
    folder: TempDir,
    arguments: Vec<String>,
    environment: Vec<(String, String)>,
    out: PathBuf,
    within: Option<PathBuf>,
}

/// What a call gave.
pub(crate) struct Ran {
    /// The folder it ran in; removed with this value.
    pub(crate) folder: TempDir,
    /// The results folder, if it was made.
    pub(crate) out: PathBuf,
    pub(crate) status: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl RunnerCommand {
    /// A call without arguments in an empty folder.
    pub(crate) fn new() -> Self {
        let folder = tempfile::Builder::new().prefix("runner-test").tempdir().expect("a temporary folder");
        let out = folder.path().join("out");
        Self { folder, arguments: Vec::new(), environment: Vec::new(), out, within: None }
    }

    /// `runner SPEC --out out` for one spec.
    pub(crate) fn spec(text: &str) -> Self {
        let command = Self::new().file("spec.toml", text);
        let out = command.out.display().to_string();
        command.arguments(["spec.toml", "--out", &out])
    }

    /// A text in the folder.
    pub(crate) fn file(self, name: &str, text: &str) -> Self {
        let path = self.folder.path().join(name);
        std::fs::create_dir_all(path.parent().expect("a file stands in a folder")).expect("folders are made");
        std::fs::write(path, text).expect("the file is written");
        self
    }

    /// Another results folder, below the temporary one; before the arguments that name it.
    pub(crate) fn results(mut self, name: &str) -> Self {
        let before = self.out.display().to_string();
        self.out = self.folder.path().join(name);
        let after = self.out.display().to_string();
        for argument in self.arguments.iter_mut().filter(|argument| **argument == before) {
            argument.clone_from(&after);
        }
        self
    }

    /// More arguments.
    pub(crate) fn arguments<'a>(mut self, arguments: impl IntoIterator<Item = &'a str>) -> Self {
        self.arguments.extend(arguments.into_iter().map(str::to_owned));
        self
    }

    /// An environment variable.
    pub(crate) fn environment(mut self, name: &str, value: &str) -> Self {
        self.environment.push((name.to_owned(), value.to_owned()));
        self
    }

    /// The folder it runs in.
    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// The folder itself, for more calls in it.
    pub(crate) fn into_folder(self) -> TempDir {
        self.folder
    }

    /// A call in a folder that there is already.
    pub(crate) fn within(mut self, folder: &Path) -> Self {
        self.within = Some(folder.to_owned());
        self
    }

    fn command(&self) -> Command {
        let mut command = Command::new(PROGRAM);
        command
            .args(&self.arguments)
            .current_dir(self.within.as_deref().unwrap_or(self.folder.path()))
            .envs(self.environment.iter().cloned());
        command.stdin(Stdio::null());
        command
    }

    /// Starts it and leaves it running, its output in pipes.
    pub(crate) fn spawn(&self) -> Child {
        self.command().stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the program starts")
    }

    /// Runs it to its end.
    pub(crate) fn run(self) -> Ran {
        let Output { status, stdout, stderr } = self.command().output().expect("the program starts");
        Ran {
            folder: self.folder,
            out: self.out,
            status: status.code().unwrap_or(-1),
            stdout: String::from_utf8(stdout).expect("stdout is text"),
            stderr: String::from_utf8(stderr).expect("stderr is text"),
        }
    }
}

impl Ran {
    /// Fails with all that was said unless it ended so.
    #[track_caller]
    pub(crate) fn ended_with(self, status: i32) -> Self {
        assert_eq!(self.status, status, "stdout:\n{}\nstderr:\n{}", self.stdout, self.stderr);
        self
    }

    /// `report.json` of the results folder.
    #[track_caller]
    pub(crate) fn report(&self) -> Value {
        read(&self.out.join("report.json"))
    }

    /// What was stored of the runs, in their order.
    #[track_caller]
    pub(crate) fn samples(&self) -> Vec<Value> {
        let mut files: Vec<PathBuf> = std::fs::read_dir(self.out.join("runs"))
            .unwrap_or_else(|error| panic!("{error}; stderr:\n{}", self.stderr))
            .map(|entry| entry.expect("a folder is read").path())
            .collect();
        files.sort();
        files.iter().map(|file| read(file)).collect()
    }

    /// The run of a scenario, of which there is one.
    #[track_caller]
    pub(crate) fn sample(&self, scenario: &str) -> Value {
        let mut samples = self.samples();
        samples.retain(|sample| sample["scenario"] == scenario);
        assert_eq!(samples.len(), 1, "one run of {scenario}; stderr:\n{}", self.stderr);
        samples.remove(0)
    }
}

/// Why a run does not count, whatever the kind of its outcome; empty if it does.
pub(crate) fn complaint(sample: &Value) -> String {
    let outcome = &sample["outcome"];
    let of = ["failed", "timed_out", "diverged"].iter().find_map(|kind| outcome.get(kind)?.get("reason")?.as_str());
    of.unwrap_or_default().to_owned()
}

#[track_caller]
fn read(path: &Path) -> Value {
    let text = std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}
