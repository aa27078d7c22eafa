//! Sessions against a scripted server: what goes over the wire, and every way in which it ends badly.

#![expect(clippy::unwrap_used, reason = "tests")]

use super::fake_server::{FakeServer, refused};
use super::*;
use std::time::Duration;

#[test]
fn the_startup_packet_names_user_database_application_and_settings() {
    let mut target = FakeServer::target();
    target.application_name = String::from("runner load");
    target.options = vec![(String::from("lock_timeout"), String::from("5s"))];
    target.replication = true;
    let (client, thread) = FakeServer::play(|server| {
        let packet = server.start_up();
        let texts: Vec<_> =
            packet[4..].split(|&byte| byte == 0).map(|text| String::from_utf8_lossy(text).into_owned()).collect();
        assert_eq!(
            texts.join(" ").trim_end(),
            "user u database d application_name runner load client_encoding UTF8 lock_timeout 5s replication database"
        );
        server.send(b'R', &[0; 4]);
        server.send(b'S', b"server_version\x0014.23\0");
        server.send(b'N', b"SNOTICE\0Mhello\0\0");
        server.send(b'S', b"server_version\x0018.6\0");
        server.send(b'K', &[0, 0, 0x12, 0x67, 1, 2, 3, 4]);
        server.send(b'Z', b"I");
        server.expect(b"X");
    });
    let connection = Connection::over(client, &target).unwrap();
    assert_eq!(connection.backend_pid(), 4711);
    assert_eq!(connection.parameter("server_version"), Some("18.6"));
    assert_eq!(connection.parameter("TimeZone"), None);
    drop(connection);
    thread.join().unwrap();
}

#[test]
fn passwords_are_sent_in_clear_or_as_md5_as_the_server_asks() {
    let mut target = FakeServer::target();
    target.password = Some(String::from("p"));
    let hash = postgres_protocol::authentication::md5_hash(b"u", b"p", [1, 2, 3, 4]);
    for (request, answer) in [(&[0, 0, 0, 3][..], String::from("p\0")), (&[0, 0, 0, 5, 1, 2, 3, 4], hash + "\0")] {
        let request = request.to_vec();
        let (client, thread) = FakeServer::play(move |server| {
            server.start_up();
            server.send(b'R', &request);
            assert_eq!(server.expect(b"p")[0], answer.as_bytes());
            server.send(b'R', &[0; 4]);
            server.send(b'Z', b"I");
        });
        let connection = Connection::over(client, &target).unwrap();
        thread.join().unwrap();
        drop(connection);
    }
}

#[test]
fn a_refused_login_tells_the_servers_reason_or_ours() {
    let target = FakeServer::target();
    let error = refused(&target, |server| {
        server.start_up();
        server.error("FATAL", "3D000", "database \"d\" does not exist");
    });
    assert_eq!(error.to_string(), "FATAL: database \"d\" does not exist (SQLSTATE 3D000)");
    for (request, why) in [
        (&[0, 0, 0, 3][..], "none is given"),
        (&[0, 0, 0, 7], "method 7"),
        (b"\0\0\0\x0aSCRAM-SHA-256-PLUS\0\0", "without TLS"),
        (&[0, 0, 0, 11], "before SASL began"),
        (&[0, 0], "cut short"),
    ] {
        let request = request.to_vec();
        let error = refused(&target, move |server| {
            server.start_up();
            server.send(b'R', &request);
            server.until_closed();
        });
        assert!(error.to_string().contains(why), "{error}");
    }
}

#[test]
fn a_server_that_says_nothing_is_given_up() {
    let mut target = FakeServer::target();
    target.connect_timeout = Duration::from_millis(20);
    let error = refused(&target, |server| {
        server.start_up();
        server.until_closed();
    });
    assert!(matches!(error, WireError::TimedOut { .. }), "{error}");
}

#[test]
fn an_address_where_nothing_listens_is_named() {
    let error = Connection::open(&FakeServer::target()).unwrap_err();
    assert!(error.to_string().contains("127.0.0.1:1"), "{error}");
}

#[test]
fn a_prepared_statement_is_bound_executed_and_counted() {
    let (mut connection, thread) = FakeServer::session(|server| {
        let bodies = server.expect(b"PS");
        assert_eq!(bodies[0], b"s0\0SELECT $1\0\0\0");
        server.send(b'1', b"");
        server.send(b'Z', b"I");
        let bodies = server.expect(b"BES");
        assert_eq!(bodies[0], b"\0s0\0\0\0\0\x01\0\0\0\x0242\0\0");
        server.send(b'2', b"");
        for _ in 0..3 {
            server.send(b'D', b"\0\x01\0\0\0\x0242");
        }
        server.send(b'C', b"SELECT 3\0");
        server.send(b'Z', b"T");
    });
    connection.prepare("s0", "SELECT $1").unwrap();
    let template = BindTemplate::prepared("s0", 1).unwrap();
    let mut request = connection.bind(&template);
    request.value(|out| {
        out.extend_from_slice(b"42");
        true
    });
    request.finish();
    connection.flush().unwrap();
    let reply = connection.reply().unwrap();
    assert_eq!((reply.rows, reply.affected, reply.status), (3, 3, TransactionStatus::InBlock));
    assert_eq!(connection.transaction_status(), TransactionStatus::InBlock);
    thread.join().unwrap();
}

#[test]
fn a_reply_that_arrives_in_pieces_is_taken_without_waiting() {
    let (go, wait) = std::sync::mpsc::channel();
    let (mut connection, thread) = FakeServer::session(move |server| {
        server.expect(b"Q");
        server.send(b'C', b"INSERT 0 7\0");
        wait.recv().unwrap();
        server.send(b'Z', b"I");
        server.until_closed();
    });
    connection.simple(|out| out.extend_from_slice(b"INSERT"));
    assert!(connection.reply_ready().unwrap().is_none());
    connection.flush().unwrap();
    // Receiving nothing or a part gives nothing, however often.
    for _ in 0..100 {
        assert!(connection.reply_ready().unwrap().is_none());
    }
    go.send(()).unwrap();
    let reply = loop {
        if let Some(reply) = connection.reply_ready().unwrap() {
            break reply;
        }
    };
    assert_eq!((reply.affected, reply.rows), (7, 0));
    drop(connection);
    thread.join().unwrap();
}

#[test]
fn an_error_of_a_statement_leaves_the_session_usable() {
    let (mut connection, thread) = FakeServer::session(|server| {
        server.expect(b"Q");
        server.error("ERROR", "42P01", "relation \"x\" does not exist");
        server.send(b'Z', b"I");
        server.expect(b"Q");
        server.send(b'T', b"");
        server.send(b'D', b"\0\x01\0\0\0\x011");
        server.send(b'C', b"SELECT 1\0");
        server.send(b'Z', b"I");
    });
    let error = connection.query("SELECT * FROM x").unwrap_err();
    assert_eq!(error.to_string(), "ERROR: relation \"x\" does not exist (SQLSTATE 42P01)");
    let result = connection.query("SELECT 1").unwrap();
    assert_eq!(result.rows, [[Some(String::from("1"))]]);
    thread.join().unwrap();
}

#[test]
fn a_session_that_the_server_ends_tells_its_last_words() {
    let (mut connection, thread) = FakeServer::session(|server| {
        server.expect(b"Q");
        server.error("FATAL", "57P01", "terminating connection");
    });
    let error = connection.query("SELECT 1").unwrap_err();
    thread.join().unwrap();
    assert_eq!(error.to_string(), "the server closed the connection: FATAL: terminating connection (SQLSTATE 57P01)");
}

#[test]
fn last_words_are_found_when_sending_fails() {
    let (mut connection, thread) = FakeServer::session(|server| {
        server.error("FATAL", "57P01", "terminating connection");
    });
    thread.join().unwrap();
    let error = connection.query("SELECT 1").unwrap_err();
    assert!(error.to_string().contains("57P01"), "{error}");
}

#[test]
fn a_stop_is_told_from_a_lost_connection() {
    let (mut connection, thread) = FakeServer::session(|server| {
        server.expect(b"Q");
        server.until_closed();
    });
    let handle = connection.shutdown_handle();
    let stopper = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(10));
        handle.stop();
    });
    let error = connection.query("SELECT pg_sleep(100)").unwrap_err();
    assert!(error.is_stop(), "{error}");
    stopper.join().unwrap();
    thread.join().unwrap();
}

#[test]
fn copy_from_stdin_and_unknown_messages_are_errors() {
    for (tag, words) in [(b'G', "COPY FROM STDIN"), (b'W', "'W'")] {
        let (mut connection, thread) = FakeServer::session(move |server| {
            server.expect(b"Q");
            server.send(tag, b"\0\0\0");
            server.until_closed();
        });
        let error = connection.query("COPY t FROM STDIN").unwrap_err();
        assert!(error.to_string().contains(words), "{error}");
        drop(connection);
        thread.join().unwrap();
    }
}

#[test]
fn a_copy_both_stream_is_read_message_by_message() {
    let (mut connection, thread) = FakeServer::session(|server| {
        server.expect(b"Q");
        server.send(b'W', b"\0\0\0");
        server.send(b'N', b"SNOTICE\0\0");
        server.send(b'd', b"w123");
        assert_eq!(server.expect(b"d")[0], b"r456");
    });
    connection.simple(|out| out.extend_from_slice(b"START_REPLICATION"));
    connection.flush().unwrap();
    assert_eq!(connection.next_frame().unwrap().tag, b'W');
    let frame = connection.next_frame().unwrap();
    assert_eq!((frame.tag, frame.body), (b'd', &b"w123"[..]));
    let answer = Frame { tag: b'd', body: b"r456" };
    connection.send_frame(answer).unwrap();
    thread.join().unwrap();
}

#[test]
fn notifications_arrive_alone_or_within_a_reply() {
    let (connection, thread) = FakeServer::session(|server| {
        assert_eq!(server.expect(b"Q")[0], b"LISTEN \"a\"\"b\"\0");
        server.send(b'C', b"LISTEN\0");
        server.send(b'A', b"\0\0\0\x01a\"b\0one\0");
        server.send(b'Z', b"I");
        server.send(b'A', b"\0\0\0\x01a\"b\0two\0");
        server.until_closed();
    });
    let mut listener = Listener::over(connection, "a\"b").unwrap();
    for payload in ["one", "two"] {
        assert_eq!(listener.wait(None).unwrap().unwrap().payload, payload);
    }
    assert_eq!(listener.wait(Some(Duration::from_millis(5))).unwrap(), None);
    listener.shutdown_handle().stop();
    assert!(listener.wait(None).unwrap_err().is_stop());
    drop(listener);
    thread.join().unwrap();
}
