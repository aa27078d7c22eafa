//! How wide texts get, and how those that are too wide are wrapped or shortened.
//!
//! A reader's browser takes the first font it has. Widths here are those of DejaVu Sans and Liberation Sans,
//! whichever is wider, letter by letter: what fits by them fits in the fonts of all usual systems.

/// Widths of the printable characters of ASCII, from the space on, in hundredths of the font's size.
const ASCII: [u8; 95] = [
    32, 40, 46, 84, 64, 95, 78, 27, 39, 39, 50, 84, 32, 36, 32, 34, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 34, 34, 84,
    84, 84, 56, 102, 68, 69, 72, 77, 67, 61, 78, 75, 29, 50, 67, 56, 86, 75, 79, 67, 79, 72, 67, 61, 73, 68, 99, 69,
    67, 69, 39, 34, 39, 84, 56, 50, 61, 63, 55, 63, 62, 35, 63, 63, 28, 28, 58, 28, 97, 63, 61, 63, 63, 41, 52, 39, 63,
    59, 82, 59, 59, 52, 64, 34, 64, 84,
];

/// How much wider bold is, at the most of an ordinary text.
const BOLD: f64 = 1.14;

/// Marks that a name may be broken after, as at a space.
const JOINTS: [char; 8] = ['_', '-', '/', '=', ':', '|', ',', '.'];

/// A size and weight of text.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Font {
    /// In units of the view box.
    pub(super) size: f64,
    /// Whether it is bold.
    pub(super) bold: bool,
}

/// The heading.
pub(super) const TITLE: Font = Font { size: 15.0, bold: true };
/// Names and titles of axes.
pub(super) const LABEL: Font = Font { size: 12.0, bold: false };
/// Ticks, values, the note.
pub(super) const SMALL: Font = Font { size: 11.0, bold: false };
/// Values where there is little room.
pub(super) const TINY: Font = Font { size: 9.5, bold: false };

impl Font {
    /// How far a line is below the one before.
    pub(super) fn line(self) -> f64 {
        (self.size * 1.25).ceil()
    }

    /// How wide the text gets, rather too wide than too narrow.
    pub(super) fn width(self, text: &str) -> f64 {
        let hundredths: f64 = text.chars().map(hundredths).sum();
        hundredths / 100.0 * self.size * if self.bold { BOLD } else { 1.0 }
    }

    /// The text if it fits, else its beginning and its end around an ellipsis: what tells names apart stands at
    /// either. Empty if not even the ellipsis fits.
    pub(super) fn shorten(self, text: &str, room: f64) -> String {
        if self.width(text) <= room {
            return text.to_owned();
        }
        let letters: Vec<char> = text.chars().collect();
        let with = |kept: usize| {
            let head: String = letters[..kept.div_ceil(2)].iter().collect();
            let tail: String = letters[letters.len() - kept / 2..].iter().collect();
            format!("{}…{}", head.trim_end(), tail.trim_start())
        };
        let (mut fits, mut fails) = (0, letters.len());
        while fails - fits > 1 {
            let middle = fits.midpoint(fails);
            if self.width(&with(middle)) <= room {
                fits = middle;
            } else {
                fails = middle;
            }
        }
        let short = with(fits);
        if self.width(&short) <= room { short } else { String::new() }
    }

    /// The text in at most that many lines, broken at spaces and joints of names; shortened if it needs more.
    pub(super) fn wrap(self, text: &str, room: f64, most: usize) -> Wrapped {
        let mut pieces = pieces(text).into_iter().peekable();
        let mut lines: Vec<String> = Vec::new();
        let mut line = String::new();
        while let Some(piece) = pieces.peek() {
            let longer = format!("{line}{piece}");
            if self.width(longer.trim_end()) <= room || line.is_empty() {
                line = longer;
                pieces.next();
            } else if lines.len() + 1 < most {
                lines.push(std::mem::take(&mut line));
            } else {
                line.extend(pieces.by_ref());
            }
        }
        lines.push(line);
        let lines: Vec<String> = lines.iter().map(|line| self.shorten(line.trim(), room)).collect();
        let whole: String = text.chars().filter(|c| !c.is_whitespace()).collect();
        let shown: String = lines.iter().flat_map(|line| line.chars()).filter(|c| !c.is_whitespace()).collect();
        Wrapped { lines, shortened: shown != whole }
    }
}

/// A text in lines.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Wrapped {
    /// One at least, perhaps empty.
    pub(super) lines: Vec<String>,
    /// Whether anything of it was left out.
    pub(super) shortened: bool,
}

impl Wrapped {
    /// How wide its widest line is.
    pub(super) fn width(&self, font: Font) -> f64 {
        self.lines.iter().map(|line| font.width(line)).fold(0.0, f64::max)
    }
}

/// The parts of a text between which a line may end, each with the space or joint behind it.
fn pieces(text: &str) -> Vec<String> {
    let letters: Vec<char> = text.chars().map(|c| if c.is_whitespace() { ' ' } else { c }).collect();
    let mut out = vec![String::new()];
    for (at, letter) in letters.iter().enumerate() {
        let digit_next = letters.get(at + 1).is_some_and(char::is_ascii_digit);
        let begins = out.last().is_none_or(String::is_empty);
        // A decimal number and a sign before one stay whole.
        let joint = JOINTS.contains(letter) && !begins && !(matches!(letter, ',' | '.' | '-') && digit_next);
        if let Some(last) = out.last_mut() {
            last.push(*letter);
        }
        if joint || *letter == ' ' {
            out.push(String::new());
        }
    }
    out
}

/// The width of one character in hundredths of the font's size.
fn hundredths(letter: char) -> f64 {
    let code = letter as u32;
    match code {
        0x20..=0x7e => f64::from(ASCII[code as usize - 0x20]),
        // Marks that stand above or below the letter before them.
        0x300..=0x36f => 0.0,
        0xa0..=0x24f | 0x2010..=0x2014 | 0x2070..=0x209f | 0x2212 => 85.0,
        // Everything else by the widest usual letter; Chinese, Japanese and Korean ones are a square.
        _ => 110.0,
    }
}
