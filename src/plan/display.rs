//! A plan as text: the whole truth, down to each SQL statement and setting with its origin.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::estimate::estimate;
use super::facts::{Build, PG_RECVLOGICAL, PGBENCH};
use super::instruction::{Activity, Condition, Consume, Filling, Instruction, PhasePlan};
use super::node::{NodePlan, Origin};
use super::paired::PairedPlan;
use super::sql::slot::{PluginOption, RECVLOGICAL_OPTIONS};
use super::{Cell, Plan, pgbench};
use crate::spec::scenario::{Consumer, Extent, OptionValue, Scenario, Transport, Workload};
use crate::spec::{Chosen, Run, Spec};
use crate::text::{SourceMap, format_duration};

/// The plan for people. `left_out` are checks that could not be made.
pub fn text(plan: &Plan, spec: &Spec, sources: &SourceMap, left_out: &[String]) -> String {
    let mut out = Printer { text: String::new(), sources };
    out.line(0, &spec.title);
    let run = &spec.run;
    let what = if spec.axes.is_empty() { "scenario(s)" } else { "cell(s)" };
    out.line(
        0,
        &match &plan.paired {
            None => format!(
                "{} {what} × {} round(s) = {} runs, {} (seed {})",
                plan.cells.len(),
                run.rounds.value,
                plan.turns.len(),
                run.order.value.as_str(),
                run.seed.value
            ),
            Some(paired) => format!(
                "{} {what}, {} comparison(s) × {} to {} pairs of 2 × {} slices (seed {})",
                plan.cells.len(),
                paired.comparisons.len(),
                paired.least,
                paired.most,
                paired.slices,
                run.seed.value
            ),
        },
    );
    out.line(0, &format!("Takes {}", estimate(plan).words()));
    for warning in &plan.warnings {
        out.line(0, &format!("Warning: {warning}"));
    }
    out.line(0, "");
    if let Some(paired) = &plan.paired {
        out.paired(plan, paired, run);
    }
    out.differences(plan);
    out.line(0, "Choices");
    if plan.paired.is_none() {
        out.chosen("run.rounds", &run.rounds, &run.rounds.value.to_string());
    }
    out.chosen("run.order", &run.order, run.order.value.as_str());
    out.chosen("run.seed", &run.seed, &run.seed.value.to_string());
    out.chosen("run.checkpoint", &run.checkpoint, &run.checkpoint.value.to_string());
    for (name, value, span) in &spec.vars {
        out.setting(1, &format!("vars.{name}"), value, &sources.locate(*span));
    }
    out.line(0, "");
    for cell in &plan.cells {
        out.cell(cell, &plan.tools);
    }
    if plan.paired.is_none() {
        out.line(0, "Order of the runs");
    }
    let mut round = 0;
    let mut names: Vec<&str> = Vec::new();
    for turn in &plan.turns {
        if turn.round != round && !names.is_empty() {
            out.line(1, &format!("round {round}: {}", names.join(", ")));
            names.clear();
        }
        round = turn.round;
        names.push(&plan.cells[turn.cell].name);
    }
    if !names.is_empty() {
        out.line(1, &format!("round {round}: {}", names.join(", ")));
    }
    for check in left_out {
        out.line(0, &format!("Left out: {check}"));
    }
    out.line(0, &format!("Digest {}", plan.digest));
    out.text
}

struct Printer<'a> {
    text: String,
    sources: &'a SourceMap,
}

impl Printer<'_> {
    fn line(&mut self, depth: usize, text: &str) {
        for line in text.lines() {
            let line = format!("{:indent$}{line}", "", indent = depth * 2);
            writeln!(self.text, "{}", line.trim_end()).expect("writing to a string cannot fail");
        }
        if text.is_empty() {
            self.text.push('\n');
        }
    }

    fn chosen<T>(&mut self, key: &str, chosen: &Chosen<T>, value: &str) {
        self.chosen_at(1, key, chosen, value);
    }

    fn chosen_at<T>(&mut self, depth: usize, key: &str, chosen: &Chosen<T>, value: &str) {
        let origin = chosen.at.map_or_else(|| "default".to_owned(), |span| self.sources.locate(span));
        self.setting(depth, key, value, &origin);
    }

    /// A value with its origin, origins below one another.
    fn setting(&mut self, depth: usize, key: &str, value: &str, origin: &str) {
        let pad = 48 - depth * 2;
        let text = format!("{key} = {value}");
        self.line(depth, &format!("{text:<pad$}  {origin}"));
    }

    fn paired(&mut self, plan: &Plan, paired: &PairedPlan, run: &Run) {
        self.line(0, &format!("Compared by {}", paired.metric.display()));
        for (index, comparison) in paired.comparisons.iter().enumerate() {
            let (of, to) = (&plan.cells[comparison.of].name, &plan.cells[comparison.to].name);
            self.line(1, &format!("{}. {}: {of} to {to}", index + 1, comparison.name));
        }
        let own = &run.paired;
        self.chosen("run.paired.instances.min", &own.least, &own.least.value.to_string());
        self.chosen("run.paired.instances.max", &own.most, &own.most.value.to_string());
        self.chosen("run.paired.slices", &own.slices, &own.slices.value.to_string());
        self.chosen("run.paired.warm_up", &own.warm_up, &format_duration(own.warm_up.value));
        self.chosen("run.paired.rest", &own.rest, &format_duration(own.rest.value));
        for (key, bound) in [("run.paired.steal", &own.steal), ("run.paired.other_load", &own.other_load)] {
            if let Some(bound) = bound {
                self.chosen(key, bound, &format!("{} %", (bound.value * 1e4).round() / 100.0));
            }
        }
        self.chosen("run.paired.until", &own.until, &format!("± {} %", (own.until.value * 1e4).round() / 100.0));
        self.line(
            1,
            "A pair is fresh servers of both sides, up at once. Its slices come in the order A B B A, the side that \
             begins alternating from pair to pair; a slice is all phases of its cell, after a pause of `rest`. Slices that warm up come in twos \
             before, until `warm_up` is over, and count nowhere. After each pair from the fewest on, a comparison is done \
             when the interval of its ratio is as narrow as `until`, whatever it says, or when it has the most pairs. \
             One pair of each comparison makes a round, in which they are shuffled.",
        );
        if own.steal.is_some() || own.other_load.is_some() {
            self.line(
                1,
                "A pair ends, and counts nowhere, with the first measured slice in which the hypervisor took more of the cores \
                 than `steal`, or other processes used more than `other_load`; another is run in its place, until four times \
                 `max` have been begun.",
            );
        }
        self.line(0, "");
    }

    fn differences(&mut self, plan: &Plan) {
        if plan.cells.len() > 1 {
            self.line(0, "What differs between the scenarios");
            if plan.differences.is_empty() {
                self.line(1, "nothing: every scenario does the same");
            }
            for difference in &plan.differences {
                self.line(1, &difference.what);
                for case in difference.cases(&plan.cells) {
                    self.line(2, &format!("{}: {}", case.place, case.value));
                }
            }
        }
        let nothing = if plan.by_version.is_empty() { " nothing" } else { "" };
        self.line(0, &format!("Differs by version without the spec's doing:{nothing}"));
        for line in plan.by_version_lines() {
            self.line(1, &line);
        }
        self.line(0, "");
    }

    fn cell(&mut self, cell: &Cell, tools: &BTreeMap<String, Build>) {
        let scenario = &cell.scenario;
        let title = if scenario.title == cell.name { String::new() } else { format!(" – {}", scenario.title) };
        self.line(0, &format!("Scenario `{}`{title}", cell.name));
        let transport = if scenario.transport.value == Transport::Tcp { "tcp" } else { "unix" };
        self.chosen("postgres.transport", &scenario.transport, transport);
        for (name, node) in &cell.nodes {
            self.node(name, node);
        }
        for (name, subscription) in &scenario.subscriptions {
            self.line(1, &format!("subscription {name}: {} from {}", subscription.node, subscription.publisher));
            for (option, written) in &subscription.options {
                let origin = self.sources.locate(written.value_span);
                self.setting(2, option, &written.value, &origin);
            }
            if !subscription.options.contains_key("streaming") {
                let major = cell.nodes[&subscription.node].build.as_ref().map(|build| build.release.major);
                let value = if major.is_some_and(|major| major < 18) { "off" } else { "parallel" };
                self.setting(2, "streaming", value, "the version's default");
            }
        }
        for (name, slot) in &scenario.slots {
            self.line(1, &format!("slot {name}: {} on {}", slot.plugin, slot.node));
            self.chosen_at(2, "consumer", &slot.consumer, slot.consumer.value.as_str());
            for (key, chosen) in [("two_phase", &slot.two_phase), ("failover", &slot.failover)] {
                if chosen.at.is_some() {
                    self.chosen_at(2, key, chosen, &chosen.value.to_string());
                }
            }
            if slot.consumer.value == Consumer::PgRecvlogical {
                let (version, origin) = tool_words(tools.get(PG_RECVLOGICAL));
                self.setting(2, PG_RECVLOGICAL, &version, &origin);
            }
            for (option, written) in &slot.options {
                let origin = self.sources.locate(written.value_span);
                self.setting(2, option, &option_words(&written.value), &origin);
            }
        }
        for (name, load) in &scenario.workloads {
            self.workload(name, load, tools.get(PGBENCH));
        }
        self.turn(cell);
        self.line(0, "");
    }

    fn workload(&mut self, name: &str, load: &Workload, pgbench: Option<&Build>) {
        let extent = match load.extent {
            Extent::Transactions(n) => format!("{n} transactions of all clients together"),
            Extent::Duration(length) => format_duration(length),
        };
        self.line(1, &format!("workload {name}: {extent} on {}", load.node));
        let none = || "none".to_owned();
        for (key, at, value) in [
            ("engine", load.engine.at, load.engine.value.as_str().to_owned()),
            ("clients", load.clients.at, load.clients.value.to_string()),
            (
                "rate",
                load.rate.as_ref().and_then(|rate| rate.at),
                load.rate.as_ref().map_or_else(none, |rate| rate.value.to_string()),
            ),
            (
                "latency_limit",
                load.latency_limit.as_ref().and_then(|limit| limit.at),
                load.latency_limit.as_ref().map_or_else(none, |limit| format_duration(limit.value)),
            ),
            ("max_tries", load.max_tries.at, load.max_tries.value.to_string()),
            ("protocol", load.protocol.at, load.protocol.value.as_str().to_owned()),
        ] {
            let origin = at.map_or_else(|| "default".to_owned(), |span| self.sources.locate(span));
            self.setting(2, key, &value, &origin);
        }
        if load.by_pgbench() {
            self.by_pgbench(load, pgbench);
        }
        for script in &load.scripts {
            let weight = if load.scripts.len() > 1 { format!(", weight {}", script.weight) } else { String::new() };
            let builtin = script.builtin.map_or_else(String::new, |builtin| format!(", builtin {}", builtin.name()));
            let place = self.sources.locate(script.span);
            self.line(2, &format!("script {}{weight}{builtin}  {place}", script.name));
            self.line(3, script.text.trim());
        }
    }

    /// What is pgbench's own, and how it is called.
    fn by_pgbench(&mut self, load: &Workload, pgbench: Option<&Build>) {
        let threads = load.threads.as_ref().and_then(|threads| threads.at);
        let origin = threads.map_or_else(|| "pgbench's default".to_owned(), |span| self.sources.locate(span));
        self.setting(2, "threads", &load.pgbench_threads().to_string(), &origin);
        self.chosen_at(2, "log", &load.log, &load.log.value.to_string());
        let (version, origin) = tool_words(pgbench);
        self.setting(2, PGBENCH, &version, &origin);
        let mut words = pgbench::options(load, pgbench.map(|build| build.release), &pgbench::Options::of(load));
        words.push("--random-seed=«run.seed + round»".to_owned());
        words.extend(pgbench::scripts(load, "«scripts»"));
        if load.log.value {
            words.push("--log".to_owned());
        }
        self.line(2, &format!("pgbench {} «{}»", words.join(" "), load.node));
    }

    fn node(&mut self, name: &str, node: &NodePlan) {
        let server = match &node.build {
            Some(build) => match &build.bin {
                Some(bin) => format!("PostgreSQL {} in {} ({})", build.release, bin.display(), build.origin),
                None => format!("PostgreSQL {} ({})", build.release, build.origin),
            },
            None if node.wanted.git.is_some() => format!("{} (not built yet; a run builds it)", node.wanted),
            None => format!("{} (not found)", node.wanted),
        };
        self.line(1, &format!("node {name}: {server}"));
        self.line(2, &format!("checksums = {}", node.checksums_words()));
        for (setting, planned) in &node.settings {
            let origin = match &planned.origin {
                Origin::Spec(span) => self.sources.locate(*span),
                Origin::Runner(reason) => format!("runner: {reason}"),
            };
            self.setting(2, setting, &planned.value, &origin);
        }
    }

    fn turn(&mut self, cell: &Cell) {
        let Cell { turn, scenario, .. } = cell;
        let mut stage = None;
        for step in &turn.up {
            if stage != Some(step.stage) {
                self.line(1, step.stage.as_str());
                stage = Some(step.stage);
            }
            self.instruction(2, &step.instruction, Some(&step.what));
        }
        for phase in &turn.phases {
            self.phase(phase, scenario);
        }
        self.line(1, "finish");
        for instruction in turn.finish.iter().chain(&turn.down) {
            self.instruction(2, instruction, None);
        }
    }

    fn phase(&mut self, phase: &PhasePlan, scenario: &Scenario) {
        let warm_up = if phase.measure { "" } else { ", not measured" };
        self.line(1, &format!("phase {} (at most {}{warm_up})", phase.name, format_duration(phase.bound)));
        for instruction in &phase.prepare {
            match instruction {
                Instruction::Ready { activity: Activity::Load { workload } }
                    if scenario.workloads[workload.as_str()].by_pgbench() =>
                {
                    self.line(
                        2,
                        &format!("write the scripts of workload {workload}; pgbench connects within the clock"),
                    );
                }
                _ => self.instruction(2, instruction, None),
            }
        }
        self.line(2, if phase.follows { "-- the clock goes on" } else { "-- the clock starts" });
        for instruction in &phase.start {
            self.instruction(2, instruction, None);
        }
        for activity in &phase.activities {
            self.line(2, &format!("until {}", activity_words(activity)));
        }
        if let Filling::Hold(length) = phase.filling {
            self.line(2, &format!("hold {}", format_duration(length)));
        }
        for (after, instruction) in &phase.events {
            self.line(2, &format!("after {}", format_duration(*after)));
            self.instruction(3, instruction, None);
        }
        self.line(2, "-- the clock stops");
    }

    fn instruction(&mut self, depth: usize, instruction: &Instruction, what: Option<&str>) {
        let (head, body) = words(instruction);
        let what = what.map(|what| format!("  -- {what}")).unwrap_or_default();
        self.line(depth, &format!("{head}{what}"));
        if let Some(body) = body {
            self.line(depth + 1, &body);
        }
    }
}

/// A client program: its version and where it comes from.
fn tool_words(tool: Option<&Build>) -> (String, String) {
    match tool {
        Some(Build { release, bin: Some(bin), origin, .. }) => {
            (release.to_string(), format!("{} ({origin})", bin.display()))
        }
        Some(Build { release, bin: None, origin, .. }) => (release.to_string(), origin.clone()),
        None => ("18".to_owned(), "not found; a run would install it".to_owned()),
    }
}

/// An option's value as a spec writes it.
pub(super) fn option_words(value: &OptionValue) -> String {
    match value {
        OptionValue::Plain(text) => text.clone(),
        OptionValue::Names(names) => {
            format!("[{}]", names.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>().join(", "))
        }
    }
}

/// An option as the plugin gets it.
fn plugin_option_words(option: &PluginOption) -> String {
    match &option.value {
        Some(value) => format!("{} = {value}", option.name),
        None => option.name.clone(),
    }
}

/// An activity in words.
pub fn activity_words(activity: &Activity) -> String {
    match activity {
        Activity::Load { workload } => format!("workload {workload} has ended"),
        Activity::Marker { id, nodes, slots } => {
            let list = |places: &[(String, u32)]| {
                let each = places.iter().map(|(place, count)| match count {
                    1 => place.clone(),
                    _ => format!("{place} ({count} times)"),
                });
                each.collect::<Vec<_>>().join(", ")
            };
            let mut parts = Vec::new();
            if !nodes.is_empty() {
                parts.push(format!("is visible on {}", list(nodes)));
            }
            if !slots.is_empty() {
                parts.push(format!("has been received by the consumer of {}", list(slots)));
            }
            format!("marker {id} {}", parts.join(" and "))
        }
        Activity::Received { subscriptions } => {
            format!("the WAL up to the marker has been received by {}", subscriptions.join(", "))
        }
        Activity::Sync { subscriptions } => format!("every table of {} is ready", subscriptions.join(", ")),
        Activity::Startup { subscription } => format!("the slot of {subscription} is active"),
    }
}

/// A condition in words.
pub fn condition_words(condition: &Condition) -> String {
    match condition {
        Condition::Synced { subscription } => format!("every table of subscription {subscription} is ready"),
        Condition::Disabled { subscription } => {
            format!("no worker of subscription {subscription} runs and its slot is inactive")
        }
        Condition::Synchronous { node, states } => {
            let states: Vec<String> = states.iter().map(|(name, state)| format!("{name} is {state}")).collect();
            format!("on {node} {}", states.join(" and "))
        }
        Condition::LauncherFree { node } => {
            format!("wal_retrieve_retry_interval has passed since the launcher of {node} last started a worker")
        }
    }
}

/// An instruction in words: a heading and, for SQL, its text.
pub fn words(instruction: &Instruction) -> (String, Option<String>) {
    match instruction {
        Instruction::Data(dataset) => dataset.words(),
        Instruction::Start { nodes } => (format!("start {}", nodes.join(", ")), None),
        Instruction::Stop { nodes } => (format!("stop {} and remove what they wrote", nodes.join(", ")), None),
        Instruction::Sql { node, sql } => (format!("SQL on {node}"), Some(sql.display())),
        Instruction::Mark { node, id, sql, .. } => (format!("marker {id} on {node}"), Some(sql.display())),
        Instruction::Await { condition, bound } => {
            (format!("wait until {} (at most {})", condition_words(condition), format_duration(*bound)), None)
        }
        Instruction::Consume(consume) => {
            let options: Vec<String> = consume.options.iter().map(plugin_option_words).collect();
            let options = if options.is_empty() { String::new() } else { format!(" ({})", options.join(", ")) };
            let Consume { slot, plugin, consumer, .. } = consume;
            let how = match consumer {
                Consumer::PgRecvlogical => format!(" {}, its output through a pipe", RECVLOGICAL_OPTIONS.join(" ")),
                Consumer::Runner | Consumer::None => String::new(),
            };
            (format!("consume slot {slot} by {}{how}: {plugin}{options}", consumer.as_str()), None)
        }
        Instruction::Ready { activity } => {
            let what = match activity {
                Activity::Load { workload } => {
                    format!("open the connections of workload {workload} and prepare its statements")
                }
                Activity::Marker { nodes, slots, .. } => {
                    let names: Vec<&str> = nodes.iter().chain(slots).map(|(place, _)| place.as_str()).collect();
                    format!("listen for the marker on {}", names.join(", "))
                }
                Activity::Received { subscriptions } => {
                    format!("watch the received position of {}", subscriptions.join(", "))
                }
                Activity::Sync { subscriptions } => format!("watch the tables of {}", subscriptions.join(", ")),
                Activity::Startup { subscription } => format!("watch the slot of {subscription}"),
            };
            (what, None)
        }
        Instruction::Open { phase, follows: false } => {
            (format!("read the counters and start the clock of {phase}"), None)
        }
        Instruction::Open { phase, follows: true } => (format!("go on with the clock of {phase}"), None),
        Instruction::Close { phase } => (format!("stop the clock of {phase} and read the counters"), None),
        Instruction::Settle => {
            let what = "close the load's connections, disable the subscriptions, end the consumers, read the settled \
                        statistics, then the WAL of each phase by resource manager (pg_walinspect, rolled back)";
            (what.to_owned(), None)
        }
        Instruction::Verify { projections } => {
            let list: Vec<String> = projections
                .iter()
                .map(|p| format!("{} on {} and {}", p.subscription, p.publisher, p.subscriber))
                .collect();
            (format!("compare rows and checksums of {}", list.join("; ")), None)
        }
    }
}
