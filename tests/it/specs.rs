//! The specs that are shipped, and the four complete ones that show the whole language.

use std::path::{Path, PathBuf};

use runner::plan::display;
use runner::plan::facts::Wanted;

use crate::texts::{facts, read_file, rendered, top, wanted};

/// Every TOML file of a folder, as paths from the top of the repository; there must be some.
pub(crate) fn specs_in(folder: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(top().join(folder)).expect("a folder of specs");
    let mut specs: Vec<PathBuf> = entries
        .map(|entry| Path::new(folder).join(entry.expect("an entry").file_name()))
        .filter(|path| path.extension().is_some_and(|extension| extension == "toml"))
        .collect();
    specs.sort();
    assert!(!specs.is_empty(), "no spec lies in {folder}");
    specs
}

#[test]
fn every_shipped_spec_plans_without_a_mistake() {
    for path in specs_in("specs") {
        let mut reading = read_file(&path);
        let plan = reading.plan(&facts(&[18, 17, 16, 15, 14]));
        assert_eq!(plan.cells.len(), reading.spec.cells.len(), "{}", path.display());
        assert!(reading.spec.unfit.is_empty());
        assert!(!plan.turns.is_empty() || plan.paired.is_some_and(|paired| !paired.comparisons.is_empty()));
        assert_eq!(rendered(&reading.into_error()), "no mistakes\n", "{}", path.display());
    }
}

#[test]
fn what_is_not_there_yet_is_refused_by_name_and_nothing_else_is_told() {
    for path in specs_in("tests/fixtures/specs") {
        let mut reading = read_file(&path);
        reading.plan(&facts(&[18, 17, 16, 15, 14]));
        let error = reading.into_error();
        let told: Vec<String> = error
            .issues
            .iter()
            .map(|issue| {
                let place = error.sources.locate(issue.span()).replace("tests/fixtures/specs/", "");
                format!("{place}  {}: {}\n", issue.code.as_str(), issue.message)
            })
            .collect();
        let name = path.file_stem().expect("a file").to_string_lossy().into_owned();
        insta::with_settings!({ omit_expression => true }, { insta::assert_snapshot!(name, told.concat()); });
        assert!(error.issues.iter().all(|issue| issue.code == runner::text::Code::NotYet), "{told:?}");
    }
}

#[test]
fn a_plan_says_everything_down_to_sql_and_settings() {
    let path = Path::new("specs/replica_identity_full.toml");
    for major in [18, 15] {
        // The spec asks for 18; on 15 as with `--set postgres.version=15`.
        let mut facts = facts(&[18]);
        let build = crate::texts::facts(&[major]).builds[&wanted(&major.to_string())].clone();
        facts.builds.insert(wanted("18"), build);
        facts.builds.remove(&Wanted::default());
        let mut reading = read_file(path);
        let plan = reading.plan(&facts);
        assert!(reading.issues.is_empty(), "{:?}", reading.issues.as_slice());
        let text = display::text(&plan, &reading.spec, &reading.sources, &[]);
        // The digest moves with every instruction; that it is there is enough.
        let (text, digest) = text.rsplit_once("Digest ").expect("the last line");
        assert_eq!(digest.trim().len(), 32);
        let name = format!("plan_of_replica_identity_full_on_{major}");
        insta::with_settings!({ omit_expression => true }, { insta::assert_snapshot!(name, text); });
    }
}
