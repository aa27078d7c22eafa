//! Everything is decided here: from a spec and what is known of the machine to instructions, settings with their
//! origin, SQL, and the order of the turns. Later stages only do it. Pure.

mod build;
mod by_version;
pub mod cases;
mod check;
mod copies;
mod dataset;
mod difference;
mod digest;
pub mod display;
pub mod estimate;
mod facets;
pub mod facts;
pub mod instruction;
mod node;
mod options;
pub mod order;
pub mod paired;
pub mod pgbench;
mod phase;
pub mod shard;
pub mod shell;
mod since;
pub mod sql;
mod warnings;

use std::collections::{BTreeMap, HashSet};
use std::path::PathBuf;
use std::sync::Arc;

use indexmap::IndexMap;

pub use difference::Difference;
pub use node::{NodePlan, Origin, PlannedSetting};

use self::facts::{Build, Facts, Questions, Wanted};
use self::instruction::TurnPlan;
use self::order::Turn;
use self::paired::PairedPlan;
use crate::spec::scenario::{Consumer, Node, Workload};
use crate::spec::{LoweredCell, Order, Scenario, Spec};
use crate::text::source::relative_to;
use crate::text::{Issues, SourceMap};

/// A cell: a scenario at a point of the axes, with all that is done in one turn of it.
#[derive(Clone, Debug)]
pub struct Cell {
    /// Name: the scenario's, with the point where there are axes.
    pub name: String,
    /// Values of the axes, as written.
    pub point: IndexMap<String, String>,
    /// What the spec says.
    pub scenario: Arc<Scenario>,
    /// Nodes as they will be started.
    pub nodes: IndexMap<String, NodePlan>,
    /// Instructions of one turn.
    pub turn: TurnPlan,
}

impl Cell {
    /// Digest of what it does on its servers, whichever these are: where it is the same, figures of two runs are of the
    /// same work. Instructions depend on the servers' major version; without them only loads and windows are in it.
    pub fn digest(&self, with_instructions: bool) -> String {
        digest::of_cell(self, with_instructions)
    }

    /// Major versions of its nodes, as far as they are known.
    pub fn majors(&self) -> Vec<Option<u32>> {
        self.nodes.values().map(|node| node.build.as_ref().map(|build| build.release.major)).collect()
    }
}

/// The whole run, decided.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Cells in the order of the spec.
    pub cells: Vec<Cell>,
    /// Turns in order; none where they are slices of pairs.
    pub turns: Vec<Turn>,
    /// The paired comparison, if it is one.
    pub paired: Option<PairedPlan>,
    /// Everything that is not the same in all cells, and nothing else.
    pub differences: Vec<Difference>,
    /// What is allowed and most likely not meant.
    pub warnings: Vec<String>,
    /// What differs without the spec's doing, by version: a column says which nodes have it.
    pub by_version: Vec<Difference>,
    /// Client programs that are used, by name; without those that are not found yet.
    pub tools: BTreeMap<String, Build>,
    /// Digest of the executable part: what is run and measured, not how it is titled, judged or shown.
    pub digest: String,
}

/// What must be found out before planning.
pub fn questions(spec: &Spec, sources: &SourceMap) -> Questions {
    let mut questions = Questions::default();
    for cell in spec.cells.iter().chain(&spec.unfit) {
        let known = |name: &str| !cell.scenario.server_unread(name);
        for (_, node) in cell.scenario.nodes.iter().filter(|(name, _)| known(name)) {
            let wanted = wanted(node, sources);
            for (name, written) in node.settings.iter().filter(|(name, _)| !name.contains('.')) {
                questions.settings.insert((wanted.clone(), name.clone(), written.value.clone()));
            }
            questions.builds.insert(wanted);
        }
        if cell.scenario.workloads.values().any(Workload::by_pgbench) {
            questions.tools.insert(facts::PGBENCH);
        }
        if cell.scenario.slots.values().any(|slot| slot.consumer.value == Consumer::PgRecvlogical) {
            questions.tools.insert(facts::PG_RECVLOGICAL);
        }
    }
    questions
}

fn wanted(node: &Node, sources: &SourceMap) -> Wanted {
    // A folder is written as seen from its file; one given by a flag, as seen from the working folder.
    node::wanted(node, |span, path| {
        let file = sources.file_of(span);
        if sources.flags().any(|flag| flag.base == file.base) {
            PathBuf::from(path)
        } else {
            relative_to(&file.path, path)
        }
    })
}

/// Plans a spec. Mistakes that depend on versions are added to `issues`, those of unfit cells too; with any, the
/// plan must not be run.
pub fn plan(spec: &Spec, sources: &SourceMap, facts: &Facts, issues: &mut Issues) -> Plan {
    for unfit in &spec.unfit {
        let servers = Servers { scenario: &unfit.scenario, sources, facts };
        check::check(&servers, &mut |issue| issues.push(issue));
        for (name, node) in &unfit.scenario.nodes {
            node::settings(name, node, &unfit.scenario, &mut |issue| issues.push(issue));
        }
    }
    let cells: Vec<Cell> = spec.cells.iter().map(|lowered| cell(lowered, spec, sources, facts, issues)).collect();
    let paired = if spec.run.order.value == Order::Paired { PairedPlan::of(spec) } else { None };
    let turns = match &paired {
        None => order::turns(cells.len(), spec.run.rounds.value, spec.run.order.value, spec.run.seed.value),
        Some(_) => Vec::new(),
    };
    let warnings = warnings::of(&cells);
    let differences = difference::between(&cells);
    let by_version = by_version::by_version(&cells);
    let digest = digest::of(spec, &cells);
    Plan { cells, turns, paired, warnings, differences, by_version, tools: facts.tools.clone(), digest }
}

impl Plan {
    /// [`Plan::by_version`], a line each.
    pub fn by_version_lines(&self) -> Vec<String> {
        by_version::lines(&self.by_version)
    }

    /// Settings of nodes that hold wherever there is the node: node, name and value. Those that are told as differences
    /// between cells, be it under a node's own name or that of all copies, are not among them.
    pub fn common_settings(&self) -> Vec<(&str, &str, &PlannedSetting)> {
        let differ: HashSet<&str> = self.differences.iter().map(|difference| difference.what.as_str()).collect();
        let mut seen = HashSet::new();
        let mut out = Vec::new();
        for cell in &self.cells {
            for (name, node) in &cell.nodes {
                let all = format!("{}*", cell.scenario.numbered.node_table(name));
                for (setting, planned) in &node.settings {
                    if seen.insert((name.as_str(), setting.as_str()))
                        && [name, &all].iter().all(|name| !differ.contains(facets::of_node(name, setting).as_str()))
                    {
                        out.push((name.as_str(), setting.as_str(), planned));
                    }
                }
            }
        }
        out
    }
}

/// The servers of a scenario, as far as they are known.
struct Servers<'a> {
    scenario: &'a Scenario,
    sources: &'a SourceMap,
    facts: &'a Facts,
}

impl Servers<'_> {
    /// What a node asks for; `None` if that could not be read.
    fn wanted(&self, name: &str) -> Option<Wanted> {
        let node = self.scenario.nodes.get(name).filter(|_| !self.scenario.server_unread(name))?;
        Some(wanted(node, self.sources))
    }

    /// Its major version, if that is known.
    fn major(&self, name: &str) -> Option<u32> {
        let wanted = self.wanted(name)?;
        match self.facts.builds.get(&wanted) {
            Some(build) => Some(build.release.major),
            None => wanted.version?.split('.').next()?.parse().ok(),
        }
    }
}

fn cell(lowered: &LoweredCell, spec: &Spec, sources: &SourceMap, facts: &Facts, issues: &mut Issues) -> Cell {
    let scenario = &lowered.scenario;
    let servers = Servers { scenario, sources, facts };
    check::check(&servers, &mut |issue| issues.push(issue));
    let nodes: IndexMap<String, NodePlan> = scenario
        .nodes
        .iter()
        .enumerate()
        .map(|(place, (name, node))| {
            let wanted = wanted(node, sources);
            let plan = NodePlan {
                place,
                build: facts.builds.get(&wanted).cloned(),
                wanted,
                checksums: node.checksums.as_ref().map(|checksums| checksums.value),
                transport: scenario.transport.value,
                settings: node::settings(name, node, scenario, &mut |issue| issues.push(issue)),
            };
            (name.clone(), plan)
        })
        .collect();
    let turn = build::turn(scenario, spec.run.checkpoint.value, &nodes, &|name| servers.major(name));
    Cell {
        name: lowered.name.clone(),
        point: lowered.point.iter().map(|(axis, value)| (axis.clone(), value.to_string())).collect(),
        scenario: lowered.scenario.clone(),
        nodes,
        turn,
    }
}
