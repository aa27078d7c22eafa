//! Pairs of a paired comparison over the fake world on the paused clock: the order of their slices, and what goes wrong.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

use runner::execute::sitting::{Sides, SittingResult, sitting};
use runner::plan::Plan;
use runner::plan::paired::Side;
use runner::results::Outcome;
use runner::spec::Options;
use tokio::sync::watch;

use crate::loop_order::Fake;
use crate::spec_errors::RIGHT;
use crate::texts::{facts, read};

fn plan(paired: &str) -> Plan {
    let text = RIGHT.replace("rounds = 3", &format!("order = \"paired\"\npaired = {paired}")).replace(
        "[workloads.insert]",
        "[[matrix]]\naxes = { clients = [1, 4] }\n[compare]\naxis = \"clients\"\nof = 4\nto = 1\nmetric = \"load.tps\"\n[workloads.insert]",
    );
    let mut reading = read(&[("spec.toml", &text)], Options::default());
    let plan = reading.plan(&facts(&[18]));
    assert!(reading.issues.is_empty(), "{:?}", reading.issues.as_slice());
    plan
}

/// The worlds of the two sides with one journal.
fn worlds(of: Fake, to: Fake) -> (Sides<Fake>, Rc<RefCell<Vec<String>>>) {
    let journal = Rc::new(RefCell::new(Vec::new()));
    let with = |fake: Fake, side| Fake { shared: Some((side, journal.clone())), ..fake };
    (Sides { of: with(of, "of"), to: with(to, "to") }, journal)
}

fn usual() -> Fake {
    Fake { load: Duration::from_secs(5), marker: Some(Duration::from_secs(1)), ..Fake::default() }
}

async fn run(worlds: &mut Sides<Fake>, plan: &Plan, pair: u32, interrupt: Option<u64>) -> SittingResult {
    let (sender, mut stop) = watch::channel(false);
    tokio::spawn(async move {
        if let Some(after) = interrupt {
            tokio::time::sleep(Duration::from_secs(after)).await;
            sender.send_replace(true);
        }
        std::future::pending::<()>().await;
    });
    let paired = plan.paired.as_ref().expect("the order is paired");
    let comparison = &paired.comparisons[0];
    let cells = Sides { of: &plan.cells[comparison.of], to: &plan.cells[comparison.to] };
    sitting(worlds, cells, (paired, pair), &mut stop, &mut |_| {}).await
}

fn order(result: &SittingResult) -> Vec<(Side, bool)> {
    result.slices.iter().map(|slice| (slice.side, slice.warm_up)).collect()
}

#[tokio::test(start_paused = true)]
async fn both_sides_are_built_then_slices_take_turns_and_both_are_compared_and_taken_down() {
    let plan = plan("{ slices = 2 }");
    let (mut worlds, journal) = worlds(usual(), usual());
    let result = run(&mut worlds, &plan, 1, None).await;
    assert_eq!(order(&result), [(Side::To, false), (Side::Of, false), (Side::Of, false), (Side::To, false)]);
    assert!(result.slices.iter().all(|slice| slice.outcome == Outcome::Completed && slice.phases.len() == 2));
    assert_eq!(result.complaint(), None);
    let journal = journal.borrow();
    let shown = |line: &&String| {
        ["start ", "slice", "mark ", "settle", "verify", "stop "].iter().any(|word| line.contains(word))
    };
    assert_eq!(
        journal.iter().filter(shown).collect::<Vec<_>>(),
        [
            "to start publisher subscriber",
            "of start publisher subscriber",
            "to slice 0",
            "to mark 1",
            "of slice 0",
            "of mark 1",
            "of slice 1",
            "of mark 2",
            "to slice 1",
            "to mark 2",
            "to verify",
            "to stop publisher subscriber",
            "of verify",
            "of stop publisher subscriber",
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn warm_up_slices_come_in_twos_until_their_time_is_over() {
    // Each slice lasts six seconds: two last twelve.
    for (warm_up, twos) in [("0s", 0), ("1s", 1), ("12s", 1), ("13s", 2)] {
        let plan = plan(&format!("{{ slices = 2, warm_up = \"{warm_up}\" }}"));
        let (mut worlds, _) = worlds(usual(), usual());
        let result = run(&mut worlds, &plan, 2, None).await;
        let warm: Vec<Side> = result.slices.iter().filter(|slice| slice.warm_up).map(|slice| slice.side).collect();
        assert_eq!(warm, [Side::Of, Side::To].repeat(twos), "{warm_up}");
        assert_eq!(result.slices.len(), 2 * twos + 4);
        // The second pair begins with the other side.
        assert_eq!(result.slices[2 * twos].side, Side::Of);
    }
}

#[tokio::test(start_paused = true)]
async fn a_side_that_fails_ends_the_pair_and_both_are_taken_down() {
    let plan = plan("{ slices = 2 }");
    let failing = Fake { marker: None, conflict: true, ..usual() };
    let (mut worlds, journal) = worlds(failing, usual());
    let result = run(&mut worlds, &plan, 1, None).await;
    assert_eq!(result.slices.len(), 2, "nothing follows the slice that failed");
    assert!(result.complaint().expect("it failed").contains("duplicate key"));
    let ends = journal.borrow().iter().filter(|line| line.contains("stop ")).cloned().collect::<Vec<_>>();
    assert_eq!(ends, ["to stop publisher subscriber", "of stop publisher subscriber"]);
    assert!(!journal.borrow().iter().any(|line| line.contains("verify")));
}

#[tokio::test(start_paused = true)]
async fn a_measured_slice_in_which_other_processes_used_too_much_ends_the_pair() {
    // Half of the cores is busy, none of it with nodes or load; what the hypervisor took is not the processes'.
    for (bound, steal, reason) in [
        ("50%", 0.0, None),
        (
            "49%",
            0.0,
            Some(
                "disturbed: other processes used 50.0 % of the cores in a slice, and run.paired.other_load allows 49 %",
            ),
        ),
        ("49%", 0.2, None),
    ] {
        let plan = plan(&format!("{{ slices = 2, other_load = \"{bound}\" }}"));
        let side = || Fake { steal: vec![steal], ..usual() };
        let (mut worlds, _) = worlds(side(), side());
        let result = run(&mut worlds, &plan, 1, None).await;
        assert_eq!(result.complaint().as_deref(), reason);
        assert_eq!(result.slices.len(), if reason.is_some() { 1 } else { 4 });
    }
}

#[tokio::test(start_paused = true)]
async fn a_measured_slice_in_which_the_hypervisor_took_too_much_ends_the_pair() {
    // Two phases a slice; the warm-up slice of each side may be disturbed.
    let steal = |of: &[f64]| Fake { steal: of.to_vec(), ..usual() };
    for (of, to, slices, reason) in [
        (vec![3.0, 3.0, 0.4], vec![0.5], 6, None),
        (
            vec![0.0, 0.0, 0.5, 0.6],
            vec![0.0],
            4,
            Some("took 5.5 % of the cores in a slice, and run.paired.steal allows 5 %"),
        ),
        (vec![0.0], vec![0.0, 0.0, 1.0, 1.0], 3, Some("took 10.0 % of the cores")),
    ] {
        let plan = plan("{ slices = 2, warm_up = \"1s\", steal = \"5%\" }");
        let (mut worlds, journal) = worlds(steal(&of), steal(&to));
        let result = run(&mut worlds, &plan, 1, None).await;
        assert_eq!(result.slices.len(), slices, "{of:?} {to:?}");
        let disturbed = result.slices.iter().filter(|slice| matches!(slice.outcome, Outcome::Disturbed { .. })).count();
        assert_eq!(disturbed, usize::from(reason.is_some()));
        assert_eq!(result.complaint().is_some(), reason.is_some());
        assert!(
            result.complaint().unwrap_or_default().contains(reason.unwrap_or_default()),
            "{:?}",
            result.complaint()
        );
        assert_eq!(journal.borrow().iter().filter(|line| line.contains("stop ")).count(), 2);
        assert_eq!(journal.borrow().iter().any(|line| line.contains("verify")), reason.is_none());
    }
}

#[tokio::test(start_paused = true)]
async fn a_side_that_cannot_be_built_leaves_no_slice_and_says_why() {
    let plan = plan("{ slices = 2 }");
    let failing = Fake { fails: Some("CHECKPOINT"), ..usual() };
    let (mut worlds, journal) = worlds(failing, usual());
    let result = run(&mut worlds, &plan, 1, None).await;
    assert!(result.slices.is_empty());
    assert!(matches!(&result.sides.of.outcome, Outcome::Failed { during, .. } if during == "checkpoint"));
    assert_eq!(journal.borrow().iter().filter(|line| line.contains("stop ")).count(), 2);
}

#[tokio::test(start_paused = true)]
async fn an_interrupt_ends_the_pair() {
    let plan = plan("{ slices = 2 }");
    let (mut worlds, journal) = worlds(usual(), usual());
    let result = run(&mut worlds, &plan, 1, Some(8)).await;
    assert_eq!(result.slices.last().map(|slice| &slice.outcome), Some(&Outcome::Interrupted));
    assert_eq!(result.slices.len(), 2);
    assert_eq!(journal.borrow().iter().filter(|line| line.contains("stop ")).count(), 2);
}

#[tokio::test(start_paused = true)]
async fn nodes_that_differ_in_the_end_spoil_their_side() {
    let plan = plan("{ slices = 2 }");
    let (mut worlds, _) = worlds(Fake { diverges: true, ..usual() }, usual());
    let result = run(&mut worlds, &plan, 1, None).await;
    assert!(matches!(result.sides.of.outcome, Outcome::Diverged { .. }));
    assert_eq!(result.sides.to.outcome, Outcome::Completed);
    assert!(result.complaint().expect("it diverged").contains("did not converge"));
}

#[tokio::test(start_paused = true)]
async fn each_slice_begins_rested_and_an_interrupt_does_not_wait_for_that() {
    let plan = plan("{ slices = 2, rest = \"2s\" }");
    let (mut worlds, _) = worlds(usual(), usual());
    let began = tokio::time::Instant::now();
    let result = run(&mut worlds, &plan, 1, None).await;
    assert_eq!(result.slices.len(), 4);
    // Four slices of six seconds.
    assert_eq!(began.elapsed().as_secs(), 4 * (6 + 2));
    let began = tokio::time::Instant::now();
    let (mut worlds, _) = self::worlds(usual(), usual());
    let result = run(&mut worlds, &plan, 1, Some(1)).await;
    assert_eq!((result.slices.len(), began.elapsed().as_secs()), (1, 1));
    assert_eq!(result.slices[0].outcome, Outcome::Interrupted);
}
