//! What is laid over every scenario: `[quick]`, and what `--set` changes.

use std::collections::HashSet;

use toml::Spanned;
use toml::de::DeValue;

use super::document::{Clash, Laying, Table, merge, parse};
use super::overlay::Laid;
use super::unread::Unread;
use crate::text::{Code, Issue, Issues, SourceMap};

/// Tables by name, with what a name that none of them has is told as.
const NAMED_TABLES: &[(&str, Code)] = &[
    ("builds", Code::UnknownBuild),
    ("nodes", Code::UnknownNode),
    ("publications", Code::UnknownPublication),
    ("subscriptions", Code::UnknownSubscription),
    ("slots", Code::UnknownSlot),
    ("workloads", Code::UnknownWorkload),
];

/// What is laid over every scenario: `[quick]` and the `--set` flags.
pub(super) struct Flags<'s> {
    quick: bool,
    tables: Vec<Table<'s>>,
    /// Names of [`NAMED_TABLES`] that some scenario defines.
    defined: HashSet<(&'static str, String)>,
}

impl<'s> Flags<'s> {
    /// Reads the flags. One that changes a node, publication, subscription or workload that no scenario has is
    /// told and left out.
    pub(super) fn read(quick: bool, sources: &'s SourceMap, scenarios: &[Laid<'s>], issues: &mut Issues) -> Self {
        let defined = NAMED_TABLES
            .iter()
            .flat_map(|(table, _)| {
                scenarios
                    .iter()
                    .filter_map(|scenario| scenario.table.get(*table)?.get_ref().as_table())
                    .flat_map(|named| named.keys().map(|name| (*table, name.get_ref().to_string())))
            })
            .collect();
        let tables = sources.flags().map(|file| parse(&file.text, file.base, issues)).collect();
        let mut flags = Self { quick, tables, defined };
        for (table, code) in NAMED_TABLES {
            let known: Vec<&str> =
                flags.defined.iter().filter(|(of, _)| of == table).map(|(_, name)| name.as_str()).collect();
            for flag in &flags.tables {
                let named = flag.get(*table).and_then(|value| value.get_ref().as_table());
                for name in
                    named.iter().flat_map(|named| named.keys()).filter(|name| !known.contains(&name.get_ref().as_ref()))
                {
                    issues.push(
                        Issue::new(
                            *code,
                            format!("there is no {} `{}`", table.trim_end_matches('s'), name.get_ref()),
                            name.span(),
                            format!("not defined under [{table}]"),
                        )
                        .suggest(name.get_ref(), known.iter().copied()),
                    );
                }
            }
        }
        let defined = |table: &'static str, name: &str| flags.defined.contains(&(table, name.to_owned()));
        flags.tables = flags.tables.iter().map(|flag| keep_named(flag.clone(), defined)).collect();
        flags
    }

    /// Lays `[quick]` (if asked for) and each flag over a table, in this order. What a flag changes of a named
    /// table that this scenario does not have is for those that have it.
    pub(super) fn lay(&self, mut table: Table<'s>, issues: &mut Issues) -> Table<'s> {
        let unread = Unread::default();
        let how = Laying { clash: Clash::OverlayWins, unread: &unread };
        if self.quick
            && let Some(values) = table.get("quick").cloned()
        {
            let mut over = Table::new();
            over.insert(Spanned::new(values.span(), "vars".into()), values);
            table = merge(table, over, &mut Vec::new(), how, issues);
        }
        for flag in &self.tables {
            let here = |of: &'static str, name: &str| {
                table.get(of).and_then(|named| named.get_ref().as_table()).is_some_and(|named| named.contains_key(name))
            };
            let over = keep_named(flag.clone(), here);
            table = merge(table, over, &mut Vec::new(), how, issues);
        }
        table
    }
}

/// A flag's table without the entries of [`NAMED_TABLES`] for which `keep` does not hold.
fn keep_named(mut flag: Table<'_>, keep: impl Fn(&'static str, &str) -> bool) -> Table<'_> {
    for (table, _) in NAMED_TABLES {
        let Some((key, value)) = flag.remove_entry(*table) else { continue };
        let span = value.span();
        let inner = match value.into_inner() {
            DeValue::Table(named) => {
                let kept: Table<'_> = named.into_iter().filter(|(name, _)| keep(table, name.get_ref())).collect();
                if kept.is_empty() {
                    continue;
                }
                DeValue::Table(kept)
            }
            other => other,
        };
        flag.insert(key, Spanned::new(span, inner));
    }
    flag
}
