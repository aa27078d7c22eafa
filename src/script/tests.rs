//! Whole scripts with conditions, sleeps, results as variables and pipelines, as a driver sees them.

#![expect(clippy::unwrap_used, reason = "tests")]

use super::*;
use proptest::prelude::*;
use std::sync::Arc;

const ONE_ROW: ResultRows = ResultRows { query: 0, rows: 1, last: true };

fn machine(text: &str) -> Machine {
    let predefined = Predefined { client_id: 3, default_seed: 1, random_seed: 1, scale: 10 };
    Machine::new(&Arc::new(Script::parse(text).unwrap().into()), 1, predefined)
}

fn text(machine: &Machine, statement: usize) -> String {
    let mut text = Vec::new();
    machine.simple_text(machine.statement(statement), &mut text);
    String::from_utf8(text).unwrap()
}

/// The steps of a transaction in words; the last may be an error.
fn steps(machine: &mut Machine) -> Vec<String> {
    let mut told = Vec::new();
    loop {
        told.push(match machine.next() {
            Ok(Step::Statement(statement)) => text(machine, statement).trim_end().to_owned(),
            Ok(Step::Queue(statement)) => format!("queue {}", text(machine, statement).trim_end()),
            Ok(Step::Sync) => "sync".to_owned(),
            Ok(Step::EndPipeline) => "end".to_owned(),
            Ok(Step::Sleep(time)) => format!("sleep {time:?}"),
            Ok(Step::Finished) => return told,
            Err(error) => {
                told.push(error.to_string());
                return told;
            }
        });
    }
}

fn refused(text: &str) -> Vec<(String, String)> {
    let errors = Script::parse(text).err().unwrap_or_default();
    errors.into_iter().map(|error| (text[error.range].to_owned(), error.message)).collect()
}

#[test]
fn the_first_branch_whose_condition_holds_is_taken() {
    let text = "\\if :x < 1\nA;\n\\elif :x < 2\nB;\n\\elif :x < 3\nC;\n\\else\nD;\n\\endif\nE;\n";
    for (x, taken) in [("0", "A;"), ("1", "B;"), ("2", "C;"), ("3", "D;"), ("null", "D;")] {
        let mut machine = machine(text);
        machine.define("x", x);
        assert_eq!(steps(&mut machine), [taken, "E;"], "{x}");
    }
}

#[test]
fn conditions_hold_as_pgbench_has_it() {
    for (condition, holds) in [
        ("1", true),
        ("-1", true),
        ("0", false),
        ("0.0", false),
        ("0.1", true),
        ("true", true),
        ("false", false),
        ("null", false),
        ("not null", false),
        ("1 = 1 and 2 > 1", true),
        (":scale = 10", true),
    ] {
        let expected: &[&str] = if holds { &["A;"] } else { &[] };
        assert_eq!(steps(&mut machine(&format!("\\if {condition}\nA;\n\\endif"))), expected, "{condition}");
    }
}

#[test]
fn what_is_skipped_is_not_evaluated() {
    let text = "\\if false\n\\if 1/0\n\\set y 1/0\nA;\n\\elif 1/0\n\\else\nB;\n\\endif\n\\elif true\nC;\n\\elif 1/0\n\\else\n\
                \\set y 1/0\n\\endif";
    assert_eq!(steps(&mut machine(text)), ["C;"]);
}

#[test]
fn an_error_in_a_condition_names_its_command() {
    let told = |text: &str| steps(&mut machine(text)).pop().unwrap();
    assert_eq!(told("A;\n\\if 1/0\n\\endif"), "failed to evaluate \\if (command 2 of script 0): division by zero");
    assert_eq!(
        told("\\if false\n\\elif 1/0\n\\endif"),
        "failed to evaluate \\elif (command 2 of script 0): division by zero"
    );
    assert_eq!(
        told("\\if :nope\n\\endif"),
        "failed to evaluate \\if (command 1 of script 0): undefined variable \"nope\""
    );
}

#[test]
fn branches_out_of_place_are_refused_in_pgbenchs_words() {
    for (text, range, message) in [
        ("A;\n\\if true\nB;", "\\if true", "\\if without matching \\endif"),
        ("\\elif true\nA;", "\\elif true", "\\elif without matching \\if"),
        ("\\else\nA;", "\\else", "\\else without matching \\if"),
        ("\\endif\nA;", "\\endif", "\\endif without matching \\if"),
        ("\\if true\n\\else\n\\elif true\n\\endif", "\\elif true", "\\elif after \\else"),
        ("\\if true\n\\else\n\\else \n\\endif", "\\else", "\\else after \\else"),
    ] {
        assert_eq!(refused(text), [(range.to_owned(), message.to_owned())], "{text}");
    }
    // A condition that is wrong still opens its branch.
    assert_eq!(refused("\\if 1 +\nA;\n\\endif").len(), 1);
}

#[test]
fn sleeps_take_their_time_from_numbers_and_variables() {
    let text = "\\set t 2 * 1.5\n\\sleep 5\n\\sleep :t ms\n\\sleep 7us\n\\sleep -1 s\nA;";
    assert_eq!(steps(&mut machine(text)), ["sleep 5s", "sleep 3ms", "sleep 7µs", "sleep 0ns", "A;"]);
    let mut client = machine("\\sleep :x");
    assert_eq!(steps(&mut client), ["failed to evaluate \\sleep (command 1 of script 0): undefined variable \"x\""]);
    client.define("x", "soon");
    client.restart();
    assert_eq!(
        steps(&mut client),
        ["failed to evaluate \\sleep (command 1 of script 0): invalid sleep time \"soon\" for variable \"x\""]
    );
}

#[test]
fn a_result_becomes_variables() {
    let mut client =
        machine("SELECT 1 AS a \\gset\nSELECT 2 AS b; \\gset p_\nSELECT :a, :p_b, :p_n;\n\\set c :p_b + 1\nC :c;");
    assert_eq!(client.next(), Ok(Step::Statement(0)));
    client.capture(0, ONE_ROW, [(&b"a"[..], Some(&b"it''s"[..]))].into_iter()).unwrap();
    assert_eq!(client.next(), Ok(Step::Statement(1)));
    let columns = [(&b"b"[..], Some(&b"41"[..])), (b"n", None), (b"unused", Some(b"1"))];
    client.capture(1, ONE_ROW, columns.into_iter()).unwrap();
    assert_eq!(steps(&mut client), ["SELECT it''s, 41, ;", "C 42;"]);

    // A second transaction's values take the place of the first's.
    client.restart();
    assert_eq!(client.next(), Ok(Step::Statement(0)));
    client.capture(0, ONE_ROW, [(&b"a"[..], Some(&b"x"[..]))].into_iter()).unwrap();
    assert_eq!(client.text("a").as_deref(), Some("x"));
}

#[test]
fn a_result_that_is_not_one_row_ends_the_client() {
    let mut client = machine("A;\nSELECT 1 \\gset\n");
    assert_eq!(client.next(), Ok(Step::Statement(0)));
    assert_eq!(client.next(), Ok(Step::Statement(1)));
    for (rows, error) in [
        (0, "failed to evaluate \\gset (command 2 of script 0): query 0: expected one row, got 0"),
        (2, "failed to evaluate \\gset (command 2 of script 0): query 0: expected one row, got 2"),
    ] {
        let result = client.capture(1, ResultRows { rows, ..ONE_ROW }, std::iter::empty());
        assert_eq!(result.unwrap_err().to_string(), error);
    }
    let unnamed = client.capture(1, ONE_ROW, [(&b"?column?"[..], Some(&b"1"[..]))].into_iter()).unwrap_err();
    assert!(unnamed.to_string().contains("error storing into variable ?column?"), "{unnamed}");
    // Statements without \gset take nothing.
    client.capture(0, ResultRows { rows: 5, ..ONE_ROW }, std::iter::empty()).unwrap();
}

#[test]
fn aset_takes_the_last_row_of_each_result() {
    let mut client = machine("SELECT 1 AS a\\; SELECT 2 AS b \\aset\nSELECT :a, :b;");
    assert_eq!(client.next(), Ok(Step::Statement(0)));
    let results = [(0, 3, Some((&b"a"[..], &b"7"[..]))), (1, 0, None)];
    for (query, rows, column) in results {
        let columns = column.into_iter().map(|(name, value)| (name, Some(value)));
        client.capture(0, ResultRows { query, rows, last: query == 1 }, columns).unwrap();
    }
    assert_eq!(steps(&mut client), ["SELECT 7, :b;"]);
}

#[test]
fn results_are_taken_of_statements_only() {
    for (text, range) in [
        ("\\gset\nA;", "\\gset"),
        ("\\set x 1\n\\gset p_\nA;", "\\gset p_"),
        ("A \\gset\n\\gset\n", "\\gset"),
        ("\\if true\nA;\n\\endif\n\\gset", "\\gset"),
    ] {
        assert_eq!(refused(text), [(range.to_owned(), "\\gset must follow an SQL command".to_owned())], "{text}");
    }
    assert_eq!(refused("\\aset")[0].1, "\\aset must follow an SQL command");
}

#[test]
fn a_name_that_a_result_may_give_counts_as_given() {
    let undefined = |text: &str| {
        let script = Script::parse(text).unwrap();
        script.undefined().iter().map(|(name, _)| name.clone()).collect::<Vec<_>>()
    };
    assert_eq!(undefined("A :x;\nB \\gset\nC :x;"), ["x"]);
    assert_eq!(undefined("B \\gset p_\nC :x, :p_x;"), ["x"]);
    assert_eq!(undefined("\\if :y\n\\set x 1\n\\endif\nC :x;\n\\sleep :z"), ["y", "z"]);
    let script = Script::parse("\\set a 1\nA :b \\aset c_\n").unwrap();
    let may = ["a", "b", "c_d", "scale"].map(|name| script.may_define(name));
    assert_eq!(may, [true, false, true, true]);
}

#[test]
fn a_pipeline_queues_its_statements() {
    let text = "A;\n\\startpipeline\nB;\n\\set x 1\n\\sleep 1ms\nC :x;\n\\syncpipeline\nD;\n\\endpipeline\nE;";
    let mut client = machine(text);
    let expected = ["A;", "queue B;", "sleep 1ms", "queue C 1;", "sync", "queue D;", "end", "E;"];
    assert_eq!(steps(&mut client), expected);
    assert_eq!(&text[Script::parse(text).unwrap().pipelines().unwrap()], "\\startpipeline");
    // A transaction that was given up in a pipeline leaves none behind.
    client.restart();
    for _ in 0..3 {
        client.next().unwrap();
    }
    client.restart();
    assert_eq!(steps(&mut client), expected);
}

#[test]
fn pipelines_out_of_place_are_refused() {
    for (text, range, message) in [
        ("\\startpipeline\nA;", "\\startpipeline", "end of script reached with pipeline open"),
        ("\\startpipeline\n\\startpipeline \n\\endpipeline", "\\startpipeline", "already in pipeline mode"),
        ("\\endpipeline\nA;", "\\endpipeline", "not in pipeline mode"),
        ("A;\n\\syncpipeline", "\\syncpipeline", "not in pipeline mode"),
        ("\\startpipeline\nA \\gset\n\\endpipeline", "\\gset", "\\gset is not allowed in pipeline mode"),
        ("\\startpipeline\nA \\aset x_\n\\endpipeline", "\\aset x_", "\\aset is not allowed in pipeline mode"),
        (
            "\\if true\n\\startpipeline\n\\else\n\\startpipeline\n\\endif\nA;",
            "\\startpipeline",
            "end of script reached with pipeline open",
        ),
    ] {
        assert_eq!(refused(text), [(range.to_owned(), message.to_owned())], "{text}");
    }
}

#[test]
fn a_pipeline_that_only_some_branches_open_is_checked_as_it_runs() {
    let start = "\\if :client_id = 3\n\\startpipeline\n\\endif\n";
    let told = |rest: &str| steps(&mut machine(&format!("{start}{rest}")));
    assert_eq!(told("A;\n\\if true\n\\endpipeline\n\\endif"), ["queue A;", "end"]);
    for (rest, error) in [
        ("A;", "\\startpipeline (command 4 of script 0): end of script reached with pipeline open"),
        ("\\startpipeline\n\\endpipeline", "\\startpipeline (command 4 of script 0): already in pipeline mode"),
        ("A \\gset\n\\endpipeline", "\\gset (command 4 of script 0): it is not allowed in pipeline mode"),
    ] {
        let told = told(rest).pop().unwrap();
        assert!(told.contains(error), "{told}");
    }
    let mut other = machine("\\if :client_id = 4\n\\startpipeline\n\\endif\nA;\n\\syncpipeline\n\\endpipeline");
    assert!(steps(&mut other).pop().unwrap().contains("not in pipeline mode"));
}

proptest! {
    /// Nested branches against a plain interpreter of the same tree.
    #[test]
    fn nested_branches_run_what_their_conditions_say(tree in tree()) {
        let mut expected = Vec::new();
        for node in &tree {
            node.run(&mut expected);
        }
        let text: String = tree.iter().map(Node::text).chain(["Z;\n".to_owned()]).collect();
        expected.push("Z;".to_owned());
        prop_assert_eq!(steps(&mut machine(&text)), expected, "{}", text);
    }

    #[test]
    fn any_lines_are_parsed_or_refused_and_what_is_parsed_ends(
        lines in prop::collection::vec(prop::sample::select(vec![
            "\\if true", "\\if false", "\\elif true", "\\elif :x", "\\else", "\\endif", "\\startpipeline",
            "\\syncpipeline", "\\endpipeline", "A;", "B \\gset", "\\set x 1", "\\sleep 1us",
        ]), 0..14),
    ) {
        if let Ok(script) = Script::parse(&lines.join("\n")) {
            let predefined = Predefined { client_id: 3, default_seed: 1, random_seed: 1, scale: 10 };
            let mut machine = Machine::new(&Arc::new(script.into()), 1, predefined);
            prop_assert!(steps(&mut machine).len() <= lines.len() + 1);
        }
    }
}

/// A piece of a script.
#[derive(Debug, Clone)]
enum Node {
    Statement(u8),
    /// Branches with their conditions, then what holds otherwise.
    If(Vec<(bool, Vec<Node>)>, Option<Vec<Node>>),
}

impl Node {
    fn text(&self) -> String {
        let body = |nodes: &[Node]| nodes.iter().map(Node::text).collect::<String>();
        match self {
            Node::Statement(number) => format!("S{number};\n"),
            Node::If(branches, otherwise) => {
                let mut text = String::new();
                for (index, (condition, nodes)) in branches.iter().enumerate() {
                    let command = if index == 0 { "if" } else { "elif" };
                    text.push_str(&format!("\\{command} {condition}\n{}", body(nodes)));
                }
                if let Some(nodes) = otherwise {
                    text.push_str(&format!("\\else\n{}", body(nodes)));
                }
                text + "\\endif\n"
            }
        }
    }

    fn run(&self, out: &mut Vec<String>) {
        match self {
            Node::Statement(number) => out.push(format!("S{number};")),
            Node::If(branches, otherwise) => {
                let taken = branches.iter().find(|(condition, _)| *condition).map(|(_, nodes)| nodes);
                taken.or(otherwise.as_ref()).into_iter().flatten().for_each(|node| node.run(out));
            }
        }
    }
}

fn tree() -> impl Strategy<Value = Vec<Node>> {
    let leaf = (0..9_u8).prop_map(Node::Statement);
    let node = leaf.prop_recursive(4, 40, 4, |inner| {
        let nodes = prop::collection::vec(inner, 0..3);
        let branches = prop::collection::vec((any::<bool>(), nodes.clone()), 1..4);
        (branches, prop::option::of(nodes)).prop_map(|(branches, otherwise)| Node::If(branches, otherwise))
    });
    prop::collection::vec(node, 0..4)
}
