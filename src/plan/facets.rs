//! Everything executable of a cell, in small named pieces that can be compared with another cell's.

use std::collections::BTreeSet;

use indexmap::IndexMap;

use super::Cell;
use super::copies::{Told, fold, in_part, together, unlike};
use super::sql::{pgbench_init, publication};
use crate::spec::Numbered;
use crate::spec::scenario::{Action, Body, Extent, MarkerCommit, Phase, Setup, SetupWork, Step, Transport};
use crate::text::{copy_number, format_duration};

/// What is numbered and cannot be told by `NAME*`, since that would not be true of some cell.
#[derive(Default)]
pub(super) struct Apart {
    /// Tables of nodes whose copies are not alike.
    nodes: BTreeSet<String>,
    /// Tables of subscriptions whose copies are not alike.
    subscriptions: BTreeSet<String>,
    /// Lists, by what they are of, that somewhere hold some copies of a table and not others.
    in_part: BTreeSet<(String, String)>,
}

impl Apart {
    /// Decides it for all cells, so that each is told in the same words.
    pub(super) fn of(cells: &[Cell]) -> Self {
        let mut out = Self::default();
        let numbered = || cells.iter().filter(|cell| cell.scenario.numbered != Numbered::default());
        for cell in numbered() {
            out.nodes.extend(unlike(&nodes(cell), &cell.scenario.numbered.nodes));
        }
        // Where a subscription is depends on how its nodes are told.
        for cell in numbered() {
            let counts = out.counts(cell);
            out.subscriptions.extend(unlike(&subscriptions(cell, &counts), &counts.subscriptions));
        }
        for cell in numbered() {
            let counts = out.counts(cell);
            let lists = lists(cell, &counts);
            out.in_part.extend(lists.into_iter().flat_map(|(of, names, counts)| {
                in_part(&names, &counts).into_iter().map(move |base| (of.clone(), base))
            }));
        }
        out
    }

    /// How many copies a cell has of what is told together.
    fn counts(&self, cell: &Cell) -> Numbered {
        let mut counts = cell.scenario.numbered.clone();
        counts.nodes.retain(|base, _| !self.nodes.contains(base));
        counts.subscriptions.retain(|base, _| !self.subscriptions.contains(base));
        counts
    }

    /// A list as it is told.
    fn together(&self, of: &str, names: &[String], counts: &IndexMap<String, u64>) -> String {
        let whole = |base: &String| !self.in_part.contains(&(of.to_owned(), base.clone()));
        let counts =
            counts.iter().filter(|(base, _)| whole(base)).map(|(base, count)| (base.clone(), *count)).collect();
        together(names, &counts).join(", ")
    }

    /// The steps of a phase before it, or at its beginning, as they are told.
    fn steps(&self, of: &str, steps: &[Step], counts: &Numbered) -> String {
        let told = steps.iter().enumerate().map(|(index, step)| match nodes_of(&step.action) {
            Some(nodes) => words(&step.action, &self.together(&of_step(of, index), nodes, &counts.nodes)),
            None => words(&step.action, ""),
        });
        self.together(of, &told.collect::<Vec<_>>(), &acted(counts))
    }
}

/// What is told of a node, such as a setting.
pub(super) fn of_node(node: &str, what: &str) -> String {
    format!("{node}: {what}")
}

/// What a set-up's list of nodes is of.
fn of_setup(setup: &Setup) -> String {
    format!("setup `{}`", setup.name)
}

/// What a phase's steps before it, or at its beginning, are of.
fn of_steps(phase: &Phase, key: &str) -> String {
    format!("phase `{}` {key}", phase.name)
}

/// What the nodes of one of them are of.
fn of_step(steps: &str, index: usize) -> String {
    format!("{steps} {index}")
}

/// Steps of a phase by where they stand.
fn steps(phase: &Phase) -> [(&'static str, &[Step]); 2] {
    [("prepare", &phase.prepare), ("start", &phase.start)]
}

/// How many copies of subscriptions there are by what is done with one.
fn acted(counts: &Numbered) -> IndexMap<String, u64> {
    let verbs = ["create", "disable", "enable", "refresh"];
    let of = |(base, count): (&String, &u64)| verbs.map(|verb| (format!("{verb} {base}"), *count));
    counts.subscriptions.iter().flat_map(of).collect()
}

/// Lists that name copies: what each is of, its members, and how many copies there are by the beginning of such a member.
fn lists(cell: &Cell, counts: &Numbered) -> Vec<(String, Vec<String>, IndexMap<String, u64>)> {
    let scenario = &cell.scenario;
    let setup = scenario.setup.iter().map(|setup| (of_setup(setup), setup.nodes.clone(), counts.nodes.clone()));
    let mut out: Vec<_> = setup.collect();
    for phase in &scenario.phases {
        for (key, list) in steps(phase) {
            let of = of_steps(phase, key);
            out.extend(list.iter().enumerate().filter_map(|(index, step)| {
                Some((of_step(&of, index), nodes_of(&step.action)?.to_vec(), counts.nodes.clone()))
            }));
            out.push((of, list.iter().map(|step| words(&step.action, "")).collect(), acted(counts)));
        }
    }
    out
}

/// What is told of each node.
fn nodes(cell: &Cell) -> Vec<(String, Told)> {
    let mut nodes = Vec::new();
    for (name, node) in &cell.nodes {
        let mut out = Vec::new();
        let mut server = node
            .build
            .as_ref()
            .map_or_else(|| node.wanted.to_string(), |build| format!("PostgreSQL {}", build.version()));
        // Two builds of one version are told apart by what they are.
        if let Some((_, named)) = &cell.scenario.nodes[name].build {
            let digest = node.build.as_ref().and_then(|build| build.digest.as_ref());
            let binary = digest.map_or_else(String::new, |digest| format!(", binary {digest}"));
            server = format!("{} ({server}{binary})", named.title);
        }
        out.push((String::new(), server));
        if let Some(of) = &cell.scenario.nodes[name].synchronous {
            out.push(("synchronous names".to_owned(), super::sql::synchronous::names(of)));
        }
        if let Some(checksums) = node.checksums {
            out.push(("checksums".to_owned(), checksums.to_string()));
        }
        out.extend(node.settings.iter().map(|(setting, planned)| (setting.clone(), planned.value.clone())));
        nodes.push((name.clone(), out));
    }
    nodes
}

/// What is told of each subscription; of copies on copies of what `counts` counts as of all.
fn subscriptions(cell: &Cell, counts: &Numbered) -> Vec<(String, Told)> {
    let mut subscriptions = Vec::new();
    for (name, of) in &cell.scenario.subscriptions {
        let number = counts.subscriptions.keys().find_map(|base| copy_number(name, base));
        let alike = counts.nodes.keys().find(|base| number.is_some_and(|own| of.node == format!("{base}{own}")));
        let node = alike.map_or_else(|| of.node.clone(), |base| format!("{base}*"));
        let mut out = vec![(String::new(), format!("{node} from {} ({})", of.publisher, of.publications.join(", ")))];
        out.extend(of.options.iter().map(|(option, written)| (format!(": {option}"), written.value.clone())));
        subscriptions.push((name.clone(), out));
    }
    subscriptions
}

/// Everything executable of a cell, in small named pieces.
pub(super) fn facets(cell: &Cell, apart: &Apart) -> IndexMap<String, String> {
    let scenario = &cell.scenario;
    let mut out = IndexMap::new();
    let transport = match scenario.transport.value {
        Transport::Unix => "unix",
        Transport::Tcp => "tcp",
    };
    out.insert("transport".to_owned(), transport.to_owned());
    let counts = apart.counts(cell);
    for (name, facets) in fold(&nodes(cell), &counts.nodes) {
        for (key, value) in facets {
            out.insert(if key.is_empty() { format!("node {name}") } else { of_node(&name, &key) }, value);
        }
    }
    let all = &scenario.numbered;
    for (kind, counts) in [("node", &all.nodes), ("subscription", &all.subscriptions)] {
        out.extend(counts.iter().map(|(base, count)| (format!("{kind}s {base}*: how many"), count.to_string())));
    }
    // What is done on no node is not done.
    for setup in scenario.setup.iter().filter(|setup| !setup.nodes.is_empty()) {
        let work = match &setup.work {
            SetupWork::Sql(sql) => one_line(sql),
            SetupWork::PgbenchInit(init) => pgbench_init::words(*init),
        };
        let of = of_setup(setup);
        out.insert(format!("{of} on {}", apart.together(&of, &setup.nodes, &counts.nodes)), work);
    }
    for (name, of) in &scenario.publications {
        out.insert(format!("publication `{name}` on {}", of.node), publication::create(name, of));
    }
    for (name, facets) in fold(&subscriptions(cell, &counts), &counts.subscriptions) {
        out.extend(facets.into_iter().map(|(key, value)| (format!("subscription `{name}`{key}"), value)));
    }
    for (name, of) in &scenario.slots {
        let mut text = format!("{} on {}, consumer {}", of.plugin, of.node, of.consumer.value.as_str());
        for (key, chosen) in [("two_phase", &of.two_phase), ("failover", &of.failover)] {
            if chosen.value {
                text += &format!(", {key}");
            }
        }
        out.insert(format!("slot `{name}`"), text);
        for (option, written) in &of.options {
            out.insert(format!("slot `{name}`: {option}"), super::display::option_words(&written.value));
        }
    }
    let runs = |name: &String| {
        scenario.phases.iter().any(|phase| matches!(&phase.body, Body::Run(loads) if loads.contains(name)))
    };
    // A load that no phase runs makes no difference.
    for (name, load) in scenario.workloads.iter().filter(|(name, _)| runs(name)) {
        let extent = match load.extent {
            Extent::Transactions(n) => format!("{n} transactions"),
            Extent::Duration(length) => format_duration(length),
        };
        out.insert(
            format!("workload `{name}`"),
            format!("{} on {}, {} client(s), {}", extent, load.node, load.clients.value, load.protocol.value.as_str()),
        );
        out.insert(format!("workload `{name}`: engine"), load.engine.value.as_str().to_owned());
        let threads = load.threads.as_ref().map(|threads| threads.value);
        let threads = if load.by_pgbench() { Some(load.pgbench_threads()) } else { threads };
        let threads = threads.map_or_else(|| "the driver's choice".to_owned(), |threads| threads.to_string());
        out.insert(format!("workload `{name}`: threads"), threads);
        let bounds = [
            ("rate", load.rate.as_ref().map(|rate| rate.value.to_string())),
            ("latency_limit", load.latency_limit.as_ref().map(|limit| format_duration(limit.value))),
            ("max_tries", (load.max_tries.value != 1).then(|| load.max_tries.value.to_string())),
            ("log", (load.by_pgbench() && !load.log.value).then(|| "false".to_owned())),
        ];
        for (key, value) in bounds {
            out.extend(value.map(|value| (format!("workload `{name}`: {key}"), value)));
        }
        for script in &load.scripts {
            let (key, weight) = if load.scripts.len() > 1 {
                (format!(" `{}`", script.name), format!("weight {}: ", script.weight))
            } else {
                (String::new(), String::new())
            };
            let text =
                script.builtin.map_or_else(|| one_line(&script.text), |builtin| format!("builtin {}", builtin.name()));
            out.insert(format!("workload `{name}`: script{key}"), format!("{weight}{text}"));
        }
    }
    for phase in &scenario.phases {
        let body = match &phase.body {
            Body::Run(loads) => format!("run {}", loads.join(", ")),
            Body::WaitApplied => "wait applied".to_owned(),
            Body::WaitReceived => "wait received".to_owned(),
            Body::WaitSynced => "wait synced".to_owned(),
            Body::Hold(length) => format!("hold {}", format_duration(*length)),
        };
        let mut parts = vec![body];
        for (key, list) in steps(phase) {
            if !list.is_empty() {
                parts.push(format!("{key} {}", apart.steps(&of_steps(phase, key), list, &counts)));
            }
        }
        out.insert(format!("phase `{}`", phase.name), parts.join("; "));
    }
    let commit = if scenario.marker_commit.value == MarkerCommit::AsLoad { "as_load" } else { "flushed" };
    out.insert("marker.commit".to_owned(), commit.to_owned());
    out
}

/// The nodes that an action names itself.
fn nodes_of(action: &Action) -> Option<&[String]> {
    match action {
        Action::Sql { nodes, .. } | Action::Checkpoint(nodes) => Some(nodes),
        Action::Create(_) | Action::Disable(_) | Action::Enable(_) | Action::Refresh(_) => None,
    }
}

/// An action in words, with the nodes that it names itself.
fn words(action: &Action, nodes: &str) -> String {
    match action {
        Action::Create(name) => format!("create {name}"),
        Action::Disable(name) => format!("disable {name}"),
        Action::Enable(name) => format!("enable {name}"),
        Action::Refresh(name) => format!("refresh {name}"),
        Action::Sql { sql, .. } => format!("SQL on {nodes}: {}", one_line(sql)),
        Action::Checkpoint(_) => format!("checkpoint {nodes}"),
    }
}

/// SQL on one line, whole: what differs far behind differs too.
fn one_line(sql: &str) -> String {
    sql.split_whitespace().collect::<Vec<_>>().join(" ")
}
