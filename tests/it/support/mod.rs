//! What several tests of the crate share.

pub(crate) mod postgres;
pub(crate) mod published;
pub(crate) mod records;
pub(crate) mod runner;

use std::path::Path;

use ::runner::spec::{Options, Read, Spec, read};
use ::runner::text::SourceMap;

/// Reads the text of a spec that needs no other text and has no mistake.
pub(crate) fn spec(text: &str) -> Spec {
    let mut sources = SourceMap::default();
    sources.add("specs/fixture.toml", text);
    match read(Path::new("specs/fixture.toml"), &sources, Options::default()) {
        Read::Missing(paths) => panic!("the fixture asks for {paths:?}"),
        Read::Done(spec, issues) => {
            let issues: Vec<String> = issues
                .into_sorted()
                .iter()
                .map(|issue| format!("{}: {}", sources.locate(issue.span()), issue.message))
                .collect();
            assert!(issues.is_empty(), "{issues:#?}");
            *spec
        }
    }
}
