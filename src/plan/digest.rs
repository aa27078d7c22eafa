//! The digest of the executable part of a plan, by which runs are resumed, merged and compared.

use std::fmt::Write as _;

use sha2::{Digest as _, Sha256};

use super::Cell;
use crate::spec::{Order, Spec};

/// SHA-256 over what is run and measured: instructions, settings, scripts, order. Titles, prose, claims and
/// tables are not in it, nor where anything is written.
pub(super) fn of(spec: &Spec, cells: &[Cell]) -> String {
    let mut hash = Sha256::new();
    let mut text = String::new();
    // A plan of many cells is too long to be held as one text, and is written in pieces too small to be hashed.
    let mut line = |part: &dyn std::fmt::Debug| {
        text.clear();
        writeln!(text, "{part:?}").expect("writing to a string cannot fail");
        hash.update(text.as_bytes());
    };
    line(&(spec.run.order.value.as_str(), spec.run.seed.value, spec.run.checkpoint.value));
    if spec.run.order.value == Order::Paired {
        let paired = &spec.run.paired;
        line(&(paired.slices.value, paired.warm_up.value, paired.rest.value));
        if let Some(steal) = &paired.steal {
            line(&steal.value);
        }
        if let Some(load) = &paired.other_load {
            line(&("other load", load.value));
        }
    }
    for cell in cells {
        line(&cell.name);
        for (name, node) in &cell.nodes {
            let settings: Vec<(&String, &String)> =
                node.settings.iter().map(|(name, planned)| (name, &planned.value)).collect();
            line(&(name, node.place, &node.wanted.version, node.checksums, node.transport, settings));
            // What is built from source has no version to be told apart by.
            if let Some(git) = &node.wanted.git {
                line(&(&git.revision, &git.configure, node.build.as_ref().and_then(|build| build.digest.as_ref())));
            }
        }
        for load in cell.scenario.workloads.values() {
            let scripts: Vec<&String> = load.scripts.iter().map(|script| &script.text).collect();
            if scripts.len() > 1 {
                line(&load.scripts.iter().map(|script| script.weight).collect::<Vec<_>>());
            }
            // What the built-in driver does is as it was before there was another.
            if load.by_pgbench() {
                line(&(load.engine.value.as_str(), load.pgbench_threads()));
                if !load.log.value {
                    line(&"no log");
                }
            }
            let rate = load.rate.as_ref().map(|rate| rate.value);
            let limit = load.latency_limit.as_ref().map(|limit| limit.value);
            if rate.is_some() || limit.is_some() || load.max_tries.value != 1 {
                line(&(rate, limit, load.max_tries.value));
            }
            line(&(
                &load.node,
                load.clients.value,
                load.threads.as_ref().map(|threads| threads.value),
                load.extent,
                load.protocol.value,
                scripts,
            ));
        }
        line(&cell.scenario.windows);
        line(&cell.turn);
    }
    short(hash)
}

/// Digest of what one cell does: instructions, loads and windows. Servers are not in it, so that one may be compared with
/// another: versions and settings are told apart by themselves.
pub(super) fn of_cell(cell: &Cell, with_instructions: bool) -> String {
    let mut hash = Sha256::new();
    let mut line = |part: &dyn std::fmt::Debug| hash.update(format!("{part:?}\n").as_bytes());
    for load in cell.scenario.workloads.values() {
        let scripts: Vec<(&String, _)> = load.scripts.iter().map(|script| (&script.text, script.weight)).collect();
        let rate = load.rate.as_ref().map(|rate| rate.value);
        let limit = load.latency_limit.as_ref().map(|limit| limit.value);
        line(&(&load.node, load.clients.value, load.pgbench_threads(), load.extent, load.protocol.value, scripts));
        line(&(load.engine.value.as_str(), rate, limit, load.max_tries.value));
        if load.by_pgbench() && !load.log.value {
            line(&"no log");
        }
    }
    line(&cell.scenario.windows);
    if with_instructions {
        line(&cell.turn);
    }
    short(hash)
}

/// The first half of a digest, in hexadecimal.
fn short(hash: Sha256) -> String {
    hash.finalize().iter().take(16).fold(String::new(), |mut out, byte| {
        write!(out, "{byte:02x}").expect("writing to a string cannot fail");
        out
    })
}
