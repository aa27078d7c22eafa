//! The program: flags in, exit code out.

use std::process::ExitCode;

use clap::Parser;
use runner::cli::Cli;

fn main() -> ExitCode {
    runner::commands::main(Cli::parse())
}
