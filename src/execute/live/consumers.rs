//! The consumers of a turn's slots: connected while the turn is built, read at the edges of windows, ended when it
//! settles.

use std::path::PathBuf;
use std::time::Duration;

use indexmap::IndexMap;
use rustix::process::Signal;
use tokio::sync::oneshot;

use super::Live;
use super::pgbench::conninfo;
use crate::execute::world::Failure;
use crate::lab::child::Child;
use crate::lab::log;
use crate::lab::process::{ParentDeath, Program};
use crate::load::consumer::{Arrival, Awaited, Consumer, ConsumerError, ConsumerRequest, Form, OutputReader};
use crate::measure::SlotEvidence;
use crate::plan::facts::PG_RECVLOGICAL;
use crate::plan::instruction::Consume;
use crate::plan::sql::slot;
use crate::probe::process_cpu;
use crate::spec::scenario;

/// How long a consumer may take to end when it is asked to.
const END_BOUND: Duration = Duration::from_secs(5);

/// How long `pg_recvlogical` may take to begin streaming.
const START_BOUND: Duration = Duration::from_secs(10);

/// What will be told of a marker on its way.
pub(super) type Arriving = oneshot::Receiver<Result<Arrival, ConsumerError>>;

/// A consumer at work.
pub(super) enum SlotConsumer {
    Own(Consumer),
    Program { child: Child, output: OutputReader, log: std::path::PathBuf },
}

/// Counters of a consumer.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ConsumerReading {
    cpu_ns: Option<u64>,
    bytes: u64,
    changes: Option<u64>,
    transactions: Option<u64>,
}

impl SlotConsumer {
    fn name(&self) -> &'static str {
        match self {
            SlotConsumer::Own(_) => scenario::Consumer::Runner.as_str(),
            SlotConsumer::Program { .. } => scenario::Consumer::PgRecvlogical.as_str(),
        }
    }

    /// Whether markers are found in what it gets.
    pub(super) fn reads_markers(&self) -> bool {
        match self {
            SlotConsumer::Own(consumer) => consumer.reads_markers(),
            SlotConsumer::Program { .. } => true,
        }
    }

    /// Tells when it has received a marker for the `times`th time.
    pub(super) fn marker(&self, id: u64, times: u32) -> Arriving {
        match self {
            SlotConsumer::Own(consumer) => consumer.arrival(Awaited::Marker { id, times }),
            SlotConsumer::Program { output, .. } => output.arrival(id, times),
        }
    }

    /// Tells when it has received everything up to a position.
    pub(super) fn position(&self, position: crate::text::Lsn) -> Option<Arriving> {
        match self {
            SlotConsumer::Own(consumer) => Some(consumer.arrival(Awaited::Position(position))),
            SlotConsumer::Program { .. } => None,
        }
    }

    fn read(&self) -> ConsumerReading {
        match self {
            SlotConsumer::Own(consumer) => {
                let consumed = consumer.so_far();
                ConsumerReading {
                    cpu_ns: Some(consumed.cpu_ns),
                    bytes: consumed.payload_bytes,
                    changes: consumed.changes,
                    transactions: consumed.transactions,
                }
            }
            SlotConsumer::Program { child, output, .. } => ConsumerReading {
                cpu_ns: process_cpu(child.pid()).ok().flatten(),
                bytes: output.bytes(),
                ..ConsumerReading::default()
            },
        }
    }

    /// Where it says what went wrong, if that is a file.
    pub(super) fn log(&self) -> Option<PathBuf> {
        match self {
            SlotConsumer::Own(_) => None,
            SlotConsumer::Program { log, .. } => Some(log.clone()),
        }
    }

    /// Why it has ended although nobody asked it to; `None` while it works.
    async fn ended(&mut self, slot: &str) -> Option<String> {
        match self {
            SlotConsumer::Own(consumer) => {
                let ended = tokio::time::timeout(Duration::ZERO, consumer.finished()).await.ok()?;
                Some(match ended {
                    Ok(_) => format!("the consumer of slot `{slot}` was ended by the server"),
                    Err(error) => format!("failed to consume: {error}"),
                })
            }
            SlotConsumer::Program { child, log, .. } => {
                let ended = child.try_ended()?;
                Some(format!("{PG_RECVLOGICAL} of slot `{slot}` ended with {}: {}", ended.status, tail(log)))
            }
        }
    }
}

/// The end of a program's log, on one line.
pub(super) fn tail(path: &std::path::Path) -> String {
    log::since(path, 0).0.lines().rev().take(3).collect::<Vec<_>>().into_iter().rev().collect::<Vec<_>>().join("; ")
}

impl Live<'_> {
    /// Connects the consumer of a slot.
    pub(super) async fn consume(&mut self, consume: &Consume) -> Result<(), Failure> {
        let consumer = match consume.consumer {
            scenario::Consumer::None => return Ok(()),
            scenario::Consumer::Runner => self.consume_ourselves(consume)?,
            scenario::Consumer::PgRecvlogical => self.consume_by_program(consume).await?,
        };
        self.consumers.insert(consume.slot.clone(), consumer);
        Ok(())
    }

    fn consume_ourselves(&self, consume: &Consume) -> Result<SlotConsumer, Failure> {
        let node = self.node(&consume.node)?;
        let request = ConsumerRequest {
            target: node.target(self.cell.scenario.transport.value, &consume.slot),
            slot: consume.slot.clone(),
            plugin: consume.plugin.clone(),
            options: consume.options.clone(),
        };
        let consumer = Consumer::start(request).map_err(|error| Failure::new(format!("failed to consume: {error}")))?;
        Ok(SlotConsumer::Own(consumer))
    }

    /// Starts `pg_recvlogical` with a pipe as its output, and waits until it streams.
    async fn consume_by_program(&self, consume: &Consume) -> Result<SlotConsumer, Failure> {
        let Consume { slot, plugin, .. } = consume;
        let node = self.node(&consume.node)?;
        let form = Form::of(plugin)
            .ok_or_else(|| Failure::new(format!("the output of {plugin} cannot be read for the marker")))?;
        let program = self.tools.get(PG_RECVLOGICAL).and_then(|tool| tool.bin.clone());
        let program = program.ok_or_else(|| Failure::new(format!("no {PG_RECVLOGICAL} is found")))?;
        let log = node.node.log.with_file_name(format!("{slot}.{PG_RECVLOGICAL}.log"));
        let target = node.target(self.cell.scenario.transport.value, slot);
        let mut program = Program::new(program)
            .args(["--start", "--no-loop", "-f", "-", "--slot", slot])
            .args(slot::RECVLOGICAL_OPTIONS)
            .args(["-d".to_owned(), conninfo(&target)])
            .run_as(self.lab.lock().await.run_as().cloned())
            .parent_death(ParentDeath::Kill);
        for option in &consume.options {
            let text = match &option.value {
                Some(value) => format!("{}={value}", option.name),
                None => option.name.clone(),
            };
            program = program.args(["-o".to_owned(), text]);
        }
        if let Some(password) = target.password {
            program = program.variable("PGPASSWORD", password);
        }
        let (child, pipe) = program.spawn_with_output(&log).map_err(|error| Failure::new(error.to_string()))?;
        let output = OutputReader::start(pipe, form)
            .map_err(|error| Failure::new(format!("failed to read the output of {PG_RECVLOGICAL}: {error}")))?;
        let consumer = SlotConsumer::Program { child, output, log };
        self.until_active(slot, &consume.node, consumer).await
    }

    /// The consumer once its slot is in use.
    async fn until_active(&self, slot: &str, node: &str, mut consumer: SlotConsumer) -> Result<SlotConsumer, Failure> {
        let control = self.node(node)?.control.clone();
        let began = std::time::Instant::now();
        loop {
            if let Some(why) = consumer.ended(slot).await {
                return Err(Failure::new(why));
            }
            if super::conditions::slot_active(&control, slot).await? {
                return Ok(consumer);
            }
            if began.elapsed() > START_BOUND {
                return Err(Failure::timed_out(format!("{PG_RECVLOGICAL} did not begin to stream from slot `{slot}`")));
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    pub(super) fn read_consumers(&self) -> IndexMap<String, ConsumerReading> {
        self.consumers.iter().map(|(slot, consumer)| (slot.clone(), consumer.read())).collect()
    }

    /// What the consumers did between two readings.
    pub(super) fn consumed(
        &self,
        earlier: &IndexMap<String, ConsumerReading>,
        later: &IndexMap<String, ConsumerReading>,
    ) -> IndexMap<String, SlotEvidence> {
        let difference = |now: Option<u64>, then: Option<u64>| Some(now?.saturating_sub(then.unwrap_or(0)));
        self.consumers
            .iter()
            .map(|(slot, consumer)| {
                let (now, then) = [later, earlier].map(|reading| reading.get(slot).copied().unwrap_or_default()).into();
                let evidence = SlotEvidence {
                    consumer: consumer.name().to_owned(),
                    consumer_cpu_ns: difference(now.cpu_ns, then.cpu_ns),
                    bytes: now.bytes.saturating_sub(then.bytes),
                    changes: difference(now.changes, then.changes),
                    transactions: difference(now.transactions, then.transactions),
                };
                (slot.clone(), evidence)
            })
            .collect()
    }

    /// Ends the consumers; one that had ended by itself is a failure, for what it was to take was not taken.
    pub(super) async fn end_consumers(&mut self) -> Result<(), Failure> {
        for (slot, mut consumer) in std::mem::take(&mut self.consumers) {
            if let Some(why) = consumer.ended(&slot).await {
                return Err(Failure::new(why));
            }
            match &mut consumer {
                SlotConsumer::Own(consumer) => {
                    consumer.end().map_err(|error| Failure::new(format!("failed to end slot `{slot}`: {error}")))?;
                    match tokio::time::timeout(END_BOUND, consumer.finished()).await {
                        Ok(Ok(_)) => {}
                        Ok(Err(error)) => return Err(Failure::new(format!("failed to consume: {error}"))),
                        Err(_) => consumer.stop(),
                    }
                }
                SlotConsumer::Program { child, .. } => {
                    child.signal(Signal::INT).map_err(|error| Failure::new(error.to_string()))?;
                    if child.ended_within(END_BOUND).await.is_none() {
                        child.kill_group();
                    }
                }
            }
        }
        Ok(())
    }

    /// The state of a slot whose consumer has not received the marker, in words.
    pub(super) async fn explain_slot(&self, name: &str) -> String {
        let described = async {
            let node = self.node(&self.cell.scenario.slots[name].node)?;
            let rows = node.rows(&slot::state(name)).await?;
            Ok::<_, Failure>(match rows.first() {
                None => format!("slot `{name}` is not there"),
                Some(row) => format!(
                    "slot `{name}` is {}, {}, confirmed to {}",
                    if row.get(0).is_some() { "active" } else { "inactive" },
                    row.get(2).unwrap_or("no WAL status"),
                    row.get(1).unwrap_or("nothing")
                ),
            })
        };
        match tokio::time::timeout(super::conditions::EXPLAIN_BOUND, described).await {
            Ok(Ok(text)) => text,
            Ok(Err(failure)) => failure.reason,
            Err(_) => format!("the node of slot `{name}` does not answer"),
        }
    }
}

impl Drop for SlotConsumer {
    fn drop(&mut self) {
        // The reader ends with the program.
        if let SlotConsumer::Program { child, .. } = self {
            child.kill_group();
        }
    }
}
