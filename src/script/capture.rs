//! `\gset` and `\aset`: which of a statement's results become variables, and under which names.
//!
//! Owns the rules and pgbench's errors. How results travel is the driver's; it hands in names and texts.

use super::fault::Fault;
use super::names;

/// What follows a statement whose results become variables.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Capture {
    /// Which results count.
    pub results: Captured,
    /// What comes before each column's name.
    pub prefix: String,
}

/// Which results of a statement become variables.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Captured {
    /// `\gset`: the last one, which must be a single row.
    Last,
    /// `\aset`: the last row of each one that has rows.
    Each,
}

impl Captured {
    /// The command as it is written.
    pub fn command(self) -> &'static str {
        match self {
            Captured::Last => "\\gset",
            Captured::Each => "\\aset",
        }
    }
}

/// One result of a statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ResultRows {
    /// Its number among the statement's results, from 0.
    pub query: usize,
    /// How many rows it has; a command without rows has 0.
    pub rows: u64,
    /// Whether it is the statement's last one.
    pub last: bool,
}

impl Capture {
    /// Whether this result's last row becomes variables.
    pub(super) fn takes(&self, result: ResultRows) -> Result<bool, Fault> {
        match self.results {
            Captured::Last if !result.last => Ok(false),
            Captured::Last if result.rows != 1 => Err(Fault::Rows { query: result.query, rows: result.rows }),
            Captured::Last => Ok(true),
            Captured::Each => Ok(result.rows > 0),
        }
    }

    /// Puts the name of the variable for a column into `name`.
    pub(super) fn name(&self, column: &[u8], name: &mut String) -> Result<(), Fault> {
        name.clear();
        name.push_str(&self.prefix);
        name.push_str(&String::from_utf8_lossy(column));
        if names::is_valid(name) { Ok(()) } else { Err(Fault::VariableName(name.clone())) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gset_takes_the_last_result_and_aset_each_that_has_rows() {
        use Captured::{Each, Last};
        for (results, rows, last, expected) in [
            (Last, 1, true, Ok(true)),
            (Last, 7, false, Ok(false)),
            (Last, 0, true, Err("query 3: expected one row, got 0")),
            (Last, 2, true, Err("query 3: expected one row, got 2")),
            (Each, 0, true, Ok(false)),
            (Each, 2, false, Ok(true)),
        ] {
            let capture = Capture { results, prefix: String::new() };
            let takes = capture.takes(ResultRows { query: 3, rows, last }).map_err(|fault| fault.to_string());
            assert_eq!(takes, expected.map_err(str::to_owned));
        }
    }

    #[test]
    fn a_column_needs_the_name_of_a_variable_behind_its_prefix() {
        let mut name = String::new();
        for (prefix, column, expected) in
            [("", "a", Some("a")), ("p_", "1", Some("p_1")), ("", "1", None), ("", "?column?", None)]
        {
            let capture = Capture { results: Captured::Last, prefix: prefix.to_owned() };
            assert_eq!(capture.name(column.as_bytes(), &mut name).ok().map(|()| name.as_str()), expected);
        }
    }
}
