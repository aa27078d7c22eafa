//! Loads against scripted servers: failures, losses and stops, with a thread for each client and with one for all.

#![expect(clippy::unwrap_used, reason = "tests")]

use super::*;
use crate::script::Script;
use crate::wire::Target;
use crate::wire::fake_server::FakeServer;
use std::sync::Arc;
use std::time::Duration;

const TRANSACTION: &str = "BEGIN;\nUPDATE t;\nCOMMIT;\n";

fn request(target: Target, clients: u32, threads: u32, total: u64, script: &str) -> LoadRequest {
    LoadRequest {
        target,
        scripts: vec![LoadScript {
            name: String::from("change"),
            script: Arc::new(Script::parse(script).unwrap()),
            weight: 1,
        }],
        protocol: Protocol::Simple,
        clients,
        threads: Some(threads),
        end: End::Transactions(total),
        rate: None,
        latency_limit: None,
        max_tries: 1,
        seed: 1,
        scale: 1,
    }
}

fn finish(running: &mut Running) -> Result<Finished, LoadError> {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(running.finished())
}

fn perform(request: LoadRequest) -> Result<Finished, LoadError> {
    finish(&mut connect(request)?.go())
}

/// A server that keeps the transaction status and fails each `every`-th UPDATE of a session (0: none).
fn serve(server: &mut FakeServer, every: usize) {
    server.welcome();
    let mut status = b'I';
    let mut updates = 0;
    while let Some((b'Q', body)) = server.next() {
        let sql = String::from_utf8(body).unwrap();
        let tag = match sql.trim_end_matches(['\0', ';']) {
            "BEGIN" => {
                assert_eq!(status, b'I');
                status = b'T';
                "BEGIN"
            }
            "COMMIT" => {
                assert_eq!(status, b'T', "only a good transaction is committed");
                status = b'I';
                "COMMIT"
            }
            "ROLLBACK" => {
                assert_eq!(status, b'E', "only a failed block is rolled back");
                status = b'I';
                "ROLLBACK"
            }
            _ => {
                updates += 1;
                if every > 0 && updates % every == 0 {
                    server.error("ERROR", "40001", &format!("conflict {updates}"));
                    if status == b'T' {
                        status = b'E';
                    }
                    server.send(b'Z', &[status]);
                    continue;
                }
                "UPDATE 1"
            }
        };
        server.send(b'C', format!("{tag}\0").as_bytes());
        server.send(b'Z', &[status]);
    }
}

#[test]
fn a_failed_transaction_is_counted_once_and_rolled_back() {
    for (clients, threads) in [(1, 1), (3, 3), (3, 1), (5, 2)] {
        for script in [TRANSACTION, "UPDATE t;\n"] {
            let (target, thread) = FakeServer::listen(clients as usize, |server, _| serve(server, 10));
            let finished = perform(request(target, clients, threads, 100 * u64::from(clients), script)).unwrap();
            let report = &finished.report;
            assert_eq!(report.failed(), 10 * u64::from(clients));
            assert_eq!(report.committed(), 90 * u64::from(clients));
            let failures = &report.scripts[0].errors["40001"];
            assert_eq!(failures.count, report.failed());
            assert_eq!(failures.first_message, "conflict 10");
            assert_eq!(report.scripts[0].latency_ns.len(), report.committed());
            assert_eq!(report.clients.len(), clients as usize);
            for (number, client) in report.clients.iter().enumerate() {
                assert_eq!((client.client, client.committed, client.failed), (number as u32, 90, 10));
            }
            assert!(!report.interrupted);
            assert!(report.finished > report.started);
            assert_eq!(finished.connections.backend_pids(), vec![4711; clients as usize]);
            drop(finished);
            thread.join().unwrap();
        }
    }
}

#[test]
fn a_load_whose_transactions_all_fail_ends() {
    let (target, thread) = FakeServer::listen(2, |server, _| serve(server, 1));
    let finished = perform(request(target, 2, 2, 7, TRANSACTION)).unwrap();
    assert_eq!((finished.report.committed(), finished.report.failed()), (0, 7));
    drop(finished);
    thread.join().unwrap();
}

#[test]
fn clients_beyond_the_number_of_transactions_begin_none() {
    let (target, thread) = FakeServer::listen(4, |server, _| serve(server, 0));
    let finished = perform(request(target, 4, 2, 2, TRANSACTION)).unwrap();
    let committed: Vec<_> = finished.report.clients.iter().map(|c| c.committed).collect();
    assert_eq!(committed, [1, 1, 0, 0]);
    drop(finished);
    thread.join().unwrap();
}

#[test]
fn a_duration_ends_each_client_after_its_transaction() {
    let (target, thread) = FakeServer::listen(3, |server, _| serve(server, 0));
    let mut request = request(target, 3, 1, 0, TRANSACTION);
    request.end = End::Duration(Duration::ZERO);
    let report = perform(request).unwrap().report;
    assert!(report.committed() >= 1 && report.committed() <= 3);
    assert!(!report.interrupted);
    thread.join().unwrap();
}

#[test]
fn a_lost_connection_ends_the_load_and_names_itself() {
    for threads in [1, 3] {
        let (target, thread) = FakeServer::listen(3, |server, number| {
            server.welcome();
            if number == 0 {
                server.expect(b"Q");
                server.error("FATAL", "57P01", "terminating connection");
            } else {
                // The others wait for an answer that never comes.
                server.until_closed();
            }
        });
        let error = perform(request(target, 3, threads, 300, "UPDATE  t\n;\n")).unwrap_err();
        let text = error.to_string();
        for part in ["client ", "`UPDATE t", "\"change\"", "57P01"] {
            assert!(text.contains(part), "{part}: {text}");
        }
        thread.join().unwrap();
    }
}

#[test]
fn a_stop_ends_waiting_clients_and_keeps_what_was_done() {
    for threads in [1, 2] {
        let (blocked, when_blocked) = std::sync::mpsc::channel();
        let (target, thread) = FakeServer::listen(2, move |server, _| {
            server.welcome();
            for _ in 0..3 {
                server.expect(b"Q");
                server.send(b'C', b"UPDATE 1\0");
                server.send(b'Z', b"I");
            }
            server.expect(b"Q");
            blocked.send(()).unwrap();
            server.until_closed();
        });
        let mut running = connect(request(target, 2, threads, 100, "UPDATE t;\n")).unwrap().go();
        for _ in 0..2 {
            when_blocked.recv().unwrap();
        }
        assert_eq!(running.progress(), 6);
        running.stop();
        let report = finish(&mut running).unwrap().report;
        assert!(report.interrupted);
        assert_eq!((report.committed(), report.failed()), (6, 0));
        assert!(matches!(finish(&mut running), Err(LoadError::NoOutcome { .. })));
        thread.join().unwrap();
    }
}

#[test]
fn a_client_that_is_refused_fails_the_load_before_its_clock() {
    let (target, thread) = FakeServer::listen(3, |server, number| {
        if number == 2 {
            server.start_up();
            server.error("FATAL", "53300", "sorry, too many clients already");
        } else {
            server.welcome();
            server.until_closed();
        }
    });
    let error = connect(request(target, 3, 3, 1, "UPDATE t;\n")).unwrap_err();
    assert!(error.to_string().contains("53300"), "{error}");
    thread.join().unwrap();
}

#[test]
fn a_statement_that_cannot_be_prepared_fails_the_load_before_its_clock() {
    let (target, thread) = FakeServer::listen(1, |server, _| {
        server.welcome();
        server.expect(b"PS");
        server.error("ERROR", "42P01", "relation \"t\" does not exist");
        server.send(b'Z', b"I");
        server.until_closed();
    });
    let mut request = request(target, 1, 1, 1, "UPDATE t;\n");
    request.protocol = Protocol::Prepared;
    let text = connect(request).unwrap_err().to_string();
    for part in ["`UPDATE t", "42P01", "simple or extended"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    thread.join().unwrap();
}

#[test]
fn a_script_that_leaves_its_transaction_open_is_an_error() {
    let (target, thread) = FakeServer::listen(1, |server, _| serve(server, 0));
    let error = perform(request(target, 1, 1, 1, "BEGIN;\nUPDATE t;\n")).unwrap_err();
    assert!(matches!(error, LoadError::OpenTransaction { .. }), "{error}");
    thread.join().unwrap();
}

#[test]
fn a_load_that_is_never_started_closes_its_connections() {
    let (target, thread) = FakeServer::listen(2, |server, _| {
        server.welcome();
        assert_eq!(server.next().unwrap().0, b'X');
    });
    let ready = connect(request(target, 2, 1, 1, "UPDATE t;\n")).unwrap();
    assert_eq!(ready.backend_pids(), [4711, 4711]);
    drop(ready);
    thread.join().unwrap();
}

#[test]
fn a_load_without_clients_or_scripts_is_refused() {
    let mut one = request(FakeServer::target(), 0, 1, 1, "UPDATE t;\n");
    assert!(matches!(connect(one.clone()), Err(LoadError::NoClients)));
    one.clients = 1;
    one.scripts[0].weight = 0;
    assert!(matches!(connect(one.clone()), Err(LoadError::NoScripts)));
    one.scripts.clear();
    assert!(matches!(connect(one), Err(LoadError::NoScripts)));
    let one = request(FakeServer::target(), 1, 1, 1, "\\startpipeline\nUPDATE t;\n\\endpipeline\n");
    assert!(matches!(connect(one), Err(LoadError::SimplePipeline { .. })));
}
