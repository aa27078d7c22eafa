//! What is not the same in all cells.

use indexmap::{IndexMap, IndexSet};
use serde::{Deserialize, Serialize};

use super::Cell;
use super::cases::{Case, cases, place};
use super::facets::{Apart, facets};

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
    let apart = Apart::of(cells);
    let mut columns: IndexMap<String, Vec<Option<usize>>> = IndexMap::new();
    for (index, cell) in cells.iter().enumerate() {
        for (what, value) in facets(cell, &apart) {
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

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::super::facts::Facts;
    use super::super::{Plan, plan};
    use crate::spec::{Options, Read, read};
    use crate::text::source::SourceMap;

    const SPEC: &str = r#"
title = "t"
[vars]
standbys = 1
[[matrix]]
axes = { standbys = [1, 3] }
[nodes.p.settings]
wal_level = "logical"
[nodes.s]
count = "{{ standbys }}"
settings = { work_mem = "4MB", maintenance_work_mem = "{{ standbys }}MB" }
[[setup]]
name = "table"
nodes = ["p", "s*"]
sql = "CREATE TABLE t (id int PRIMARY KEY)"
[publications.all]
node = "p"
tables = ["t"]
[subscriptions.feed]
count = "{{ standbys }}"
node = "s{{ number }}"
publications = ["all"]
[workloads.w]
node = "p"
transactions = 1
script = "SELECT 1"
[[phases]]
name = "load"
prepare = [{ disable = "subscriptions.feed*" }]
run = ["w"]
[[phases]]
name = "drain"
start = [{ enable = "subscriptions.feed*" }]
wait = "applied"
"#;

    fn planned(replaced: &[(&str, &str)]) -> Plan {
        let mut text = SPEC.to_owned();
        for (from, to) in replaced {
            assert!(text.contains(from), "{from}");
            text = text.replacen(from, to, 1);
        }
        let mut sources = SourceMap::default();
        sources.add("s.toml", text);
        let Read::Done(spec, mut issues) = read(Path::new("s.toml"), &sources, Options::default()) else {
            panic!("all texts are there");
        };
        let plan = plan(&spec, &sources, &Facts::default(), &mut issues);
        assert!(issues.is_empty(), "{issues:?}");
        plan
    }

    /// Each difference with its value in every cell.
    fn told(plan: &Plan) -> Vec<String> {
        let row = |values: Vec<&str>| values.join(" | ");
        let differences = plan.differences.iter();
        differences
            .map(|own| format!("{}: {}", own.what, row(own.values.values().map(String::as_str).collect())))
            .collect()
    }

    #[test]
    fn copies_that_are_alike_are_told_as_all_of_them() {
        assert_eq!(
            told(&planned(&[])),
            [
                "s*: maintenance_work_mem: 1MB | 3MB",
                "nodes s*: how many: 1 | 3",
                "subscriptions feed*: how many: 1 | 3",
                // One for each subscription, and some to spare.
                "p: max_wal_senders: – | 11",
            ]
        );
    }

    #[test]
    fn a_subscription_is_told_on_the_copies_of_nodes_as_these_are_told() {
        // Nodes by their number are told apart, and then so is where each subscription is.
        let told = told(&planned(&[
            ("axes = { standbys = [1, 3] }", "axes = { standbys = [0, 1, 3] }"),
            ("4MB", "{{ number }}MB"),
        ]));
        let of = |what: &str| told.iter().filter(|row| row.starts_with(what)).cloned().collect::<Vec<_>>();
        assert_eq!(
            of("subscription `"),
            [
                "subscription `feed1`: – | s1 from p (all) | s1 from p (all)",
                "subscription `feed2`: – | – | s2 from p (all)",
                "subscription `feed3`: – | – | s3 from p (all)",
            ]
        );
        assert_eq!(of("s2: work_mem"), ["s2: work_mem: – | – | 2MB"]);
    }

    #[test]
    fn one_copy_by_its_name_is_that_one_in_every_cell() {
        let only = planned(&[("\"p\", \"s*\"", "\"p\", \"s1\"")]);
        assert!(told(&only).iter().all(|row| !row.contains("setup")), "{:#?}", told(&only));
        // Of all copies they are told alike, whatever is done.
        let done = "{ disable = \"subscriptions.feed*\" }";
        let acted = format!("{done}, {{ checkpoint = \"s*\" }}, {{ sql = \"SELECT 1\", nodes = [\"s*\"] }}");
        let all = planned(&[(done, acted.as_str())]);
        assert!(told(&all).iter().all(|row| !row.contains("phase")), "{:#?}", told(&all));
        let one = planned(&[("disable = \"subscriptions.feed*\"", "disable = \"subscriptions.feed1\"")]);
        assert!(told(&one).iter().all(|row| !row.contains("phase")), "{:#?}", told(&one));
    }

    #[test]
    fn what_is_on_no_node_has_no_row_of_its_own() {
        let none = planned(&[
            ("standbys = [1, 3]", "standbys = [0, 1]"),
            ("\"p\", \"s*\"", "\"s*\""),
            ("tables = [\"t\"]", "all_tables = true"),
        ]);
        let setup: Vec<String> = told(&none).into_iter().filter(|row| row.starts_with("setup")).collect();
        assert_eq!(setup, ["setup `table` on s*: – | CREATE TABLE t (id int PRIMARY KEY)"]);
    }

    #[test]
    fn a_setting_of_copies_that_not_every_cell_has_is_one_of_the_run_or_a_difference() {
        let nodes = |plan: &Plan, setting: &str| {
            let common = plan.common_settings().into_iter().filter(|(_, own, _)| *own == setting);
            common.map(|(node, ..)| node.to_owned()).collect::<Vec<_>>()
        };
        let together = planned(&[]);
        assert_eq!(nodes(&together, "work_mem"), ["s1", "s2", "s3"]);
        assert_eq!(nodes(&together, "maintenance_work_mem"), [""; 0]);
        assert_eq!(nodes(&together, "wal_level"), ["p"]);
        // Told apart, what is not there in a cell differs from what is.
        assert_eq!(nodes(&planned(&[("4MB", "{{ number }}MB")]), "work_mem"), ["s1"]);
    }
}
