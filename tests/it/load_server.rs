//! The load driver, the logins and the marker watch against a real server.
#![expect(clippy::unwrap_used, reason = "tests")]

use std::fmt::Write as _;
use std::sync::Arc;
use std::time::{Duration, Instant};

use runner::lab::{Lab, RunningNode, Transport, password};
use runner::load::{self, End, Finished, LoadError, LoadRequest, LoadScript, Protocol};
use runner::plan::sql::marker;
use runner::probe::marker::{MarkerRequest, MarkerSource, MarkerWatch};
use runner::script::Script;
use runner::spec::scenario::MarkerCommit;
use runner::text::quote::literal;
use runner::wire::{Connection, Target};

use crate::support::postgres::{lab, request, server, servers, session, target, tcp, value};

async fn node() -> (Lab, RunningNode) {
    let mut lab = lab().await;
    let node = lab.start(request("n1", 0, &server(18).await)).await.unwrap();
    (lab, node)
}

fn load(target: Target, script: &str, protocol: Protocol, clients: u32, threads: Option<u32>, end: End) -> LoadRequest {
    let script = LoadScript { name: "s".into(), script: Arc::new(Script::parse(script).unwrap()), weight: 1 };
    LoadRequest {
        target,
        scripts: vec![script],
        protocol,
        clients,
        threads,
        end,
        rate: None,
        latency_limit: None,
        max_tries: 1,
        seed: 42,
        scale: 10,
    }
}

async fn perform(request: LoadRequest) -> Result<Finished, LoadError> {
    load::connect(request)?.go().finished().await
}

#[tokio::test(flavor = "current_thread")]
async fn every_way_to_log_in_works_and_a_wrong_password_is_refused() {
    let _leave = servers().await;
    let mut lab = lab().await;
    let mut wanted = request("n1", 0, &server(18).await);
    wanted.transport = Transport::Tcp;
    let node = lab.start(wanted).await.unwrap();
    let mut control = session(&node);
    assert_eq!(value(&mut control, "SELECT current_user"), "postgres");
    let verifier = password::scram_verifier("pw-scram", &password::random_salt().unwrap());
    let hba = node.data.join("pg_hba.conf");
    let mut lines = String::new();
    for (user, method, stored) in
        [("scram", "scram-sha-256", verifier.as_str()), ("md5", "md5", "pw-md5"), ("clear", "password", "pw-clear")]
    {
        let encryption = if user == "md5" { "md5" } else { "scram-sha-256" };
        value(
            &mut control,
            &format!("SET password_encryption = '{encryption}'; CREATE ROLE {user} LOGIN PASSWORD {}", literal(stored)),
        );
        writeln!(lines, "host all {user} 127.0.0.1/32 {method}").unwrap();
    }
    lines += "host all postgres 127.0.0.1/32 trust\n";
    std::fs::write(&hba, lines + &std::fs::read_to_string(&hba).unwrap()).unwrap();
    let loaded = value(&mut control, "SELECT pg_conf_load_time()");
    value(&mut control, "SELECT pg_reload_conf()");
    let bound = Instant::now() + Duration::from_mins(1);
    while value(&mut control, "SELECT pg_conf_load_time()") == loaded {
        assert!(Instant::now() < bound, "the configuration is not read again");
        std::thread::sleep(Duration::from_millis(5));
    }
    for user in ["scram", "md5", "clear", "postgres"] {
        let mut connection = Connection::open(&tcp(&node, user, Some(&format!("pw-{user}")))).unwrap();
        let answer = value(&mut connection, "SELECT current_user || ' ' || pg_backend_pid()");
        assert_eq!(answer, format!("{user} {}", connection.backend_pid()));
        if user != "postgres" {
            let error = Connection::open(&tcp(&node, user, Some("wrong"))).unwrap_err().to_string();
            assert!(error.contains("28P01"), "{error}");
        }
    }
    let error = Connection::open(&tcp(&node, "scram", None)).unwrap_err().to_string();
    assert!(error.contains("none is given"), "{error}");
    let mut replication = target(&node);
    replication.replication = true;
    let identified = Connection::open(&replication).unwrap().query("IDENTIFY_SYSTEM").unwrap();
    assert_eq!(identified.rows[0].len(), 4);
    drop(control);
    lab.close().await.unwrap();
}

#[tokio::test(flavor = "current_thread")]
async fn twenty_thousand_sent_are_twenty_thousand_counted_are_rows() {
    let _leave = servers().await;
    let (mut lab, node) = node().await;
    let mut control = session(&node);
    for (number, (protocol, clients, threads)) in [
        (Protocol::Prepared, 8, None),
        (Protocol::Prepared, 7, Some(3)),
        (Protocol::Extended, 8, Some(2)),
        (Protocol::Simple, 8, None),
        (Protocol::Simple, 3, Some(1)),
        (Protocol::Prepared, 32, None),
    ]
    .into_iter()
    .enumerate()
    {
        control.query(&format!("CREATE UNLOGGED TABLE counted{number} (a bigint, c bigint)")).unwrap();
        let script = format!("\\set a random(1, 1000)\nINSERT INTO counted{number} VALUES (:a, :client_id);\n");
        let mut way = target(&node);
        way.application_name = format!("load {number}");
        let finished =
            perform(load(way, &script, protocol, clients, threads, End::Transactions(20_000))).await.unwrap();
        let report = &finished.report;
        assert_eq!((report.committed(), report.failed()), (20_000, 0));
        assert_eq!(report.scripts[0].latency_ns.len(), 20_000);
        let mut by_client = String::new();
        for client in &report.clients {
            write!(by_client, "{}:{} ", client.client, client.committed).unwrap();
        }
        let counted = format!(
            "SELECT string_agg(c || ':' || n, ' ' ORDER BY c) || ' ' \
             FROM (SELECT c, count(*) AS n FROM counted{number} GROUP BY c) AS by_client"
        );
        assert_eq!(value(&mut control, &counted), by_client);
        assert_eq!(value(&mut control, &format!("SELECT count(*) FROM counted{number}")), "20000");
        // The connections stay open until they are dropped, each the session that it says it is.
        let mut pids: Vec<String> = finished.connections.backend_pids().iter().map(ToString::to_string).collect();
        pids.sort_by_key(|pid| pid.parse::<u32>().unwrap());
        let live = format!(
            "SELECT string_agg(pid::text, ' ' ORDER BY pid) FROM pg_stat_activity WHERE application_name = 'load {number}'"
        );
        assert_eq!(value(&mut control, &live), pids.join(" "));
        assert_eq!(pids.len(), clients as usize);
    }
    drop(control);
    lab.close().await.unwrap();
}

#[tokio::test(flavor = "current_thread")]
async fn a_tenth_that_fails_is_counted_and_leaves_no_rows() {
    let _leave = servers().await;
    let (mut lab, node) = node().await;
    let mut control = session(&node);
    for (number, (protocol, clients, threads)) in
        [(Protocol::Prepared, 8, None), (Protocol::Prepared, 8, Some(2)), (Protocol::Simple, 3, Some(1))]
            .into_iter()
            .enumerate()
    {
        let table = format!("failing{number}");
        control.query(&format!("CREATE UNLOGGED TABLE {table} (a bigint, b bigint)")).unwrap();
        // The second insert divides by zero for a tenth, after the first has written.
        let script = format!(
            "\\set a random(1, 10)\nBEGIN;\nINSERT INTO {table} VALUES (:a, 1);\n\
             INSERT INTO {table} VALUES (10 / (:a - 1) , 2);\nCOMMIT;\n"
        );
        let request = load(target(&node), &script, protocol, clients, threads, End::Transactions(20_000));
        let report = perform(request).await.unwrap().report;
        assert_eq!(report.committed() + report.failed(), 20_000);
        // Eleven standard deviations of a binomial count around its mean.
        assert!((1_530..2_470).contains(&report.failed()), "{}", report.failed());
        let failures = &report.scripts[0].errors["22012"];
        assert_eq!((failures.count, failures.first_message.as_str()), (report.failed(), "division by zero"));
        let rows = value(&mut control, &format!("SELECT count(*) FROM {table}"));
        assert_eq!(rows, (2 * report.committed()).to_string());
    }
    drop(control);
    lab.close().await.unwrap();
}

#[tokio::test(flavor = "current_thread")]
async fn what_conflicts_is_tried_again_until_every_transaction_is_a_row() {
    let _leave = servers().await;
    let (mut lab, node) = node().await;
    let mut control = session(&node);
    for (number, (protocol, clients, threads)) in
        [(Protocol::Prepared, 8, None), (Protocol::Prepared, 8, Some(1)), (Protocol::Simple, 8, Some(2))]
            .into_iter()
            .enumerate()
    {
        control
            .query(&format!(
                "CREATE UNLOGGED TABLE hot{number} (id int PRIMARY KEY, n bigint); INSERT INTO hot{number} VALUES (1, 0); \
                 CREATE UNLOGGED TABLE log{number} (client bigint, r bigint)"
            ))
            .unwrap();
        let script = format!(
            "\\set r random(1, 1000000000)\nBEGIN ISOLATION LEVEL SERIALIZABLE;\n\
             UPDATE hot{number} SET n = n + 1 WHERE id = 1;\nINSERT INTO log{number} VALUES (:client_id, :r);\nCOMMIT;\n"
        );
        let mut request = load(target(&node), &script, protocol, clients, threads, End::Transactions(2_000));
        request.max_tries = 10_000;
        let loaded = perform(request.clone()).await.unwrap().report;
        let counts = &loaded.scripts[0];
        assert_eq!((loaded.committed(), loaded.failed(), loaded.skipped()), (2_000, 0, 0));
        // Eight sessions that want one row fail for far more than a tenth.
        assert!(counts.retried >= 200 && counts.retries >= counts.retried, "{counts:?}");
        assert_eq!(counts.latency_ns.len(), 2_000);
        assert_eq!(loaded.committed_each_second.iter().sum::<u64>(), 2_000);
        let rows = format!("SELECT n || ' ' || (SELECT count(*) FROM log{number}) FROM hot{number}");
        assert_eq!(value(&mut control, &rows), "2000 2000");
        // Each client's random numbers are those of a load that nothing disturbs.
        let each = format!("SELECT md5(string_agg(client || ':' || r, ' ' ORDER BY client, r)) FROM log{number}");
        let disturbed = value(&mut control, &each);
        control.query(&format!("TRUNCATE log{number}")).unwrap();
        let undisturbed = format!("\\set r random(1, 1000000000)\nINSERT INTO log{number} VALUES (:client_id, :r);\n");
        request.scripts[0].script = Arc::new(Script::parse(&undisturbed).unwrap());
        perform(request.clone()).await.unwrap();
        assert_eq!(value(&mut control, &each), disturbed);
        // With one try the same conflicts are failures.
        request.scripts[0].script = Arc::new(Script::parse(&script).unwrap());
        request.max_tries = 1;
        let once = perform(request).await.unwrap().report;
        let failed = once.scripts[0].errors["40001"].count;
        assert!(failed > 0 && once.committed() + failed == 2_000 && once.scripts[0].retried == 0);
        report(&format!(
            "conflicts {number}: {} retried, {} retries; with one try {failed} of 2000 failed\n",
            counts.retried, counts.retries
        ));
    }
    drop(control);
    lab.close().await.unwrap();
}

#[tokio::test(flavor = "current_thread")]
async fn a_rate_gives_its_transactions_and_every_scheduled_one_is_counted() {
    let _leave = servers().await;
    let (mut lab, node) = node().await;
    let mut control = session(&node);
    control.query("CREATE UNLOGGED TABLE paced (c bigint)").unwrap();
    let mut scheduled = Vec::new();
    for (clients, threads, limit) in [(8, None, None), (8, Some(2), Some(20)), (1, None, Some(20))] {
        control.query("TRUNCATE paced").unwrap();
        let end = End::Duration(Duration::from_secs(3));
        let script = "INSERT INTO paced VALUES (:client_id);\n";
        let mut request = load(target(&node), script, Protocol::Prepared, clients, threads, end);
        request.rate = Some(200.0);
        request.latency_limit = limit.map(Duration::from_millis);
        let loaded = perform(request).await.unwrap().report;
        let all = loaded.committed() + loaded.failed() + loaded.skipped();
        // Six standard deviations of a Poisson count around its mean.
        assert!((453..=747).contains(&all), "{all}");
        assert_eq!(value(&mut control, "SELECT count(*) FROM paced"), loaded.committed().to_string());
        assert_eq!(loaded.committed_each_second.iter().sum::<u64>(), loaded.committed());
        assert_eq!(loaded.scripts[0].lag_ns.as_ref().unwrap().len(), loaded.committed());
        assert!(loaded.finished - loaded.started >= Duration::from_secs(3));
        let at = |of: &hdrhistogram::Histogram<u64>, q| of.value_at_quantile(q) as f64 / 1e6;
        let (latency, lag) = (&loaded.scripts[0].latency_ns, loaded.scripts[0].lag_ns.as_ref().unwrap());
        report(&format!(
            "200/s, {clients} clients: {all} scheduled, {} skipped, each second {:?}, latency p50 {:.3} p99 {:.3}, lag p50 {:.3} p99 {:.3} ms\n",
            loaded.skipped(),
            loaded.committed_each_second,
            at(latency, 0.5),
            at(latency, 0.99),
            at(lag, 0.5),
            at(lag, 0.99)
        ));
        scheduled.push((clients, all));
    }
    // The schedule depends on seed and rate alone, not on the threads.
    assert_eq!(scheduled[0].1, scheduled[1].1);
    drop(control);
    lab.close().await.unwrap();
}

#[tokio::test(flavor = "current_thread")]
async fn a_load_ends_by_its_time_by_a_stop_and_by_a_killed_session() {
    let _leave = servers().await;
    let (mut lab, node) = node().await;
    let mut control = session(&node);
    for threads in [None, Some(1)] {
        let over = |script, clients, end| load(target(&node), script, Protocol::Prepared, clients, threads, end);

        // By its time, never before.
        let length = Duration::from_millis(300);
        let report = perform(over("SELECT 1;\n", 4, End::Duration(length))).await.unwrap().report;
        assert!(report.finished - report.started >= length && report.committed() > 0 && !report.interrupted);

        // By a stop, while every session sleeps in the server.
        let mut running = load::connect(over("SELECT pg_sleep(600);\n", 3, End::Transactions(100))).unwrap().go();
        std::thread::sleep(Duration::from_millis(50));
        running.stop();
        let report = running.finished().await.unwrap().report;
        assert!(report.interrupted && report.committed() == 0);
        // The sleepers would outlast the lab's own patience with them.
        value(
            &mut control,
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE '%pg_sleep(600)%' AND pid <> pg_backend_pid()",
        );

        // By a killed session, in the server's words.
        let hour = End::Duration(Duration::from_hours(1));
        let ready = load::connect(over("SELECT pg_sleep(0.01);\n", 4, hour)).unwrap();
        let pid = ready.backend_pids()[1];
        let mut running = ready.go();
        std::thread::sleep(Duration::from_millis(50));
        value(&mut control, &format!("SELECT pg_terminate_backend({pid})"));
        let error = running.finished().await.unwrap_err().to_string();
        assert!(error.contains("57P01") && error.contains("SELECT pg_sleep"), "{error}");
    }
    drop(control);
    lab.close().await.unwrap();
}

#[tokio::test(flavor = "current_thread")]
async fn a_marker_is_seen_when_every_subscription_has_delivered_its_row() {
    let _leave = servers().await;
    let mut lab = lab().await;
    let installation = server(18).await;
    let publisher = lab.start(request("publisher", 0, &installation)).await.unwrap();
    let subscriber = lab.start(request("subscriber", 1, &installation)).await.unwrap();
    let (mut there, mut here) = (session(&publisher), session(&subscriber));
    for node in [&mut there, &mut here] {
        node.query(marker::CREATE_TABLE).unwrap();
    }
    there.query(marker::CREATE_PUBLICATION).unwrap();
    here.query(marker::CREATE_TRIGGER).unwrap();
    let conninfo =
        format!("host={} port={} user=postgres dbname=postgres", publisher.socket_dir.display(), publisher.port);
    let mut delays = Vec::new();
    let mut id = 0;
    for deliveries in [1, 2] {
        let create = format!(
            "CREATE SUBSCRIPTION s{deliveries} CONNECTION {} PUBLICATION {}",
            literal(&conninfo),
            marker::PUBLICATION
        );
        here.query(&create).unwrap();
        let bound = Instant::now() + Duration::from_mins(1);
        let ready = format!("SELECT count(*) = {deliveries} FROM pg_subscription_rel WHERE srsubstate = 'r'");
        while value(&mut here, &ready) != "t" {
            assert!(Instant::now() < bound, "{}", std::fs::read_to_string(&subscriber.log).unwrap());
            std::thread::sleep(Duration::from_millis(10));
        }
        for _ in 0..25 {
            id += 1;
            let mut watch = MarkerWatch::start(MarkerRequest {
                target: target(&subscriber),
                channel: marker::CHANNEL.into(),
                payload: id.to_string(),
                deliveries,
                count_sql: marker::count(id),
                // The notification alone is to tell.
                recount: Duration::from_hours(1),
            })
            .unwrap();
            there.query(&marker::insert(id, MarkerCommit::Flushed)).unwrap();
            let committed = Instant::now();
            let seen = tokio::time::timeout(Duration::from_mins(1), watch.seen()).await.unwrap().unwrap();
            assert_eq!((seen.by, seen.rows), (MarkerSource::Notification, u64::from(deliveries)));
            assert_eq!(value(&mut here, &marker::count(id)), deliveries.to_string());
            delays.push((deliveries, seen.at.saturating_duration_since(committed)));
        }
    }
    for deliveries in [1, 2] {
        let mut of: Vec<Duration> = delays.iter().filter(|(d, _)| *d == deliveries).map(|(_, delay)| *delay).collect();
        of.sort();
        report(&format!("marker after the commit, {deliveries} subscription(s): p50 {:?}, max {:?}\n", of[12], of[24]));
    }
    drop((there, here));
    lab.close().await.unwrap();
}

/// Figures for whoever runs the tests with `--nocapture`.
#[expect(clippy::print_stderr, reason = "a test's own figures")]
fn report(text: &str) {
    eprint!("{text}");
}
