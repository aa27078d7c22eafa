//! `[builds.NAME]`: PostgreSQL builds that nodes and axes name.

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::Deserialize;

use super::nodes::check_version;
use crate::spec::field::{At, Field, Named};
use crate::spec::scalar::Text;
use crate::spec::scope::{Chosen, Scope};
use crate::text::{Code, Issue, Span};

/// A build of PostgreSQL: exactly one of `version`, `path` and `git`.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default, expecting = "a table such as { version = \"15\" }")]
#[schemars(rename = "Build")]
pub(in crate::spec) struct RawBuild {
    /// Prose for people; default its name.
    title: Option<At<String>>,
    /// A released version, such as "15" or "15.18".
    version: Field<Text>,
    /// Folder of an installation or of its programs, relative to this file.
    path: Field<Text>,
    /// Revision of the git repository `source`, built once and kept in the cache.
    git: Field<Text>,
    /// Git repository with PostgreSQL's source, relative to this file; with `git`.
    source: Field<Text>,
    /// Options of its `configure`, such as `["--without-icu", "--enable-cassert"]`; with `git`.
    configure: Option<At<Vec<At<String>>>>,
}

/// Where a build comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BuildSource {
    /// A released version.
    Version(Chosen<String>),
    /// A folder.
    Path(Chosen<String>),
    /// A revision of a source tree.
    Git {
        /// Revision, as git reads it.
        revision: Chosen<String>,
        /// The repository.
        source: Chosen<String>,
        /// Options of `configure`.
        configure: Vec<String>,
    },
}

/// A build that a spec names.
#[derive(Clone, Debug)]
pub struct Build {
    /// Prose for people.
    pub title: String,
    /// Where it is defined.
    pub span: Span,
    /// Where it comes from.
    pub source: BuildSource,
}

/// Builds by name; `None` for one that is wrong and told.
pub(in crate::spec) fn lower(raw: &Named<RawBuild>, scope: &mut Scope<'_, '_>) -> IndexMap<String, Option<Build>> {
    raw.iter().map(|(name, at)| (name.value.clone(), build(name, at, scope))).collect()
}

fn build(name: &At<String>, at: &At<RawBuild>, scope: &mut Scope<'_, '_>) -> Option<Build> {
    let raw = &at.value;
    let owner = format!("build `{}`", name.value);
    let sources = scope.engine.sources();
    let flagged = |span: Span| sources.flags().any(|flag| flag.base == sources.file_of(span).base);
    let place = |field: &Field<Text>| field.as_ref().map(|field| field.span);
    let mut keys = [("version", place(&raw.version)), ("path", place(&raw.path)), ("git", place(&raw.git))];
    // One that a flag gives stands in place of what the spec says.
    let by_flag = keys.iter().filter_map(|(_, span)| *span).any(flagged);
    if by_flag {
        for (_, span) in &mut keys {
            *span = span.filter(|span| flagged(*span));
        }
    }
    if !scope.exactly_one(&owner, (at.span, name.span), &keys) {
        return None;
    }
    let given = |key: &str| keys.iter().any(|(own, span)| *own == key && span.is_some());
    let mut chosen =
        |field: &Field<Text>| scope.value(field).map(|value| Chosen { value: value.value.0, at: Some(value.span) });
    let source = if given("version") {
        let version = chosen(&raw.version)?;
        if !check_version(&version, scope) {
            return None;
        }
        BuildSource::Version(version)
    } else if given("path") {
        BuildSource::Path(chosen(&raw.path)?)
    } else {
        let revision = chosen(&raw.git)?;
        let source = chosen(&raw.source);
        let Some(source) = source else {
            if raw.source.is_none() {
                scope.missing_key("source", &owner, (at.span, name.span));
            }
            return None;
        };
        let options = raw.configure.iter().flat_map(|list| &list.value).map(|option| option.value.clone());
        BuildSource::Git { revision, source, configure: options.collect() }
    };
    let of_git = raw.source.as_ref().map(|source| source.span).or(raw.configure.as_ref().map(|list| list.span));
    if let Some(extra) = of_git.filter(|_| !given("git") && !by_flag) {
        scope.tell(
            Issue::new(Code::Impossible, format!("{owner} is not built from source"), extra, "only with `git`")
                .help("add git = \"REVISION\", or leave it out"),
        );
        return None;
    }
    let title = raw.title.as_ref().map_or_else(|| name.value.clone(), |title| title.value.clone());
    Some(Build { title, span: name.span, source })
}
