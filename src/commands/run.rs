//! `runner SPEC…`: everything, end to end.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use indexmap::IndexMap;
use tokio::sync::{Mutex, watch};

use super::machine::{self, Missing};
use super::progress::Progress;
use super::texts::{self, Loaded};
use super::{Refused, out, report, runtime, say};
use crate::cli::RunArgs;
use crate::execute::{self, Surroundings, stop};
use crate::exit;
use crate::lab::dataset;
use crate::lab::{Installation, Lab, LabOptions, user};
use crate::plan::facts::{Facts, Wanted};
use crate::plan::shard::{self, Shard};
use crate::plan::{self, Plan, display};
use crate::probe::disk_of;
use crate::results::store::Store;
use crate::results::{Call, DataFolder, RunRecord, Sample, Shares};
use crate::spec::Spec;
use crate::text::SourceMap;

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
    let stop = watch_signals()?;
    let Planned { sources, spec, mut plan, facts, installations } =
        planned(loaded, &arguments.spec.pg_bin, arguments.offline, &stop).await?;
    refuse_keeping(&plan, arguments.keep)?;
    let at = |path: &PathBuf| std::path::absolute(path).unwrap_or_else(|_| path.clone());
    let call = Call {
        pg_bin: arguments.spec.pg_bin.iter().map(at).collect(),
        run_as: arguments.run_as.clone(),
        work_dir: arguments.work_dir.as_ref().map(at),
    };
    let lab = open_lab(&call, &installations, &plan).await?;

    let started = jiff::Timestamp::now();
    let name = path.file_stem().map_or_else(|| "run".to_owned(), |stem| stem.to_string_lossy().into_owned());
    let store = match &arguments.out {
        Some(dir) => Store::create(dir),
        None => Store::create_new(Path::new("results"), &name, &started.to_string()),
    }
    .map_err(|error| Refused::Call(error.to_string()))?;
    let mut record = report::record(path, &spec, &sources, &plan, (arguments.spec.quick, arguments.spec.aa), started);
    record.only.clone_from(&arguments.spec.only);
    record.call = Some(call).filter(|call| *call != Call::default());
    let stored = |result: Result<(), crate::results::store::StoreError>| {
        result.map_err(|error| Refused::Failed(error.to_string()))
    };
    stored(store.put_sources(&sources))?;
    stored(store.put_facts(&facts))?;
    stored(store.put_plan(&display::text(&plan, &spec, &sources, &facts.left_out)))?;
    let whole = plan.turns.len();
    let mut comparisons = None;
    if let Some(shard) = arguments.shard {
        record.shard = Some(take_share(&mut plan, &spec, shard, &mut comparisons));
        record.expected = None;
    }
    stored(store.put_run(&record))?;
    let extent = match &plan.paired {
        Some(paired) => {
            let all = paired.comparisons.len();
            let own = comparisons.as_ref().map_or(String::new(), |own| format!("{} of ", own.len()));
            format!("{own}{all} comparison(s), {} to {} pairs each", paired.least, paired.most)
        }
        None if plan.turns.len() < whole => format!("{} of {whole} run(s)", plan.turns.len()),
        None => format!("{whole} run(s)"),
    };
    say(&format!("{}: {extent}, results in {}\n", spec.title, store.dir().display()));
    let going = Going { store, spec, plan, installations, stop, comparisons, before: Vec::new(), whole };
    Box::pin(go(going, lab, record, (arguments.keep, arguments.strict), &arguments.spec.pg_bin)).await
}

/// Leaves the share of this machine in the plan, and names it.
pub(super) fn take_share(plan: &mut Plan, spec: &Spec, shard: Shard, comparisons: &mut Option<Vec<usize>>) -> Shares {
    let whole = plan.turns.len();
    match &plan.paired {
        Some(paired) => *comparisons = Some(shard::share_of_comparisons(paired.comparisons.len(), shard)),
        None => plan.turns = shard::share(&plan.turns, &shard::groups(spec), shard),
    }
    let counted = |turns: usize| plan.paired.is_none().then_some(turns);
    Shares { numbers: vec![shard.number], of: shard.of, turns: counted(plan.turns.len()), whole: counted(whole) }
}

/// A plan with what it was made of.
pub(super) struct Planned {
    pub(super) sources: Arc<SourceMap>,
    pub(super) spec: Spec,
    pub(super) plan: Plan,
    pub(super) facts: Facts,
    pub(super) installations: BTreeMap<Wanted, Installation>,
}

/// Finds or installs what a spec asks for, and plans it.
pub(super) async fn planned(
    loaded: Loaded,
    pg_bin: &[PathBuf],
    offline: bool,
    stop: &watch::Receiver<bool>,
) -> Result<Planned, Refused> {
    let questions = plan::questions(&loaded.spec, &loaded.sources);
    let missing = match (loaded.issues.is_empty(), offline) {
        // A spec with mistakes is not run: nothing is installed for it.
        (false, _) => Missing::LeaveOut,
        (true, true) => Missing::Refuse,
        (true, false) => Missing::Install,
    };
    let mut stop = stop.clone();
    let (facts, installations) = tokio::select! {
        answered = machine::answer(&questions, pg_bin, missing) => answered?,
        // What is being installed or built is given up, and removed with all its processes.
        _ = stop.wait_for(|stop| *stop) => return Err(Refused::Interrupted),
    };
    let Loaded { sources, spec, mut issues } = loaded;
    let plan = plan::plan(&spec, &sources, &facts, &mut issues);
    Loaded::refuse(issues, &sources)?;
    for warning in &plan.warnings {
        say(&format!("warning: {warning}\n"));
    }
    Ok(Planned { sources, spec, plan, facts, installations })
}

/// The pairs of a paired comparison are taken down one by one: there is no last run whose nodes could be kept.
pub(super) fn refuse_keeping(plan: &Plan, keep: bool) -> Result<(), Refused> {
    if keep && plan.paired.is_some() {
        let way_out =
            "--keep leaves the nodes of the last run, and pairs are taken down each; add --set run.order=as_written";
        return Err(Refused::Call(way_out.to_owned()));
    }
    Ok(())
}

/// From here on an interrupt ends the run in order.
pub(super) fn watch_signals() -> Result<watch::Receiver<bool>, Refused> {
    stop::watch_signals(die).map_err(|error| Refused::Failed(format!("watch for signals: {error}")))
}

/// The lab of a plan.
pub(super) async fn open_lab(
    call: &Call,
    installations: &BTreeMap<Wanted, Installation>,
    plan: &Plan,
) -> Result<Mutex<Lab>, Refused> {
    let run_as =
        user::choose(user::effective_uid(), call.run_as.as_deref(), std::env::var("SUDO_USER").ok().as_deref())
            .await
            .map_err(|error| Refused::CannotStart(error.to_string()))?;
    let mut options = LabOptions::new(
        machine::cache()?,
        run_as,
        Some(guard_command()?),
        std::env::var_os("TMPDIR").map(PathBuf::from).as_deref(),
    );
    if let Some(text) = std::env::var_os("RUNNER_CACHE_MAX") {
        let bound = text.to_str().and_then(dataset::parse_bound);
        options.data_bound = bound.ok_or_else(|| {
            Refused::Call(format!("RUNNER_CACHE_MAX: {} is no size; write bytes, or such as 20GB", text.display()))
        })?;
    }
    options.scratch = call
        .work_dir
        .as_ref()
        .map(std::path::absolute)
        .transpose()
        .map_err(|error| Refused::Call(format!("--work-dir: {error}")))?;
    options.reach = installations.values().map(|installation| installation.bin.clone()).collect();
    options.reach.extend(plan.tools.values().filter_map(|tool| tool.bin.clone()));
    Ok(Mutex::new(Lab::open(options).await.map_err(|error| Refused::CannotStart(error.to_string()))?))
}

/// A run that is about to begin, or to go on.
pub(super) struct Going {
    pub(super) store: Store,
    pub(super) spec: Spec,
    /// With the turns that are run here and now.
    pub(super) plan: Plan,
    pub(super) installations: BTreeMap<Wanted, Installation>,
    pub(super) stop: watch::Receiver<bool>,
    /// Of a paired comparison: those that are run here; `None` for all.
    pub(super) comparisons: Option<Vec<usize>>,
    /// Turns that are there already.
    pub(super) before: Vec<Sample>,
    /// Turns of the whole plan.
    pub(super) whole: usize,
}

/// Runs it, closes the lab, and renders the report.
pub(super) async fn go(
    going: Going,
    lab: Mutex<Lab>,
    mut record: RunRecord,
    (keep, strict): (bool, bool),
    pg_bin: &[PathBuf],
) -> Result<u8, Refused> {
    if let Some(why) = going.store.unlocked() {
        let dir = going.store.dir().display();
        say(&format!("warning: `{dir}` cannot be locked ({why}): let no other runner write into it\n"));
    }
    let mut lab = lab;
    record.data_folders = data_folders(&going.plan, lab.get_mut().data_folder());
    let done = perform(&going, &lab, keep).await;
    let mut lab = lab.into_inner();
    let closed = if keep && done.is_ok() && !*going.stop.borrow() {
        leave_running(&mut lab, pg_bin).await
    } else {
        lab.close().await.map_err(|error| error.to_string())
    };
    done?;
    if let Err(error) = closed {
        say(&format!("warning: not everything could be removed: {error}\n"));
    }
    record.finished = Some(jiff::Timestamp::now().to_string());
    record.interrupted = *going.stop.borrow();
    going.store.put_run(&record).map_err(|error| Refused::Failed(error.to_string()))?;
    let (markdown, code) = report::render(&going.store, &going.spec, &record, strict)?;
    out(&markdown)?;
    say(&format!("report: {}\n", going.store.report_path().display()));
    if record.interrupted {
        say(&format!("to go on: runner resume {}\n", going.store.dir().display()));
    }
    Ok(if record.interrupted { exit::INTERRUPTED } else { code })
}

/// Where the data of each node lies.
fn data_folders(plan: &Plan, folder: &Path) -> IndexMap<String, DataFolder> {
    let Some(disk) = disk_of(folder) else { return IndexMap::new() };
    let folder = DataFolder { file_system: Some(disk.file_system), device: Some(disk.device), ..DataFolder::default() };
    plan.cells.iter().flat_map(|cell| cell.nodes.keys()).map(|node| (node.clone(), folder.clone())).collect()
}

async fn perform(going: &Going, lab: &Mutex<Lab>, keep: bool) -> Result<(), Refused> {
    let Going { store, spec, plan, installations, stop, .. } = going;
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
        comparisons: going.comparisons.clone(),
        whole: u32::try_from(going.whole).unwrap_or(u32::MAX),
        before: going.before.clone(),
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
async fn leave_running(lab: &mut Lab, pg_bin: &[PathBuf]) -> Result<(), String> {
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
