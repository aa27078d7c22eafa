//! `runner postgres`: servers on this machine.

use std::fmt::Write as _;

use super::{Refused, machine, out, runtime, say};
use crate::cli::{Format, PostgresCommand};
use crate::exit;
use crate::lab::{install, source};

pub(super) fn postgres(command: &PostgresCommand) -> Result<u8, Refused> {
    let cache = machine::cache()?;
    match command {
        PostgresCommand::List { format, pg_bin } => {
            let mut found = runtime()?.block_on(machine::search(pg_bin, Vec::new(), &cache))?;
            // They serve those who name their revision, nobody who asks for a version.
            let built = runtime()?.block_on(source::all(&cache));
            found.installations.extend(built.into_iter().map(|(_, installation)| installation));
            if *format == Format::Json {
                let text = serde_json::to_string_pretty(&found.installations)
                    .map_err(|error| Refused::Failed(error.to_string()))?;
                out(&(text + "\n"))?;
            } else {
                let mut text = String::new();
                for installation in &found.installations {
                    let tools: Vec<&str> = installation.tools.iter().map(String::as_str).collect();
                    let tools = if tools.is_empty() { "server only".to_owned() } else { tools.join(" ") };
                    writeln!(
                        text,
                        "{:<8} {:<44} {}; {tools}",
                        installation.version.to_string(),
                        installation.bin.display().to_string(),
                        machine::origin(installation)
                    )
                    .map_err(|error| Refused::Failed(error.to_string()))?;
                }
                out(&text)?;
                for (folder, why) in &found.passed_over {
                    say(&format!("passed over {}: {why}\n", folder.display()));
                }
                if found.installations.is_empty() {
                    say(&format!("no PostgreSQL is found; {}\n", install::ways(18)));
                }
            }
        }
        PostgresCommand::Install { major, offline } => {
            let installed =
                runtime()?.block_on(install::install(*major, &cache, *offline, &mut |line| say(&format!("{line}\n"))));
            let installed = installed.map_err(|error| Refused::CannotStart(error.to_string()))?;
            out(&format!("{} {}\n", installed.version, installed.bin.display()))?;
        }
    }
    Ok(exit::WELL)
}
