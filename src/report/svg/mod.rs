//! Charts as self-contained SVG: [`draw`] turns plain data into a picture that reads in light, in dark and on paper.
//!
//! Three kinds: [`Bars`] by the values of an axis, [`Lines`] over time and a [`Stack`] of amounts by role. A chart
//! has a `viewBox` and scales with the page; it holds no script, no font and no link. The same data gives the same
//! text. How wide a text gets is estimated (`font.rs`), since nothing here can ask a font; names that do not fit are
//! wrapped or shortened, and the whole name is in a nested `<title>`.

mod bars;
mod canvas;
#[cfg(test)]
mod checked;
mod data;
mod font;
mod frame;
mod legend;
mod lines;
mod names;
mod number;
mod palette;
#[cfg(test)]
mod samples;
mod scale;
mod stack;
mod swarm;
#[cfg(test)]
mod tests;
mod values;

pub use data::{
    Bar, BarSeries, Bars, Chart, Figure, LineSeries, Lines, LinesAxis, Phase, Stack, StackRow, Unit, ValueAxis,
};
pub use names::{file_name, file_names};

use canvas::Canvas;

/// The chart as the text of an SVG file. Never fails: what cannot be drawn (no series, no figures) is said in words.
pub fn draw(chart: &Chart) -> String {
    let mut canvas = Canvas::default();
    let (size, data) = match &chart.figure {
        Figure::Bars(bars) => (bars::draw(&mut canvas, chart, bars), bars::in_words(bars)),
        Figure::Lines(lines) => (lines::draw(&mut canvas, chart, lines), lines::in_words(lines)),
        Figure::Stack(stack) => (stack::draw(&mut canvas, chart, stack), stack::in_words(stack)),
    };
    let description = [chart.about.as_str(), data.as_str()];
    let description: Vec<&str> = description.into_iter().filter(|text| !text.is_empty()).collect();
    canvas.finish(size, &chart.title, &description.join(" "))
}
