//! What a spec means: merging, `like`, `without`, includes, flags, variables and templates, read off the scenarios.

use proptest::prelude::*;
use runner::spec::scenario::{Body, Extent, Published, Setup};
use runner::spec::{Options, Scenario, flag};
use runner::text::Code;

use crate::texts::{Reading, mistakes, read, read_with_flags};

/// The SQL of a step that has some.
fn sql_of(step: &Setup) -> String {
    step.sql().expect("SQL").to_owned()
}

/// A small spec that every case adds to.
const BASE: &str = r#"
[vars]
rows = 10
[nodes.p.settings]
wal_level = "logical"
work_mem = "4MB"
[nodes.s]
[[setup]]
name = "schema"
nodes = "all"
sql = "CREATE TABLE items (id int)"
[[setup]]
name = "rows"
nodes = ["p"]
sql = "INSERT INTO items SELECT generate_series(1, {{ rows }})"
[publications.items]
node = "p"
tables = ["items", "others"]
[subscriptions.feed]
node = "s"
publications = ["items"]
options = { binary = false, streaming = "off" }
[workloads.w]
node = "p"
transactions = 1
script = "SELECT 1"
[[phases]]
name = "load"
run = ["w"]
[[phases]]
name = "drain"
wait = "applied"
"#;

fn right(files: &[(&str, &str)], flags: &[&str], options: Options) -> Reading {
    let flags: Vec<String> = flags.iter().map(|written| flag(written).expect("a flag")).collect();
    let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
    let reading = read_with_flags(files, &flags, options);
    assert!(reading.issues.is_empty(), "{:?}", reading.issues.as_slice());
    assert!(reading.spec.unfit.is_empty());
    reading
}

/// The scenario of that name of [`BASE`] with more.
fn scenario(more: &str, name: &str) -> Scenario {
    of(&right(&[("spec.toml", &format!("{BASE}{more}"))], &[], Options::default()), name)
}

fn of(reading: &Reading, name: &str) -> Scenario {
    let cell = reading.spec.cells.iter().find(|cell| cell.scenario.name == name);
    cell.unwrap_or_else(|| panic!("no scenario `{name}`")).scenario.as_ref().clone()
}

fn names<'a>(list: impl IntoIterator<Item = &'a String>) -> Vec<&'a str> {
    list.into_iter().map(String::as_str).collect()
}

fn setting<'a>(scenario: &'a Scenario, node: &str, name: &str) -> Option<&'a str> {
    scenario.nodes[node].settings.get(name).map(|written| written.value.as_str())
}

fn codes(text: &str) -> Vec<Code> {
    let error = mistakes(&[("spec.toml", text)], &crate::texts::facts(&[18]));
    error.issues.iter().map(|issue| issue.code).collect()
}

#[test]
fn a_spec_without_scenarios_is_one_scenario() {
    let reading = right(&[("specs/my_spec.toml", BASE)], &[], Options::default());
    assert_eq!(reading.spec.cells.len(), 1);
    assert_eq!((reading.spec.title.as_str(), of(&reading, "default").title.as_str()), ("my_spec", "default"));
}

#[test]
fn tables_merge_key_by_key_and_values_and_plain_arrays_replace() {
    let changed = scenario(
        "[[scenarios]]
        name = 'x'
        nodes.p.settings.work_mem = '8MB'
        nodes.p.settings.jit = 'off'
        publications.items.tables = ['third']
        subscriptions.feed.options.binary = true",
        "x",
    );
    assert_eq!(setting(&changed, "p", "wal_level"), Some("logical"));
    assert_eq!(setting(&changed, "p", "work_mem"), Some("8MB"));
    assert_eq!(names(changed.nodes["p"].settings.keys()), ["wal_level", "work_mem", "jit"]);
    let Published::Listed { tables, .. } = &changed.publications["items"].of else { panic!("listed") };
    assert_eq!(tables.iter().map(|table| table.name.join(".")).collect::<Vec<_>>(), ["third"]);
    let options = &changed.subscriptions["feed"].options;
    assert_eq!((options["binary"].value.as_str(), options["streaming"].value.as_str()), ("true", "off"));
}

#[test]
fn setup_and_phases_merge_by_name_and_a_new_one_stands_last_or_after_another() {
    let step = |name: &str, after: &str| {
        let after = if after.is_empty() { String::new() } else { format!("after = '{after}'\n") };
        format!("[[scenarios.setup]]\nname = '{name}'\n{after}nodes = ['s']\nsql = 'SELECT 1'\n")
    };
    for (steps, expected) in [
        (step("index", ""), vec!["schema", "rows", "index"]),
        (step("index", "schema"), vec!["schema", "index", "rows"]),
        (step("rows", ""), vec!["schema", "rows"]),
        // One may stand after another new one; several after one are in the order of the text.
        (step("a", "schema") + &step("b", "a"), vec!["schema", "a", "b", "rows"]),
        (step("a", "schema") + &step("b", "schema"), vec!["schema", "a", "b", "rows"]),
        (step("a", "schema") + &step("b", "a") + &step("c", "schema"), vec!["schema", "a", "b", "c", "rows"]),
    ] {
        let changed = scenario(&format!("[[scenarios]]\nname = 'x'\n{steps}"), "x");
        assert_eq!(names(changed.setup.iter().map(|step| &step.name)), expected);
    }
    let changed = scenario(
        "[[scenarios]]
        name = 'x'
        [[scenarios.setup]]
        name = 'rows'
        sql = 'INSERT INTO items VALUES (1)'
        [[scenarios.phases]]
        name = 'pause'
        after = 'load'
        hold = '1s'
        [[scenarios.phases]]
        name = 'drain'
        timeout = '1min'",
        "x",
    );
    // What the scenario does not say stays.
    assert_eq!(changed.setup[1].sql(), Some("INSERT INTO items VALUES (1)"));
    assert_eq!(changed.setup[1].nodes, ["p"]);
    assert_eq!(names(changed.phases.iter().map(|phase| &phase.name)), ["load", "pause", "drain"]);
    assert_eq!(changed.phases[2].body, Body::WaitApplied);
    assert_eq!(changed.phases[2].timeout.value.as_secs(), 60);
}

#[test]
fn claims_merge_by_claim_and_report_tables_by_title() {
    let include = "
        [[expect]]
        claim = 'fast'
        value = { metric = 'load.seconds', of = 'default', at_most = 1 }
        [[expect]]
        claim = 'small'
        value = { metric = 'load.transactions', of = 'default', at_most = 1 }
        [[report.tables]]
        title = 'Medians'
        columns = [{ title = 's', value = 'load.seconds' }]";
    let root = format!(
        "include = ['claims.toml']\n{BASE}
        [[expect]]
        claim = 'fast'
        published = 0.5
        [[report.tables]]
        title = 'Raw'
        each = 'run'
        columns = [{{ title = 's', value = 'load.seconds' }}]
        [[report.tables]]
        title = 'Medians'
        note = 'of three'"
    );
    let reading = right(&[("spec.toml", &root), ("claims.toml", include)], &[], Options::default());
    let claims: Vec<_> =
        reading.spec.claims.iter().map(|claim| (claim.claim.as_str(), claim.at_most, claim.published)).collect();
    assert_eq!(claims, [("fast", Some(1.0), Some(0.5)), ("small", Some(1.0), None)]);
    let tables: Vec<_> = reading.spec.tables.iter().map(|table| (table.title(), table.note())).collect();
    assert_eq!(tables, [("Medians", Some("of three")), ("Raw", None)]);
}

#[test]
fn a_table_and_a_scalar_never_replace_one_another() {
    for (over, expected) in [
        ("subscriptions.feed = 'x'", Code::KindClash),
        ("subscriptions.feed.options.binary.x = 1", Code::KindClash),
        ("setup = { name = 'x' }", Code::KindClash),
    ] {
        assert_eq!(codes(&format!("{BASE}\n[[scenarios]]\nname = 'x'\n{over}")), [expected], "{over}");
    }
}

#[test]
fn like_starts_from_an_earlier_scenario_and_keeps_neither_its_title_nor_the_specs() {
    let text = format!(
        "title = 'The spec'\n{BASE}
        [[scenarios]]
        name = 'a'
        title = 'First'
        nodes.p.settings.work_mem = '8MB'
        [[scenarios]]
        name = 'b'
        like = 'a'
        nodes.p.settings.jit = 'off'
        [[scenarios]]
        name = 'c'
        like = 'b'
        nodes.p.settings.work_mem = '16MB'"
    );
    let reading = right(&[("spec.toml", &text)], &[], Options::default());
    for (name, title, work_mem, jit) in
        [("a", "First", "8MB", None), ("b", "b", "8MB", Some("off")), ("c", "c", "16MB", Some("off"))]
    {
        let scenario = of(&reading, name);
        assert_eq!(scenario.title, title);
        assert_eq!(setting(&scenario, "p", "work_mem"), Some(work_mem), "{name}");
        assert_eq!(setting(&scenario, "p", "jit"), jit, "{name}");
    }
    // Only an earlier one: there is no circle.
    assert_eq!(codes(&format!("{BASE}\n[[scenarios]]\nname = 'a'\nlike = 'a'")), [Code::UnknownScenario]);
}

#[test]
fn without_removes_what_a_path_names() {
    let without = |paths: &str| scenario(&format!("[[scenarios]]\nname = 'x'\nwithout = [{paths}]"), "x");
    let all = without("");
    assert_eq!(names(without("'subscriptions.feed'").subscriptions.keys()), Vec::<&str>::new());
    assert_eq!(names(without("'setup.rows'").setup.iter().map(|step| &step.name)), ["schema"]);
    assert_eq!(names(without("'phases.drain'").phases.iter().map(|phase| &phase.name)), ["load"]);
    assert_eq!(setting(&without("'nodes.p.settings.work_mem'"), "p", "work_mem"), None);
    let options = without("'subscriptions.feed.options.binary'").subscriptions["feed"].options.clone();
    assert_eq!(names(options.keys()), ["streaming"]);
    // In the order written: what is gone cannot be named again.
    assert_eq!(without("'setup.rows', 'setup.schema'").setup.len(), 0);
    assert_eq!(all.setup.len(), 2);
    for path in ["subscriptions.fed", "setup.row", "nodes.p.settings.jit", "phases.load.wait", "nothing", ""] {
        let text = format!("{BASE}\n[[scenarios]]\nname = 'x'\nwithout = ['{path}']");
        assert_eq!(codes(&text), [Code::NothingToRemove], "{path}");
    }
}

#[test]
fn what_is_left_out_may_be_added_anew() {
    let anew = scenario(
        "[[scenarios]]
        name = 'x'
        without = ['subscriptions.feed.options']
        subscriptions.feed.options.origin = 'none'",
        "x",
    );
    assert_eq!(names(anew.subscriptions["feed"].options.keys()), ["origin"]);
}

#[test]
fn includes_stand_before_the_file_that_names_them_and_it_wins() {
    let root = format!("include = ['a.toml', 'b.toml']\n{BASE}");
    let a = "[vars]\nrows = 99\nfrom_a = 1\n[nodes.p.settings]\njit = 'off'\n[[setup]]\nname = 'first'\nnodes = ['s']\nsql = 'SELECT 1'";
    let b = "[vars]\nfrom_b = '{{ from_a + 1 }}'\n[nodes.s.settings]\njit = 'on'";
    let reading = right(&[("spec.toml", &root), ("a.toml", a), ("b.toml", b)], &[], Options::default());
    let scenario = of(&reading, "default");
    assert_eq!(names(scenario.setup.iter().map(|step| &step.name)), ["first", "schema", "rows"]);
    assert!(sql_of(&scenario.setup[2]).contains("(1, 10)"));
    assert_eq!((setting(&scenario, "p", "jit"), setting(&scenario, "s", "jit")), (Some("off"), Some("on")));
    assert_eq!(names(reading.spec.vars.iter().map(|(name, ..)| name)), ["rows", "from_a", "from_b"]);
}

#[test]
fn two_includes_may_say_the_same_tables_but_not_the_same_key() {
    let told = |a: &str, b: &str| -> Vec<Code> {
        let root = format!("include = ['a.toml', 'b.toml']\n{BASE}");
        let error = mistakes(&[("spec.toml", &root), ("a.toml", a), ("b.toml", b)], &crate::texts::facts(&[18]));
        error.issues.iter().map(|issue| issue.code).collect()
    };
    assert_eq!(told("[run]\nseed = 1", "[run]\nrounds = 1"), []);
    assert_eq!(told("[run]\nseed = 1", "[run]\nseed = 1"), [Code::IncludeConflict]);
    assert_eq!(told("[quick]\nrows = 1", "quick.rows = 2"), [Code::IncludeConflict]);
    // One file that both include is no conflict with itself.
    let root = format!("include = ['a.toml', 'b.toml']\n{BASE}");
    let shared = [
        ("spec.toml", root.as_str()),
        ("a.toml", "include = ['c.toml']"),
        ("b.toml", "include = ['c.toml']"),
        ("c.toml", "[run]\nseed = 5"),
    ];
    assert_eq!(right(&shared, &[], Options::default()).spec.run.seed.value, 5);
}

#[test]
fn a_flag_is_laid_over_every_scenario() {
    let text = format!(
        "{BASE}
        [[scenarios]]
        name = 'a'
        vars.rows = 20
        [[scenarios]]
        name = 'b'
        without = ['subscriptions.feed']"
    );
    let flags = [
        "rows=3",
        "run.rounds=1",
        "postgres.version=15.10",
        "subscriptions.feed.options.binary=true",
        "nodes.p.settings.work_mem=8MB",
    ];
    let reading = right(&[("spec.toml", &text)], &flags, Options::default());
    assert_eq!(reading.spec.run.rounds.value, 1);
    for name in ["a", "b"] {
        let scenario = of(&reading, name);
        assert!(sql_of(&scenario.setup[1]).ends_with("(1, 3)"), "{}", sql_of(&scenario.setup[1]));
        assert_eq!(setting(&scenario, "p", "work_mem"), Some("8MB"));
        // A number where text is wanted is taken as written, down to its last zero.
        let version = scenario.nodes["p"].version.as_ref().expect("set");
        assert_eq!(version.value, "15.10");
        assert_eq!(reading.sources.locate(version.at.expect("set")), "--set postgres.version = 15.10");
    }
    // What changes a subscription that a scenario does not have is for those that have it.
    assert_eq!(of(&reading, "a").subscriptions["feed"].options["binary"].value, "true");
    assert!(of(&reading, "b").subscriptions.is_empty());
}

#[test]
fn a_flag_that_names_nothing_is_refused() {
    for (written, expected) in [
        ("row=3", Code::UnknownVariable),
        ("run.round=3", Code::UnknownKey),
        ("run.rounds=three", Code::WrongType),
        ("subscriptions.fed.options.binary=true", Code::UnknownSubscription),
        ("nodes.publisher.version=15", Code::UnknownNode),
        ("subscriptions.feed=1", Code::KindClash),
    ] {
        let toml = flag(written).expect("a flag");
        let reading = read_with_flags(&[("spec.toml", BASE)], &[&toml], Options::default());
        let error = reading.into_error();
        let told: Vec<Code> = error.issues.iter().map(|issue| issue.code).collect();
        assert_eq!(told, [expected], "{written}: {:?}", error.issues);
        let (file, _) = crate::texts::underlined(&error.sources, &error.issues[0]);
        assert_eq!(file, format!("--set {toml}"), "{written}");
    }
}

#[test]
fn quick_values_are_laid_over_variables_below_flags() {
    let text = format!("{BASE}\n[quick]\nrows = 2\n[[scenarios]]\nname = 'x'\nvars.rows = 50");
    let rows = |quick, flags: &[&str]| {
        sql_of(&of(&right(&[("spec.toml", &text)], flags, Options { quick, aa: false }), "x").setup[1])
    };
    assert!(rows(false, &[]).ends_with("(1, 50)"));
    assert!(rows(true, &[]).ends_with("(1, 2)"));
    assert!(rows(true, &["rows=3"]).ends_with("(1, 3)"));
    assert_eq!(codes(&format!("{BASE}\n[quick]\nrow = 2")), [Code::UnknownVariable]);
}

#[test]
fn variables_may_use_earlier_ones_and_templates_give_whole_values() {
    let load = |vars: &str, transactions: &str| {
        let text =
            BASE.replace("rows = 10", vars).replace("transactions = 1", &format!("transactions = {transactions}"));
        right(&[("spec.toml", &text)], &[], Options::default()).spec.cells[0].scenario.workloads["w"].extent
    };
    for (vars, transactions, expected) in [
        ("rows = 10", "'{{ rows }}'", 10),
        ("rows = 10", "' {{ rows * 2 }} '", 20),
        // `/` gives a float; a whole one is meant as a whole number.
        ("rows = 1000", "'{{ rows / 2 }}'", 500),
        ("rows = 7", "'{{ rows // 2 }}'", 3),
        ("rows = 10\ntwice = '{{ rows * 2 }}'\nmore = '{{ twice + 1 }}'", "'{{ more }}'", 21),
        ("rows = 10", "'{{ scenario | length }}'", 7),
    ] {
        assert_eq!(load(vars, transactions), Extent::Transactions(expected), "{vars} {transactions}");
    }
    for (vars, transactions, expected) in [
        ("rows = 10", "'{{ rows }}0'", Code::Template),
        ("rows = 10", "'{{ rows }}{{ rows }}'", Code::Template),
        ("rows = 10", "'{% if rows %}1{% endif %}'", Code::Template),
        ("rows = 10", "'10'", Code::WrongType),
        ("rows = 7", "'{{ rows / 2 }}'", Code::TemplateValue),
        ("rows = 0", "'{{ rows }}'", Code::TemplateValue),
        ("rows = 10\nlater = '{{ last }}'\nlast = 1", "'{{ later }}'", Code::UnknownVariable),
        ("rows = 10", "'{% if missing %}1{% else %}2{% endif %}'", Code::Template),
        ("rows = 10", "'{{ missing | default(value=1) }}'", Code::UnknownVariable),
    ] {
        let text =
            BASE.replace("rows = 10", vars).replace("transactions = 1", &format!("transactions = {transactions}"));
        assert_eq!(codes(&text), [expected], "{vars} {transactions}");
    }
}

#[test]
fn an_undefined_variable_is_a_mistake_even_where_a_template_would_take_it_for_nothing() {
    for template in [
        "{% if missing %}x{% endif %}SELECT 1",
        "SELECT {{ missing ~ 'x' }}",
        "SELECT {{ missing == 1 }}",
        "{% for i in missing %}{% endfor %}SELECT 1",
    ] {
        let text = BASE.replace("script = \"SELECT 1\"", &format!("script = \"{template}\""));
        assert_eq!(codes(&text), [Code::UnknownVariable], "{template}");
    }
}

#[test]
fn text_may_hold_several_templates_and_braces_that_are_none() {
    let sql = |sql: &str| {
        let text = BASE.replace("sql = \"CREATE TABLE items (id int)\"", &format!("sql = '''{sql}'''"));
        sql_of(&right(&[("spec.toml", &text)], &[], Options::default()).spec.cells[0].scenario.setup[0])
    };
    assert_eq!(sql("SELECT {{ rows }}, {{ rows + 1 }}"), "SELECT 10, 11");
    assert_eq!(sql("{% if rows > 5 %}SELECT 1{% else %}SELECT 2{% endif %}"), "SELECT 1");
    assert_eq!(sql("SELECT {% raw %}'{{1,2},{3,4}}'{% endraw %}::int[]"), "SELECT '{{1,2},{3,4}}'::int[]");
    assert_eq!(sql("SELECT '<b>' || '{a}'"), "SELECT '<b>' || '{a}'");
}

#[test]
fn windows_are_consecutive_phases_and_each_phase_is_one() {
    let text = format!("{BASE}\n[windows]\ntotal = ['load', 'drain']\nonly = ['drain']");
    let windows = right(&[("spec.toml", &text)], &[], Options::default()).spec.cells[0].scenario.windows.clone();
    let windows: Vec<(&str, (usize, usize))> = windows.iter().map(|(name, range)| (name.as_str(), *range)).collect();
    assert_eq!(windows, [("load", (0, 0)), ("drain", (1, 1)), ("total", (0, 1)), ("only", (1, 1))]);
    for (list, expected) in [
        ("['drain', 'load']", Code::Impossible),
        ("['load', 'load']", Code::Impossible),
        ("[]", Code::Impossible),
        ("['load', 'end']", Code::UnknownPhase),
    ] {
        assert_eq!(codes(&format!("{BASE}\n[windows]\ntotal = {list}")), [expected], "{list}");
    }
    assert_eq!(codes(&format!("{BASE}\n[windows]\nload = ['drain']")), [Code::BadName]);
}

#[test]
fn a_cell_with_a_mistake_is_unfit_and_the_others_are_not() {
    let text = format!(
        "{BASE}\n[[scenarios]]\nname = 'good'\n[[scenarios]]\nname = 'bad'\nnodes.p.version = 'new'\n[[scenarios]]\nname = 'alike'\nlike = 'bad'"
    );
    let reading = read(&[("spec.toml", &text)], Options::default());
    let of =
        |cells: &[runner::spec::LoweredCell]| cells.iter().map(|cell| cell.scenario.name.clone()).collect::<Vec<_>>();
    assert_eq!(of(&reading.spec.cells), ["good"]);
    // Told once, at the one place where it stands, and yet both are unfit.
    assert_eq!(of(&reading.spec.unfit), ["bad", "alike"]);
    assert_eq!(reading.issues.as_slice().len(), 1);
}

/// Texts that are nearly specs: pieces of a real one, cut, doubled and mixed with what TOML and templates are made of.
fn nearly_a_spec() -> impl Strategy<Value = String> {
    let lines: Vec<&'static str> = crate::spec_errors::RIGHT.lines().collect();
    let piece = prop_oneof![
        8 => proptest::sample::select(lines).prop_map(str::to_owned),
        1 => "[\\[\\]{}=\"'#,.a-z0-9% \n]{0,12}",
        1 => proptest::sample::select(vec!["{{", "}}", "{% raw %}", "[[scenarios]]", "like = 'text'", "include = ['x.toml']", "without = ['setup']", "'''", "\u{e9}\u{1F418}", "after = 'schema'", "[[scenarios.setup]]", "name = 'schema'"]).prop_map(str::to_owned),
    ];
    proptest::collection::vec(piece, 0..60).prop_map(|pieces| pieces.join("\n"))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn any_text_is_read_or_refused(text in ".{0,200}") {
        let _ = mistakes(&[("spec.toml", &text)], &crate::texts::facts(&[18]));
    }

    #[test]
    fn any_heap_of_lines_is_read_or_refused_with_every_mistake_in_its_file(text in nearly_a_spec(), other in nearly_a_spec()) {
        let error = mistakes(&[("spec.toml", &text), ("x.toml", &other)], &crate::texts::facts(&[18]));
        for issue in &error.issues {
            for (span, _) in &issue.labels {
                prop_assert!(error.sources.slice(*span).is_some(), "{}", issue.message);
            }
        }
        let _ = crate::texts::rendered(&error);
    }

    #[test]
    fn a_spec_with_bytes_cut_out_is_read_or_refused(cut in 0usize..1500, length in 1usize..40) {
        let mut text = crate::spec_errors::RIGHT.to_owned();
        if text.is_char_boundary(cut) && text.is_char_boundary(cut + length) {
            text.replace_range(cut..cut + length, "");
        }
        let _ = mistakes(&[("spec.toml", &text)], &crate::texts::facts(&[18]));
    }
}
