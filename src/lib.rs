//! Declarative benchmarks of PostgreSQL replication.
//!
//! A TOML spec becomes a plan, the plan is performed on disposable servers, what was observed is stored, and a report
//! is rendered from what is stored. The types go from left to right:
//!
//! ```text
//! text      SourceMap, Span, Issue              every text in one offset space; mistakes with their places
//! spec      Spec { cells, claims, tables }      merged, decoded, templates rendered: nothing undefined is left
//! plan      Plan { cells, turns }               instructions, settings with origin, SQL, order
//! execute   turn(world, plan) → TurnResult      the loop; lab, load, probe and wire are its hands
//! results   Sample                              one atomic file a turn: outcome and Evidence
//! report    View → Markdown, JSON               medians, pairs, verdicts
//! ```
//!
//! # Layout
//!
//! An arrow means "may import", and goes on through what is imported:
//! `commands → execute → {lab, load, probe, wire} → plan → spec → {script, measure} → text`;
//! `plan, execute, report → stats`; `execute → results`; `results, report → {stats, measure, plan, spec}`.
//!
//! # Invariants
//!
//! - `text`, `measure`, `stats`, `script`, `spec`, `plan` and `report` are pure: no file, clock, socket, environment or
//!   thread. Texts arrive as a [`text::SourceMap`]; one that is missing is asked for.
//! - Everything is decided in `plan`; later stages only do it. `runner plan` prints the whole truth.
//! - The instruction set ([`plan::instruction`]) is small, and one seam performs it ([`execute::world::World`]).
//!   Actions of the language lower to instructions and never reach the executor.
//! - Runs store evidence, never metric values: [`measure::Evidence`] only grows, and an old folder renders with a newer
//!   [`measure::CATALOGUE`].
//! - `results` and `report` never import `lab`, `load`, `probe`, `wire` or `execute`; only `results/store.rs` touches
//!   files.
//! - A turn that failed, did not drain or did not converge is shown as such and counts in no statistic.
//! - Every server is forked by the main thread, since its parent-death signal belongs to the thread that forked it.
//! - stdout carries data, stderr talks; both only in `commands`.

pub mod cli;
pub mod commands;
pub mod execute;
pub mod exit;
pub mod lab;
pub mod load;
pub mod measure;
pub mod plan;
pub mod probe;
pub mod report;
pub mod results;
pub mod script;
pub mod spec;
pub mod stats;
pub mod text;
pub mod wire;
