//! Writing elements of SVG: coordinates with two decimals, everything that a person wrote escaped.

use std::fmt::Write as _;

use super::font::{Font, Wrapped};
use super::names::slug;
use super::palette::{self, Marker};

/// A rectangle by its edges; y grows downwards.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Area {
    pub(super) left: f64,
    pub(super) top: f64,
    pub(super) right: f64,
    pub(super) bottom: f64,
}

impl Area {
    /// Whether both share more than an edge.
    pub(super) fn overlaps(&self, other: &Self) -> bool {
        self.left < other.right && other.left < self.right && self.top < other.bottom && other.top < self.bottom
    }

    /// From its left to its right edge.
    pub(super) fn width(&self) -> f64 {
        self.right - self.left
    }
}

/// Which point of a text its x is.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Anchor {
    Start,
    Middle,
    End,
}

/// The elements written so far.
#[derive(Debug, Default)]
pub(super) struct Canvas {
    body: String,
}

impl Canvas {
    /// A line of text, its baseline at y.
    pub(super) fn text(&mut self, at: (f64, f64), anchor: Anchor, font: Font, class: &str, text: &str) {
        self.text_of(at, anchor, font, class, text, text);
    }

    /// The same for a text that may be shortened: the whole of it is told if so.
    pub(super) fn text_of(
        &mut self,
        (x, y): (f64, f64),
        anchor: Anchor,
        font: Font,
        class: &str,
        text: &str,
        whole: &str,
    ) {
        if text.is_empty() {
            return;
        }
        let anchor = match anchor {
            Anchor::Start => "",
            Anchor::Middle => r#" text-anchor="middle""#,
            Anchor::End => r#" text-anchor="end""#,
        };
        let weight = if font.bold { r#" font-weight="600""# } else { "" };
        let title = if text == whole { String::new() } else { title(whole) };
        let (x, y, size) = (number(x), number(y), number(font.size));
        let text = escape(text);
        self.line_of(&format!(
            r#"<text class="{class}" x="{x}" y="{y}" font-size="{size}"{weight}{anchor}>{title}{text}</text>"#
        ));
    }

    /// Lines of text below one another, the first one's baseline at y.
    pub(super) fn lines(
        &mut self,
        (x, y): (f64, f64),
        anchor: Anchor,
        font: Font,
        class: &str,
        text: &Wrapped,
        whole: &str,
    ) {
        for (n, line) in text.lines.iter().enumerate() {
            let whole = if text.shortened { whole } else { line };
            self.text_of((x, y + n as f64 * font.line()), anchor, font, class, line, whole);
        }
    }

    /// A rectangle; the title is shown to a reader who points at it, if it is not empty.
    pub(super) fn rect(&mut self, class: &str, area: Area, told: &str) {
        let (x, y) = (number(area.left), number(area.top));
        // Edges are rounded, not lengths, so that neighbours meet.
        let width = number(rounded(area.right) - rounded(area.left));
        let height = number(rounded(area.bottom) - rounded(area.top));
        let told = if told.is_empty() { String::new() } else { title(told) };
        self.line_of(&format!(
            r#"<rect class="{class}" x="{x}" y="{y}" width="{width}" height="{height}">{told}</rect>"#
        ));
    }

    /// A straight line.
    pub(super) fn line(&mut self, class: &str, from: (f64, f64), to: (f64, f64)) {
        let (x1, y1, x2, y2) = (number(from.0), number(from.1), number(to.0), number(to.1));
        self.line_of(&format!(r#"<line class="{class}" x1="{x1}" y1="{y1}" x2="{x2}" y2="{y2}"/>"#));
    }

    /// A path through points; several of them leave gaps between.
    pub(super) fn path(&mut self, class: &str, runs: &[Vec<(f64, f64)>], told: &str) {
        let mut steps = String::new();
        for run in runs {
            for (n, (x, y)) in run.iter().enumerate() {
                // A lone point is a line of no length, which round ends make a dot.
                let verb = if n == 0 { 'M' } else { 'L' };
                let _ = write!(steps, "{verb}{} {}", number(*x), number(*y));
            }
            if let [(x, y)] = run[..] {
                let _ = write!(steps, "L{} {}", number(x), number(y));
            }
        }
        let told = if told.is_empty() { String::new() } else { title(told) };
        self.line_of(&format!(r#"<path class="{class}" d="{steps}">{told}</path>"#));
    }

    /// A dot.
    pub(super) fn circle(&mut self, class: &str, (x, y): (f64, f64), radius: f64) {
        let (x, y, r) = (number(x), number(y), number(radius));
        self.line_of(&format!(r#"<circle class="{class}" cx="{x}" cy="{y}" r="{r}"/>"#));
    }

    /// A marker around a point.
    pub(super) fn marker(&mut self, class: &str, marker: Marker, (x, y): (f64, f64), radius: f64) {
        let Some(corners) = marker.corners() else { return self.circle(class, (x, y), radius) };
        let points: Vec<String> = corners
            .iter()
            .map(|(right, down)| format!("{},{}", number(x + right * radius), number(y + down * radius)))
            .collect();
        self.line_of(&format!(r#"<polygon class="{class}" points="{}"/>"#, points.join(" ")));
    }

    /// The file: what was written, below a heading for readers and the colours.
    pub(super) fn finish(self, (width, height): (f64, f64), name: &str, description: &str) -> String {
        let (width, height) = (number(width.ceil()), number(height.ceil()));
        let id = slug(name);
        let mut out = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"{root}\" viewBox=\"0 0 {width} {height}\" \
             width=\"{width}\" height=\"{height}\" role=\"img\" aria-labelledby=\"{id}-title {id}-desc\">\n\
             <title id=\"{id}-title\">{}</title>\n<desc id=\"{id}-desc\">{}</desc>\n<style>\n{}</style>\n{}",
            escape(name),
            escape(description),
            palette::style(),
            palette::textures(&self.body),
            root = palette::ROOT,
        );
        let _ = writeln!(out, r#"<rect class="paper" x="0" y="0" width="{width}" height="{height}"/>"#);
        out.push_str(&self.body);
        out.push_str("</svg>\n");
        out
    }

    fn line_of(&mut self, element: &str) {
        self.body.push_str(element);
        self.body.push('\n');
    }
}

/// What a reader is told who points at the element that this is the first child of.
fn title(text: &str) -> String {
    format!("<title>{}</title>", escape(text))
}

/// A text as XML takes it between tags and in quotes. Characters that XML cannot hold become spaces.
fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\u{fffe}' | '\u{ffff}' => out.push(' '),
            letter if letter.is_control() => out.push(' '),
            letter => out.push(letter),
        }
    }
    out
}

fn rounded(value: f64) -> f64 {
    (value * 100.0).round() / 100.0
}

/// A coordinate without trailing zeros and without a negative zero.
fn number(value: f64) -> String {
    (rounded(value) + 0.0).to_string()
}
