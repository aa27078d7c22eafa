//! Initial copies as they go on: when each table's rows are there, when it is ready, and the CPU of the processes that
//! copied it.

use std::collections::HashMap;
use std::rc::Rc;
use std::time::{Duration, Instant};

use indexmap::IndexMap;
use tokio_postgres::Client;

use super::conditions::slot_active;
use super::node::rows;
use super::{HEALTH_INTERVAL, Live};
use crate::execute::world::{Failure, Running};
use crate::probe::process_cpu;
use crate::text::quote::literal;

/// How often the tables are looked at: 0.2 ms of CPU on each side.
const LOOK_INTERVAL: Duration = Duration::from_millis(20);

/// A table on its way.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct TableSync {
    pub(super) copied: Option<Instant>,
    pub(super) ready: Option<Instant>,
    pub(super) worker_ns: Option<u64>,
    pub(super) walsender_ns: Option<u64>,
}

/// Tables by name, of each subscription.
pub(super) type Syncs = HashMap<String, IndexMap<String, TableSync>>;

struct Watched {
    name: String,
    subscriber: Rc<Client>,
    publisher: Rc<Client>,
}

impl Live<'_> {
    pub(super) fn start_sync(&self, subscriptions: &[String]) -> Result<Running, Failure> {
        let mut watched = Vec::new();
        for name in subscriptions {
            let of = &self.cell.scenario.subscriptions[name.as_str()];
            let (subscriber, publisher) =
                (self.node(&of.node)?.control.clone(), self.node(&of.publisher)?.control.clone());
            watched.push(Watched { name: name.clone(), subscriber, publisher });
        }
        let ended = self.ended.clone();
        let health = self.health();
        let done = Box::pin(async move {
            let synced = async {
                let mut first = true;
                loop {
                    let mut all = true;
                    let first = std::mem::take(&mut first);
                    for of in &watched {
                        let mut tables = ended.borrow().syncs.get(&of.name).cloned().unwrap_or_default();
                        all &= look(of, &mut tables, first).await?;
                        ended.borrow_mut().syncs.insert(of.name.clone(), tables);
                    }
                    if all {
                        return Ok(());
                    }
                    tokio::time::sleep(LOOK_INTERVAL).await;
                }
            };
            tokio::select! { biased;
                synced = synced => synced,
                failure = health.first_error(HEALTH_INTERVAL) => Err(failure),
            }
        });
        Ok(Running { done, stop: Box::new(|| {}) })
    }
}

/// Looks at the tables of a subscription once; whether all of it is ready.
async fn look(of: &Watched, tables: &mut IndexMap<String, TableSync>, first: bool) -> Result<bool, Failure> {
    let sql = format!(
        "SELECT format('%I.%I', n.nspname, c.relname), r.srsubstate, r.srsubid, r.srrelid, w.pid \
         FROM pg_catalog.pg_subscription s JOIN pg_catalog.pg_subscription_rel r ON r.srsubid = s.oid \
         JOIN pg_catalog.pg_class c ON c.oid = r.srrelid JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace \
         LEFT JOIN pg_catalog.pg_stat_subscription w ON w.subid = s.oid AND w.relid = r.srrelid WHERE s.subname = {} ORDER BY 1",
        literal(&of.name)
    );
    let found = rows(&of.subscriber, &sql).await?;
    let at = Instant::now();
    let mut ready = !found.is_empty();
    let mut senders = None;
    for row in &found {
        let text = |index: usize| row.get(index).unwrap_or_default();
        // One that was ready before the phase began is none of its copies.
        if first && text(1) == "r" {
            continue;
        }
        let table = tables.entry(text(0).to_owned()).or_default();
        match text(1) {
            "r" => {
                table.copied.get_or_insert(at);
                table.ready.get_or_insert(at);
            }
            "f" | "s" => {
                table.copied.get_or_insert(at);
                ready = false;
            }
            _ => ready = false,
        }
        if let Some(pid) = row.get(4).and_then(|pid| pid.parse().ok()) {
            table.worker_ns = process_cpu(pid).ok().flatten().or(table.worker_ns);
            if senders.is_none() {
                senders = Some(walsenders(&of.publisher).await?);
            }
            // pg_SUBSCRIPTION_sync_TABLE_SYSTEM, by object identifiers.
            let prefix = format!("pg_{}_sync_{}_", text(2), text(3));
            let sender = senders.iter().flatten().find(|(application, _)| application.starts_with(&prefix));
            if let Some((_, pid)) = sender {
                table.walsender_ns = process_cpu(*pid).ok().flatten().or(table.walsender_ns);
            }
        }
    }
    Ok(ready && slot_active(&of.publisher, &of.name).await?)
}

/// Walsenders that serve table synchronisation workers, by application name.
async fn walsenders(publisher: &Client) -> Result<Vec<(String, u32)>, Failure> {
    let sql = "SELECT application_name, pid FROM pg_catalog.pg_stat_activity \
               WHERE backend_type = 'walsender' AND application_name LIKE 'pg\\_%\\_sync\\_%'";
    let found = rows(publisher, sql).await?;
    Ok(found.iter().filter_map(|row| Some((row.get(0)?.to_owned(), row.get(1)?.parse().ok()?))).collect())
}
