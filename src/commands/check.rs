//! `runner check`: every mistake of specs.

use super::machine::{self, Missing};
use super::texts::{self, Loaded};
use super::{Refused, runtime, say};
use crate::cli::SpecArgs;
use crate::exit;
use crate::plan;

pub(super) fn check(arguments: &SpecArgs) -> Result<u8, Refused> {
    let mut code = exit::WELL;
    for path in &arguments.specs {
        let Loaded { sources, spec, mut issues } = texts::load(path, arguments)?;
        let questions = plan::questions(&spec, &sources);
        let (facts, _) = runtime()?.block_on(machine::answer(&questions, &arguments.pg_bin, Missing::LeaveOut))?;
        plan::plan(&spec, &sources, &facts, &mut issues);
        for check in &facts.left_out {
            say(&format!("{}: left out: {check}\n", path.display()));
        }
        if issues.is_empty() {
            say(&format!(
                "{}: no mistake; {} scenario(s), {} claim(s)\n",
                path.display(),
                spec.cells.len(),
                spec.claims.len()
            ));
        } else if let Err(Refused::Spec(error)) = Loaded::refuse(issues, &sources) {
            say(&super::render(&error));
            code = exit::WRONG;
        }
    }
    Ok(code)
}
