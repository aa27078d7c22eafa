//! Data of set-up that is made once: which steps of a node, and by what it is known again.

use sha2::{Digest as _, Sha256};

use super::instruction::Dataset;
use super::node::{NodePlan, Origin};
use super::sql::pgbench_init;
use crate::spec::Scenario;
use crate::spec::scenario::SetupWork;

/// Bytes of a key that are kept.
const KEY_BYTES: usize = 16;

/// How many steps of the scenario, those of other nodes counted, come before and with the last one of `node` that is
/// cached: those of `node` among them are in its data.
pub(super) fn prefix(scenario: &Scenario, node: &str) -> usize {
    let cached = |setup: &crate::spec::scenario::Setup| setup.cache.value && setup.nodes.iter().any(|own| own == node);
    scenario.setup.iter().rposition(cached).map_or(0, |last| last + 1)
}

/// The data of a node; none if no step of it is cached.
///
/// Settings of the spec are in the key, all of them: which of them change what is written is PostgreSQL's business. What
/// the runner raises for the topology (connections, workers) is not: it changes nothing in a stopped server's files, and
/// would make new data for each number of clients.
pub(super) fn of(name: &str, node: &NodePlan, scenario: &Scenario) -> Option<Dataset> {
    let steps: Vec<(String, String)> = scenario.setup[..prefix(scenario, name)]
        .iter()
        .filter(|setup| setup.nodes.iter().any(|own| own == name))
        .map(|setup| {
            let (what, sql) = work(&setup.work);
            (format!("setup step `{}`{what}", setup.name), sql)
        })
        .collect();
    if steps.is_empty() {
        return None;
    }
    let checksums = node.checksums.map_or("the version's default", |on| if on { "on" } else { "off" });
    let mut parts = vec![("place".to_owned(), node.place.to_string()), ("checksums".to_owned(), checksums.to_owned())];
    let spec = node.settings.iter().filter(|(_, planned)| matches!(planned.origin, Origin::Spec(_)));
    parts.extend(spec.map(|(setting, planned)| (setting.clone(), planned.value.clone())));
    // The names of steps are titles; the order of settings is of no effect.
    let mut sorted = parts.clone();
    sorted.sort();
    let sql: Vec<&String> = steps.iter().map(|(_, sql)| sql).collect();
    let digest = Sha256::digest(format!("{sorted:?}\n{sql:?}"));
    let key = digest.iter().take(KEY_BYTES).map(|byte| format!("{byte:02x}")).collect();
    Some(Dataset { node: name.to_owned(), key, parts, steps })
}

/// What a step does beyond its name, in words, and its SQL.
pub(super) fn work(work: &SetupWork) -> (String, String) {
    match work {
        SetupWork::Sql(sql) => (String::new(), sql.clone()),
        SetupWork::PgbenchInit(init) => (format!(": {}", pgbench_init::words(*init)), pgbench_init::create(*init)),
    }
}

impl Dataset {
    /// In words: a heading, and the SQL by which it is made.
    pub(super) fn words(&self) -> (String, Option<String>) {
        let parts: Vec<String> = self.parts.iter().map(|(label, value)| format!("{label} {value}")).collect();
        let names: Vec<&str> = self.steps.iter().map(|(what, _)| what.as_str()).collect();
        let head = format!(
            "data of {}, made once, kept in the cache and copied: {} (key {} of the SQL, {}; and the server's program)",
            self.node,
            names.join(", "),
            self.key,
            parts.join(", ")
        );
        let sql: Vec<&str> = self.steps.iter().map(|(_, sql)| sql.as_str()).collect();
        (head, Some(sql.join("\n")))
    }
}
