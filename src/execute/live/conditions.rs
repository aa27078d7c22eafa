//! What is waited for, with a bound and a cause.

use std::time::{Duration, Instant};

use tokio_postgres::Client;

use super::Live;
use super::node::rows;
use crate::execute::world::Failure;
use crate::plan::display::condition_words;
use crate::plan::instruction::Condition;
use crate::plan::sql::synchronous;
use crate::text::quote::literal;

/// Between looks at first; a look costs the server 0.1 ms.
const FIRST_INTERVAL: Duration = Duration::from_millis(5);
/// Between looks once a wait is long.
const LONG_INTERVAL: Duration = Duration::from_millis(25);
/// From when on a wait is long.
const LONG: Duration = Duration::from_millis(500);

/// How long a node may take to tell what it is doing.
pub(super) const EXPLAIN_BOUND: Duration = Duration::from_secs(2);

/// The query of what some sessions wait for and who holds it, a row for each of the first three.
fn waits(which: &str) -> String {
    format!(
        "SELECT concat('waits for ' || a.wait_event_type || '/' || a.wait_event, ' in ' || nullif(left(a.query, 100), ''), \
         (SELECT string_agg(', held by ' || CASE WHEN b.pid = pg_backend_pid() THEN 'the runner''s own session, where a transaction is open' \
         ELSE concat('pid ', b.pid, ': ', left(b.query, 100)) END, '') \
         FROM pg_catalog.pg_stat_activity b WHERE b.pid = ANY (pg_catalog.pg_blocking_pids(a.pid)))) \
         FROM pg_catalog.pg_stat_activity a WHERE a.wait_event_type NOT IN ('Activity', 'Client') AND {which} ORDER BY a.pid LIMIT 3"
    )
}

/// Whether a slot has a walsender.
pub(super) async fn slot_active(publisher: &Client, subscription: &str) -> Result<bool, Failure> {
    let sql =
        format!("SELECT 1 FROM pg_catalog.pg_replication_slots WHERE active AND slot_name = {}", literal(subscription));
    Ok(!rows(publisher, &sql).await?.is_empty())
}

impl Live<'_> {
    pub(super) async fn wait_for(&mut self, condition: &Condition, bound: Duration) -> Result<(), Failure> {
        if let Condition::LauncherFree { node } = condition {
            return self.wait_for_launcher(node).await;
        }
        let began = Instant::now();
        let health = self.health();
        loop {
            let met = match condition {
                Condition::Synced { subscription } => self.synced(subscription).await?,
                Condition::Disabled { subscription } => self.disabled(subscription).await?,
                Condition::Synchronous { node, states } => self.in_force(node, states).await?,
                Condition::LauncherFree { .. } => true,
            };
            if met {
                return Ok(());
            }
            // An apply worker that fails is started again for ever; its first error is the cause.
            if matches!(condition, Condition::Synced { .. } | Condition::Synchronous { .. })
                && let Some(error) = health.error()
            {
                return Err(Failure::new(error));
            }
            if began.elapsed() > bound {
                let cause = match condition {
                    Condition::Synced { subscription } | Condition::Disabled { subscription } => {
                        self.explain_subscription(subscription).await
                    }
                    Condition::Synchronous { node, .. } => self.explain_confirmations(node).await,
                    Condition::LauncherFree { .. } => return Ok(()),
                };
                return Err(Failure::timed_out(format!(
                    "waited {bound:?} until {}: {cause}",
                    condition_words(condition)
                )));
            }
            tokio::time::sleep(if began.elapsed() < LONG { FIRST_INTERVAL } else { LONG_INTERVAL }).await;
        }
    }

    /// On 14 and 15 the launcher starts no worker within `wal_retrieve_retry_interval` of the last start, and then
    /// waits the whole interval anew.
    async fn wait_for_launcher(&mut self, name: &str) -> Result<(), Failure> {
        let node = self.node(name)?;
        let Some(started) = node.worker_started else { return Ok(()) };
        let interval = node.rows("SELECT setting FROM pg_settings WHERE name = 'wal_retrieve_retry_interval'").await?;
        let ms = interval.first().and_then(|row| row.get(0)).and_then(|ms| ms.parse().ok()).unwrap_or(5000);
        let left = Duration::from_millis(ms).saturating_sub(started.elapsed());
        tokio::time::sleep(left).await;
        *self.launcher_wait.get_or_insert(0.0) += left.as_secs_f64();
        Ok(())
    }

    /// Every table ready, the worker there, and prepared transactions enabled where asked for.
    async fn synced(&self, name: &str) -> Result<bool, Failure> {
        let node = self.node(&self.cell.scenario.subscriptions[name].node)?;
        let two_phase = if node.major >= 15 { "s.subtwophasestate <> 'p'" } else { "true" };
        let sql = format!(
            "SELECT {two_phase} AND NOT EXISTS (SELECT FROM pg_catalog.pg_subscription_rel r WHERE r.srsubid = s.oid AND r.srsubstate <> 'r') \
             AND EXISTS (SELECT FROM pg_catalog.pg_subscription_rel r WHERE r.srsubid = s.oid) \
             FROM pg_catalog.pg_subscription s WHERE s.subname = {}",
            literal(name)
        );
        let ready = node.rows(&sql).await?.first().and_then(|row| row.get(0)) == Some("t");
        let publisher = self.node(&self.cell.scenario.subscriptions[name].publisher)?;
        Ok(ready && slot_active(&publisher.control, name).await?)
    }

    /// Every member streams and has its `sync_state`.
    async fn in_force(&self, node: &str, states: &[(String, String)]) -> Result<bool, Failure> {
        let counted = self.node(node)?.rows(&synchronous::in_force(states)).await?;
        let count: usize = counted.first().and_then(|row| row.get(0)).and_then(|n| n.parse().ok()).unwrap_or(0);
        Ok(count == states.len())
    }

    /// Who is connected to a node, with its `sync_state`.
    async fn explain_confirmations(&self, name: &str) -> String {
        let described = async {
            let sql =
                "SELECT concat_ws(' ', application_name, state, 'is', sync_state) FROM pg_catalog.pg_stat_replication";
            self.node(name)?.rows(sql).await
        };
        let told: Vec<String> = match tokio::time::timeout(EXPLAIN_BOUND, described).await {
            Ok(Ok(rows)) => rows.iter().map(|row| row.get(0).unwrap_or("?").to_owned()).collect(),
            Ok(Err(failure)) => vec![failure.reason],
            Err(_) => vec![format!("`{name}` does not answer")],
        };
        if told.is_empty() { format!("nobody receives from `{name}`") } else { told.join("; ") }
    }

    pub(super) async fn disabled(&self, name: &str) -> Result<bool, Failure> {
        let subscription = &self.cell.scenario.subscriptions[name];
        let sql = format!(
            "SELECT 1 FROM pg_catalog.pg_stat_subscription WHERE pid IS NOT NULL AND subname = {}",
            literal(name)
        );
        let running = !self.node(&subscription.node)?.rows(&sql).await?.is_empty();
        Ok(!running && !slot_active(&self.node(&subscription.publisher)?.control, name).await?)
    }

    /// What stands in the way of a node's subscriptions.
    pub(super) async fn explain_node(&self, node: &str) -> String {
        let mut parts = Vec::new();
        for (name, subscription) in &self.cell.scenario.subscriptions {
            if subscription.node == node {
                parts.push(self.explain_subscription(name).await);
            }
        }
        if parts.is_empty() { format!("nothing subscribes on `{node}`") } else { parts.join("; ") }
    }

    /// What the sessions of a load that has not ended are doing.
    pub(super) async fn explain_load(&self, name: &str) -> String {
        let described = async {
            let node = self.node(&self.cell.scenario.workloads[name].node)?;
            node.rows(&waits(&format!(
                "a.state <> 'idle' AND a.application_name = {}",
                literal(&format!("load {name}"))
            )))
            .await
        };
        let told = match tokio::time::timeout(EXPLAIN_BOUND, described).await {
            Ok(Ok(rows)) => rows.iter().map(|row| format!("a session of it {}", row.get(0).unwrap_or("?"))).collect(),
            Ok(Err(failure)) => vec![failure.reason],
            Err(_) => vec!["its node does not answer".to_owned()],
        };
        std::iter::once(format!("workload `{name}` had not ended")).chain(told).collect::<Vec<_>>().join("; ")
    }

    /// The state of a subscription and its slot, in words.
    pub(super) async fn explain_subscription(&self, name: &str) -> String {
        let described = async {
            let subscription = &self.cell.scenario.subscriptions[name];
            let sql = format!(
                "SELECT s.subenabled, count(w.pid), coalesce((SELECT string_agg(DISTINCT r.srsubstate::text, ', ') FROM pg_catalog.pg_subscription_rel r WHERE r.srsubid = s.oid), 'no table') \
                 FROM pg_catalog.pg_subscription s LEFT JOIN pg_catalog.pg_stat_subscription w ON w.subid = s.oid WHERE s.subname = {} GROUP BY s.oid, s.subenabled",
                literal(name)
            );
            let state = self.node(&subscription.node)?.rows(&sql).await?;
            let slot = format!(
                "SELECT active, wal_status, confirmed_flush_lsn, pg_current_wal_insert_lsn() FROM pg_catalog.pg_replication_slots WHERE slot_name = {}",
                literal(name)
            );
            let slot = self.node(&subscription.publisher)?.rows(&slot).await?;
            let waits = self
                .node(&subscription.node)?
                .rows(&waits(&format!(
                    "a.pid IN (SELECT w.pid FROM pg_catalog.pg_stat_subscription w WHERE w.subname = {})",
                    literal(name)
                )))
                .await?;
            let mut text = match state.first() {
                None => format!("subscription `{name}` is not there"),
                Some(row) => format!(
                    "subscription `{name}` is {}, {} worker(s), tables in state {}",
                    if row.get(0) == Some("t") { "enabled" } else { "disabled" },
                    row.get(1).unwrap_or("?"),
                    row.get(2).unwrap_or("?")
                ),
            };
            text += &match slot.first() {
                None => ", its slot is not there".to_owned(),
                Some(row) => format!(
                    ", its slot is {}, {}, confirmed to {} of {}",
                    if row.get(0) == Some("t") { "active" } else { "inactive" },
                    row.get(1).unwrap_or("no WAL status"),
                    row.get(2).unwrap_or("nothing"),
                    row.get(3).unwrap_or("?")
                ),
            };
            let waits = waits.iter().map(|row| format!("its worker {}", row.get(0).unwrap_or("?")));
            Ok::<_, Failure>(std::iter::once(text).chain(waits).collect::<Vec<_>>().join("; "))
        };
        match tokio::time::timeout(EXPLAIN_BOUND, described).await {
            Ok(Ok(text)) => text,
            Ok(Err(failure)) => failure.reason,
            Err(_) => format!("the nodes of subscription `{name}` do not answer"),
        }
    }
}
