//! Rules about the source text itself: who may import whom, what pure modules keep away from, how long a file is.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::specs::specs_in;
use crate::texts::{mistakes, top};

/// Module, and what of the crate it may import, directly. What may be imported may also be reached through others.
const MAY_IMPORT: &[(&str, &[&str])] = &[
    ("text", &[]),
    ("measure", &["text"]),
    ("stats", &[]),
    ("script", &["text"]),
    ("spec", &["script", "measure", "text"]),
    ("plan", &["spec", "script", "measure", "text", "stats"]),
    ("lab", &["plan", "spec", "script", "measure", "text", "stats"]),
    ("wire", &["plan", "spec", "script", "measure", "text", "stats"]),
    ("probe", &["plan", "spec", "script", "measure", "text", "stats", "wire"]),
    ("load", &["plan", "spec", "script", "measure", "text", "stats", "wire", "probe"]),
    ("results", &["stats", "measure", "plan", "spec", "text"]),
    ("report", &["stats", "measure", "plan", "spec", "text", "results"]),
    ("execute", &["lab", "load", "probe", "wire", "plan", "spec", "script", "measure", "text", "stats", "results"]),
];

/// Modules without files, clocks, sockets, threads or environment.
const PURE: &[&str] = &["text", "measure", "stats", "script", "spec", "plan", "report", "results"];

/// The one file of those that touches files.
const STORE: &str = "src/results/store.rs";

/// What pure modules do not mention.
const EFFECTS: &[&str] = &[
    "std::fs",
    "std::net",
    "std::os",
    "std::env",
    "std::process",
    "std::thread",
    "std::io::stdin",
    "time::Instant",
    "time::SystemTime",
    "Instant::now",
    "SystemTime::now",
    "Timestamp::now",
    "Zoned::now",
    "tokio",
    "rustix",
];

/// Words that no source holds, tests apart.
const FORBIDDEN: &[&str] = &["todo!", "dbg!", "unimplemented!", "FIXME", ".unwrap()"];

/// The most lines of a file, its tests not counted.
const MOST_LINES: usize = 600;

struct Source {
    /// Path from the top of the repository.
    path: PathBuf,
    /// Text without comments and without what stands behind `#[cfg(test)] mod`.
    code: String,
    /// Lines with comments, without tests.
    lines: usize,
}

impl Source {
    /// The module of the crate that the file belongs to; the file's own name for one at the top.
    fn module(&self) -> &str {
        let inner = self.path.strip_prefix("src").expect("it lies in src");
        let first = inner.components().next().expect("a file").as_os_str().to_str().expect("plain names");
        first.trim_end_matches(".rs")
    }
}

fn files_below(folder: &Path, extension: &str, out: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            files_below(&path, extension, out);
        } else if path.extension().is_some_and(|other| other == extension) {
            out.push(path);
        }
    }
}

fn sources() -> Vec<Source> {
    let mut paths = Vec::new();
    files_below(&top().join("src"), "rs", &mut paths);
    paths.sort();
    assert!(!paths.is_empty());
    let source = |path: PathBuf| {
        let text = std::fs::read_to_string(&path).expect("a source");
        let path = path.strip_prefix(top()).expect("below the top").to_owned();
        let body = match text.find("#[cfg(test)]\nmod tests {") {
            Some(start) => &text[..start],
            None => &text,
        };
        Source { path, code: without_comments(body), lines: body.lines().count() }
    };
    // A module of tests, or one that only tests use, is no source though it has a file of its own.
    paths.into_iter().filter(|path| !path.ends_with("tests.rs") && !is_for_tests(path)).map(source).collect()
}

/// Whether the module above declares this file for tests alone.
fn is_for_tests(path: &Path) -> bool {
    let name = path.file_stem().expect("a file").to_string_lossy();
    let above = std::fs::read_to_string(path.with_file_name("mod.rs")).unwrap_or_default();
    ["", "pub(crate) ", "pub(super) "]
        .iter()
        .any(|public| above.contains(&format!("#[cfg(test)]\n{public}mod {name};")))
}

/// Rust without comments; texts in quotes stay, as far as a simple reading can tell.
fn without_comments(text: &str) -> String {
    text.lines()
        .map(|line| {
            let trimmed = line.trim_start();
            if trimmed.starts_with("//") {
                return "";
            }
            match line.find(" // ") {
                Some(at) if line[..at].matches('"').count() % 2 == 0 => &line[..at],
                _ => line,
            }
        })
        .collect::<Vec<_>>()
        .join("\n")
}

/// Modules of the crate that a source names: `crate::x`, and each of `crate::{x, y}`.
fn imported(code: &str) -> BTreeSet<String> {
    let word = |text: &str| text.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect::<String>();
    let mut out = BTreeSet::new();
    for (at, _) in code.match_indices("crate::") {
        let rest = &code[at + "crate::".len()..];
        match rest.strip_prefix('{') {
            None => {
                out.insert(word(rest));
            }
            Some(list) => {
                let mut depth = 0;
                let mut begins = true;
                for (index, c) in list.char_indices() {
                    match c {
                        '{' => depth += 1,
                        '}' if depth == 0 => break,
                        '}' => depth -= 1,
                        ',' if depth == 0 => begins = true,
                        _ if begins && !c.is_whitespace() => {
                            out.insert(word(&list[index..]));
                            begins = false;
                        }
                        _ => {}
                    }
                }
            }
        }
    }
    out
}

/// What breaks a rule, a line each; a test fails if there is any.
fn assert_none(broken: &[String]) {
    assert!(broken.is_empty(), "\n{}", broken.join("\n"));
}

#[test]
fn modules_import_only_what_is_to_the_right_of_their_arrow() {
    let sources = sources();
    let modules: BTreeSet<&str> = sources.iter().map(Source::module).collect();
    let mut broken = Vec::new();
    for source in &sources {
        // What is at the top or in `commands` joins everything.
        let Some((_, may)) = MAY_IMPORT.iter().find(|(module, _)| *module == source.module()) else { continue };
        for other in imported(&source.code) {
            let allowed = other == source.module() || may.contains(&other.as_str());
            if modules.contains(other.as_str()) && !allowed {
                broken.push(format!("{} imports crate::{other}", source.path.display()));
            }
        }
    }
    assert_none(&broken);
}

#[test]
fn every_module_has_its_place_in_the_arrow() {
    // These join the others, or stand beside them.
    let beside = ["lib", "main", "cli", "exit", "progress", "commands"];
    let known = |module: &str| beside.contains(&module) || MAY_IMPORT.iter().any(|(other, _)| *other == module);
    let strangers: BTreeSet<String> =
        sources().iter().filter(|source| !known(source.module())).map(|source| source.module().to_owned()).collect();
    assert!(strangers.is_empty(), "{strangers:?} have no place in the arrow");
}

#[test]
fn what_may_be_imported_closes_no_circle() {
    for (module, may) in MAY_IMPORT {
        for other in *may {
            let back = MAY_IMPORT.iter().find(|(name, _)| name == other).map(|(_, may)| *may).unwrap_or_default();
            assert!(!back.contains(module), "{module} and {other} import each other");
            // What is reached through others is allowed directly too, so that moving a line breaks no rule.
            let beyond: Vec<&&str> = back.iter().filter(|further| !may.contains(further)).collect();
            let results = *module == "results" || *module == "report";
            assert!(beyond.is_empty() || results, "{module} reaches {beyond:?} through {other}");
        }
    }
}

#[test]
fn results_and_report_reach_nothing_with_effects() {
    let effects = ["lab", "load", "probe", "wire", "execute", "commands"];
    let broken: Vec<String> = sources()
        .iter()
        .filter(|source| ["results", "report"].contains(&source.module()))
        .flat_map(|source| {
            let reached = imported(&source.code).into_iter().filter(|other| effects.contains(&other.as_str()));
            reached.map(|other| format!("{} imports crate::{other}", source.path.display())).collect::<Vec<_>>()
        })
        .collect();
    assert_none(&broken);
}

#[test]
fn pure_modules_touch_no_file_clock_socket_or_environment() {
    let mut broken = Vec::new();
    for source in sources().iter().filter(|source| PURE.contains(&source.module())) {
        if source.path == Path::new(STORE) {
            continue;
        }
        for effect in EFFECTS {
            if source.code.contains(effect) {
                broken.push(format!("{} mentions {effect}", source.path.display()));
            }
        }
    }
    assert_none(&broken);
}

#[test]
fn a_file_has_one_purpose_and_few_enough_lines_to_show_it() {
    let mut broken = Vec::new();
    for source in sources() {
        let text = std::fs::read_to_string(top().join(&source.path)).expect("a source");
        if !text.starts_with("//!") {
            broken.push(format!("{} does not say what it is for", source.path.display()));
        }
        if source.lines > MOST_LINES {
            broken.push(format!("{} has {} lines", source.path.display(), source.lines));
        }
    }
    assert_none(&broken);
}

#[test]
fn nothing_is_left_to_do_later_or_unwrapped() {
    let mut broken = Vec::new();
    for source in sources() {
        for word in FORBIDDEN {
            if source.code.contains(word) {
                broken.push(format!("{} holds {word}", source.path.display()));
            }
        }
    }
    assert_none(&broken);
}

#[test]
fn every_fixture_is_used_by_a_test() {
    let mut tests = Vec::new();
    files_below(&top().join("tests"), "rs", &mut tests);
    files_below(&top().join("src"), "rs", &mut tests);
    let texts: String = tests.iter().map(|path| std::fs::read_to_string(path).expect("a source")).collect();
    for entry in std::fs::read_dir(top().join("tests/fixtures")).expect("fixtures") {
        let name = entry.expect("an entry").file_name().to_string_lossy().into_owned();
        // The SQL beside the four specs is named by these.
        assert!(name == "templates" || texts.contains(&format!("tests/fixtures/{name}")), "{name} is used by no test");
    }
}

/// The blocks of TOML in a text of Markdown, each with its line.
fn toml_blocks(markdown: &str) -> Vec<(usize, String)> {
    let mut blocks = Vec::new();
    let mut open: Option<(usize, String)> = None;
    for (number, line) in markdown.lines().enumerate() {
        match (&mut open, line.trim_start()) {
            (None, fence) if fence.starts_with("```toml") => open = Some((number + 2, String::new())),
            (Some(_), "```") => blocks.extend(open.take()),
            (Some((_, block)), _) => *block += &format!("{line}\n"),
            _ => {}
        }
    }
    assert!(open.is_none(), "a block of TOML is never closed");
    blocks
}

#[test]
fn every_block_of_toml_in_the_readme_is_read_without_an_unknown_key() {
    use runner::text::Code;
    let readme = top().join("README.md");
    if !readme.exists() {
        // There is nothing to show before there are commands; with them, the README must be there.
        assert!(!top().join("src/commands").exists(), "there are commands but no README.md");
        return;
    }
    let blocks = toml_blocks(&std::fs::read_to_string(readme).expect("the README"));
    assert!(!blocks.is_empty(), "README.md shows no spec");
    for (line, block) in blocks {
        let error = mistakes(&[("README.md", &block)], &crate::texts::facts(&[18]));
        // A block may be a part of a spec, so that names and keys may be missing from it; what is there is right.
        let wrong =
            [Code::Syntax, Code::UnknownKey, Code::WrongType, Code::UnitMissing, Code::UnknownMetric, Code::NotYet];
        for issue in &error.issues {
            assert!(!wrong.contains(&issue.code), "README.md:{line}: {}", issue.message);
        }
    }
}

#[test]
fn shipped_files_name_no_package_registry() {
    let mut texts: Vec<PathBuf> = specs_in("specs").iter().map(|path| top().join(path)).collect();
    files_below(&top().join("src"), "rs", &mut texts);
    // Put together here, so that this file does not name them either.
    for host in ["pypi.", "files.python", "registry.npm", "crates."]
        .map(|host| format!("{host}{}", if host == "crates." { "io" } else { "org" }))
    {
        for path in &texts {
            let text = std::fs::read_to_string(path).expect("a text");
            assert!(!text.contains(&host), "{} names a package registry", path.display());
        }
    }
}

#[test]
fn imports_are_found_alone_and_in_lists() {
    let found =
        imported("use crate::text::{Code, Issue};\nuse crate::{spec::{self, Read}, plan};\ncrate::measure::find()");
    assert_eq!(found.iter().map(String::as_str).collect::<Vec<_>>(), ["measure", "plan", "spec", "text"]);
}

#[test]
fn blocks_of_toml_are_found_with_their_lines() {
    let markdown = "# A\n```toml\na = 1\n```\n```sh\nls\n```\n  ```toml\nb = 2\n```\n";
    assert_eq!(toml_blocks(markdown), [(3, "a = 1\n".to_owned()), (9, "b = 2\n".to_owned())]);
}
