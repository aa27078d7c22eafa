//! Loads with a target rate, a latency limit and retries, against scripted servers.

#![expect(clippy::unwrap_used, reason = "tests")]

use super::pace::Schedule;
use super::*;
use crate::script::{Script, Seeds};
use crate::wire::Target;
use crate::wire::fake_server::FakeServer;
use std::sync::{Arc, Mutex};
use std::time::Duration;

const SEED: u64 = 11;

fn request(target: Target, clients: u32, threads: u32, end: End, text: &str) -> LoadRequest {
    LoadRequest {
        target,
        scripts: vec![LoadScript { name: "change".into(), script: Arc::new(Script::parse(text).unwrap()), weight: 1 }],
        protocol: Protocol::Simple,
        clients,
        threads: Some(threads),
        end,
        rate: None,
        latency_limit: None,
        max_tries: 1,
        seed: SEED,
        scale: 1,
    }
}

fn finish(running: &mut Running) -> Result<Finished, LoadError> {
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(running.finished())
}

fn perform(request: LoadRequest) -> Result<Finished, LoadError> {
    finish(&mut connect(request)?.go())
}

/// The first slots of a schedule, since the start.
fn slots(clients: usize, rate: f64, count: usize) -> Vec<Duration> {
    let mut schedule = Schedule::new(&Seeds::new(SEED, clients), rate);
    (0..count).map(|_| schedule.next()).collect()
}

/// Answers each query as `answer` says, which is told its number in the session, from 1.
fn serve(server: &mut FakeServer, mut answer: impl FnMut(&mut FakeServer, usize, &str)) {
    server.welcome();
    let mut number = 0;
    while let Some((b'Q', body)) = server.next() {
        number += 1;
        let sql = String::from_utf8(body).unwrap();
        answer(server, number, sql.trim_end_matches(['\0', '\n', ';']));
    }
}

fn done(server: &mut FakeServer, status: &[u8]) {
    server.send(b'C', b"UPDATE 1\0");
    server.send(b'Z', status);
}

/// Fails as often as `fails` says for each transaction in turn, and keeps the texts of the updates.
fn conflicts(server: &mut FakeServer, sqlstate: &str, fails: &[usize], seen: &Mutex<Vec<Vec<String>>>) {
    let mut tries: Vec<String> = Vec::new();
    let mut transaction = 0;
    serve(server, |server, _, sql| match sql {
        "BEGIN" => done(server, b"T"),
        "COMMIT" => {
            seen.lock().unwrap().push(std::mem::take(&mut tries));
            transaction += 1;
            done(server, b"I");
        }
        "ROLLBACK" => done(server, b"I"),
        update => {
            tries.push(update.to_owned());
            if tries.len() <= fails[transaction % fails.len()] {
                server.error("ERROR", sqlstate, "conflict");
                server.send(b'Z', b"E");
            } else {
                done(server, b"T");
            }
        }
    });
}

#[test]
fn a_conflict_is_tried_again_with_the_same_random_numbers() {
    for sqlstate in ["40001", "40P01"] {
        for (clients, threads) in [(1, 1), (3, 1)] {
            let seen: Arc<Mutex<Vec<Vec<String>>>> = Arc::default();
            let kept = Arc::clone(&seen);
            let (target, thread) = FakeServer::listen(clients as usize, move |server, _| {
                conflicts(server, sqlstate, &[0, 2, 1], &kept);
            });
            let text = "\\set r random(1, 1000000000)\nBEGIN;\nUPDATE t :r;\nCOMMIT;\n";
            let mut request = request(target, clients, threads, End::Transactions(u64::from(9 * clients)), text);
            request.max_tries = 3;
            let finished = perform(request).unwrap();
            let script = &finished.report.scripts[0];
            assert_eq!((script.committed, script.failed), (u64::from(9 * clients), 0));
            assert_eq!((script.retried, script.retries), (u64::from(6 * clients), u64::from(9 * clients)));
            assert_eq!(script.latency_ns.len(), script.committed);
            drop(finished);
            thread.join().unwrap();
            let seen = seen.lock().unwrap();
            for tries in seen.iter() {
                assert!(tries.iter().all(|sql| *sql == tries[0]), "{tries:?}");
            }
            let mut distinct: Vec<&String> = seen.iter().map(|tries| &tries[0]).collect();
            distinct.sort_unstable();
            distinct.dedup();
            assert_eq!(distinct.len(), 9 * clients as usize);
        }
    }
}

#[test]
fn a_conflict_that_no_try_mends_is_counted_once_by_its_code() {
    for (max_tries, retried, retries) in [(1, 0, 0), (2, 5, 5), (4, 5, 15)] {
        let (target, thread) = FakeServer::listen(1, |server, _| {
            serve(server, |server, _, _| {
                server.error("ERROR", "40001", "conflict");
                server.send(b'Z', b"I");
            });
        });
        let mut request = request(target, 1, 1, End::Transactions(5), "UPDATE t;\n");
        request.max_tries = max_tries;
        let finished = perform(request).unwrap();
        let script = &finished.report.scripts[0];
        assert_eq!((script.committed, script.failed, script.errors["40001"].count), (0, 5, 5));
        assert_eq!((script.retried, script.retries), (retried, retries));
        drop(finished);
        thread.join().unwrap();
    }
}

#[test]
fn another_error_is_not_tried_again() {
    let (target, thread) = FakeServer::listen(1, |server, _| {
        serve(server, |server, _, _| {
            server.error("ERROR", "23505", "taken");
            server.send(b'Z', b"I");
        });
    });
    let mut request = request(target, 1, 1, End::Transactions(5), "UPDATE t;\n");
    request.max_tries = 100;
    let finished = perform(request).unwrap();
    let script = &finished.report.scripts[0];
    assert_eq!((script.failed, script.retried, script.retries), (5, 0, 0));
    drop(finished);
    thread.join().unwrap();
}

#[test]
fn a_pipeline_is_tried_again_as_a_whole() {
    let (target, thread) = FakeServer::listen(1, |server, _| {
        server.welcome();
        for number in 0..10 {
            let Some((b'P', _)) = server.next() else { panic!("a pipeline") };
            server.expect(b"BEPBES");
            let mut replies: Vec<(u8, &[u8])> = vec![(b'1', b""), (b'2', b"")];
            if number % 2 == 0 {
                replies.push((b'E', b"SERROR\0C40P01\0Mdeadlock\0\0"));
            } else {
                for _ in 0..2 {
                    replies.extend([(b'C', &b"UPDATE 1\0"[..]), (b'1', b""), (b'2', b"")]);
                }
                replies.truncate(replies.len() - 2);
            }
            replies.push((b'Z', b"I"));
            server.send_all(&replies);
        }
        server.until_closed();
    });
    let text = "\\startpipeline\nUPDATE a;\nUPDATE b;\n\\endpipeline\n";
    let mut request = request(target, 1, 1, End::Transactions(5), text);
    request.protocol = Protocol::Extended;
    request.max_tries = 2;
    let finished = perform(request).unwrap();
    let script = &finished.report.scripts[0];
    assert_eq!((script.committed, script.failed, script.retried, script.retries), (5, 0, 5, 5));
    drop(finished);
    thread.join().unwrap();
}

#[test]
fn tries_without_a_bound_end_with_the_limit_or_the_load() {
    for (limit, end) in
        [(Some(Duration::from_millis(5)), End::Transactions(2)), (None, End::Duration(Duration::from_millis(20)))]
    {
        let (target, thread) = FakeServer::listen(1, |server, _| {
            serve(server, |server, _, _| {
                std::thread::sleep(Duration::from_millis(1));
                server.error("ERROR", "40001", "conflict");
                server.send(b'Z', b"I");
            });
        });
        let mut request = request(target, 1, 1, end, "UPDATE t;\n");
        (request.max_tries, request.latency_limit) = (0, limit);
        let finished = perform(request).unwrap();
        let script = &finished.report.scripts[0];
        assert_eq!((script.committed, script.failed), (0, if limit.is_some() { 2 } else { 1 }));
        drop(finished);
        thread.join().unwrap();
    }
}

#[test]
fn transactions_begin_on_schedule_whichever_client_takes_them() {
    for (clients, threads) in [(1, 1), (4, 4), (4, 1)] {
        let (target, thread) =
            FakeServer::listen(clients as usize, |server, _| serve(server, |server, _, _| done(server, b"I")));
        let mut request = request(target, clients, threads, End::Transactions(100), "UPDATE t;\n");
        request.rate = Some(2_000.0);
        let finished = perform(request).unwrap();
        let report = &finished.report;
        assert_eq!((report.committed(), report.failed(), report.skipped()), (100, 0, 0));
        assert!(report.finished - report.started >= slots(clients as usize, 2_000.0, 100)[99]);
        let script = &report.scripts[0];
        let lag = script.lag_ns.as_ref().unwrap();
        assert_eq!((script.latency_ns.len(), lag.len()), (100, 100));
        assert!(lag.max() < script.latency_ns.max());
        drop(finished);
        thread.join().unwrap();
    }
}

/// A server whose first answer takes long, and the load of one client at 1,000/s that meets it.
fn stalled(limit: Option<Duration>) -> (LoadReport, Vec<Duration>) {
    const STALL: Duration = Duration::from_millis(200);
    let (target, thread) = FakeServer::listen(1, |server, _| {
        serve(server, |server, number, _| {
            if number == 1 {
                std::thread::sleep(STALL);
            }
            done(server, b"I");
        });
    });
    let mut request = request(target, 1, 1, End::Transactions(300), "UPDATE t;\n");
    (request.rate, request.latency_limit) = (Some(1_000.0), limit);
    let report = perform(request).unwrap().report;
    thread.join().unwrap();
    let slots = slots(1, 1_000.0, 300);
    let stalled_until = slots[0] + STALL;
    let behind = slots[1..].iter().filter_map(|slot| stalled_until.checked_sub(*slot)).collect();
    (report, behind)
}

#[test]
fn what_queues_up_behind_a_slow_transaction_is_slow_too() {
    let (report, behind) = stalled(None);
    assert!(behind.len() > 100);
    assert_eq!((report.committed(), report.skipped()), (300, 0));
    let bound = Duration::from_millis(50);
    let waited = behind.iter().filter(|waited| **waited > bound).count() as u64;
    let latencies = &report.scripts[0].latency_ns;
    // A bucket is known to a thousandth.
    assert!(latencies.count_between(bound.as_nanos() as u64, u64::MAX) >= waited, "{waited}");
}

#[test]
fn what_is_later_than_the_limit_before_it_begins_is_skipped() {
    let limit = Duration::from_millis(20);
    let (report, behind) = stalled(Some(limit));
    let hopeless = behind.iter().filter(|waited| **waited > limit).count() as u64;
    assert!(report.skipped() >= hopeless, "{} < {hopeless}", report.skipped());
    assert_eq!(report.committed() + report.skipped(), 300);
    assert_eq!(report.clients[0].skipped, report.skipped());
    // The one that met the stall, at least.
    assert!(report.scripts[0].late >= 1);
    assert_eq!(report.scripts[0].latency_ns.len(), report.committed());
}

#[test]
fn every_slot_of_a_duration_is_begun_or_skipped() {
    for (threads, each) in [(1, 0), (3, 0), (3, 20)] {
        let (target, thread) = FakeServer::listen(3, move |server, _| {
            serve(server, |server, _, _| {
                std::thread::sleep(Duration::from_millis(each));
                done(server, b"I");
            });
        });
        let length = Duration::from_millis(300);
        let mut request = request(target, 3, threads, End::Duration(length), "UPDATE t;\n");
        request.rate = Some(1_000.0);
        let finished = perform(request).unwrap();
        let report = &finished.report;
        let due = slots(3, 1_000.0, 1_000).into_iter().filter(|slot| *slot <= length).count() as u64;
        assert_eq!(report.committed() + report.skipped(), due);
        assert!(report.finished - report.started >= length);
        // Three clients that need 20 ms cannot do half of it.
        assert!(each == 0 || report.skipped() > due / 2, "{} of {due}", report.skipped());
        assert_eq!(report.committed_each_second, [report.committed()]);
        drop(finished);
        thread.join().unwrap();
    }
}

#[test]
fn late_transactions_are_counted_without_a_rate_too() {
    let (target, thread) = FakeServer::listen(1, |server, _| {
        serve(server, |server, number, _| {
            if number % 4 == 0 {
                std::thread::sleep(Duration::from_millis(30));
            }
            done(server, b"I");
        });
    });
    let mut request = request(target, 1, 1, End::Transactions(20), "UPDATE t;\n");
    request.latency_limit = Some(Duration::from_millis(30));
    let finished = perform(request).unwrap();
    let script = &finished.report.scripts[0];
    assert!(script.late >= 5, "{}", script.late);
    assert_eq!((script.committed, script.skipped), (20, 0));
    assert!(script.lag_ns.is_none());
    drop(finished);
    thread.join().unwrap();
}

#[test]
fn a_client_that_waits_for_its_slot_can_be_stopped_and_notices_a_lost_connection() {
    for threads in [1, 2] {
        let (target, thread) = FakeServer::listen(2, |server, _| {
            server.welcome();
            server.until_closed();
        });
        let mut one = request(target, 2, threads, End::Transactions(10), "UPDATE t;\n");
        one.rate = Some(0.000_1);
        let mut running = connect(one).unwrap().go();
        running.stop();
        let report = finish(&mut running).unwrap().report;
        assert!(report.interrupted && report.committed() == 0);
        thread.join().unwrap();

        let (target, thread) = FakeServer::listen(2, |server, number| {
            server.welcome();
            if number == 1 {
                server.error("FATAL", "57P01", "terminating connection");
            } else {
                server.until_closed();
            }
        });
        let mut one = request(target, 2, threads, End::Transactions(10), "UPDATE t;\n");
        one.rate = Some(0.000_1);
        let error = perform(one).unwrap_err();
        assert!(matches!(error, LoadError::Waiting { .. }) && error.to_string().contains("57P01"), "{error}");
        thread.join().unwrap();
    }
}

#[test]
fn a_rate_of_nothing_and_tries_without_an_end_are_refused() {
    let mut one = request(FakeServer::target(), 1, 1, End::Transactions(1), "UPDATE t;\n");
    for rate in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        one.rate = Some(rate);
        assert!(matches!(connect(one.clone()), Err(LoadError::Rate)));
    }
    (one.rate, one.max_tries) = (None, 0);
    assert!(matches!(connect(one), Err(LoadError::UnlimitedTries)));
}
