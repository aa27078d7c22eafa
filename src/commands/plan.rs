//! `runner plan`: what would be run.

use super::machine::{self, Missing};
use super::texts::{self, Loaded};
use super::{Refused, out, runtime};
use crate::cli::{PlanArgs, PlanFormat};
use crate::exit;
use crate::plan::{self, display, shell};

pub(super) fn plan(arguments: &PlanArgs) -> Result<u8, Refused> {
    if arguments.format == PlanFormat::Sh && arguments.spec.specs.len() > 1 {
        return Err(Refused::Call("a shell script does one spec; write the specs one by one".to_owned()));
    }
    for path in &arguments.spec.specs {
        let Loaded { sources, spec, mut issues } = texts::load(path, &arguments.spec)?;
        let questions = plan::questions(&spec, &sources);
        let (facts, _) = runtime()?.block_on(machine::answer(&questions, &arguments.spec.pg_bin, Missing::LeaveOut))?;
        let plan = plan::plan(&spec, &sources, &facts, &mut issues);
        Loaded::refuse(issues, &sources)?;
        out(&match arguments.format {
            PlanFormat::Text => display::text(&plan, &spec, &sources, &facts.left_out),
            PlanFormat::Sh => {
                let cache = machine::cache()?;
                let found = runtime()?.block_on(machine::search(&arguments.spec.pg_bin, Vec::new(), &cache))?;
                let clients = found.clients().map(|installation| installation.bin.as_path());
                shell::script(&plan, &spec, clients)
            }
        })?;
    }
    Ok(exit::WELL)
}
