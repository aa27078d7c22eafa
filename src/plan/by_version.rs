//! What the nodes' versions differ in without the spec's doing: defaults and behaviour that changed with a major
//! version and can move a figure.

use std::collections::BTreeMap;

use indexmap::{IndexMap, IndexSet};

use super::Cell;
use super::difference::Difference;

/// Which nodes a change concerns.
#[derive(Clone, Copy, Debug)]
enum Concerns {
    /// All.
    Every,
    /// Those whose checksums the spec leaves to the version.
    Checksums,
    /// Those where the spec does not give this setting.
    Setting(&'static str),
    /// Publishers of subscriptions.
    Publishers,
    /// Subscribers.
    Subscribers,
    /// Subscribers with a subscription that does not give this option.
    WithoutOption(&'static str),
    /// Subscribers with a subscription that has this option on.
    WithOption(&'static str),
}

/// Since which major version, what, before, and from then on.
const CHANGED: &[(u32, &str, &str, &str, Concerns)] = &[
    (15, "statistics", "by a collector process", "in shared memory", Concerns::Every),
    (15, "log_checkpoints", "off", "on", Concerns::Setting("log_checkpoints")),
    (15, "hash_mem_multiplier", "1", "2", Concerns::Setting("hash_mem_multiplier")),
    (15, "transactions without published changes", "sent empty", "skipped", Concerns::Publishers),
    (16, "index for REPLICA IDENTITY FULL", "none", "any B-tree", Concerns::Subscribers),
    (16, "initial copy with binary = true", "as text", "binary", Concerns::WithOption("binary")),
    (
        16,
        "worker of a subscription that is switched",
        "ends and starts within seconds",
        "at once",
        Concerns::Subscribers,
    ),
    (17, "hash index for REPLICA IDENTITY FULL", "no", "yes", Concerns::Subscribers),
    (18, "data checksums (initdb)", "off", "on", Concerns::Checksums),
    (18, "subscription option streaming", "off", "parallel", Concerns::WithoutOption("streaming")),
    (18, "io_method", "synchronous", "worker", Concerns::Setting("io_method")),
    (18, "effective_io_concurrency", "1", "16", Concerns::Setting("effective_io_concurrency")),
    (18, "maintenance_io_concurrency", "10", "16", Concerns::Setting("maintenance_io_concurrency")),
];

/// The changes that the nodes' versions straddle, each with its value by version; a column says which nodes have it.
/// What the spec fixes itself is not among them.
pub(super) fn by_version(cells: &[Cell]) -> Vec<Difference> {
    let columns = columns(cells);
    CHANGED
        .iter()
        .filter_map(|(since, what, before, after, concerns)| {
            let majors = concerned(cells, *concerns);
            let straddled = majors.iter().any(|major| major < since) && majors.iter().any(|major| major >= since);
            if !straddled {
                return None;
            }
            let value = |major: &u32| match (majors.contains(major), major < since) {
                (false, _) => "–",
                (true, true) => *before,
                (true, false) => *after,
            };
            let values = columns.iter().map(|(major, column)| (column.clone(), value(major).to_owned())).collect();
            Some(Difference { what: (*what).to_owned(), values })
        })
        .collect()
}

/// The same, a line each.
pub(super) fn lines(rows: &[Difference]) -> Vec<String> {
    let line = |row: &Difference| {
        let values: Vec<String> = row.values.iter().map(|(column, value)| format!("{value} in {column}")).collect();
        format!("{}: {}", row.what, values.join(", "))
    };
    rows.iter().map(line).collect()
}

/// A column a major version: `18 (subscriber)`.
fn columns(cells: &[Cell]) -> BTreeMap<u32, String> {
    let mut nodes: BTreeMap<u32, IndexSet<&str>> = BTreeMap::new();
    for (name, node) in cells.iter().flat_map(|cell| &cell.nodes) {
        if let Some(build) = &node.build {
            nodes.entry(build.release.major).or_default().insert(name);
        }
    }
    let column = |names: IndexSet<&str>| names.into_iter().collect::<Vec<_>>().join(", ");
    nodes.into_iter().map(|(major, names)| (major, format!("{major} ({})", column(names)))).collect()
}

/// The major versions of the nodes that a change concerns.
fn concerned(cells: &[Cell], concerns: Concerns) -> Vec<u32> {
    let mut majors: IndexMap<u32, ()> = IndexMap::new();
    for cell in cells {
        for (name, node) in &cell.nodes {
            let mut subscriptions = cell.scenario.subscriptions.values().filter(|own| &own.node == name);
            let on = |value: &str| ["true", "on", "1", "yes"].contains(&value.to_ascii_lowercase().as_str());
            let concerned = match concerns {
                Concerns::Every => true,
                Concerns::Checksums => node.checksums.is_none(),
                Concerns::Setting(setting) => !node.settings.contains_key(setting),
                Concerns::Publishers => cell.scenario.subscriptions.values().any(|own| &own.publisher == name),
                Concerns::Subscribers => subscriptions.next().is_some(),
                Concerns::WithoutOption(option) => subscriptions.any(|own| !own.options.contains_key(option)),
                Concerns::WithOption(option) => {
                    subscriptions.any(|own| own.options.get(option).is_some_and(|given| on(&given.value)))
                }
            };
            if let Some(build) = node.build.as_ref().filter(|_| concerned) {
                majors.insert(build.release.major, ());
            }
        }
    }
    majors.into_keys().collect()
}
