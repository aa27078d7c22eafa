//! Writing the values of bars where they hide nothing.

use std::ops::Range;

use super::canvas::{Anchor, Area, Canvas};
use super::font::{Font, SMALL, TINY};
use super::frame::TICK_GAP;

/// Half the width of a whisker's cap.
pub(super) const CAP: f64 = 4.0;
/// The farthest from its bar's end that a value stands, so that it is seen to belong there.
const LIFT: f64 = 40.0;

/// The figure of a bar, to be written above it.
#[derive(Debug)]
pub(super) struct Value {
    /// The middle of the bar.
    pub(super) x: f64,
    /// The y where the bar ends.
    pub(super) end: f64,
    /// Whether the bar goes down from zero, and the figure stands below its end.
    pub(super) below: bool,
    /// As it is written.
    pub(super) text: String,
    /// The areas of its own bar and marks among all.
    pub(super) own: Range<usize>,
}

/// Draws values above their bars, each where it hides nothing; smaller ones if that lets more of them stand, and
/// none if most would be missing.
pub(super) fn draw(canvas: &mut Canvas, values: &[Value], taken: &[Area], plot: Area, slot: f64) {
    let fitting = |font: Font| {
        let mut taken = taken.to_vec();
        let mut fitting = Vec::new();
        for value in values {
            if let Some((x, y, area)) = value.place(font, &taken, plot, slot) {
                taken.push(area);
                fitting.push((x, y, &value.text));
            }
        }
        (font, fitting)
    };
    let (large, small) = (fitting(SMALL), fitting(TINY));
    let (font, fitting) = if large.1.len() >= small.1.len() { large } else { small };
    if 2 * fitting.len() < values.len() {
        return;
    }
    for (x, y, text) in fitting {
        canvas.text((x, y), Anchor::Middle, font, "ink halo", text);
    }
}

impl Value {
    /// Where the middle of a value's baseline is, and what it takes: above its bar and marks, or beside a whisker that
    /// would lift it far from its bar.
    fn place(&self, font: Font, taken: &[Area], plot: Area, slot: f64) -> Option<(f64, f64, Area)> {
        let half = font.width(&self.text) / 2.0 + 1.0;
        let own = &taken[self.own.clone()];
        let beside = CAP + 1.0 + half;
        let narrow = beside + half > slot / 2.0;
        let place = |x: f64| {
            let (left, right) = (x - half, x + half);
            // Only what stands right below the value lifts it.
            let below = own.iter().filter(|area| area.left < right && area.right > left);
            let (y, lift) = if self.below {
                let bottom = below.map(|area| area.bottom).fold(self.end, f64::max);
                (bottom + font.size + 1.0, bottom - self.end)
            } else {
                let top = below.map(|area| area.top).fold(self.end, f64::min);
                (top - 4.0, self.end - top)
            };
            let area = Area { left, top: y - font.size * 0.8, right, bottom: y + font.size * 0.25 };
            let inside = left >= plot.left - TICK_GAP && right <= plot.right + TICK_GAP;
            // Below the axis are the names of the groups.
            let free = area.bottom <= plot.bottom + 3.0 && !taken.iter().any(|other| other.overlaps(&area));
            (lift, (inside && free).then_some((x, y, area)))
        };
        match place(self.x) {
            (lift, above) if lift <= LIFT => above,
            _ if narrow => None,
            _ => [beside, -beside].into_iter().find_map(|shift| place(self.x + shift).1),
        }
    }
}
