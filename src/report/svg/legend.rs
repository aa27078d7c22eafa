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

/// Draws the entries in as many rows as they need, beginning at a place, and gives back where the last row ends.
pub(super) fn draw(canvas: &mut Canvas, entries: &[(Key, &str)], (left, top): (f64, f64), room: f64) -> f64 {
    let mut x = left;
    let mut y = top;
    for (key, name) in entries {
        let text = LABEL.shorten(name.trim(), room - KEY);
        let width = KEY + LABEL.width(&text);
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

/// A vertical whisker from a top to a bottom, each with a cap unless it goes on beyond the picture.
pub(super) fn whisker(canvas: &mut Canvas, x: f64, (top, bottom): (f64, f64), caps: (bool, bool), half: f64) {
    let mut runs = vec![vec![(x, top), (x, bottom)]];
    for (y, cap) in [(top, caps.0), (bottom, caps.1)] {
        if cap {
            runs.push(vec![(x - half, y), (x + half, y)]);
        }
    }
    canvas.path("glow", &runs, "");
    canvas.path("whisker", &runs, "");
}
