//! Data of set-up that is made once: which steps of a node, and by what it is known again.

use std::fmt::Write as _;

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
    let key = digest.iter().take(KEY_BYTES).fold(String::new(), |mut key, byte| {
        write!(key, "{byte:02x}").expect("writing to a string cannot fail");
        key
    });
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

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use std::path::Path;

    use crate::plan::facts::Facts;
    use crate::plan::instruction::{Dataset, Instruction};
    use crate::plan::plan;
    use crate::spec::{Options, Read, read};
    use crate::text::SourceMap;

    /// The data of each node of a spec, and the set-up that runs each turn.
    fn planned(setup: &str, node: &str) -> (Vec<Dataset>, Vec<String>) {
        let text = format!(
            "title = \"T\"\n[run]\nrounds = 1\n[nodes.a]\n{node}\n[nodes.b]\n{setup}\n\
             [[phases]]\nname = \"p\"\nhold = \"1s\"\n"
        );
        let mut sources = SourceMap::default();
        sources.add("spec.toml", text.as_str());
        let Read::Done(spec, mut issues) = read(Path::new("spec.toml"), &sources, Options::default()) else {
            panic!("the spec needs no other text");
        };
        let plan = plan(&spec, &sources, &Facts::default(), &mut issues);
        let told: Vec<String> = issues.into_sorted().iter().map(|issue| issue.message.clone()).collect();
        assert!(told.is_empty(), "{told:?}");
        let up = &plan.cells[0].turn.up;
        let data = up.iter().filter_map(|step| match &step.instruction {
            Instruction::Data(dataset) => Some(dataset.clone()),
            _ => None,
        });
        let later = up.iter().filter(|step| step.what.starts_with("setup step"));
        (data.collect(), later.map(|step| step.what.clone()).collect())
    }

    const FIRST: &str = "[[setup]]\nname = \"first\"\nnodes = \"all\"\nsql = \"SELECT 1\"\n";
    const ROWS: &str = "[[setup]]\nname = \"rows\"\nnodes = [\"a\"]\npgbench_init = { scale = 2 }\n";
    const LAST: &str = "[[setup]]\nname = \"last\"\nnodes = [\"a\"]\nsql = \"SELECT 2\"\n";

    #[test]
    fn steps_up_to_the_last_cached_one_of_a_node_are_made_once() {
        let (data, later) = planned(&[FIRST, ROWS, LAST].concat(), "");
        assert_eq!(data.len(), 1);
        assert_eq!(data[0].node, "a");
        let names: Vec<&str> = data[0].steps.iter().map(|(what, _)| what.as_str()).collect();
        assert_eq!(names, ["setup step `first`", "setup step `rows`: pgbench's tables at scale 2"]);
        assert_eq!(later, ["setup step `first`", "setup step `last`"], "`first` still runs on b, `last` on a");
    }

    #[test]
    fn the_key_cache_overrides_the_default_both_ways() {
        let (data, later) = planned(&format!("{ROWS}cache = false\n"), "");
        assert!(data.is_empty() && later.len() == 1);
        let (data, later) = planned(&format!("{FIRST}cache = true\n"), "");
        assert_eq!(data.iter().map(|own| own.node.as_str()).collect::<Vec<_>>(), ["a", "b"]);
        assert!(later.is_empty());
        assert_ne!(data[0].key, data[1].key, "places differ");
        let (data, _) = planned(&ROWS.replace("scale = 2", "scale = 2, rows = false"), "");
        assert!(data.is_empty(), "tables without rows are not worth it");
    }

    #[test]
    fn what_changes_the_data_changes_its_key_and_titles_do_not() {
        let key = |setup: &str, node: &str| planned(setup, node).0.first().unwrap().key.clone();
        let plain = key(ROWS, "");
        assert_eq!(plain, key(&ROWS.replace("\"rows\"", "\"other\""), ""));
        assert_eq!(plain, key(&[ROWS, LAST].concat(), ""));
        assert_ne!(plain, key(&ROWS.replace("scale = 2", "scale = 3"), ""));
        assert_ne!(plain, key(&[FIRST, ROWS].concat(), ""));
        assert_ne!(plain, key(ROWS, "checksums = true"));
        assert_ne!(plain, key(ROWS, "settings = { wal_level = \"logical\" }"));
    }
}
