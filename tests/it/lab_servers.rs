//! Servers start, stop, refuse, crash, and are kept.
#![expect(clippy::unwrap_used, reason = "tests")]

use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;
use std::time::Duration;

use runner::lab::{LabError, Stop, Transport, password, shared_memory, survey, sweep, template};
use runner::wire::Connection;

use crate::support::postgres::{
    cache, is_root, lab, no_other_servers, options, passable_folder, request, server, servers, session, tcp, value,
};

#[tokio::test(flavor = "current_thread")]
async fn two_nodes_of_every_version_start_answer_and_stop() {
    let _leave = servers().await;
    let mut lab = lab().await;
    for major in 14..=18 {
        let installation = server(major).await;
        let mut identifiers = Vec::new();
        for place in 0..2 {
            let node = lab.start(request(&format!("n{place}"), place, &installation)).await.unwrap();
            let mut session = session(&node);
            assert_eq!(value(&mut session, "SHOW server_version_num")[..2], major.to_string());
            assert_eq!(value(&mut session, "SHOW wal_level"), "logical");
            identifiers.push(value(&mut session, "SELECT system_identifier FROM pg_control_system()"));
        }
        assert_ne!(identifiers[0], identifiers[1], "one template a place");
        let usages = lab.stop_all().await.unwrap();
        let names: Vec<&str> = usages.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["n0", "n1"]);
        assert!(usages.iter().all(|(_, used)| used.user + used.system > Duration::ZERO), "{usages:?}");
    }
    let home = lab.home().to_owned();
    lab.close().await.unwrap();
    // Closing again is nothing.
    lab.close().await.unwrap();
    assert!(!home.exists());
}

#[tokio::test(flavor = "current_thread")]
async fn a_refused_setting_comes_back_in_the_servers_words() {
    let _leave = servers().await;
    let installation = server(18).await;
    let mut lab = lab().await;
    for (name, value, words) in [
        ("shared_buffers", "256mb", ["256mb", "Valid units"]),
        ("wal_level", "minimal", ["max_wal_senders", "logical"]),
    ] {
        let mut wanted = request("n1", 0, &installation);
        wanted.settings.push((name.to_owned(), value.to_owned()));
        let error = lab.start(wanted).await.unwrap_err().to_string();
        assert!(words.iter().all(|word| error.contains(word)), "{error}");
        assert_eq!(std::fs::read_dir(lab.home().join("nodes")).unwrap().count(), 0);
    }
    lab.close().await.unwrap();
}

#[tokio::test(flavor = "current_thread")]
async fn settings_are_judged_without_a_cluster() {
    let settings: Vec<(String, String)> = [
        ("shared_buffers", "256mb"),
        ("shared_buffers", "256MB"),
        ("io_method", "worker"),
        ("port", "99999"),
        ("wal_level", "logical"),
    ]
    .map(|(name, value)| (name.to_owned(), value.to_owned()))
    .to_vec();
    for (major, expected) in [(16, [true, false, true, true, false]), (18, [true, false, false, true, false])] {
        let answers = survey::survey(&server(major).await, &cache(), &settings).await.unwrap();
        let refused: Vec<bool> = answers.iter().map(Result::is_err).collect();
        assert_eq!(refused, expected, "{answers:?}");
        let told = answers[0].as_ref().unwrap_err();
        assert!(told.starts_with("invalid value for parameter") && told.contains("hint: Valid units"), "{told}");
    }
}

#[tokio::test(flavor = "current_thread")]
async fn tcp_needs_the_password_and_takes_a_verifier_of_one_iteration() {
    let _leave = servers().await;
    let mut lab = lab().await;
    // The oldest and the newest.
    for major in [14, 18] {
        let mut wanted = request("n1", 0, &server(major).await);
        wanted.transport = Transport::Tcp;
        let node = lab.start(wanted).await.unwrap();
        let right = node.password.as_deref();
        Connection::open(&tcp(&node, "postgres", right)).unwrap_err();
        let verifier = password::scram_verifier(right.unwrap(), &password::random_salt().unwrap());
        session(&node).query(&format!("ALTER ROLE postgres PASSWORD '{verifier}'")).unwrap();
        let mut session = Connection::open(&tcp(&node, "postgres", right)).unwrap();
        assert_eq!(value(&mut session, "SELECT host(inet_client_addr())"), "127.0.0.1");
        let error = Connection::open(&tcp(&node, "postgres", Some("wrong"))).unwrap_err().to_string();
        assert!(error.contains("28P01"), "{error}");
        drop(session);
        lab.stop_all().await.unwrap();
    }
    lab.close().await.unwrap();
}

#[tokio::test(flavor = "current_thread")]
async fn a_taken_tcp_port_is_seen_as_such() {
    let _leave = servers().await;
    let mut lab = lab().await;
    let mut wanted = request("n1", 0, &server(18).await);
    wanted.transport = Transport::Tcp;
    let node = lab.start(wanted).await.unwrap();
    node.stop_fast().await.unwrap();
    let _holder = std::net::TcpListener::bind(("127.0.0.1", node.port)).unwrap();
    let error = lab.restart(&node, false).await.unwrap_err();
    let LabError::Node(error) = error else { panic!("{error}") };
    assert!(error.is_port_taken(), "{error}");
    lab.close().await.unwrap();
}

#[tokio::test(flavor = "current_thread")]
async fn a_crashed_node_starts_again_with_its_data_and_leaves_no_shared_memory() {
    // Alone: in between its memory has no living owner, which is what others look for.
    let _leave = no_other_servers().await;
    let mut lab = lab().await;
    let node = lab.start(request("n1", 0, &server(18).await)).await.unwrap();
    session(&node).query("CREATE TABLE t AS SELECT 7 AS a").unwrap();
    node.end(Stop::Kill).await.unwrap();
    let again = lab.restart(&node, false).await.unwrap();
    assert_ne!(again.pid, node.pid);
    let mut connection = session(&again);
    assert_eq!(value(&mut connection, "SELECT a FROM t"), "7");
    // Statistics of many tables outgrow their first segment: one that came after readiness.
    connection
        .query("DO $$ BEGIN FOR i IN 1..600 LOOP EXECUTE format('CREATE TABLE m%s AS SELECT 1', i); END LOOP; END $$")
        .unwrap();
    let lock_file = std::fs::read_to_string(again.data.join("postmaster.pid")).unwrap();
    let interlock = lock_file.lines().nth(6).unwrap().split_whitespace().nth(1).unwrap();
    let segments = shared_memory::mapped(again.pid);
    assert!(!segments.is_empty());
    drop(connection);
    again.end(Stop::Kill).await.unwrap();
    lab.close().await.unwrap();
    let table = std::fs::read_to_string("/proc/sysvipc/shm").unwrap();
    let listed = table.lines().any(|line| line.split_whitespace().nth(1) == Some(interlock));
    assert!(!listed, "segment {interlock} is left");
    for name in segments {
        assert!(!Path::new("/dev/shm").join(&name).exists(), "{name} is left");
    }
}

#[tokio::test(flavor = "current_thread")]
async fn a_template_is_made_once() {
    let installation = server(18).await;
    let user = options().await.run_as;
    let options = runner::lab::InitdbOptions { checksums: Some(true) };
    let mut made = Vec::new();
    for _ in 0..2 {
        let data = template::template(&cache(), &installation, options, 7, user.as_ref()).await.unwrap();
        let file = data.join("PG_VERSION").metadata().unwrap();
        made.push((data, file.ino()));
    }
    assert_eq!(made[0], made[1]);
}

#[tokio::test(flavor = "current_thread")]
async fn kept_servers_survive_the_lab_until_they_are_cleaned() {
    let _leave = servers().await;
    let temporary = passable_folder();
    let mut options = options().await;
    options.temporary = temporary.path().to_owned();
    let mut lab = runner::lab::Lab::open(options.clone()).await.unwrap();
    let node = lab.start(request("n1", 0, &server(18).await)).await.unwrap();
    session(&node).query("CREATE TABLE t AS SELECT 7 AS a").unwrap();
    let kept = lab.keep().await.unwrap();
    let home = lab.home().to_owned();
    drop(lab);
    // The next runner's sweep lets it be; `runner clean` does not.
    let swept = sweep::sweep(temporary.path(), &options.cache, false);
    assert_eq!(swept.kept, std::slice::from_ref(&home));
    assert_eq!(value(&mut session(&kept[0]), "SELECT a FROM t"), "7");
    assert!(kept[0].psql_command("psql".as_ref()).starts_with("psql -h /tmp/"));
    let swept = sweep::sweep(temporary.path(), &options.cache, true);
    assert_eq!(swept.removed, std::slice::from_ref(&home), "{swept:?}");
    assert!(kept[0].try_ended().is_some() && !home.exists());
}

/// Root's servers run as another user, whom a closed folder bars; an ordinary user's own closed folder bars nobody.
#[tokio::test(flavor = "current_thread")]
async fn a_folder_that_bars_the_servers_user_is_an_error_before_anything_is_made() {
    let temporary = passable_folder();
    std::fs::set_permissions(temporary.path(), std::fs::Permissions::from_mode(0o700)).unwrap();
    let mut options = options().await;
    options.temporary = temporary.path().to_owned();
    let opened = runner::lab::Lab::open(options).await;
    if is_root() {
        let error = opened.unwrap_err().to_string();
        assert!(error.contains("bars the way") && error.contains("0700"), "{error}");
    } else {
        opened.unwrap().close().await.unwrap();
    }
    assert_eq!(std::fs::read_dir(temporary.path()).unwrap().count(), 0);
}
