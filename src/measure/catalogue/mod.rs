//! Every metric. One file a field; a metric over evidence that is there is one entry and its test.

mod cpu;
mod decoding;
mod load;
mod pgbench;
mod replication;
mod rmgrs;
mod slot;
mod sync;
mod time;
mod wal;

pub use self::pgbench::UNDER_PGBENCH;
use super::metric::Metric;

/// Every metric, by field.
pub static CATALOGUE: std::sync::LazyLock<Vec<&'static Metric>> = std::sync::LazyLock::new(|| {
    let fields = [
        time::METRICS,
        load::METRICS,
        cpu::METRICS,
        wal::METRICS,
        rmgrs::METRICS,
        replication::METRICS,
        slot::METRICS,
        decoding::METRICS,
        sync::METRICS,
    ];
    fields.into_iter().flatten().collect()
});

/// The metric of that name.
pub fn find(name: &str) -> Option<&'static Metric> {
    CATALOGUE.iter().find(|metric| metric.name == name).copied()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::{Absent, Evidence, Labels};

    #[test]
    fn names_are_unique_and_explained() {
        let mut names: Vec<&str> = CATALOGUE.iter().map(|metric| metric.name).collect();
        names.sort_unstable();
        assert!(names.windows(2).all(|pair| pair[0] != pair[1]));
        assert!(CATALOGUE.iter().all(|metric| !metric.about.is_empty() && !metric.needs.is_empty()));
    }

    #[test]
    fn what_pgbench_changes_is_said_of_metrics_that_there_are() {
        assert!(UNDER_PGBENCH.iter().all(|(name, _)| find(name).is_some()));
    }

    #[test]
    fn an_empty_record_gives_reasons_and_no_numbers() {
        for metric in CATALOGUE.iter().filter(|metric| metric.name != "seconds") {
            let reading = (metric.read)(&Evidence::default(), &Labels::default());
            assert!(matches!(reading, Err(Absent::NotObserved(_))), "{}: {reading:?}", metric.name);
        }
    }
}
