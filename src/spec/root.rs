//! The spec as written, after merging: every top-level table and key.

use schemars::JsonSchema;
use serde::Deserialize;

use super::field::{At, Later, Named};
use super::tables::builds::RawBuild;
use super::tables::compare::RawCompare;
use super::tables::expect::RawExpect;
use super::tables::matrix::RawBlock;
use super::tables::metrics::RawMetric;
use super::tables::nodes::{RawNode, RawPostgres};
use super::tables::phases::{RawPhase, RawWindows};
use super::tables::publications::RawPublication;
use super::tables::report::RawReport;
use super::tables::run::{RawMarker, RawRun};
use super::tables::setup::RawSetup;
use super::tables::slots::RawSlot;
use super::tables::subscriptions::RawSubscription;
use super::tables::vars::RawVars;
use super::tables::workloads::RawWorkload;

/// A benchmark of PostgreSQL replication.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default, expecting = "a spec")]
#[schemars(rename = "Spec")]
pub(super) struct RawSpec {
    /// One line that names the benchmark.
    pub(super) title: Option<At<String>>,
    /// Markdown, printed in the report.
    pub(super) about: Option<At<String>>,
    /// Variables for templates, in order; a later one may use an earlier one.
    pub(super) vars: RawVars,
    /// Values of variables for `--quick`.
    pub(super) quick: RawVars,
    /// How often and in which order.
    pub(super) run: Option<At<RawRun>>,
    /// What holds for every node.
    pub(super) postgres: Option<At<RawPostgres>>,
    /// PostgreSQL builds that nodes and axes name.
    pub(super) builds: Named<RawBuild>,
    /// Points of the axes at which scenarios are run; those of several blocks add up.
    pub(super) matrix: Vec<At<RawBlock>>,
    /// What the verdict is about.
    pub(super) compare: Option<At<RawCompare>>,
    /// Servers.
    pub(super) nodes: Named<RawNode>,
    /// SQL in order, before anything is wired.
    pub(super) setup: Vec<At<RawSetup>>,
    /// Publications.
    pub(super) publications: Named<RawPublication>,
    /// Subscriptions.
    pub(super) subscriptions: Named<RawSubscription>,
    /// Logical slots that are decoded without a subscription.
    pub(super) slots: Named<RawSlot>,
    /// Loads.
    pub(super) workloads: Named<RawWorkload>,
    /// Phases in order, one clock each.
    pub(super) phases: Vec<At<RawPhase>>,
    /// Names for consecutive phases, such as `total = ["load", "drain"]`.
    pub(super) windows: RawWindows,
    /// The row that says when everything has arrived.
    pub(super) marker: Option<At<RawMarker>>,
    /// Metrics that are computed in each run.
    pub(super) metrics: Named<RawMetric>,
    /// Claims.
    pub(super) expect: Vec<At<RawExpect>>,
    /// What the report shows.
    pub(super) report: Option<At<RawReport>>,
    #[schemars(skip)]
    pub(super) standbys: Option<At<Later>>,
    #[schemars(skip)]
    pub(super) links: Option<At<Later>>,
    #[schemars(skip)]
    pub(super) coordinator: Option<At<Later>>,
    #[schemars(skip)]
    pub(super) verify: Option<At<Later>>,
}

impl RawSpec {
    /// Tables that come later, with what they come with.
    pub(super) fn later(&self) -> [(&'static str, &'static str, Option<&At<Later>>); 4] {
        [
            ("[standbys]", "physical replication", self.standbys.as_ref()),
            ("[links]", "links with delay", self.links.as_ref()),
            ("coordinator", "cluster protocols", self.coordinator.as_ref()),
            ("[verify]", "physical replication", self.verify.as_ref()),
        ]
    }
}

/// What a scenario may change. The schema of a scenario is cut from the spec's by the same list.
pub(super) const OVERLAY_KEYS: &[&str] = &[
    "title",
    "about",
    "vars",
    "postgres",
    "nodes",
    "setup",
    "publications",
    "subscriptions",
    "workloads",
    "phases",
    "windows",
    "marker",
    "slots",
    "standbys",
    "links",
    "coordinator",
    "verify",
];
