//! Two stored runs compared, and several put together, from records built by hand.

use std::path::Path;

use runner::plan::facts::Facts;
use runner::plan::{Plan, plan};
use runner::report::{
    CompareError, CompareOptions, CompareView, ComparedSide, FailIf, Input, Met, compare_json, compare_markdown,
    compare_plain,
};
use runner::results::merge::{MergeError, Part, merge};
use runner::results::{Outcome, RunRecord, Sample, Shares};
use runner::spec::{Options, Read, Spec, read};
use runner::stats::Comparison;
use runner::text::{Issues, SourceMap};

use crate::support::published::{REPLICA_IDENTITY_FULL, replica_identity_full};

type Records = (Spec, RunRecord, Vec<Sample>);

fn planned(text: &str) -> Plan {
    let mut sources = SourceMap::default();
    sources.add("specs/fixture.toml", text);
    let Read::Done(spec, _) = read(Path::new("specs/fixture.toml"), &sources, Options::default()) else {
        panic!("the fixture asks for other texts")
    };
    plan(&spec, &sources, &Facts::default(), &mut Issues::default())
}

fn side<'a>(name: &'a str, (records, plan): (&'a Records, &'a Plan), facts: &'a Facts) -> ComparedSide<'a> {
    let input = Input { spec: &records.0, run: &records.1, samples: &records.2 };
    ComparedSide { name, input, plan, facts }
}

fn compared(
    old: (&Records, &Plan),
    new: (&Records, &Plan),
    options: &CompareOptions,
) -> Result<CompareView, CompareError> {
    let facts = Facts::default();
    CompareView::of(side("old", old, &facts), side("new", new, &facts), options)
}

/// The run with the apply phase of one scenario so much longer.
fn slower(factor: f64) -> Records {
    let mut records = replica_identity_full();
    for sample in records.2.iter_mut().filter(|sample| sample.scenario == "no_index") {
        sample.phases.get_mut("apply").expect("just made").evidence.seconds *= factor;
    }
    records
}

fn rule(text: &str) -> CompareOptions {
    let fail_if = vec![FailIf::parse(text).expect("a rule")];
    CompareOptions { metrics: vec!["apply.seconds".to_owned()], fail_if, ..CompareOptions::default() }
}

#[test]
fn what_is_slower_is_worse_and_what_is_alike_cannot_be_told() {
    let (plan, old, new) = (planned(REPLICA_IDENTITY_FULL), replica_identity_full(), slower(1.5));
    let view = compared((&old, &plan), (&new, &plan), &rule("apply.seconds slower 20%")).expect("they compare");
    let verdicts: Vec<(&str, Option<Comparison>)> =
        view.rows.iter().map(|row| (row.cell.as_str(), row.verdict)).collect();
    assert_eq!(verdicts, [("no_index", Some(Comparison::Worse)), ("btree", Some(Comparison::CannotTell))]);
    assert!((view.rows[0].ratio.expect("a ratio") - 1.5).abs() < 1e-9);
    let met: Vec<Met> = view.fail_if.iter().map(|own| own.met).collect();
    assert_eq!(met, [Met::Yes, Met::No]);
    assert!(view.not_the_same.is_empty(), "{:?}", view.not_the_same);
    assert!(serde_json::from_str::<serde_json::Value>(&compare_json(&view)).is_ok());
}

#[test]
fn a_whole_comparison() {
    let (plan, old, mut new) = (planned(REPLICA_IDENTITY_FULL), replica_identity_full(), slower(1.5));
    new.1.quick = true;
    new.1.host.cores = Some(2);
    new.1.builds["publisher"].version = "postgres (PostgreSQL) 18.7".to_owned();
    let options = CompareOptions { same_within: Some(0.02), ..rule("apply.seconds slower 20%") };
    let view = compared((&old, &plan), (&new, &plan), &options).expect("they compare");
    insta::assert_snapshot!(compare_markdown(&view));
    let mail = compare_plain(&view);
    assert!(mail.is_ascii() && mail.lines().all(|line| line.len() <= 76), "{mail}");
    insta::assert_snapshot!("a_whole_comparison_for_a_mail", mail);
}

#[test]
fn what_has_no_meaning_is_refused_with_the_reason() {
    let (plan, old) = (planned(REPLICA_IDENTITY_FULL), replica_identity_full());
    let compare = |other: &Plan, options: &CompareOptions| compared((&old, &plan), (&old, other), options);
    let mut other = plan.clone();
    other.cells.retain(|cell| cell.name == "btree");
    other.cells[0].name = "hash".to_owned();
    let error = compare(&other, &CompareOptions::default()).expect_err("no cell");
    assert!(matches!(error, CompareError::NoCommonCell { .. }), "{error}");
    let mut other = plan.clone();
    other.cells[0].turn.phases.pop();
    let error = compare(&other, &CompareOptions::default()).expect_err("other work");
    assert_eq!(error, CompareError::OtherInstructions("no_index".to_owned()));
    let anyway = CompareOptions { anyway: true, ..CompareOptions::default() };
    assert!(compare(&other, &anyway).expect("anyway").not_the_same[0].contains("Something else was run in no_index"));
    for (metric, part) in [("apply.secnods", "has no `secnods`"), ("nothing", "WINDOW.METRIC")] {
        let options = CompareOptions { metrics: vec![metric.to_owned()], ..CompareOptions::default() };
        let error = compare(&plan, &options).expect_err("no metric").to_string();
        assert!(error.contains(part) && error.contains("apply.seconds"), "{error}");
    }
}

fn part(name: &str, started: &str, samples: Vec<Sample>, shard: Option<u32>) -> Part {
    let (_, mut run, _) = replica_identity_full();
    started.clone_into(&mut run.started);
    run.shard = shard.map(|number| Shares { numbers: vec![number], of: 2, turns: Some(3), whole: Some(6) });
    Part { name: name.to_owned(), run, facts: Facts::default(), texts: Vec::new(), samples }
}

#[test]
fn shares_keep_their_rounds_and_repeats_follow() {
    let (.., samples) = replica_identity_full();
    let (odd, even): (Vec<Sample>, Vec<Sample>) = samples.iter().cloned().partition(|sample| sample.round != 2);
    let mut again = samples.clone();
    again[1].outcome = Outcome::Interrupted;
    let parts = [part("a", "1", odd, Some(1)), part("c", "2", again, None), part("b", "3", even, Some(2))];
    let merged = merge(&parts, 2).expect("they are of one");
    let numbers: Vec<(u32, u32)> = merged.samples.iter().map(|own| (own.sample.turn, own.sample.round)).collect();
    let expected: Vec<(u32, u32)> = (1..=12).map(|turn: u32| (turn, turn.div_ceil(2))).collect();
    assert_eq!(numbers, expected);
    assert_eq!((merged.run.rounds, merged.run.shard), (6, None));
    // What counts nowhere is kept.
    assert_eq!(merged.samples.iter().filter(|own| !own.sample.outcome.is_valid()).count(), 1);
    assert!(merged.warnings.is_empty());
}

#[test]
fn what_did_not_run_the_same_is_not_put_together() {
    let a = part("a", "1", Vec::new(), None);
    let refused = |change: fn(&mut Part)| {
        let mut b = part("b", "2", Vec::new(), None);
        change(&mut b);
        merge(&[a.clone(), b], 2).expect_err("it is refused").to_string()
    };
    assert!(refused(|b| b.run.builds["publisher"].version = "18.7".to_owned()).contains("PostgreSQL of publisher"));
    assert!(
        refused(|b| {
            b.run.digest = "other".to_owned();
            b.run.seed = 2;
        })
        .contains("seed: 1 and 2")
    );
    assert!(refused(|b| b.run.digest = "other".to_owned()).contains("digest of the plan"));
    assert!(refused(|b| b.run.format = 2).contains("format of the results: 1 and 2"));
    assert!(refused(|b| b.run.started = "1".to_owned()).contains("are the same run"));
    assert_eq!(merge(std::slice::from_ref(&a), 2).expect_err("one"), MergeError::TooFew);
    let mut b = part("b", "2", Vec::new(), None);
    b.run.host.kernel = Some("another".to_owned());
    assert!(merge(&[a, b], 2).expect("only warned of").warnings[0].contains("kernel"));
}
