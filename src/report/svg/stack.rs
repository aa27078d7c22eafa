//! Stacked bars: what each row's total is made of.

use super::canvas::{Anchor, Area, Canvas};
use super::data::{Chart, Stack, StackRow};
use super::font::{LABEL, SMALL, Wrapped};
use super::frame::{self, MARGIN, WIDTH};
use super::legend::{self, Entry, Key};
use super::number::{Measure, significant};
use super::palette;
use super::scale::Scale;
use crate::report::format::NONE;

/// How high a bar is.
const BAR: f64 = 24.0;
/// How high a row is.
const ROW: f64 = 36.0;
/// The widest a row's name gets.
const NAME: f64 = 210.0;
/// What stays free on both sides of an amount in its segment.
const INSET: f64 = 4.0;

/// Where things are, in units of the view box.
struct Layout<'a> {
    stack: &'a Stack,
    measure: Measure,
    scale: Scale,
    plot: Area,
}

/// Draws the whole chart and gives back its width and height.
pub(super) fn draw(canvas: &mut Canvas, chart: &Chart, stack: &Stack) -> (f64, f64) {
    let measure = measure(stack);
    let longest = stack.rows.iter().map(|row| total(stack, row)).fold(0.0, f64::max);
    let scale =
        if stack.shares { Scale::from_zero(0.0, 100.0, 5) } else { Scale::from_zero(0.0, measure.scaled(longest), 6) };
    let names: Vec<Wrapped> = stack.rows.iter().map(|row| LABEL.wrap(&row.name, NAME, 2)).collect();
    let name_room = names.iter().map(|name| name.width(LABEL)).fold(0.0, f64::max);
    let totals: Vec<String> = stack.rows.iter().map(|row| total_text(stack, row, &measure)).collect();
    // A bar ends at the total's left, and the longest one may end where the axis does.
    let total_room = totals.iter().map(|text| LABEL.width(text) + 8.0).fold(24.0, f64::max);

    let mut y = frame::heading(canvas, chart, WIDTH);
    y = legend::draw(canvas, &entries(stack), &[], (MARGIN, y), WIDTH - 2.0 * MARGIN);
    let (left, right) = (MARGIN + name_room + 10.0, WIDTH - MARGIN - total_room);
    let rows = stack.rows.len().max(1) as f64;
    let plot = Area { left, top: y + 8.0, right, bottom: y + 8.0 + rows * ROW };
    let layout = Layout { stack, measure, scale, plot };

    if stack.rows.is_empty() || stack.roles.is_empty() {
        frame::nothing(canvas, plot);
    } else {
        layout.axis(canvas);
    }
    for (n, (name, total)) in names.iter().zip(&totals).enumerate() {
        let middle = plot.top + ROW * (n as f64 + 0.5);
        let first = middle + 4.0 - LABEL.line() * (name.lines.len() as f64 - 1.0) / 2.0;
        canvas.lines((left - 10.0, first), Anchor::End, LABEL, "ink", name, &stack.rows[n].name);
        let end = layout.row(canvas, &stack.rows[n], middle);
        canvas.text((end + 6.0, middle + 4.0), Anchor::Start, LABEL, "ink halo", total);
    }
    let title = if stack.shares { share_title(stack) } else { layout.measure.titled(&stack.amounts) };
    let y = frame::lower_title(canvas, &title, plot, plot.bottom + 20.0);
    (WIDTH, frame::note(canvas, chart, y, WIDTH))
}

/// The chart's figures in words, for readers who do not see them.
pub(super) fn in_words(stack: &Stack) -> String {
    let measure = measure(stack);
    let of_row = |row: &StackRow| {
        let amounts = stack
            .roles
            .iter()
            .enumerate()
            .filter_map(|(n, role)| row.amount(n).map(|amount| format!("{role} {}", measure.full(amount))));
        let total = if total_text(stack, row, &measure) == NONE {
            "no figures".to_owned()
        } else {
            format!("{} in all", measure.full(total(stack, row)))
        };
        format!("{}: {}.", row.name, amounts.chain([total]).collect::<Vec<_>>().join(", "))
    };
    let head = format!("Stacked bars of {}.", stack.amounts.title);
    [head].into_iter().chain(stack.rows.iter().map(of_row)).collect::<Vec<_>>().join(" ")
}

/// The unit of all amounts, by the largest total.
fn measure(stack: &Stack) -> Measure {
    let longest = stack.rows.iter().map(|row| total(stack, row)).fold(0.0, f64::max);
    Measure::of(&stack.amounts.unit, longest)
}

/// The sum of a row's amounts.
fn total(stack: &Stack, row: &StackRow) -> f64 {
    (0..stack.roles.len()).filter_map(|role| row.amount(role)).sum()
}

/// The sum as it stands behind the bar.
fn total_text(stack: &Stack, row: &StackRow, measure: &Measure) -> String {
    let known = (0..stack.roles.len()).any(|role| row.amount(role).is_some());
    if known { measure.short_with_unit(total(stack, row)) } else { NONE.to_owned() }
}

/// The title of the axis where bars are shares.
fn share_title(stack: &Stack) -> String {
    if stack.amounts.title.is_empty() { "%".to_owned() } else { format!("share of {} (%)", stack.amounts.title) }
}

/// The roles that some row has an amount of.
fn entries(stack: &Stack) -> Vec<Entry<'_>> {
    let occurs = |role: usize| stack.rows.iter().any(|row| row.amount(role).is_some_and(|amount| amount > 0.0));
    let roles = stack.roles.iter().enumerate().filter(|(n, _)| occurs(*n));
    roles.map(|(n, role)| (Key::Area(n), role.as_str())).collect()
}

impl Layout<'_> {
    /// Draws the axis below the rows: a line up for every tick.
    fn axis(&self, canvas: &mut Canvas) {
        let mut free = f64::NEG_INFINITY;
        for (tick, text) in self.scale.ticks() {
            let x = self.scale.place(tick, self.plot.left, self.plot.right);
            let class = if tick == 0.0 { "base" } else { "grid" };
            canvas.line(class, (x, self.plot.top), (x, self.plot.bottom));
            let half = SMALL.width(&text) / 2.0;
            if x - half > free && x + half <= WIDTH - 2.0 {
                canvas.text((x, self.plot.bottom + 16.0), Anchor::Middle, SMALL, "soft", &text);
                free = x + half + 6.0;
            }
        }
    }

    /// Draws the segments of a row and gives back where the last one ends.
    fn row(&self, canvas: &mut Canvas, row: &StackRow, middle: f64) -> f64 {
        let total = total(self.stack, row);
        let mut sum = 0.0;
        let mut left = self.plot.left;
        for (n, role) in self.stack.roles.iter().enumerate() {
            let Some(amount) = row.amount(n).filter(|amount| *amount > 0.0) else { continue };
            sum += amount;
            let share = amount / total * 100.0;
            let end = if self.stack.shares { sum / total * 100.0 } else { self.measure.scaled(sum) };
            let right = self.scale.place(end, self.plot.left, self.plot.right);
            // A gap tells neighbours apart; what is thinner than two of them needs its width.
            let gap = if right - left > 3.0 { 1.0 } else { 0.0 };
            let area = Area { left, top: middle - BAR / 2.0, right: right - gap, bottom: middle + BAR / 2.0 };
            let share = significant(share, 2);
            let told = format!("{}, {role}: {} ({share} %)", row.name, self.measure.full(amount));
            legend::area(canvas, n, area, &told);
            let text = if self.stack.shares { format!("{share} %") } else { self.measure.short(amount) };
            if SMALL.width(&text) + 2.0 * INSET <= area.width() {
                let class = format!("halo on {}", palette::colour(n));
                let x = f64::midpoint(area.left, area.right);
                canvas.text((x, middle + 4.0), Anchor::Middle, SMALL, &class, &text);
            }
            left = right;
        }
        left
    }
}
