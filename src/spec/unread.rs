//! What is written but could not be read. Its mistake was told, so nothing is told that only follows from it: a
//! key that seems to be missing, a name that seems to be undefined, a default that seems to hold.

use toml::de::DeValue;

use super::document::text_of;
use crate::text::Span;

/// A key that was taken out of its table.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Hole {
    /// The table that it was written in, where that matters.
    table: Option<Span>,
    /// Keys from the top of the spec; elements of arrays have none.
    path: Vec<String>,
}

/// Everything of a cell that is written but could not be read. Empty in a cell that can be run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Unread {
    holes: Vec<Hole>,
}

/// Stands for a misspelt key of which nobody can say what it was to be.
pub(super) const ANY_KEY: &str = "*";

impl Unread {
    /// Notes a key of a table. The empty path says that anything may be missing.
    pub(super) fn note<'a>(&mut self, table: Option<Span>, path: impl IntoIterator<Item = &'a str>) {
        let hole = Hole { table, path: path.into_iter().map(str::to_owned).collect() };
        if !self.holes.contains(&hole) {
            self.holes.push(hole);
        }
    }

    /// Notes a key that no table has and that is near to none, with what is in it: any of the table's keys may be
    /// meant.
    pub(super) fn note_unknown(&mut self, table: Span, path: &[&str], value: &DeValue<'_>) {
        self.note(Some(table), path.iter().copied().chain([ANY_KEY]));
        let names: Vec<&str> = match value {
            DeValue::Table(inner) => inner.keys().map(|key| key.get_ref().as_ref()).collect(),
            DeValue::Array(list) => list.iter().filter_map(|item| text_of(item, "name")).collect(),
            _ => Vec::new(),
        };
        for name in names {
            self.note(None, path.iter().copied().chain([ANY_KEY, name]));
        }
    }

    /// Adds what another reading noted.
    pub(super) fn extend(&mut self, other: &Unread) {
        for hole in &other.holes {
            self.note(hole.table, hole.path.iter().map(String::as_str));
        }
    }

    /// Whether nothing was lost.
    pub fn is_empty(&self) -> bool {
        self.holes.is_empty()
    }

    /// Whether what `path` names, or a table around it, is written but could not be read.
    pub fn covers(&self, path: &[&str]) -> bool {
        let same = |(told, key): (&String, &&str)| told == key || told == ANY_KEY;
        self.holes.iter().any(|hole| {
            hole.path.last().is_none_or(|last| last != ANY_KEY)
                && hole.path.len() <= path.len()
                && hole.path.iter().zip(path).all(same)
        })
    }

    /// Whether `key`, which is absent from the table at `table`, stands there unreadable.
    pub(super) fn key(&self, table: Span, key: &str) -> bool {
        self.holes.iter().any(|hole| {
            hole.path.is_empty()
                || hole.table == Some(table) && hole.path.last().is_some_and(|told| told == key || told == ANY_KEY)
        })
    }

    /// Names directly below `path` that are written but could not be read.
    pub(super) fn names_below<'a>(&'a self, path: &'a [&str]) -> impl Iterator<Item = &'a str> {
        self.holes
            .iter()
            .filter(move |hole| {
                hole.path.len() == path.len() + 1 && hole.path.iter().zip(path).all(|(told, key)| told == key)
            })
            .filter_map(|hole| hole.path.last())
            .map(String::as_str)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hole_covers_what_is_inside_it() {
        let table = Span { start: 3, end: 9 };
        let mut unread = Unread::default();
        assert!(!unread.covers(&["nodes", "p"]));
        unread.note(Some(table), ["nodes", "p", "settings"]);
        assert!(unread.covers(&["nodes", "p", "settings", "wal_level"]));
        assert!(!unread.covers(&["nodes", "p"]));
        assert!(unread.key(table, "settings"));
        assert!(!unread.key(table, "version"));
        let misspelt = toml::de::DeTable::parse("x = { wal_level = 1 }").expect("TOML");
        unread.note_unknown(table, &["nodes", "s"], misspelt.get_ref()["x"].get_ref());
        assert!(unread.key(table, "version"));
        assert!(unread.covers(&["nodes", "s", "settings", "wal_level"]));
        assert!(!unread.covers(&["nodes", "s", "settings", "fsync"]));
        unread.note(None, []);
        assert!(unread.covers(&["phases"]));
    }
}
