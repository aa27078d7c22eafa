//! What people see while it runs: one line that changes on a terminal, plain lines otherwise.

use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::say;
use crate::execute::{Event, PairEnded};
use crate::results::{Outcome, Sample};
use crate::text::format_bytes;

/// How often the line on a terminal is drawn anew: often enough for whole seconds, too seldom to be measured.
const TICK: Duration = Duration::from_millis(500);

/// Progress on stderr.
pub(super) struct Progress {
    /// Draws nothing where stderr is no terminal.
    line: ProgressBar,
    began: Instant,
    turn: String,
    /// Slice under way, of a pair.
    slice: String,
    done: u32,
    of: u32,
}

impl Progress {
    pub(super) fn new() -> Self {
        let line = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr_with_hz(4));
        if let Ok(style) = ProgressStyle::with_template("{msg}, {elapsed}{prefix}") {
            line.set_style(style);
        }
        line.enable_steady_tick(TICK);
        Self { line, began: Instant::now(), turn: String::new(), slice: String::new(), done: 0, of: 0 }
    }

    /// Shows an event.
    pub(super) fn observe(&mut self, event: Event<'_>) {
        match event {
            Event::Turn { cell, round, turn, of } => {
                (self.done, self.of) = (turn - 1, of);
                self.turn = format!("run {turn} of {of}, {cell}, round {round}");
                self.line.reset_elapsed();
                self.show("building");
            }
            Event::Pair { comparison, pair, least, most } => {
                let of = if least == most { most.to_string() } else { format!("{least} to {most}") };
                self.turn = format!("{comparison}: pair {pair} ({of} wanted)");
                self.line.reset_elapsed();
                self.show("building");
            }
            Event::Slice { cell, number, of } => {
                self.slice = match number {
                    Some(number) => format!("slice {number} of {of}, {cell}"),
                    None => format!("warm-up, {cell}"),
                };
                self.show(&self.slice.clone());
            }
            Event::Paired(ended) => {
                self.slice.clear();
                let line = format!("{}: {} ({:.1} s)\n", self.turn, standing(&ended), ended.seconds);
                self.line.suspend(|| say(&line));
            }
            Event::Stage(stage) => self.show(stage.as_str()),
            Event::Made { what, seconds, bytes, note } => {
                let note = note.map_or_else(String::new, |note| format!("; {note}"));
                let line = format!("{what}: made once in {seconds:.1} s, {}{note}\n", format_bytes(bytes));
                self.line.suspend(|| say(&line));
            }
            Event::Phase(phase) if self.slice.is_empty() => self.show(phase),
            Event::Phase(phase) => self.show(&format!("{}, {phase}", self.slice)),
            Event::Finish => self.show("comparing"),
            Event::Ended(sample) => {
                self.done += 1;
                let line =
                    format!("{}: {} ({:.1} s){}\n", self.turn, outcome(sample), sample.total_seconds, self.left());
                self.line.suspend(|| say(&line));
            }
        }
    }

    fn show(&self, what: &str) {
        self.line.set_prefix(self.left());
        self.line.set_message(format!("{}: {what}", self.turn));
    }

    /// Time left by what the runs took so far.
    fn left(&self) -> String {
        if self.done == 0 || self.done >= self.of {
            return String::new();
        }
        let seconds = (self.began.elapsed() / self.done * (self.of - self.done)).as_secs();
        let left = if seconds < 90 { format!("{seconds} s") } else { format!("{} min", seconds.div_ceil(60)) };
        format!(", about {left} left")
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.line.finish_and_clear();
    }
}

/// How a comparison stands after a pair.
fn standing(ended: &PairEnded<'_>) -> String {
    if let Some(complaint) = ended.complaint {
        return format!("counts nowhere: {complaint}");
    }
    let half = |half: f64| format!(" ± {:.1} %", half * 100.0);
    let ratio = match ended.ratio {
        Some((ratio, interval)) => format!("{ratio:.3}x{}", interval.map_or_else(String::new, half)),
        None => "no ratio".to_owned(),
    };
    format!("{ratio} by {} pair(s){}", ended.whole, if ended.done { ", done" } else { "" })
}

/// How a run ended, with its phases' seconds if all went well.
fn outcome(sample: &Sample) -> String {
    if sample.outcome != Outcome::Completed {
        return sample.outcome.complaint().unwrap_or_default();
    }
    let phases: Vec<String> = sample
        .phases
        .iter()
        .filter(|(_, phase)| !phase.evidence.no_downstream)
        .map(|(name, phase)| format!("{name} {:.3} s", phase.evidence.seconds))
        .collect();
    phases.join(", ")
}
