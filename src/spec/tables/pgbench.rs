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
