//! Spawns child processes and waits for them without blocking the runtime.
//!
//! Every child starts with an environment built from an allow-list, in a process group of
//! its own (the terminal's Ctrl-C reaches us alone), under another user where asked, and,
//! on Linux, with a parent-death signal. That signal belongs to the *thread* that forked:
//! call [`Program::spawn`] only on the thread that lives as long as the runner.
//! Waiting and signals are `child.rs`; nothing here knows of PostgreSQL.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::time::Duration;

#[cfg(target_os = "linux")]
use rustix::process::Signal;

use super::child::{Child, Ended};
use super::log;
use super::user::RunAs;

/// The variables a child of ours inherits, beside those a caller adds. Nothing of `PG*`
/// and `LC_*`: they leak into libpq, apply workers and sort orders.
const INHERITED: [&str; 3] = ["PATH", "HOME", "TMPDIR"];

/// Why a child process could not be started or did not do its work.
#[derive(Debug, thiserror::Error)]
pub enum ProcessError {
    /// The program could not be executed at all.
    #[error("`{command}` could not be started: {source}")]
    Spawn {
        /// The command line, quoted for a shell.
        command: String,
        /// The system's reason.
        #[source]
        source: io::Error,
    },
    /// A log or capture file of the child could not be made or read.
    #[error("the output file {} of `{command}` cannot be used: {source}", path.display())]
    Output {
        /// The command line.
        command: String,
        /// The file.
        path: PathBuf,
        /// The system's reason.
        #[source]
        source: io::Error,
    },
    /// The child ended with a failure.
    #[error("`{command}` ended with {status}{}", log::as_suffix(tail))]
    Failed {
        /// The command line.
        command: String,
        /// Its exit status or signal.
        status: ExitStatus,
        /// The last lines of its output.
        tail: String,
    },
    /// The child did not end within its bound and was killed.
    #[error("`{command}` did not end within {bound:?} and was killed{}", log::as_suffix(tail))]
    TimedOut {
        /// The command line.
        command: String,
        /// The bound.
        bound: Duration,
        /// The last lines of its output.
        tail: String,
    },
    /// A signal could not be delivered.
    #[error("process {pid} could not be signalled: {source}")]
    Signal {
        /// The process.
        pid: u32,
        /// The system's reason.
        #[source]
        source: io::Error,
    },
}

/// What the kernel does to a child when the thread that spawned it is gone (Linux only).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParentDeath {
    /// SIGQUIT: PostgreSQL's immediate shutdown, by its own handler.
    Quit,
    /// SIGKILL: for helpers, because a runner started by `&` in a script hands down
    /// SIGQUIT ignored.
    Kill,
    /// Nothing, and a session of its own: the child is meant to outlive us.
    Outlive,
}

/// Which environment a child gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Environment {
    /// `PATH`, `HOME` and `TMPDIR` only; under another user that user's `HOME` and no `TMPDIR`.
    Bare,
    /// Ours, whole: for the machine's own installers, which read their settings from it.
    Inherited,
}

/// A program to be run, and how. Built by the methods, used any number of times.
#[derive(Clone, Debug)]
pub struct Program {
    path: PathBuf,
    arguments: Vec<OsString>,
    environment: Environment,
    variables: Vec<(OsString, OsString)>,
    run_as: Option<RunAs>,
    parent_death: ParentDeath,
    folder: PathBuf,
}

impl Program {
    /// A program by its path or by its name on `PATH`; bare environment, killed with us,
    /// working folder `/` (so that it never depends on ours being readable to its user).
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self {
            path: path.into(),
            arguments: Vec::new(),
            environment: Environment::Bare,
            variables: Vec::new(),
            run_as: None,
            parent_death: ParentDeath::Kill,
            folder: PathBuf::from("/"),
        }
    }

    /// Adds one argument.
    #[must_use]
    pub fn arg(mut self, argument: impl AsRef<OsStr>) -> Self {
        self.arguments.push(argument.as_ref().to_owned());
        self
    }

    /// Adds several arguments.
    #[must_use]
    pub fn args<A: AsRef<OsStr>>(mut self, arguments: impl IntoIterator<Item = A>) -> Self {
        self.arguments.extend(arguments.into_iter().map(|a| a.as_ref().to_owned()));
        self
    }

    /// Sets one variable of the child's environment.
    #[must_use]
    pub fn variable(mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        self.variables.push((name.into(), value.into()));
        self
    }

    /// Chooses the environment to begin with.
    #[must_use]
    pub fn environment(mut self, environment: Environment) -> Self {
        self.environment = environment;
        self
    }

    /// Runs the child as this user; `None` leaves ours.
    #[must_use]
    pub fn run_as(mut self, user: Option<RunAs>) -> Self {
        self.run_as = user;
        self
    }

    /// Chooses what becomes of the child when we die.
    #[must_use]
    pub fn parent_death(mut self, parent_death: ParentDeath) -> Self {
        self.parent_death = parent_death;
        self
    }

    /// Sets the child's working folder.
    #[must_use]
    pub fn folder(mut self, folder: impl Into<PathBuf>) -> Self {
        self.folder = folder.into();
        self
    }

    /// The command line as a person would type it into a shell.
    pub fn command_line(&self) -> String {
        let mut words = vec![shell_word(&self.path.to_string_lossy())];
        words.extend(self.arguments.iter().map(|a| shell_word(&a.to_string_lossy())));
        words.join(" ")
    }

    /// Starts the child with its output appended to `log`. Blocks only for the fork, and
    /// must be called on the runner's main thread (see the head of this file).
    pub fn spawn(&self, log: &Path) -> Result<Child, ProcessError> {
        let file = File::options().create(true).append(true).open(log);
        let outputs = file.and_then(|file| Ok((file.try_clone()?, file)));
        let (out, err) = outputs.map_err(|source| self.output_error(log, source))?;
        let (child, ..) = self.start(Stdio::null(), out.into(), err.into())?;
        Ok(child)
    }

    /// Starts the child with a pipe as its standard input and its output thrown away;
    /// returns the pipe's writing end, which closes (on our death too) when dropped.
    pub fn spawn_with_input(&self) -> Result<(Child, Option<ChildStdin>), ProcessError> {
        let (child, input, _) = self.start(Stdio::piped(), Stdio::null(), Stdio::null())?;
        Ok((child, input))
    }

    /// Starts the child with a pipe as its standard output and its errors appended to `log`; returns the pipe's
    /// reading end.
    pub fn spawn_with_output(&self, log: &Path) -> Result<(Child, ChildStdout), ProcessError> {
        let file = File::options().create(true).append(true).open(log);
        let errors = file.map_err(|source| self.output_error(log, source))?;
        let (child, _, output) = self.start(Stdio::null(), Stdio::piped(), errors.into())?;
        let missing = || self.output_error(log, io::Error::other("no pipe was made"));
        Ok((child, output.ok_or_else(missing)?))
    }

    /// Runs the child to its end and gives back its output, successful or not. It is
    /// killed with its process group when `bound` has passed.
    pub async fn output(&self, bound: Duration) -> Result<Output, ProcessError> {
        let folder = std::env::temp_dir();
        let open = || capture_file(&folder).map_err(|e| self.output_error(&folder, e));
        let (mut out, mut err) = (open()?, open()?);
        let clone = |f: &File| f.try_clone().map_err(|e| self.output_error(&folder, e));
        let (child, ..) = self.start(Stdio::null(), clone(&out)?.into(), clone(&err)?.into())?;
        let ended = child.ended_or_terminated(bound).await;
        let read = |f: &mut File| read_back(f).map_err(|e| self.output_error(&folder, e));
        let (stdout, stderr) = (read(&mut out)?, read(&mut err)?);
        match ended {
            Some(ended) => Ok(Output { command: self.command_line(), ended, stdout, stderr }),
            None => Err(ProcessError::TimedOut {
                command: self.command_line(),
                bound,
                tail: log::tail(&format!("{stdout}{stderr}"), log::TAIL_LINES),
            }),
        }
    }

    /// Runs the child to a successful end with its output appended to `log`; any other end
    /// is an error with the last lines of that output.
    pub async fn run_to_end(&self, log: &Path, bound: Duration) -> Result<Ended, ProcessError> {
        let from = std::fs::metadata(log).map_or(0, |m| m.len());
        let child = self.spawn(log)?;
        let ended = child.ended_or_terminated(bound).await;
        let tail = || log::tail(&log::since(log, from).0, log::TAIL_LINES);
        let command = self.command_line();
        match ended {
            Some(ended) if ended.status.success() => Ok(ended),
            Some(Ended { status, .. }) => Err(ProcessError::Failed { command, status, tail: tail() }),
            None => Err(ProcessError::TimedOut { command, bound, tail: tail() }),
        }
    }

    fn output_error(&self, path: &Path, source: io::Error) -> ProcessError {
        let command = self.command_line();
        ProcessError::Output { command, path: path.to_owned(), source }
    }

    fn start(
        &self,
        input: Stdio,
        out: Stdio,
        err: Stdio,
    ) -> Result<(Child, Option<ChildStdin>, Option<ChildStdout>), ProcessError> {
        let mut command = Command::new(&self.path);
        command.args(&self.arguments).stdin(input).stdout(out).stderr(err);
        command.current_dir(&self.folder);
        if self.environment == Environment::Bare {
            command.env_clear();
            for name in INHERITED {
                if let Some(value) = std::env::var_os(name) {
                    command.env(name, value);
                }
            }
        }
        if let Some(user) = &self.run_as {
            command.uid(user.uid).gid(user.gid).env_remove("TMPDIR");
            match &user.home {
                Some(home) => command.env("HOME", home),
                None => command.env_remove("HOME"),
            };
        }
        command.envs(self.variables.iter().map(|(n, v)| (n, v)));
        if self.parent_death != ParentDeath::Outlive {
            command.process_group(0);
        }
        before_exec(&mut command, self.parent_death);
        let mut child =
            command.spawn().map_err(|source| ProcessError::Spawn { command: self.command_line(), source })?;
        let (input, output) = (child.stdin.take(), child.stdout.take());
        Ok((Child::watched(child), input, output))
    }
}

/// Has the child, between fork and exec and after its change of user (which would clear
/// it), ask for its parent-death signal, or lead a session of its own.
fn before_exec(command: &mut Command, parent_death: ParentDeath) {
    #[cfg(target_os = "linux")]
    let parent = rustix::process::getpid();
    #[expect(
        unsafe_code,
        reason = "pre_exec is the only place for prctl and setsid; the closure makes \
                  async-signal-safe system calls alone and allocates nothing"
    )]
    // SAFETY: between fork and exec only `prctl`, `getppid` and `setsid` are called.
    unsafe {
        command.pre_exec(move || {
            if parent_death == ParentDeath::Outlive {
                rustix::process::setsid()?;
                return Ok(());
            }
            #[cfg(target_os = "linux")]
            {
                let signal = match parent_death {
                    ParentDeath::Quit => Signal::QUIT,
                    _ => Signal::KILL,
                };
                rustix::process::set_parent_process_death_signal(Some(signal))?;
                // The parent may have died before the call above took effect.
                if rustix::process::getppid() != Some(parent) {
                    return Err(io::Error::from(rustix::io::Errno::SRCH));
                }
            }
            Ok(())
        });
    }
}

/// What a finished child wrote.
#[derive(Clone, Debug)]
pub struct Output {
    /// The command line.
    pub command: String,
    /// How it ended.
    pub ended: Ended,
    /// Its standard output (lossy UTF-8).
    pub stdout: String,
    /// Its standard error (lossy UTF-8).
    pub stderr: String,
}

impl Output {
    /// The standard output of a success; anything else is an error with its last lines.
    pub fn successful(self) -> Result<String, ProcessError> {
        if self.ended.status.success() {
            return Ok(self.stdout);
        }
        Err(ProcessError::Failed {
            command: self.command,
            status: self.ended.status,
            tail: log::tail(&format!("{}{}", self.stdout, self.stderr), log::TAIL_LINES),
        })
    }
}

/// An empty file without a name: what a killed child's descendants still write to it
/// blocks nobody, as it might in a pipe.
fn capture_file(folder: &Path) -> io::Result<File> {
    let path = folder.join(format!("runner-output-{}", super::random_name()));
    let file = File::options().read(true).write(true).create_new(true).open(&path)?;
    std::fs::remove_file(&path)?;
    Ok(file)
}

fn read_back(file: &mut File) -> io::Result<String> {
    file.seek(SeekFrom::Start(0))?;
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// One word of a POSIX shell's command line, quoted only where it must be.
fn shell_word(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:@%+,".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use super::*;

    const LONG: Duration = Duration::from_mins(1);

    #[test]
    fn command_lines_can_be_pasted_into_a_shell() {
        let program = Program::new("/x y/postgres").args(["-D", "it's", ""]);
        assert_eq!(program.command_line(), r"'/x y/postgres' -D 'it'\''s' ''");
    }

    #[tokio::test(flavor = "current_thread")]
    async fn a_failure_carries_command_status_and_last_lines() {
        let program = Program::new("sh").args(["-c", "echo one; echo two >&2; exit 3"]);
        let error = program.output(LONG).await.unwrap().successful().unwrap_err();
        let text = error.to_string();
        assert!(text.contains("exit status: 3") && text.contains("two"), "{text}");
    }

    #[tokio::test(flavor = "current_thread")]
    async fn a_missing_program_is_an_error_and_not_a_wait() {
        let error = Program::new("/nowhere/initdb").output(LONG).await.unwrap_err();
        assert!(matches!(error, ProcessError::Spawn { .. }), "{error}");
    }

    #[tokio::test(flavor = "current_thread")]
    async fn a_program_that_overstays_is_killed_with_its_group() {
        let program = Program::new("sh").args(["-c", "echo begun; sleep 1000 & wait"]);
        let error = program.output(Duration::from_millis(300)).await.unwrap_err();
        assert!(error.to_string().contains("begun"), "{error}");
    }

    #[tokio::test(flavor = "current_thread")]
    async fn the_bare_environment_holds_nothing_of_libpq_or_the_locale() {
        let text = Program::new("env").output(LONG).await.unwrap().successful().unwrap();
        for line in text.lines() {
            let name = line.split('=').next().unwrap();
            assert!(INHERITED.contains(&name), "{line}");
        }
    }

    #[tokio::test(flavor = "current_thread")]
    async fn the_cpu_of_a_whole_life_is_known_at_its_end() {
        let spin = "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done";
        let output = Program::new("sh").args(["-c", spin]).output(LONG).await.unwrap();
        assert!(output.ended.user + output.ended.system > Duration::from_millis(5));
    }
}
