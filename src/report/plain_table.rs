//! Tables as psql draws them, in ASCII and no wider than asked.
//!
//! Nothing here knows of reports: any command that prints for a terminal or a mail may use it.

use super::plain_text::{ascii, wrap};

/// Leading columns are narrowed step by step to these widths if that saves a part of a split table.
const LEADING_WIDTHS: [usize; 4] = [40, 30, 22, 16];

/// A heading narrower than this is not wrapped even if its figures are narrower still.
const HEADING: usize = 9;

/// A word of a heading that is longer than this may be cut.
const WORD: usize = 14;

/// Where a column's text stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// Words.
    Left,
    /// Figures.
    Right,
}

/// A cell: a figure, the marks right behind it, and what stands apart from it. In a column of figures each part is
/// aligned by itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PlainCell {
    /// The figure or the words.
    pub text: String,
    /// Marks of footnotes.
    pub mark: String,
    /// Such as a published figure.
    pub aside: String,
}

impl From<&str> for PlainCell {
    fn from(text: &str) -> Self {
        PlainCell { text: ascii(text), ..PlainCell::default() }
    }
}

/// A table in psql's style. Where it is too wide it is drawn in several parts that each repeat the leading columns.
#[derive(Clone, Debug, Default)]
pub struct PlainTable {
    leading: usize,
    headings: Vec<(String, Side)>,
    rows: Vec<Vec<PlainCell>>,
}

impl PlainTable {
    /// An empty one whose first `leading` columns say what a row is about.
    pub fn new(leading: usize) -> Self {
        PlainTable { leading, ..PlainTable::default() }
    }

    /// Adds a column.
    pub fn column(&mut self, heading: &str, side: Side) {
        self.headings.push((ascii(heading), side));
    }

    /// Adds a row, a cell a column; cells that lack are empty.
    pub fn row(&mut self, cells: Vec<PlainCell>) {
        self.rows.push(cells);
    }

    /// The table in lines of at most `width` columns, parts apart by an empty line, without a final newline. At widths
    /// too small for a table (less than 8 columns each for leading and other columns) lines may be longer.
    pub fn draw(&self, width: usize) -> String {
        let columns: Vec<Column> = (0..self.headings.len()).map(|index| self.read(index)).collect();
        let leading = self.leading.min(columns.len());
        let layouts = LEADING_WIDTHS.iter().map(|most| layout(&columns, leading, (*most).min(width / 2), width));
        // The first of the narrowest number of parts is the one with the widest titles.
        let Some((widths, parts)) = layouts.min_by_key(|(_, parts)| parts.len()) else { return String::new() };
        let part = |shown: &Vec<usize>| self.part(&columns, &widths, shown);
        parts.iter().map(part).collect::<Vec<_>>().join("\n\n")
    }

    fn read(&self, index: usize) -> Column {
        let (heading, side) = &self.headings[index];
        let none = PlainCell::default();
        let cells: Vec<&PlainCell> = self.rows.iter().map(|row| row.get(index).unwrap_or(&none)).collect();
        let cells = match side {
            Side::Left => cells
                .into_iter()
                .map(|cell| joined(&ascii(&cell.text), &ascii(&cell.mark), &ascii(&cell.aside)))
                .collect(),
            Side::Right => aligned(&cells),
        };
        Column { heading: heading.clone(), side: *side, cells }
    }

    fn part(&self, columns: &[Column], widths: &[usize], shown: &[usize]) -> String {
        let headings: Vec<Vec<String>> =
            shown.iter().map(|index| wrap(&columns[*index].heading, widths[*index])).collect();
        let mut lines = Vec::new();
        let height = headings.iter().map(Vec::len).max().unwrap_or(0);
        for line in 0..height {
            let cells = headings.iter().zip(shown).map(|(own, index)| {
                // Wrapped headings stand at the bottom, next to their figures.
                let text =
                    (line + own.len()).checked_sub(height).and_then(|line| own.get(line)).map_or("", String::as_str);
                format!("{text:^width$}", width = widths[*index])
            });
            lines.push(row(cells));
        }
        lines.push(shown.iter().map(|index| "-".repeat(widths[*index] + 2)).collect::<Vec<_>>().join("+"));
        for index in 0..self.rows.len() {
            let cells: Vec<Vec<String>> =
                shown.iter().map(|column| columns[*column].lines(index, widths[*column])).collect();
            for line in 0..cells.iter().map(Vec::len).max().unwrap_or(0).max(1) {
                let texts = cells.iter().zip(shown).map(|(own, column)| {
                    let (text, width) = (own.get(line).map_or("", String::as_str), widths[*column]);
                    match columns[*column].side {
                        Side::Left => format!("{text:<width$}"),
                        Side::Right => format!("{text:>width$}"),
                    }
                });
                lines.push(row(texts));
            }
        }
        lines.join("\n")
    }
}

struct Column {
    heading: String,
    side: Side,
    cells: Vec<String>,
}

impl Column {
    /// Width wanted, at most `most`.
    fn width(&self, most: usize) -> usize {
        let cells = self.cells.iter().map(String::len).max().unwrap_or(0);
        let word = self.heading.split(' ').map(str::len).max().unwrap_or(0).min(WORD);
        let folded = wrap(&self.heading, cells.max(HEADING).max(word)).iter().map(String::len).max().unwrap_or(0);
        cells.max(folded).clamp(1, most.max(1))
    }

    /// A cell in lines; words that go on are set in a little.
    fn lines(&self, row: usize, width: usize) -> Vec<String> {
        let text = &self.cells[row];
        if text.len() <= width {
            return vec![text.clone()];
        }
        if self.side == Side::Right || width < 8 {
            return wrap(text, width);
        }
        let lines = wrap(text, width - 2);
        lines.into_iter().enumerate().map(|(index, line)| if index == 0 { line } else { format!("  {line}") }).collect()
    }
}

/// Widths of all columns, and which columns stand in each part.
fn layout(columns: &[Column], leading: usize, most: usize, width: usize) -> (Vec<usize>, Vec<Vec<usize>>) {
    // The last of them holds the titles; what stands before it is short.
    let mut widths: Vec<usize> = columns.iter().take(leading).map(|column| column.width(most)).collect();
    if let Some((_, before)) = widths.split_last_mut() {
        for own in before {
            *own = (*own).min(width / 4 / leading);
        }
    }
    // A column takes a blank on each side and a border.
    let own: usize = widths.iter().map(|width| width + 3).sum();
    let rest = width.saturating_sub(own + 2).max(1);
    widths.extend(columns.iter().skip(leading).map(|column| column.width(rest)));
    let mut parts: Vec<Vec<usize>> = Vec::new();
    let mut free = 0;
    for (index, own) in widths.iter().enumerate().skip(leading) {
        if parts.is_empty() || *own > free {
            parts.push((0..leading).collect());
            free = rest;
        }
        free = free.saturating_sub(own + 3);
        if let Some(part) = parts.last_mut() {
            part.push(index);
        }
    }
    if parts.is_empty() {
        parts.push((0..leading).collect());
    }
    (widths, parts)
}

fn row(cells: impl Iterator<Item = String>) -> String {
    format!(" {}", cells.collect::<Vec<_>>().join(" | ")).trim_end().to_owned()
}

fn joined(text: &str, mark: &str, aside: &str) -> String {
    let aside = if aside.is_empty() { String::new() } else { format!(" {aside}") };
    format!("{text}{mark}{aside}")
}

/// Figures below figures, whatever follows them.
fn aligned(cells: &[&PlainCell]) -> Vec<String> {
    let spelled = |cell: &&PlainCell| (ascii(&cell.text), ascii(&cell.mark), ascii(&cell.aside));
    let cells: Vec<(String, String, String)> = cells.iter().map(spelled).collect();
    let marks = cells.iter().map(|(_, mark, _)| mark.len()).max().unwrap_or(0);
    let asides = cells.iter().map(|(_, _, aside)| aside.len()).max().unwrap_or(0);
    let texts =
        cells.iter().filter(|(_, _, aside)| !aside.is_empty()).map(|(text, _, _)| text.len()).max().unwrap_or(0);
    let one = |(text, mark, aside): &(String, String, String)| match asides {
        0 => format!("{text}{mark:<marks$}"),
        // Such as an interval below figures: it has the place of the asides too.
        _ if mark.is_empty() && aside.is_empty() && text.len() > texts => text.clone(),
        _ => format!("{text}{mark:<marks$} {aside:<asides$}"),
    };
    cells.iter().map(one).collect()
}
