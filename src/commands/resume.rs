//! `runner resume`: going on with a run that was interrupted or killed.

use std::collections::BTreeSet;
use std::path::Path;

use indexmap::IndexMap;

use super::run::{self, Going, Planned};
use super::texts;
use super::{Refused, out, report, runtime, say};
use crate::cli::ResumeArgs;
use crate::plan::Plan;
use crate::plan::facts::Facts;
use crate::plan::paired::PairedPlan;
use crate::plan::shard::Shard;
use crate::results::pairs::{Cells, Next, Progress};
use crate::results::record::turn_name;
use crate::results::store::{Store, StoreError};
use crate::results::{Call, Sample};
use crate::spec::{Comparison, Options};

pub(super) fn resume(arguments: &ResumeArgs) -> Result<u8, Refused> {
    runtime()?.block_on(go_on(arguments))
}

async fn go_on(arguments: &ResumeArgs) -> Result<u8, Refused> {
    let wrong = |error: StoreError| Refused::Call(error.to_string());
    let store = Store::open(&arguments.dir).and_then(Store::claimed).map_err(wrong)?;
    let mut record = store.run().map_err(wrong)?;
    if !record.merged.is_empty() {
        let dir = arguments.dir.display();
        return Err(Refused::Call(format!(
            "`{dir}` was put together by `runner merge`; resume the runs that it is of"
        )));
    }
    let before = store.facts().map_err(wrong)?;
    let gone = |_: &Path| Err(std::io::Error::other("it is not in the results folder"));
    let options = Options { quick: record.quick, aa: record.aa };
    let root = Path::new(&record.spec_path).to_owned();
    let loaded = texts::from_sources(store.sources().map_err(wrong)?, &root, options, &record.only, gone)?;
    let stop = run::watch_signals()?;
    let own = record.call.clone().unwrap_or_default();
    let pg_bin = [arguments.pg_bin.clone(), own.pg_bin].concat();
    let Planned { spec, mut plan, facts, installations, .. } =
        run::planned(loaded, &pg_bin, arguments.offline, &stop).await?;
    run::refuse_keeping(&plan, arguments.keep)?;
    refuse_another(&before, &facts, (&record.digest, &plan.digest), &arguments.dir)?;

    let whole = plan.turns.len();
    let mut comparisons = None;
    if let Some(shares) = &record.shard {
        let number = shares.numbers.first().copied().unwrap_or(1);
        run::take_share(&mut plan, &spec, Shard { number, of: shares.of.max(1) }, &mut comparisons);
    }
    let samples = store.samples().map_err(wrong)?;
    // What is run anew, with the name of its logs, is set aside.
    let (kept, aside): (Vec<Sample>, Vec<(Sample, String)>) = match &plan.paired {
        None => {
            let done: BTreeSet<(&str, u32)> = samples
                .iter()
                .filter(|sample| sample.outcome.is_valid())
                .map(|sample| (sample.cell.as_str(), sample.round))
                .collect();
            let cells = &plan.cells;
            plan.turns.retain(|turn| !done.contains(&(cells[turn.cell].name.as_str(), turn.round)));
            let (kept, aside): (Vec<&Sample>, Vec<&Sample>) =
                samples.iter().partition(|sample| sample.outcome.is_valid());
            let aside = aside.into_iter().map(|sample| (sample.clone(), sample.name())).collect();
            (kept.into_iter().cloned().collect(), aside)
        }
        Some(paired) => {
            let logs = |sample: &Sample| turn_name(sample.round, &sample.cell, sample.round);
            let (kept, aside) = run_anew(&plan, paired, samples);
            (kept, aside.into_iter().map(|sample| (sample.clone(), logs(&sample))).collect())
        }
    };
    let over = match &plan.paired {
        None => plan.turns.is_empty().then(|| "every run is there and valid".to_owned()),
        Some(paired) => done(&plan, paired, comparisons.as_deref(), &kept),
    };
    if let Some(why) = over {
        say(&format!("nothing is left to run: {why}\n"));
        if record.finished.is_none() {
            record.finished = Some(jiff::Timestamp::now().to_string());
        }
        record.interrupted = false;
        store.put_run(&record).map_err(|error| Refused::Failed(error.to_string()))?;
        let (markdown, code) = report::render(&store, &spec, &record, arguments.strict)?;
        out(&markdown)?;
        return Ok(code);
    }
    let call = Call {
        pg_bin: Vec::new(),
        run_as: arguments.run_as.clone().or(own.run_as),
        work_dir: arguments.work_dir.clone().or(own.work_dir),
    };
    let lab = run::open_lab(&call, &installations, &plan).await?;
    let failed = |error: StoreError| Refused::Failed(error.to_string());
    for (sample, logs) in &aside {
        store.supersede(sample, logs).map_err(failed)?;
    }
    record.resumed.push(jiff::Timestamp::now().to_string());
    (record.finished, record.interrupted) = (None, false);
    store.put_run(&record).map_err(failed)?;
    let left = match &plan.paired {
        None => format!("{} of {whole} run(s) left", plan.turns.len()),
        // How many pairs will be needed nobody knows yet.
        Some(_) => {
            let whole = kept.iter().filter(|sample| sample.outcome.is_valid());
            let pairs: BTreeSet<(&str, u32)> = whole.map(|sample| (sample.cell.as_str(), sample.round)).collect();
            format!("{} whole pair(s) are kept", pairs.len() / 2)
        }
    };
    say(&format!("{}: {left}, results in {}\n", spec.title, store.dir().display()));
    let going = Going { store, spec, plan, installations, stop, comparisons, before: kept, whole };
    Box::pin(run::go(going, lab, record, (arguments.keep, arguments.strict), &pg_bin)).await
}

/// How far each comparison has come.
fn progress(plan: &Plan, paired: &PairedPlan, samples: &[Sample]) -> Vec<Progress> {
    let side = |index: usize| (plan.cells[index].name.as_str(), &*plan.cells[index].scenario);
    let cells = |own: &Comparison| Cells { of: side(own.of), to: side(own.to) };
    paired.comparisons.iter().map(|own| Progress::of(cells(own), paired, samples)).collect()
}

/// Samples that stay, and those of pairs that are run anew, whole.
fn run_anew(plan: &Plan, paired: &PairedPlan, samples: Vec<Sample>) -> (Vec<Sample>, Vec<Sample>) {
    let aside: Vec<BTreeSet<u32>> =
        progress(plan, paired, &samples).iter().map(|progress| progress.set_aside(paired)).collect();
    let stays = |sample: &Sample| {
        !paired.comparisons.iter().zip(&aside).any(|(own, aside)| {
            let mine = [own.of, own.to].iter().any(|cell| plan.cells[*cell].name == sample.cell);
            mine && aside.contains(&sample.round)
        })
    };
    samples.into_iter().partition(stays)
}

/// Why no comparison needs another pair; `None` if one does.
fn done(plan: &Plan, paired: &PairedPlan, own: Option<&[usize]>, samples: &[Sample]) -> Option<String> {
    let mut ends: IndexMap<&str, usize> = IndexMap::new();
    for (index, progress) in progress(plan, paired, samples).iter().enumerate() {
        if own.is_some_and(|own| !own.contains(&index)) {
            continue;
        }
        let why = match progress.next(paired) {
            Next::Pair(_) => return None,
            Next::Narrow => "narrow enough",
            Next::Most => "with the most pairs",
            Next::OutOfAttempts => "with all pairs begun that may be, too many of them disturbed",
        };
        *ends.entry(why).or_default() += 1;
    }
    if ends.is_empty() {
        return Some("this shard has no comparison".to_owned());
    }
    let told: Vec<String> = ends.iter().map(|(why, count)| format!("{count} {why}")).collect();
    Some(format!("every comparison is done ({})", told.join("; ")))
}

/// Refuses what would not be the same run, saying what has changed since.
fn refuse_another(before: &Facts, now: &Facts, digests: (&str, &str), dir: &Path) -> Result<(), Refused> {
    let mut changed = Vec::new();
    for (wanted, build) in &before.builds {
        let Some(other) = now.builds.get(wanted) else {
            changed.push(format!("{wanted} was {} and is not found", build.version()));
            continue;
        };
        if build.version() != other.version() {
            changed.push(format!("{wanted} was {} and is {} now ({})", build.version(), other.version(), other.origin));
        } else if let (Some(old), Some(new)) = (&build.digest, &other.digest)
            && old != new
        {
            changed.push(format!("{wanted} is another binary of the same version: SHA-256 {old} before, {new} now"));
        }
    }
    for (name, tool) in &before.tools {
        match now.tools.get(name) {
            Some(other) if other.version() == tool.version() => {}
            Some(other) => changed.push(format!("{name} was {} and is {} now", tool.version(), other.version())),
            None => changed.push(format!("{name} was {} and is not found", tool.version())),
        }
    }
    let (old, new) = digests;
    if changed.is_empty() && old != new {
        changed.push(format!(
            "this runner plans it otherwise: digest {old} before, {new} now; use the runner that began it"
        ));
    }
    if changed.is_empty() {
        return Ok(());
    }
    Err(Refused::Call(format!(
        "`{}` cannot be gone on with, since something else would be run: {}; name the programs of before with --pg-bin, or start anew",
        dir.display(),
        changed.join("; ")
    )))
}
