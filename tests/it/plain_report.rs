//! The report for a mail: whole pages as snapshots, and what holds of every page.

use proptest::prelude::*;
use runner::measure::Evidence;
use runner::report::{ExitStatus, Input, PlainTable, Side, View, WIDTH, ascii, exit_status, paragraph, plain, wrap};
use runner::results::record::SliceRecord;
use runner::results::{Build, Outcome, RunRecord, Sample};
use runner::spec::{Chosen, Spec};

use crate::support::published::{hidden_cpu_cost, replica_identity_full};
use crate::support::records::{compared, host, load, map, node, phase, run, sample};
use crate::support::spec;

type Records = (Spec, RunRecord, Vec<Sample>);

fn view((spec, run, samples): &Records) -> View {
    View::of(Input { spec, run, samples })
}

/// What must hold of every page whatever it tells.
fn fits(page: &str) {
    for line in page.lines() {
        assert!(line.len() <= WIDTH, "{} columns: {line:?}", line.len());
        assert!(line.bytes().all(|byte| byte == b' ' || byte.is_ascii_graphic()), "{line:?}");
        assert!(!line.ends_with(' '), "{line:?}");
    }
    assert!(!page.contains("\n\n\n") && page.ends_with('\n'), "{page}");
}

/// Blanks and the signs that begin a line do not count, since a paragraph is wrapped.
fn flat(text: &str) -> String {
    ascii(&text.replace('`', "")).replace(' ', "")
}

fn page(records: &Records) -> String {
    let view = view(records);
    let page = plain(&view);
    fits(&page);
    for stamp in &view.stamps {
        assert!(flat(&page).contains(&flat(stamp)), "{stamp}\n{page}");
    }
    page
}

/// The shipped comparison of two builds at three numbers of clients: eight pairs each, slices A B B A.
fn two_builds() -> Records {
    let text = include_str!("../../specs/empty_transactions.toml").replace("scale = [1, 100]", "scale = [1]");
    let (text, _) = text.split_once("[[report.charts]]").expect("the charts come last");
    let text: Vec<&str> = text.lines().filter(|line| !line.contains("scale = 100, ")).collect();
    let spec = spec(&text.join("\n"));
    let mut samples: Vec<Sample> = Vec::new();
    for (comparison, (rate, effect)) in spec.comparisons().iter().zip([(4800.0, 1.06), (4350.0, 1.001), (3900.0, 1.02)])
    {
        for pair in 1..=8_u32 {
            for place in 1..=9_u32 {
                let is_of = matches!(place % 4, 1 | 2) == (pair % 2 == 0);
                let cell = &spec.cells[if is_of { comparison.of } else { comparison.to }];
                let turn = samples.len() as u32 + 1;
                // Pairs differ by some percent, slices by less.
                let noise = 1.0 + f64::from(turn * 7 % 11) / 2000.0;
                let of_pair = 1.0 + f64::from(pair * 3 % 8) / 400.0;
                let tps = rate * noise * if is_of { effect * of_pair } else { 1.0 };
                let evidence = Evidence {
                    seconds: 5.0,
                    loads: load("publisher", "tpcb", 4, (tps * 5.0) as u64, 900_000),
                    host: Some(host(8.0, 5.0, 0.6)),
                    ..Evidence::default()
                };
                let mut slice = sample(turn, pair, &cell.name, map([("load", phase(evidence))]));
                slice.scenario.clone_from(&cell.scenario.name);
                slice.slice = Some(SliceRecord { place, warm_up: place == 1 });
                "2026-08-03T12:00:00Z".clone_into(&mut slice.started);
                slice.convergence = Some(compared("public.idle", 0, 0));
                samples.push(slice);
            }
        }
    }
    let mut run = run(
        "empty_transactions",
        "runner specs/empty_transactions.toml --set scale=1 --build head=/opt/head --build 'patched=/opt/my patch' --out /var/tmp/results",
    );
    "paired".clone_into(&mut run.order);
    (spec, run, samples)
}

/// Runs that failed, diverged and were interrupted, and transactions that failed.
fn troubled() -> Records {
    let (spec, mut run, mut samples) = replica_identity_full();
    run.interrupted = true;
    run.finished = None;
    run.warnings = vec!["the governor of the CPU is `powersave`".to_owned()];
    samples[1].outcome = Outcome::Failed {
        during: "apply".to_owned(),
        reason: "subscription items: ERROR:  duplicate key value violates unique constraint \"items_pkey\"".to_owned(),
    };
    samples[1].phases.shift_remove("apply");
    samples[3].outcome = Outcome::Diverged { reason: "public.items differs".to_owned() };
    samples[3].convergence = Some(compared("public.items", 50_000, 1));
    samples.truncate(5);
    let load = samples[0].phases["backlog"].evidence.loads.get_mut("change_tail").expect("just made");
    load.scripts["change_tail"].failed = map([("40001", 12), ("57014", 1)]);
    samples[0].notes.push("subscriber: WARNING:  out of logical replication worker slots".to_owned());
    (spec, run, samples)
}

fn contended() -> Records {
    let mut records = replica_identity_full();
    for sample in &mut records.2 {
        let evidence = &mut sample.phases.get_mut("apply").expect("just made").evidence;
        evidence.host = Some(host(2.0, evidence.seconds, 0.93));
    }
    records.1.quick = true;
    records.1.aa = true;
    records
}

#[test]
fn a_mail_of_two_builds_compared() {
    insta::assert_snapshot!(page(&two_builds()));
}

#[test]
fn a_mail_of_five_scenarios() {
    insta::assert_snapshot!(page(&hidden_cpu_cost(true)));
}

#[test]
fn a_mail_where_all_is_well() {
    insta::assert_snapshot!(page(&replica_identity_full()));
}

#[test]
fn a_mail_of_a_run_in_trouble_tells_all_of_it() {
    let page = page(&troubled());
    for told in ["Interrupted", "duplicate key", "40001: 12", "powersave", "worker slots", "(48001,1,...) on publisher"]
    {
        assert!(flat(&page).contains(&flat(told)), "{told}\n{page}");
    }
    insta::assert_snapshot!(page);
}

#[test]
fn a_mail_marks_figures_of_contention() {
    let page = page(&contended());
    assert!(page.contains("! A/A") && page.contains("! --quick"), "{page}");
    assert!(page.contains("\n[!] figure of contention"), "{page}");
    insta::assert_snapshot!(page);
}

#[test]
fn what_the_page_says_of_figures_the_mail_says_too() {
    for records in [two_builds(), hidden_cpu_cost(true), troubled(), contended()] {
        let (view, page) = (view(&records), flat(&page(&records)));
        let cells = view.tables.iter().flat_map(|table| &table.rows).flat_map(|row| &row.cells);
        for cell in cells {
            assert!(page.contains(&flat(&format!("{}{}", cell.text, cell.mark))), "{}\n{page}", cell.text);
        }
        for claim in &view.claims {
            let ours = claim.ours.as_deref().unwrap_or("no figure");
            assert!(page.contains(&flat(ours)), "{ours}\n{page}");
        }
        for row in view.comparison.iter().flat_map(|comparison| &comparison.rows) {
            let interval = row.interval.expect("pairs enough");
            let low = format!("[{:+.1},", (interval.low - 1.0) * 100.0);
            assert!(page.contains(&low), "{low}\n{page}");
        }
    }
}

#[test]
fn figures_above_a_change_have_it_as_their_ratio() {
    let view = view(&two_builds());
    let (table, comparison) = (&view.tables[0], view.comparison.as_ref().expect("two builds"));
    for (column, row) in comparison.rows.iter().enumerate() {
        let figure = |row: usize| table.rows[row].cells[column].value.expect("a figure");
        let ratio = row.ratio.expect("pairs enough");
        assert!((figure(1) / figure(0) / ratio - 1.0).abs() < 1e-12, "{} {ratio}", figure(1) / figure(0));
    }
    assert!(table.legend[0].contains("geometric means over the pairs"), "{:?}", table.legend);
}

#[test]
fn a_report_says_how_replication_was_wired_and_names_every_build() {
    let mut records = two_builds();
    let build = |version: &str| Build { version: version.to_owned(), origin: "installed".to_owned(), digest: None };
    for cell in &records.0.cells {
        let publisher =
            if cell.value("build").is_some_and(|build| build.to_string() == "head") { "14.23" } else { "15.18" };
        let nodes = map([("publisher", build(publisher)), ("subscriber", build("15.18"))]);
        records.1.builds_by_scenario.insert(cell.name.clone(), nodes);
    }
    let told = |label: &str| {
        let lines = view(&records).environment.lines;
        lines.into_iter().find(|(own, _)| own == label).map(|(_, text)| text).unwrap_or_default()
    };
    assert_eq!(
        told("Replication"),
        "`idle`: subscriber from publisher (idle), synchronous_commit = off; commits of publisher wait for FIRST 1 (\"idle\")"
    );
    assert_eq!(
        told("PostgreSQL"),
        "publisher: HEAD, 14.23 (installed); subscriber and publisher: patched, 15.18 (installed)"
    );
}

#[test]
fn other_load_that_came_and_went_is_told() {
    let mut records = two_builds();
    records.0.run.paired.other_load = None;
    let told = |records: &Records| view(records).against.into_iter().find(|note| note.starts_with("Other load"));
    // The load's own CPU is all that is known to be in use.
    for sample in &mut records.2 {
        for phase in sample.phases.values_mut() {
            let busy = if sample.round == 3 { 0.5 } else { 0.02 };
            phase.evidence.host = Some(host(8.0, 5.0, busy));
        }
    }
    let note = told(&records).expect("a round was disturbed");
    assert!(note.contains("10 % or more in 24 of 192 slices; `other_load` under"), "{note}");
    for sample in records.2.iter_mut().filter(|sample| sample.round == 5 && sample.counts()).take(1) {
        sample.phases["load"].evidence.host = Some(host(8.0, 5.0, 0.2));
    }
    records.0.run.paired.other_load = Some(Chosen::default_of(0.9));
    let note = told(&records).expect("a round was disturbed");
    assert!(note.ends_with("10 % or more in 25 of 192 slices, 24 of them in pair 3."), "{note}");
    for sample in &mut records.2 {
        sample.phases["load"].evidence.host = Some(host(8.0, 5.0, 0.02));
    }
    assert_eq!(told(&records), None);
}

#[test]
fn disturbed_pairs_are_counted_and_are_no_failure() {
    let mut records = two_builds();
    records.0.run.paired.steal = Some(Chosen::default_of(0.005));
    records.0.run.paired.other_load = None;
    // Of two pairs: one that came to a slice of one side only, and a whole one.
    let disturb = |sample: &mut Sample| {
        sample.outcome = Outcome::Disturbed { reason: "the hypervisor took 9.0 % of the cores".to_owned() };
    };
    let (cells, rounds) = (records.0.comparisons(), records.2.iter().map(|sample| sample.round).max().unwrap_or(0));
    let one = records.0.cells[cells[0].of].name.clone();
    let two = other(&records.0, &one);
    records.2.retain(|sample| sample.round != rounds || sample.cell != two);
    let own = |sample: &Sample| sample.cell == one && sample.round == rounds;
    records.2.iter_mut().filter(|sample| own(sample)).for_each(disturb);
    let view = view(&records);
    let all = cells.len() * rounds as usize;
    let told = format!(
        "1 of {all} pairs begun count nowhere, since in one of their slices the hypervisor took more than 0.5 % of the cores"
    );
    assert!(view.against.iter().any(|note| note.contains(&told)), "{told}: {:?}", view.against);
    // The pair ended with that slice.
    let sides = "that slice was of `patched` in 1, of `head` in 0.";
    assert!(view.against.iter().any(|note| note.contains(sides)), "{sides}: {:?}", view.against);
    assert!(view.excluded.is_empty());
    assert_eq!(exit_status(&view.summary, false), ExitStatus::AllWell);
    let comparison = view.comparison.expect("two builds");
    assert_eq!(comparison.rows[0].n + 1, comparison.rows[1].n, "it is in no interval");
}

#[test]
fn a_comparison_that_ran_out_of_attempts_says_so_and_is_not_well() {
    let mut records = two_builds();
    let paired = &mut records.0.run.paired;
    (paired.least, paired.most) = (Chosen::default_of(8), Chosen::default_of(8));
    (paired.steal, paired.other_load) = (Some(Chosen::default_of(0.05)), None);
    let cells = records.0.comparisons().swap_remove(0);
    let sides = [cells.of, cells.to].map(|cell| records.0.cells[cell].name.clone());
    // Three whole pairs, and 29 that were disturbed: four times eight.
    let disturbed = Outcome::Disturbed { reason: "the hypervisor took 9.0 % of the cores".to_owned() };
    for sample in records.2.iter_mut().filter(|sample| sides.contains(&sample.cell) && sample.round > 3) {
        sample.outcome = disturbed.clone();
    }
    let mut last = records.2.iter().rfind(|sample| sides[1] == sample.cell).cloned().expect("some");
    last.outcome = disturbed;
    for round in 9..=32 {
        last.round = round;
        records.2.push(last.clone());
    }
    let view = view(&records);
    assert_eq!((view.summary.short, exit_status(&view.summary, false)), (1, ExitStatus::NotAllWell));
    let stamp = "1 comparison ended with fewer pairs than the least that an interval should rest on";
    assert!(view.stamps.iter().any(|told| told.starts_with(stamp)), "{:?}", view.stamps);
    let comparison = view.comparison.expect("two builds");
    let why = "3 pairs of 32 begun count, and at least 8 are wanted (29 disturbed)";
    assert_eq!(comparison.rows[0].short.as_ref().map(|short| short.why.as_str()), Some(why));
    assert_eq!(comparison.rows[1].short, None);
    for told in [&comparison.rules, &comparison.brief] {
        assert!(told.iter().any(|told| told.ends_with(&format!("{why}."))), "{told:?}");
    }
    assert!(comparison.rules[0].contains("until 32 had been begun"), "{:?}", comparison.rules);
}

#[test]
fn the_same_of_many_cells_is_one_note() {
    let mut records = two_builds();
    for phase in records.2.iter_mut().flat_map(|sample| sample.phases.values_mut()) {
        phase.evidence.nodes.insert("subscriber".to_owned(), node("exited", 0.01));
    }
    let notes = view(&records).notes;
    let told: Vec<&String> = notes.iter().filter(|note| note.contains("exited within the window")).collect();
    let slices = records.2.iter().filter(|sample| sample.counts()).count();
    let whole = format!(
        "6 scenarios: 100 % of the CPU of subscriber is of processes that exited within the window ({slices} runs)"
    );
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(told[0].starts_with(&whole), "{told:?}");
}

#[test]
fn a_paired_run_that_was_killed_speaks_of_pairs() {
    let mut records = two_builds();
    records.1.finished = None;
    let view = view(&records);
    assert!(view.summary.unfinished);
    assert!(view.stamps.iter().any(|told| told.starts_with("Not finished: the pair under way")), "{:?}", view.stamps);
    assert!(!view.stamps.concat().contains("planned runs"), "{:?}", view.stamps);
}

#[test]
fn an_interrupt_in_the_last_pair_is_no_failure_of_the_comparison() {
    let mut records = two_builds();
    let paired = &mut records.0.run.paired;
    (paired.least, paired.most) = (Chosen::default_of(8), Chosen::default_of(8));
    let cells = records.0.comparisons().swap_remove(0);
    let sides = [cells.of, cells.to].map(|cell| records.0.cells[cell].name.clone());
    let last = |sample: &Sample| sample.round == 8 && sides.contains(&sample.cell);
    // Stopped by the user, or killed between the slices.
    let mut killed = records.2.clone();
    killed.retain(|sample| !last(sample) || sample.slice.as_ref().is_some_and(|slice| slice.place < 6));
    for sample in records.2.iter_mut().filter(|sample| last(sample)) {
        sample.outcome = Outcome::Interrupted;
    }
    for samples in [records.2.clone(), killed] {
        records.2 = samples;
        let view = view(&records);
        let comparison = view.comparison.expect("two builds");
        assert_eq!((comparison.rows[0].n, &comparison.rows[0].short, view.summary.short), (7, &None, 0));
    }
}

#[test]
fn pairs_without_a_figure_are_no_failed_ones() {
    let mut records = two_builds();
    records.0.run.paired.most = Chosen::default_of(8);
    for load in records.2.iter_mut().flat_map(|sample| &mut sample.phases["load"].evidence.loads) {
        load.1.scripts["tpcb"].committed = 0;
    }
    let comparison = view(&records).comparison.expect("two builds");
    let why = comparison.rows[0].short.as_ref().map(|short| short.why.as_str());
    assert_eq!(why, Some("0 pairs of 8 begun count, and at least 8 are wanted (8 without a figure above zero)"));
}

#[test]
fn a_bound_on_steal_that_could_not_be_kept_is_told() {
    let mut records = two_builds();
    records.0.run.paired.steal = Some(Chosen::default_of(0.05));
    let told = |records: &Records| view(records).against.iter().any(|note| note.contains("were not kept"));
    assert!(!told(&records));
    for phase in records.2.iter_mut().flat_map(|sample| sample.phases.values_mut()) {
        phase.evidence.host = None;
    }
    assert!(told(&records));
    for sample in &mut records.2 {
        sample.phases.clear();
        sample.outcome = Outcome::Failed { during: "start".to_owned(), reason: "no room".to_owned() };
    }
    assert!(!told(&records), "nothing was measured");
}

/// The other side of the comparison of a cell.
fn other(spec: &Spec, cell: &str) -> String {
    let name = |index: usize| spec.cells[index].name.clone();
    let own = spec.comparisons().into_iter().find(|own| name(own.of) == cell).expect("it is compared");
    name(own.to)
}

#[test]
fn the_command_can_be_pasted() {
    let page = page(&two_builds());
    let (_, command) = page.split_once("To run it again:\n\n").expect("it is there");
    let (command, _) = command.split_once("\n\n").expect("a line follows");
    let joined = command.replace("\\\n", "").split_whitespace().collect::<Vec<_>>().join(" ");
    assert_eq!(joined, two_builds().1.command);
}

#[test]
fn a_table_too_wide_repeats_its_leading_column_and_long_titles_wrap() {
    let mut table = PlainTable::new(1);
    table.column("Scenario", Side::Left);
    for title in ["Apply s", "Publisher CPU s", "Subscriber CPU s"] {
        table.column(title, Side::Right);
    }
    table.row(["No usable index on the subscriber", "4.671†", "0.02", "10.1"].map(Into::into).to_vec());
    table.row(["B-tree", "0.15", "–", "0.01¹²"].map(Into::into).to_vec());
    insta::assert_snapshot!(table.draw(40));
}

fn any_text() -> impl Strategy<Value = String> {
    prop_oneof!["\\PC{0,90}", "[a-z×–±†¹ %=\\[\\]`|]{0,60}", "[a-z]{80,120}", Just("a\nb\tc".to_owned())]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn no_title_breaks_the_page(titles in proptest::collection::vec(any_text(), 6)) {
        let (mut spec, mut run, samples) = troubled();
        spec.title.clone_from(&titles[0]);
        for (cell, title) in spec.cells.iter_mut().zip(&titles[1..3]) {
            cell.title.clone_from(title);
        }
        run.command = format!("runner {}", titles[3]);
        run.host.cpu_model = Some(titles[4].clone());
        run.warnings = vec![titles[5].clone()];
        let mut view = View::of(Input { spec: &spec, run: &run, samples: &samples });
        for table in &mut view.tables {
            table.title.clone_from(&titles[1]);
            table.leading.clone_from(&titles[2]);
            for column in &mut table.columns {
                column.title.clone_from(&titles[3]);
            }
            for row in &mut table.rows {
                row.cells[0].text.clone_from(&titles[4]);
            }
        }
        fits(&plain(&view));
    }

    #[test]
    fn a_table_is_as_wide_as_asked_at_most(
        headings in proptest::collection::vec(any_text(), 1..9), text in any_text(), width in 40_usize..100,
    ) {
        let mut table = PlainTable::new(1);
        for (index, heading) in headings.iter().enumerate() {
            table.column(heading, if index % 2 == 0 { Side::Left } else { Side::Right });
        }
        table.row(headings.iter().map(|_| text.as_str().into()).collect());
        table.row(Vec::new());
        for line in table.draw(width).lines() {
            prop_assert!(line.len() <= width && line.is_ascii() && !line.ends_with(' '), "{:?}", line);
        }
    }

    #[test]
    fn wrapping_loses_nothing(text in any_text(), width in 1_usize..100) {
        let lines = wrap(&text, width);
        prop_assert!(lines.iter().all(|line| line.len() <= width && !line.is_empty()));
        prop_assert_eq!(lines.concat().replace(' ', ""), ascii(&text).replace(' ', ""));
        fits(&format!("{}\n", paragraph("* ", &text)));
    }
}

#[test]
fn signs_have_their_usual_spelling_in_mail() {
    for (text, expected) in
        [("2 × 4 – 1 ± 3 %", "2 x 4 - 1 +/- 3 %"), ("0.5†¹²", "0.5[!][12]"), ("Ünïcode  😀\n…", "Uenicode ? ...")]
    {
        assert_eq!(ascii(text), expected);
    }
}
