//! The WAL ledger: what each node wrote over the measured phases, by scenario, and which resource managers wrote it.
//!
//! Medians of the valid runs. Records of an older runner, which count nothing but bytes, have no ledger.

use indexmap::IndexMap;
use serde::Serialize;

use super::figures::Runs;
use super::footnotes::{Footnote, Footnotes};
use super::format::{NONE, figure, listed};
use crate::measure::{Dim, Evidence, Labels, NodeEvidence, Unit, find};
use crate::results::{PhaseRecord, Sample};
use crate::stats::Summary;

/// How many resource managers of a node are named, and from which share of its bytes on.
const NAMED: usize = 3;
const LEAST_SHARE: f64 = 0.005;

/// The ledger of a report.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct LedgerView {
    /// By scenario and node; empty if nothing was counted.
    pub rows: Vec<LedgerRow>,
    /// What the marks mean.
    pub footnotes: Vec<Footnote>,
}

/// One node of a scenario.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LedgerRow {
    /// Scenario.
    pub scenario: String,
    /// Its title.
    pub title: String,
    /// Node.
    pub node: String,
    /// Valid runs.
    pub n: usize,
    /// Medians by metric, over the measured phases; one that is absent in every run is left out.
    pub medians: IndexMap<&'static str, f64>,
    /// Median bytes by resource manager, full-page images included, the most first.
    pub rmgr_bytes: IndexMap<String, f64>,
    /// Mark of why no resource manager is known.
    pub mark: String,
}

/// Metrics of a row, in the order of the columns, with their headings.
pub(super) const COLUMNS: [(&str, &str); 5] = [
    ("wal_lsn_bytes", "WAL bytes by position"),
    ("wal_bytes", "Record bytes"),
    ("wal_records", "Records"),
    ("wal_fpi", "Full-page images"),
    ("wal_bytes_per_transaction", "Bytes a transaction"),
];

impl LedgerRow {
    /// `Heap 84 %, Btree 15 %`.
    pub(super) fn mostly(&self) -> String {
        let all: f64 = self.rmgr_bytes.values().sum();
        let share = |(name, bytes): (&String, &f64)| format!("{name} {}", figure(bytes / all, Unit::Fraction, 0));
        let enough = |(_, bytes): &(&String, &f64)| **bytes / all >= LEAST_SHARE;
        let named: Vec<String> = self.rmgr_bytes.iter().filter(enough).take(NAMED).map(share).collect();
        if named.is_empty() { NONE.to_owned() } else { listed(&named) }
    }
}

pub(super) fn ledger(runs: Runs<'_>) -> LedgerView {
    let mut notes = Footnotes::default();
    let mut rows = Vec::new();
    let mut seen = Vec::new();
    for cell in &runs.spec.cells {
        let scenario = &cell.scenario;
        if seen.contains(&cell.name.as_str()) {
            continue;
        }
        seen.push(&cell.name);
        let windows: Vec<Evidence> = runs.valid(&cell.name).map(measured).collect();
        for node in scenario.nodes.keys() {
            rows.extend(row(&windows, node, &mut notes).map(|row| LedgerRow {
                scenario: cell.name.clone(),
                title: cell.title.clone(),
                ..row
            }));
        }
    }
    LedgerView { rows, footnotes: notes.into_list() }
}

/// The phases of a run from the first measured one to the last as one window: positions and statistics span what lies
/// between.
fn measured(sample: &Sample) -> Evidence {
    let phases: Vec<&PhaseRecord> = sample.phases.values().collect();
    let first = phases.iter().position(|phase| phase.measure);
    let last = phases.iter().rposition(|phase| phase.measure);
    match (first, last) {
        (Some(first), Some(last)) => Evidence::join(phases[first..=last].iter().map(|phase| &phase.evidence)),
        _ => Evidence::default(),
    }
}

fn row(windows: &[Evidence], node: &str, notes: &mut Footnotes) -> Option<LedgerRow> {
    let observed: Vec<&NodeEvidence> = windows.iter().filter_map(|window| window.nodes.get(node)).collect();
    let counted = |node: &&NodeEvidence| {
        node.wal_rmgrs.is_some() || node.wal_rmgrs_absent.is_some() || node.wal_records_start.is_some()
    };
    if !observed.iter().any(counted) {
        return None;
    }
    let labels = Labels(vec![(Dim::Node, node.to_owned())]);
    let mut medians = IndexMap::new();
    for (name, _) in COLUMNS {
        let metric = find(name).expect("the columns are of the catalogue");
        let values: Vec<f64> = windows.iter().filter_map(|window| (metric.read)(window, &labels).ok()).collect();
        if let Some(spread) = Summary::of(&values) {
            medians.insert(name, spread.median);
        }
    }
    let mut by_rmgr: IndexMap<&String, Vec<f64>> = IndexMap::new();
    for (name, wrote) in observed.iter().filter_map(|node| node.wal_rmgrs.as_ref()).flatten() {
        by_rmgr.entry(name).or_default().push((wrote.record_bytes + wrote.fpi_bytes) as f64);
    }
    let known = observed.iter().filter(|node| node.wal_rmgrs.is_some()).count();
    let mut rmgr_bytes: IndexMap<String, f64> = by_rmgr
        .into_iter()
        .filter_map(|(name, mut bytes)| {
            // In a run that does not name it, it wrote nothing.
            bytes.resize(known, 0.0);
            Some((name.clone(), Summary::of(&bytes)?.median))
        })
        .filter(|(_, bytes)| *bytes > 0.0)
        .collect();
    rmgr_bytes.sort_by(|_, a, _, b| b.total_cmp(a));
    let refused = observed.iter().find_map(|node| node.wal_rmgrs_absent.clone());
    let mark = refused.filter(|_| known < observed.len()).map(|reason| notes.mark(&reason)).unwrap_or_default();
    Some(LedgerRow {
        scenario: String::new(),
        title: String::new(),
        node: node.to_owned(),
        n: windows.len(),
        medians,
        rmgr_bytes,
        mark,
    })
}
