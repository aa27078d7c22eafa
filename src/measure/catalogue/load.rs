//! What the load's clients saw.

use crate::measure::evidence::{Evidence, LoadEvidence, ScriptEvidence};
use crate::measure::histogram::Histogram;
use crate::measure::metric::{Absent, Better, Dim, Labels, Metric, Probe, Reading, Unit};

macro_rules! load_metric {
    ($name:literal, $unit:ident, $better:ident, $about:literal, $read:expr) => {
        Metric {
            name: $name,
            unit: Unit::$unit,
            better: Better::$better,
            dims: &[Dim::Script],
            needs: &[Probe::Load],
            about: $about,
            ratio_floor: 0.0,
            read: $read,
        }
    };
}

pub(super) static METRICS: &[Metric] = &[
    load_metric!("transactions", Count, Neither, "committed transactions of all clients together", |e, l| {
        committed(e, l)
    }),
    load_metric!("failed", Count, Lower, "transactions that failed, for any reason", |e, l| {
        Ok(scripts(e, l)?.iter().map(|s| s.failed_total()).sum::<u64>() as f64)
    }),
    load_metric!(
        "skipped",
        Count,
        Lower,
        "transactions that never began: too late for their schedule (`rate`)",
        |e, l| { Ok(scripts(e, l)?.iter().map(|s| s.skipped).sum::<u64>() as f64) }
    ),
    load_metric!("late", Count, Lower, "committed transactions above the latency limit (`latency_limit`)", |e, l| {
        let late = scripts(e, l)?.iter().map(|s| s.late).sum::<u64>() as f64;
        some_load(e, |load| load.latency_limit_ns.is_some(), Absent::NoLatencyLimit).map(|()| late)
    }),
    load_metric!(
        "retried",
        Count,
        Lower,
        "transactions, committed or failed in the end, that were tried more than once (`max_tries`)",
        |e, l| { Ok(scripts(e, l)?.iter().map(|s| s.retried).sum::<u64>() as f64) }
    ),
    load_metric!("retries", Count, Lower, "tries of all transactions beyond their first (`max_tries`)", |e, l| {
        Ok(scripts(e, l)?.iter().map(|s| s.retries).sum::<u64>() as f64)
    }),
    load_metric!(
        "tps",
        PerSecond,
        Higher,
        "committed transactions over the window's seconds, connecting not counted",
        |e, l| tps(e, l)
    ),
    load_metric!(
        "latency_mean",
        Milliseconds,
        Lower,
        "mean latency of the committed transactions, all tries included; under a target rate from the scheduled start",
        |e, l| { latency(e, l)?.mean_ns().map(|ns| ns / 1e6).ok_or(Absent::NothingCommitted) }
    ),
    load_metric!(
        "latency_p50",
        Milliseconds,
        Lower,
        "median latency of the committed transactions; under a target rate from the scheduled start",
        |e, l| percentile(e, l, 50.0)
    ),
    load_metric!(
        "latency_p95",
        Milliseconds,
        Lower,
        "95th percentile of the latency; under a target rate from the scheduled start",
        |e, l| percentile(e, l, 95.0)
    ),
    load_metric!(
        "latency_p99",
        Milliseconds,
        Lower,
        "99th percentile of the latency; under a target rate from the scheduled start",
        |e, l| percentile(e, l, 99.0)
    ),
    load_metric!(
        "latency_max",
        Milliseconds,
        Lower,
        "longest latency; under a target rate from the scheduled start",
        |e, l| { latency(e, l)?.max_ns().map(|ns| ns as f64 / 1e6).ok_or(Absent::NothingCommitted) }
    ),
    load_metric!(
        "schedule_lag_mean",
        Milliseconds,
        Lower,
        "mean time from the scheduled start of the committed transactions to their beginning; part of their latency",
        |e, l| { lag(e, l)?.mean_ns().map(|ns| ns / 1e6).ok_or(Absent::NothingCommitted) }
    ),
    load_metric!("schedule_lag_p99", Milliseconds, Lower, "99th percentile of the schedule lag", |e, l| {
        lag(e, l)?.percentile_ns(99.0).map(|ns| ns as f64 / 1e6).ok_or(Absent::NothingCommitted)
    }),
    load_metric!("schedule_lag_max", Milliseconds, Lower, "longest schedule lag", |e, l| {
        lag(e, l)?.max_ns().map(|ns| ns as f64 / 1e6).ok_or(Absent::NothingCommitted)
    }),
    Metric {
        name: "connecting_seconds",
        unit: Unit::Seconds,
        better: Better::Neither,
        dims: &[],
        needs: &[Probe::Load],
        about: "pgbench's initial connection time, which is in the window's seconds and not in tps; the built-in driver connects before the clock",
        ratio_floor: 0.0,
        read: |e, _| {
            let each: Vec<f64> = e
                .loads
                .values()
                .filter_map(|load| load.pgbench.as_ref().map(|pgbench| pgbench.connecting_seconds))
                .collect();
            match each.as_slice() {
                [] if e.loads.is_empty() => Err(Absent::NotObserved(Probe::Load)),
                [] => Err(Absent::NotByPgbench),
                each => Ok(each.iter().sum()),
            }
        },
    },
    Metric {
        name: "driver_cpu",
        unit: Unit::Seconds,
        better: Better::Lower,
        dims: &[],
        needs: &[Probe::Load],
        about: "CPU of the load driver; in no other figure",
        ratio_floor: 0.1,
        read: |e, _| {
            let each: Option<Vec<u64>> = e.loads.values().map(|load| load.driver_cpu_ns).collect();
            match each {
                Some(each) if !each.is_empty() => Ok(each.iter().sum::<u64>() as f64 / 1e9),
                _ => Err(Absent::NotObserved(Probe::Load)),
            }
        },
    },
];

fn scripts<'e>(evidence: &'e Evidence, labels: &Labels) -> Result<Vec<&'e ScriptEvidence>, Absent> {
    if evidence.loads.is_empty() {
        return Err(Absent::NotObserved(Probe::Load));
    }
    let wanted = labels.value(Dim::Script);
    let found: Vec<&ScriptEvidence> = evidence
        .loads
        .values()
        .flat_map(|load| &load.scripts)
        .filter(|(name, _)| wanted.is_none_or(|wanted| wanted == name.as_str()))
        .map(|(_, script)| script)
        .collect();
    match wanted {
        Some(name) if found.is_empty() => Err(Absent::NoSuch(Dim::Script, name.to_owned())),
        _ => Ok(found),
    }
}

/// Of each load its transactions over the window's seconds, without those that pgbench's own clock leaves out: in a
/// phase of that load alone this is the figure that pgbench prints.
fn tps(evidence: &Evidence, labels: &Labels) -> Reading {
    scripts(evidence, labels)?;
    let wanted = labels.value(Dim::Script);
    Ok(evidence
        .loads
        .values()
        .map(|load| {
            let of = load.scripts.iter().filter(|(name, _)| wanted.is_none_or(|wanted| wanted == name.as_str()));
            let committed: u64 = of.map(|(_, script)| script.committed).sum();
            let outside = load.pgbench.as_ref().map_or(0.0, |pgbench| pgbench.outside_seconds);
            committed as f64 / (evidence.seconds - outside)
        })
        .sum())
}

fn committed(evidence: &Evidence, labels: &Labels) -> Reading {
    Ok(scripts(evidence, labels)?.iter().map(|script| script.committed).sum::<u64>() as f64)
}

/// Whether there is a load that a metric can say something of.
fn some_load(evidence: &Evidence, of: fn(&LoadEvidence) -> bool, absent: Absent) -> Result<(), Absent> {
    if evidence.loads.values().any(of) { Ok(()) } else { Err(absent) }
}

fn lag(evidence: &Evidence, labels: &Labels) -> Result<Histogram, Absent> {
    let mut pooled = Histogram::default();
    for script in scripts(evidence, labels)? {
        pooled.merge(&script.lag);
    }
    some_load(evidence, |load| load.rate.is_some(), Absent::NoRate)?;
    logged(evidence, labels).map(|()| pooled)
}

/// Latencies of several loads together are not known where one of them has none.
fn logged(evidence: &Evidence, labels: &Labels) -> Result<(), Absent> {
    let wanted = labels.value(Dim::Script);
    let unlogged = |load: &LoadEvidence| {
        let meant = wanted.is_none_or(|wanted| load.scripts.contains_key(wanted));
        meant && load.pgbench.as_ref().is_some_and(|pgbench| pgbench.unlogged)
    };
    if evidence.loads.values().any(unlogged) { Err(Absent::NoLog) } else { Ok(()) }
}

fn latency(evidence: &Evidence, labels: &Labels) -> Result<Histogram, Absent> {
    let mut pooled = Histogram::default();
    for script in scripts(evidence, labels)? {
        pooled.merge(&script.latency);
    }
    logged(evidence, labels).map(|()| pooled)
}

fn percentile(evidence: &Evidence, labels: &Labels, percent: f64) -> Reading {
    latency(evidence, labels)?.percentile_ns(percent).map(|ns| ns as f64 / 1e6).ok_or(Absent::NothingCommitted)
}

#[cfg(test)]
mod tests {
    use indexmap::IndexMap;

    use super::*;
    use crate::measure::{LoadEvidence, PgbenchEvidence, find};

    fn evidence() -> Evidence {
        let script = |committed, ns| ScriptEvidence {
            committed,
            failed: IndexMap::from([("40001".to_owned(), 2)]),
            latency: Histogram::from_buckets(vec![(ns, committed)]),
            skipped: 3,
            late: committed / 100,
            retried: 1,
            retries: 5,
            lag: Histogram::from_buckets(vec![(ns / 2, committed)]),
        };
        let load = LoadEvidence {
            node: "p".into(),
            clients: 2,
            driver_cpu_ns: Some(500_000_000),
            pgbench: None,
            rate: Some(200.0),
            latency_limit_ns: Some(20_000_000),
            committed_each_second: vec![200, 200],
            scripts: IndexMap::from([
                ("read".to_owned(), script(300, 1_000_000)),
                ("write".to_owned(), script(100, 5_000_000)),
            ]),
        };
        Evidence { seconds: 2.0, loads: IndexMap::from([("w".to_owned(), load)]), ..Evidence::default() }
    }

    #[test]
    fn labels_select_and_without_them_scripts_pool() {
        let write = Labels(vec![(Dim::Script, "write".into())]);
        for (name, all, one) in [
            ("transactions", 400.0, 100.0),
            ("failed", 4.0, 2.0),
            ("tps", 200.0, 50.0),
            ("latency_mean", 2.0, 5.0),
            ("latency_p50", 1.0, 5.0),
            ("latency_p95", 5.0, 5.0),
            ("latency_p99", 5.0, 5.0),
            ("latency_max", 5.0, 5.0),
            ("skipped", 6.0, 3.0),
            ("late", 4.0, 1.0),
            ("retried", 2.0, 1.0),
            ("retries", 10.0, 5.0),
            ("schedule_lag_mean", 1.0, 2.5),
            ("schedule_lag_p99", 2.5, 2.5),
            ("schedule_lag_max", 2.5, 2.5),
        ] {
            let metric = find(name).expect("in the catalogue");
            assert_eq!((metric.read)(&evidence(), &Labels::default()), Ok(all), "{name}");
            assert_eq!((metric.read)(&evidence(), &write), Ok(one), "{name}");
        }
        let driver = find("driver_cpu").expect("in the catalogue");
        assert_eq!((driver.read)(&evidence(), &Labels::default()), Ok(0.5));
        let connecting = find("connecting_seconds").expect("in the catalogue");
        assert_eq!((connecting.read)(&evidence(), &Labels::default()), Err(Absent::NotByPgbench));
        let none = Labels(vec![(Dim::Script, "x".into())]);
        assert_eq!(committed(&evidence(), &none), Err(Absent::NoSuch(Dim::Script, "x".into())));
    }

    #[test]
    fn pgbenchs_rate_is_the_one_it_prints_and_a_drain_behind_it_thins_it_like_any_other() {
        let mut load = evidence();
        let printed = 400.0 / 1.9;
        load.loads["w"].pgbench = Some(PgbenchEvidence {
            tps: Some(printed),
            connecting_seconds: 0.06,
            outside_seconds: 2.0 - 400.0 / printed,
            ..PgbenchEvidence::default()
        });
        let of = |evidence: &Evidence, name: &str, labels: &Labels| {
            (find(name).expect("in the catalogue").read)(evidence, labels).expect("a figure")
        };
        let all = Labels::default();
        assert!((of(&load, "tps", &all) - printed).abs() < 1e-9);
        let write = Labels(vec![(Dim::Script, "write".into())]);
        assert!((of(&load, "tps", &write) - printed / 4.0).abs() < 1e-9);
        let drain = Evidence { seconds: 1.0, ..Evidence::default() };
        let total = Evidence::join([&load, &drain]);
        assert!((of(&total, "tps", &all) - 400.0 / 2.9).abs() < 1e-9);
        let twice = Evidence::join([&load, &load]);
        assert!((of(&twice, "tps", &all) - printed).abs() < 1e-9);
        assert!((of(&twice, "connecting_seconds", &all) - 0.12).abs() < 1e-9);
        assert_eq!(twice.loads["w"].pgbench.as_ref().and_then(|pgbench| pgbench.tps), None);
    }

    #[test]
    fn a_load_without_rate_or_limit_has_no_lag_and_nothing_late() {
        let mut evidence = evidence();
        let read =
            |evidence: &Evidence, name| (find(name).expect("in the catalogue").read)(evidence, &Labels::default());
        for load in evidence.loads.values_mut() {
            load.scripts.values_mut().for_each(|script| script.lag = Histogram::default());
        }
        assert_eq!(read(&evidence, "schedule_lag_p99"), Err(Absent::NothingCommitted));
        for load in evidence.loads.values_mut() {
            (load.rate, load.latency_limit_ns) = (None, None);
        }
        assert_eq!(read(&evidence, "schedule_lag_p99"), Err(Absent::NoRate));
        assert_eq!(read(&evidence, "late"), Err(Absent::NoLatencyLimit));
        assert_eq!(read(&evidence, "skipped"), Ok(6.0));
    }
}
