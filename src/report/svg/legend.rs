//! What the colours and marks mean, in rows below the heading.

use super::canvas::{Anchor, Area, Canvas};
use super::font::LABEL;
use super::palette::{self, Marker};

/// How high a row is.
const ROW: f64 = 19.0;
/// How wide a mark is, with the gap behind it.
const KEY: f64 = 20.0;
/// The gap between two entries.
const GAP: f64 = 18.0;

/// The marks that a legend explains.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Key {
    /// The area of the n-th series.
    Area(usize),
    /// The line of the n-th series.
    Line(usize),
    /// A round.
    Dot,
    /// An interval.
    Whisker,
    /// A figure that was published.
    Published,
}

/// A mark with what it means.
pub(super) type Entry<'a> = (Key, &'a str);

/// Draws the series and the marks in a row, or the series in rows and columns and the marks below them, beginning at a
/// place, and gives back where the last row ends.
pub(super) fn draw(canvas: &mut Canvas, series: &[Entry<'_>], marks: &[Entry<'_>], at: (f64, f64), room: f64) -> f64 {
    let all: Vec<Entry<'_>> = series.iter().chain(marks).copied().collect();
    let widths = all.iter().map(|(_, name)| width(name, room) + GAP);
    if widths.sum::<f64>() <= room + GAP {
        return flow(canvas, &all, at, room, None);
    }
    let column = series.iter().map(|(_, name)| width(name, room)).fold(0.0, f64::max);
    let y = flow(canvas, series, at, room, Some(column));
    flow(canvas, marks, (at.0, y), room, None)
}

/// How wide an entry is.
fn width(name: &str, room: f64) -> f64 {
    KEY + LABEL.width(name.trim()).min(room - KEY)
}

/// Draws entries beside and below one another, each as wide as it is or all as wide as a column.
fn flow(canvas: &mut Canvas, entries: &[Entry<'_>], (left, top): (f64, f64), room: f64, column: Option<f64>) -> f64 {
    let mut x = left;
    let mut y = top;
    for (key, name) in entries {
        let text = LABEL.shorten(name.trim(), room - KEY);
        let width = column.unwrap_or(width(name, room));
        if x > left && x + width > left + room {
            x = left;
            y += ROW;
        }
        draw_key(canvas, *key, (x + 7.0, y + ROW / 2.0));
        canvas.text_of((x + KEY, y + ROW / 2.0 + 4.0), Anchor::Start, LABEL, "ink", &text, name.trim());
        x += width + GAP;
    }
    if entries.is_empty() { top } else { y + ROW }
}

/// One mark around its centre.
fn draw_key(canvas: &mut Canvas, key: Key, (x, y): (f64, f64)) {
    match key {
        Key::Area(n) => area(canvas, n, Area { left: x - 6.0, top: y - 6.0, right: x + 6.0, bottom: y + 6.0 }, ""),
        Key::Line(n) => {
            canvas.path(&format!("curve {}", palette::colour(n)), &[vec![(x - 7.0, y), (x + 7.0, y)]], "");
            canvas.marker(&format!("mark {}", palette::colour(n)), Marker::of(n), (x, y), 3.5);
        }
        Key::Dot => canvas.circle("dot", (x, y), 2.6),
        Key::Whisker => whisker(canvas, x, (y - 6.0, y + 6.0), (true, true), 3.5),
        Key::Published => canvas.marker("hollow", Marker::Diamond, (x, y), 4.0),
    }
}

/// An area in a series' colour and texture.
pub(super) fn area(canvas: &mut Canvas, series: usize, area: Area, told: &str) {
    canvas.rect(&palette::colour(series), area, told);
    if let Some(texture) = palette::texture(series) {
        canvas.rect(&format!("texture {texture}"), area, "");
    }
}

/// A vertical whisker from a top to a bottom, each with a cap, or a tip where it goes on beyond the picture.
pub(super) fn whisker(canvas: &mut Canvas, x: f64, (top, bottom): (f64, f64), caps: (bool, bool), half: f64) {
    let mut runs = vec![vec![(x, top), (x, bottom)]];
    for (y, cap, inwards) in [(top, caps.0, 1.0), (bottom, caps.1, -1.0)] {
        let wings = if cap { y } else { y + inwards * 1.5 * half };
        runs.push(vec![(x - half, wings), (x, y), (x + half, wings)]);
    }
    canvas.path("glow", &runs, "");
    canvas.path("whisker", &runs, "");
}
