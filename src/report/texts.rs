//! What a reader needs to run it by hand: the SQL of the set-up and the scripts of the loads, rendered.
//!
//! Where scenarios have different texts, each says whose it is.

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

/// Texts of all scenarios in their order, each once.
pub(super) fn texts(runs: Runs<'_>) -> Vec<TextView> {
    let cells = &runs.spec.cells;
    let mut found: Vec<TextView> = Vec::new();
    for cell in cells {
        for (title, text) in of(&cell.scenario) {
            match found.iter_mut().find(|known| known.title == title && known.text == text) {
                Some(known) => known.scenarios.push(cell.title.clone()),
                None => found.push(TextView { title, scenarios: vec![cell.title.clone()], text }),
            }
        }
    }
    for text in &mut found {
        if text.scenarios.len() == cells.len() {
            text.scenarios.clear();
        }
    }
    found
}

fn of(scenario: &Scenario) -> Vec<(String, String)> {
    let mut out = Vec::new();
    for setup in &scenario.setup {
        let text = match &setup.work {
            SetupWork::Sql(sql) => sql.trim().to_owned(),
            SetupWork::PgbenchInit(init) => format!("-- {}", pgbench_init::words(*init)),
        };
        out.push((format!("Set-up `{}` on {}", setup.name, listed(&setup.nodes)), text));
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
            let title = format!("Workload `{name}` on {}: {clients}, {extent}{which}", load.node);
            out.push((title, script.text.trim().to_owned()));
        }
    }
    out
}
