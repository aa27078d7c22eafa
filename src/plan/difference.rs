//! What is not the same in all cells.

use std::collections::BTreeSet;

use indexmap::{IndexMap, IndexSet};
use serde::{Deserialize, Serialize};

use super::Cell;
use super::cases::{Case, cases, place};
use super::copies::{Told, fold, number, together, unlike};
use super::sql::{pgbench_init, publication};
use crate::spec::Numbered;
use crate::spec::scenario::{Action, Body, Extent, MarkerCommit, SetupWork, Step, Transport};
use crate::text::format_duration;

/// Something that is not the same in all cells.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Difference {
    /// What, such as "subscriber: work_mem".
    pub what: String,
    /// What it is, by cell; "–" where it is not there.
    pub values: IndexMap<String, String>,
}

impl Difference {
    /// What it is in these cells: by the axes on which it depends, or by cell where there are none.
    pub(super) fn cases(&self, cells: &[Cell]) -> Vec<Case<'_>> {
        let value = |cell: &Cell| self.values.get(&cell.name).map_or("–", String::as_str);
        if cells.iter().all(|cell| cell.point.is_empty()) {
            return cells.iter().map(|cell| Case { place: cell.name.clone(), value: value(cell) }).collect();
        }
        let several = cells.iter().any(|cell| cell.scenario.name != cells[0].scenario.name);
        let placed = cells.iter().map(|cell| {
            let scenario = several.then_some(cell.scenario.name.as_str());
            let point = cell.point.iter().map(|(axis, value)| (axis.as_str(), value.clone()));
            (place(scenario, point), value(cell))
        });
        cases(&placed.collect::<Vec<_>>())
    }
}

/// What is not the same in all cells, in the order of building.
pub(super) fn between(cells: &[Cell]) -> Vec<Difference> {
    // Each text is held once and each cell has its number: of many cells nearly all is the same.
    let mut texts: IndexSet<String> = IndexSet::new();
    let alike = Alike::of(cells);
    let mut columns: IndexMap<String, Vec<Option<usize>>> = IndexMap::new();
    for (index, cell) in cells.iter().enumerate() {
        for (what, value) in facets(cell, &alike) {
            let (number, _) = texts.insert_full(value);
            let column = columns.entry(what).or_default();
            column.resize(index, None);
            column.push(Some(number));
        }
    }
    columns
        .into_iter()
        .filter_map(|(what, mut column)| {
            column.resize(cells.len(), None);
            if column.windows(2).all(|pair| pair[0] == pair[1]) {
                return None;
            }
            let text = |number: Option<usize>| number.map_or_else(|| "–".to_owned(), |number| texts[number].clone());
            let values = cells.iter().zip(column).map(|(cell, number)| (cell.name.clone(), text(number))).collect();
            Some(Difference { what, values })
        })
        .collect()
}

/// Numbered nodes and subscriptions whose copies are told apart, since in some cell they are not alike.
#[derive(Default)]
struct Alike {
    nodes_apart: BTreeSet<String>,
    subscriptions_apart: BTreeSet<String>,
}

impl Alike {
    fn of(cells: &[Cell]) -> Self {
        let mut out = Self::default();
        for cell in cells.iter().filter(|cell| cell.scenario.numbered != Numbered::default()) {
            let counts = &cell.scenario.numbered;
            out.nodes_apart.extend(unlike(&nodes(cell), &counts.nodes));
            out.subscriptions_apart.extend(unlike(&subscriptions(cell, counts), &counts.subscriptions));
        }
        out
    }

    /// How many copies a cell has of what is told together.
    fn counts(&self, cell: &Cell) -> Numbered {
        let mut counts = cell.scenario.numbered.clone();
        counts.nodes.retain(|base, _| !self.nodes_apart.contains(base));
        counts.subscriptions.retain(|base, _| !self.subscriptions_apart.contains(base));
        counts
    }
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
        let number = counts.subscriptions.keys().find_map(|base| number(name, base));
        let alike = counts.nodes.keys().find(|base| number.is_some_and(|own| of.node == format!("{base}{own}")));
        let node = alike.map_or_else(|| of.node.clone(), |base| format!("{base}*"));
        let mut out = vec![(String::new(), format!("{node} from {} ({})", of.publisher, of.publications.join(", ")))];
        out.extend(of.options.iter().map(|(option, written)| (format!(": {option}"), written.value.clone())));
        subscriptions.push((name.clone(), out));
    }
    subscriptions
}

/// Everything executable of a cell, in small named pieces.
fn facets(cell: &Cell, alike: &Alike) -> IndexMap<String, String> {
    let scenario = &cell.scenario;
    let mut out = IndexMap::new();
    let transport = match scenario.transport.value {
        Transport::Unix => "unix",
        Transport::Tcp => "tcp",
    };
    out.insert("transport".to_owned(), transport.to_owned());
    let counts = alike.counts(cell);
    for (name, facets) in fold(&nodes(cell), &counts.nodes) {
        for (key, value) in facets {
            out.insert(if key.is_empty() { format!("node {name}") } else { format!("{name}: {key}") }, value);
        }
    }
    let all = &scenario.numbered;
    for (kind, counts) in [("node", &all.nodes), ("subscription", &all.subscriptions)] {
        out.extend(counts.iter().map(|(base, count)| (format!("{kind}s {base}*: how many"), count.to_string())));
    }
    for setup in &scenario.setup {
        let work = match &setup.work {
            SetupWork::Sql(sql) => one_line(sql),
            SetupWork::PgbenchInit(init) => pgbench_init::words(*init),
        };
        out.insert(format!("setup `{}` on {}", setup.name, together(&setup.nodes, &counts.nodes).join(", ")), work);
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
        let steps = |steps: &[Step]| {
            let told: Vec<String> = steps.iter().map(|step| words(&step.action)).collect();
            let verbs = ["create", "disable", "enable", "refresh"];
            let of = |(base, count): (&String, &u64)| verbs.map(|verb| (format!("{verb} {base}"), *count));
            together(&told, &counts.subscriptions.iter().flat_map(of).collect()).join(", ")
        };
        let mut parts = vec![body];
        for (key, list) in [("prepare", &phase.prepare), ("start", &phase.start)] {
            if !list.is_empty() {
                parts.push(format!("{key} {}", steps(list)));
            }
        }
        out.insert(format!("phase `{}`", phase.name), parts.join("; "));
    }
    let commit = if scenario.marker_commit.value == MarkerCommit::AsLoad { "as_load" } else { "flushed" };
    out.insert("marker.commit".to_owned(), commit.to_owned());
    out
}

/// An action in words.
pub(super) fn words(action: &Action) -> String {
    match action {
        Action::Create(name) => format!("create {name}"),
        Action::Disable(name) => format!("disable {name}"),
        Action::Enable(name) => format!("enable {name}"),
        Action::Refresh(name) => format!("refresh {name}"),
        Action::Sql { nodes, sql } => format!("SQL on {}: {}", nodes.join(", "), one_line(sql)),
        Action::Checkpoint(nodes) => format!("checkpoint {}", nodes.join(", ")),
    }
}

/// SQL on one line, whole: what differs far behind differs too.
pub(super) fn one_line(sql: &str) -> String {
    sql.split_whitespace().collect::<Vec<_>>().join(" ")
}
