//! What a load is asked to do, and how its transactions are shared out. Plain data; checked, not performed.

use super::error::LoadError;
use crate::script::Script;
use crate::wire::Target;
use std::sync::Arc;
use std::time::Duration;

/// How statements travel (pgbench's `--protocol`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Protocol {
    /// One Query message, variables written into the text.
    Simple,
    /// Parse + Bind + Execute at each execution.
    Extended,
    /// Parsed once a session before the clock, then Bind + Execute.
    Prepared,
}

/// When a load ends by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// After this many transactions of all clients together, failed ones included (as pgbench's `-t` counts).
    Transactions(u64),
    /// Each client ends with the transaction that is under way at this time after the start. Under a rate the load lasts
    /// that long, and what was scheduled before but could not begin is skipped.
    Duration(Duration),
}

/// One script of a load.
#[derive(Debug, Clone)]
pub struct LoadScript {
    /// The name it has in reports.
    pub name: String,
    /// The script itself.
    pub script: Arc<Script>,
    /// Its share among the load's scripts; one of weight 0 never runs.
    pub weight: u32,
}

/// A load: who sends what to which server, how much, and how.
#[derive(Debug, Clone)]
pub struct LoadRequest {
    /// The server, and the `application_name` by which the load's sessions are known.
    pub target: Target,
    /// The scripts; each transaction runs one of them, drawn by weight.
    pub scripts: Vec<LoadScript>,
    /// How statements travel.
    pub protocol: Protocol,
    /// How many sessions send at the same time.
    pub clients: u32,
    /// How many threads serve them; `None` leaves it to [`threads`].
    pub threads: Option<u32>,
    /// When the load ends.
    pub end: End,
    /// Transactions a second that all clients together are to begin, on a Poisson schedule (pgbench's `--rate`); `None`
    /// begins each as soon as its client is free.
    pub rate: Option<f64>,
    /// From which latency on a transaction is late (pgbench's `--latency-limit`). Under a rate one that is later than this
    /// before it begins is skipped.
    pub latency_limit: Option<Duration>,
    /// How often a transaction is tried that fails with 40001 or 40P01 (pgbench's `--max-tries`): 1 tries none again, 0
    /// tries as long as the latency limit and the load's duration let it.
    pub max_tries: u32,
    /// The seed of all random numbers, like pgbench's `--random-seed`.
    pub seed: u64,
    /// The value of `:scale`.
    pub scale: i64,
}

impl LoadRequest {
    /// Refuses what cannot be performed.
    pub(super) fn check(&self) -> Result<(), LoadError> {
        if self.scripts.iter().all(|script| script.weight == 0) {
            return Err(LoadError::NoScripts);
        }
        let pipelined = |script: &&LoadScript| script.script.pipelines().is_some();
        if self.protocol == Protocol::Simple
            && let Some(script) = self.scripts.iter().find(pipelined)
        {
            return Err(LoadError::SimplePipeline { script: script.name.clone() });
        }
        if self.clients == 0 {
            return Err(LoadError::NoClients);
        }
        if self.rate.is_some_and(|rate| !rate.is_finite() || rate <= 0.0) {
            return Err(LoadError::Rate);
        }
        if self.max_tries == 0 && self.latency_limit.is_none() && matches!(self.end, End::Transactions(_)) {
            return Err(LoadError::UnlimitedTries);
        }
        Ok(())
    }
}

/// The transactions of one client when all clients together have `total`: as even as can be, the first clients take
/// one more where it does not divide, so the sum is exactly `total`. The share is fixed before the clock: a client
/// that is slow is not helped by the others, as with pgbench.
pub fn share(total: u64, clients: u32, client: u32) -> u64 {
    let clients = u64::from(clients.max(1));
    total / clients + u64::from(u64::from(client) < total % clients)
}

/// Up to this many clients a core, each has a thread of its own that blocks in its read; beyond, each core has one
/// thread that waits for many sockets at once.
///
/// Measured against `pgbench -j 2`, prepared, over a unix socket on two cores that the server shares (and other programs
/// too, so that only CPU a transaction is told sharply; geometric means of the rounds' ratios with 95 % intervals of t).
/// At 8 clients:
///
/// | | own threads: TPS, CPU | two shared: TPS, CPU | n |
/// |---|---|---|---|
/// | select by key | 1.48 (1.22–1.79), 0.80 (0.63–1.01) | 1.24 (1.08–1.42), 0.71 (0.58–0.86) | 10 |
/// | insert, no flush | 1.25 (1.06–1.48), 1.05 (0.85–1.30) | 1.07 (0.93–1.23), 0.87 (0.75–1.00) | 10 |
/// | insert, flushed | 0.97 (0.83–1.12), 1.71 (1.57–1.88) | 0.95 (0.76–1.17), 0.73 (0.66–0.81) | 8 |
///
/// Own threads owe part of their TPS to the share of a busy machine that eight threads get and two do not, and where
/// commits wait for a flush each of their transactions is a switch of threads. (An earlier measurement, on a machine at
/// rest, had shared threads at 0.85 of pgbench's TPS on inserts; it was not seen again.) At 32 clients two shared threads
/// have 1.06 to 1.24 of the TPS at 0.78 to 0.83 of the CPU, one client of its own thread 1.27 to 1.32 at 0.77, n = 10.
const CLIENTS_PER_CORE_FOR_OWN_THREADS: u32 = 1;

/// The number of threads for `clients` clients on `cores` cores when none is asked for.
pub fn threads(clients: u32, cores: u32) -> u32 {
    if clients <= cores.saturating_mul(CLIENTS_PER_CORE_FOR_OWN_THREADS) { clients } else { cores }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn shares_sum_to_the_total_and_differ_by_at_most_one(
            total in 0u64..1_000_000,
            clients in 1u32..200,
        ) {
            let shares: Vec<_> = (0..clients).map(|client| share(total, clients, client)).collect();
            prop_assert_eq!(shares.iter().sum::<u64>(), total);
            prop_assert!(shares.is_sorted_by(|a, b| a >= b));
            prop_assert!(shares[0] - shares[shares.len() - 1] <= 1);
        }
    }

    #[test]
    fn few_clients_have_threads_of_their_own_and_many_share_the_cores() {
        for (clients, cores, expected) in [(1, 2, 1), (2, 2, 2), (3, 2, 2), (8, 2, 2), (32, 2, 2), (5, 1, 1), (5, 8, 5)]
        {
            assert_eq!(threads(clients, cores), expected);
        }
    }
}
