//! Bars by the values of an axis: medians or means as lengths, rounds as dots, intervals as whiskers.

use super::canvas::{Anchor, Area, Canvas};
use super::data::{Bar, Bars, Chart};
use super::font::{LABEL, SMALL};
use super::frame::{self, MARGIN, WIDTH};
use super::legend::{self, Entry, Key};
use super::number::Measure;
use super::palette::Marker;
use super::scale::Scale;
use super::swarm;
use super::values::{self, CAP, Value};
use crate::report::format::NONE;

/// The widest a chart gets before its bars become thinner than [`THIN`].
const WIDEST: f64 = 1600.0;
/// The narrowest bar that a chart is widened for.
const THIN: f64 = 10.0;
/// How wide a group's name is at least allowed to be, as long as the chart is not the widest.
const NAME: f64 = 90.0;
/// What stays free between two names.
const NAME_GAP: f64 = 6.0;
/// The widest bar, with the gap beside it.
const WIDE: f64 = 64.0;
/// How much of a group's width its bars take.
const FILLED: f64 = 0.8;
/// Room above the data for values.
const HEAD: f64 = 16.0;
/// An interval that ends farther than this many times the largest figure is cut, so that the bars stay readable.
const CUT: f64 = 1.6;
/// How many lines a group's name may have.
const LINES: usize = 3;
/// The radius of a published figure's marker.
const PUBLISHED: f64 = 4.0;

/// Where things are, in units of the view box.
struct Layout<'a> {
    measure: Measure,
    scale: Scale,
    plot: Area,
    /// From one group's middle to the next one's.
    pitch: f64,
    /// From one bar's middle to the next one's.
    slot: f64,
    bars: &'a Bars,
}

/// Draws the whole chart and gives back its width and height.
pub(super) fn draw(canvas: &mut Canvas, chart: &Chart, bars: &Bars) -> (f64, f64) {
    let (measure, scale) = axis(bars);
    let left = MARGIN + frame::room_of_ticks(&scale);
    let groups = bars.groups.len().max(1) as f64;
    let series = bars.series.len().max(1) as f64;
    let names = bars.groups.iter().map(|name| LABEL.wrap(name, NAME, LINES).width(LABEL) + NAME_GAP);
    let wanted = left + MARGIN + groups * names.fold(series * THIN / FILLED, f64::max);
    let width = wanted.clamp(WIDTH, WIDEST).ceil();
    let room = width - 2.0 * MARGIN;

    let mut y = frame::heading(canvas, chart, width);
    let (named, marks) = entries(bars);
    y = legend::draw(canvas, &named, &marks, (MARGIN, y), room);
    y = frame::value_title(canvas, &measure.titled(&bars.values), y + 4.0, width);
    let plot = Area { left, top: y + HEAD, right: width - MARGIN, bottom: y + HEAD + frame::HEIGHT };
    let pitch = plot.width() / groups;
    let slot = (pitch * FILLED / series).min(WIDE);
    let layout = Layout { measure, scale, plot, pitch, slot, bars };

    if drawn(bars).any(|bar| *bar != Bar::missing()) {
        frame::value_axis(canvas, &layout.scale, plot);
        layout.columns(canvas);
    } else {
        frame::nothing(canvas, plot);
    }
    let y = layout.group_names(canvas);
    let y = frame::lower_title(canvas, &bars.axis, plot, y);
    (width, frame::note(canvas, chart, y, width))
}

/// The chart's figures in words, for readers who do not see them.
pub(super) fn in_words(bars: &Bars) -> String {
    let (measure, _) = axis(bars);
    let of_series = |series: &super::BarSeries| {
        let figures = bars.groups.iter().enumerate().map(|(n, group)| {
            let value = series.bars.get(n).and_then(Bar::value);
            format!("{group}: {}", value.map_or("no figure".to_owned(), |value| measure.full(value)))
        });
        format!("{}: {}.", series.name, figures.collect::<Vec<_>>().join(", "))
    };
    let by = if bars.axis.is_empty() { String::new() } else { format!(" by {}", bars.axis) };
    let head = format!("Bars of {}{by}.", bars.values.title);
    [head].into_iter().chain(bars.series.iter().map(of_series)).collect::<Vec<_>>().join(" ")
}

/// The bars that are drawn: those of a group that exists.
fn drawn(bars: &Bars) -> impl Iterator<Item = &Bar> {
    bars.series.iter().flat_map(|series| series.bars.iter().take(bars.groups.len()))
}

/// The unit and the axis that hold every figure. Intervals are held as far as they leave the figures readable.
fn axis(bars: &Bars) -> (Measure, Scale) {
    let figures = drawn(bars).flat_map(|bar| {
        let others = bar.rounds().iter().copied();
        bar.value().into_iter().chain(bar.published()).chain(others)
    });
    let (low, high) = figures.fold((0.0_f64, 0.0_f64), |(low, high), figure| (low.min(figure), high.max(figure)));
    let ends = drawn(bars).filter_map(Bar::interval);
    let (lowest, highest) = ends.fold((low, high), |(lowest, highest), (begin, end)| {
        (lowest.min(begin.max(low * CUT)), highest.max(end.min(high * CUT)))
    });
    let measure = Measure::of(&bars.values.unit, high.max(-low));
    let scale = Scale::from_zero(measure.scaled(lowest), measure.scaled(highest), 5);
    (measure, scale)
}

/// The legend: series, and the marks that occur.
fn entries(bars: &Bars) -> (Vec<Entry<'_>>, Vec<Entry<'_>>) {
    let named = bars.series.iter().enumerate().filter(|(_, series)| !series.name.trim().is_empty());
    let series = named.map(|(n, series)| (Key::Area(n), series.name.as_str())).collect();
    let interval = if bars.interval.is_empty() { "interval" } else { &bars.interval };
    let dot = if bars.dot.is_empty() { "one round" } else { &bars.dot };
    let marks = [
        (Key::Dot, dot, drawn(bars).any(|bar| !bar.rounds().is_empty())),
        (Key::Whisker, interval, drawn(bars).any(|bar| bar.interval().is_some())),
        (Key::Published, "published", drawn(bars).any(|bar| bar.published().is_some())),
    ];
    (series, marks.into_iter().filter(|(_, _, occurs)| *occurs).map(|(key, name, _)| (key, name)).collect())
}

impl Layout<'_> {
    /// Where a value is.
    fn y(&self, value: f64) -> f64 {
        self.scale.place(self.measure.scaled(value), self.plot.bottom, self.plot.top)
    }

    /// The middle of a bar.
    fn x(&self, group: usize, series: usize) -> f64 {
        let first = -(self.bars.series.len() as f64 - 1.0) / 2.0;
        self.plot.left + self.pitch * (group as f64 + 0.5) + self.slot * (first + series as f64)
    }

    /// Draws every bar with its marks, then the values where they fit.
    fn columns(&self, canvas: &mut Canvas) {
        let missing = Bar::missing();
        let mut taken = Vec::new();
        let mut values = Vec::new();
        for (group, name) in self.bars.groups.iter().enumerate() {
            for (n, series) in self.bars.series.iter().enumerate() {
                let bar = series.bars.get(group).unwrap_or(&missing);
                let x = self.x(group, n);
                let begin = taken.len();
                let published = self.column(canvas, bar, (n, x), &format!("{}, {name}", series.name), &mut taken);
                if let Some(value) = bar.value() {
                    values.push(Value {
                        x,
                        end: self.y(value),
                        below: value < 0.0,
                        text: self.measure.short(value),
                        own: begin..taken.len(),
                    });
                }
                // A value above it would be taken for the published one.
                taken.extend(published);
            }
        }
        values::draw(canvas, &values, &taken, self.plot, self.slot);
    }

    /// Draws one bar with its marks and adds the areas that they take; gives that of the published figure.
    fn column(
        &self,
        canvas: &mut Canvas,
        bar: &Bar,
        (n, x): (usize, f64),
        name: &str,
        taken: &mut Vec<Area>,
    ) -> Option<Area> {
        let gap = if self.slot > 12.0 { 2.0 } else { self.slot * 0.15 };
        let half = (self.slot - gap) / 2.0;
        let zero = self.y(0.0);
        if let Some(value) = bar.value() {
            let y = self.y(value);
            let area = Area { left: x - half, top: y.min(zero), right: x + half, bottom: y.max(zero) };
            legend::area(canvas, n, area, &self.told(bar, name));
            taken.push(area);
        } else if SMALL.width(NONE) + 1.0 < self.slot {
            canvas.text_of((x, zero - 4.0), Anchor::Middle, SMALL, "soft halo", NONE, &self.told(bar, name));
            taken.push(Area { left: x - half, top: zero - 12.0, right: x + half, bottom: zero });
        }
        // What dots keep away from.
        let mut marks = Vec::new();
        if let Some((low, high)) = bar.interval() {
            let (bottom, top) = (self.y(low), self.y(high));
            let within = |end: f64| (self.scale.low()..=self.scale.high()).contains(&self.measure.scaled(end));
            let cap = (half * 0.6).min(CAP);
            legend::whisker(canvas, x, (top, bottom), (within(high), within(low)), cap);
            marks.push(Area { left: x - cap, top: top - 1.0, right: x + cap, bottom: bottom + 1.0 });
        }
        let published = bar.published().map(|published| {
            let y = self.y(published);
            let radius = PUBLISHED.min(half.max(2.0));
            let reach = radius * 1.3 + 0.75;
            // Beside the whisker where the bar is wide enough for both.
            let x = if half > 3.0 * radius { x + half - reach } else { x };
            canvas.marker("hollow", Marker::Diamond, (x, y), radius);
            Area { left: x - reach, top: y - reach, right: x + reach, bottom: y + reach }
        });
        let radius = (half / 3.0).clamp(1.2, 2.6);
        let heights: Vec<f64> = bar.rounds().iter().map(|round| self.y(*round)).collect();
        let avoided: Vec<Area> = marks.iter().copied().chain(published).collect();
        let places = swarm::beside(&heights, x, half - radius, radius, &avoided);
        taken.extend(marks);
        for (x, y) in places.into_iter().zip(heights) {
            canvas.circle("dot", (x, y), radius);
            taken.push(Area { left: x - radius, top: y - radius, right: x + radius, bottom: y + radius });
        }
        published
    }

    /// Draws the names of the groups and gives back where they end.
    fn group_names(&self, canvas: &mut Canvas) -> f64 {
        let top = self.plot.bottom + 6.0;
        let mut lines = 0;
        for (n, name) in self.bars.groups.iter().enumerate() {
            let x = self.plot.left + self.pitch * (n as f64 + 0.5);
            let text = LABEL.wrap(name, self.pitch - NAME_GAP, LINES);
            canvas.lines((x, top + 12.0), Anchor::Middle, LABEL, "ink", &text, name);
            lines = lines.max(text.lines.len());
        }
        top + lines as f64 * LABEL.line() + 2.0
    }

    /// What a reader is told who points at a bar.
    fn told(&self, bar: &Bar, name: &str) -> String {
        let full = |value: f64| self.measure.full(value);
        let mut out = format!("{name}: {}", bar.value().map_or("no figure".to_owned(), full));
        if let Some((low, high)) = bar.interval() {
            let interval = if self.bars.interval.is_empty() { "interval" } else { &self.bars.interval };
            out += &format!("; {interval} {} to {}", full(low), full(high));
        }
        if !bar.rounds().is_empty() {
            let rounds: Vec<String> = bar.rounds().iter().map(|round| full(*round)).collect();
            let each = if self.bars.dot.is_empty() { "rounds" } else { "each" };
            out += &format!("; {each} {}", rounds.join(", "));
        }
        if let Some(published) = bar.published() {
            out += &format!("; published {}", full(published));
        }
        out
    }
}
