//! What a reader needs to run it by hand: the SQL of the set-up and the scripts of the loads, rendered.
//!
//! Where scenarios have different texts, each says whose it is.

use indexmap::IndexMap;
use serde::Serialize;

use super::figures::Runs;
use super::format::listed;
use crate::plan::sql::pgbench_init;
use crate::spec::scenario::{Body, Extent, Scenario, SetupWork};
use crate::text::quantity::format_duration;

/// A text with what it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TextView {
    /// What it is, such as "Set-up `schema` on publisher and subscriber".
    pub title: String,
    /// Scenarios that have it; empty for all.
    pub scenarios: Vec<String>,
    /// Rendered.
    pub text: String,
}

/// A text of one scenario.
struct Found {
    /// What it is, such as "Workload `w` on publisher".
    title: String,
    /// How it is run, such as "4 clients, 2s"; empty for what is only run once.
    how: String,
    text: String,
}

/// Texts of all scenarios in their order, each once, with all the ways in which it is run.
pub(super) fn texts(runs: Runs<'_>) -> Vec<TextView> {
    let cells = &runs.spec.cells;
    let mut found: IndexMap<(String, String), IndexMap<String, Vec<&str>>> = IndexMap::new();
    for cell in cells {
        for Found { title, how, text } in of(&cell.scenario) {
            found.entry((title, text)).or_default().entry(how).or_default().push(&cell.title);
        }
    }
    let view = |((title, text), ways): ((String, String), IndexMap<String, Vec<&str>>)| {
        let mut scenarios: Vec<String> = ways.values().flatten().map(|title| (*title).to_owned()).collect();
        if scenarios.len() == cells.len() {
            scenarios.clear();
        }
        let ways: Vec<String> = ways.into_keys().filter(|how| !how.is_empty()).collect();
        let title = if ways.is_empty() { title } else { format!("{title}: {}", ways.join("; or ")) };
        TextView { title, scenarios, text }
    };
    found.into_iter().map(view).collect()
}

fn of(scenario: &Scenario) -> Vec<Found> {
    let mut out = Vec::new();
    for setup in &scenario.setup {
        let text = match &setup.work {
            SetupWork::Sql(sql) => sql.trim().to_owned(),
            SetupWork::PgbenchInit(init) => format!("-- {}", pgbench_init::words(*init)),
        };
        let title = format!("Set-up `{}` on {}", setup.name, listed(&setup.nodes));
        out.push(Found { title, how: String::new(), text });
    }
    let run = |name: &String| {
        scenario.phases.iter().any(|phase| matches!(&phase.body, Body::Run(loads) if loads.contains(name)))
    };
    for (name, load) in scenario.workloads.iter().filter(|(name, _)| run(name)) {
        let extent = match load.extent {
            Extent::Transactions(1) => "1 transaction".to_owned(),
            Extent::Transactions(n) if load.clients.value == 1 => format!("{n} transactions"),
            Extent::Transactions(n) => format!("{n} transactions of all together"),
            Extent::Duration(length) => format_duration(length),
        };
        let clients = load.clients.value;
        for script in &load.scripts {
            let which = match script.builtin {
                Some(builtin) => format!(", builtin {}", builtin.name()),
                None if load.scripts.len() > 1 => format!(", script `{}`, weight {}", script.name, script.weight),
                None => String::new(),
            };
            let clients = if clients == 1 { "1 client".to_owned() } else { format!("{clients} clients") };
            out.push(Found {
                title: format!("Workload `{name}` on {}", load.node),
                how: format!("{clients}, {extent}{which}"),
                text: script.text.trim().to_owned(),
            });
        }
    }
    out
}
