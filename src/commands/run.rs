//! `runner SPEC…`: everything, end to end.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use indexmap::IndexMap;
use tokio::sync::{Mutex, watch};

use super::machine::{self, Missing};
use super::progress::Progress;
use super::texts::{self, Loaded};
use super::{Refused, out, report, runtime, say};
use crate::cli::RunArgs;
use crate::execute::{self, Surroundings, stop};
use crate::exit;
use crate::lab::{Installation, Lab, LabOptions, user};
use crate::plan::facts::Wanted;
use crate::plan::{self, Plan, display};
use crate::results::store::Store;

pub(super) fn run(arguments: &RunArgs) -> Result<u8, Refused> {
    if arguments.out.is_some() && arguments.spec.specs.len() > 1 {
        return Err(Refused::Call("--out names one folder; run the specs one by one".to_owned()));
    }
    let runtime = runtime()?;
    let mut worst = exit::WELL;
    for path in &arguments.spec.specs {
        let code = runtime.block_on(one(path, arguments))?;
        worst = worst.max(code);
        if code == exit::INTERRUPTED {
            break;
        }
    }
    Ok(worst)
}

async fn one(path: &Path, arguments: &RunArgs) -> Result<u8, Refused> {
    let loaded = texts::load(path, &arguments.spec)?;
    let stop = stop::watch_signals(die).map_err(|error| Refused::Failed(format!("watch for signals: {error}")))?;
    let run_as =
        user::choose(user::effective_uid(), arguments.run_as.as_deref(), std::env::var("SUDO_USER").ok().as_deref())
            .await
            .map_err(|error| Refused::CannotStart(error.to_string()))?;

    let questions = plan::questions(&loaded.spec, &loaded.sources);
    let missing = match (loaded.issues.is_empty(), arguments.offline) {
        // A spec with mistakes is not run: nothing is installed for it.
        (false, _) => Missing::LeaveOut,
        (true, true) => Missing::Refuse,
        (true, false) => Missing::Install,
    };
    let mut interrupted = stop.clone();
    let answered = tokio::select! {
        answered = machine::answer(&questions, &arguments.spec.pg_bin, missing) => Some(answered),
        // What is being installed or built is given up, and removed with all its processes.
        _ = interrupted.wait_for(|stop| *stop) => None,
    };
    let Some(answered) = answered else { return Ok(exit::INTERRUPTED) };
    let (facts, installations) = answered?;
    let Loaded { sources, spec, mut issues } = loaded;
    let plan = plan::plan(&spec, &sources, &facts, &mut issues);
    Loaded::refuse(issues, &sources)?;

    let mut options = LabOptions::new(
        machine::cache()?,
        run_as,
        Some(guard_command()?),
        std::env::var_os("TMPDIR").map(PathBuf::from).as_deref(),
    );
    options.scratch = arguments
        .work_dir
        .as_ref()
        .map(std::path::absolute)
        .transpose()
        .map_err(|error| Refused::Call(format!("--work-dir: {error}")))?;
    options.reach = installations.values().map(|installation| installation.bin.clone()).collect();
    options.reach.extend(plan.tools.values().filter_map(|tool| tool.bin.clone()));
    let lab = Mutex::new(Lab::open(options).await.map_err(|error| Refused::CannotStart(error.to_string()))?);

    let started = jiff::Timestamp::now();
    let name = path.file_stem().map_or_else(|| "run".to_owned(), |stem| stem.to_string_lossy().into_owned());
    let store = match &arguments.out {
        Some(dir) => Store::create(dir),
        None => Store::create_new(Path::new("results"), &name, &started.to_string()),
    }
    .map_err(|error| Refused::Call(error.to_string()))?;
    let mut record = report::record(path, &spec, &sources, &plan, (arguments.spec.quick, arguments.spec.aa), started);
    let stored = |result: Result<(), crate::results::store::StoreError>| {
        result.map_err(|error| Refused::Failed(error.to_string()))
    };
    stored(store.put_sources(&sources))?;
    stored(store.put_run(&record))?;
    stored(store.put_facts(&facts))?;
    stored(store.put_plan(&display::text(&plan, &spec, &sources, &facts.left_out)))?;
    say(&format!("{}: {} run(s), results in {}\n", spec.title, plan.turns.len(), store.dir().display()));

    let done = perform(&plan, &spec, &installations, &lab, &store, arguments.keep, &stop).await;
    let mut lab = lab.into_inner();
    let closed = if arguments.keep && done.is_ok() && !*stop.borrow() {
        keep(&mut lab, &arguments.spec.pg_bin).await
    } else {
        lab.close().await.map_err(|error| error.to_string())
    };
    done?;
    if let Err(error) = closed {
        say(&format!("warning: not everything could be removed: {error}\n"));
    }
    record.finished = Some(jiff::Timestamp::now().to_string());
    record.interrupted = *stop.borrow();
    stored(store.put_run(&record))?;
    let (markdown, code) = report::render(&store, &spec, &record, arguments.strict)?;
    out(&markdown)?;
    say(&format!("report: {}\n", store.report_path().display()));
    Ok(if record.interrupted { exit::INTERRUPTED } else { code })
}

async fn perform(
    plan: &Plan,
    spec: &crate::spec::Spec,
    installations: &BTreeMap<Wanted, Installation>,
    lab: &Mutex<Lab>,
    store: &Store,
    keep: bool,
    stop: &watch::Receiver<bool>,
) -> Result<(), Refused> {
    let by_node = plan
        .cells
        .iter()
        .map(|cell| {
            cell.nodes
                .iter()
                .filter_map(|(name, node)| Some((name.clone(), installations.get(&node.wanted)?.clone())))
                .collect::<IndexMap<_, _>>()
        })
        .collect();
    let mut surroundings = Surroundings {
        lab,
        installations: by_node,
        tools: plan.tools.clone(),
        seed: spec.run.seed.value,
        logs: store.logs(),
        comparisons: None,
        before: Vec::new(),
        keep,
    };
    let mut progress = Progress::new();
    execute::run(plan, &mut surroundings, stop, &mut |event| progress.observe(event), &mut |sample| {
        store.put_sample(sample).map_err(std::io::Error::other)
    })
    .await
    .map_err(|error| Refused::Failed(format!("store a run: {error}")))
}

/// Leaves the nodes of the last run running and says how to reach them. A server's own installation may have no psql.
async fn keep(lab: &mut Lab, pg_bin: &[PathBuf]) -> Result<(), String> {
    let nodes = lab.keep().await.map_err(|error| error.to_string())?;
    let found = match machine::cache() {
        Ok(cache) => machine::search(pg_bin, Vec::new(), &cache).await.ok(),
        Err(_) => None,
    };
    let elsewhere = found.as_ref().and_then(|found| found.tool("psql"));
    for node in &nodes {
        let own = Some(&node.installation).filter(|installation| installation.tools.contains("psql"));
        let psql = own.or(elsewhere).map_or_else(|| PathBuf::from("psql"), |installation| installation.program("psql"));
        say(&format!("kept {}: {}\n", node.name, node.psql_command(&psql)));
    }
    say("`runner clean` removes them\n");
    Ok(())
}

/// The guard is this very program.
fn guard_command() -> Result<Vec<OsString>, Refused> {
    let exe = std::env::current_exe().map_err(|error| Refused::Failed(format!("find this program: {error}")))?;
    Ok(vec![exe.into_os_string(), "__guard".into()])
}

/// What a second interrupt does.
#[expect(clippy::exit, reason = "a second interrupt must not wait for anything")]
fn die() {
    std::process::exit(exit::INTERRUPTED.into());
}
