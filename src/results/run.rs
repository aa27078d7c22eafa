//! What is stored of a whole run beside its turns: what was planned, on which builds and machine. Pure.
//!
//! Every field has a default, so that a folder of an older runner reads; what a reader does not know is ignored.

use std::path::PathBuf;

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};

use crate::measure::HostFacts;

/// `run.json`: written when the run begins, again when it ends.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct RunRecord {
    /// [`super::record::FORMAT`] of the writer.
    pub format: u32,
    /// The spec file's name without its extension.
    pub spec_name: String,
    /// The spec file's path as given, under which its text is stored.
    pub spec_path: String,
    /// The spec's title.
    pub title: String,
    /// The command line, as a shell would take it.
    pub command: String,
    /// Version of the runner.
    pub runner_version: String,
    /// When the run began, RFC 3339 in UTC.
    pub started: String,
    /// When it ended; absent while it goes on, and for ever if the runner was killed.
    pub finished: Option<String>,
    /// Planned runs of every scenario.
    pub rounds: u32,
    /// Order of the runs within a round, as written in a spec.
    pub order: String,
    /// Seed of the order and of the scripts' random numbers.
    pub seed: u64,
    /// Whether `--quick` reduced it.
    pub quick: bool,
    /// Whether both sides of the comparison were alike.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub aa: bool,
    /// Which cells were kept (`--only`), as given; empty for all.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub only: Vec<String>,
    /// Which shares of the whole plan it is; absent for all of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shard: Option<Shares>,
    /// When it was gone on with after an end, RFC 3339 in UTC each.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub resumed: Vec<String>,
    /// What it was put together from, a sentence a results folder.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub merged: Vec<String>,
    /// Where its programs and data were sought, for going on with it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub call: Option<Call>,
    /// How long it was expected to take, in words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expected: Option<String>,
    /// What the spec asks and most likely does not mean.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    /// Whether the user stopped it.
    pub interrupted: bool,
    /// Digest of the executable part of the plan.
    pub digest: String,
    /// The machine.
    pub host: HostFacts,
    /// PostgreSQL, by node.
    pub builds: IndexMap<String, Build>,
    /// The same by scenario and node, where the scenarios do not all have the same.
    #[serde(skip_serializing_if = "IndexMap::is_empty")]
    pub builds_by_scenario: IndexMap<String, IndexMap<String, Build>>,
    /// Server settings that are planned for every scenario, by node and name; what is not the same in all of
    /// them is in `differences`.
    pub settings: IndexMap<String, IndexMap<String, PlannedSetting>>,
    /// The product's own choices that can move a figure (transport, protocol, the marker's commit …), by key.
    pub choices: IndexMap<String, PlannedSetting>,
    /// Everything that is not the same in all scenarios.
    pub differences: Vec<Difference>,
    /// What differs between the nodes' versions without the spec's doing, a line each.
    pub by_version: Vec<String>,
    /// The same as a table: by a version with its nodes, such as `18 (subscriber)`. Older records have the lines alone.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub by_version_table: Vec<Difference>,
    /// Where each node's data was, by node.
    pub data_folders: IndexMap<String, DataFolder>,
}

/// Shares of a plan that was dealt out to several machines.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Shares {
    /// Their numbers, from 1.
    pub numbers: Vec<u32>,
    /// How many shares there are in all.
    pub of: u32,
    /// Turns of these shares; absent where they are pairs, as many as it takes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub turns: Option<usize>,
    /// Turns of the whole plan.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub whole: Option<usize>,
}

/// Flags of a call that say where, not what.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Call {
    /// `--pg-bin`.
    pub pg_bin: Vec<PathBuf>,
    /// `--run-as`.
    pub run_as: Option<String>,
    /// `--work-dir`.
    pub work_dir: Option<PathBuf>,
}

/// The PostgreSQL of a node.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Build {
    /// What `postgres --version` says.
    pub version: String,
    /// Where its programs come from, in words and without a user's paths (`found in /usr/lib/postgresql/18/bin`,
    /// `installed by pip`).
    pub origin: String,
    /// SHA-256 of its `postgres`, shortened; `None` if it was not read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
}

/// A setting with where it comes from.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct PlannedSetting {
    /// As PostgreSQL reads it.
    pub value: String,
    /// `path:line` of a spec, a flag, or `the runner's default` with its reason.
    pub origin: String,
}

/// Something that is not the same in all scenarios.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Difference {
    /// What, as the spec names it (`setup.index`, `subscriptions.feed.options.binary`).
    pub what: String,
    /// By scenario; one that does not have it at all is left out.
    pub values: IndexMap<String, String>,
}

/// The place of a node's data.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct DataFolder {
    /// Kind of file system, such as `ext4`.
    pub file_system: Option<String>,
    /// Name of the device, for telling which nodes share one.
    pub device: Option<String>,
    /// Median time of a flush of 8 kB, in milliseconds, where it was measured.
    pub flush_ms: Option<f64>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_of_another_version_reads() {
        let text = r#"{ "format": 1, "spec_name": "x", "rounds": 3, "unknown": { "later": [1] } }"#;
        let record: RunRecord = serde_json::from_str(text).expect("all fields have defaults");
        assert_eq!((record.format, record.rounds, record.quick), (1, 3, false));
        assert_eq!(record.builds.len(), 0);
    }
}
