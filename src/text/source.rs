//! Every text a plan is made from (TOML, includes, SQL, scripts, `--set`) in one offset space.
//!
//! A file's bytes live at `base .. base + len`; one byte of gap keeps files apart, so a [`Span`] alone names
//! the file. Nothing else in the crate carries a path next to a span. This module reads no file: texts are
//! added by the caller, and one that cannot be read is added as absent with its reason.

use std::ops::Range;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// Bytes `start .. end` of the one offset space of a [`SourceMap`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Span {
    /// First byte.
    pub start: usize,
    /// One past the last byte.
    pub end: usize,
}

impl From<Range<usize>> for Span {
    fn from(range: Range<usize>) -> Self {
        Self { start: range.start, end: range.end }
    }
}

impl Span {
    /// Length in bytes.
    pub fn len(self) -> usize {
        self.end.saturating_sub(self.start)
    }

    /// Whether it covers nothing.
    pub fn is_empty(self) -> bool {
        self.len() == 0
    }

    /// The part `range` of a text that begins where this span begins.
    #[must_use]
    pub fn part(self, range: Range<usize>) -> Self {
        Self { start: self.start + range.start, end: self.start + range.end }
    }
}

/// One text as written.
#[derive(Debug, Clone)]
pub struct File {
    /// Path as the user would name it; `--set clients=4` for a flag.
    pub path: PathBuf,
    /// The bytes.
    pub text: Arc<str>,
    /// Offset of the first byte in the map.
    pub base: usize,
}

impl File {
    /// The span of the whole text.
    pub fn span(&self) -> Span {
        Span { start: self.base, end: self.base + self.text.len() }
    }
}

/// All texts, in the order they were asked for.
#[derive(Debug, Default, Clone)]
pub struct SourceMap {
    files: Vec<File>,
    absent: Vec<(PathBuf, String)>,
    flags: Vec<usize>,
}

impl SourceMap {
    /// Adds a text and returns its index.
    pub fn add(&mut self, path: impl Into<PathBuf>, text: impl Into<Arc<str>>) -> usize {
        let base = self.files.last().map_or(0, |file| file.base + file.text.len() + 1);
        self.files.push(File { path: path.into(), text: text.into(), base });
        self.files.len() - 1
    }

    /// Adds the TOML of one `--set` flag, which is laid over the spec after all files.
    pub fn add_flag(&mut self, shown: impl Into<PathBuf>, text: impl Into<Arc<str>>) {
        let index = self.add(shown, text);
        self.flags.push(index);
    }

    /// The `--set` texts, in order.
    pub fn flags(&self) -> impl Iterator<Item = &File> {
        self.flags.iter().map(|index| &self.files[*index])
    }

    /// Notes that a text cannot be had, so that it is not asked for again.
    pub fn add_absent(&mut self, path: PathBuf, why: String) {
        self.absent.push((path, why));
    }

    /// Why a text cannot be had, if that is known.
    pub fn absent(&self, path: &Path) -> Option<&str> {
        self.absent.iter().find(|(other, _)| other == path).map(|(_, why)| why.as_str())
    }

    /// All texts.
    pub fn files(&self) -> impl Iterator<Item = &File> {
        self.files.iter()
    }

    /// The text of a path, if it was added.
    pub fn by_path(&self, path: &Path) -> Option<&File> {
        self.files.iter().find(|file| file.path == path)
    }

    /// The file that holds a span's first byte.
    ///
    /// # Panics
    /// If the map is empty: then no span can exist.
    pub fn file_of(&self, span: Span) -> &File {
        let index = self.files.partition_point(|file| file.base <= span.start);
        &self.files[index.saturating_sub(1)]
    }

    /// The bytes a span covers, or `None` if it reaches over a file's end.
    pub fn slice(&self, span: Span) -> Option<&str> {
        let file = self.file_of(span);
        file.text.get(span.start - file.base..span.end.checked_sub(file.base)?)
    }

    /// `path:line` of a span, for origins in a plan.
    pub fn locate(&self, span: Span) -> String {
        let file = self.file_of(span);
        if self.flags.iter().any(|index| self.files[*index].base == file.base) {
            return file.path.display().to_string();
        }
        let line = file.text[..span.start - file.base].matches('\n').count() + 1;
        format!("{}:{line}", file.path.display())
    }
}

impl miette::SourceCode for SourceMap {
    fn read_span<'a>(
        &'a self,
        span: &miette::SourceSpan,
        before: usize,
        after: usize,
    ) -> Result<Box<dyn miette::SpanContents<'a> + 'a>, miette::MietteError> {
        if self.files.is_empty() {
            return Err(miette::MietteError::OutOfBounds);
        }
        let file = self.file_of(Span { start: span.offset(), end: span.offset() });
        let local = (span.offset() - file.base, span.len()).into();
        // A span over two files is out of bounds here: miette then draws their snippets apart.
        let contents = file.text.read_span(&local, before, after)?;
        let global = (contents.span().offset() + file.base, contents.span().len()).into();
        Ok(Box::new(miette::MietteSpanContents::new_named(
            file.path.display().to_string(),
            contents.data(),
            global,
            contents.line(),
            contents.column(),
            contents.line_count(),
        )))
    }
}

/// A path without `.` and with `..` resolved by its text, so that one file has one name in the map.
pub fn normal(path: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    for component in path.components() {
        match component {
            Component::ParentDir if out.file_name().is_some() => {
                out.pop();
            }
            Component::CurDir => {}
            other => out.push(other),
        }
    }
    out
}

/// A path written in the file at `from`, as seen from where that file's own path is seen from.
pub fn relative_to(from: &Path, written: &str) -> PathBuf {
    normal(&from.parent().unwrap_or(Path::new("")).join(written))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_span_alone_names_its_file() {
        let mut map = SourceMap::default();
        map.add("a.toml", "x = 1\n");
        map.add("b.toml", "y = 2\nz = 3\n");
        let b = map.by_path(Path::new("b.toml")).expect("added").base;
        let span = Span { start: b + 6, end: b + 11 };
        assert_eq!(map.slice(span), Some("z = 3"));
        assert_eq!(map.locate(span), "b.toml:2");
        assert_eq!(map.slice(Span { start: 0, end: b + 1 }), None);
    }

    #[test]
    fn paths_have_one_name() {
        for (from, written, expected) in [
            ("specs/a.toml", "../templates/sql/x.sql", "templates/sql/x.sql"),
            ("a.toml", "./b.toml", "b.toml"),
            ("/s/a.toml", "/t/b", "/t/b"),
            ("a.toml", "../b", "../b"),
        ] {
            assert_eq!(relative_to(Path::new(from), written), PathBuf::from(expected));
        }
    }
}
