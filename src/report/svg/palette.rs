//! Colours, textures and markers.
//!
//! The hues are those of Okabe and Ito, "Color Universal Design" (2008), which people with each kind of colour
//! blindness tell apart; black is grey here and yellow is left out, since one of them vanishes on paper of either
//! shade. On dark paper the darker hues are lightened. Every series differs from the others in a texture or a marker
//! as well, so that a print without colours can be read.

/// The class of the whole picture, so that its rules touch nothing else of a page it is put into.
pub(super) const ROOT: &str = "runner-chart";

/// Colours of series: on light paper, on dark paper, and of text upon either.
const COLOURS: [(&str, &str, &str); 7] = [
    ("#0072b2", "#2f8fd0", "#ffffff"),
    ("#e69f00", "#e69f00", "#1b1f24"),
    ("#009e73", "#1fb287", "#1b1f24"),
    ("#cc79a7", "#d58ab3", "#1b1f24"),
    ("#56b4e9", "#7cc8f2", "#1b1f24"),
    ("#d55e00", "#e8702a", "#1b1f24"),
    ("#7f868d", "#9aa2aa", "#1b1f24"),
];

/// Rules of one shade of paper: paper, ink, soft ink, grid.
const LIGHT: [&str; 4] = ["#ffffff", "#1b1f24", "#57606a", "#e4e7eb"];
const DARK: [&str; 4] = ["#0d1117", "#e6edf3", "#9aa4af", "#262c33"];

/// Strokes of the textures; the first one is none.
const TEXTURES: [&str; 4] =
    ["", "M-1 7L7 -1M-1 1L1 -1M5 7L7 5", "M1.5 1.5L1.5 1.5M4.5 4.5L4.5 4.5", "M-1 -1L7 7M-1 5L1 7M5 -1L7 1"];

/// The class of the n-th series' colour.
pub(super) fn colour(n: usize) -> String {
    format!("c{}", n % COLOURS.len())
}

/// The class of the n-th series' texture; none for the plain one.
pub(super) fn texture(n: usize) -> Option<String> {
    let texture = n % TEXTURES.len();
    (texture > 0).then(|| format!("x{texture}"))
}

/// The shape that marks points of a series.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Marker {
    Circle,
    Square,
    Triangle,
    Diamond,
    Tip,
    Cross,
}

impl Marker {
    /// The n-th series' shape.
    pub(super) fn of(n: usize) -> Self {
        [Self::Circle, Self::Square, Self::Triangle, Self::Diamond, Self::Tip, Self::Cross][n % 6]
    }

    /// Its corners around a centre for a radius of one; none for the circle.
    pub(super) fn corners(self) -> Option<&'static [(f64, f64)]> {
        match self {
            Self::Circle => None,
            Self::Square => Some(&[(-0.9, -0.9), (0.9, -0.9), (0.9, 0.9), (-0.9, 0.9)]),
            Self::Triangle => Some(&[(0.0, -1.2), (1.1, 0.8), (-1.1, 0.8)]),
            Self::Diamond => Some(&[(0.0, -1.3), (1.3, 0.0), (0.0, 1.3), (-1.3, 0.0)]),
            Self::Tip => Some(&[(0.0, 1.2), (1.1, -0.8), (-1.1, -0.8)]),
            Self::Cross => Some(&[
                (-0.4, -1.2),
                (0.4, -1.2),
                (0.4, -0.4),
                (1.2, -0.4),
                (1.2, 0.4),
                (0.4, 0.4),
                (0.4, 1.2),
                (-0.4, 1.2),
                (-0.4, 0.4),
                (-1.2, 0.4),
                (-1.2, -0.4),
                (-0.4, -0.4),
            ]),
        }
    }
}

/// The rules of every chart: shapes once, colours for light and, where a reader prefers it, dark paper.
pub(super) fn style() -> String {
    let mut out = String::new();
    let mut rule = |selectors: &str, rules: &str| out.push_str(&scoped(selectors, rules));
    rule("text", "font-family:\"Helvetica Neue\",Helvetica,Arial,\"Liberation Sans\",\"DejaVu Sans\",sans-serif");
    rule(".halo", "stroke-width:3;stroke-linejoin:round;paint-order:stroke");
    rule(".grid,.phase,.lead", "fill:none;stroke-width:0.75");
    rule(".phase", "stroke-dasharray:3 3");
    rule(".base", "fill:none;stroke-width:1");
    rule(".curve", "fill:none;stroke-width:1.75;stroke-linejoin:round;stroke-linecap:round");
    rule(".on", "stroke-width:5");
    rule(".mark", "stroke-width:0.6");
    rule(".dot", "stroke-width:1;pointer-events:none");
    rule(".whisker", "fill:none;stroke-width:1.25;pointer-events:none");
    rule(".glow", "fill:none;stroke-width:3.5;stroke-opacity:0.75;pointer-events:none");
    rule(".hollow", "stroke-width:1.5;fill-opacity:0.85;pointer-events:none");
    rule(".texture", "pointer-events:none");
    rule(".stroke", "fill:none;stroke-width:1.4;stroke-opacity:0.45;stroke-linecap:round");
    for texture in 1..TEXTURES.len() {
        rule(&format!(".x{texture}"), &format!("fill:url(#{ROOT}-x{texture})"));
    }
    out.push_str(&colours(LIGHT, |(light, _, on)| (light, on)));
    out.push_str("@media (prefers-color-scheme:dark){\n");
    out.push_str(&colours(DARK, |(_, dark, _)| (dark, LIGHT[1])));
    out.push_str("}\n");
    out
}

/// Rules for each of the selectors inside of a chart, and nowhere else.
fn scoped(selectors: &str, rules: &str) -> String {
    let selectors: Vec<String> = selectors.split(',').map(|selector| format!(".{ROOT} {selector}")).collect();
    format!("{}{{{rules}}}\n", selectors.join(","))
}

/// The rules of one shade of paper.
fn colours(
    [paper, ink, soft, grid]: [&str; 4],
    of: impl Fn((&'static str, &'static str, &'static str)) -> (&'static str, &'static str),
) -> String {
    let mut out = String::new();
    let mut rule = |selectors: &str, rules: String| out.push_str(&scoped(selectors, &rules));
    rule(".paper", format!("fill:{paper}"));
    rule(".ink", format!("fill:{ink}"));
    rule(".soft", format!("fill:{soft}"));
    rule(".halo", format!("stroke:{paper}"));
    rule(".grid", format!("stroke:{grid}"));
    rule(".phase,.lead,.base", format!("stroke:{soft}"));
    rule(".dot", format!("fill:{ink};stroke:{paper}"));
    rule(".whisker", format!("stroke:{ink}"));
    rule(".glow,.stroke,.mark", format!("stroke:{paper}"));
    rule(".hollow", format!("fill:{paper};stroke:{ink}"));
    for (n, colour) in COLOURS.into_iter().enumerate() {
        let (colour, on) = of(colour);
        rule(&format!(".c{n}"), format!("fill:{colour}"));
        rule(&format!(".curve.c{n}"), format!("fill:none;stroke:{colour}"));
        rule(&format!(".on.c{n}"), format!("fill:{on};stroke:{colour}"));
    }
    out
}

/// The patterns that what is drawn makes use of.
pub(super) fn textures(body: &str) -> String {
    let used = |n: &usize| body.contains(&format!(" x{n}\""));
    let pattern = |n: usize| {
        let (id, d) = (format!("{ROOT}-x{n}"), TEXTURES[n]);
        format!(
            "<pattern id=\"{id}\" width=\"6\" height=\"6\" patternUnits=\"userSpaceOnUse\">\
             <path class=\"stroke\" d=\"{d}\"/></pattern>\n"
        )
    };
    let patterns: String = (1..TEXTURES.len()).filter(used).map(pattern).collect();
    if patterns.is_empty() { patterns } else { format!("<defs>\n{patterns}</defs>\n") }
}
