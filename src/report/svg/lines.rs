//! Lines over time, each named at its end where there is room, with the phases they run through.

use super::canvas::{Anchor, Area, Canvas};
use super::data::{Chart, LineSeries, Lines, Phase};
use super::font::{LABEL, SMALL};
use super::frame::{self, MARGIN, WIDTH};
use super::legend::{self, Entry, Key};
use super::number::{Measure, significant};
use super::palette::{self, Marker};
use super::scale::Scale;

/// The widest a name beside a line gets.
const NAME: f64 = 180.0;
/// How far names are apart.
const APART: f64 = 15.0;
/// From the end of the lines to their names.
const TO_NAMES: f64 = 26.0;
/// How high a row of phases is.
const FLAG: f64 = 16.0;
/// The most rows of phases.
const FLAGS: usize = 4;
/// From the line of a phase to its name, and from its name to the next line.
const FLAG_GAP: f64 = 4.0;
/// How often a line is marked, and up to how many points each of them is.
const MARKS: usize = 5;
/// The radius of a marker.
const MARK: f64 = 3.5;

/// A line in the picture: runs of points without gaps.
type Curve = Vec<Vec<(f64, f64)>>;

/// Draws the whole chart and gives back its width and height.
pub(super) fn draw(canvas: &mut Canvas, chart: &Chart, lines: &Lines) -> (f64, f64) {
    let (measure, values, time) = axes(lines);
    let left = MARGIN + frame::room_of_ticks(&values);
    let direct = lines.series.len() as f64 * APART <= frame::HEIGHT - 6.0;
    let names = lines.series.iter().map(|series| LABEL.width(series.name.trim()).min(NAME)).fold(0.0, f64::max);
    let right = WIDTH - MARGIN - if direct && names > 0.0 { names + TO_NAMES } else { 4.0 };

    let mut y = frame::heading(canvas, chart, WIDTH);
    if !direct {
        let named = lines.series.iter().enumerate();
        let entries: Vec<Entry<'_>> = named.map(|(n, series)| (Key::Line(n), series.name.as_str())).collect();
        y = legend::draw(canvas, &entries, &[], (MARGIN, y), WIDTH - 2.0 * MARGIN);
    }
    y = frame::value_title(canvas, &measure.titled(&lines.axes.values), y + if direct { -3.0 } else { 2.0 }, WIDTH);
    let flags = flags(lines, &time, (left, right));
    let rows = flags.iter().map(|flag| flag.row + 1).max().unwrap_or(0);
    let top = y + 8.0 + rows as f64 * FLAG;
    let plot = Area { left, top, right, bottom: top + frame::HEIGHT };

    if lines.series.iter().all(|series| series.runs().is_empty()) {
        frame::nothing(canvas, plot);
    } else {
        frame::value_axis(canvas, &values, plot);
        time_axis(canvas, &time, plot);
    }
    draw_flags(canvas, &flags, plot);
    let curves: Vec<Curve> = lines.series.iter().map(|series| curve(series, &measure, &values, &time, plot)).collect();
    for (n, (series, curve)) in lines.series.iter().zip(&curves).enumerate() {
        canvas.path(&format!("curve {}", palette::colour(n)), curve, &in_words_of(series, &measure));
    }
    for (n, curve) in curves.iter().enumerate() {
        for at in marked(curve, n, lines.series.len(), plot) {
            canvas.marker(&format!("mark {}", palette::colour(n)), Marker::of(n), at, MARK);
        }
    }
    if direct {
        draw_names(canvas, lines, &curves, plot);
    }
    let time = if lines.axes.time.is_empty() { "s".to_owned() } else { format!("{} (s)", lines.axes.time) };
    let y = frame::lower_title(canvas, &time, plot, plot.bottom + 20.0);
    (WIDTH, frame::note(canvas, chart, y, WIDTH))
}

/// The chart's figures in words, for readers who do not see them.
pub(super) fn in_words(lines: &Lines) -> String {
    let (measure, _, _) = axes(lines);
    let time = if lines.axes.time.is_empty() { "time" } else { &lines.axes.time };
    let head = format!("Lines of {} over {time}.", lines.axes.values.title);
    let phases =
        lines.phases.iter().map(|phase| format!("{} begins at {} s.", phase.name, significant(phase.begin(), 4)));
    let series = lines.series.iter().map(|series| format!("{}.", in_words_of(series, &measure)));
    [head].into_iter().chain(phases).chain(series).collect::<Vec<_>>().join(" ")
}

/// Where a line begins, how far it goes and where it ends.
fn in_words_of(series: &LineSeries, measure: &Measure) -> String {
    let values: Vec<f64> = series.runs().iter().flatten().map(|(_, value)| *value).collect();
    let (Some(first), Some(last)) = (values.first(), values.last()) else {
        return format!("{}: no figures", series.name);
    };
    let low = values.iter().copied().fold(f64::INFINITY, f64::min);
    let high = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let [first, last, low, high] = [*first, *last, low, high].map(|value| measure.full(value));
    format!("{}: begins at {first}, ends at {last}, lowest {low}, highest {high}", series.name)
}

/// The unit of the values, their axis and that of the time.
fn axes(lines: &Lines) -> (Measure, Scale, Scale) {
    let points = || lines.series.iter().flat_map(|series| series.runs().iter().flatten());
    let (low, high) = points().fold((0.0_f64, 0.0_f64), |(low, high), (_, y)| (low.min(*y), high.max(*y)));
    let measure = Measure::of(&lines.axes.values.unit, high.max(-low));
    let values = Scale::from_zero(measure.scaled(low), measure.scaled(high), 6);
    let times = points().map(|(x, _)| *x).chain(lines.phases.iter().map(Phase::begin));
    let ends = times.fold(None, |ends: Option<(f64, f64)>, x| {
        Some(ends.map_or((x, x), |(first, last)| (first.min(x), last.max(x))))
    });
    let (first, last) = ends.unwrap_or((0.0, 1.0));
    // What begins soon after the clock does is seen to do so.
    let soon = first > 0.0 && (first < 0.2 * last || first >= last);
    let first = if soon { 0.0 } else { first };
    (measure, values, Scale::between(first, last, 8))
}

/// Draws the ticks of the time below the data; one that would touch the one before it is left out.
fn time_axis(canvas: &mut Canvas, time: &Scale, plot: Area) {
    let mut free = f64::NEG_INFINITY;
    for (tick, text) in time.ticks() {
        let x = time.place(tick, plot.left, plot.right);
        let half = SMALL.width(&text) / 2.0;
        canvas.line("base", (x, plot.bottom), (x, plot.bottom + 4.0));
        if x - half > free && x + half <= WIDTH - 2.0 {
            canvas.text((x, plot.bottom + 16.0), Anchor::Middle, SMALL, "soft", &text);
            free = x + half + 6.0;
        }
    }
}

/// The name of a phase at the top of its line.
struct Flag<'a> {
    x: f64,
    name: &'a str,
    /// As much of the name as there is room for, perhaps nothing.
    text: String,
    /// The row above the data, from below.
    row: usize,
}

/// A flag a phase, from the last one on, each in the lowest row where its name ends before the flags on its right.
/// Lines go down from flags, so that one in a higher row takes the rows below it as well.
fn flags<'a>(lines: &'a Lines, time: &Scale, (left, right): (f64, f64)) -> Vec<Flag<'a>> {
    let mut phases: Vec<&Phase> = lines.phases.iter().collect();
    phases.sort_by(|a, b| b.begin().total_cmp(&a.begin()));
    let mut free = [WIDTH - 2.0; FLAGS];
    let mut out = Vec::new();
    for phase in phases {
        let name = phase.name.trim();
        let x = time.place(phase.begin(), left, right);
        let text = SMALL.shorten(name, NAME);
        let row = (0..FLAGS).find(|row| x + FLAG_GAP + SMALL.width(&text) <= free[*row]);
        let (row, text) = match row {
            Some(row) => (row, text),
            None => (0, SMALL.shorten(name, (free[0] - x - FLAG_GAP).max(0.0))),
        };
        free[..=row].fill(x - FLAG_GAP);
        out.push(Flag { x, name, text, row });
    }
    out
}

/// Draws the lines where phases begin, and their names.
fn draw_flags(canvas: &mut Canvas, flags: &[Flag], plot: Area) {
    for flag in flags {
        let base = plot.top - 5.0 - flag.row as f64 * FLAG;
        canvas.line("phase", (flag.x, base - 9.0), (flag.x, plot.bottom));
        canvas.text_of((flag.x + FLAG_GAP, base), Anchor::Start, SMALL, "soft", &flag.text, flag.name);
    }
}

/// A line in the picture. Where several points share a unit of the width, the first, the lowest, the highest and the
/// last of them draw the same line.
fn curve(series: &LineSeries, measure: &Measure, values: &Scale, time: &Scale, plot: Area) -> Curve {
    let place = |(x, y): &(f64, f64)| {
        let y = values.place(measure.scaled(*y), plot.bottom, plot.top);
        (time.place(*x, plot.left, plot.right), y)
    };
    let thin = |run: &Vec<(f64, f64)>| {
        let points: Vec<(f64, f64)> = run.iter().map(place).collect();
        let mut out = Vec::new();
        for column in points.chunk_by(|a, b| a.0.floor() >= b.0.floor()) {
            let by_height = |a: &&(f64, f64), b: &&(f64, f64)| a.1.total_cmp(&b.1);
            let index = |point: Option<&(f64, f64)>| point.and_then(|point| column.iter().position(|p| p == point));
            let mut kept = [
                Some(0),
                index(column.iter().min_by(by_height)),
                index(column.iter().max_by(by_height)),
                Some(column.len() - 1),
            ];
            kept.sort_unstable();
            let mut last = None;
            for n in kept.into_iter().flatten() {
                if last != Some(n) {
                    out.push(column[n]);
                }
                last = Some(n);
            }
        }
        out
    };
    series.runs().iter().map(thin).collect()
}

/// The points of a line that are marked: all of a few, else some at even distances, at other places for each series.
fn marked(curve: &Curve, n: usize, series: usize, plot: Area) -> Vec<(f64, f64)> {
    let points: Vec<(f64, f64)> = curve.iter().flatten().copied().collect();
    if points.len() <= 2 * MARKS {
        return points;
    }
    if series == 1 {
        return Vec::new();
    }
    let shift = (n as f64 + 0.5) / series as f64;
    let mut out: Vec<(f64, f64)> = Vec::new();
    for mark in 0..MARKS {
        let x = plot.left + plot.width() * (mark as f64 + shift) / MARKS as f64;
        let nearest = points.iter().min_by(|a, b| (a.0 - x).abs().total_cmp(&(b.0 - x).abs()));
        out.extend(nearest.filter(|point| !out.contains(point)).copied());
    }
    out
}

/// Draws the series' names on the right, each near the end of its line and none upon another.
fn draw_names(canvas: &mut Canvas, lines: &Lines, curves: &[Curve], plot: Area) {
    let end = |n: usize| curves[n].last().and_then(|run| run.last()).copied();
    let mut order: Vec<usize> = (0..lines.series.len()).filter(|n| !lines.series[*n].name.trim().is_empty()).collect();
    // Those without a line come last.
    order.sort_by(|a, b| end(*a).map_or(f64::MAX, |at| at.1).total_cmp(&end(*b).map_or(f64::MAX, |at| at.1)));
    let wanted: Vec<f64> = order.iter().map(|n| end(*n).map_or(plot.bottom, |at| at.1)).collect();
    for (n, y) in order.iter().zip(spread(&wanted, plot)) {
        let x = plot.right + TO_NAMES;
        if let Some(at) = end(*n) {
            canvas.line("lead", (plot.right + 4.0, at.1), (x - 14.0, y));
        }
        canvas.marker(&format!("mark {}", palette::colour(*n)), Marker::of(*n), (x - 8.0, y), MARK);
        let name = lines.series[*n].name.trim();
        let class = if end(*n).is_some() { "ink" } else { "soft" };
        canvas.text_of((x, y + 4.0), Anchor::Start, LABEL, class, &LABEL.shorten(name, NAME), name);
    }
}

/// Heights in order, moved as little as a simple rule can so that they are apart and inside.
fn spread(wanted: &[f64], plot: Area) -> Vec<f64> {
    let mut out: Vec<f64> = Vec::with_capacity(wanted.len());
    for y in wanted {
        // Names of phases may reach over the first of them.
        let least = out.last().map_or(plot.top + 6.0, |above| above + APART);
        out.push(y.max(least));
    }
    let mut most = plot.bottom;
    for y in out.iter_mut().rev() {
        *y = y.min(most);
        most = *y - APART;
    }
    out
}
