//! `runner compare`: two results folders.

use std::path::Path;

use super::texts::{self, Loaded};
use super::{Refused, out};
use crate::cli::{CompareArgs, CompareFormat};
use crate::exit;
use crate::plan::facts::Facts;
use crate::plan::{self, Plan};
use crate::report::{
    CompareOptions, CompareView, ComparedSide, FailIf, Input, Met, compare_json, compare_markdown, compare_plain,
    margin,
};
use crate::results::store::{Store, StoreError};
use crate::results::{RunRecord, Sample};
use crate::spec::{Options, Spec};

/// A results folder, read.
struct Stored {
    name: String,
    spec: Spec,
    run: RunRecord,
    samples: Vec<Sample>,
    plan: Plan,
    facts: Facts,
}

pub(super) fn compare(arguments: &CompareArgs) -> Result<u8, Refused> {
    let share = arguments.same_within.as_deref().map(margin).transpose();
    let same_within = share.map_err(|error| Refused::Call(format!("--same-within: {error}")))?;
    let rules = arguments.fail_if.iter().map(|rule| FailIf::parse(rule)).collect::<Result<Vec<_>, _>>();
    let fail_if = rules.map_err(|error| Refused::Call(format!("--fail-if: {error}")))?;
    let (old, new) = (stored(&arguments.old)?, stored(&arguments.new)?);
    let options = CompareOptions { metrics: arguments.metric.clone(), same_within, fail_if, anyway: arguments.anyway };
    let view = CompareView::of(old.side(), new.side(), &options).map_err(|error| Refused::Call(error.to_string()))?;
    out(&match arguments.format {
        CompareFormat::Markdown => compare_markdown(&view),
        CompareFormat::Text => compare_plain(&view),
        CompareFormat::Json => compare_json(&view),
    })?;
    let fails = |met: Met| met == Met::Yes || (arguments.strict && met == Met::CannotExclude);
    Ok(if view.fail_if.iter().any(|own| fails(own.met)) { exit::FAILED } else { exit::WELL })
}

impl Stored {
    fn side(&self) -> ComparedSide<'_> {
        let input = Input { spec: &self.spec, run: &self.run, samples: &self.samples };
        ComparedSide { name: &self.name, input, plan: &self.plan, facts: &self.facts }
    }
}

fn stored(dir: &Path) -> Result<Stored, Refused> {
    let wrong = |error: StoreError| Refused::Call(error.to_string());
    let store = Store::open(dir).map_err(wrong)?;
    let run = store.run().map_err(wrong)?;
    let facts = store.facts().map_err(wrong)?;
    let root = Path::new(&run.spec_path).to_owned();
    let options = Options { quick: run.quick, aa: run.aa };
    let gone = |_: &Path| Err(std::io::Error::other("it is not in the results folder"));
    let sources = store.sources().map_err(wrong)?;
    let Loaded { sources, spec, mut issues } = texts::from_sources(sources, &root, options, &run.only, gone)?;
    let plan = plan::plan(&spec, &sources, &facts, &mut issues);
    Loaded::refuse(issues, &sources)?;
    let samples = store.samples().map_err(wrong)?;
    Ok(Stored { name: dir.display().to_string(), spec, run, samples, plan, facts })
}
