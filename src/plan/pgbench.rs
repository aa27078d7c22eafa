//! How pgbench is called for a workload: its options, decided here so that the plan, its shell script and the run say
//! the same. Connection, seed and folder are known only once servers run; the caller adds them.

use std::time::Duration;

use super::facts::Release;
use crate::spec::scenario::{Extent, ScriptText, Workload};

/// What a workload may ask beyond who sends how much.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Options {
    /// Transactions a second of all clients together (`-R`).
    pub rate: Option<f64>,
    /// Latency from which on a transaction is late, and under a rate skipped (`-L`).
    pub latency_limit: Option<Duration>,
    /// Tries of a transaction that fails by serialization or deadlock (`--max-tries`).
    pub max_tries: Option<u32>,
}

impl Options {
    /// What a workload asks.
    pub fn of(load: &Workload) -> Self {
        Self {
            rate: load.rate.as_ref().map(|rate| rate.value),
            latency_limit: load.latency_limit.as_ref().map(|limit| limit.value),
            max_tries: (load.max_tries.value != 1).then_some(load.max_tries.value),
        }
    }
}

/// From this version on failures are told by kind.
const FAILURES_DETAILED: u32 = 15;

/// From this version on a client's abort ends the run at once, which else goes on to no use.
const EXIT_ON_ABORT: u32 = 17;

/// Every option but the connection, the seed, the log's place and the scripts.
pub fn options(load: &Workload, release: Option<Release>, options: &Options) -> Vec<String> {
    let mut out: Vec<String> = ["-n", "-M", load.protocol.value.as_str()].map(str::to_owned).to_vec();
    let mut add = |words: &[&str]| out.extend(words.iter().map(|word| (*word).to_owned()));
    let clients = load.clients.value.max(1);
    add(&["-c", &clients.to_string(), "-j", &load.pgbench_threads().to_string()]);
    match load.extent {
        Extent::Transactions(all) => add(&["-t", &(all / u64::from(clients)).to_string()]),
        Extent::Duration(length) => add(&["-T", &length.as_secs().to_string()]),
    }
    // With a built-in script among them pgbench counts the branches itself, and refuses to be told.
    if let Some(scale) = load.scale
        && load.scripts.iter().all(|script| script.builtin.is_none())
    {
        add(&["-s", &scale.to_string()]);
    }
    if let Some(rate) = options.rate {
        add(&["-R", &rate.to_string()]);
    }
    if let Some(limit) = options.latency_limit {
        add(&["-L", &(limit.as_secs_f64() * 1e3).to_string()]);
    }
    if let Some(tries) = options.max_tries {
        add(&["--max-tries", &tries.to_string()]);
    }
    let since = |major: u32| release.is_none_or(|release| release.major >= major);
    if since(FAILURES_DETAILED) {
        add(&["--failures-detailed"]);
    }
    if since(EXIT_ON_ABORT) {
        add(&["--exit-on-abort"]);
    }
    out
}

/// The options for the scripts, in their order, which is that of the numbers in the log; files lie in `folder`.
pub fn scripts(load: &Workload, folder: &str) -> Vec<String> {
    let mut out = Vec::new();
    for script in &load.scripts {
        let (option, source) = match script.builtin {
            Some(builtin) => ("-b", builtin.name().to_owned()),
            None => ("-f", format!("{folder}/{}", file_name(script))),
        };
        out.push(option.to_owned());
        out.push(format!("{source}@{}", script.weight));
    }
    out
}

/// A script's file.
pub fn file_name(script: &ScriptText) -> String {
    format!("{}.pgbench", script.name)
}

/// A script's text for pgbench: it must end with a line's end, since pgbench 18.6 sends a byte of nobody's where a
/// variable is the last thing in it.
pub fn file_text(script: &ScriptText) -> String {
    let end = if script.text.ends_with('\n') { "" } else { "\n" };
    format!("{}{end}", script.text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::script::Builtin;
    use crate::spec::Chosen;
    use crate::spec::scenario::{Engine, Protocol};

    fn script(name: &str, weight: u32, builtin: Option<Builtin>) -> ScriptText {
        ScriptText {
            name: name.to_owned(),
            weight,
            text: "SELECT :scale".to_owned(),
            builtin,
            span: crate::text::Span::default(),
        }
    }

    fn load(extent: Extent, scripts: Vec<ScriptText>) -> Workload {
        Workload {
            span: crate::text::Span::default(),
            node: "p".to_owned(),
            engine: Chosen::default_of(Engine::Pgbench),
            clients: Chosen::default_of(8),
            threads: Some(Chosen::default_of(16)),
            extent,
            rate: None,
            latency_limit: None,
            max_tries: Chosen::default_of(1),
            protocol: Chosen::default_of(Protocol::Prepared),
            log: Chosen::default_of(true),
            scripts,
            scale: Some(5),
        }
    }

    fn line(load: &Workload, major: u32, options: &Options) -> String {
        super::options(load, Some(Release { major, minor: 0 }), options).join(" ")
    }

    #[test]
    fn transactions_are_each_clients_share_and_threads_no_more_than_clients() {
        let load = load(Extent::Transactions(20_000), vec![script("w", 1, None)]);
        assert_eq!(
            line(&load, 18, &Options::default()),
            "-n -M prepared -c 8 -j 8 -t 2500 -s 5 --failures-detailed --exit-on-abort"
        );
        assert_eq!(line(&load, 14, &Options::default()), "-n -M prepared -c 8 -j 8 -t 2500 -s 5");
        assert_eq!(file_text(&load.scripts[0]), "SELECT :scale\n");
    }

    #[test]
    fn scripts_keep_their_order_and_weights_and_pgbench_counts_the_branches_of_its_own() {
        let scripts = vec![script("a", 3, None), script("b", 0, Some(Builtin::SelectOnly))];
        let load = load(Extent::Duration(Duration::from_secs(30)), scripts);
        assert_eq!(super::scripts(&load, "/x").join(" "), "-f /x/a.pgbench@3 -b select-only@0");
        let options =
            Options { rate: Some(500.0), latency_limit: Some(Duration::from_micros(1500)), max_tries: Some(3) };
        assert_eq!(
            line(&load, 16, &options),
            "-n -M prepared -c 8 -j 8 -T 30 -R 500 -L 1.5 --max-tries 3 --failures-detailed"
        );
    }
}
