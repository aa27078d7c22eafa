//! One file a command. Here text is printed and exit codes are chosen, and nowhere else.

mod check;
mod clean;
mod compare;
mod machine;
mod merge;
mod metrics;
mod plan;
mod postgres;
mod progress;
mod report;
mod resume;
mod run;
mod texts;

use std::io::Write as _;
use std::process::ExitCode;

use crate::cli::{Cli, Command, Format};
use crate::exit;
use crate::text::SpecError;

/// Why a command ends without having done its work, with its exit code.
#[derive(Debug)]
pub(crate) enum Refused {
    /// The spec is wrong: 2.
    Spec(SpecError),
    /// The call is wrong: 2.
    Call(String),
    /// No run could start: 3.
    CannotStart(String),
    /// The user stopped it before anything was run: 130.
    Interrupted,
    /// Something else said no: 1.
    Failed(String),
}

/// Runs what the flags say.
pub fn main(cli: Cli) -> ExitCode {
    let done = match cli.command {
        None => run::run(&cli.run),
        Some(Command::Check(arguments)) => check::check(&arguments),
        Some(Command::Plan(arguments)) => plan::plan(&arguments),
        Some(Command::Report(arguments)) => report::report(&arguments),
        Some(Command::Resume(arguments)) => resume::resume(&arguments),
        Some(Command::Merge(arguments)) => merge::merge(&arguments),
        Some(Command::Compare(arguments)) => compare::compare(&arguments),
        Some(Command::Metrics { format }) => metrics::metrics(format == Format::Json),
        Some(Command::Schema) => out(&crate::spec::schema()).map(|()| exit::WELL),
        Some(Command::Postgres { command }) => postgres::postgres(&command),
        Some(Command::Clean { cache }) => clean::clean(cache),
        Some(Command::Guard { arguments }) => {
            crate::lab::guard::main(&arguments, std::io::stdin().lock());
            Ok(exit::WELL)
        }
    };
    ExitCode::from(match done {
        Ok(code) => code,
        Err(refused) => {
            let (text, code) = match &refused {
                Refused::Spec(error) => (render(error), exit::WRONG),
                Refused::Call(text) => (format!("error: {text}\n"), exit::WRONG),
                Refused::CannotStart(text) => (format!("error: {text}\n"), exit::CANNOT_START),
                Refused::Interrupted => ("interrupted\n".to_owned(), exit::INTERRUPTED),
                Refused::Failed(text) => (format!("error: {text}\n"), exit::FAILED),
            };
            say(&text);
            code
        }
    })
}

/// Data to stdout. A reader that went away is no error.
pub(crate) fn out(text: &str) -> Result<(), Refused> {
    match std::io::stdout().lock().write_all(text.as_bytes()) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
            Err(Refused::Failed(format!("write to stdout: {error}")))
        }
        _ => Ok(()),
    }
}

/// Talk to stderr.
pub(crate) fn say(text: &str) {
    // Nobody is left to hear of it.
    let _ = std::io::stderr().lock().write_all(text.as_bytes());
}

/// All mistakes of a spec, for people.
fn render(error: &SpecError) -> String {
    use miette::{GraphicalReportHandler, GraphicalTheme};
    use std::io::IsTerminal as _;
    let terminal = std::io::stderr().is_terminal();
    let colour = terminal && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
    let theme = if colour { GraphicalTheme::unicode() } else { GraphicalTheme::unicode_nocolor() };
    let mut text = String::new();
    let drawn =
        GraphicalReportHandler::new_themed(theme).with_width(110).with_links(false).render_report(&mut text, error);
    if drawn.is_err() {
        let lines: Vec<String> = error.issues.iter().map(|issue| format!("error: {issue}\n")).collect();
        text = lines.concat();
    }
    text
}

/// A runtime on this thread: every server is forked by it, and it lives as long as the run.
pub(crate) fn runtime() -> Result<tokio::runtime::Runtime, Refused> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Refused::Failed(format!("start the runtime: {error}")))
}
