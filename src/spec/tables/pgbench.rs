//! What pgbench asks of a workload beyond the language: what its options cannot say, and the tables of its built-in
//! scripts. What its scripts may hold is the script language's matter.

use crate::script::Builtin;
use crate::spec::scalar::Word;
use crate::spec::scenario::{Engine, Extent, Setup, SetupWork, Workload};
use crate::spec::scope::Scope;
use crate::text::{Code, Issue, Span, format_duration};

impl Word for Builtin {
    const EXPECTED: &'static str = "`tpcb-like`, `simple-update` or `select-only`";
    const WORDS: &'static [(&'static str, Self)] = &[
        ("tpcb-like", Builtin::TpcbLike),
        ("simple-update", Builtin::SimpleUpdate),
        ("select-only", Builtin::SelectOnly),
    ];
}

impl Word for Engine {
    const EXPECTED: &'static str = "`runner` or `pgbench`";
    const WORDS: &'static [(&'static str, Self)] = &[("runner", Engine::Runner), ("pgbench", Engine::Pgbench)];
}

/// The scale of the tables that the last `pgbench_init` on `node` makes.
pub(super) fn scale_of(setup: &[Setup], node: &str) -> Option<u32> {
    setup.iter().rev().filter(|step| step.nodes.iter().any(|name| name == node)).find_map(|step| match &step.work {
        SetupWork::PgbenchInit(init) => Some(init.scale),
        SetupWork::Sql(_) => None,
    })
}

/// An extent that pgbench has no option for: it counts transactions by client, and time in seconds.
pub(super) fn check_extent(name: &str, load: &Workload, at: Span, scope: &mut Scope<'_, '_>) {
    if !load.by_pgbench() {
        return;
    }
    let clients = u64::from(load.clients.value);
    match load.extent {
        Extent::Transactions(all) if all % clients != 0 => {
            let (below, above) = (all / clients * clients, all.div_ceil(clients) * clients);
            let nearest = if below == 0 { above.to_string() } else { format!("{below} or {above}") };
            scope.tell(
                Issue::new(
                    Code::Impossible,
                    format!(
                        "workload `{name}`: pgbench counts transactions by client, and {all} do not divide by {clients}"
                    ),
                    at,
                    format!("of {clients} clients together"),
                )
                .help(format!("write {nearest}, or choose engine = \"runner\"")),
            );
        }
        Extent::Duration(length) if length.as_secs() == 0 || length.subsec_nanos() > 0 => {
            let whole = length.as_secs() + u64::from(length.subsec_nanos() > 0);
            scope.tell(
                Issue::new(
                    Code::Impossible,
                    format!(
                        "workload `{name}`: pgbench takes a duration in whole seconds, not {}",
                        format_duration(length)
                    ),
                    at,
                    "not whole seconds",
                )
                .help(format!("write \"{}s\", or choose engine = \"runner\"", whole.max(1))),
            );
        }
        _ => {}
    }
}

/// What is only known from pgbench's log, asked of a pgbench that keeps none.
pub(super) fn check_log(name: &str, load: &Workload, scope: &mut Scope<'_, '_>) {
    let (false, Some(at)) = (load.log.value, load.log.at) else { return };
    if !load.by_pgbench() {
        return;
    }
    let asked = if load.scripts.len() > 1 {
        "what each of several scripts did"
    } else if load.latency_limit.is_some() {
        "which transactions are late or skipped (`latency_limit`)"
    } else if load.max_tries.value != 1 {
        "how often transactions are tried (`max_tries`)"
    } else {
        return;
    };
    scope.tell(
        Issue::new(
            Code::Impossible,
            format!("workload `{name}`: {asked} is only known from pgbench's log"),
            at,
            "no log",
        )
        .help("leave `log` out, or choose engine = \"runner\""),
    );
}

/// A built-in script on a node where no step makes its tables. SQL that names them is trusted to.
pub(super) fn check_tables(name: &str, load: &Workload, setup: &[Setup], scope: &mut Scope<'_, '_>) {
    let Some(script) = load.scripts.iter().find(|script| script.builtin.is_some()) else { return };
    let makes = |step: &Setup| match &step.work {
        SetupWork::PgbenchInit(_) => true,
        SetupWork::Sql(sql) => sql.contains("pgbench_"),
    };
    if setup.iter().any(|step| step.nodes.contains(&load.node) && makes(step)) {
        return;
    }
    let builtin = script.builtin.map_or("", Builtin::name);
    scope.tell(
        Issue::new(
            Code::Impossible,
            format!("workload `{name}` runs `{builtin}`, and no setup step makes its tables on `{}`", load.node),
            script.span,
            "needs pgbench's tables",
        )
        .help(format!(
            "add under [[setup]]: name = \"pgbench\", nodes = [\"{}\"], pgbench_init = {{ scale = 1 }}",
            load.node
        )),
    );
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use crate::spec::scenario::{Engine, PgbenchInit, SetupWork};
    use crate::spec::{Options, Read, Spec, read};
    use crate::text::source::SourceMap;

    /// A spec of one workload and a setup step, and what is wrong with it: message and way out.
    fn told(workload: &str, setup: &str) -> (Spec, Vec<(String, String)>) {
        let text = format!(
            "title = \"t\"\n[nodes.a]\n[nodes.b]\n[[setup]]\nname = \"x\"\n{setup}\n[[phases]]\nname = \"load\"\n\
             run = [\"w\"]\n[workloads.w]\nnode = \"a\"\n{workload}"
        );
        let mut sources = SourceMap::default();
        sources.add("s.toml", text);
        let Read::Done(spec, issues) = read(Path::new("s.toml"), &sources, Options::default()) else {
            panic!("all texts are there");
        };
        let issues = issues.as_slice().iter();
        (*spec, issues.map(|issue| (issue.message.clone(), issue.help.clone().unwrap_or_default())).collect())
    }

    const INIT: &str = "nodes = \"all\"\npgbench_init = { scale = 7, rows = false }";

    #[test]
    fn an_engine_a_builtin_script_and_its_tables_are_read() {
        let keys = "engine = \"pgbench\"\nbuiltin = \"simple-update\"\nclients = 4\ntransactions = 400";
        let (spec, issues) = told(keys, INIT);
        assert_eq!(issues, []);
        let scenario = &spec.cells[0].scenario;
        let load = &scenario.workloads["w"];
        assert_eq!((load.engine.value, load.scale, load.pgbench_threads()), (Engine::Pgbench, Some(7), 1));
        assert_eq!(load.scripts[0].builtin.map(crate::script::Builtin::name), Some("simple-update"));
        let init = PgbenchInit { scale: 7, fillfactor: 100, rows: false };
        assert_eq!(scenario.setup[0].work, SetupWork::PgbenchInit(init));
        assert_eq!(told("transactions = 3\nclients = 2\nscript = 'A'", INIT).1, []);
    }

    #[test]
    fn what_pgbench_cannot_be_asked_for_gets_a_way_out() {
        let sql = "nodes = [\"a\"]\nsql = 'SELECT 1'";
        for (keys, setup, message, help) in [
            (
                "engine = \"pgbench\"\nclients = 8\ntransactions = 20_001\nscript = 'A'",
                sql,
                "workload `w`: pgbench counts transactions by client, and 20001 do not divide by 8",
                "write 20000 or 20008, or choose engine = \"runner\"",
            ),
            (
                "engine = \"pgbench\"\nlog = false\nlatency_limit = \"1s\"\ntransactions = 3\nscript = 'A'",
                sql,
                "workload `w`: which transactions are late or skipped (`latency_limit`) is only known from pgbench's log",
                "leave `log` out, or choose engine = \"runner\"",
            ),
            (
                "engine = \"pgbench\"\nlog = false\ntransactions = 3\nscripts = [{ name = \"a\", script = 'A' }, \
                 { name = \"b\", script = 'B' }]",
                sql,
                "workload `w`: what each of several scripts did is only known from pgbench's log",
                "leave `log` out, or choose engine = \"runner\"",
            ),
            (
                "engine = \"pgbench\"\nlog = false\nmax_tries = 3\ntransactions = 3\nscript = 'A'",
                sql,
                "workload `w`: how often transactions are tried (`max_tries`) is only known from pgbench's log",
                "leave `log` out, or choose engine = \"runner\"",
            ),
            (
                "engine = \"pgbench\"\nclients = 8\ntransactions = 3\nscript = 'A'",
                sql,
                "workload `w`: pgbench counts transactions by client, and 3 do not divide by 8",
                "write 8, or choose engine = \"runner\"",
            ),
            (
                "engine = \"pgbench\"\nduration = \"1500ms\"\nscript = 'A'",
                sql,
                "workload `w`: pgbench takes a duration in whole seconds, not 1500ms",
                "write \"2s\", or choose engine = \"runner\"",
            ),
            (
                "builtin = \"tpcb-like\"\ntransactions = 1",
                sql,
                "workload `w` runs `tpcb-like`, and no setup step makes its tables on `a`",
                "add under [[setup]]: name = \"pgbench\", nodes = [\"a\"], pgbench_init = { scale = 1 }",
            ),
            (
                "builtin = \"tpcb-like\"\ntransactions = 1",
                "nodes = [\"b\"]\npgbench_init = { scale = 1 }",
                "workload `w` runs `tpcb-like`, and no setup step makes its tables on `a`",
                "add under [[setup]]: name = \"pgbench\", nodes = [\"a\"], pgbench_init = { scale = 1 }",
            ),
            (
                "script = 'A'\ntransactions = 1",
                "nodes = [\"a\"]\npgbench_init = { fillfactor = 5 }",
                "`fillfactor` is 10 to 100",
                "choose a whole number from 10 to 100",
            ),
        ] {
            assert_eq!(told(keys, setup).1, [(message.to_owned(), help.to_owned())], "{keys} {setup}");
        }
        let (_, issues) = told("engine = \"pgbnech\"\nscript = 'A'\ntransactions = 1", sql);
        assert!(issues.len() == 1 && issues[0].1.contains("\"pgbench\""), "{issues:?}");
        // A step that is wrong itself may have been meant to make them.
        let (_, issues) = told("builtin = \"tpcb-like\"\ntransactions = 1", "nodes = [\"c\"]\npgbench_init = {}");
        assert!(!issues.is_empty() && issues.iter().all(|(message, _)| !message.contains("its tables")), "{issues:?}");
    }
}
