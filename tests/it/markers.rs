//! Where a plan waits for the marker, and how phases follow one another: read off the instructions.

use runner::plan::Plan;
use runner::plan::instruction::{Activity, Instruction};
use runner::spec::Options;

use crate::texts::{facts, read};

/// Nodes and publications of a mesh; subscriptions are each case's.
const MESH: &str = r#"
[postgres]
version = "18"
[postgres.settings]
wal_level = "logical"
[nodes.a]
[nodes.b]
[nodes.c]
[[setup]]
name = "schema"
nodes = "all"
sql = "CREATE TABLE t (id int PRIMARY KEY)"
[publications]
a = { node = "a", tables = ["t"] }
b = { node = "b", tables = ["t"] }
c = { node = "c", tables = ["t"] }
[workloads.w]
node = "a"
transactions = 1
script = "INSERT INTO t VALUES (1)"
[[phases]]
name = "load"
run = ["w"]
[[phases]]
name = "drain"
wait = "applied"
"#;

fn plan(more: &str) -> Plan {
    let text = format!("{MESH}{more}");
    let mut reading = read(&[("spec.toml", &text)], Options::default());
    let plan = reading.plan(&facts(&[18]));
    assert!(reading.issues.is_empty(), "{:?}", reading.issues.as_slice());
    plan
}

/// Nodes and slots that the marker is awaited on, with how often.
fn awaited(plan: &Plan, phase: usize) -> Vec<(String, u32)> {
    let activities = &plan.cells[0].turn.phases[phase].activities;
    let of = activities.iter().find_map(|activity| match activity {
        Activity::Marker { nodes, slots, .. } => Some(nodes.iter().chain(slots).cloned().collect()),
        _ => None,
    });
    of.unwrap_or_default()
}

fn list(places: &[(&str, u32)]) -> Vec<(String, u32)> {
    places.iter().map(|(place, times)| ((*place).to_owned(), *times)).collect()
}

#[test]
fn in_a_mesh_without_origins_each_node_gets_the_marker_once() {
    let mut more = String::new();
    for (from, to) in [("a", "b"), ("a", "c"), ("b", "a"), ("b", "c"), ("c", "a"), ("c", "b")] {
        more += &format!(
            "[subscriptions.{from}_{to}]\nnode = \"{to}\"\npublications = [\"{from}\"]\noptions = {{ origin = \"none\", copy_data = false }}\n"
        );
    }
    assert_eq!(awaited(&plan(&more), 1), list(&[("b", 1), ("c", 1)]));
}

#[test]
fn a_node_with_two_ways_gets_it_twice_and_one_behind_a_filter_never() {
    let two = "[subscriptions]\nab = { node = \"b\", publications = [\"a\"] }\nbc = { node = \"c\", publications = [\"b\"] }\n\
               ac = { node = \"c\", publications = [\"a\"] }\n";
    assert_eq!(awaited(&plan(two), 1), list(&[("b", 1), ("c", 2)]));
    let filtered = "[subscriptions]\nab = { node = \"b\", publications = [\"a\"] }\n\
                    bc = { node = \"c\", publications = [\"b\"], options = { origin = \"none\" } }\n";
    assert_eq!(awaited(&plan(filtered), 1), list(&[("b", 1)]));
}

#[test]
fn slots_wait_with_the_nodes_unless_nothing_takes_their_stream() {
    let slots = "[subscriptions]\nab = { node = \"b\", publications = [\"a\"] }\n[slots]\n\
                 here = { node = \"a\", plugin = \"test_decoding\" }\nkept = { node = \"a\", plugin = \"test_decoding\", consumer = \"none\" }\n\
                 below = { node = \"b\", plugin = \"test_decoding\" }\n\
                 apart = { node = \"c\", plugin = \"test_decoding\" }\n";
    assert_eq!(awaited(&plan(slots), 1), list(&[("b", 1), ("here", 1), ("below", 1)]));
}

#[test]
fn a_phase_that_only_waits_follows_and_what_it_listens_with_is_ready_before() {
    let sub = "[subscriptions]\nab = { node = \"b\", publications = [\"a\"] }\n";
    let more = format!(
        "{sub}[[phases]]\nname = \"again\"\nrun = [\"w\"]\n[[phases]]\nname = \"rest\"\nstart = [{{ nodes = [\"a\"], sql = \"SELECT 1\" }}]\nwait = \"applied\"\n\
         [[phases]]\nname = \"pause\"\nhold = \"1s\"\n"
    );
    let plan = plan(&more);
    let phases = &plan.cells[0].turn.phases;
    let follows: Vec<bool> = phases.iter().map(|phase| phase.follows).collect();
    // A load and an action at the start have clocks of their own.
    assert_eq!(follows, [false, true, false, false, true]);
    let listens = |phase: usize| {
        phases[phase]
            .prepare
            .iter()
            .any(|instruction| matches!(instruction, Instruction::Ready { activity: Activity::Marker { .. } }))
    };
    assert_eq!([0, 1, 2, 3].map(listens), [true, false, false, true]);
}

#[test]
fn a_subscription_that_a_later_phase_creates_is_awaited_from_then_on() {
    let more = "[subscriptions]\nab = { node = \"b\", publications = [\"a\"] }\n\
                [[phases]]\nname = \"copy\"\nstart = [{ create = \"subscriptions.ab\" }]\nwait = \"synced\"\n\
                [[phases]]\nname = \"last\"\nwait = \"applied\"\n";
    let plan = plan(more);
    assert_eq!(awaited(&plan, 1), []);
    assert_eq!(awaited(&plan, 3), list(&[("b", 1)]));
    let built = plan.cells[0].turn.up.iter().any(|step| step.what.contains("subscription `ab`"));
    assert!(!built, "the building does not create it");
    let created = plan.cells[0].turn.phases[2].start.iter().any(|instruction| {
        matches!(instruction, Instruction::Sql { sql, .. } if sql.display().starts_with("CREATE SUBSCRIPTION"))
    });
    assert!(created);
}
