//! What was seen of a node each second of a phase, column by column. In no sum: a series shows when, not how much.

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};

use crate::text::Lsn;

/// One node in one phase: a point at its clock's start, one each second, and one at its end.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct NodeSeries {
    /// Seconds since the phase's clock, for each point; every other column has as many values.
    pub at: Vec<f64>,
    /// CPU nanoseconds used since the point before, by role; a role that used none is left out.
    #[serde(default)]
    pub cpu_ns: IndexMap<String, Vec<u64>>,
    /// WAL written since the point before, in bytes by insert position; none where the node did not answer.
    #[serde(default)]
    pub wal_bytes: Vec<Option<u64>>,
    /// By replication slot of the node.
    #[serde(default)]
    pub slots: IndexMap<String, SlotSeries>,
}

/// One slot over a phase; a value is missing where it could not be known.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SlotSeries {
    /// From what is applied downstream (confirmed, while no walsender runs) to the insert position, in bytes.
    pub lag_bytes: Vec<Option<u64>>,
    /// How long ago the insert position was where the downstream is now, in seconds ([`lag_seconds`]).
    pub lag_seconds: Vec<Option<f64>>,
    /// WAL that the slot keeps: from its `restart_lsn` to the insert position, in bytes.
    pub retained_bytes: Vec<Option<u64>>,
}

/// A point of a node.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NodePoint {
    /// Seconds since the phase's clock.
    pub at: f64,
    /// CPU nanoseconds since the point before, by role.
    pub cpu_ns: Vec<(String, u64)>,
    /// WAL since the point before, in bytes.
    pub wal_bytes: Option<u64>,
    /// By slot.
    pub slots: Vec<(String, SlotPoint)>,
}

/// A point of a slot.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SlotPoint {
    /// As [`SlotSeries::lag_bytes`].
    pub lag_bytes: Option<u64>,
    /// As [`SlotSeries::lag_seconds`].
    pub lag_seconds: Option<f64>,
    /// As [`SlotSeries::retained_bytes`].
    pub retained_bytes: Option<u64>,
}

impl NodeSeries {
    /// Appends a point. What the others had and it lacks is 0 CPU, and no value of a slot.
    pub fn push(&mut self, point: NodePoint) {
        let before = self.at.len();
        self.at.push(thousandths(point.at));
        for (role, ns) in point.cpu_ns.into_iter().filter(|(_, ns)| *ns > 0) {
            let column = self.cpu_ns.entry(role).or_default();
            column.resize(before, 0);
            column.push(ns);
        }
        self.wal_bytes.push(point.wal_bytes);
        for (name, slot) in point.slots {
            let series = self.slots.entry(name).or_default();
            series.resize(before);
            series.lag_bytes.push(slot.lag_bytes);
            series.lag_seconds.push(slot.lag_seconds.map(thousandths));
            series.retained_bytes.push(slot.retained_bytes);
        }
        self.fill();
    }

    /// Appends the series of the next phase, whose clock began `offset` seconds after this one's.
    pub(super) fn extend(&mut self, next: &NodeSeries, offset: f64) {
        let before = self.at.len();
        self.at.extend(next.at.iter().map(|at| thousandths(offset + at)));
        for (role, more) in &next.cpu_ns {
            let column = self.cpu_ns.entry(role.clone()).or_default();
            column.resize(before, 0);
            column.extend(more);
        }
        self.wal_bytes.extend(&next.wal_bytes);
        for (name, more) in &next.slots {
            let series = self.slots.entry(name.clone()).or_default();
            series.resize(before);
            series.lag_bytes.extend(&more.lag_bytes);
            series.lag_seconds.extend(&more.lag_seconds);
            series.retained_bytes.extend(&more.retained_bytes);
        }
        self.fill();
    }

    /// Every column as long as the times.
    fn fill(&mut self) {
        let points = self.at.len();
        for column in self.cpu_ns.values_mut() {
            column.resize(points, 0);
        }
        self.wal_bytes.resize(points, None);
        for slot in self.slots.values_mut() {
            slot.resize(points);
        }
    }
}

impl SlotSeries {
    fn resize(&mut self, points: usize) {
        self.lag_bytes.resize(points, None);
        self.lag_seconds.resize(points, None);
        self.retained_bytes.resize(points, None);
    }
}

/// How long ago the publisher's insert position was `applied`, by `history`: its insert positions with their times,
/// in order. Between two of them WAL counts as written evenly, so that this is known to about their distance. 0 if
/// everything is applied; none if `applied` lies before the history. The lag that `pg_stat_replication` tells is not
/// used: it is NULL when idle, and one reply's.
pub fn lag_seconds(history: &[(f64, Lsn)], applied: Lsn, now: f64) -> Option<f64> {
    let later = history.partition_point(|(_, lsn)| *lsn <= applied);
    let Some((after, end)) = history.get(later).copied() else { return Some(0.0) };
    let (before, start) = history.get(later.checked_sub(1)?).copied()?;
    let part = applied.bytes_since(start) as f64 / end.bytes_since(start).max(1) as f64;
    Some((now - (before + part * (after - before))).max(0.0))
}

fn thousandths(seconds: f64) -> f64 {
    (seconds * 1000.0).round() / 1000.0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point(at: f64, role: &str, ns: u64, lag: Option<u64>) -> NodePoint {
        let slot = SlotPoint { lag_bytes: lag, lag_seconds: lag.map(|_| 0.5), retained_bytes: Some(9) };
        let slots = lag.map(|_| ("s".to_owned(), slot)).into_iter().collect();
        NodePoint { at, cpu_ns: vec![(role.to_owned(), ns), ("idle".to_owned(), 0)], wal_bytes: Some(3), slots }
    }

    #[test]
    fn every_column_is_as_long_as_the_times() {
        let mut series = NodeSeries::default();
        series.push(point(0.0, "walsender", 0, None));
        series.push(point(1.000_4, "walsender", 5, Some(7)));
        series.push(point(2.0, "apply worker", 6, None));
        assert_eq!(series.at, [0.0, 1.0, 2.0]);
        assert_eq!(series.cpu_ns.keys().collect::<Vec<_>>(), ["walsender", "apply worker"]);
        assert_eq!(series.cpu_ns["walsender"], [0, 5, 0]);
        assert_eq!(series.cpu_ns["apply worker"], [0, 0, 6]);
        assert_eq!(series.slots["s"].lag_bytes, [None, Some(7), None]);
        assert_eq!(series.slots["s"].lag_seconds, [None, Some(0.5), None]);
    }

    #[test]
    fn a_following_phase_is_moved_behind_the_first() {
        let mut series = NodeSeries::default();
        series.push(point(0.0, "walsender", 0, None));
        series.push(point(1.5, "walsender", 5, None));
        let mut next = NodeSeries::default();
        next.push(point(0.0, "client backend", 0, Some(1)));
        next.push(point(0.25, "client backend", 8, Some(2)));
        series.extend(&next, 1.5);
        assert_eq!(series.at, [0.0, 1.5, 1.5, 1.75]);
        assert_eq!(series.cpu_ns["walsender"], [0, 5, 0, 0]);
        assert_eq!(series.cpu_ns["client backend"], [0, 0, 0, 8]);
        assert_eq!(series.wal_bytes, [Some(3); 4]);
        assert_eq!(series.slots["s"].retained_bytes, [None, None, Some(9), Some(9)]);
    }

    #[test]
    fn lag_is_the_age_of_what_is_applied() {
        let history = [(0.0, Lsn(100)), (1.0, Lsn(100)), (2.0, Lsn(300)), (3.0, Lsn(500))];
        for (applied, expected) in [
            (500, Some(0.0)),
            (600, Some(0.0)),
            (400, Some(0.5)),
            (300, Some(1.0)),
            (200, Some(1.5)),
            // Everything up to the quiet second is applied: the next byte was written after it.
            (100, Some(2.0)),
            (99, None),
        ] {
            assert_eq!(lag_seconds(&history, Lsn(applied), 3.0), expected, "{applied}");
        }
        assert_eq!(lag_seconds(&[], Lsn(1), 3.0), Some(0.0));
    }
}
