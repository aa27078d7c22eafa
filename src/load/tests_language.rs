//! Loads of scripts with sleeps, results as variables, pipelines and weights, against scripted servers.

#![expect(clippy::unwrap_used, reason = "tests")]

use super::*;
use crate::script::Script;
use crate::wire::Target;
use crate::wire::fake_server::FakeServer;
use std::sync::Arc;
use std::time::Duration;

fn script(name: &str, weight: u32, text: &str) -> LoadScript {
    LoadScript { name: name.to_owned(), script: Arc::new(Script::parse(text).unwrap()), weight }
}

fn request(target: Target, clients: u32, threads: u32, total: u64, text: &str) -> LoadRequest {
    LoadRequest {
        target,
        scripts: vec![script("change", 1, text)],
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
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(running.finished())
}

fn perform(request: LoadRequest) -> Result<Finished, LoadError> {
    finish(&mut connect(request)?.go())
}

/// The next Query message's text.
fn query(server: &mut FakeServer) -> Option<String> {
    match server.next()? {
        (b'Q', body) => Some(String::from_utf8(body).unwrap().trim_end_matches(['\0', '\n']).to_owned()),
        _ => None,
    }
}

/// Answers with rows of one column.
fn rows(server: &mut FakeServer, column: &str, rows: &[&str]) {
    let mut description = vec![0, 1];
    description.extend_from_slice(column.as_bytes());
    description.extend_from_slice(&[0; 19]);
    server.send(b'T', &description);
    for row in rows {
        let mut body = vec![0, 1, 0, 0, 0, row.len() as u8];
        body.extend_from_slice(row.as_bytes());
        server.send(b'D', &body);
    }
    server.send(b'C', b"SELECT\0");
}

#[test]
fn a_result_is_used_by_the_next_statement() {
    for (clients, threads) in [(1, 1), (3, 1)] {
        let (target, thread) = FakeServer::listen(clients as usize, |server, _| {
            server.welcome();
            for number in 0..10 {
                assert_eq!(query(server).unwrap(), "SELECT max(id) AS m FROM t");
                rows(server, "m", &[&format!("row {number}")]);
                server.send(b'Z', b"I");
                assert_eq!(query(server).unwrap(), "SELECT 1; SELECT 2;");
                rows(server, "a", &["1", &number.to_string()]);
                rows(server, "b", &[]);
                server.send(b'Z', b"I");
                assert_eq!(query(server).unwrap(), format!("UPDATE t 'row {number}' {number};"));
                server.send(b'C', b"UPDATE 1\0");
                server.send(b'Z', b"I");
            }
            server.until_closed();
        });
        let text = "SELECT max(id) AS m FROM t\\gset\nSELECT 1\\; SELECT 2; \\aset p_\nUPDATE t ':m' :p_a;\n";
        let finished = perform(request(target, clients, threads, 10 * u64::from(clients), text)).unwrap();
        assert_eq!(finished.report.committed(), 10 * u64::from(clients));
        drop(finished);
        thread.join().unwrap();
    }
}

#[test]
fn a_result_that_is_not_one_row_ends_the_load() {
    let (target, thread) = FakeServer::listen(1, |server, _| {
        server.welcome();
        query(server).unwrap();
        rows(server, "a", &["1", "2"]);
        server.send(b'Z', b"I");
        server.until_closed();
    });
    let text = perform(request(target, 1, 1, 1, "SELECT a \\gset\n")).unwrap_err().to_string();
    for part in ["client 0", "\"change\"", "\\gset (command 1 of script 0)", "expected one row, got 2"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    thread.join().unwrap();
}

#[test]
fn a_failed_statement_gives_no_variables() {
    let (target, thread) = FakeServer::listen(1, |server, _| {
        server.welcome();
        for _ in 0..3 {
            query(server).unwrap();
            server.error("ERROR", "40001", "conflict");
            server.send(b'Z', b"I");
        }
        server.until_closed();
    });
    let report = perform(request(target, 1, 1, 3, "SELECT a \\gset\n")).unwrap().report;
    assert_eq!((report.committed(), report.failed()), (0, 3));
    thread.join().unwrap();
}

/// Takes a prepared pipeline of two parts (two statements, then one) and answers all of it at once; the first part
/// fails for every `every`-th one.
fn serve_pipelines(server: &mut FakeServer, every: usize) {
    server.welcome();
    for _ in 0..3 {
        server.expect(b"PS");
        server.send(b'1', b"");
        server.send(b'Z', b"I");
    }
    let mut number = 0;
    while let Some((tag, _)) = server.next() {
        if tag != b'B' {
            assert!(matches!(tag, b'X'), "{}", char::from(tag));
            return;
        }
        server.expect(b"EBESBES");
        number += 1;
        let mut replies: Vec<(u8, &[u8])> = vec![(b'2', b""), (b'C', b"UPDATE 1\0"), (b'2', b"")];
        let failed = every > 0 && number % every == 0;
        replies.push(if failed { (b'E', b"SERROR\0C40001\0Mconflict\0\0") } else { (b'C', b"UPDATE 1\0") });
        replies.extend([(b'Z', &b"I"[..]), (b'2', b""), (b'C', b"UPDATE 1\0"), (b'Z', b"I")]);
        server.send_all(&replies);
    }
}

#[test]
fn a_pipeline_is_one_exchange_and_fails_as_one() {
    let text = "\\startpipeline\nA;\nB;\n\\syncpipeline\nC;\n\\endpipeline\n";
    for (clients, threads) in [(1, 1), (3, 1), (2, 2)] {
        for (every, failed) in [(0, 0), (5, 4)] {
            let (target, thread) =
                FakeServer::listen(clients as usize, move |server, _| serve_pipelines(server, every));
            let mut request = request(target, clients, threads, 20 * u64::from(clients), text);
            request.protocol = Protocol::Prepared;
            let finished = perform(request).unwrap();
            let report = &finished.report;
            let expected = u64::from(clients) * (20 - failed);
            assert_eq!((report.committed(), report.failed()), (expected, u64::from(clients) * failed));
            assert_eq!(report.scripts[0].latency_ns.len(), expected);
            drop(finished);
            thread.join().unwrap();
        }
    }
}

#[test]
fn a_pipeline_that_fails_inside_a_block_is_rolled_back_after_its_last_reply() {
    let (target, thread) = FakeServer::listen(1, |server, _| {
        server.welcome();
        server.expect(b"PBEPBESPBES");
        for status in [b"E", b"E"] {
            server.error("ERROR", if status == b"E" { "40P01" } else { "25P02" }, "deadlock");
            server.send(b'Z', status);
        }
        assert_eq!(query(server).unwrap(), "ROLLBACK");
        server.send(b'C', b"ROLLBACK\0");
        server.send(b'Z', b"I");
        server.until_closed();
    });
    let mut request = request(target, 1, 1, 1, "\\startpipeline\nBEGIN;\nB;\n\\syncpipeline\nEND;\n\\endpipeline\n");
    request.protocol = Protocol::Extended;
    let report = perform(request).unwrap().report;
    assert_eq!((report.committed(), report.failed()), (0, 1));
    assert_eq!(report.scripts[0].errors["40P01"].count, 1);
    thread.join().unwrap();
}

#[test]
fn a_long_pipeline_meets_a_server_that_answers_before_it_has_read_all() {
    let statements = 1_000;
    let (target, thread) = FakeServer::listen(1, move |server, _| {
        server.welcome();
        for _ in 0..statements {
            server.expect(b"PBE");
            server.send(b'D', &[0; 2000]);
            server.send(b'C', b"SELECT 1\0");
        }
        server.expect(b"S");
        server.send(b'Z', b"I");
        server.until_closed();
    });
    let text =
        format!("\\startpipeline\n{}\\endpipeline\n", format!("SELECT 1 {};\n", " ".repeat(1_000)).repeat(statements));
    let mut request = request(target, 1, 1, 1, &text);
    request.protocol = Protocol::Extended;
    assert_eq!(perform(request).unwrap().report.committed(), 1);
    thread.join().unwrap();
}

#[test]
fn a_sleep_is_part_of_the_latency_and_lets_others_go_on() {
    let time = Duration::from_millis(20);
    for (clients, threads) in [(1, 1), (4, 1)] {
        let (target, thread) = FakeServer::listen(clients as usize, |server, _| {
            server.welcome();
            while query(server).is_some() {
                // What the server says by itself in a sleep wakes nobody for good.
                server.send(b'S', b"a\0b\0");
                server.send(b'C', b"UPDATE 1\0");
                server.send(b'Z', b"I");
                server.send(b'N', b"SNOTICE\0\0");
            }
        });
        let text = "\\sleep 5ms\nUPDATE t;\n\\sleep 10 ms\nUPDATE t;\n\\sleep 5000us\n";
        let finished = perform(request(target, clients, threads, 3 * u64::from(clients), text)).unwrap();
        let report = &finished.report;
        assert_eq!(report.committed(), 3 * u64::from(clients));
        assert!(report.scripts[0].latency_ns.min() >= time.as_nanos() as u64 * 99 / 100);
        drop(finished);
        thread.join().unwrap();
    }
}

#[test]
fn a_stop_wakes_a_client_that_sleeps() {
    for threads in [1, 2] {
        let (blocked, when_blocked) = std::sync::mpsc::channel();
        let (target, thread) = FakeServer::listen(2, move |server, _| {
            server.welcome();
            query(server).unwrap();
            server.send(b'C', b"UPDATE 1\0");
            server.send(b'Z', b"I");
            blocked.send(()).unwrap();
            server.until_closed();
        });
        let mut running = connect(request(target, 2, threads, 100, "UPDATE t;\n\\sleep 1000 s\n")).unwrap().go();
        for _ in 0..2 {
            when_blocked.recv().unwrap();
        }
        running.stop();
        let report = finish(&mut running).unwrap().report;
        assert!(report.interrupted);
        assert_eq!((report.committed(), report.failed()), (0, 0));
        thread.join().unwrap();
    }
}

#[test]
fn a_connection_that_ends_in_a_sleep_ends_the_load() {
    for (clients, threads) in [(1, 1), (2, 1)] {
        let (target, thread) = FakeServer::listen(clients, |server, number| {
            server.welcome();
            if number == 0 {
                query(server).unwrap();
                server.send_all(&[(b'C', b"UPDATE 1\0"), (b'Z', b"I")]);
                server.error("FATAL", "57P01", "terminating connection");
            } else {
                server.until_closed();
            }
        });
        let text = perform(request(target, clients as u32, threads, 100, "UPDATE t;\n\\sleep 1000 s\n"))
            .unwrap_err()
            .to_string();
        for part in ["in a \\sleep of script \"change\"", "57P01"] {
            assert!(text.contains(part), "{part}: {text}");
        }
        thread.join().unwrap();
    }
}

#[test]
fn scripts_run_by_weight_and_are_counted_apart() {
    let mut counts = Vec::new();
    for threads in [1, 4] {
        let (target, thread) = FakeServer::listen(4, |server, _| {
            server.welcome();
            for _ in 0..2 {
                server.expect(b"PS");
                server.send(b'1', b"");
                server.send(b'Z', b"I");
            }
            while let Some((b'B', body)) = server.next() {
                server.expect(b"ES");
                server.send(b'2', b"");
                if body.starts_with(b"\0s0_0\0") {
                    server.send(b'C', b"SELECT 1\0");
                } else {
                    server.error("ERROR", "23505", "taken");
                }
                server.send(b'Z', b"I");
            }
        });
        let mut request = request(target, 4, threads, 4_000, "SELECT 1;\n");
        request.protocol = Protocol::Prepared;
        request.scripts = vec![
            script("read", 80, "SELECT 1;\n"),
            script("write", 20, "UPDATE t;\n"),
            script("never", 0, "\\set x 1"),
        ];
        let finished = perform(request).unwrap();
        let scripts = &finished.report.scripts;
        assert_eq!(scripts.iter().map(|script| script.name.as_str()).collect::<Vec<_>>(), ["read", "write", "never"]);
        let [read, write, never] = &scripts[..] else { panic!("three scripts") };
        assert_eq!((read.failed, write.committed, never.committed + never.failed), (0, 0, 0));
        assert_eq!(read.committed + write.failed, 4_000);
        // The standard error is 25.
        assert!(read.committed.abs_diff(3_200) < 150, "{}", read.committed);
        counts.push(read.committed);
        drop(finished);
        thread.join().unwrap();
    }
    assert_eq!(counts[0], counts[1], "the choice depends on the seed alone");
}
