//! The watch against a scripted server: what it takes for the marker's arrival, and every other end.

#![expect(clippy::unwrap_used, reason = "tests")]

use super::*;
use crate::wire::fake_server::FakeServer;

fn request(deliveries: u32, recount: Duration) -> MarkerRequest {
    MarkerRequest {
        target: FakeServer::target(),
        channel: String::from("runner_marker"),
        payload: String::from("7"),
        deliveries,
        count_sql: String::from("SELECT 2"),
        recount,
    }
}

fn answer_listen(server: &mut FakeServer) {
    server.expect(b"Q");
    server.send(b'C', b"LISTEN\0");
    server.send(b'Z', b"I");
}

fn answer_count(server: &mut FakeServer, rows: &str) {
    server.expect(b"Q");
    let mut body = vec![0, 1, 0, 0, 0, rows.len() as u8];
    body.extend_from_slice(rows.as_bytes());
    server.send(b'D', &body);
    server.send(b'C', b"SELECT 1\0");
    server.send(b'Z', b"I");
}

fn notify(server: &mut FakeServer, payload: &str) {
    let body = format!("\0\0\0\x01runner_marker\0{payload}\0");
    server.send(b'A', body.as_bytes());
}

fn outcome(
    request: MarkerRequest,
    play: impl FnOnce(&mut FakeServer) + Send + 'static,
) -> Result<MarkerSeen, MarkerError> {
    let (connection, thread) = FakeServer::session(|server| {
        answer_listen(server);
        play(server);
    });
    let mut watch = MarkerWatch::over(connection, request).unwrap();
    assert_eq!(watch.backend_pid(), 4711);
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let seen = runtime.block_on(watch.seen());
    assert!(matches!(runtime.block_on(watch.seen()), Err(MarkerError::NoOutcome)));
    drop(watch);
    thread.join().unwrap();
    seen
}

const NEVER: Duration = Duration::from_mins(1);

#[test]
fn the_last_delivery_of_the_right_marker_counts() {
    let seen = outcome(request(2, NEVER), |server| {
        for payload in ["6", "7", "8", "7"] {
            notify(server, payload);
        }
        answer_count(server, "2");
    });
    let seen = seen.unwrap();
    assert_eq!((seen.by, seen.rows, seen.resolution), (MarkerSource::Notification, 2, Duration::ZERO));
}

#[test]
fn a_notification_before_its_row_is_not_trusted() {
    let seen = outcome(request(1, NEVER), |server| {
        notify(server, "7");
        answer_count(server, "0");
        answer_count(server, "1");
    });
    let seen = seen.unwrap();
    assert_eq!((seen.by, seen.rows), (MarkerSource::Count, 1));
    assert!(seen.resolution >= RECOUNT);
}

#[test]
fn a_marker_without_a_notification_is_found_by_counting() {
    let seen = outcome(request(1, Duration::from_millis(2)), |server| {
        answer_count(server, "0");
        answer_count(server, "1");
    });
    assert_eq!(seen.unwrap().by, MarkerSource::Count);
}

#[test]
fn a_count_that_is_no_number_is_an_error() {
    let error = outcome(request(1, NEVER), |server| {
        notify(server, "7");
        answer_count(server, "x");
    });
    assert!(error.unwrap_err().to_string().contains("\"x\""));
}

#[test]
fn a_lost_session_and_a_stop_are_told_apart() {
    let error = outcome(request(1, NEVER), |server| {
        server.error("FATAL", "57P01", "terminating connection");
    });
    assert!(error.unwrap_err().to_string().contains("57P01"));
    let (connection, thread) = FakeServer::session(|server| {
        answer_listen(server);
        server.until_closed();
    });
    let mut watch = MarkerWatch::over(connection, request(1, NEVER)).unwrap();
    watch.stop();
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    assert!(matches!(runtime.block_on(watch.seen()), Err(MarkerError::Stopped)));
    drop(watch);
    thread.join().unwrap();
}
