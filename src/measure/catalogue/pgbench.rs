//! What metrics mean of a load that pgbench runs, where that is not what they mean otherwise.

/// Metric and meaning, told beside its entry and in the report of a run by pgbench.
pub static UNDER_PGBENCH: &[(&str, &str)] = &[
    (
        "seconds",
        "a phase of such a load lasts the wall time of the process: its start, connecting and its end are in it",
    ),
    ("tps", "what pgbench prints, without initial connection time, in a phase of that load alone"),
    (
        "cpu",
        "its sessions end with it and are the role `client backends (exited)`, in steps of 10 ms; role=client backend has them too",
    ),
    (
        "latency_mean",
        "from its log of transactions, in microseconds; `latency average` is printed from the run's time and so a little longer",
    ),
    ("driver_cpu", "that of the process, writing its log of transactions included unless `log = false`"),
    ("failed", "serialization failures and deadlocks; any other error ends pgbench, and the run does not count"),
];
