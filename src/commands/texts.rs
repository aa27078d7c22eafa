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
    match std::fs::read_to_string(&root) {
        Ok(text) => sources.add(&root, text),
        Err(error) => return Err(Refused::Call(format!("cannot read the spec `{}`: {error}", root.display()))),
    };
    if arguments.quick {
        sources.add_flag("--quick", "run.rounds = 1");
    }
    for flag in &arguments.set {
        sources.add_flag(format!("--set {flag}"), flag_text(flag)?);
    }
    from_sources(sources, &root, arguments.quick, |path| std::fs::read_to_string(path))
}

/// Reads a spec from texts, fetching what is missing.
pub(super) fn from_sources(
    mut sources: SourceMap,
    root: &Path,
    quick: bool,
    fetch: impl Fn(&Path) -> std::io::Result<String>,
) -> Result<Loaded, Refused> {
    loop {
        match read(root, &sources, Options { quick }) {
            Read::Done(spec, issues) => return Ok(Loaded { sources: Arc::new(sources), spec: *spec, issues }),
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

/// A flag as the TOML it stands for: a bare name is a variable, the value is TOML if it reads as such, else text.
fn flag_text(flag: &str) -> Result<String, Refused> {
    let wrong = || Refused::Call(format!("--set {flag}: write NAME=VALUE or PATH.KEY=VALUE"));
    let (key, value) = flag.split_once('=').ok_or_else(wrong)?;
    let (key, value) = (key.trim(), value.trim());
    let plain =
        |part: &str| !part.is_empty() && part.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-');
    if !key.split('.').all(plain) {
        return Err(wrong());
    }
    let key = if key.contains('.') { key.to_owned() } else { format!("vars.{key}") };
    let toml = format!("{key} = {value}");
    if !value.is_empty() && !value.contains('\n') && toml::de::DeTable::parse(&toml).is_ok() {
        return Ok(toml);
    }
    let quoted = value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
    Ok(format!("{key} = \"{quoted}\""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flag_is_toml_or_text() {
        for (flag, expected) in [
            ("clients=4", "vars.clients = 4"),
            ("run.rounds=1", "run.rounds = 1"),
            ("name=text", "vars.name = \"text\""),
            ("length=5s", "vars.length = \"5s\""),
            ("q=\"a\"", "vars.q = \"a\""),
            ("list=[1, 2]", "vars.list = [1, 2]"),
        ] {
            assert_eq!(flag_text(flag).ok().as_deref(), Some(expected));
        }
        for flag in ["clients", "=4", "a..b=1", "a b=1"] {
            assert!(flag_text(flag).is_err(), "{flag}");
        }
    }
}
