//! A plan as one POSIX shell script on initdb, postgres, psql and pgbench, which a person can run without us.
//!
//! The SQL is the plan's own; what differs is the measuring: psql polls, pgbench connects within the clock, and no
//! CPU or WAL is read. What is the same in every script stands in `shell/functions.sh`. Pure.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::Path;
use std::time::Duration;

use super::display::words;
use super::facts::Release;
use super::instruction::{Activity, Condition, Filling, Instruction, PhasePlan, SqlText};
use super::node::NodePlan;
use super::sql::checksum::{self, Projection};
use super::sql::{marker, subscription, synchronous};
use super::{Cell, Plan, pgbench};
use crate::spec::Spec;
use crate::spec::scenario::{Extent, Transport};
use crate::text::quote::{literal, shell_word};

const FUNCTIONS: &str = include_str!("shell/functions.sh");

/// The script. `clients` is the folder of psql and pgbench, where known.
pub fn script(plan: &Plan, spec: &Spec, clients: Option<&Path>) -> String {
    let mut out = Script { text: String::new() };
    out.head(plan, spec, clients);
    out.text.push_str(FUNCTIONS);
    out.line("");
    out.line("# Settings that change text, fixed on both sides.");
    out.line("session() {");
    out.here("    cat", "SQL", &format!("{};", checksum::SESSION));
    out.line("}");
    let mut calls = Vec::new();
    for cell in &plan.cells {
        let function = format!("scenario_{}", word(&cell.name));
        out.cell(cell, plan, &function);
        calls.push(function);
    }
    out.line("");
    out.line("round=1");
    out.line("while [ \"$round\" -le \"$ROUNDS\" ]; do");
    for call in calls {
        out.line(&format!("    {call}"));
    }
    out.line("    round=$((round + 1))");
    out.line("done");
    out.line("exit \"$DIFFERED\"");
    out.text
}

/// A name as part of a shell variable or function.
fn word(name: &str) -> String {
    name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect()
}

/// The variable that holds a node's folder of programs: the node's own, and the scenario's too where it runs
/// another build than in the first scenario that has it.
fn bin_variable(plan: &Plan, cell: &Cell, node: &str) -> String {
    let build = |cell: &Cell| cell.nodes.get(node).map(|node| (node.build.clone(), node.wanted.clone()));
    let first = plan.cells.iter().find_map(build);
    let plain = format!("PG_BIN_{}", node.to_uppercase());
    if first == build(cell) { plain } else { format!("{plain}_{}", word(&cell.name).to_uppercase()) }
}

/// A value of postgresql.conf, quoted as its scanner reads it.
fn setting(value: &str) -> String {
    let escaped = value.replace('\\', "\\\\").replace('\'', "''").replace('\n', "\\n").replace('\r', "\\r");
    format!("'{escaped}'")
}

/// Seconds as `sleep` takes them.
fn seconds(length: Duration) -> String {
    format!("{}", length.as_secs_f64())
}

struct Script {
    text: String,
}

impl Script {
    fn line(&mut self, text: &str) {
        self.text.push_str(text);
        self.text.push('\n');
    }

    /// A comment; the text may have lines.
    fn note(&mut self, indent: &str, text: &str) {
        for line in text.lines() {
            self.line(&format!("{indent}# {line}"));
        }
    }

    /// A command with a text on its standard input, in which the shell expands nothing.
    fn here(&mut self, command: &str, delimiter: &str, body: &str) {
        let mut delimiter = delimiter.to_owned();
        while body.lines().any(|line| line == delimiter) {
            delimiter.push('_');
        }
        self.line(&format!("{command} <<'{delimiter}'"));
        self.line(body.strip_suffix('\n').unwrap_or(body));
        self.line(&delimiter);
    }

    fn head(&mut self, plan: &Plan, spec: &Spec, clients: Option<&Path>) {
        self.line("#!/bin/sh");
        self.note("", &spec.title);
        self.line("#");
        self.line(&format!("# Written by `runner plan --format sh` from the plan with digest {}.", plan.digest));
        self.line(
            "# Run it with `sh FILE`, as an ordinary user; as root it runs again as $RUN_AS. It prints the seconds of",
        );
        self.line(
            "# each phase and whether the nodes hold the same rows; it ends with 1 if they do not, or if a step fails.",
        );
        self.line("set -eu");
        self.line("");
        self.line("ROUNDS=${ROUNDS:-1}");
        self.line(&format!("SEED=${{SEED:-{}}}", spec.run.seed.value));
        self.line("RUN_AS=${RUN_AS:-postgres}");
        self.line("# Folder that the private folder of data and sockets is made in.");
        self.line("WORK_DIR=${WORK_DIR:-/tmp}");
        self.line("# Folder of psql and pgbench.");
        self.bin("PG_BIN_CLIENT", clients, "psql and pgbench");
        let mut told = BTreeSet::new();
        for cell in &plan.cells {
            for (name, node) in &cell.nodes {
                let variable = bin_variable(plan, cell, name);
                if told.insert(variable.clone()) {
                    let what = node
                        .build
                        .as_ref()
                        .map_or_else(|| node.wanted.to_string(), |build| format!("PostgreSQL {}", build.release));
                    self.line(&format!("# Folder of initdb and postgres of node {name}: {what}."));
                    let bin = node.build.as_ref().and_then(|build| build.bin.as_deref());
                    self.bin(&variable, bin, &format!("initdb and postgres of {what}"));
                }
            }
        }
        let names: Vec<String> = told.into_iter().collect();
        self.line(&format!("export {}", names.join(" ")));
        self.line("");
    }

    /// A variable that the environment overrides. A folder's quotes are taken by an assignment of its own, since
    /// within `${…:-…}` they would not be in every shell.
    fn bin(&mut self, variable: &str, folder: Option<&Path>, what: &str) {
        match folder {
            Some(folder) => self.line(&format!(
                "[ -n \"${{{variable}:-}}\" ] || {variable}={}",
                shell_word(&folder.display().to_string())
            )),
            None => self.line(&format!("{variable}=${{{variable}:?set it to the folder of {what}}}")),
        }
    }

    fn cell(&mut self, cell: &Cell, plan: &Plan, function: &str) {
        self.line("");
        let title = cell.scenario.title.split_whitespace().collect::<Vec<_>>().join(" ");
        self.line(&format!("# ---- Scenario {}: {title} ----", cell.name));
        self.line(&format!("{function}() {{"));
        let heading = shell_word(&format!("{}: {title}", cell.name));
        self.line(&format!("    printf '%s, round %s\\n' {heading} \"$round\""));
        let transport = if cell.scenario.transport.value == Transport::Tcp { "tcp" } else { "unix" };
        self.line(&format!("    TRANSPORT={transport}"));
        for (name, load) in &cell.scenario.workloads {
            self.line(&format!("    mkdir -p \"$WORK/scripts-{name}\""));
            for script in load.scripts.iter().filter(|script| script.builtin.is_none()) {
                let file = pgbench::file_name(script);
                self.here(&format!("    cat >\"$WORK/scripts-{name}/{file}\""), "SCRIPT", &script.text);
            }
        }
        for step in &cell.turn.up {
            self.line("");
            self.note("    ", &format!("{}: {}", step.stage.as_str(), step.what));
            self.instruction(cell, plan, &step.instruction);
        }
        for phase in &cell.turn.phases {
            self.phase(cell, plan, phase);
        }
        self.line("");
        self.line("    # finish: convergence");
        for instruction in cell.turn.finish.iter().chain(&cell.turn.down) {
            self.instruction(cell, plan, instruction);
        }
        self.line("}");
    }

    fn phase(&mut self, cell: &Cell, plan: &Plan, phase: &PhasePlan) {
        self.line("");
        let warm_up = if phase.measure { "" } else { " (not measured)" };
        self.line(&format!("    # phase {}{warm_up}", phase.name));
        for instruction in &phase.prepare {
            self.instruction(cell, plan, instruction);
        }
        self.line("    began=$(now)");
        for instruction in &phase.start {
            self.instruction(cell, plan, instruction);
        }
        let mut loads = Vec::new();
        for activity in &phase.activities {
            if let Activity::Load { workload } = activity {
                self.load(cell, workload);
                self.line(&format!("    load_{}=$!", loads.len()));
                loads.push(format!("wait \"$load_{}\"", loads.len()));
            }
        }
        for wait in &loads {
            self.line(&format!("    {wait}"));
        }
        let mut arrives = false;
        for activity in &phase.activities {
            arrives |= matches!(activity, Activity::Marker { .. } | Activity::Received { .. } | Activity::Sync { .. });
            self.activity(cell, activity, phase.bound);
        }
        if let Filling::Hold(length) = phase.filling {
            self.line(&format!("    sleep {}", seconds(length)));
        }
        let alone = !arrives && phase.start.iter().any(|start| matches!(start, Instruction::Mark { .. }));
        if alone {
            self.line("    # Nothing is downstream: the phase has no duration of its own.");
            self.line(&format!("    printf '  phase %-20s %9s\\n' {} –", phase.name));
        } else {
            self.line(&format!("    took {} \"$began\"", phase.name));
        }
    }

    /// Waits for an activity that is not a load.
    fn activity(&mut self, cell: &Cell, activity: &Activity, bound: Duration) {
        match activity {
            Activity::Marker { id, nodes, slots } => {
                for (node, times) in nodes {
                    let what = format!("marker {id} is visible on {node}");
                    self.wait(bound, node, &times.to_string(), &what, &marker::count(*id));
                }
                // Nothing is written after the marker, and what was sent to a client that keeps up was received.
                for (slot, _) in slots {
                    let query = format!(
                        "SELECT count(*) FROM pg_catalog.pg_stat_replication w JOIN pg_catalog.pg_replication_slots s ON s.active_pid = w.pid\nWHERE w.sent_lsn >= pg_catalog.pg_current_wal_flush_lsn() AND s.slot_name = {}",
                        literal(slot)
                    );
                    let what = format!("marker {id} has been sent from {slot}");
                    self.wait(bound, &cell.scenario.slots[slot.as_str()].node, "1", &what, &query);
                }
            }
            Activity::Received { subscriptions } => {
                for name in subscriptions {
                    let query = format!(
                        "SELECT count(*) FROM pg_catalog.pg_stat_replication\nWHERE write_lsn >= pg_catalog.pg_current_wal_flush_lsn() AND application_name = {}",
                        literal(name)
                    );
                    let publisher = &cell.scenario.subscriptions[name.as_str()].publisher;
                    self.wait(bound, publisher, "1", &format!("{name} has received the marker"), &query);
                }
            }
            Activity::Sync { subscriptions } => {
                for name in subscriptions {
                    self.condition(cell, &Condition::Synced { subscription: name.clone() }, bound);
                }
            }
            Activity::Load { .. } | Activity::Startup { .. } => {}
        }
    }

    fn load(&mut self, cell: &Cell, name: &str) {
        let load = &cell.scenario.workloads[name];
        let scripts = pgbench::scripts(load, &format!("$WORK/scripts-{name}"));
        // Names and weights need no quoting but that of the folder.
        let scripts: Vec<String> = scripts
            .iter()
            .map(|word| if word.starts_with('$') { format!("\"{word}\"") } else { word.clone() })
            .collect();
        let scripts = scripts.join(" ");
        if load.by_pgbench() {
            // Whatever version is there takes these.
            let oldest = Release { major: 14, minor: 0 };
            let options = pgbench::options(load, Some(oldest), &pgbench::Options::of(load));
            self.line(&format!("    load {} {name} {} {scripts} &", load.node, options.join(" ")));
            return;
        }
        let clients = u64::from(load.clients.value);
        let threads = load.threads.as_ref().map_or(1, |threads| u64::from(threads.value)).min(clients);
        let extent = match load.extent {
            Extent::Transactions(all) => {
                let each = all.div_ceil(clients);
                if each * clients != all {
                    self.note(
                        "    ",
                        &format!(
                            "pgbench counts by client: {all} transactions of {clients} clients become {each} of each, {} in all.",
                            each * clients
                        ),
                    );
                }
                format!("-t {each}")
            }
            Extent::Duration(length) => {
                let whole = length.as_secs() + u64::from(length.subsec_nanos() > 0);
                if Duration::from_secs(whole) != length {
                    self.note("    ", &format!("pgbench takes whole seconds: {} s become {whole}.", seconds(length)));
                }
                format!("-T {}", whole.max(1))
            }
        };
        let own_scale = load.scale.filter(|_| load.scripts.iter().all(|script| script.builtin.is_none()));
        let scale = own_scale.map_or_else(String::new, |scale| format!(" -s {scale}"));
        let mut more = String::new();
        if let Some(rate) = &load.rate {
            more += &format!(" -R {}", rate.value);
        }
        if let Some(limit) = &load.latency_limit {
            more += &format!(" -L {}", seconds(limit.value * 1000));
        }
        if load.max_tries.value != 1 {
            more += &format!(" --max-tries={}", load.max_tries.value);
        }
        self.line(&format!(
            "    load {} {name} -n -M {} -c {clients} -j {threads} {extent}{scale}{more} {scripts} &",
            load.node,
            load.protocol.value.as_str()
        ));
    }

    fn instruction(&mut self, cell: &Cell, plan: &Plan, instruction: &Instruction) {
        match instruction {
            Instruction::Start { nodes } => {
                for name in nodes {
                    self.start(name, &cell.nodes[name.as_str()], &bin_variable(plan, cell, name));
                }
                // Nothing is kept here: the steps run each time.
                for step in &cell.turn.up {
                    if let Instruction::Data(dataset) = &step.instruction {
                        for (what, sql) in &dataset.steps {
                            self.note("    ", what);
                            self.sql(&dataset.node, &SqlText::plain(sql));
                        }
                    }
                }
            }
            Instruction::Stop { .. } => self.line("    stop_nodes"),
            Instruction::Sql { node, sql } | Instruction::Mark { node, sql, .. } => self.sql(node, sql),
            Instruction::Await { condition, bound } => self.condition(cell, condition, *bound),
            Instruction::Consume(consume) => {
                let options: Vec<String> = consume
                    .options
                    .iter()
                    .map(|option| match &option.value {
                        Some(value) => shell_word(&format!("{}={value}", option.name)),
                        None => shell_word(&option.name),
                    })
                    .map(|option| format!(" -o {option}"))
                    .collect();
                self.line(&format!("    consume {} {}{}", consume.node, consume.slot, options.concat()));
            }
            // What is read, and what is opened before a clock, has no counterpart here.
            Instruction::Data(_) | Instruction::Ready { .. } | Instruction::Open { .. } | Instruction::Close { .. } => {
            }
            Instruction::Settle => {
                for (name, subscribed) in &cell.scenario.subscriptions {
                    self.sql(&subscribed.node, &subscription::disable(name));
                }
                for name in cell.scenario.subscriptions.keys() {
                    let condition = Condition::Disabled { subscription: name.clone() };
                    self.condition(cell, &condition, Duration::from_mins(1));
                }
            }
            Instruction::Verify { projections } => {
                self.note("    ", &words(instruction).0);
                for projection in projections {
                    self.compare(projection);
                }
            }
        }
    }

    fn start(&mut self, name: &str, node: &NodePlan, bin: &str) {
        let major = node.build.as_ref().map_or(0, |build| build.release.major);
        let checksums = match node.checksums {
            Some(true) => " --data-checksums",
            // Before 18 off was the default and this switch did not exist.
            Some(false) if major >= 18 => " --no-data-checksums",
            _ => "",
        };
        let conf: Vec<String> =
            node.settings.iter().map(|(key, planned)| format!("{key} = {}", setting(&planned.value))).collect();
        self.here(&format!("    start_node {name} \"${bin}\"{checksums}"), "CONF", &conf.join("\n"));
    }

    /// SQL by psql, connection strings as its variables, which it quotes.
    fn sql(&mut self, node: &str, sql: &SqlText) {
        let named = std::cell::RefCell::new(BTreeSet::new());
        let text = sql.resolve(|_, to, _| {
            named.borrow_mut().insert(to.to_owned());
            format!(":'{to}'")
        });
        let mut command = format!("    sql {node}");
        for to in named.into_inner() {
            write!(command, " -v {to}=\"$(conninfo {to})\"").expect("writing to a string cannot fail");
        }
        self.here(&command, "SQL", &text);
    }

    fn wait(&mut self, bound: Duration, node: &str, value: &str, what: &str, query: &str) {
        let bound = bound.as_secs().max(1);
        self.here(&format!("    wait_for {bound} {node} {value} {}", shell_word(what)), "SQL", query);
    }

    fn condition(&mut self, cell: &Cell, condition: &Condition, bound: Duration) {
        let slot = |name: &str| {
            format!(
                "SELECT count(*) FROM pg_catalog.pg_replication_slots WHERE active AND slot_name = {}",
                literal(name)
            )
        };
        match condition {
            Condition::Synced { subscription: name } => {
                let subscribed = &cell.scenario.subscriptions[name.as_str()];
                let unready = format!(
                    "SELECT count(*) FROM pg_catalog.pg_subscription_rel r JOIN pg_catalog.pg_subscription s ON s.oid = r.srsubid\nWHERE r.srsubstate <> 'r' AND s.subname = {}",
                    literal(name)
                );
                self.wait(bound, &subscribed.node, "0", &format!("every table of {name} is ready"), &unready);
                self.wait(bound, &subscribed.publisher, "1", &format!("the slot of {name} is active"), &slot(name));
            }
            Condition::Disabled { subscription: name } => {
                let subscribed = &cell.scenario.subscriptions[name.as_str()];
                let running = format!(
                    "SELECT count(*) FROM pg_catalog.pg_stat_subscription WHERE pid IS NOT NULL AND subname = {}",
                    literal(name)
                );
                self.wait(bound, &subscribed.node, "0", &format!("no worker of {name} runs"), &running);
                self.wait(bound, &subscribed.publisher, "0", &format!("the slot of {name} is inactive"), &slot(name));
            }
            Condition::Synchronous { node, states } => {
                let count = states.len().to_string();
                self.wait(bound, node, &count, "synchronous names are in force", &synchronous::in_force(states));
            }
            Condition::LauncherFree { node } => {
                self.note("    ", "Before 16 no worker is started within this time of the last start.");
                self.line(&format!(
                    "    sleep \"$(sql {node} -c \"SELECT setting::int / 1000.0 FROM pg_settings WHERE name = 'wal_retrieve_retry_interval'\")\""
                ));
            }
        }
    }

    /// The query that lists tables with the SQL of their rows, made into one that writes a script of checksums.
    fn compare(&mut self, projection: &Projection) {
        const ROWS: &str = "@rows@";
        let digest = checksum::digest(ROWS);
        let (before, after) = digest.split_once(ROWS).unwrap_or_default();
        let query = format!(
            "{session};\nSELECT CASE WHEN operations IN ('', 'truncate')\n  THEN 'SELECT ' || quote_literal(table_name) || ', d.* FROM (' || {before} || rows_sql || {after} || ') AS d;'\n  ELSE 'SELECT ' || quote_literal('table ' || table_name || ' is not compared: ' || operations || ' is not published') || ', NULL, NULL;' END\nFROM (\n{tables}\n) AS tables;",
            session = checksum::SESSION,
            before = literal(before),
            after = literal(after),
            tables = projection.tables_sql,
        );
        self.here(&format!("    compare {} {}", projection.publisher, projection.subscriber), "SQL", &query);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_never_ends_its_own_here_document() {
        let mut script = Script { text: String::new() };
        script.here("sql a", "SQL", "SELECT '\nSQL\n$HOME';\n");
        assert_eq!(script.text, "sql a <<'SQL_'\nSELECT '\nSQL\n$HOME';\nSQL_\n");
    }

    #[test]
    fn settings_are_quoted_for_the_servers_scanner() {
        assert_eq!(setting("it's a \\ \n"), "'it''s a \\\\ \\n'");
    }
}
