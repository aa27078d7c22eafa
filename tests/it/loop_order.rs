//! The loop over a fake world with a journal, on the paused clock: order on success, failure, time-out, interrupt
//! and a timed event.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

use indexmap::IndexMap;
use runner::execute::settle::{PhaseLedger, Settled, WalCounters};
use runner::execute::turn::{TurnResult, turn};
use runner::execute::world::{Failure, Reply, Running, World};
use runner::measure::{DecodingEvidence, Evidence, HostEvidence, NodeEvidence, RmgrEvidence, Rmgrs, SlotCounters};
use runner::plan::instruction::{Activity, Condition, Filling, Instruction, PhasePlan, SqlText, Stage, Step, TurnPlan};
use runner::results::{Convergence, NodeRecord, Outcome, TableComparison, TableDigest};
use tokio::sync::{oneshot, watch};
use tokio::time::Instant;

/// A world that writes down what happens and when, in seconds since its first instruction.
#[derive(Default)]
pub(crate) struct Fake {
    pub(crate) journal: Vec<String>,
    /// A journal that it shares with another, and what it is called there.
    pub(crate) shared: Option<(&'static str, Rc<RefCell<Vec<String>>>)>,
    pub(crate) began: Option<Instant>,
    /// SQL that fails.
    pub(crate) fails: Option<&'static str>,
    /// SQL that never ends.
    pub(crate) hangs: Option<&'static str>,
    /// Length of every load.
    pub(crate) load: Duration,
    /// Length of every marker's way; none for one that never arrives.
    pub(crate) marker: Option<Duration>,
    /// Whether the marker's watch finds an error instead.
    pub(crate) conflict: bool,
    /// Core seconds of each phase that the hypervisor takes, of ten; in turn, the last one for ever.
    pub(crate) steal: Vec<f64>,
    /// Whether the nodes differ at the end.
    pub(crate) diverges: bool,
}

impl Fake {
    fn note(&mut self, what: &str) {
        let seconds = self.began.get_or_insert_with(Instant::now).elapsed().as_secs();
        self.journal.push(format!("{seconds}s {what}"));
        if let Some((name, journal)) = &self.shared {
            journal.borrow_mut().push(format!("{name} {what}"));
        }
    }
}

fn name(instruction: &Instruction) -> String {
    match instruction {
        Instruction::Data(dataset) => format!("data {}", dataset.node),
        Instruction::Start { nodes } => format!("start {}", nodes.join(" ")),
        Instruction::Stop { nodes } => format!("stop {}", nodes.join(" ")),
        Instruction::Sql { sql, .. } => sql.display(),
        Instruction::Mark { id, .. } => format!("mark {id}"),
        Instruction::Await { condition, .. } => match condition {
            Condition::Synced { subscription } => format!("synced {subscription}"),
            Condition::Disabled { subscription } => format!("disabled {subscription}"),
            Condition::Synchronous { node, .. } => format!("synchronous names of {node}"),
            Condition::LauncherFree { node } => format!("launcher {node}"),
        },
        Instruction::Ready { activity } => format!("ready {}", activity_name(activity)),
        Instruction::Consume(consume) => format!("consume {}", consume.slot),
        Instruction::Open { phase, follows: false } => format!("open {phase}"),
        Instruction::Open { phase, follows: true } => format!("go on with {phase}"),
        Instruction::Close { phase } => format!("close {phase}"),
        Instruction::Settle => "settle".to_owned(),
        Instruction::Verify { .. } => "verify".to_owned(),
    }
}

/// What a node that wrote WAL in both phases tells in the end.
fn settled() -> Settled {
    let heap = |records| IndexMap::from([("Heap".to_owned(), RmgrEvidence { records, ..RmgrEvidence::default() })]);
    let ledger = IndexMap::from([
        ("load".to_owned(), PhaseLedger { before: IndexMap::new(), inside: heap(3) }),
        ("drain".to_owned(), PhaseLedger { before: heap(1), inside: heap(2) }),
    ]);
    let slots = IndexMap::from([("feed".to_owned(), SlotCounters { spill_count: 5, ..SlotCounters::default() })]);
    Settled { wal: WalCounters { bytes: 77, records: 7, fpi: 1 }, slots, ledger: Ok(ledger) }
}

fn activity_name(activity: &Activity) -> String {
    match activity {
        Activity::Load { workload } => format!("load {workload}"),
        Activity::Marker { id, .. } => format!("marker {id}"),
        Activity::Received { subscriptions } => format!("received {}", subscriptions.join(" ")),
        Activity::Sync { subscriptions } => format!("sync {}", subscriptions.join(" ")),
        Activity::Startup { subscription } => format!("startup {subscription}"),
    }
}

impl World for Fake {
    async fn perform(&mut self, instruction: &Instruction) -> Result<Reply, Failure> {
        let name = name(instruction);
        self.note(&name);
        if self.hangs.is_some_and(|sql| name == sql) {
            std::future::pending::<()>().await;
        }
        if self.fails.is_some_and(|sql| name == sql) {
            return Err(Failure::new("ERROR: duplicate key"));
        }
        Ok(match instruction {
            Instruction::Close { .. } => {
                let nodes = IndexMap::from([("p".to_owned(), NodeEvidence::default())]);
                let feed = DecodingEvidence { node: "p".to_owned(), ..DecodingEvidence::default() };
                let decoding = IndexMap::from([("feed".to_owned(), feed)]);
                let steal_seconds = self.steal.first().copied().unwrap_or_default();
                if self.steal.len() > 1 {
                    self.steal.remove(0);
                }
                let host = Some(HostEvidence { capacity_seconds: 10.0, busy_seconds: 5.0, steal_seconds });
                Reply::Window(Box::new(Evidence { seconds: 1.0, nodes, decoding, host, ..Evidence::default() }))
            }
            Instruction::Settle => Reply::Settled(IndexMap::from([("p".to_owned(), settled())])),
            Instruction::Verify { .. } => Reply::Compared(Convergence {
                tables: vec![TableComparison {
                    table: "public.items".into(),
                    publisher: "p".into(),
                    subscriber: "s".into(),
                    published: TableDigest { rows: 2, checksum: "1".into() },
                    subscribed: TableDigest { rows: if self.diverges { 1 } else { 2 }, checksum: "1".into() },
                    differing: vec!["only on p: (2)".into()],
                }],
            }),
            Instruction::Stop { .. } => Reply::Stopped(IndexMap::from([("p".to_owned(), NodeRecord::default())])),
            _ => Reply::Done,
        })
    }

    fn slice(&mut self, number: u32) {
        self.note(&format!("slice {number}"));
    }

    fn start(&mut self, activity: &Activity) -> Result<Running, Failure> {
        self.note(&format!("go {}", activity_name(activity)));
        let (stopped, stop) = oneshot::channel::<()>();
        let stopped = std::cell::RefCell::new(Some(stopped));
        let length = match activity {
            Activity::Load { .. } => Some(self.load),
            Activity::Marker { .. } => self.marker,
            Activity::Startup { .. } | Activity::Received { .. } | Activity::Sync { .. } => Some(Duration::ZERO),
        };
        let conflict = self.conflict && matches!(activity, Activity::Marker { .. });
        Ok(Running {
            done: Box::pin(async move {
                if conflict {
                    return Err(Failure::new("on `s`: ERROR: duplicate key"));
                }
                let lasts = async {
                    match length {
                        Some(length) => tokio::time::sleep(length).await,
                        None => std::future::pending().await,
                    }
                };
                tokio::select! { () = lasts => Ok(()), _ = stop => Err(Failure::new("stopped")) }
            }),
            stop: Box::new(move || {
                if let Some(stopped) = stopped.borrow_mut().take() {
                    let _ = stopped.send(());
                }
            }),
        })
    }

    async fn explain(&mut self, activities: &[Activity]) -> String {
        self.note(&format!("explain {}", activities.iter().map(activity_name).collect::<Vec<_>>().join(" ")));
        "its slot is inactive".to_owned()
    }
}

fn sql(text: &str) -> Instruction {
    Instruction::Sql { node: "s".into(), sql: SqlText::plain(text) }
}

fn phase(name: &str) -> PhasePlan {
    PhasePlan {
        name: name.into(),
        measure: true,
        follows: false,
        prepare: Vec::new(),
        start: Vec::new(),
        activities: Vec::new(),
        filling: Filling::Activities,
        events: Vec::new(),
        bound: Duration::from_mins(1),
    }
}

/// A load, then a drain: the shape of most specs.
fn plan() -> TurnPlan {
    let load = Activity::Load { workload: "w".into() };
    let marker = Activity::Marker { id: 1, nodes: vec![("s".into(), 1)], slots: Vec::new() };
    let step = |stage, instruction| Step { stage, what: "a step".into(), instruction };
    TurnPlan {
        up: vec![
            step(Stage::Nodes, Instruction::Start { nodes: vec!["p".into(), "s".into()] }),
            step(Stage::Setup, sql("CREATE TABLE")),
        ],
        phases: vec![
            PhasePlan {
                prepare: vec![
                    sql("DISABLE"),
                    Instruction::Ready { activity: load.clone() },
                    Instruction::Ready { activity: marker.clone() },
                ],
                activities: vec![load],
                ..phase("load")
            },
            PhasePlan {
                follows: true,
                start: vec![
                    Instruction::Mark { node: "p".into(), id: 1, sql: SqlText::plain("INSERT"), downstream: true },
                    sql("ENABLE"),
                ],
                activities: vec![marker],
                ..phase("drain")
            },
        ],
        finish: vec![Instruction::Settle, Instruction::Verify { projections: Vec::new() }],
        down: vec![Instruction::Stop { nodes: vec!["p".into(), "s".into()] }],
    }
}

fn usual() -> Fake {
    Fake { load: Duration::from_secs(20), marker: Some(Duration::from_secs(3)), ..Fake::default() }
}

/// Runs a turn; an interrupt comes after that many seconds.
async fn run(world: &mut Fake, plan: &TurnPlan, interrupt: Option<u64>) -> TurnResult {
    let (sender, mut stop) = watch::channel(false);
    tokio::spawn(async move {
        match interrupt {
            Some(after) => {
                tokio::time::sleep(Duration::from_secs(after)).await;
                sender.send_replace(true);
            }
            None => std::future::pending::<()>().await,
        }
        std::future::pending::<()>().await;
    });
    turn(world, plan, &mut stop, &mut |_| {}).await
}

#[tokio::test(start_paused = true)]
async fn success_builds_runs_settles_compares_and_takes_down() {
    let mut world = usual();
    let result = run(&mut world, &plan(), None).await;
    assert_eq!(result.outcome, Outcome::Completed);
    assert_eq!(
        world.journal,
        [
            "0s start p s",
            "0s CREATE TABLE",
            "0s DISABLE",
            "0s ready load w",
            "0s ready marker 1",
            "0s open load",
            "0s go load w",
            "20s close load",
            "20s go on with drain",
            "20s mark 1",
            "20s ENABLE",
            "20s go marker 1",
            "23s close drain",
            "23s settle",
            "23s verify",
            "23s stop p s",
        ]
    );
    assert_eq!(result.phases.keys().collect::<Vec<_>>(), ["load", "drain"]);
    assert_eq!(result.phases["drain"].evidence.nodes["p"].wal_bytes_settled, Some(77));
    assert_eq!(result.phases["load"].evidence.nodes["p"].wal_bytes_settled, None);
    let slot = |phase: &str| result.phases[phase].evidence.decoding["feed"].counters_settled;
    assert_eq!((slot("load"), slot("drain").map(|counters| counters.spill_count)), (None, Some(5)));
    // The WAL itself belongs to the phase that it was written in.
    for (phase, inside, before) in [("load", 3, None), ("drain", 2, Some(1))] {
        let node = &result.phases[phase].evidence.nodes["p"];
        let records = |rmgrs: &Option<Rmgrs>| Some(rmgrs.as_ref()?.get("Heap")?.records);
        assert_eq!((records(&node.wal_rmgrs), records(&node.wal_rmgrs_before)), (Some(inside), before));
    }
    assert!(result.nodes.contains_key("p"));
}

#[tokio::test(start_paused = true)]
async fn a_failure_while_building_takes_down_and_keeps_its_reason() {
    let mut world = Fake { fails: Some("CREATE TABLE"), ..usual() };
    let result = run(&mut world, &plan(), None).await;
    let during = "a step".to_owned();
    assert_eq!(result.outcome, Outcome::Failed { during, reason: "ERROR: duplicate key".into() });
    assert_eq!(world.journal, ["0s start p s", "0s CREATE TABLE", "0s stop p s"]);
}

#[tokio::test(start_paused = true)]
async fn a_failure_inside_a_clock_closes_the_window_first() {
    let mut world = Fake { fails: Some("ENABLE"), ..usual() };
    let result = run(&mut world, &plan(), None).await;
    assert!(
        matches!(&result.outcome, Outcome::Failed { during, .. } if during == "phase `drain`"),
        "{:?}",
        result.outcome
    );
    assert_eq!(world.journal[world.journal.len() - 3..], ["20s ENABLE", "20s close drain", "20s stop p s"]);
    assert_eq!(result.phases.len(), 2, "what was observed is kept");
}

#[tokio::test(start_paused = true)]
async fn an_activity_that_fails_ends_the_phase_at_once() {
    let mut world = Fake { conflict: true, ..usual() };
    let result = run(&mut world, &plan(), None).await;
    assert_eq!(result.outcome.complaint().as_deref(), Some("failed in phase `drain`: on `s`: ERROR: duplicate key"));
    assert_eq!(world.journal.last().map(String::as_str), Some("20s stop p s"));
}

#[tokio::test(start_paused = true)]
async fn a_bound_that_runs_out_tells_its_cause() {
    let mut world = Fake { marker: None, ..usual() };
    let result = run(&mut world, &plan(), None).await;
    let Outcome::TimedOut { during, reason } = &result.outcome else { panic!("{:?}", result.outcome) };
    assert_eq!(during, "phase `drain`");
    assert!(reason.contains("marker 1 is visible on s") && reason.ends_with("its slot is inactive"), "{reason}");
    assert_eq!(world.journal[world.journal.len() - 3..], ["80s explain marker 1", "80s close drain", "80s stop p s"]);
}

#[tokio::test(start_paused = true)]
async fn a_step_inside_the_clock_is_bounded_too() {
    let mut world = Fake { hangs: Some("ENABLE"), ..usual() };
    let result = run(&mut world, &plan(), None).await;
    assert!(matches!(result.outcome, Outcome::TimedOut { .. }), "{:?}", result.outcome);
    assert_eq!(world.journal.last().map(String::as_str), Some("80s stop p s"));
}

#[tokio::test(start_paused = true)]
async fn an_interrupt_stops_the_load_closes_the_window_and_takes_down() {
    let mut world = usual();
    let result = run(&mut world, &plan(), Some(6)).await;
    assert_eq!(result.outcome, Outcome::Interrupted);
    assert_eq!(world.journal[world.journal.len() - 3..], ["0s go load w", "6s close load", "6s stop p s"]);
}

#[tokio::test(start_paused = true)]
async fn an_interrupt_cuts_a_step_short_but_never_a_start() {
    let mut world = Fake { hangs: Some("CREATE TABLE"), ..usual() };
    let result = run(&mut world, &plan(), Some(6)).await;
    assert_eq!(result.outcome, Outcome::Interrupted);
    assert_eq!(world.journal, ["0s start p s", "0s CREATE TABLE", "6s stop p s"]);
}

#[tokio::test(start_paused = true)]
async fn events_come_at_their_times_while_the_load_runs() {
    let mut plan = plan();
    plan.phases[0].events =
        vec![(Duration::from_secs(5), sql("CHECKPOINT")), (Duration::from_secs(8), sql("SELECT pg_promote()"))];
    let mut world = usual();
    let result = run(&mut world, &plan, None).await;
    assert_eq!(result.outcome, Outcome::Completed);
    assert_eq!(world.journal[6..10], ["0s go load w", "5s CHECKPOINT", "8s SELECT pg_promote()", "20s close load"]);
}

#[tokio::test(start_paused = true)]
async fn a_hold_lasts_its_time() {
    let mut plan = plan();
    plan.phases = vec![PhasePlan { filling: Filling::Hold(Duration::from_secs(30)), ..phase("idle") }];
    let mut world = usual();
    let result = run(&mut world, &plan, None).await;
    assert_eq!(result.outcome, Outcome::Completed);
    assert_eq!(world.journal[2..4], ["0s open idle", "30s close idle"]);
}

#[tokio::test(start_paused = true)]
async fn a_drain_without_downstream_ends_with_the_markers_commit() {
    let mut plan = plan();
    plan.phases[1].activities.clear();
    let mut world = usual();
    let result = run(&mut world, &plan, None).await;
    assert_eq!(result.outcome, Outcome::Completed);
    assert_eq!(world.journal[9..12], ["20s mark 1", "20s ENABLE", "20s close drain"]);
}

#[tokio::test(start_paused = true)]
async fn activities_that_end_early_do_not_shorten_a_hold() {
    let mut plan = plan();
    let load = Activity::Load { workload: "w".into() };
    plan.phases =
        vec![PhasePlan { filling: Filling::Hold(Duration::from_secs(30)), activities: vec![load], ..phase("idle") }];
    let mut world = usual();
    let result = run(&mut world, &plan, None).await;
    assert_eq!(result.outcome, Outcome::Completed);
    assert_eq!(world.journal[2..5], ["0s open idle", "0s go load w", "30s close idle"]);
}

#[tokio::test(start_paused = true)]
async fn nodes_that_differ_are_an_outcome_with_the_rows_named() {
    let mut world = Fake { diverges: true, ..usual() };
    let result = run(&mut world, &plan(), None).await;
    let Outcome::Diverged { reason } = &result.outcome else { panic!("{:?}", result.outcome) };
    assert_eq!(reason, "public.items: 2 row(s) on p, 1 on s; only on p: (2)");
}
