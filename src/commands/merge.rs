//! `runner merge`: one results folder of several.

use std::path::Path;

use super::texts::{self, Loaded};
use super::{Refused, out, report, say};
use crate::cli::MergeArgs;
use crate::plan::{self, display};
use crate::results::merge::{Part, merge as merged_of};
use crate::results::record::turn_name;
use crate::results::store::{Store, StoreError};
use crate::spec::Options;

pub(super) fn merge(arguments: &MergeArgs) -> Result<u8, Refused> {
    let wrong = |error: StoreError| Refused::Call(error.to_string());
    let stores: Vec<Store> =
        arguments.dirs.iter().map(|dir| Store::open(dir)).collect::<Result<_, _>>().map_err(wrong)?;
    let mut parts = Vec::new();
    for store in &stores {
        let sources = store.sources().map_err(wrong)?;
        parts.push(Part {
            name: store.dir().display().to_string(),
            run: store.run().map_err(wrong)?,
            facts: store.facts().map_err(wrong)?,
            texts: sources.files().map(|file| (file.path.display().to_string(), file.text.to_string())).collect(),
            samples: store.samples().map_err(wrong)?,
        });
    }
    let (Some(first), Some(store)) = (parts.first(), stores.first()) else {
        return Err(Refused::Call("give at least two results folders".to_owned()));
    };
    let root = Path::new(&first.run.spec_path).to_owned();
    let options = Options { quick: first.run.quick, aa: first.run.aa };
    let gone = |_: &Path| Err(std::io::Error::other("it is not in the results folder"));
    let stored = store.sources().map_err(wrong)?;
    let Loaded { sources, spec, mut issues } = texts::from_sources(stored, &root, options, &first.run.only, gone)?;
    let facts = first.facts.clone();
    let plan = plan::plan(&spec, &sources, &facts, &mut issues);
    Loaded::refuse(issues, &sources)?;

    let mut merged = merged_of(&parts, spec.cells.len()).map_err(|error| Refused::Call(error.to_string()))?;
    for warning in &merged.warnings {
        say(&format!("warning: {warning}\n"));
    }
    merged.run.command = report::command();
    let target = Store::create(&arguments.out).map_err(wrong)?;
    let stored = |result: Result<(), StoreError>| result.map_err(|error| Refused::Failed(error.to_string()));
    stored(target.put_sources(&sources))?;
    stored(target.put_facts(&facts))?;
    stored(target.put_plan(&display::text(&plan, &spec, &sources, &facts.left_out)))?;
    for own in &merged.samples {
        let (from, cell) = (&stores[own.part], own.sample.cell.as_str());
        let (turn, round) = (own.sample.turn, own.sample.round);
        stored(target.put_sample(&own.sample))?;
        // The logs of a turn are named by it, those of a pair by the pair.
        stored(target.copy_logs(from, &turn_name(own.old_turn, cell, own.old_round), &turn_name(turn, cell, round)))?;
        if own.sample.slice.is_some() {
            let (old, new) = (own.old_round, round);
            stored(target.copy_logs(from, &turn_name(old, cell, old), &turn_name(new, cell, new)))?;
        }
    }
    // Only now it is a results folder: one that is half made is none.
    stored(target.put_run(&merged.run))?;
    let (markdown, code) = report::render(&target, &spec, &merged.run, arguments.strict)?;
    out(&markdown)?;
    say(&format!(
        "{} turn(s) of {} folder(s): {}\n",
        merged.samples.len(),
        stores.len(),
        target.report_path().display()
    ));
    Ok(code)
}
