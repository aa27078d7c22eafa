//! Specs from texts given by a test, mistakes as a user sees them, and facts given by hand.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use runner::plan::facts::{Build, Facts, Release, Wanted};
use runner::plan::{self, Plan};
use runner::spec::{self, Options, Read, Spec};
use runner::text::{Issue, Issues, SourceMap, SpecError};

/// A spec as read, with the texts it was read from.
pub(crate) struct Reading {
    pub(crate) spec: Spec,
    pub(crate) sources: Arc<SourceMap>,
    pub(crate) issues: Issues,
}

impl Reading {
    /// The plan, with its mistakes added to those of the reading.
    pub(crate) fn plan(&mut self, facts: &Facts) -> Plan {
        plan::plan(&self.spec, &self.sources, facts, &mut self.issues)
    }

    /// The mistakes in the order of the texts.
    pub(crate) fn into_error(self) -> SpecError {
        SpecError { sources: self.sources, issues: self.issues.into_sorted() }
    }
}

/// Reads the first of `files`, which may name the others; any other is not there.
pub(crate) fn read(files: &[(&str, &str)], options: Options) -> Reading {
    read_with_flags(files, &[], options)
}

/// As [`read`], with flags given as TOML (`vars.clients = 4`).
pub(crate) fn read_with_flags(files: &[(&str, &str)], flags: &[&str], options: Options) -> Reading {
    let mut sources = SourceMap::default();
    for flag in flags {
        sources.add_flag(format!("--set {flag}"), *flag);
    }
    let root = Path::new(files[0].0);
    complete(root, sources, options, |path| {
        let found = files.iter().find(|(name, _)| Path::new(name) == path);
        found.map(|(_, text)| (*text).to_owned()).ok_or_else(|| "no such file".to_owned())
    })
}

/// Reads a spec of this repository, its path seen from the top.
pub(crate) fn read_file(path: &Path) -> Reading {
    complete(path, SourceMap::default(), Options::default(), |path| {
        std::fs::read_to_string(top().join(path)).map_err(|error| error.to_string())
    })
}

fn complete(
    root: &Path,
    mut sources: SourceMap,
    options: Options,
    text_of: impl Fn(&Path) -> Result<String, String>,
) -> Reading {
    loop {
        match spec::read(root, &sources, options) {
            Read::Done(spec, issues) => return Reading { spec: *spec, sources: Arc::new(sources), issues },
            Read::Missing(paths) => {
                for path in paths {
                    match text_of(&path) {
                        Ok(text) => {
                            sources.add(path, text);
                        }
                        Err(why) => sources.add_absent(path, why),
                    }
                }
            }
        }
    }
}

/// The top folder of the repository.
pub(crate) fn top() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// Every mistake of a spec, of reading and of planning.
pub(crate) fn mistakes(files: &[(&str, &str)], facts: &Facts) -> SpecError {
    let mut reading = read(files, Options::default());
    reading.plan(facts);
    reading.into_error()
}

/// Mistakes as a terminal of 110 columns without colours shows them.
pub(crate) fn rendered(error: &SpecError) -> String {
    if error.issues.is_empty() {
        return "no mistakes\n".to_owned();
    }
    let mut out = String::new();
    miette::GraphicalReportHandler::new_themed(miette::GraphicalTheme::unicode_nocolor())
        .with_width(110)
        .render_report(&mut out, error)
        .expect("writing to a string cannot fail");
    // Trailing spaces do not survive editors.
    out.lines().flat_map(|line| [line.trim_end(), "\n"]).collect()
}

/// What a mistake underlines: the file and the bytes.
pub(crate) fn underlined<'a>(sources: &'a SourceMap, issue: &Issue) -> (String, &'a str) {
    let span = issue.span();
    let file = sources.file_of(span).path.display().to_string();
    (file, sources.slice(span).unwrap_or("(over the end of the file)"))
}

/// A server of a version, as a spec asks for it.
pub(crate) fn wanted(version: &str) -> Wanted {
    Wanted { version: Some(version.to_owned()), bin: None, git: None }
}

/// Servers of these versions, each asked for by its major version; the first also by no version at all.
pub(crate) fn facts(majors: &[u32]) -> Facts {
    let mut facts = Facts::default();
    let build = |major| Build {
        release: Release { major, minor: if major == 18 { 1 } else { 10 } },
        bin: Some(PathBuf::from(format!("/usr/lib/postgresql/{major}/bin"))),
        origin: "given by a test".to_owned(),
        words: None,
        digest: None,
    };
    for major in majors {
        facts.builds.insert(wanted(&major.to_string()), build(*major));
    }
    if let Some(first) = majors.first() {
        facts.builds.insert(Wanted::default(), build(*first));
    }
    facts
}
