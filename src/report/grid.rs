//! A table as Markdown that is a table in plain text too: pipes and figures stand below one another.

/// Where a column's text stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Align {
    Left,
    Right,
}

/// A cell: a figure with its marks, and what stands behind it. Each part is aligned by itself, so that figures
/// stay below figures whether or not something follows them.
#[derive(Clone, Debug, Default)]
pub(super) struct Entry {
    pub(super) figure: String,
    pub(super) mark: String,
    pub(super) aside: String,
}

impl From<&str> for Entry {
    fn from(text: &str) -> Self {
        Entry { figure: escaped(text), ..Entry::default() }
    }
}

/// A table.
#[derive(Clone, Debug, Default)]
pub(super) struct Grid {
    headings: Vec<(String, Align)>,
    rows: Vec<Vec<Entry>>,
}

impl Grid {
    /// Adds a column.
    pub(super) fn column(&mut self, heading: &str, align: Align) {
        self.headings.push((escaped(heading), align));
    }

    /// Adds a row, an entry a column.
    pub(super) fn row(&mut self, entries: Vec<Entry>) {
        self.rows.push(entries);
    }

    /// The table, without a final newline.
    pub(super) fn draw(&self) -> String {
        let widths: Vec<Widths> = (0..self.headings.len()).map(|index| self.widths(index)).collect();
        let mut lines = Vec::new();
        let heading = |((text, align), widths): (&(String, Align), &Widths)| aligned(text, *align, widths.whole);
        lines.push(self.headings.iter().zip(&widths).map(heading).collect::<Vec<_>>().join(" | "));
        let rule = |((_, align), widths): (&(String, Align), &Widths)| match align {
            Align::Left => "-".repeat(widths.whole),
            Align::Right => format!("{}:", "-".repeat(widths.whole - 1)),
        };
        lines.push(self.headings.iter().zip(&widths).map(rule).collect::<Vec<_>>().join(" | "));
        for row in &self.rows {
            let cells = row.iter().zip(&widths).zip(&self.headings);
            let cells: Vec<String> = cells.map(|((entry, widths), (_, align))| widths.fit(entry, *align)).collect();
            lines.push(cells.join(" | "));
        }
        lines.iter().map(|line| format!("| {line} |")).collect::<Vec<_>>().join("\n")
    }

    fn widths(&self, index: usize) -> Widths {
        let entries = || self.rows.iter().filter_map(move |row| row.get(index));
        let widest = |part: fn(&Entry) -> &String| entries().map(|entry| width(part(entry))).max().unwrap_or(0);
        let mut widths = Widths {
            figure: widest(|entry| &entry.figure),
            mark: widest(|entry| &entry.mark),
            aside: widest(|entry| &entry.aside),
            whole: 0,
        };
        let heading = self.headings.get(index).map_or(0, |(heading, _)| width(heading));
        widths.whole = widths.parts().max(heading).max(3);
        widths
    }
}

struct Widths {
    figure: usize,
    mark: usize,
    aside: usize,
    whole: usize,
}

impl Widths {
    fn parts(&self) -> usize {
        self.figure + self.mark + if self.aside > 0 { self.aside + 1 } else { 0 }
    }

    fn fit(&self, entry: &Entry, align: Align) -> String {
        let text = match align {
            Align::Left => {
                let aside = if entry.aside.is_empty() { String::new() } else { format!(" {}", entry.aside) };
                format!("{}{}{aside}", entry.figure, entry.mark)
            }
            Align::Right => {
                let figure = aligned(&entry.figure, Align::Right, self.figure);
                let mark = aligned(&entry.mark, Align::Left, self.mark);
                let aside = aligned(&entry.aside, Align::Left, self.aside);
                if self.aside > 0 { format!("{figure}{mark} {aside}") } else { format!("{figure}{mark}") }
            }
        };
        aligned(&text, align, self.whole)
    }
}

fn aligned(text: &str, align: Align, width_wanted: usize) -> String {
    let fill = " ".repeat(width_wanted.saturating_sub(width(text)));
    match align {
        Align::Left => format!("{text}{fill}"),
        Align::Right => format!("{fill}{text}"),
    }
}

fn width(text: &str) -> usize {
    text.chars().count()
}

/// Text for a cell: on one line, and with nothing that Markdown reads as a border or a tag.
pub(super) fn escaped(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    line.replace('|', "\\|").replace('<', "\\<")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_stand_below_figures_whatever_follows_them() {
        let mut grid = Grid::default();
        grid.column("scenario", Align::Left);
        grid.column("s", Align::Right);
        let entry = |figure: &str, mark: &str, aside: &str| Entry {
            figure: figure.to_owned(),
            mark: mark.to_owned(),
            aside: aside.to_owned(),
        };
        grid.row(vec!["a | b".into(), entry("10.5", "†", "(9.8)")]);
        grid.row(vec!["<c>\nd".into(), entry("1.25", "", "")]);
        grid.row(vec!["e".into(), entry("–", "†¹", "")]);
        let lines = [
            "| scenario |            s |",
            "| -------- | -----------: |",
            "| a \\| b   | 10.5†  (9.8) |",
            "| \\<c> d   | 1.25         |",
            "| e        |    –†¹       |",
        ];
        assert_eq!(grid.draw().lines().collect::<Vec<_>>(), lines);
    }
}
