//! How it was run: command, order, builds, machine, settings with their origin.
//!
//! What an older record does not hold is left out, never guessed.

use indexmap::{IndexMap, IndexSet};
use serde::Serialize;

use super::builds::{self, BuildsView};
use super::figures::Runs;
use super::format::{NONE, counted, figure, listed, range};
use crate::measure::{HostFacts, Unit};
use crate::plan::sql::synchronous;
use crate::results::{Build, RunRecord};
use crate::spec::scenario::{Body, Phase, Scenario, Transport};
use crate::stats::Summary;
use crate::text::quantity::{format_bytes, format_duration};

/// More subscriptions than these are not listed one after another.
const MOST_SUBSCRIPTIONS: usize = 4;

/// The surroundings, decided.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct EnvironmentView {
    /// Label and text, a line each.
    pub lines: Vec<(String, String)>,
    /// What the servers are, where the spec names builds or nodes differ.
    pub builds: BuildsView,
    /// Settings of the servers.
    pub settings: Vec<SettingView>,
    /// Server versions by node.
    pub versions: IndexMap<String, Vec<String>>,
    /// Transports of all scenarios.
    pub transports: Vec<&'static str>,
}

/// A setting.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SettingView {
    /// Name.
    pub name: String,
    /// Value, and what was in force where that reads differently.
    pub value: String,
    /// Nodes that have it.
    pub nodes: Vec<String>,
    /// Where it comes from.
    pub origin: String,
}

pub(super) fn environment(run: &RunRecord, runs: Runs<'_>) -> EnvironmentView {
    let versions = versions(run, runs);
    let mut lines = Vec::new();
    let mut line = |label: &str, text: String| {
        if !text.is_empty() {
            lines.push((label.to_owned(), text));
        }
    };
    line("Command", if run.command.is_empty() { String::new() } else { format!("`{}`", run.command) });
    line("When", when(run, runs));
    line("Gone on with", run.resumed.iter().map(|moment| to_second(moment)).collect::<Vec<_>>().join(", "));
    line("Put together from", run.merged.join("; "));
    line("Runs", order(run, runs));
    line("Each run", building(runs));
    line("Set-up", made_once(runs));
    line("Phases", ways(runs, phases));
    line("PostgreSQL", builds(run, runs, &versions));
    line("Replication", ways(runs, replication));
    line("Host", host(&run.host));
    line("Data folders", data_folders(run));
    for (key, choice) in &run.choices {
        line(key, with_origin(&choice.value, &choice.origin));
    }
    line("Runner", runner(run));
    EnvironmentView {
        lines,
        builds: builds::builds(run, runs),
        settings: settings(run, runs),
        versions,
        transports: transports(runs),
    }
}

fn when(run: &RunRecord, runs: Runs<'_>) -> String {
    let spent: Vec<f64> = runs.samples.iter().map(|sample| sample.total_seconds).filter(|s| *s > 0.0).collect();
    let each = Summary::of(&spent).map_or_else(String::new, |spread| {
        let end = |value| figure(value, Unit::Seconds, 1);
        let unit = if runs.is_paired() { "slice" } else { "run" };
        format!(", {} s a {unit}", range(&end(spread.min), &end(spread.max)))
    });
    match (&run.finished, run.started.is_empty()) {
        (_, true) => String::new(),
        (Some(finished), _) => format!("{} to {}{each}", to_second(&run.started), to_second(finished)),
        (None, _) => format!("{}, not finished{each}", to_second(&run.started)),
    }
}

/// A moment of RFC 3339 without fractions of a second.
fn to_second(moment: &str) -> String {
    match moment.split_once('.') {
        Some((seconds, rest)) => {
            let zone = rest.trim_start_matches(|c: char| c.is_ascii_digit());
            format!("{seconds}{zone}")
        }
        None => moment.to_owned(),
    }
}

fn order(run: &RunRecord, runs: Runs<'_>) -> String {
    let spec = &runs.spec.run;
    let order = if run.order.is_empty() { spec.order.value.as_str() } else { run.order.as_str() };
    let seed = if run.order.is_empty() { spec.seed.value } else { run.seed };
    if runs.is_paired() {
        return format!("{}, a pair of each comparison by turns (seed {seed})", runs.pairs_in_words());
    }
    let rounds = if run.rounds == 0 { spec.rounds.value } else { run.rounds };
    let order = match order {
        "shuffled" => format!("shuffled anew in each (seed {seed})"),
        "as_written" => format!("in the spec's order (seed of the scripts {seed})"),
        other => other.to_owned(),
    };
    format!("{}, one run of every scenario each, {order}", counted(rounds as usize, "round"))
}

/// The fixed order of building, as far as a scenario has something to build.
fn building(runs: Runs<'_>) -> String {
    let any = |has: fn(&Scenario) -> bool| runs.spec.cells.iter().any(|cell| has(&cell.scenario));
    let steps = [
        (true, "fresh nodes"),
        (any(|scenario| !scenario.setup.is_empty()), "setup"),
        (any(|scenario| !scenario.publications.is_empty()), "publications"),
        (any(|scenario| !scenario.slots.is_empty()), "slots and their consumers"),
        (any(|scenario| !scenario.subscriptions.is_empty()), "subscriptions (until synced)"),
        (runs.spec.run.checkpoint.value, "checkpoint on every node"),
        (true, "phases"),
        (any(|scenario| !scenario.subscriptions.is_empty()), "check of convergence"),
    ];
    let steps: Vec<&str> = steps.into_iter().filter(|(there, _)| *there).map(|(_, step)| step).collect();
    steps.join(", ")
}

/// Which nodes started from copies of data that was made once.
fn made_once(runs: Runs<'_>) -> String {
    let mut nodes: IndexMap<&str, Vec<String>> = IndexMap::new();
    for (node, record) in runs.samples.iter().flat_map(|sample| &sample.nodes) {
        if let Some(data) = &record.data {
            let words = format!("made once in {:.1} s, {}", data.seconds, format_bytes(data.bytes));
            let own = nodes.entry(node).or_default();
            if !own.contains(&words) {
                own.push(words);
            }
        }
    }
    let nodes: Vec<String> = nodes
        .into_iter()
        .map(|(node, made)| format!("data of `{node}`: {}, copied for each run", made.join("; or ")))
        .collect();
    nodes.join("; ")
}

/// What is told of each scenario, each way once with the scenarios that have it.
fn ways(runs: Runs<'_>, of: fn(&Scenario) -> String) -> String {
    let mut ways: IndexMap<String, Vec<&str>> = IndexMap::new();
    for cell in &runs.spec.cells {
        ways.entry(of(&cell.scenario)).or_default().push(&cell.title);
    }
    if ways.len() == 1 {
        return ways.into_keys().next().unwrap_or_default();
    }
    ways.retain(|way, _| !way.is_empty());
    let ways: Vec<String> = ways.into_iter().map(|(way, scenarios)| format!("{}: {way}", listed(&scenarios))).collect();
    ways.join("; ")
}

fn phases(scenario: &Scenario) -> String {
    scenario.phases.iter().map(phase).collect::<Vec<_>>().join(", ")
}

/// Who subscribes to what, with which options, and who waits for whom. Of many subscriptions the first ones.
fn replication(scenario: &Scenario) -> String {
    let mut parts: Vec<String> = Vec::new();
    for (name, of) in scenario.subscriptions.iter().take(MOST_SUBSCRIPTIONS) {
        let options: Vec<String> = of.options.iter().map(|(key, own)| format!(", {key} = {}", own.value)).collect();
        parts.push(format!(
            "`{name}`: {} from {} ({}){}",
            of.node,
            of.publisher,
            listed(&of.publications),
            options.concat()
        ));
    }
    let more = scenario.subscriptions.len().saturating_sub(MOST_SUBSCRIPTIONS);
    if more > 0 {
        parts.push(format!("{more} more"));
    }
    let waits = scenario.nodes.iter().filter_map(|(name, node)| Some((name, node.synchronous.as_ref()?)));
    parts.extend(waits.map(|(name, of)| format!("commits of {name} wait for {}", synchronous::names(of))));
    parts.join("; ")
}

fn phase(phase: &Phase) -> String {
    let body = match &phase.body {
        Body::Run(workloads) => format!("run {}", listed(workloads)),
        Body::WaitApplied => "until applied".to_owned(),
        Body::WaitReceived => "until received".to_owned(),
        Body::WaitSynced => "until synced".to_owned(),
        Body::Hold(length) => format!("hold {}", format_duration(*length)),
    };
    format!("`{}` ({body}{})", phase.name, if phase.measure { "" } else { ", not measured" })
}

/// Server versions by node as the servers told them, as planned where no run did.
fn versions(run: &RunRecord, runs: Runs<'_>) -> IndexMap<String, Vec<String>> {
    let mut versions: IndexMap<String, Vec<String>> = IndexMap::new();
    for (node, record) in runs.samples.iter().flat_map(|sample| &sample.nodes) {
        let known = versions.entry(node.clone()).or_default();
        // "18.6 (Debian 18.6-1.pgdg12+1)": the packager stands in the build's own text.
        let version = record.version.split_whitespace().next().unwrap_or_default();
        if !version.is_empty() && !known.iter().any(|other| other == version) {
            known.push(version.to_owned());
        }
    }
    versions.retain(|_, known| !known.is_empty());
    for (node, build) in &run.builds {
        let planned = build.version.split_whitespace().find(|word| word.starts_with(|c: char| c.is_ascii_digit()));
        if let (Some(version), false) = (planned, versions.contains_key(node)) {
            versions.insert(node.clone(), vec![version.to_owned()]);
        }
    }
    versions
}

/// `18.6`, or each node's own where they differ.
pub(super) fn versions_text(versions: &IndexMap<String, Vec<String>>) -> String {
    let mut each: Vec<&Vec<String>> = Vec::new();
    for known in versions.values() {
        if !each.contains(&known) {
            each.push(known);
        }
    }
    match each.as_slice() {
        [] => String::new(),
        [same] => listed(same),
        _ => {
            let each: Vec<String> =
                versions.iter().map(|(node, known)| format!("{} ({node})", listed(known))).collect();
            each.join(", ")
        }
    }
}

fn builds(run: &RunRecord, runs: Runs<'_>, versions: &IndexMap<String, Vec<String>>) -> String {
    let mut builds: IndexMap<String, IndexSet<&str>> = IndexMap::new();
    let mut add = |node, build: &Build, title: Option<&str>| {
        let build = with_origin(&build.version, &build.origin);
        let build = title.map_or(build.clone(), |title| format!("{title}, {build}"));
        builds.entry(build).or_default().insert(node);
    };
    // Where they are not the same everywhere, all that a node has somewhere, by the spec's titles.
    for (cell, nodes) in &run.builds_by_scenario {
        let scenario = runs.spec.cells.iter().find(|own| own.name == *cell).map(|own| &own.scenario);
        for (node, build) in nodes {
            let named = scenario.and_then(|scenario| scenario.nodes.get(node)?.build.as_ref());
            add(node, build, named.map(|(_, named)| named.title.as_str()));
        }
    }
    if run.builds_by_scenario.is_empty() {
        run.builds.iter().for_each(|(node, build)| add(node, build, None));
    }
    if builds.is_empty() {
        return versions_text(versions);
    }
    let nodes = |nodes: &IndexSet<&str>| listed(&nodes.iter().copied().collect::<Vec<_>>());
    let builds: Vec<String> = builds.iter().map(|(build, own)| format!("{}: {build}", nodes(own))).collect();
    builds.join("; ")
}

fn host(host: &HostFacts) -> String {
    let cores = host.cores.map(|cores| {
        let usable = host.usable_cores.filter(|usable| *usable != cores);
        let usable = usable.map_or_else(String::new, |usable| format!(" ({usable} usable)"));
        format!("{}{usable}", counted(cores, "core"))
    });
    let parts = [
        host.cpu_model.clone(),
        cores,
        host.memory_bytes.map(|bytes| format!("{} memory", format_bytes(bytes))),
        host.os.clone(),
        host.kernel.as_ref().map(|kernel| format!("kernel {kernel}")),
        host.architecture.clone(),
        host.governor.as_ref().map(|governor| format!("governor {governor}")),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    parts.join(", ")
}

fn data_folders(run: &RunRecord) -> String {
    let mut folders: IndexMap<String, Vec<&str>> = IndexMap::new();
    for (node, folder) in &run.data_folders {
        let parts = [
            folder.file_system.clone(),
            folder.device.as_ref().map(|device| format!("on {device}")),
            folder.flush_ms.map(|ms| format!("{} ms a flush of 8 kB", figure(ms, Unit::Milliseconds, 2))),
        ];
        let parts: Vec<String> = parts.into_iter().flatten().collect();
        folders.entry(parts.join(", ")).or_default().push(node);
    }
    folders.retain(|text, _| !text.is_empty());
    let folders: Vec<String> = folders
        .into_iter()
        .map(|(text, nodes)| {
            let shared = if nodes.len() > 1 { ", shared" } else { "" };
            format!("{}: {text}{shared}", listed(&nodes))
        })
        .collect();
    folders.join("; ")
}

fn runner(run: &RunRecord) -> String {
    let digest = if run.digest.is_empty() { String::new() } else { format!("digest of the plan {}", run.digest) };
    let parts: Vec<&str> =
        [run.runner_version.as_str(), digest.as_str()].into_iter().filter(|part| !part.is_empty()).collect();
    parts.join(", ")
}

fn with_origin(text: &str, origin: &str) -> String {
    match (text.is_empty(), origin.is_empty()) {
        (true, _) => origin.to_owned(),
        (false, true) => text.to_owned(),
        (false, false) => format!("{text} ({origin})"),
    }
}

/// Settings, those that several nodes share once.
fn settings(run: &RunRecord, runs: Runs<'_>) -> Vec<SettingView> {
    let mut rows: Vec<SettingView> = Vec::new();
    for (node, settings) in &run.settings {
        for (name, planned) in settings {
            let value = in_force(node, name, &planned.value, runs);
            let origin = if planned.origin.is_empty() { NONE } else { &planned.origin };
            match rows.iter_mut().find(|row| &row.name == name && row.value == value && row.origin == origin) {
                Some(row) => row.nodes.push(node.clone()),
                None => rows.push(SettingView {
                    name: name.clone(),
                    value,
                    nodes: vec![node.clone()],
                    origin: origin.to_owned(),
                }),
            }
        }
    }
    rows
}

/// A planned value, with what the servers said they use where that reads differently.
fn in_force(node: &str, name: &str, planned: &str, runs: Runs<'_>) -> String {
    let mut effective: Vec<&str> = Vec::new();
    for record in runs.samples.iter().filter_map(|sample| sample.nodes.get(node)) {
        if let Some(value) = record.settings.get(name)
            && value != planned
            && !effective.contains(&value.as_str())
        {
            effective.push(value);
        }
    }
    if effective.is_empty() { planned.to_owned() } else { format!("{planned} (in force: {})", listed(&effective)) }
}

fn transports(runs: Runs<'_>) -> Vec<&'static str> {
    let mut found = Vec::new();
    for cell in &runs.spec.cells {
        let name = match cell.scenario.transport.value {
            Transport::Unix => "unix",
            Transport::Tcp => "tcp",
        };
        if !found.contains(&name) {
            found.push(name);
        }
    }
    found
}
