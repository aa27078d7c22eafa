//! One integration binary.
//!
//! - `cli`: the program from outside: exit codes, stdout and stderr, flags;
//! - `comparing`: two stored runs compared, several put together, from records built by hand;
//! - `consumer`: the slot consumer against a real server;
//! - `counts`: what is sent is what is counted is what is there, on both engines;
//! - `cpu`: CPU readings against independent instruments;
//! - `decoding`: real runs with slots, and phases that wait for something else than the marker being applied;
//! - `going_on`: parts of a run, going on after its end, putting together and comparing;
//! - `lab_servers`, `lab_faults`, `lab_installing`: real servers start, stop, refuse; the runner is killed or
//!   interrupted; installing fails;
//! - `load_server`: the load driver, logins and the marker watch against a real server;
//! - `loop_order`: the loop over a fake world;
//! - `paired`: real runs of a paired comparison;
//! - `sittings`: pairs of a paired comparison over the fake world;
//! - `markers`: where plans wait for the marker, and which phases follow one another;
//! - `pgbench`: loads by pgbench, its scripts and its tables;
//! - `replication`, `shell`: real runs of small specs, and of the shell script that a plan prints;
//! - `ledger`: real runs, their WAL by resource manager, their slots and their series;
//! - `reports`: the report from stored records;
//! - `specs`, `semantics`: what specs mean, the shipped ones and small ones; `schema`: what editors are told of them;
//! - `spec_errors`, `spec_mistakes`: each kind of mistake as a user sees it, and many at once;
//! - `scaling`: ten times as many cells take about ten times as long;
//! - `tidy`: rules about the source text.

mod cli;
mod comparing;
mod consumer;
mod counts;
#[cfg(target_os = "linux")]
mod cpu;
mod dataset;
mod decoding;
mod going_on;
#[cfg(target_os = "linux")]
mod lab_faults;
mod lab_installing;
mod lab_servers;
mod ledger;
mod load_server;
mod loop_order;
mod markers;
mod numbered;
mod paired;
mod pgbench;
mod plain_report;
mod replication;
mod reports;
mod scaling;
mod schema;
mod semantics;
mod shell;
mod sittings;
mod source_builds;
mod spec_errors;
mod spec_mistakes;
mod specs;
mod support;
mod texts;
mod tidy;
