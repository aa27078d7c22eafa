//! The invariant of merging: whatever was laid over what, a span alone finds the text that a value came from.

use std::path::{Path, PathBuf};

use proptest::prelude::*;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::document::{Clash, Laying, Loader, Table, merge, parse};
use super::{Unread, flags, overlay};
use crate::text::{Issues, SourceMap};

/// Every text that a spec is read from, with flags in front.
fn sources(root: &str, flags: &[&str]) -> SourceMap {
    let top = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    let mut sources = SourceMap::default();
    for flag in flags {
        sources.add_flag(format!("--set {flag}"), *flag);
    }
    loop {
        let mut loader = Loader::new(&sources);
        loader.load(Path::new(root), None);
        if loader.missing.is_empty() {
            return sources;
        }
        for path in loader.missing {
            let text = std::fs::read_to_string(top.join(&path)).expect("a file of this repository");
            sources.add(path, text);
        }
    }
}

/// Checks keys and leaves against what their spans cut out of the texts, and counts them.
fn check_table(table: &DeTable<'_>, sources: &SourceMap, checked: &mut usize) {
    for (key, value) in table {
        let written = sources.slice(key.span().into()).expect("within one file");
        let text = format!("{written} = 1");
        let back = DeTable::parse(&text).expect("a key");
        assert_eq!(back.get_ref().keys().next().map(Spanned::get_ref), Some(key.get_ref()));
        *checked += 1;
        check_value(value, sources, checked);
    }
}

fn check_value(value: &Spanned<DeValue<'_>>, sources: &SourceMap, checked: &mut usize) {
    match value.get_ref() {
        DeValue::Table(table) => check_table(table, sources, checked),
        DeValue::Array(list) => list.iter().for_each(|item| check_value(item, sources, checked)),
        leaf => {
            let span = value.span().into();
            let written = sources.slice(span).expect("within one file");
            let back = DeValue::parse(written).expect("a value");
            assert_eq!(format!("{:?}", back.get_ref()), format!("{leaf:?}"), "{}", sources.locate(span));
            *checked += 1;
        }
    }
}

/// Reads, lays every scenario and the flags, and checks all of it. Gives how many keys and leaves that were.
fn check(root: &str, flags: &[&str], quick: bool) -> usize {
    let sources = sources(root, flags);
    let mut loader = Loader::new(&sources);
    let doc = loader.load(Path::new(root), None);
    let mut issues = loader.issues;
    let (base, scenarios) = overlay::scenarios(doc, &mut issues);
    let flags = flags::Flags::read(quick, &sources, &scenarios.laid, &mut issues);
    let mut checked = 0;
    for table in std::iter::once(base).chain(scenarios.laid.into_iter().map(|scenario| scenario.table)) {
        // `[quick]` is laid under the key `vars`, which stands nowhere.
        let mut laid = flags.lay(table, &mut issues);
        let vars = laid.remove("vars");
        check_table(&laid, &sources, &mut checked);
        if let Some(vars) = &vars {
            check_value(vars, &sources, &mut checked);
        }
    }
    assert!(issues.is_empty(), "{root}: {:?}", issues.as_slice());
    checked
}

#[test]
fn a_span_alone_finds_the_text_in_every_reference_spec() {
    // Keys and leaves of the base and of each merged scenario.
    for (name, at_least) in [
        ("empty_transactions", 400),
        ("hidden_cpu_cost", 1000),
        ("replica_identity_full", 200),
        ("sync_vs_cluster", 1500),
    ] {
        let folder = if name == "empty_transactions" { "specs" } else { "tests/fixtures/specs" };
        let checked = check(&format!("{folder}/{name}.toml"), &[], false);
        assert!(checked >= at_least, "{name}: {checked}");
    }
}

#[test]
fn a_span_alone_finds_the_text_through_includes_overlays_and_flags() {
    let root = "tests/fixtures/layers/layers.toml";
    let flags = ["vars.clients = 4", "run.rounds=1", "subscriptions.feed.options.streaming = 'off'"];
    let plain = check(root, &[], false);
    assert!(plain > 500, "{plain}");
    assert!(check(root, &flags, true) >= plain);
}

#[test]
fn a_value_points_to_the_text_that_won() {
    let root = "tests/fixtures/layers/layers.toml";
    let sources = sources(root, &["vars.clients = 4"]);
    let mut loader = Loader::new(&sources);
    let doc = loader.load(Path::new(root), None);
    let mut issues = Issues::default();
    let (_, scenarios) = overlay::scenarios(doc, &mut issues);
    let flags = flags::Flags::read(false, &sources, &scenarios.laid, &mut issues);
    let place = |scenario: &str, path: &[&str]| -> Option<String> {
        let laid = scenarios.laid.iter().find(|laid| laid.name == scenario).expect("defined");
        let table = flags.lay(laid.table.clone(), &mut Issues::default());
        let (last, around) = path.split_last().expect("a path");
        let mut at = &table;
        for key in around {
            at = at.get(*key)?.get_ref().as_table()?;
        }
        Some(sources.locate(at.get(*last)?.span().into()).replace("tests/fixtures/layers/", ""))
    };
    for (scenario, path, expected) in [
        // The including file wins over an include, a scenario over both, a flag over all.
        ("text", &["postgres", "settings", "shared_buffers"][..], Some("layers.toml:19")),
        ("text", &["postgres", "settings", "fsync"], Some("parts/servers.toml:7")),
        ("text", &["vars", "rows"], Some("layers.toml:8")),
        ("indexed", &["vars", "rows"], Some("layers.toml:63")),
        ("text", &["vars", "clients"], Some("--set vars.clients = 4")),
        // Through `like`, and left out again.
        ("binary", &["subscriptions", "feed", "options", "binary"], Some("layers.toml:56")),
        ("indexed", &["subscriptions", "feed", "options", "binary"], None),
        ("indexed", &["nodes", "subscriber", "settings", "work_mem"], Some("layers.toml:57")),
        ("indexed", &["nodes", "publisher", "settings", "max_wal_size"], None),
    ] {
        assert_eq!(place(scenario, path).as_deref(), expected, "{scenario} {path:?}");
    }
}

fn lay<'s>(base: Table<'s>, over: Table<'s>, issues: &mut Issues) -> Table<'s> {
    let unread = Unread::default();
    merge(base, over, &mut Vec::new(), Laying { clash: Clash::OverlayWins, unread: &unread }, issues)
}

fn read(text: &str) -> Table<'_> {
    parse(text, 0, &mut Issues::default())
}

/// A table without its places.
fn plain(table: &DeTable<'_>) -> String {
    fn value(of: &DeValue<'_>) -> String {
        match of {
            DeValue::Table(table) => plain(table),
            DeValue::Array(list) => list.iter().map(|item| value(item.get_ref()) + ",").collect(),
            leaf => format!("{leaf:?}"),
        }
    }
    let entries = table.iter().map(|(key, of)| format!("{}={};", key.get_ref(), value(of.get_ref())));
    format!("{{{}}}", entries.collect::<String>())
}

/// A small text: values at paths of few keys, so that texts meet, and steps of set-up.
fn small_text() -> impl Strategy<Value = String> {
    let path = proptest::sample::select(vec!["vars.a", "vars.b", "nodes.p.x", "nodes.p.y", "nodes.s.x", "title"]);
    let values = proptest::collection::btree_map(path, 0..100i32, 0..5);
    let name = proptest::sample::select(vec!["one", "two", "three"]);
    let steps = proptest::collection::btree_map(name, 0..100i32, 0..3);
    (values, steps).prop_map(|(values, steps)| {
        let values = values.iter().map(|(path, value)| format!("{path} = {value}\n"));
        let steps = steps.iter().map(|(name, value)| format!("[[setup]]\nname = '{name}'\nsql = {value}\n"));
        values.chain(steps).collect()
    })
}

proptest! {
    #[test]
    fn laying_over_is_associative_and_nothing_changes_nothing(
        a in small_text(), b in small_text(), c in small_text(),
    ) {
        let mut issues = Issues::default();
        let (a, b, c) = (a.as_str(), b.as_str(), c.as_str());
        let inner = lay(read(a), read(b), &mut issues);
        let left = lay(inner, read(c), &mut issues);
        let outer = lay(read(b), read(c), &mut issues);
        let right = lay(read(a), outer, &mut issues);
        prop_assert_eq!(plain(&left), plain(&right));
        prop_assert_eq!(plain(&lay(read(a), Table::new(), &mut issues)), plain(&read(a)));
        prop_assert_eq!(plain(&lay(Table::new(), read(a), &mut issues)), plain(&read(a)));
        prop_assert_eq!(plain(&lay(read(a), read(a), &mut issues)), plain(&read(a)));
        prop_assert!(issues.is_empty());
    }
}
