//! What people see while it runs: one line that changes on a terminal, plain lines otherwise.

use std::io::IsTerminal as _;
use std::time::{Duration, Instant};

use super::say;
use crate::execute::Event;
use crate::results::Outcome;

/// Progress on stderr.
pub(super) struct Progress {
    terminal: bool,
    began: Instant,
    turn: Instant,
    line: String,
    done: u32,
    of: u32,
}

impl Progress {
    pub(super) fn new() -> Self {
        let now = Instant::now();
        Self { terminal: std::io::stderr().is_terminal(), began: now, turn: now, line: String::new(), done: 0, of: 0 }
    }

    /// Shows an event.
    pub(super) fn observe(&mut self, event: Event<'_>) {
        match event {
            Event::Turn { cell, round, turn, of } => {
                self.turn = Instant::now();
                (self.done, self.of) = (turn - 1, of);
                self.line = format!("run {turn} of {of}, {cell}, round {round}");
                self.show("building");
            }
            Event::Stage(stage) => self.show(stage.as_str()),
            Event::Phase(phase) => self.show(phase),
            Event::Finish => self.show("comparing"),
            Event::Ended(sample) => {
                let outcome = match &sample.outcome {
                    Outcome::Completed => {
                        let phases: Vec<String> = sample
                            .phases
                            .iter()
                            .filter(|(_, phase)| !phase.evidence.no_downstream)
                            .map(|(name, phase)| format!("{name} {:.3} s", phase.evidence.seconds))
                            .collect();
                        phases.join(", ")
                    }
                    other => other.complaint().unwrap_or_default().to_uppercase_first(),
                };
                self.done += 1;
                self.clear();
                say(&format!("{}: {outcome} ({:.1} s){}\n", self.line, sample.total_seconds, self.left()));
            }
        }
    }

    fn show(&mut self, what: &str) {
        if self.terminal {
            // Back to the first column, and whatever was longer before is wiped.
            say(&format!("\r\x1b[2K{}: {what}, {} s{}", self.line, self.turn.elapsed().as_secs(), self.left()));
        }
    }

    fn clear(&self) {
        if self.terminal {
            say("\r\x1b[2K");
        }
    }

    /// Time left by what the runs took so far.
    fn left(&self) -> String {
        if self.done == 0 || self.done >= self.of {
            return String::new();
        }
        let each = self.began.elapsed() / self.done;
        let left = each * (self.of - self.done);
        format!(", about {} left", roughly(left))
    }
}

fn roughly(length: Duration) -> String {
    let seconds = length.as_secs();
    if seconds < 90 { format!("{seconds} s") } else { format!("{} min", seconds.div_ceil(60)) }
}

trait UppercaseFirst {
    fn to_uppercase_first(self) -> String;
}

impl UppercaseFirst for String {
    fn to_uppercase_first(self) -> String {
        let mut chars = self.chars();
        chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
    }
}
