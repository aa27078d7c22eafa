//! Logical replication slots: the statements that create, look at and drop one, and the options handed to its output
//! plugin.
//!
//! An option's value is the text that the plugin gets; how it is quoted on the way (replication command,
//! `pg_recvlogical -o`) is others'. Which plugins a server has is not known here.

use super::marker;
use crate::text::quote::{identifier, literal};

/// PostgreSQL's own output plugin, which sends what publications publish.
pub const PGOUTPUT: &str = "pgoutput";
/// The option of pgoutput that names publications.
pub const PUBLICATION_NAMES: &str = "publication_names";

/// Plugins whose output is read for changes and markers.
pub const READABLE: &[&str] = &["test_decoding", PGOUTPUT];

/// How often `pg_recvlogical` confirms, in seconds, as the runner's own client does; by default it would be ten, and what
/// a slot retains would be that of ten seconds.
pub const RECVLOGICAL_OPTIONS: &[&str] = &["--status-interval=1", "--fsync-interval=1"];

/// The longest name of a slot: one byte less than `NAMEDATALEN`.
const LONGEST_NAME: usize = 63;

/// What a slot is created with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SlotDefinition {
    /// The slot's name.
    pub name: String,
    /// The output plugin, e.g. `test_decoding`.
    pub plugin: String,
    /// Whether prepared transactions are decoded at PREPARE.
    pub two_phase: bool,
    /// Whether it is kept on standbys too; 17 and later.
    pub failover: bool,
}

/// Why a slot cannot be created. Each text fits behind "failed to plan slot `…`: ".
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum SlotError {
    /// PostgreSQL takes no such name for a slot.
    #[error(
        "`{name}` cannot name a replication slot: use lower-case letters, digits and underscores, {LONGEST_NAME} at most"
    )]
    Name {
        /// The name.
        name: String,
    },
    /// The version has no such option.
    #[error("PostgreSQL {major} has no slots with `{option}`; it came with {since}")]
    TooOld {
        /// The option.
        option: &'static str,
        /// The node's major version.
        major: u32,
        /// The first that has it.
        since: u32,
    },
}

/// The statement that creates a slot on a server of version `major`. It must be alone in its transaction: a slot cannot
/// be created in one that has written. It waits for the transactions that are running.
pub fn create(slot: &SlotDefinition, major: u32) -> Result<String, SlotError> {
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
    if slot.name.is_empty() || slot.name.len() > LONGEST_NAME || !slot.name.bytes().all(plain) {
        return Err(SlotError::Name { name: slot.name.clone() });
    }
    for (wanted, option, since) in [(slot.two_phase, "two_phase", 14), (slot.failover, "failover", 17)] {
        if wanted && major < since {
            return Err(SlotError::TooOld { option, major, since });
        }
    }
    let mut arguments = vec![literal(&slot.name), literal(&slot.plugin)];
    if slot.two_phase || slot.failover {
        arguments.extend([String::from("false"), slot.two_phase.to_string()]);
    }
    if slot.failover {
        arguments.push(String::from("true"));
    }
    Ok(format!("SELECT pg_catalog.pg_create_logical_replication_slot({})", arguments.join(", ")))
}

/// The statement that drops a slot; the server refuses while a walsender uses it.
pub fn drop(name: &str) -> String {
    format!("SELECT pg_catalog.pg_drop_replication_slot({})", literal(name))
}

/// A query of one row: the walsender that uses the slot (NULL if none), the confirmed position, and what became of its
/// WAL (`reserved`, `extended`, `unreserved`, `lost`).
pub fn state(name: &str) -> String {
    format!(
        "SELECT active_pid, confirmed_flush_lsn, wal_status FROM pg_catalog.pg_replication_slots WHERE slot_name = {}",
        literal(name)
    )
}

/// An option of an output plugin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PluginOption {
    /// Its name, as the plugin spells it (`publication_names`, `include-xids`).
    pub name: String,
    /// Its value as the plugin gets it, unquoted; an option may stand without one.
    pub value: Option<String>,
}

impl PluginOption {
    /// An option with a plain value.
    pub fn new(name: impl Into<String>, value: impl Into<String>) -> Self {
        Self { name: name.into(), value: Some(value.into()) }
    }

    /// An option whose value is a list of identifiers. The plugin reads it as SQL does: without quotes a capital would
    /// be folded and a comma would part.
    pub fn names<N: AsRef<str>>(name: impl Into<String>, names: impl IntoIterator<Item = N>) -> Self {
        let names: Vec<String> = names.into_iter().map(|name| identifier(name.as_ref())).collect();
        Self::new(name, names.join(","))
    }
}

/// What pgoutput of a server of version `major` must be told: the protocol, as an apply worker of that version asks for
/// it, and the publications, the marker's among them. An option in `given` stands instead of ours of its name, except
/// that publications are the argument's.
pub fn pgoutput_options(publications: &[String], given: &[PluginOption], major: u32) -> Vec<PluginOption> {
    let protocol = match major {
        ..=14 => "2",
        15 => "3",
        _ => "4",
    };
    let mut names: Vec<&str> = publications.iter().map(String::as_str).collect();
    if !names.contains(&marker::PUBLICATION) {
        names.push(marker::PUBLICATION);
    }
    let mut options = Vec::new();
    if !given.iter().any(|option| option.name == "proto_version") {
        options.push(PluginOption::new("proto_version", protocol));
    }
    options.push(PluginOption::names(PUBLICATION_NAMES, names));
    options.extend(given.iter().filter(|option| option.name != PUBLICATION_NAMES).cloned());
    options
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::quote::parse_name;
    use proptest::prelude::*;

    fn slot(name: &str, plugin: &str, two_phase: bool, failover: bool) -> SlotDefinition {
        SlotDefinition { name: name.into(), plugin: plugin.into(), two_phase, failover }
    }

    #[test]
    fn a_slot_is_created_with_no_more_arguments_than_its_version_needs() {
        let function = "SELECT pg_catalog.pg_create_logical_replication_slot";
        for (slot, major, arguments) in [
            (slot("d", "test_decoding", false, false), 14, "('d', 'test_decoding')"),
            (slot("d", "it's", false, false), 18, "('d', 'it''s')"),
            (slot("d", "pgoutput", true, false), 14, "('d', 'pgoutput', false, true)"),
            (slot("d", "pgoutput", false, true), 17, "('d', 'pgoutput', false, false, true)"),
        ] {
            assert_eq!(create(&slot, major), Ok(format!("{function}{arguments}")));
        }
    }

    #[test]
    fn what_the_server_would_refuse_is_refused_with_the_way_out() {
        let error = create(&slot("d", "pgoutput", false, true), 16);
        assert_eq!(error, Err(SlotError::TooOld { option: "failover", major: 16, since: 17 }));
        for name in ["", "My-Slot", "é", &"a".repeat(64)] {
            assert_eq!(
                create(&slot(name, "pgoutput", false, false), 18),
                Err(SlotError::Name { name: name.to_owned() })
            );
        }
    }

    #[test]
    fn the_markers_publication_stands_beside_the_specs() {
        let publications = [String::from("MyPub"), String::from("a,b")];
        let text = |options: Vec<PluginOption>| -> Vec<String> {
            options.into_iter().map(|option| format!("{}={}", option.name, option.value.unwrap_or_default())).collect()
        };
        assert_eq!(
            text(pgoutput_options(&publications, &[], 15)),
            ["proto_version=3", r#"publication_names="MyPub","a,b","runner_marker""#]
        );
        let given = [PluginOption::new("proto_version", "1"), PluginOption::new("binary", "true")];
        assert_eq!(
            text(pgoutput_options(&[], &given, 18)),
            [r#"publication_names="runner_marker""#, "proto_version=1", "binary=true"]
        );
    }

    proptest! {
        #[test]
        fn a_list_of_one_name_reads_back(name in "[^\\x00]{1,20}") {
            let option = PluginOption::names("publication_names", [&name]);
            prop_assert_eq!(parse_name(&option.value.unwrap_or_default()), Some(vec![name]));
        }
    }
}
