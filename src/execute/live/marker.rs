//! The marker's way: who is listened to before it commits, and what is waited for after it.

use std::time::{Duration, Instant};

use tokio_postgres::Client;

use super::consumers::{Arriving, tail};
use super::node::rows;
use super::{HEALTH_INTERVAL, Live};
use crate::execute::world::{Failure, Running};
use crate::plan::instruction::Activity;
use crate::plan::sql::marker;
use crate::probe::marker::{MarkerRequest, MarkerWatch};
use crate::spec::scenario::Transport;
use crate::text::Lsn;
use crate::text::quote::literal;

/// How often a marker is counted while no notification comes: a safety net, seldom enough to cost nothing.
const RECOUNT: Duration = Duration::from_secs(1);

/// How often the received position of a subscription is looked at: 0.09 ms of the subscriber's CPU each.
const RECEIVED_INTERVAL: Duration = Duration::from_millis(5);

/// A page of WAL, and the length of a header at its beginning (of the first page of a file, and of any other).
const PAGE: u64 = 8192;
const PAGE_HEADERS: [u64; 2] = [40, 24];

/// What listens for a marker.
pub(super) struct Listening {
    watches: Vec<(String, MarkerWatch)>,
    slots: Vec<(String, Option<Arriving>)>,
}

/// A position that the record of the last commit reaches: where the next record goes, less a page's header that it
/// would stand behind.
async fn position(control: &Client) -> Result<Lsn, Failure> {
    let found = rows(control, "SELECT pg_current_wal_insert_lsn()").await?;
    let lsn: Option<Lsn> = found.first().and_then(|row| row.get(0)).and_then(|lsn| lsn.parse().ok());
    let Lsn(insert) = lsn.ok_or_else(|| Failure::new("a node tells no WAL position"))?;
    let within = insert % PAGE;
    Ok(Lsn(if PAGE_HEADERS.contains(&within) { insert - within } else { insert }))
}

impl Live<'_> {
    pub(super) fn ready_marker(
        &mut self,
        id: u64,
        nodes: &[(String, u32)],
        slots: &[(String, u32)],
    ) -> Result<(), Failure> {
        let mut watches = Vec::new();
        for (name, deliveries) in nodes {
            let node = self.node(name)?;
            let request = MarkerRequest {
                target: node.target(Transport::Unix, "runner marker"),
                channel: marker::CHANNEL.to_owned(),
                payload: id.to_string(),
                deliveries: *deliveries,
                count_sql: marker::count(id),
                recount: RECOUNT,
            };
            let watch = MarkerWatch::start(request)
                .map_err(|error| Failure::new(format!("failed to watch for the marker on `{name}`: {error}")))?;
            self.nodes[name.as_str()].own_sessions.push(watch.backend_pid());
            watches.push((name.clone(), watch));
        }
        let slots = slots
            .iter()
            .map(|(slot, times)| {
                let consumer = self.consumer(slot)?;
                let arriving = consumer.reads_markers().then(|| consumer.marker(id, *times));
                Ok((slot.clone(), arriving))
            })
            .collect::<Result<Vec<_>, Failure>>()?;
        self.markers.insert(id, Listening { watches, slots });
        Ok(())
    }

    fn consumer(&self, slot: &str) -> Result<&super::consumers::SlotConsumer, Failure> {
        self.consumers.get(slot).ok_or_else(|| Failure::new(format!("slot `{slot}` has no consumer")))
    }

    pub(super) fn start_marker(&mut self, id: u64) -> Result<Running, Failure> {
        let Listening { watches, slots } =
            self.markers.remove(&id).ok_or_else(|| Failure::new(format!("marker {id} was not made ready")))?;
        let mut arriving = Vec::new();
        for (slot, receiver) in slots {
            let receiver = match receiver {
                Some(receiver) => receiver,
                None => self.position_of(&slot)?,
            };
            // A program that fails says why before its output ends.
            let log = self.consumer(&slot)?.log();
            arriving.push((slot, receiver, log));
        }
        let ended = self.ended.clone();
        let health = self.health();
        let done = Box::pin(async move {
            let visible = async {
                for (node, mut watch) in watches {
                    let seen = watch.seen().await.map_err(|error| {
                        Failure::new(format!("failed to watch for the marker on `{node}`: {error}"))
                    })?;
                    let mut ended = ended.borrow_mut();
                    ended.visible.insert(node, seen.at);
                    ended.watches.push(watch);
                }
                Ok::<_, Failure>(())
            };
            let received = async {
                for (slot, receiver, log) in arriving {
                    let arrival = match receiver.await {
                        Ok(arrival) => arrival.map_err(|error| error.to_string()),
                        Err(_) => Err("its consumer has gone".to_owned()),
                    };
                    let told = |why: String| {
                        let words = log.map(|log| tail(&log)).filter(|words| !words.is_empty());
                        words.map_or(why.clone(), |words| format!("{why}; {words}"))
                    };
                    let arrival = arrival
                        .map_err(told)
                        .map_err(|why| Failure::new(format!("slot `{slot}`: the marker did not come: {why}")))?;
                    ended.borrow_mut().received.insert(slot, arrival.at);
                }
                Ok::<_, Failure>(())
            };
            tokio::select! { biased;
                both = async { tokio::try_join!(visible, received) } => both.map(|_| ()),
                failure = health.first_error(HEALTH_INTERVAL) => Err(failure),
            }
        });
        Ok(Running { done, stop: Box::new(|| {}) })
    }

    /// The arrival of the marker at a consumer that cannot read it, by the position that was taken after its commit.
    fn position_of(&self, slot: &str) -> Result<Arriving, Failure> {
        let position =
            self.marked.ok_or_else(|| Failure::new(format!("no position is known for the marker of slot `{slot}`")))?;
        let arriving = self.consumer(slot)?.position(position);
        arriving.ok_or_else(|| Failure::new(format!("the output of slot `{slot}` cannot be read for the marker")))
    }

    /// Takes the position of the marker's commit, where a position is what will be waited for.
    pub(super) async fn note_position(&mut self, node: &str) -> Result<(), Failure> {
        self.marked = None;
        let mut activities = self.cell.turn.phases.iter().flat_map(|phase| &phase.activities);
        let wanted = activities.any(|activity| matches!(activity, Activity::Received { .. }));
        let opaque = self.consumers.values().any(|consumer| !consumer.reads_markers());
        if wanted || opaque {
            self.marked = Some(position(&self.node(node)?.control).await?);
        }
        Ok(())
    }

    /// Waits until subscriptions have received the WAL up to the marker.
    pub(super) fn start_received(&self, subscriptions: &[String]) -> Result<Running, Failure> {
        let wanted = self.marked.ok_or_else(|| Failure::new("no position is known for the marker"))?;
        let mut subscribers = Vec::new();
        for name in subscriptions {
            subscribers.push((name.clone(), self.node(&self.cell.scenario.subscriptions[name].node)?.control.clone()));
        }
        let ended = self.ended.clone();
        let health = self.health();
        let done = Box::pin(async move {
            let received = async {
                while !subscribers.is_empty() {
                    let mut left = Vec::new();
                    for (name, control) in subscribers {
                        if received(&control, &name).await?.is_some_and(|lsn| lsn >= wanted) {
                            ended.borrow_mut().received.insert(name, Instant::now());
                        } else {
                            left.push((name, control));
                        }
                    }
                    subscribers = left;
                    if !subscribers.is_empty() {
                        tokio::time::sleep(RECEIVED_INTERVAL).await;
                    }
                }
                Ok(())
            };
            tokio::select! { biased;
                received = received => received,
                failure = health.first_error(HEALTH_INTERVAL) => Err(failure),
            }
        });
        Ok(Running { done, stop: Box::new(|| {}) })
    }
}

/// How far a subscription's apply worker has received.
async fn received(subscriber: &Client, name: &str) -> Result<Option<Lsn>, Failure> {
    let sql =
        format!("SELECT max(received_lsn) FROM pg_catalog.pg_stat_subscription WHERE subname = {}", literal(name));
    let found = rows(subscriber, &sql).await?;
    Ok(found.first().and_then(|row| row.get(0)).and_then(|lsn| lsn.parse().ok()))
}
