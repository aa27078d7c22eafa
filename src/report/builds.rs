//! The PostgreSQL builds of a run: what each is, and what differs between the two sides of the comparison.

use indexmap::IndexMap;
use serde::Serialize;

use super::figures::Runs;
use super::footnotes::{Footnote, Footnotes};
use super::format::{NONE, listed};
use crate::results::{Build, NodeRecord, RunRecord};

/// A longer list of compiler flags stands below the table.
const LONGEST_FLAGS: usize = 24;

/// What of a build tells how it was made: the key of the record and its name for people.
const MADE_BY: [(&str, &str); 10] = [
    ("CC", "compiler"),
    ("CFLAGS", "CFLAGS"),
    ("CPPFLAGS", "CPPFLAGS"),
    ("LDFLAGS", "LDFLAGS"),
    ("debug_assertions", "assertions"),
    ("lz4", "lz4"),
    ("zstd", "zstd"),
    ("ssl", "ssl"),
    ("icu", "icu"),
    ("io_method", "io_method"),
];

/// The builds, decided.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct BuildsView {
    /// A row a build; none if all nodes have the same and the spec names none.
    pub rows: Vec<BuildRow>,
    /// What is too long for a cell.
    pub footnotes: Vec<Footnote>,
    /// What else differs between the two sides of the comparison, a line.
    pub between_sides: Option<String>,
    /// Builds with assertions, by their titles.
    pub with_assertions: Vec<String>,
}

/// A build.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct BuildRow {
    /// The spec's title; without one its nodes.
    pub title: String,
    /// Nodes that run it, in any scenario.
    pub nodes: Vec<String>,
    /// Version as the server tells it.
    pub version: String,
    /// Digest of its binary.
    pub digest: String,
    /// yes, no, or a dash where it is not known: lz4, zstd, ssl, icu.
    pub with: IndexMap<String, String>,
    /// `io_method`; a dash where there is none.
    pub io_method: String,
    /// on or off.
    pub assertions: String,
    /// Compiler flags, shortened.
    pub cflags: String,
}

/// A node of a scenario, with what is known of its server.
struct Server<'a> {
    title: Option<&'a str>,
    node: &'a str,
    planned: Option<&'a Build>,
    record: &'a NodeRecord,
}

impl Server<'_> {
    fn told(&self, key: &str) -> &str {
        self.record.config.get(key).map_or(NONE, |value| value.trim())
    }

    fn digest(&self) -> &str {
        self.planned.and_then(|build| build.digest.as_deref()).unwrap_or(NONE)
    }
}

pub(super) fn builds(run: &RunRecord, runs: Runs<'_>) -> BuildsView {
    let servers: Vec<Server<'_>> = runs.spec.cells.iter().flat_map(|cell| servers(run, runs, &cell.name)).collect();
    let named = servers.iter().any(|server| server.title.is_some());
    let mut notes = Footnotes::default();
    let mut rows: Vec<BuildRow> = Vec::new();
    for server in &servers {
        let row = row(server, &mut notes);
        let same = |other: &&mut BuildRow| {
            let alike = BuildRow { nodes: row.nodes.clone(), ..(**other).clone() };
            alike == row
        };
        match rows.iter_mut().find(same) {
            Some(known) if known.nodes.contains(&row.nodes[0]) => {}
            Some(known) => known.nodes.extend(row.nodes),
            None => rows.push(row),
        }
    }
    for row in rows.iter_mut().filter(|row| row.title.is_empty()) {
        row.title = listed(&row.nodes);
    }
    let with_assertions = rows.iter().filter(|row| row.assertions == "on").map(|row| row.title.clone()).collect();
    if !named && rows.len() < 2 {
        rows.clear();
    }
    let footnotes = if rows.is_empty() { Vec::new() } else { notes.into_list() };
    BuildsView { between_sides: between_sides(run, runs), rows, footnotes, with_assertions }
}

/// The servers of a scenario, as one of its runs found them.
fn servers<'a>(run: &'a RunRecord, runs: Runs<'a>, cell: &'a str) -> Vec<Server<'a>> {
    let Some(scenario) = runs.scenario(cell) else { return Vec::new() };
    let own = runs.samples.iter().filter(|sample| sample.cell == cell);
    let Some(sample) = own.into_iter().find(|sample| sample.nodes.values().any(|node| !node.config.is_empty())) else {
        return Vec::new();
    };
    let planned = run.builds_by_scenario.get(cell).unwrap_or(&run.builds);
    sample
        .nodes
        .iter()
        .map(|(node, record)| {
            let named = scenario.nodes.get(node).and_then(|node| node.build.as_ref());
            Server { title: named.map(|(_, build)| build.title.as_str()), node, planned: planned.get(node), record }
        })
        .collect()
}

fn row(server: &Server<'_>, notes: &mut Footnotes) -> BuildRow {
    let flags = server.told("CFLAGS");
    let cflags = if flags.chars().count() <= LONGEST_FLAGS {
        flags.to_owned()
    } else {
        // What says most of a build's speed comes first.
        let level = flags.split_whitespace().rfind(|flag| flag.starts_with("-O")).unwrap_or_default();
        format!("{} …{}", level, notes.mark(flags)).trim_start().to_owned()
    };
    BuildRow {
        title: server.title.unwrap_or_default().to_owned(),
        nodes: vec![server.node.to_owned()],
        version: server.record.version.split_whitespace().next().unwrap_or(NONE).to_owned(),
        digest: server.digest().to_owned(),
        with: ["lz4", "zstd", "ssl", "icu"].map(|key| (key.to_owned(), server.told(key).to_owned())).into(),
        io_method: server.told("io_method").to_owned(),
        assertions: server.told("debug_assertions").to_owned(),
        cflags,
    }
}

/// What differs in how the servers of the two sides were built, beside version and binary, which are what is compared.
fn between_sides(run: &RunRecord, runs: Runs<'_>) -> Option<String> {
    let compare = runs.spec.compare.as_ref()?;
    let mut differing: Vec<String> = Vec::new();
    let mut any = false;
    for pair in runs.spec.comparisons() {
        let [of, to] = [pair.of, pair.to].map(|index| servers(run, runs, &runs.spec.cells[index].name));
        for server in &of {
            let Some(other) = to.iter().find(|other| other.node == server.node) else { continue };
            if server.digest() == other.digest() && server.record.config == other.record.config {
                continue;
            }
            any = true;
            let options = |server: &Server<'_>| options(server.told("CONFIGURE"));
            let mut pairs = vec![("configure's options", options(other), options(server))];
            pairs.extend(MADE_BY.map(|(key, name)| (name, flags(other.told(key)), flags(server.told(key)))));
            for (name, before, after) in pairs.into_iter().filter(|(_, before, after)| before != after) {
                let text = format!("{name} of {} ({before} | {after})", server.node);
                if !differing.contains(&text) {
                    differing.push(text);
                }
            }
        }
    }
    if !any {
        return None;
    }
    let sides = format!("`{}` and `{}`", compare.to, compare.of);
    Some(if differing.is_empty() {
        format!("Beside version and binary, nothing in how they were built differs between {sides}.")
    } else {
        format!("Beside version and binary, there also differ between {sides}: {}.", differing.join("; "))
    })
}

/// The options of `configure` without the folders, which differ from build to build; in their order.
fn options(configure: &str) -> String {
    let folder = |option: &str| {
        ["--prefix", "--bindir", "--libdir", "--datadir", "--mandir", "--docdir", "--sysconfdir", "--includedir"]
            .iter()
            .any(|name| option.starts_with(&format!("{name}=")))
    };
    let words: Vec<&str> = configure
        .split_whitespace()
        .filter(|word| !folder(word.trim_matches('\'')))
        .map(|word| word.trim_matches('\''))
        .collect();
    if words.is_empty() { "none".to_owned() } else { words.join(" ") }
}

/// Flags without those that name folders of the build itself.
fn flags(text: &str) -> String {
    let own = |word: &&str| !word.contains("-rpath") && !word.contains("-prefix-map=");
    text.split_whitespace().filter(own).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_are_no_difference_between_builds() {
        assert_eq!(options("'--prefix=/a/b' '--with-lz4' 'CFLAGS=-O2'"), "--with-lz4 CFLAGS=-O2");
        assert_eq!(options(" '--prefix=/usr'"), "none");
        assert_eq!(flags("-Wl,--as-needed -Wl,-rpath,'/a/lib',--enable-new-dtags -O2"), "-Wl,--as-needed -O2");
    }
}
