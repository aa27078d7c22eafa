//! The slot consumer against a real server: nothing is lost, markers and positions are told, streams end as asked.
#![expect(clippy::unwrap_used, reason = "tests")]

use std::time::{Duration, Instant};

use runner::lab::{Lab, RunningNode};
use runner::load::consumer::{Arrival, Awaited, Consumed, Consumer, ConsumerError, ConsumerRequest, StreamEnd};
use runner::plan::sql::marker;
use runner::plan::sql::slot::{self, PluginOption, SlotDefinition, pgoutput_options};
use runner::spec::scenario::MarkerCommit;
use runner::text::lsn::Lsn;
use runner::text::quote::identifier;
use runner::wire::Connection;

use crate::support::postgres::{lab, request, server, servers, session, target, value};

/// How long anything may take before a test fails instead of hanging.
const BOUND: Duration = Duration::from_mins(1);

/// A node with the marker's table and publication and a table `t` that is published as `of_t`.
async fn node() -> (Lab, RunningNode, Connection) {
    let mut lab = lab().await;
    let node = lab.start(request("n1", 0, &server(18).await)).await.unwrap();
    let mut control = session(&node);
    for sql in [
        marker::CREATE_TABLE,
        marker::CREATE_PUBLICATION,
        "CREATE TABLE t (id bigserial PRIMARY KEY, payload text)",
        "CREATE PUBLICATION of_t FOR TABLE t",
    ] {
        control.query(sql).unwrap();
    }
    (lab, node, control)
}

fn create_slot(control: &mut Connection, name: &str, plugin: &str) {
    let slot = SlotDefinition { name: name.into(), plugin: plugin.into(), two_phase: false, failover: false };
    control.query(&slot::create(&slot, 18).unwrap()).unwrap();
}

fn consumer(node: &RunningNode, slot: &str, plugin: &str, options: Vec<PluginOption>) -> ConsumerRequest {
    ConsumerRequest { target: target(node), slot: slot.into(), plugin: plugin.into(), options }
}

/// What the named plugin is told to send the changes of `t`.
fn options(plugin: &str, given: &[PluginOption]) -> Vec<PluginOption> {
    if plugin == "pgoutput" { pgoutput_options(&["of_t".to_owned()], given, 18) } else { given.to_vec() }
}

async fn arrived(consumer: &Consumer, awaited: Awaited) -> Arrival {
    tokio::time::timeout(BOUND, consumer.arrival(awaited)).await.unwrap().unwrap().unwrap()
}

async fn mark(control: &mut Connection, consumer: &Consumer, id: u64) -> Arrival {
    control.query(&marker::insert(id, MarkerCommit::Flushed)).unwrap();
    arrived(consumer, Awaited::Marker { id, times: 1 }).await
}

async fn ended(mut consumer: Consumer) -> Consumed {
    consumer.end().unwrap();
    let consumed = tokio::time::timeout(BOUND, consumer.finished()).await.unwrap().unwrap();
    assert_eq!(consumed.end, StreamEnd::Clean);
    consumed
}

/// Waits until no walsender uses the slot, and gives its confirmed position.
fn free(control: &mut Connection, slot: &str) -> Lsn {
    let bound = Instant::now() + BOUND;
    loop {
        let state = control.query(&slot::state(slot)).unwrap().rows.remove(0);
        if state[0].is_none() {
            return state[1].as_deref().unwrap().parse().unwrap();
        }
        assert!(Instant::now() < bound, "the slot stays in use");
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Writes `transactions` of `rows` rows from two sessions whose transactions overlap, and one that is rolled back.
fn write(control: &mut Connection, other: &mut Connection, transactions: u64, rows: u64) {
    let insert = |rows: u64| format!("INSERT INTO t (payload) SELECT repeat('x', 128) FROM generate_series(1, {rows})");
    control.query(&format!("BEGIN; {}; ROLLBACK", insert(3))).unwrap();
    for number in 0..transactions {
        if number % 2 == 0 {
            control.query(&insert(rows)).unwrap();
        } else {
            other.query(&format!("BEGIN; {}", insert(rows - 1))).unwrap();
            control.query("SELECT pg_logical_emit_message(true, 'between', 'x')").unwrap();
            other.query(&format!("{}; COMMIT", insert(1))).unwrap();
        }
    }
}

#[tokio::test(flavor = "current_thread")]
async fn nothing_is_lost_over_a_hundred_runs() {
    let _leave = servers().await;
    let (mut lab, node, mut control) = node().await;
    let mut other = session(&node);
    for plugin in ["test_decoding", "pgoutput"] {
        create_slot(&mut control, plugin, plugin);
        let mut confirmed = Lsn(0);
        for run in 0..100_u64 {
            let given = match (plugin, run % 3) {
                ("pgoutput", 0) => vec![PluginOption::new("binary", "true")],
                ("pgoutput", 1) => vec![PluginOption::new("streaming", "on")],
                ("test_decoding", 1) => vec![PluginOption::new("include-xids", "0")],
                ("test_decoding", 2) => vec![PluginOption { name: "skip-empty-xacts".into(), value: None }],
                _ => Vec::new(),
            };
            let request = consumer(&node, plugin, plugin, options(plugin, &given));
            let (transactions, rows) = (1 + run % 5, 2 + run % 7);
            // Half of the runs find their transactions waiting.
            let consumer = if run % 2 == 0 {
                let consumer = Consumer::start(request).unwrap();
                write(&mut control, &mut other, transactions, rows);
                consumer
            } else {
                write(&mut control, &mut other, transactions, rows);
                Consumer::start(request).unwrap()
            };
            let arrival = mark(&mut control, &consumer, run).await;
            let at_arrival = consumer.so_far();
            let consumed = ended(consumer).await;
            assert_eq!(consumed.changes, Some(transactions * rows + 1), "{plugin}, run {run}");
            assert_eq!(at_arrival.changes, consumed.changes, "{plugin}, run {run}");
            assert!(consumed.transactions > Some(transactions), "{plugin}, run {run}");
            assert!(consumed.confirmed >= arrival.position && arrival.position > confirmed, "{plugin}, run {run}");
            assert!(consumed.cpu_ns > 0 && consumed.payload_bytes > 128 * transactions * rows);
            // The slot is free at once.
            let state = control.query(&slot::state(plugin)).unwrap().rows.remove(0);
            assert_eq!(state[0], None, "{plugin}, run {run}");
            confirmed = state[1].as_deref().unwrap().parse().unwrap();
            assert_eq!(confirmed, consumed.confirmed, "{plugin}, run {run}");
        }
        control.query(&slot::drop(plugin)).unwrap();
    }
    drop((control, other));
    lab.close().await.unwrap();
}

#[tokio::test(flavor = "current_thread")]
async fn one_session_tells_a_hundred_markers_and_positions() {
    let _leave = servers().await;
    let (mut lab, node, mut control) = node().await;
    let mut other = session(&node);
    for plugin in ["test_decoding", "pgoutput"] {
        create_slot(&mut control, plugin, plugin);
        let consumer = Consumer::start(consumer(&node, plugin, plugin, options(plugin, &[]))).unwrap();
        let mut changes = 0;
        for run in 0..100 {
            write(&mut control, &mut other, 3, 4);
            changes += 3 * 4 + 1;
            let early = consumer.arrival(Awaited::Marker { id: run, times: 1 });
            let before = Instant::now();
            let late = mark(&mut control, &consumer, run).await;
            assert!(late.at > before);
            assert_eq!(early.await.unwrap().unwrap(), late);
            assert_eq!(consumer.so_far().changes, Some(changes), "{plugin}, run {run}");
            if run % 10 == 0 {
                let flushed: Lsn = value(&mut control, "SELECT pg_current_wal_flush_lsn()").parse().unwrap();
                assert!(arrived(&consumer, Awaited::Position(flushed)).await.position >= flushed);
            }
        }
        assert_eq!(ended(consumer).await.changes, Some(changes));
    }
    drop((control, other));
    lab.close().await.unwrap();
}

#[tokio::test(flavor = "current_thread")]
async fn an_opaque_plugin_is_followed_by_position() {
    let _leave = servers().await;
    let (mut lab, node, mut control) = node().await;
    let mut other = session(&node);
    create_slot(&mut control, "opaque", "test_decoding");
    let mut seen = 0;
    for run in 0..20 {
        // The server decides the plugin; ours is only told another name.
        let consumer = Consumer::start(consumer(&node, "opaque", "somebodys", Vec::new())).unwrap();
        assert!(!consumer.reads_markers());
        let refused = consumer.arrival(Awaited::Marker { id: 1, times: 1 }).await.unwrap().unwrap_err();
        assert!(matches!(refused, ConsumerError::Opaque { .. }));
        write(&mut control, &mut other, 2, 5);
        control.query(&marker::insert(run, MarkerCommit::Flushed)).unwrap();
        let flushed: Lsn = value(&mut control, "SELECT pg_current_wal_flush_lsn()").parse().unwrap();
        arrived(&consumer, Awaited::Position(flushed)).await;
        // Asked again, it is known.
        arrived(&consumer, Awaited::Position(flushed)).await;
        let consumed = ended(consumer).await;
        assert_eq!((consumed.changes, consumed.transactions), (None, None));
        // Beginnings and ends of two transactions, the rolled back one's none, the marker, one message.
        assert_eq!(consumed.messages, (2 + 5) * 2 + 3 + 3, "run {run}");
        seen += consumed.messages;
    }
    assert_eq!(seen, 20 * 20);
    drop((control, other));
    lab.close().await.unwrap();
}

#[tokio::test(flavor = "current_thread")]
async fn publications_with_quotes_and_commas_in_their_names_are_found() {
    let _leave = servers().await;
    let (mut lab, node, mut control) = node().await;
    let names = ["MyPub", "a,b", "q\"q", "it's", "back\\slash", " space ", "select"];
    for name in names {
        let table = identifier(&format!("Table {name}"));
        control.query(&format!("CREATE TABLE {table} (\"Id\" int PRIMARY KEY, \"select\" text)")).unwrap();
        control.query(&format!("CREATE PUBLICATION {} FOR TABLE {table}", identifier(name))).unwrap();
    }
    create_slot(&mut control, "quoted", "pgoutput");
    let publications: Vec<String> = names.iter().map(ToString::to_string).collect();
    let request = consumer(&node, "quoted", "pgoutput", pgoutput_options(&publications, &[], 18));
    let consumer = Consumer::start(request).unwrap();
    for name in names {
        let table = identifier(&format!("Table {name}"));
        control.query(&format!("INSERT INTO {table} VALUES (1, 'it''s'); DELETE FROM {table}")).unwrap();
    }
    // Not published.
    control.query("INSERT INTO t (payload) VALUES ('x')").unwrap();
    mark(&mut control, &consumer, 1).await;
    assert_eq!(ended(consumer).await.changes, Some(2 * names.len() as u64 + 1));
    drop(control);
    lab.close().await.unwrap();
}

#[tokio::test(flavor = "current_thread")]
async fn a_stop_ends_an_idle_stream_and_the_next_consumer_goes_on() {
    let _leave = servers().await;
    let (mut lab, node, mut control) = node().await;
    create_slot(&mut control, "s", "test_decoding");
    let request = consumer(&node, "s", "test_decoding", Vec::new());
    let mut first = Consumer::start(request.clone()).unwrap();
    let nothing_yet = first.arrival(Awaited::Marker { id: 99, times: 1 });
    mark(&mut control, &first, 1).await;
    let confirmed = first.confirm().unwrap();
    mark(&mut control, &first, 2).await;
    first.stop();
    let consumed = tokio::time::timeout(BOUND, first.finished()).await.unwrap().unwrap();
    assert_eq!((consumed.end, consumed.changes), (StreamEnd::Stopped, Some(2)));
    assert!(matches!(first.finished().await, Err(ConsumerError::NoOutcome)));
    assert!(matches!(nothing_yet.await.unwrap(), Err(ConsumerError::Ended { .. })));
    assert!(free(&mut control, "s") >= confirmed);
    // The second marker was not confirmed, unless a second had passed: it comes again, and nothing before it.
    let second = Consumer::start(request.clone()).unwrap();
    mark(&mut control, &second, 3).await;
    let again = second.so_far().changes.unwrap();
    assert!(again == 2 || consumed.confirmed > confirmed && again == 1, "{again} {consumed:?}");
    assert_eq!(ended(second).await.changes, Some(again));
    free(&mut control, "s");
    let third = Consumer::start(request).unwrap();
    mark(&mut control, &third, 4).await;
    assert_eq!(ended(third).await.changes, Some(1));
    drop(control);
    lab.close().await.unwrap();
}

#[tokio::test(flavor = "current_thread")]
async fn a_confirmed_position_is_the_slots_at_once() {
    let _leave = servers().await;
    let (mut lab, node, mut control) = node().await;
    create_slot(&mut control, "s", "test_decoding");
    let consumer = Consumer::start(consumer(&node, "s", "test_decoding", Vec::new())).unwrap();
    for id in 0..20 {
        let arrival = mark(&mut control, &consumer, id).await;
        let told = consumer.confirm().unwrap();
        assert!(told >= arrival.position);
        let bound = Instant::now() + BOUND;
        let asked = format!("SELECT confirmed_flush_lsn >= '{told}' FROM pg_replication_slots");
        while value(&mut control, &asked) != "t" {
            assert!(Instant::now() < bound, "the slot does not move");
        }
    }
    ended(consumer).await;
    drop(control);
    lab.close().await.unwrap();
}

#[tokio::test(flavor = "current_thread")]
async fn refusals_are_told_in_the_servers_words() {
    let _leave = servers().await;
    let (mut lab, node, mut control) = node().await;
    create_slot(&mut control, "s", "pgoutput");
    let start = |slot: &str, options| Consumer::start(consumer(&node, slot, "pgoutput", options));
    let error = start("missing", Vec::new()).unwrap_err().to_string();
    assert!(error.contains("replication slot \"missing\" does not exist"), "{error}");
    let options = |name: &str| pgoutput_options(&[name.to_owned()], &[PluginOption::new("proto_version", "1")], 18);
    let running = start("s", options("of_t")).unwrap();
    let error = start("s", options("of_t")).unwrap_err().to_string();
    assert!(error.contains("is active for PID"), "{error}");
    ended(running).await;
    free(&mut control, "s");
    let unread = options("of_t")
        .into_iter()
        .map(|option| PluginOption { name: option.name.replace("proto", "Proto"), ..option });
    let error = start("s", unread.collect()).unwrap_err().to_string();
    assert!(error.contains("unrecognized pgoutput option: Proto_version"), "{error}");
    free(&mut control, "s");
    // A stream that breaks tells why, to the waiting as well.
    let mut consumer = start("s", options("of_t")).unwrap();
    let marker = consumer.arrival(Awaited::Marker { id: 1, times: 1 });
    control.query(&format!("SELECT pg_terminate_backend({})", consumer.backend_pid())).unwrap();
    let why = tokio::time::timeout(BOUND, marker).await.unwrap().unwrap().unwrap_err().to_string();
    let error = consumer.finished().await.unwrap_err();
    assert!(why.contains("57P01"), "{why}");
    assert!(matches!(error, ConsumerError::Stream { .. }) && why.ends_with(&error.to_string()), "{error}");
    drop(control);
    lab.close().await.unwrap();
}

#[tokio::test(flavor = "current_thread")]
async fn a_server_that_shuts_down_has_sent_everything() {
    let _leave = servers().await;
    let (mut lab, node, mut control) = node().await;
    create_slot(&mut control, "s", "test_decoding");
    let mut consumer = Consumer::start(consumer(&node, "s", "test_decoding", Vec::new())).unwrap();
    control.query("INSERT INTO t (payload) SELECT 'x' FROM generate_series(1, 10000)").unwrap();
    drop(control);
    node.stop_fast().await.unwrap();
    let consumed = tokio::time::timeout(BOUND, consumer.finished()).await.unwrap().unwrap();
    assert_eq!((consumed.end, consumed.changes), (StreamEnd::ByServer, Some(10_000)));
    lab.close().await.unwrap();
}
