//! What all charts have around their data: heading, axis of values, note.

use super::canvas::{Anchor, Area, Canvas};
use super::data::Chart;
use super::font::{LABEL, SMALL, TITLE};
use super::scale::Scale;

/// How wide a chart is unless it needs more.
pub(super) const WIDTH: f64 = 760.0;
/// What stays free at every edge.
pub(super) const MARGIN: f64 = 16.0;
/// How high the part with the data is.
pub(super) const HEIGHT: f64 = 250.0;
/// The gap between ticks and what they belong to.
pub(super) const TICK_GAP: f64 = 8.0;

/// Draws the title and gives back where what follows begins.
pub(super) fn heading(canvas: &mut Canvas, chart: &Chart, width: f64) -> f64 {
    let title = TITLE.wrap(&chart.title, width - 2.0 * MARGIN, 2);
    if chart.title.trim().is_empty() {
        return MARGIN;
    }
    canvas.lines((MARGIN, MARGIN + 13.0), Anchor::Start, TITLE, "ink", &title, &chart.title);
    MARGIN + TITLE.line() * title.lines.len() as f64 + 6.0
}

/// Draws the note from a place on and gives back how high the chart is.
pub(super) fn note(canvas: &mut Canvas, chart: &Chart, top: f64, width: f64) -> f64 {
    if chart.note.trim().is_empty() {
        return top + MARGIN;
    }
    let note = SMALL.wrap(&chart.note, width - 2.0 * MARGIN, 3);
    canvas.lines((MARGIN, top + 20.0), Anchor::Start, SMALL, "soft", &note, &chart.note);
    top + 20.0 + SMALL.line() * (note.lines.len() as f64 - 1.0) + MARGIN
}

/// How much room ticks need on the left of the data.
pub(super) fn room_of_ticks(scale: &Scale) -> f64 {
    scale.ticks().map(|(_, text)| SMALL.width(&text)).fold(0.0, f64::max) + TICK_GAP
}

/// Draws the title of the axis of values above it and gives back where what follows begins.
pub(super) fn value_title(canvas: &mut Canvas, title: &str, top: f64, width: f64) -> f64 {
    if title.is_empty() {
        return top;
    }
    let text = LABEL.shorten(title, width - 2.0 * MARGIN);
    canvas.text_of((MARGIN, top + 14.0), Anchor::Start, LABEL, "soft", &text, title);
    top + 19.0
}

/// Draws the axis of values: a line across the data and a number on the left for each tick, zero's line stronger.
pub(super) fn value_axis(canvas: &mut Canvas, scale: &Scale, plot: Area) {
    for (tick, text) in scale.ticks() {
        let y = scale.place(tick, plot.bottom, plot.top);
        let class = if tick == 0.0 { "base" } else { "grid" };
        canvas.line(class, (plot.left, y), (plot.right, y));
        canvas.text((plot.left - TICK_GAP, y + 4.0), Anchor::End, SMALL, "soft", &text);
    }
}

/// Says that there is nothing to see.
pub(super) fn nothing(canvas: &mut Canvas, plot: Area) {
    let middle = (f64::midpoint(plot.left, plot.right), f64::midpoint(plot.top, plot.bottom));
    canvas.text(middle, Anchor::Middle, LABEL, "soft halo", "no figures");
}

/// Draws the title of the axis below the data, and gives back where what follows begins.
pub(super) fn lower_title(canvas: &mut Canvas, title: &str, plot: Area, top: f64) -> f64 {
    if title.is_empty() {
        return top;
    }
    let text = LABEL.shorten(title, plot.width());
    canvas.text_of((f64::midpoint(plot.left, plot.right), top + 14.0), Anchor::Middle, LABEL, "soft", &text, title);
    top + 19.0
}
