//! Each kind of mistake as a user sees it: one case, one edit to a spec that is right, one snapshot.
//!
//! What several mistakes do to each other is in `spec_mistakes`.

use runner::plan::facts::{Facts, Refusal};
use runner::text::Code;

use crate::texts::{facts, mistakes, rendered, wanted};

/// A spec without a mistake; each case changes a line or two of it.
pub(crate) const RIGHT: &str = r#"title = "Inserts, applied as text and in binary"

[vars]
clients = 4
rows = 1000

[run]
rounds = 3

[postgres]
version = "18"

[nodes.publisher.settings]
wal_level = "logical"
[nodes.subscriber.settings]
work_mem = "64MB"

[[setup]]
name = "schema"
nodes = ["publisher", "subscriber"]
sql = "CREATE TABLE items (id int PRIMARY KEY, n int);"

[publications.items]
node = "publisher"
tables = ["items"]
[subscriptions.feed]
node = "subscriber"
publications = ["items"]
options = { streaming = "off" }

[workloads.insert]
node = "publisher"
clients = "{{ clients }}"
duration = "30s"
script = '''
\set id random(1, 100000)
INSERT INTO items VALUES (:id, {{ rows }}) ON CONFLICT DO NOTHING;
'''

[[phases]]
name = "load"
run = ["insert"]
[[phases]]
name = "drain"
wait = "applied"

[windows]
total = ["load", "drain"]

[[scenarios]]
name = "text"
[[scenarios]]
name = "binary"
like = "text"
subscriptions.feed.options.binary = true

[[expect]]
claim = "binary saves CPU on the subscriber"
ratio = { metric = "total.cpu{node=subscriber}", of = "binary", to = "text", at_most = 1.0 }

[[report.tables]]
title = "Medians"
each = "scenario"
columns = [{ title = "TPS", value = "load.tps" }, { title = "Drain s", value = "drain.seconds" }]
"#;

/// One mistake, and what makes it.
struct Case {
    /// Its kind.
    code: Code,
    /// Tells cases of one kind apart, in the snapshot's name; empty for the first.
    also: &'static str,
    /// What is written and what instead.
    edits: &'static [(&'static str, &'static str)],
    /// Further files.
    files: &'static [(&'static str, &'static str)],
}

const fn case(code: Code, also: &'static str, edits: &'static [(&'static str, &'static str)]) -> Case {
    Case { code, also, edits, files: &[] }
}

const CASES: &[Case] = &[
    case(Code::Syntax, "", &[("clients = 4", "clients = ")]),
    case(Code::Syntax, "twice", &[("rows = 1000", "clients = 8")]),
    case(Code::Syntax, "quote", &[("version = \"18\"", "version = \"18")]),
    case(Code::UnknownKey, "", &[("duration = \"30s\"", "duratoin = \"30s\"")]),
    case(Code::UnknownKey, "table", &[("[workloads.insert]", "[workload.insert]")]),
    case(Code::UnknownKey, "scenario", &[("like = \"text\"", "like = \"text\"\nwithuot = []")]),
    case(Code::UnknownKey, "far", &[("rounds = 3", "repetitions = 3")]),
    case(Code::WrongType, "", &[("rounds = 3", "rounds = \"three\"")]),
    case(Code::WrongType, "table", &[("version = \"18\"", "version = 18")]),
    case(Code::WrongType, "list", &[("run = [\"insert\"]", "run = \"insert\"")]),
    case(Code::WrongType, "word", &[("wait = \"applied\"", "wait = \"aplied\"")]),
    case(Code::WrongType, "each", &[("each = \"scenario\"", "each = \"scenarios\"")]),
    case(Code::WrongType, "scalar", &[("options = { streaming = \"off\" }", "options = \"streaming\"")]),
    case(Code::WrongType, "bound", &[("at_most = 1.0", "at_most = \"1s\"")]),
    case(Code::WrongType, "version", &[("version = \"18\"", "version = \"18beta\"")]),
    case(Code::UnitMissing, "", &[("duration = \"30s\"", "duration = 30")]),
    case(Code::UnitMissing, "text", &[("duration = \"30s\"", "duration = \"30\"")]),
    case(Code::MissingKey, "", &[("publications = [\"items\"]\n", "")]),
    case(Code::MissingKey, "bound", &[(", at_most = 1.0", "")]),
    case(Code::MissingKey, "scenario", &[("name = \"binary\"\n", "")]),
    case(
        Code::MissingKey,
        "phases",
        &[
            ("[[phases]]\nname = \"load\"\nrun = [\"insert\"]\n[[phases]]\nname = \"drain\"\nwait = \"applied\"\n", ""),
            ("[windows]\ntotal = [\"load\", \"drain\"]\n", ""),
            (
                "[[expect]]\nclaim = \"binary saves CPU on the subscriber\"\nratio = { metric = \"total.cpu{node=subscriber}\", of = \"binary\", to = \"text\", at_most = 1.0 }\n",
                "",
            ),
            ("{ title = \"TPS\", value = \"load.tps\" }, { title = \"Drain s\", value = \"drain.seconds\" }", ""),
        ],
    ),
    case(
        Code::BadName,
        "",
        &[
            ("name = \"text\"", "name = \"Text\""),
            ("like = \"text\"", "like = \"Text\""),
            ("to = \"text\"", "to = \"Text\""),
        ],
    ),
    case(
        Code::BadName,
        "twice",
        &[
            ("name = \"drain\"", "name = \"load\""),
            ("[\"load\", \"drain\"]", "[\"load\"]"),
            (", { title = \"Drain s\", value = \"drain.seconds\" }", ""),
        ],
    ),
    case(Code::BadName, "window", &[("total = [", "load = ["), ("total.cpu", "load.cpu")]),
    case(Code::BadName, "table", &[("tables = [\"items\"]", "tables = [\"my items\"]")]),
    case(
        Code::UnknownBuild,
        "",
        &[
            ("version = \"18\"", "build = \"heed\""),
            ("[workloads.insert]", "[builds.head]\nversion = \"18\"\n[workloads.insert]"),
        ],
    ),
    case(
        Code::Both,
        "build",
        &[
            ("version = \"18\"", "build = \"head\"\nversion = \"18\""),
            ("[workloads.insert]", "[builds.head]\nversion = \"18\"\n[workloads.insert]"),
        ],
    ),
    case(
        Code::Both,
        "sources_of_a_build",
        &[("[workloads.insert]", "[builds.head]\nversion = \"18\"\npath = \"/usr/local/pgsql\"\n[workloads.insert]")],
    ),
    case(Code::MissingKey, "source", &[("[workloads.insert]", "[builds.head]\ngit = \"HEAD\"\n[workloads.insert]")]),
    case(
        Code::UnknownVariable,
        "axis",
        &[("[workloads.insert]", "[[matrix]]\naxes = { client = [1, 4] }\n[workloads.insert]")],
    ),
    case(
        Code::Impossible,
        "axis_value_twice",
        &[("[workloads.insert]", "[[matrix]]\naxes = { clients = [1, 1] }\n[workloads.insert]")],
    ),
    case(
        Code::Both,
        "axis",
        &[
            ("[workloads.insert]", "[[matrix]]\nname = \"all\"\naxes = { clients = [1, 4] }\n[workloads.insert]"),
            ("options.binary = true", "options.binary = true\nvars.clients = 8"),
        ],
    ),
    case(
        Code::UnknownAxis,
        "",
        &[(
            "[workloads.insert]",
            "[[matrix]]\nname = \"all\"\naxes = { clients = [1, 4] }\n[compare]\naxis = \"client\"\nof = 4\nto = 1\nmetric = \"load.tps\"\n[workloads.insert]",
        )],
    ),
    case(
        Code::UnknownAxis,
        "value",
        &[(
            "[workloads.insert]",
            "[[matrix]]\nname = \"all\"\naxes = { clients = [1, 4] }\n[compare]\naxis = \"clients\"\nof = 8\nto = 1\nmetric = \"load.tps\"\n[workloads.insert]",
        )],
    ),
    case(
        Code::UnknownAxis,
        "of_a_claim",
        &[
            ("[workloads.insert]", "[[matrix]]\nname = \"all\"\naxes = { clients = [1, 4] }\n[workloads.insert]"),
            ("of = \"binary\"", "of = { client = 4 }"),
        ],
    ),
    case(
        Code::UnknownAxis,
        "block",
        &[
            ("[workloads.insert]", "[[matrix]]\nname = \"all\"\naxes = { clients = [1, 4] }\n[workloads.insert]"),
            ("claim = \"binary", "matrix = \"some\"\nclaim = \"binary"),
        ],
    ),
    case(Code::MissingKey, "compare", &[("rounds = 3", "order = \"paired\"")]),
    case(
        Code::Impossible,
        "few_pairs",
        &[
            ("rounds = 3", "order = \"paired\"\npaired = { instances = { min = 3 } }"),
            (
                "[workloads.insert]",
                "[[matrix]]\nname = \"all\"\naxes = { clients = [1, 4] }\n[compare]\naxis = \"clients\"\nof = 4\nto = 1\nmetric = \"load.tps\"\n[workloads.insert]",
            ),
        ],
    ),
    case(
        Code::Impossible,
        "odd_slices",
        &[
            ("rounds = 3", "order = \"paired\"\npaired = { slices = 3 }"),
            (
                "[workloads.insert]",
                "[[matrix]]\nname = \"all\"\naxes = { clients = [1, 4] }\n[compare]\naxis = \"clients\"\nof = 4\nto = 1\nmetric = \"load.tps\"\n[workloads.insert]",
            ),
        ],
    ),
    case(
        Code::WrongType,
        "margin",
        &[
            ("rounds = 3", "order = \"paired\"\npaired = { until = \"1s\" }"),
            (
                "[workloads.insert]",
                "[[matrix]]\nname = \"all\"\naxes = { clients = [1, 4] }\n[compare]\naxis = \"clients\"\nof = 4\nto = 1\nmetric = \"load.tps\"\n[workloads.insert]",
            ),
        ],
    ),
    case(
        Code::UnknownSubscription,
        "synchronous",
        &[(
            "[nodes.publisher.settings]",
            "[nodes.publisher]\nsynchronous = { first = 1, of = [\"subscriptions.fed\"] }\n[nodes.publisher.settings]",
        )],
    ),
    case(
        Code::Impossible,
        "synchronous_of_another",
        &[(
            "[nodes.subscriber.settings]",
            "[nodes.subscriber]\nsynchronous = { any = 1, of = [\"subscriptions.feed\"] }\n[nodes.subscriber.settings]",
        )],
    ),
    case(
        Code::Impossible,
        "synchronous_of_too_many",
        &[(
            "[nodes.publisher.settings]",
            "[nodes.publisher]\nsynchronous = { any = 2, of = [\"subscriptions.feed\"] }\n[nodes.publisher.settings]",
        )],
    ),
    case(
        Code::Impossible,
        "several_in_a_place",
        &[
            ("[workloads.insert]", "[[matrix]]\nname = \"all\"\naxes = { clients = [1, 4] }\n[workloads.insert]"),
            ("each = \"scenario\"", "rows = \"scenario\"\nvalue = \"load.tps\""),
            (
                "columns = [{ title = \"TPS\", value = \"load.tps\" }, { title = \"Drain s\", value = \"drain.seconds\" }]",
                "columns = \"scenario\"",
            ),
        ],
    ),
    case(
        Code::Impossible,
        "verdict_of_nothing",
        &[
            ("[workloads.insert]", "[[matrix]]\nname = \"all\"\naxes = { clients = [1, 4] }\n[workloads.insert]"),
            ("each = \"scenario\"", "rows = \"scenario\"\nvalue = \"load.tps\"\nverdict = true"),
            (
                "columns = [{ title = \"TPS\", value = \"load.tps\" }, { title = \"Drain s\", value = \"drain.seconds\" }]",
                "columns = \"clients\"",
            ),
        ],
    ),
    case(
        Code::UnknownSetup,
        "",
        &[(
            "options.binary = true",
            "options.binary = true\n[[scenarios.setup]]\nname = \"index\"\nafter = \"shema\"\nnodes = [\"subscriber\"]\nsql = \"CREATE INDEX ON items (n);\"",
        )],
    ),
    case(
        Code::UnknownNode,
        "",
        &[("[publications.items]\nnode = \"publisher\"", "[publications.items]\nnode = \"publsher\"")],
    ),
    case(Code::UnknownNode, "label", &[("{node=subscriber}", "{node=subsciber}")]),
    case(Code::UnknownPublication, "", &[("publications = [\"items\"]", "publications = [\"item\"]")]),
    case(
        Code::UnknownSubscription,
        "",
        &[("wait = \"applied\"", "prepare = [{ disable = \"subscriptions.fed\" }]\nwait = \"applied\"")],
    ),
    case(
        Code::UnknownSubscription,
        "bare",
        &[("wait = \"applied\"", "start = [{ enable = \"feed\" }]\nwait = \"applied\"")],
    ),
    case(
        Code::UnknownSlot,
        "",
        &[
            ("[windows]", "[slots.decode]\nnode = \"publisher\"\nplugin = \"test_decoding\"\n\n[windows]"),
            ("total.cpu{node=subscriber}", "total.consumer_cpu{slot=decod}"),
        ],
    ),
    case(Code::MissingKey, "plugin", &[("[windows]", "[slots.decode]\nnode = \"publisher\"\n\n[windows]")]),
    case(
        Code::MissingKey,
        "publications",
        &[("[windows]", "[slots.decode]\nnode = \"publisher\"\nplugin = \"pgoutput\"\n\n[windows]")],
    ),
    case(
        Code::WrongType,
        "publications",
        &[(
            "[windows]",
            "[slots.decode]\nnode = \"publisher\"\nplugin = \"pgoutput\"\noptions = { publication_names = \"items\" }\n\n[windows]",
        )],
    ),
    case(
        Code::UnknownPublication,
        "slot",
        &[(
            "[windows]",
            "[slots.decode]\nnode = \"publisher\"\nplugin = \"pgoutput\"\noptions = { publication_names = [\"itmes\"] }\n\n[windows]",
        )],
    ),
    case(
        Code::BadName,
        "slot",
        &[("[windows]", "[slots.feed]\nnode = \"publisher\"\nplugin = \"test_decoding\"\n\n[windows]")],
    ),
    case(
        Code::OptionLacking,
        "slot",
        &[
            (
                "[windows]",
                "[slots.decode]\nnode = \"publisher\"\nplugin = \"test_decoding\"\nfailover = true\n\n[windows]",
            ),
            ("version = \"18\"", "version = \"15\""),
        ],
    ),
    case(
        Code::Impossible,
        "consumer",
        &[(
            "[windows]",
            "[slots.decode]\nnode = \"publisher\"\nplugin = \"wal2json\"\nconsumer = \"pg_recvlogical\"\n\n[windows]",
        )],
    ),
    case(
        Code::Impossible,
        "created",
        &[("wait = \"applied\"", "start = [{ create = \"subscriptions.feed\" }]\nwait = \"applied\"")],
    ),
    case(
        Code::Impossible,
        "created-twice",
        &[(
            "run = [\"insert\"]",
            "prepare = [{ disable = \"subscriptions.feed\" }, { create = \"subscriptions.feed\" }]\nrun = [\"insert\"]",
        )],
    ),
    case(Code::UnknownWorkload, "", &[("run = [\"insert\"]", "run = [\"inserts\"]")]),
    case(Code::UnknownPhase, "", &[("total = [\"load\", \"drain\"]", "total = [\"load\", \"drian\"]")]),
    case(Code::UnknownPhase, "metric", &[("load.tps", "laod.tps")]),
    case(Code::UnknownScenario, "", &[("to = \"text\"", "to = \"txt\"")]),
    case(Code::UnknownScenario, "like", &[("like = \"text\"", "like = \"txt\"")]),
    case(Code::UnknownMetric, "", &[("load.tps", "load.tsp")]),
    case(Code::UnknownMetric, "form", &[("load.tps", "load.")]),
    case(
        Code::UnknownMetric,
        "computed",
        &[
            ("[windows]", "[metrics.sustainable_tps]\nvalue = \"load.transactions / total.seconds\"\n\n[windows]"),
            ("drain.seconds", "sustainable_tsp"),
        ],
    ),
    case(
        Code::UnknownMetric,
        "computed-part",
        &[("[windows]", "[metrics.sustainable_tps]\nvalue = \"load.transactions / total.secnds\"\n\n[windows]")],
    ),
    case(
        Code::UnknownMetric,
        "computed-nothing",
        &[("[windows]", "[metrics.sustainable_tps]\nvalue = \"load.transactions\"\n\n[windows]")],
    ),
    case(
        Code::Impossible,
        "computed",
        &[("[windows]", "[metrics.sum]\nvalue = \"load.transactions + total.seconds\"\n\n[windows]")],
    ),
    case(Code::UnknownLabel, "", &[("{node=subscriber}", "{nod=subscriber}")]),
    case(Code::UnknownLabel, "value", &[("{node=subscriber}", "{role=walsneder}")]),
    case(Code::UnknownLabel, "rmgr", &[("total.cpu{node=subscriber}", "load.wal_rmgr_bytes{rmgr=heap}")]),
    case(Code::UnknownLabel, "none", &[("drain.seconds", "drain.seconds{node=subscriber}")]),
    case(Code::UnknownVariable, "", &[("{{ clients }}", "{{ client }}")]),
    case(Code::UnknownVariable, "script", &[("{{ rows }}", "{{ row }}")]),
    case(Code::SettingLacking, "", &[("work_mem = \"64MB\"", "io_methd = \"worker\"")]),
    case(Code::SettingLacking, "dotted", &[("work_mem = \"64MB\"", "\"wal.level\" = \"logical\"")]),
    case(Code::SettingRefused, "", &[("work_mem = \"64MB\"", "work_mem = \"64mb\"")]),
    case(
        Code::OptionLacking,
        "",
        &[("version = \"18\"", "version = \"14\""), ("streaming = \"off\"", "two_phase = false")],
    ),
    case(Code::OptionLacking, "value", &[("streaming = \"off\"", "streaming = \"paralel\"")]),
    case(Code::OptionLacking, "misspelt", &[("streaming = \"off\"", "streamin = \"off\"")]),
    case(
        Code::OptionLacking,
        "filter",
        &[
            ("version = \"18\"", "version = \"14\""),
            ("tables = [\"items\"]", "tables = [{ name = \"items\", where = \"n > 10\" }]"),
        ],
    ),
    case(
        Code::OptionPublisher,
        "",
        &[
            ("[nodes.publisher.settings]", "[nodes.publisher]\nversion = \"15\"\n[nodes.publisher.settings]"),
            ("streaming = \"off\"", "origin = \"none\""),
        ],
    ),
    case(
        Code::OptionPublisher,
        "parallel",
        &[
            ("[nodes.publisher.settings]", "[nodes.publisher]\nversion = \"15\"\n[nodes.publisher.settings]"),
            ("streaming = \"off\"", "streaming = \"parallel\""),
        ],
    ),
    case(Code::PhaseIdle, "", &[("wait = \"applied\"\n", "")]),
    case(Code::PhaseIdle, "empty", &[("run = [\"insert\"]", "run = []")]),
    case(Code::Both, "", &[("run = [\"insert\"]", "run = [\"insert\"]\nhold = \"10s\"")]),
    case(Code::Both, "workload", &[("duration = \"30s\"", "duration = \"30s\"\ntransactions = 100")]),
    case(Code::Both, "bounds", &[("at_most = 1.0", "at_most = 1.0, within = \"5%\"")]),
    case(Code::Neither, "", &[("duration = \"30s\"\n", "")]),
    case(Code::Neither, "publication", &[("tables = [\"items\"]\n", "")]),
    case(Code::NothingToRemove, "", &[("like = \"text\"", "like = \"text\"\nwithout = [\"subscriptions.fed\"]\n#")]),
    case(Code::NothingToRemove, "far", &[("like = \"text\"", "like = \"text\"\nwithout = [\"standby\"]\n#")]),
    case(Code::Template, "", &[("{{ clients }}", "{{ clients + }}")]),
    case(Code::Template, "part", &[("\"{{ clients }}\"", "\"{{ clients }}0\"")]),
    case(
        Code::Template,
        "braces",
        &[(
            "sql = \"CREATE TABLE items (id int PRIMARY KEY, n int);\"",
            "sql = \"CREATE TABLE items (id int PRIMARY KEY, n int); SELECT '{{1,2},{3,4}}'::int[];\"",
        )],
    ),
    case(Code::TemplateValue, "", &[("clients = 4", "clients = \"four\"")]),
    Case {
        code: Code::IncludeConflict,
        also: "",
        edits: &[("[vars]", "include = [\"small.toml\", \"fast.toml\"]\n[vars]"), ("[run]\nrounds = 3\n\n", "")],
        files: &[("small.toml", "[run]\nrounds = 1\n"), ("fast.toml", "[run]\nrounds = 2\n")],
    },
    Case {
        code: Code::Unreadable,
        also: "",
        edits: &[("[vars]", "include = [\"../shared/base.toml\"]\n[vars]")],
        files: &[],
    },
    case(
        Code::Unreadable,
        "file",
        &[("sql = \"CREATE TABLE items (id int PRIMARY KEY, n int);\"", "file = \"schema.sql\"")],
    ),
    Case {
        code: Code::IncludeCycle,
        also: "",
        edits: &[("[vars]", "include = [\"a.toml\"]\n[vars]")],
        files: &[("a.toml", "include = [\"b.toml\"]\n"), ("b.toml", "include = [\"a.toml\"]\n")],
    },
    case(
        Code::KindClash,
        "",
        &[(
            "like = \"text\"\nsubscriptions.feed.options.binary = true",
            "like = \"text\"\nsubscriptions.feed = \"binary\"",
        )],
    ),
    case(Code::NotInScenario, "", &[("like = \"text\"", "like = \"text\"\nrun.rounds = 5")]),
    case(Code::Script, "", &[("\\set id random(1, 100000)", "\\set id randon(1, 100000)")]),
    case(Code::Script, "variable", &[(":id, ", ":ide, ")]),
    case(Code::NotYet, "", &[("node = \"publisher\"\nclients", "node = \"publisher\"\ncpus = \"0\"\nclients")]),
    case(Code::NotYet, "table", &[("[windows]", "[standbys.s1]\nof = \"publisher\"\n\n[windows]")]),
    case(Code::Impossible, "", &[("wal_level = \"logical\"", "wal_level = \"replica\"")]),
    case(Code::Impossible, "port", &[("work_mem = \"64MB\"", "port = 5433")]),
    case(Code::Impossible, "low", &[("wal_level = \"logical\"", "wal_level = \"logical\"\nmax_wal_senders = 2")]),
    case(Code::Impossible, "two_phase", &[("streaming = \"off\"", "two_phase = true")]),
    case(
        Code::Impossible,
        "window",
        &[("[windows]\ntotal = [\"load\", \"drain\"]", "[windows]\ntotal = [\"drain\", \"load\"]")],
    ),
    case(Code::Impossible, "wal", &[("total.cpu{node=subscriber}", "load.wal_bytes{node=subscriber}")]),
    case(Code::Impossible, "slot", &[("total.cpu{node=subscriber}", "load.spilled_bytes{subscription=feed}")]),
    case(Code::Impossible, "version", &[("version = \"18\"", "version = \"13\"")]),
    case(Code::Impossible, "pgbench", &[("duration = \"30s\"", "duration = \"30500ms\"\nengine = \"pgbench\"")]),
    case(Code::Impossible, "option", &[("streaming = \"off\"", "enabled = false")]),
];

/// What servers would say of the settings in the cases.
fn refusing() -> Facts {
    let mut facts = facts(&[18, 14, 15]);
    let mut refuse = |name: &str, value: &str, refusal| {
        facts.refused.insert((wanted("18"), name.to_owned(), value.to_owned()), refusal);
    };
    refuse("io_methd", "worker", Refusal::Lacking);
    let units = "valid units for this parameter are \"B\", \"kB\", \"MB\", \"GB\", and \"TB\"";
    refuse("work_mem", "64mb", Refusal::Value(units.to_owned()));
    facts
}

fn edited(edits: &[(&str, &str)]) -> String {
    edits.iter().fold(RIGHT.to_owned(), |text, (from, to)| {
        assert_eq!(text.matches(from).count(), 1, "`{from}` must stand once");
        text.replace(from, to)
    })
}

fn check(text: &str, others: &[(&str, &str)]) -> (Vec<Code>, String) {
    let mut files = vec![("specs/inserts.toml", text)];
    let others: Vec<(String, &str)> = others.iter().map(|(name, text)| (format!("specs/{name}"), *text)).collect();
    files.extend(others.iter().map(|(name, text)| (name.as_str(), *text)));
    let error = mistakes(&files, &refusing());
    (error.issues.iter().map(|issue| issue.code).collect(), rendered(&error))
}

#[test]
fn the_spec_that_the_cases_change_is_right() {
    assert_eq!(check(RIGHT, &[]).1, "no mistakes\n");
}

#[test]
fn every_kind_of_mistake_has_a_case() {
    for code in Code::ALL {
        assert!(CASES.iter().any(|case| case.code == *code && case.also.is_empty()), "{code:?} has none");
    }
}

#[test]
fn each_mistake_is_told_once_and_alone() {
    let mut others = String::new();
    for case in CASES {
        let name = [case.code.as_str(), case.also].join("-");
        let name = name.trim_end_matches('-');
        let (codes, shown) = check(&edited(case.edits), case.files);
        if codes != [case.code] {
            others += &format!("{name}:\n{shown}");
        }
        insta::with_settings!({ omit_expression => true }, { insta::assert_snapshot!(name, shown); });
    }
    assert_eq!(others, "");
}
