//! Texts from disk and flags, and the spec they make.

use std::path::Path;
use std::sync::Arc;

use super::Refused;
use crate::cli::SpecArgs;
use crate::spec::{Options, Read, Spec, read};
use crate::text::source::normal;
use crate::text::{Issues, SourceMap, SpecError};

/// A spec with its texts and the mistakes so far.
pub(super) struct Loaded {
    pub(super) sources: Arc<SourceMap>,
    pub(super) spec: Spec,
    pub(super) issues: Issues,
}

impl Loaded {
    /// Refuses a spec with mistakes.
    pub(super) fn refuse(issues: Issues, sources: &Arc<SourceMap>) -> Result<(), Refused> {
        if issues.is_empty() {
            return Ok(());
        }
        Err(Refused::Spec(SpecError { sources: sources.clone(), issues: issues.into_sorted() }))
    }
}

/// Reads a spec from disk with the flags laid over it.
pub(super) fn load(path: &Path, arguments: &SpecArgs) -> Result<Loaded, Refused> {
    let mut sources = SourceMap::default();
    let root = normal(path);
    if root.join("run.json").is_file() {
        let dir = root.display();
        return Err(Refused::Call(format!(
            "`{dir}` is a results folder, not a spec; to go on after an interrupt: `runner resume {dir}`, to render its report: `runner report {dir}`"
        )));
    }
    match std::fs::read_to_string(&root) {
        Ok(text) => sources.add(&root, text),
        Err(error) => return Err(Refused::Call(format!("cannot read the spec `{}`: {error}", root.display()))),
    };
    if arguments.quick {
        sources.add_flag("--quick", "run.rounds = 1");
    }
    for flag in &arguments.set {
        sources.add_flag(
            format!("--set {flag}"),
            crate::spec::flag(flag).map_err(|error| Refused::Call(format!("--set {flag}: {error}")))?,
        );
    }
    for flag in &arguments.build {
        let text = crate::spec::build_flag(flag).map_err(|error| Refused::Call(format!("--build {flag}: {error}")))?;
        sources.add_flag(format!("--build {flag}"), text);
    }
    let options = Options { quick: arguments.quick, aa: arguments.aa };
    from_sources(sources, &root, options, &arguments.only, |path| std::fs::read_to_string(path))
}

/// Reads a spec from texts, fetching what is missing.
pub(super) fn from_sources(
    mut sources: SourceMap,
    root: &Path,
    options: Options,
    only: &[String],
    fetch: impl Fn(&Path) -> std::io::Result<String>,
) -> Result<Loaded, Refused> {
    loop {
        match read(root, &sources, options) {
            Read::Done(mut spec, issues) => {
                match spec.keep_only(only) {
                    // Of a spec with mistakes not everything is known that could be kept.
                    Err(error) if issues.is_empty() => return Err(Refused::Call(format!("--only: {error}"))),
                    _ => {}
                }
                return Ok(Loaded { sources: Arc::new(sources), spec: *spec, issues });
            }
            Read::Missing(paths) => {
                for path in paths {
                    match fetch(&path) {
                        Ok(text) => {
                            sources.add(path, text);
                        }
                        Err(error) => sources.add_absent(path, error.to_string()),
                    }
                }
            }
        }
    }
}
