//! Which version has which option of CREATE PUBLICATION and CREATE SUBSCRIPTION, and what an older publisher makes
//! of it. Probed on 14 to 18.

use crate::spec::scenario::{Publication, Published, Scenario, Subscription, Written};
use crate::text::{Code, Issue};

/// A row of the table.
struct OptionRow {
    name: &'static str,
    /// First version of the node that has it.
    since: u32,
    /// Values it takes; empty for any.
    values: &'static [&'static str],
    /// First version of the publisher that honours it, with what an older one does.
    publisher: Option<(u32, &'static str)>,
}

const BOOLEAN: &[&str] = &["true", "false", "on", "off", "yes", "no", "1", "0"];

const fn option(name: &'static str, since: u32, values: &'static [&'static str]) -> OptionRow {
    OptionRow { name, since, values, publisher: None }
}

/// Options of CREATE SUBSCRIPTION.
const SUBSCRIPTION: &[OptionRow] = &[
    option("copy_data", 14, BOOLEAN),
    option("synchronous_commit", 14, &["off", "local", "remote_write", "on", "remote_apply"]),
    option("binary", 14, BOOLEAN),
    option("streaming", 14, &["true", "false", "on", "off", "yes", "no", "1", "0", "parallel"]),
    OptionRow { name: "two_phase", since: 15, values: BOOLEAN, publisher: Some((15, "would silently not do it")) },
    option("disable_on_error", 15, BOOLEAN),
    OptionRow {
        name: "origin",
        since: 16,
        values: &["any", "none"],
        publisher: Some((16, "would silently send every origin")),
    },
    option("password_required", 16, BOOLEAN),
    option("run_as_owner", 16, BOOLEAN),
    OptionRow { name: "failover", since: 17, values: BOOLEAN, publisher: Some((17, "would refuse it")) },
];

/// Options of CREATE PUBLICATION.
const PUBLICATION: &[OptionRow] = &[
    option("publish", 14, &[]),
    option("publish_via_partition_root", 14, BOOLEAN),
    option("publish_generated_columns", 18, &["none", "stored"]),
];

/// Options that were announced for a later version than any that is supported.
const AHEAD: &[&str] = &["retain_dead_tuples", "max_retention_duration", "wal_receiver_timeout"];

/// Values that leave a publisher-side option at its default, so that an old publisher does not matter.
const HARMLESS: &[&str] = &["false", "off", "no", "0", "any"];

/// Every mistake in the options of a scenario. `major` gives a node's version, where known.
pub(super) fn check(scenario: &Scenario, major: &dyn Fn(&str) -> Option<u32>, tell: &mut dyn FnMut(Issue)) {
    for publication in scenario.publications.values() {
        let Some(version) = major(&publication.node) else { continue };
        for (name, written) in &publication.options {
            check_one(PUBLICATION, "publication", name, written, version, tell);
        }
        check_clauses(publication, version, tell);
    }
    for subscription in scenario.subscriptions.values() {
        let Some(version) = major(&subscription.node) else { continue };
        for (name, written) in &subscription.options {
            if check_one(SUBSCRIPTION, "subscription", name, written, version, tell) {
                check_publisher(subscription, name, written, version, major(&subscription.publisher), tell);
            }
        }
    }
}

fn check_one(
    table: &[OptionRow],
    kind: &str,
    name: &str,
    written: &Written,
    version: u32,
    tell: &mut dyn FnMut(Issue),
) -> bool {
    let Some(row) = table.iter().find(|row| row.name == name) else {
        let issue = Issue::new(
            Code::OptionLacking,
            format!("no {kind} has an option `{name}`"),
            written.key_span,
            format!("not in PostgreSQL {version}"),
        );
        tell(if AHEAD.contains(&name) {
            issue.help("leave it out: it comes with PostgreSQL 19")
        } else {
            issue.suggest(name, table.iter().map(|row| row.name))
        });
        return false;
    };
    if version < row.since {
        tell(
            Issue::new(
                Code::OptionLacking,
                format!("PostgreSQL {version} has no {kind} option `{name}`"),
                written.key_span,
                format!("{} is the first that has it", row.since),
            )
            .help(format!("leave it out, or choose version \"{}\" or later for this node", row.since)),
        );
        return false;
    }
    let value = written.value.to_lowercase();
    if !row.values.is_empty() && !row.values.contains(&value.as_str()) {
        tell(
            Issue::new(
                Code::OptionLacking,
                format!("`{name}` cannot be `{}`", written.value),
                written.value_span,
                "not a value of it",
            )
            .suggest(&value, row.values.iter().copied()),
        );
        return false;
    }
    if name == "streaming" && value == "parallel" && version < 16 {
        tell(
            Issue::new(
                Code::OptionLacking,
                format!("PostgreSQL {version} has no parallel streaming"),
                written.value_span,
                "16 is the first that has it",
            )
            .help("write streaming = true, or choose version \"16\" or later for this node"),
        );
        return false;
    }
    true
}

fn check_publisher(
    subscription: &Subscription,
    name: &str,
    written: &Written,
    version: u32,
    publisher: Option<u32>,
    tell: &mut dyn FnMut(Issue),
) {
    let Some(publisher) = publisher else { return };
    let value = written.value.to_lowercase();
    let needed = match SUBSCRIPTION.iter().find(|row| row.name == name).and_then(|row| row.publisher) {
        Some(needed) if !HARMLESS.contains(&value.as_str()) => needed,
        _ if name == "streaming" && value == "parallel" => (16, "would silently fall back to streaming = on"),
        _ if name == "binary" && !HARMLESS.contains(&value.as_str()) => (14, ""),
        _ => return,
    };
    if publisher < needed.0 {
        tell(
            Issue::new(
                Code::OptionPublisher,
                format!(
                    "the publisher `{}` (PostgreSQL {publisher}) does not know `{name} = {}`",
                    subscription.publisher, written.value
                ),
                written.value_span,
                format!("it {}", needed.1),
            )
            .help(format!(
                "choose version \"{}\" or later for `{}` (the subscriber has {version}), or leave it out",
                needed.0, subscription.publisher
            )),
        );
    }
}

fn check_clauses(publication: &Publication, version: u32, tell: &mut dyn FnMut(Issue)) {
    let Published::Listed { tables, schemas } = &publication.of else { return };
    let mut lacking = |what: &str, span: crate::text::Span| {
        tell(
            Issue::new(
                Code::OptionLacking,
                format!("PostgreSQL {version} has no {what}"),
                span,
                "15 is the first that has it",
            )
            .help(format!("leave it out, or choose version \"15\" or later for `{}`", publication.node)),
        );
    };
    if version < 15 {
        for table in tables {
            if let Some(span) = table.narrowed_at {
                lacking(if table.columns.is_empty() { "row filters" } else { "column lists" }, span);
            }
        }
        if let Some((_, span)) = schemas.first() {
            lacking("publications of schemas", *span);
        }
    } else if let (Some((_, span)), Some(table)) =
        (schemas.first(), tables.iter().find(|table| !table.columns.is_empty()))
    {
        tell(
            Issue::new(
                Code::Impossible,
                "a column list and a schema cannot be in one publication",
                table.span,
                "with columns",
            )
            .also(*span, "a schema")
            .help("make two publications of it"),
        );
    }
}
