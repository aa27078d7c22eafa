//! The report from stored records: whole pages as snapshots, and the published figures to the digit.

use std::fs;

use indexmap::IndexMap;
use runner::measure::{Evidence, NodePoint, NodeSeries, RmgrEvidence};
use runner::report::{FigureOfRun, Input, View, csv, exit_status, json, markdown, plain};
use runner::results::{Outcome, RunRecord, Sample, Store};
use runner::spec::Spec;
use runner::stats::Outcome as Judged;
use runner::text::Lsn;

use crate::support::published::{
    HIDDEN_CPU_COST, MEDIANS, REPLICA_IDENTITY_FULL, hidden_cpu_cost, replica_identity_full,
};
use crate::support::records::{compared, host, map, ns, server};
use crate::support::spec;

fn view((spec, run, samples): &(Spec, RunRecord, Vec<Sample>)) -> View {
    View::of(Input { spec, run, samples })
}

fn page(records: &(Spec, RunRecord, Vec<Sample>)) -> String {
    markdown(&view(records)).expect("the template fits")
}

fn code(view: &View, strict: bool) -> u8 {
    exit_status(&view.summary, strict).code()
}

#[test]
fn the_published_rows_give_the_published_medians_to_the_digit() {
    let view = view(&hidden_cpu_cost(true));
    let table = view.tables.iter().find(|table| table.title == "Medians").expect("the spec has it");
    let ours: Vec<(&str, Vec<&str>)> = table
        .rows
        .iter()
        .map(|row| (row.title.as_str(), row.cells[..5].iter().map(|cell| cell.text.as_str()).collect()))
        .collect();
    let published: Vec<(&str, Vec<&str>)> = MEDIANS.map(|(title, figures)| (title, figures.to_vec())).to_vec();
    assert_eq!(ours, published);
    // The published figures beside ours read the same.
    for cell in table.rows.iter().flat_map(|row| &row.cells[..5]) {
        assert_eq!(cell.published_text.as_ref(), Some(&cell.text));
    }
}

#[test]
fn a_computed_metric_is_computed_in_each_run_before_the_median() {
    let view = view(&hidden_cpu_cost(true));
    let table = view.tables.iter().find(|table| table.title == "Medians").expect("the spec has it");
    let ours = |title: &str| {
        let row = table.rows.iter().find(|row| row.title == title).expect("a scenario");
        row.cells[5].text.clone()
    };
    // 20,000 over 6.775, 6.709 and 7.926 s.
    assert_eq!(ours("Decode only"), "2952.0");
    assert_eq!(ours("Baseline"), format!("{:.1}", 20_000.0 / 1.736));
}

#[test]
fn the_published_rows_give_the_known_ratios_with_their_intervals() {
    let view = view(&hidden_cpu_cost(false));
    let ours = |claim: &str| {
        let claim = view.claims.iter().find(|view| view.claim.starts_with(claim)).expect("the spec has it");
        claim.ours.as_deref().expect("it has a figure").split(", rounds").next().unwrap_or_default().to_owned()
    };
    for (claim, expected) in [
        ("decoding costs", "1.71x, 95 % interval [1.58, 1.85]"),
        ("logical replication costs", "2.30x, 95 % interval [2.01, 2.64]"),
        ("four indexes raise", "2.34x, 95 % interval [2.20, 2.49]"),
        ("binary saves", "0.894x, 95 % interval [0.803, 0.994]"),
        // The upper end is 1.1548: sources that print 1.16 round twice.
        ("binary does not save publisher", "1.00x, 95 % interval [0.86, 1.15]"),
    ] {
        assert_eq!(ours(claim), expected);
    }
    let outcomes: Vec<Judged> = view.claims.iter().map(|claim| claim.outcome).collect();
    // Each round of binary against text has publisher CPU outside of 5 %: 1.06, 0.94, and 1.00 inside.
    let mut expected = [Judged::Held; 7];
    expected[3] = Judged::CannotTell;
    assert_eq!(outcomes, expected);
    assert_eq!((code(&view, false), code(&view, true)), (0, 1));
}

#[test]
fn a_whole_report_of_five_scenarios() {
    insta::assert_snapshot!(page(&hidden_cpu_cost(false)));
}

#[test]
fn a_whole_report_where_all_is_well() {
    let records = replica_identity_full();
    assert_eq!(code(&view(&records), true), 0);
    insta::assert_snapshot!(page(&records));
}

#[test]
fn failed_diverged_and_interrupted_runs_are_shown_and_count_nowhere() {
    let (spec, mut run, mut samples) = replica_identity_full();
    run.interrupted = true;
    run.finished = None;
    samples[1].outcome = Outcome::Failed {
        during: "apply".to_owned(),
        reason: "subscription items: ERROR:  duplicate key value violates unique constraint \"items_pkey\"; slot \
                 items active | pid <none>"
            .to_owned(),
    };
    samples[1].phases.shift_remove("apply");
    samples[1].convergence = None;
    samples[3].outcome = Outcome::Diverged { reason: "public.items differs".to_owned() };
    samples[3].convergence = Some(compared("public.items", 50_000, 1));
    samples[4].outcome = Outcome::Interrupted;
    samples[4].phases.clear();
    samples[4].convergence = None;
    samples.truncate(5);
    let load = samples[0].phases["backlog"].evidence.loads.get_mut("change_tail").expect("just made");
    load.scripts["change_tail"].failed = map([("40001", 12), ("57014", 1)]);
    samples[0].notes.push("subscriber: WARNING:  out of logical replication worker slots".to_owned());
    for sample in &mut samples {
        sample.notes.push("noted in every run".to_owned());
    }
    let records = (spec, run, samples);
    let view = view(&records);
    assert_eq!(code(&view, false), 130);
    assert_eq!((view.summary.valid, view.summary.failed.len()), (2, 2));
    insta::assert_snapshot!(page(&records));
}

#[test]
fn the_wal_ledger_has_medians_over_the_measured_phases_and_says_what_is_not_known() {
    let (spec, run, mut samples) = replica_identity_full();
    assert!(!page(&replica_identity_full()).contains("WAL ledger"), "older records count nothing");
    for (sample, more) in samples.iter_mut().filter(|sample| sample.scenario == "btree").zip([0, 100, 800]) {
        let wrote = |record_bytes, fpi_bytes| RmgrEvidence { records: 4, record_bytes, fpi_bytes };
        let backlog = sample.phases["backlog"].evidence.nodes.get_mut("publisher").expect("just made");
        backlog.wal_rmgrs = Some(map([("Heap", wrote(600 + more, 0)), ("Btree", wrote(100, 200))]));
        backlog.lsn_start = Some(Lsn(1000));
        backlog.wal_bytes_start = Some(5000);
        backlog.wal_records_start = Some(50);
        backlog.wal_fpi_start = Some(5);
        let mut series = NodeSeries::default();
        series.push(NodePoint { at: 0.0, wal_bytes: Some(0), ..NodePoint::default() });
        backlog.series = Some(series);
        let apply = sample.phases["apply"].evidence.nodes.get_mut("publisher").expect("just made");
        apply.wal_rmgrs = Some(map([("Heap", wrote(100, 0)), ("XLOG", wrote(3, 0))]));
        apply.wal_rmgrs_before = Some(map([("Heap", wrote(50, 0))]));
        apply.lsn_end = Some(Lsn(2100 + more));
        apply.wal_bytes_settled = Some(6050 + more);
        apply.wal_records_settled = Some(70);
        apply.wal_fpi_settled = Some(5);
        let subscriber = sample.phases["apply"].evidence.nodes.get_mut("subscriber").expect("just made");
        subscriber.wal_rmgrs_absent = Some("too old".to_owned());
    }
    let records = (spec, run, samples);
    let view = view(&records);
    assert_eq!(view.ledger.rows.len(), 2, "the other scenario's records are older");
    let row = &view.ledger.rows[0];
    assert_eq!((row.scenario.as_str(), row.node.as_str(), row.n), ("btree", "publisher", 3));
    let medians = map([
        ("wal_lsn_bytes", 1200.0),
        ("wal_bytes", 1150.0),
        ("wal_records", 20.0),
        ("wal_fpi", 0.0),
        ("wal_bytes_per_transaction", 1150.0),
    ]);
    let named: IndexMap<String, f64> = row.medians.iter().map(|(name, median)| ((*name).to_owned(), *median)).collect();
    assert_eq!(named, medians);
    assert_eq!(row.rmgr_bytes, map([("Heap", 850.0), ("Btree", 300.0), ("XLOG", 3.0)]));
    let page = page(&records);
    assert!(page.contains("| Heap 74 % and Btree 26 % "), "{page}");
    assert!(page.contains("| –¹") && page.contains("- ¹ too old"), "{page}");
    assert!(page.contains("Time series of 3 runs"), "{page}");
    let json: serde_json::Value = serde_json::from_str(&json(&view)).expect("it is JSON");
    assert_eq!(json["runs"][1]["series"]["backlog"]["publisher"]["at"], serde_json::json!([0.0]));
    assert_eq!(json["runs"][0]["series"], serde_json::json!({}));
}

#[test]
fn one_quick_round() {
    let (spec, mut run, mut samples) = replica_identity_full();
    run.quick = true;
    run.rounds = 1;
    run.command = "runner --quick specs/replica_identity_full.toml".to_owned();
    samples.truncate(2);
    insta::assert_snapshot!(page(&(spec, run, samples)));
}

#[test]
fn a_record_of_an_older_runner_renders_with_what_it_holds() {
    let run = serde_json::from_str(r#"{ "format": 1, "spec_name": "replica_identity_full" }"#).expect("defaults");
    let sample = |turn: u32, scenario: &str, seconds: f64| -> Sample {
        serde_json::from_value(serde_json::json!({
            "format": 1, "cell": scenario, "scenario": scenario, "round": turn.div_ceil(2), "turn": turn,
            "started": "2025-01-01T00:00:00Z", "outcome": "completed", "from_the_future": true,
            "phases": {
                "backlog": { "measure": true, "evidence": { "seconds": 0.1 } },
                "apply": { "measure": true, "evidence": { "seconds": seconds } },
            },
        }))
        .expect("the other fields have defaults")
    };
    let samples = vec![
        sample(1, "no_index", 4.5),
        sample(2, "btree", 0.15),
        sample(3, "btree", 0.14),
        sample(4, "no_index", 4.75),
    ];
    let records = (spec(REPLICA_IDENTITY_FULL), run, samples);
    insta::assert_snapshot!(page(&records));
}

#[test]
fn every_absent_figure_has_its_reason() {
    let text = REPLICA_IDENTITY_FULL.split("[[expect]]").next().expect("it has scenarios before its claims");
    let text = format!(
        r#"{text}
[scenarios.subscriptions]
[[scenarios]]
name = "alone"
title = "Nothing downstream"
without = ["subscriptions.items", "phases.backlog"]
phases = [{{ name = "apply", start = [{{ sql = "SELECT 1", nodes = ["publisher"] }}] }}]
[[scenarios]]
name = "never"
title = "Never run"

[[expect]]
claim = "no ratio of CPU figures that are noise"
ratio = {{ metric = "apply.cpu{{node=publisher}}", of = "no_index", to = "btree", at_most = 1.5 }}
[[expect]]
claim = "a drain with nothing downstream"
value = {{ metric = "apply.seconds", of = "alone", at_most = "1s" }}
[[expect]]
claim = "never run"
difference = {{ metric = "apply.seconds", of = "no_index", to = "never", at_least = "1s" }}
[[expect]]
claim = "no ratio to nothing"
ratio = {{ metric = "apply.wal_lsn_bytes", of = "no_index", to = "btree", at_least = 1 }}

[[report.tables]]
title = "Medians"
note = "Whatever can be missing is."
columns = [
  {{ title = "Apply s",        value = "apply.seconds" }},
  {{ title = "Backlog TPS",    value = "backlog.tps" }},
  {{ title = "p99 ms",         value = "backlog.latency_p99" }},
  {{ title = "Of script",      value = "backlog.transactions{{script=change_tail}}" }},
  {{ title = "Publisher CPU",  value = "apply.cpu{{node=publisher}}", relative_to = "btree" }},
  {{ title = "Faster by",      value = "apply.seconds", relative_to = "no_index", as = "faster_slower" }},
  {{ title = "WAL",            value = "apply.wal_lsn_bytes" }},
  {{ title = "Settled WAL",    value = "apply.wal_bytes{{node=subscriber}}" }},
  {{ title = "Marker s",       value = "apply.marker_commit_seconds" }},
  {{ title = "Start-up s",     value = "apply.startup_seconds{{subscription=items}}" }},
]
[[report.tables]]
title = "Raw runs"
each = "run"
columns = [
  {{ title = "Apply s",   value = "apply.seconds" }},
  {{ title = "Faster by", value = "apply.seconds", relative_to = "no_index", as = "faster_slower" }},
]
"#
    );
    let text = text.replace("[scenarios.subscriptions]\n", "");
    let (_, mut run, mut samples) = replica_identity_full();
    run.differences.clear();
    let mut alone = samples[0].clone();
    (alone.turn, alone.scenario, alone.cell) = (7, "alone".to_owned(), "alone".to_owned());
    alone.convergence = None;
    alone.phases.shift_remove("backlog");
    let apply = alone.phases.get_mut("apply").expect("just made");
    apply.evidence = Evidence { seconds: 0.002, no_downstream: true, ..Evidence::default() };
    samples.push(alone);
    // A load that committed nothing, and a record without the host.
    for sample in samples.iter_mut().filter(|sample| sample.scenario == "btree") {
        let backlog = sample.phases.get_mut("backlog").expect("just made");
        let script = &mut backlog.evidence.loads["change_tail"].scripts["change_tail"];
        script.committed = 0;
        script.failed = map([("40P01", 1)]);
        script.latency = runner::measure::Histogram::default();
        backlog.evidence.host = None;
    }
    let records = (spec(&text), run, samples);
    assert_eq!(view(&records).summary.cannot_tell, 4);
    insta::assert_snapshot!(page(&records));
}

#[test]
fn a_median_of_fewer_runs_than_are_valid_says_so() {
    let mut records = replica_identity_full();
    for (turn, phase) in [(0, "backlog"), (3, "apply")] {
        records.2[turn].phases.get_mut(phase).expect("just made").evidence.nodes.clear();
    }
    let view = view(&records);
    let cpu = &view.tables[0].rows[0].cells[2];
    assert_eq!((cpu.text.as_str(), cpu.mark.as_str(), cpu.values.len()), ("4.226", "¹", 2));
    assert_eq!(
        view.tables[0].footnotes[0].text,
        "median of 2 of the 3 valid runs; in the rest: CPU times not observed in this window"
    );
    assert_eq!(view.claims[0].n, 3);
}

#[test]
fn runs_of_a_scenario_that_the_spec_lacks_are_named() {
    let (spec, run, mut samples) = replica_identity_full();
    samples[0].cell = "gone".to_owned();
    let page = page(&(spec, run, samples));
    assert!(page.contains("Runs of `gone` are not shown: this spec has no such scenario."), "{page}");
}

#[test]
fn figures_of_contention_are_marked_and_cpu_is_not() {
    let (spec, run, mut samples) = replica_identity_full();
    for sample in &mut samples {
        let evidence = &mut sample.phases.get_mut("apply").expect("just made").evidence;
        evidence.host = Some(host(2.0, evidence.seconds, 0.93));
        evidence.nodes["subscriber"].cpu_ns.insert("exited".to_owned(), ns(0.3));
        evidence.launcher_wait_seconds = Some(4.9);
    }
    let records = (spec, run, samples);
    let view = view(&records);
    let marked: Vec<(&str, bool)> = view.tables[0]
        .columns
        .iter()
        .zip(&view.tables[0].rows[0].cells)
        .map(|(column, cell)| (column.title.as_str(), cell.contention))
        .collect();
    assert_eq!(
        marked,
        [("Apply s", true), ("Publisher CPU s", false), ("Subscriber CPU s", false), ("Host busy", true)]
    );
    insta::assert_snapshot!(page(&records));
}

#[test]
fn five_rounds_are_judged_by_the_interval_and_versions_are_told_apart() {
    let (spec, mut run, samples) = replica_identity_full();
    run.rounds = 5;
    run.by_version = vec![
        "subscriber 15 starts no apply worker within `wal_retrieve_retry_interval` of the last start".to_owned(),
        "data checksums are off by default before 18".to_owned(),
    ];
    // On 15 the index is not used: both take as long.
    let both = [(4.60, 4.61), (4.71, 4.69), (4.55, 4.60), (4.66, 4.64), (4.62, 4.63)];
    let mut made = Vec::new();
    for ((no_index, btree), round) in both.into_iter().zip(1..) {
        for (template, seconds) in [(&samples[0], no_index), (&samples[1], btree)] {
            let mut sample = template.clone();
            (sample.round, sample.turn) = (round, made.len() as u32 + 1);
            sample.phases.get_mut("apply").expect("just made").evidence.seconds = seconds;
            sample.nodes =
                map([("publisher", server("18.6")), ("subscriber", server("15.18 (Debian 15.18-0+deb12u1)"))]);
            made.push(sample);
        }
    }
    let records = (spec, run, made);
    assert_eq!(code(&view(&records), false), 1);
    insta::assert_snapshot!(page(&records));
}

#[test]
fn machines_get_every_raw_figure_interval_and_outcome() {
    let view = view(&replica_identity_full());
    let value: serde_json::Value = serde_json::from_str(&json(&view)).expect("it is JSON");
    assert_eq!(value["format"], 1);
    assert_eq!(value["summary"]["held"], 1);
    let claim = &value["claims"][0];
    assert_eq!(claim["outcome"], "held");
    assert_eq!(claim["rounds"].as_array().map(Vec::len), Some(3));
    assert_eq!(claim["rounds"][0]["of"], 4.565);
    assert!(claim["interval"]["low"].as_f64().is_some_and(|low| low > 25.0));
    assert_eq!(claim["published"], 31.1);
    let cell = &value["tables"][0]["rows"][0]["cells"][0];
    assert_eq!((&cell["value"], &cell["published"]), (&4.602.into(), &4.671.into()));
    assert_eq!(cell["values"], serde_json::json!([4.565, 4.777, 4.602]));
    let run = &value["runs"][1];
    assert_eq!(run["figures"]["apply.seconds"]["value"], 0.149);
    assert_eq!(run["convergence"]["tables"][0]["published"]["rows"], 50_000);
    assert_eq!(value["run"]["command"], "runner specs/replica_identity_full.toml");
    assert!(matches!(view.runs[0].figures["apply.seconds"], FigureOfRun::Value(_)));
}

#[test]
fn every_table_is_aligned_in_plain_text() {
    let contended = |mut records: (Spec, RunRecord, Vec<Sample>)| {
        for sample in &mut records.2 {
            for phase in sample.phases.values_mut() {
                phase.evidence.host = Some(host(2.0, 1.0, 0.95));
            }
        }
        records
    };
    for records in [hidden_cpu_cost(false), replica_identity_full(), contended(replica_identity_full())] {
        let page = page(&records);
        let mut width = None;
        for line in page.lines() {
            let own = line.starts_with('|').then(|| line.chars().count());
            assert!(own.is_none() || width.is_none() || own == width, "{line}\n{page}");
            assert!(!line.ends_with(' '), "{line:?}");
            width = own;
        }
        assert!(!page.contains("\n\n\n"), "{page}");
    }
}

#[test]
fn a_results_folder_renders_again_to_the_same_page() {
    let (_, run, samples) = replica_identity_full();
    let parent = tempfile::tempdir().expect("a temporary folder");
    let store = Store::create_new(parent.path(), &run.spec_name, &run.started).expect("it is new");
    let mut sources = runner::text::SourceMap::default();
    sources.add(run.spec_path.as_str(), REPLICA_IDENTITY_FULL);
    store.put_sources(&sources).expect("it can be written");
    store.put_run(&run).expect("it can be written");
    for sample in samples.iter().rev() {
        store.put_sample(sample).expect("it can be written");
    }

    let store = Store::open(&parent.path().join("replica_identity_full-20260803T120000")).expect("it is ours");
    let sources = store.sources().expect("they were stored");
    let runner::spec::Read::Done(spec, issues) =
        runner::spec::read(run.spec_path.as_ref(), &sources, runner::spec::Options::default())
    else {
        panic!("every text was stored");
    };
    assert!(issues.is_empty());
    let again = (*spec, store.run().expect("it was stored"), store.samples().expect("they were stored"));
    let first = page(&replica_identity_full());
    assert_eq!(page(&again), first);
    store
        .put_report(&first, &plain(&view(&again)), &json(&view(&again)), &csv(&view(&again)))
        .expect("it can be written");
    assert_eq!(fs::read_to_string(store.report_path()).expect("just written"), first);
}

#[test]
fn builds_that_differ_have_a_table_and_assertions_are_a_stamp() {
    let plain = page(&replica_identity_full());
    assert!(!plain.contains("| Build "), "one build and none named: no table");
    let (spec, run, mut samples) = replica_identity_full();
    for sample in &mut samples {
        for (node, assertions) in [("publisher", "off"), ("subscriber", "on")] {
            let record = sample.nodes.get_mut(node).expect("both nodes have a record");
            record.config = map([
                ("debug_assertions", assertions.to_owned()),
                ("lz4", "yes".to_owned()),
                ("CFLAGS", "-Wall -Wmissing-prototypes -fwrapv -g -O0".to_owned()),
            ]);
        }
    }
    let text = page(&(spec, run, samples));
    assert!(text.contains("> **Built with assertions: not for performance figures (subscriber).**"), "{text}");
    let row = text.lines().find(|line| line.starts_with("| subscriber")).expect("a row");
    let cells: Vec<&str> = row.split('|').map(str::trim).collect();
    assert_eq!(cells[1..12], ["subscriber", "subscriber", "18.6", "–", "yes", "–", "–", "–", "–", "on", "-O0 …¹"]);
    assert!(text.contains("- ¹ -Wall -Wmissing-prototypes -fwrapv -g -O0"), "{text}");
}

#[test]
fn charts_show_the_figures_of_the_tables_and_count_nothing_twice() {
    let mut records = hidden_cpu_cost(true);
    let charts = r#"
[[report.charts]]
title = "By role"
kind = "stack"
value = "total.cpu{node=publisher}"
[[report.charts]]
title = "Total"
kind = "bars"
x = "scenario"
value = "total.cpu"
"#;
    records.0 = spec(&format!("{HIDDEN_CPU_COST}{charts}"));
    for sample in &mut records.2 {
        // Half of the clients' CPU is of sessions that have ended; the role of clients has them too.
        let cpu = &mut sample.phases["load"].evidence.nodes["publisher"].cpu_ns;
        let half = cpu["client backend"] / 2;
        cpu["client backend"] -= half;
        cpu.insert("client backends (exited)".to_owned(), half);
    }
    let view = view(&records);
    let (stack, bars) = (&view.charts[0], &view.charts[1]);
    assert_eq!((stack.file.as_str(), bars.file.as_str()), ("charts/by-role.svg", "charts/total.svg"));
    // 4.71 s of the baseline, of which a hundredth is the walsender's.
    for expected in ["4.71 s", "2.33", "client backends (exited)"] {
        assert!(stack.svg.contains(expected), "{expected}: {}", stack.svg);
    }
    for expected in ["4.71", "10.6", "published"] {
        assert!(bars.svg.contains(expected), "{expected}: {}", bars.svg);
    }
    assert!(page(&records).contains("![By role](charts/by-role.svg)"));
}
