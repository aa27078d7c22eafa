//! The instruction set of a plan: everything that is done to the world, as data.
//!
//! About ten instructions and the activities that run beside the loop. Actions of the language lower to these
//! and never reach the executor; adding an action adds no instruction.

use std::time::Duration;

use super::sql::checksum::Projection;
use super::sql::slot::PluginOption;
use crate::spec::scenario::Consumer;

/// SQL whose connection strings are known only once servers run: they are printed symbolically.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct SqlText {
    parts: Vec<Part>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Part {
    Text(String),
    Conninfo { from: String, to: String, application: String },
}

impl SqlText {
    /// SQL as it is.
    pub fn plain(text: impl Into<String>) -> Self {
        Self { parts: vec![Part::Text(text.into())] }
    }

    /// Appends text.
    #[must_use]
    pub fn text(mut self, text: &str) -> Self {
        self.parts.push(Part::Text(text.to_owned()));
        self
    }

    /// Appends the connection string, as a literal, by which `from` reaches `to`. Both ends are named so that a
    /// relay can stand between.
    #[must_use]
    pub fn conninfo(mut self, from: &str, to: &str, application: &str) -> Self {
        self.parts.push(Part::Conninfo {
            from: from.to_owned(),
            to: to.to_owned(),
            application: application.to_owned(),
        });
        self
    }

    /// As printed in a plan: `CONNECTION «publisher»`.
    pub fn display(&self) -> String {
        self.parts
            .iter()
            .map(|part| match part {
                Part::Text(text) => text.clone(),
                Part::Conninfo { to, .. } => format!("«{to}»"),
            })
            .collect()
    }

    /// As run. `literal(from, to, application)` gives a connection string as an SQL literal.
    pub fn resolve(&self, literal: impl Fn(&str, &str, &str) -> String) -> String {
        self.parts
            .iter()
            .map(|part| match part {
                Part::Text(text) => text.clone(),
                Part::Conninfo { from, to, application } => literal(from, to, application),
            })
            .collect()
    }
}

/// What is waited for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Condition {
    /// Every table of the subscription has srsubstate `r`.
    Synced {
        /// Subscription.
        subscription: String,
    },
    /// No apply worker runs and the slot is inactive.
    Disabled {
        /// Subscription.
        subscription: String,
    },
    /// Each member has its `sync_state`.
    Synchronous {
        /// Node whose commits they confirm.
        node: String,
        /// Members by the name of their walsender, with the state that each must have.
        states: Vec<(String, String)>,
    },
    /// The launcher of 14 and 15 would start a worker at once: `wal_retrieve_retry_interval` has passed since it
    /// last started one.
    LauncherFree {
        /// Subscribing node.
        node: String,
    },
}

/// What runs beside the loop until it has ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Activity {
    /// A load.
    Load {
        /// Workload.
        workload: String,
    },
    /// The marker on its way: ended when it is visible on every node as often as it must arrive there, and the
    /// consumer of every slot has received it as often.
    Marker {
        /// The marker's number.
        id: u64,
        /// Nodes with how often the row arrives.
        nodes: Vec<(String, u32)>,
        /// Slots with how often it is decoded there.
        slots: Vec<(String, u32)>,
    },
    /// The marker on its way to subscribers: ended when each has received the WAL up to its commit, whether it is
    /// applied or not.
    Received {
        /// Subscriptions.
        subscriptions: Vec<String>,
    },
    /// Initial copies under way: ended when every table of each subscription is ready.
    Sync {
        /// Subscriptions.
        subscriptions: Vec<String>,
    },
    /// From ENABLE to the active slot.
    Startup {
        /// Subscription.
        subscription: String,
    },
}

/// One thing done to the world, completely.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Instruction {
    /// Make data that a node starts from, if the cache does not have it yet: before the node is started.
    Data(Dataset),
    /// Start node processes, all at once, until each accepts connections.
    Start {
        /// Nodes.
        nodes: Vec<String>,
    },
    /// Stop node processes at once and remove what they wrote.
    Stop {
        /// Nodes.
        nodes: Vec<String>,
    },
    /// SQL on the runner's control session of a node.
    Sql {
        /// Node.
        node: String,
        /// Text.
        sql: SqlText,
    },
    /// The marker's commit, the first thing in the clock of a phase that waits for it.
    Mark {
        /// Node that writes it.
        node: String,
        /// The marker's number.
        id: u64,
        /// Text.
        sql: SqlText,
        /// Whether anything is downstream that waits for it.
        downstream: bool,
    },
    /// Wait, with a bound and, when it ends badly, a cause.
    Await {
        /// For what.
        condition: Condition,
        /// How long at most.
        bound: Duration,
    },
    /// Connect the consumer of a slot, which then takes the stream until the nodes are stopped.
    Consume(Consume),
    /// Make an activity ready to go: connections open, statements prepared.
    Ready {
        /// The activity.
        activity: Activity,
    },
    /// Read the counters and start the phase's clock; of one that follows, go on with the counters and the clock where
    /// those of the phase before stopped.
    Open {
        /// Phase.
        phase: String,
        /// Whether nothing lies between it and the phase before.
        follows: bool,
    },
    /// Stop the phase's clock, at the moment its activities ended, and read the counters.
    Close {
        /// Phase.
        phase: String,
    },
    /// After the last phase, outside every clock: close the load's connections, disable the subscriptions, read the
    /// statistics that exiting workers flush, and the WAL of each phase by resource manager.
    Settle,
    /// Compare what is replicated.
    Verify {
        /// What to compare.
        projections: Vec<Projection>,
    },
}

/// Data that is made once and copied for each turn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dataset {
    /// Node that starts from it.
    pub node: String,
    /// SHA-256, shortened, over `parts` and `steps`. What the server's program is comes in when it is looked up.
    pub key: String,
    /// What else than the steps goes into the key: label and value.
    pub parts: Vec<(String, String)>,
    /// Steps of set-up that make it: name and SQL, in order.
    pub steps: Vec<(String, String)>,
}

/// The consumer of a slot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Consume {
    /// Slot.
    pub slot: String,
    /// Its node.
    pub node: String,
    /// Output plugin.
    pub plugin: String,
    /// Its options, as it gets them.
    pub options: Vec<PluginOption>,
    /// The client.
    pub consumer: Consumer,
}

/// When in the building of a turn an instruction comes; printed with the plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stage {
    /// Data that is made once.
    Data,
    /// Node processes.
    Nodes,
    /// `[[setup]]` and the marker's table.
    Setup,
    /// Publications.
    Publications,
    /// Slots and their consumers.
    Slots,
    /// Subscriptions, until synced.
    Subscriptions,
    /// Synchronous names, until in force.
    Synchronous,
    /// CHECKPOINT.
    Checkpoint,
}

impl Stage {
    /// As printed.
    pub fn as_str(self) -> &'static str {
        match self {
            Stage::Data => "data (made once)",
            Stage::Nodes => "nodes",
            Stage::Setup => "setup",
            Stage::Publications => "publications",
            Stage::Slots => "slots",
            Stage::Subscriptions => "subscriptions",
            Stage::Synchronous => "synchronous names",
            Stage::Checkpoint => "checkpoint",
        }
    }
}

/// An instruction of the building with its stage and what it is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// Stage.
    pub stage: Stage,
    /// Name for people, such as "setup step `schema`".
    pub what: String,
    /// What is done.
    pub instruction: Instruction,
}

/// What fills a phase.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Filling {
    /// Its activities, until all have ended.
    Activities,
    /// A length of time.
    Hold(Duration),
}

/// One phase: one clock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PhasePlan {
    /// Name.
    pub name: String,
    /// Whether its figures count.
    pub measure: bool,
    /// Whether its clock goes on where that of the phase before stopped: nothing has to be done between them.
    pub follows: bool,
    /// Done and complete before the clock.
    pub prepare: Vec<Instruction>,
    /// First thing inside it.
    pub start: Vec<Instruction>,
    /// Begin after `start`, all at once.
    pub activities: Vec<Activity>,
    /// What fills it.
    pub filling: Filling,
    /// Done inside it, at times from the clock, in order.
    pub events: Vec<(Duration, Instruction)>,
    /// Bound of everything inside the clock.
    pub bound: Duration,
}

/// Everything done in one turn of a cell. `down` is performed on every path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TurnPlan {
    /// Building, in its fixed order.
    pub up: Vec<Step>,
    /// Phases in order.
    pub phases: Vec<PhasePlan>,
    /// After the last phase.
    pub finish: Vec<Instruction>,
    /// Taking down.
    pub down: Vec<Instruction>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_connection_string_is_symbolic_until_servers_run() {
        let sql = SqlText::plain("CONNECTION ").conninfo("s", "p", "items").text(" PUBLICATION x");
        assert_eq!(sql.display(), "CONNECTION «p» PUBLICATION x");
        assert_eq!(
            sql.resolve(|from, to, application| format!("'{from}>{to} {application}'")),
            "CONNECTION 's>p items' PUBLICATION x"
        );
    }
}
