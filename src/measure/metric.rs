//! What a metric is: name, unit, direction, labels, the probes that must have looked, and how it reads.

use std::fmt;

use indexmap::IndexMap;

use super::evidence::Evidence;
use crate::text::copy_number;

/// A label of a metric; left out, it sums or pools.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Dim {
    /// A node of the spec.
    Node,
    /// Kind of server process.
    Role,
    /// A script of a workload.
    Script,
    /// A subscription of the spec.
    Subscription,
    /// A slot of the spec.
    Slot,
    /// A table as SQL names it, with its schema.
    Table,
    /// A resource manager of the WAL.
    Rmgr,
}

impl Dim {
    /// Every label.
    pub const ALL: &'static [Dim] =
        &[Dim::Node, Dim::Role, Dim::Script, Dim::Subscription, Dim::Slot, Dim::Table, Dim::Rmgr];

    /// The label as written.
    pub fn as_str(self) -> &'static str {
        match self {
            Dim::Node => "node",
            Dim::Role => "role",
            Dim::Script => "script",
            Dim::Subscription => "subscription",
            Dim::Slot => "slot",
            Dim::Table => "table",
            Dim::Rmgr => "rmgr",
        }
    }
}

/// What must look for a metric to have evidence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Probe {
    /// The phase's clock; always there.
    Clock,
    /// The load driver.
    Load,
    /// CPU time of the server's processes.
    Cpu,
    /// WAL positions.
    WalPosition,
    /// `pg_stat_wal`, settled after the last phase.
    WalStatistics,
    /// The marker's way.
    Marker,
    /// The consumer of a slot.
    Consumer,
    /// The tables of a subscription on their way to ready.
    Sync,
    /// From ENABLE to the active slot.
    Startup,
    /// The machine as a whole.
    Host,
    /// The WAL's records by resource manager, read by `pg_walinspect` after the last phase.
    WalRecords,
    /// Positions of replication slots and their walsenders.
    SlotPosition,
    /// `pg_stat_replication_slots`, settled after the last phase.
    SlotStatistics,
    /// What is seen each second.
    Series,
    /// The runner's own CPU.
    Runner,
}

impl fmt::Display for Probe {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Probe::Clock => "the clock",
            Probe::Load => "a load",
            Probe::Cpu => "CPU times",
            Probe::WalPosition => "WAL positions",
            Probe::WalStatistics => "settled WAL statistics",
            Probe::Marker => "the marker",
            Probe::Consumer => "the consumer of a slot",
            Probe::Sync => "an initial copy",
            Probe::Startup => "the start of an apply worker",
            Probe::Host => "the host",
            Probe::WalRecords => "WAL by resource manager",
            Probe::SlotPosition => "positions of a replication slot",
            Probe::SlotStatistics => "settled statistics of a replication slot",
            Probe::Series => "the lag of a replication slot",
            Probe::Runner => "the runner's own CPU",
        })
    }
}

/// The unit a metric is given, bounded and published in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Seconds (durations and CPU).
    Seconds,
    /// Milliseconds (latencies).
    Milliseconds,
    /// Bytes.
    Bytes,
    /// A count.
    Count,
    /// Events a second.
    PerSecond,
    /// A part of one.
    Fraction,
    /// A number that a spec computes, without a unit of its own.
    Number,
}

impl Unit {
    /// As printed by `runner metrics`.
    pub fn as_str(self) -> &'static str {
        match self {
            Unit::Seconds => "s",
            Unit::Milliseconds => "ms",
            Unit::Bytes => "bytes",
            Unit::Count => "count",
            Unit::PerSecond => "1/s",
            Unit::Fraction => "fraction",
            Unit::Number => "number",
        }
    }
}

/// Which way is good.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Better {
    /// Less is better.
    Lower,
    /// More is better.
    Higher,
    /// Neither.
    Neither,
}

impl Better {
    /// As printed by `runner metrics`.
    pub fn as_str(self) -> &'static str {
        match self {
            Better::Lower => "lower",
            Better::Higher => "higher",
            Better::Neither => "–",
        }
    }
}

/// Why a metric has no value: a reason a reader can act on, never a bare null.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Absent {
    /// The probe did not look, or the record is older than it.
    NotObserved(Probe),
    /// Nothing of that label was there in this run.
    NoSuch(Dim, String),
    /// A drain without anything downstream.
    NoDownstream,
    /// No transaction committed.
    NothingCommitted,
    /// Only pgbench tells it, and no load of the window is by pgbench.
    NotByPgbench,
    /// A load by pgbench kept no log of its transactions.
    NoLog,
    /// No load has a target rate, so nothing is scheduled.
    NoRate,
    /// No load has a latency limit.
    NoLatencyLimit,
    /// It was tried, and this stood in the way: a node and its reason.
    Refused(String, String),
}

impl fmt::Display for Absent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Absent::NotObserved(probe) => write!(f, "{probe} not observed in this window"),
            Absent::NoSuch(dim, value) => write!(f, "no {} `{value}` in this scenario", dim.as_str()),
            Absent::NoDownstream => f.write_str("nothing downstream, so nothing to wait for"),
            Absent::NoRate => f.write_str("no load has a `rate`, so nothing was scheduled"),
            Absent::NoLatencyLimit => f.write_str("no load has a `latency_limit`"),
            Absent::NothingCommitted => f.write_str("no transaction committed"),
            Absent::NoLog => f.write_str("pgbench kept no log of its transactions (`log = false`)"),
            Absent::NotByPgbench => f.write_str("no load of this window is by pgbench"),
            Absent::Refused(node, reason) => write!(f, "on {node}: {reason}"),
        }
    }
}

/// A value in the metric's unit, or why there is none.
pub type Reading = Result<f64, Absent>;

/// Labels given in a reference, in its order.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Labels(pub Vec<(Dim, String)>);

impl Labels {
    /// The value of a label, if it was given.
    pub fn value(&self, dim: Dim) -> Option<&str> {
        self.0.iter().find(|(other, _)| *other == dim).map(|(_, value)| value.as_str())
    }

    /// Whether what is called `name` is meant: the label names it, or means it among others as `NAME*` does the numbered
    /// ones, or is not given.
    pub fn admit(&self, dim: Dim, name: &str) -> bool {
        self.value(dim).is_none_or(|wanted| match wanted.strip_suffix('*') {
            None => wanted == name,
            Some(base) => copy_number(name, base).is_some(),
        })
    }

    /// Those of `all` that are meant; an error if the label is given and means none.
    pub fn among<'e, T>(&self, dim: Dim, all: &'e IndexMap<String, T>) -> Result<Vec<&'e T>, Absent> {
        let found: Vec<&T> = all.iter().filter(|(name, _)| self.admit(dim, name)).map(|(_, value)| value).collect();
        match self.value(dim) {
            Some(wanted) if found.is_empty() => Err(Absent::NoSuch(dim, wanted.to_owned())),
            _ => Ok(found),
        }
    }
}

/// An entry of the catalogue.
pub struct Metric {
    /// Name after `WINDOW.`.
    pub name: &'static str,
    /// Unit of its values.
    pub unit: Unit,
    /// Which way is good.
    pub better: Better,
    /// Labels it takes.
    pub dims: &'static [Dim],
    /// Probes that must look.
    pub needs: &'static [Probe],
    /// Meaning, one line.
    pub about: &'static str,
    /// Both sides of a ratio must reach this, else the ratio is noise of the instrument; 0 for no floor.
    pub ratio_floor: f64,
    /// From evidence to a value.
    pub read: fn(&Evidence, &Labels) -> Reading,
}

impl fmt::Debug for Metric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Metric({})", self.name)
    }
}

impl PartialEq for Metric {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

/// Kinds of server processes that CPU is told by, in the order of a report.
pub const ROLES: &[&str] = &[
    "client backend",
    "walsender",
    "apply worker",
    "parallel apply worker",
    "tablesync worker",
    "walreceiver",
    "startup",
    "checkpointer",
    "background writer",
    "walwriter",
    "autovacuum",
    "io worker",
    "logical launcher",
    "archiver",
    "stats collector",
    "postmaster",
    "other",
    CLIENTS_EXITED,
    "exited",
];

/// The kind that every live session of a client is.
pub const CLIENT: &str = "client backend";

/// What exited in a window in which pgbench ran a load on the node: its sessions end with it.
pub const CLIENTS_EXITED: &str = "client backends (exited)";

/// Resource managers of the server, as `pg_walinspect` names them; those of extensions have names of their own.
pub const RMGRS: &[&str] = &[
    "XLOG",
    "Transaction",
    "Storage",
    "CLOG",
    "Database",
    "Tablespace",
    "MultiXact",
    "RelMap",
    "Standby",
    "Heap2",
    "Heap",
    "Btree",
    "Hash",
    "Gin",
    "Gist",
    "Sequence",
    "SPGist",
    "BRIN",
    "CommitTs",
    "ReplicationOrigin",
    "Generic",
    "LogicalMessage",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_means_one_or_all_copies_or_whatever_is_there() {
        let labels = |wanted: &str| Labels(vec![(Dim::Node, wanted.to_owned())]);
        let admits = |wanted: &str, name: &str| labels(wanted).admit(Dim::Node, name);
        assert!(admits("s", "s") && !admits("s", "s1") && !admits("s1", "s12"));
        assert!(admits("s*", "s1") && admits("s*", "s12"));
        for other in ["s", "s*", "s0", "s007", "s1a", "ss1", "x1"] {
            assert!(!admits("s*", other), "{other}");
        }
        assert!(Labels::default().admit(Dim::Node, "s") && labels("s").admit(Dim::Subscription, "x"));

        let all = IndexMap::from(["p", "s1", "s", "s2"].map(|name| (name.to_owned(), name)));
        assert_eq!(labels("s*").among(Dim::Node, &all), Ok(vec![&"s1", &"s2"]));
        assert_eq!(Labels::default().among(Dim::Node, &all).map(|found| found.len()), Ok(4));
        assert_eq!(labels("x*").among(Dim::Node, &all), Err(Absent::NoSuch(Dim::Node, "x*".to_owned())));
    }
}
