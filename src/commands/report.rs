//! `runner report`: a results folder rendered again; and what a run stores for it.

use std::path::Path;

use indexmap::IndexMap;

use super::texts::{self, Loaded};
use super::{Refused, out, say};
use crate::cli::{ReportArgs, ReportFormat, SpecArgs};
use crate::measure::HostFacts;
use crate::plan::facts::{PG_RECVLOGICAL, PGBENCH};
use crate::plan::{self, NodePlan, Origin, Plan};
use crate::probe;
use crate::report::{self as page, Input, View};
use crate::results::record::FORMAT;
use crate::results::run::{Build, Difference, PlannedSetting, RunRecord};
use crate::results::store::Store;
use crate::spec::scenario::{Consumer, Transport};
use crate::spec::{Chosen, Options, Order, Spec};
use crate::text::{SourceMap, format_duration};

pub(super) fn report(arguments: &ReportArgs) -> Result<u8, Refused> {
    let wrong = |error: crate::results::store::StoreError| Refused::Call(error.to_string());
    let store = Store::open(&arguments.dir).map_err(wrong)?;
    let record = store.run().map_err(wrong)?;
    let facts = store.facts().map_err(wrong)?;
    let root = Path::new(&record.spec_path).to_owned();
    let stored = store.sources().map_err(wrong)?;
    let options = Options { quick: record.quick, aa: record.aa };
    let gone = |_: &Path| Err(std::io::Error::other("it is not in the results folder"));
    let Loaded { sources, spec, mut issues } = texts::from_sources(stored, &root, options, &record.only, gone)?;
    plan::plan(&spec, &sources, &facts, &mut issues);
    Loaded::refuse(issues, &sources)?;
    let spec = match &arguments.spec {
        None => spec,
        Some(path) => {
            let flags = |name: &str| -> Vec<String> {
                let given = sources.flags().filter_map(|flag| flag.path.to_str()?.strip_prefix(name));
                given.map(|flag| flag.trim_start().to_owned()).collect()
            };
            let call = SpecArgs {
                specs: vec![path.clone()],
                set: flags("--set "),
                quick: record.quick,
                build: flags("--build "),
                only: record.only.clone(),
                aa: record.aa,
                pg_bin: Vec::new(),
            };
            let Loaded { sources, spec, mut issues } = texts::load(path, &call)?;
            let plan = plan::plan(&spec, &sources, &facts, &mut issues);
            Loaded::refuse(issues, &sources)?;
            if plan.digest != record.digest {
                return Err(Refused::Call(format!(
                    "`{}` would run something else than these results come from; only titles, `about`, `expect` and `report` may differ (`runner plan` shows what is run)",
                    path.display()
                )));
            }
            spec
        }
    };
    let samples = store.samples().map_err(wrong)?;
    let view = View::of(Input { spec: &spec, run: &record, samples: &samples });
    if let Some(dir) = &arguments.save {
        let folder = Store::beside(dir).map_err(wrong)?;
        put(&folder, &view)?;
        say(&format!("report: {}\n", folder.report_path().display()));
    }
    out(&match arguments.format {
        ReportFormat::Markdown => page::markdown(&view).map_err(|error| Refused::Failed(error.to_string()))?,
        ReportFormat::Text => page::plain(&view),
        ReportFormat::Json => page::json(&view),
        ReportFormat::Csv => page::csv(&view),
    })?;
    Ok(page::exit_status(&view.summary, arguments.strict).code())
}

/// Renders the report of a run that has just ended, stores it, and gives it with its exit code.
pub(super) fn render(store: &Store, spec: &Spec, record: &RunRecord, strict: bool) -> Result<(String, u8), Refused> {
    let failed = |error: &dyn std::error::Error| Refused::Failed(error.to_string());
    let samples = store.samples().map_err(|error| failed(&error))?;
    let view = View::of(Input { spec, run: record, samples: &samples });
    let markdown = put(store, &view)?;
    Ok((markdown, page::exit_status(&view.summary, strict).code()))
}

/// Stores a report in all its forms, and gives the page.
fn put(folder: &Store, view: &View) -> Result<String, Refused> {
    let failed = |error: &dyn std::error::Error| Refused::Failed(error.to_string());
    let markdown = page::markdown(view).map_err(|error| failed(&error))?;
    for chart in &view.charts {
        folder.put_chart(&chart.file, &chart.svg).map_err(|error| failed(&error))?;
    }
    let (text, json, csv) = (page::plain(view), page::json(view), page::csv(view));
    folder.put_report(&markdown, &text, &json, &csv).map_err(|error| failed(&error))?;
    Ok(markdown)
}

/// What holds for a whole run.
pub(super) fn record(
    path: &Path,
    spec: &Spec,
    sources: &SourceMap,
    plan: &Plan,
    (quick, aa): (bool, bool),
    started: jiff::Timestamp,
) -> RunRecord {
    let host = probe::read_host_facts().unwrap_or_else(|error| {
        say(&format!("warning: the facts of this host are not known: {error}\n"));
        HostFacts::default()
    });
    let mut builds = IndexMap::new();
    let mut settings: IndexMap<String, IndexMap<String, PlannedSetting>> = IndexMap::new();
    for (name, node) in plan.cells.iter().flat_map(|cell| &cell.nodes) {
        builds.entry(name.clone()).or_insert_with(|| build(node));
        settings.entry(name.clone()).or_default();
    }
    // What is not the same in all cells is told by the table of differences.
    for (name, setting, planned) in plan.common_settings() {
        let origin = match &planned.origin {
            Origin::Spec(span) => sources.locate(*span),
            Origin::Runner(reason) => format!("the runner's default: {reason}"),
        };
        let own = settings.entry(name.to_owned()).or_default();
        own.insert(setting.to_owned(), PlannedSetting { value: planned.value.clone(), origin });
    }
    RunRecord {
        format: FORMAT,
        spec_name: path.file_stem().map_or_else(String::new, |stem| stem.to_string_lossy().into_owned()),
        spec_path: path.display().to_string(),
        title: spec.title.clone(),
        command: command(),
        runner_version: env!("CARGO_PKG_VERSION").to_owned(),
        started: started.to_string(),
        finished: None,
        rounds: spec.run.rounds.value,
        order: spec.run.order.value.as_str().to_owned(),
        seed: spec.run.seed.value,
        quick,
        aa,
        only: Vec::new(),
        shard: None,
        resumed: Vec::new(),
        merged: Vec::new(),
        call: None,
        expected: Some(plan::estimate::estimate(plan)).filter(|own| own.unknown.is_empty()).map(|own| own.time_words()),
        warnings: plan.warnings.clone(),
        interrupted: false,
        digest: plan.digest.clone(),
        host,
        builds,
        builds_by_scenario: builds_by_scenario(plan),
        settings,
        choices: choices(spec, sources, plan),
        differences: plan.differences.iter().map(difference).collect(),
        by_version: plan.by_version_lines(),
        by_version_table: plan.by_version.iter().map(difference).collect(),
        data_folders: IndexMap::new(),
    }
}

/// The command line, as a shell would take it.
pub(super) fn command() -> String {
    let words = std::env::args().skip(1).map(|word| crate::text::quote::shell_word(&word)).collect::<Vec<_>>();
    format!("runner {}", words.join(" "))
}

fn difference(planned: &plan::Difference) -> Difference {
    Difference { what: planned.what.clone(), values: planned.values.clone() }
}

/// The builds of every scenario, if they are not all the same.
fn builds_by_scenario(plan: &Plan) -> IndexMap<String, IndexMap<String, Build>> {
    let of = |cell: &plan::Cell| -> IndexMap<String, Build> {
        cell.nodes.iter().map(|(name, node)| (name.clone(), build(node))).collect()
    };
    let all: IndexMap<String, IndexMap<String, Build>> =
        plan.cells.iter().map(|cell| (cell.name.clone(), of(cell))).collect();
    let mut different = all.values().skip(1).zip(all.values());
    if different.any(|(one, before)| one != before) { all } else { IndexMap::new() }
}

fn build(node: &NodePlan) -> Build {
    match &node.build {
        Some(build) => Build { version: build.version(), origin: build.origin.clone(), digest: build.digest.clone() },
        None => Build { version: node.wanted.to_string(), origin: "not found".to_owned(), digest: None },
    }
}

/// Choices that can move a figure, each with where it was made.
fn choices(spec: &Spec, sources: &SourceMap, plan: &Plan) -> IndexMap<String, PlannedSetting> {
    fn origin<T>(chosen: &Chosen<T>, sources: &SourceMap) -> String {
        chosen.at.map_or_else(|| "the runner's default".to_owned(), |span| sources.locate(span))
    }
    let mut out: IndexMap<String, PlannedSetting> = IndexMap::new();
    let mut varying: Vec<String> = Vec::new();
    let mut put = |key: String, value: String, origin: String| match out.get(&key) {
        Some(before) if before.value != value => varying.push(key),
        Some(_) => {}
        None => {
            out.insert(key, PlannedSetting { value, origin });
        }
    };
    if spec.run.order.value != Order::Paired {
        put("run.rounds".to_owned(), spec.run.rounds.value.to_string(), origin(&spec.run.rounds, sources));
    }
    put("run.order".to_owned(), spec.run.order.value.as_str().to_owned(), origin(&spec.run.order, sources));
    put("run.checkpoint".to_owned(), spec.run.checkpoint.value.to_string(), origin(&spec.run.checkpoint, sources));
    for cell in &plan.cells {
        let scenario = &cell.scenario;
        let transport = if scenario.transport.value == Transport::Tcp { "tcp" } else { "unix" };
        put("postgres.transport".to_owned(), transport.to_owned(), origin(&scenario.transport, sources));
        let commit = if scenario.marker_commit.value == crate::spec::scenario::MarkerCommit::Flushed {
            "flushed"
        } else {
            "as_load"
        };
        put("marker.commit".to_owned(), commit.to_owned(), origin(&scenario.marker_commit, sources));
        for (name, slot) in &scenario.slots {
            let consumer = slot.consumer.value.as_str().to_owned();
            put(format!("slots.{name}.consumer"), consumer, origin(&slot.consumer, sources));
            if let (Consumer::PgRecvlogical, Some(tool)) = (slot.consumer.value, plan.tools.get(PG_RECVLOGICAL)) {
                put(PG_RECVLOGICAL.to_owned(), tool.release.to_string(), tool.origin.clone());
            }
        }
        for (name, load) in &scenario.workloads {
            let engine = load.engine.value.as_str().to_owned();
            put(format!("workloads.{name}.engine"), engine, origin(&load.engine, sources));
            if load.by_pgbench() {
                let (version, from) = plan.tools.get(PGBENCH).map_or_else(
                    || ("not found".to_owned(), String::new()),
                    |pgbench| (pgbench.release.to_string(), pgbench.origin.clone()),
                );
                put(PGBENCH.to_owned(), version, from);
                let threads = load.threads.as_ref().and_then(|threads| threads.at);
                let from = threads.map_or_else(|| "pgbench's default".to_owned(), |span| sources.locate(span));
                put(format!("workloads.{name}.threads"), load.pgbench_threads().to_string(), from);
                put(format!("workloads.{name}.log"), load.log.value.to_string(), origin(&load.log, sources));
            }
            put(
                format!("workloads.{name}.protocol"),
                load.protocol.value.as_str().to_owned(),
                origin(&load.protocol, sources),
            );
            put(format!("workloads.{name}.clients"), load.clients.value.to_string(), origin(&load.clients, sources));
            if let Some(rate) = &load.rate {
                put(format!("workloads.{name}.rate"), rate.value.to_string(), origin(rate, sources));
            }
            if let Some(limit) = &load.latency_limit {
                put(format!("workloads.{name}.latency_limit"), format_duration(limit.value), origin(limit, sources));
            }
            if load.max_tries.at.is_some() {
                let tries = load.max_tries.value.to_string();
                put(format!("workloads.{name}.max_tries"), tries, origin(&load.max_tries, sources));
            }
        }
        for (name, node) in &cell.nodes {
            let at = scenario.nodes[name]
                .checksums
                .as_ref()
                .map_or_else(|| "the runner's default".to_owned(), |chosen| origin(chosen, sources));
            put(format!("nodes.{name}.checksums"), node.checksums_words(), at);
        }
    }
    // What is not the same in all scenarios stands in the table of differences.
    out.retain(|key, _| !varying.contains(key));
    out
}
