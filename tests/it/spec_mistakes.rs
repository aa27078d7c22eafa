//! What several mistakes of a spec do to each other: nothing. Each is told whatever else is wrong, none is told
//! because of another, and mending one takes exactly its message away.

use std::collections::BTreeSet;

use runner::plan::facts::{Facts, Refusal};
use runner::stats::SplitMix64;
use runner::text::Code;

use crate::texts::{facts, mistakes, rendered, top, underlined, wanted};

/// A planted mistake.
struct Planted {
    code: Code,
    /// The file it is in.
    file: &'static str,
    /// What is written there.
    wrong: &'static str,
    /// The part of it that is underlined.
    underlined: &'static str,
    /// What mends it, in place of `wrong`.
    right: &'static str,
}

const fn planted(
    code: Code,
    file: &'static str,
    wrong: &'static str,
    underlined: &'static str,
    right: &'static str,
) -> Planted {
    Planted { code, file, wrong, underlined, right }
}

/// One of every kind.
const PLANTED: &[Planted] = &[
    planted(Code::UnknownKey, "load.toml", "clinets = 4", "clinets", "clients = 4"),
    planted(Code::WrongType, "orders.toml", "rounds = \"three\"", "\"three\"", "rounds = 3"),
    planted(Code::UnitMissing, "load.toml", "duration = 30", "30", "duration = \"30s\""),
    planted(Code::UnknownNode, "orders.toml", "\"subsciber\"", "\"subsciber\"", "\"subscriber\""),
    planted(Code::UnknownPublication, "servers.toml", "\"itmes\"", "\"itmes\"", "\"items\""),
    planted(Code::UnknownWorkload, "orders.toml", "\"updat\"", "\"updat\"", "\"update\""),
    planted(Code::UnknownPhase, "orders.toml", "\"drian\"", "\"drian\"", "\"drain\""),
    planted(Code::UnknownScenario, "orders.toml", "to = \"txt\"", "\"txt\"", "to = \"text\""),
    planted(Code::UnknownMetric, "orders.toml", "load.tsp", "tsp", "load.tps"),
    planted(Code::UnknownLabel, "orders.toml", "{nod=", "nod", "{node="),
    planted(Code::UnknownVariable, "sql/schema.sql", "{{ row }}", "row", "{{ rows }}"),
    planted(Code::SettingLacking, "servers.toml", "io_method = \"worker\"\n", "io_method", ""),
    planted(Code::SettingRefused, "servers.toml", "\"256mb\"", "\"256mb\"", "\"256MB\""),
    planted(
        Code::OptionLacking,
        "servers.toml",
        "options = { publish_generated_columns = \"stored\" }",
        "publish_generated_columns",
        "",
    ),
    planted(Code::OptionPublisher, "servers.toml", "origin = \"none\"", "\"none\"", "origin = \"any\""),
    planted(Code::PhaseIdle, "orders.toml", "name = \"settle\"\n", "\"settle\"", "name = \"settle\"\nhold = \"2s\"\n"),
    planted(Code::Both, "orders.toml", "wait = \"applied\"\nhold = \"5s\"", "\"applied\"", "wait = \"applied\""),
    planted(
        Code::NothingToRemove,
        "orders.toml",
        "\"subscriptions.fed.options.origin\"",
        "\"subscriptions.fed.options.origin\"",
        "\"subscriptions.feed.options.copy_data\"",
    ),
    planted(Code::Template, "load.toml", "{{ rows * }}", "}}", "{{ rows * 2 }}"),
    planted(Code::TemplateValue, "load.toml", "\"{{ pace }}\"", "\"{{ pace }}\"", "\"{{ rows }}\""),
    planted(Code::IncludeConflict, "load.toml", "[run]\nseed = 8\n", "seed", ""),
];

/// The files, the root first.
const FILES: &[&str] = &["orders.toml", "servers.toml", "load.toml", "sql/schema.sql"];

fn as_written() -> Vec<(&'static str, String)> {
    let folder = top().join("tests/fixtures/twenty_one");
    FILES.iter().map(|name| (*name, std::fs::read_to_string(folder.join(name)).expect("a fixture"))).collect()
}

/// What servers say of the settings.
fn refusing() -> Facts {
    let mut facts = facts(&[18, 15]);
    let units = "valid units for this parameter are \"B\", \"kB\", \"MB\", \"GB\", and \"TB\"";
    for version in ["18", "15"] {
        let key = (wanted(version), "shared_buffers".to_owned(), "256mb".to_owned());
        facts.refused.insert(key, Refusal::Value(units.to_owned()));
    }
    facts.refused.insert((wanted("15"), "io_method".to_owned(), "worker".to_owned()), Refusal::Lacking);
    facts
}

/// Every mistake that is told: its kind, its file and what is underlined.
fn told(files: &[(&str, String)], facts: &Facts) -> Vec<(Code, String, String)> {
    let files: Vec<(&str, &str)> = files.iter().map(|(name, text)| (*name, text.as_str())).collect();
    let error = mistakes(&files, facts);
    let describe = |issue| {
        let (file, text) = underlined(&error.sources, issue);
        (issue.code, file, text.to_owned())
    };
    error.issues.iter().map(describe).collect()
}

fn expected(mistake: &Planted) -> (Code, String, String) {
    (mistake.code, mistake.file.to_owned(), mistake.underlined.to_owned())
}

fn mend(files: &mut [(&str, String)], mistake: &Planted) {
    let (_, text) = files.iter_mut().find(|(name, _)| *name == mistake.file).expect("one of the files");
    assert_eq!(text.matches(mistake.wrong).count(), 1, "`{}` stands once", mistake.wrong);
    *text = text.replace(mistake.wrong, mistake.right);
}

#[test]
fn one_mistake_of_every_kind_over_three_files_gives_exactly_those() {
    assert_eq!(PLANTED.len(), 21);
    let files = as_written();
    let named: Vec<(&str, &str)> = files.iter().map(|(name, text)| (*name, text.as_str())).collect();
    let error = mistakes(&named, &refusing());
    let mut left: Vec<&Planted> = PLANTED.iter().collect();
    for issue in &error.issues {
        let (file, text) = underlined(&error.sources, issue);
        let found = left.iter().position(|mistake| mistake.code == issue.code);
        let mistake = left.remove(found.unwrap_or_else(|| panic!("{} is told without being there", issue.message)));
        assert_eq!((file.as_str(), text), (mistake.file, mistake.underlined), "{}", issue.message);
        // The bytes are those of the mistake, not equal ones elsewhere in the file.
        let source = error.sources.file_of(issue.span());
        let start = source.base + source.text.find(mistake.wrong).expect("it is planted there");
        let place = start..start + mistake.wrong.len();
        assert!(place.start <= issue.span().start && issue.span().end <= place.end, "{}", issue.message);
        assert!(issue.help.is_some(), "{} has no way out", issue.message);
    }
    assert_eq!(left.iter().map(|mistake| mistake.code).collect::<Vec<_>>(), [], "told");
    insta::with_settings!({ omit_expression => true }, { insta::assert_snapshot!(rendered(&error)); });
}

#[test]
fn mending_one_mistake_takes_exactly_its_message_away_in_any_order() {
    let facts = refusing();
    let forward: Vec<usize> = (0..PLANTED.len()).collect();
    let mut orders = vec![forward.clone(), forward.iter().rev().copied().collect()];
    for seed in 1..=6 {
        let mut random = SplitMix64::seeded(seed);
        let mut order = forward.clone();
        for last in (1..order.len()).rev() {
            order.swap(last, random.below(last + 1));
        }
        orders.push(order);
    }
    for order in orders {
        let mut files = as_written();
        let mut left: BTreeSet<usize> = forward.iter().copied().collect();
        for index in order {
            mend(&mut files, &PLANTED[index]);
            left.remove(&index);
            let mut told = told(&files, &facts);
            let mut expected: Vec<_> = left.iter().map(|index| expected(&PLANTED[*index])).collect();
            told.sort();
            expected.sort();
            assert_eq!(told, expected, "after mending {:?}", PLANTED[index].code);
        }
    }
}

/// Where a change of one leaf or key of a spec would stand, and its path.
#[derive(Clone, Debug)]
struct Spot {
    path: Vec<String>,
    range: std::ops::Range<usize>,
    is_key: bool,
}

/// Tables whose keys are names or PostgreSQL's own words: a misspelt one is another name, not an unknown key.
const NAMING: &[&str] = &[
    "vars",
    "quick",
    "nodes",
    "publications",
    "subscriptions",
    "workloads",
    "windows",
    "settings",
    "options",
    "published",
];

fn spots(text: &str) -> Vec<Spot> {
    fn of_table(table: &toml::de::DeTable<'_>, path: &[String], out: &mut Vec<Spot>) {
        for (key, value) in table {
            let mut inner = path.to_vec();
            inner.push(key.get_ref().to_string());
            let named = path.last().is_some_and(|parent| NAMING.contains(&parent.as_str()));
            if !named {
                out.push(Spot { path: inner.clone(), range: key.span(), is_key: true });
            }
            of_value(value, &inner, out);
        }
    }
    fn of_value(value: &toml::Spanned<toml::de::DeValue<'_>>, path: &[String], out: &mut Vec<Spot>) {
        match value.get_ref() {
            toml::de::DeValue::Table(table) => of_table(table, path, out),
            toml::de::DeValue::Array(list) => {
                for (index, item) in list.iter().enumerate() {
                    let mut inner = path.to_vec();
                    inner.push(index.to_string());
                    of_value(item, &inner, out);
                }
            }
            _ => out.push(Spot { path: path.to_vec(), range: value.span(), is_key: false }),
        }
    }
    let mut out = Vec::new();
    of_table(toml::de::DeTable::parse(text).expect("TOML").get_ref(), &[], &mut out);
    out
}

/// Specs without a mistake, each with its files, the root first. Every text of TOML is changed in turn.
fn right_specs() -> Vec<Vec<(&'static str, String)>> {
    let read =
        |name: &'static str| (name, std::fs::read_to_string(top().join(name)).expect("a spec of this repository"));
    vec![
        vec![("right.toml", crate::spec_errors::RIGHT.to_owned())],
        vec![read("specs/replica_identity_full.toml")],
        [
            "tests/fixtures/layers/layers.toml",
            "tests/fixtures/layers/parts/servers.toml",
            "tests/fixtures/layers/parts/load.toml",
            "tests/fixtures/layers/sql/schema.sql",
            "tests/fixtures/layers/sql/insert.sql",
        ]
        .map(read)
        .to_vec(),
    ]
}

fn is_toml(name: &str) -> bool {
    std::path::Path::new(name).extension().is_some_and(|kind| kind == "toml")
}

fn messages(files: &[(&str, String)]) -> Vec<(Code, String)> {
    let files: Vec<(&str, &str)> = files.iter().map(|(name, text)| (*name, text.as_str())).collect();
    let error = mistakes(&files, &facts(&[18]));
    let mut out: Vec<_> = error.issues.iter().map(|issue| (issue.code, issue.message.clone())).collect();
    out.sort();
    out
}

/// The files with spots of one of them changed.
fn changed(files: &[(&'static str, String)], index: usize, spots: &[(&Spot, &str)]) -> Vec<(&'static str, String)> {
    let mut spots = spots.to_vec();
    spots.sort_by_key(|(spot, _)| std::cmp::Reverse(spot.range.start));
    let mut files = files.to_vec();
    for (spot, with) in spots {
        files[index].1.replace_range(spot.range.clone(), with);
    }
    files
}

/// A value that is right nowhere, or a key that is none.
fn wrong(spot: &Spot) -> &'static str {
    if spot.is_key { "unheard_of_key" } else { "[[1979-05-27]]" }
}

/// Values that are wrong in most places.
const DOUBTFUL: &[&str] = &["\"nowhere\"", "\"{{ nowhere }}\"", "\"{{ 1 + }}\"", "\"{{ rows }}x\"", "0", "{}", "[]"];

#[test]
fn any_wrong_value_and_any_unknown_key_is_one_message() {
    let mut others = String::new();
    for files in right_specs() {
        assert_eq!(messages(&files), []);
        for (index, (name, text)) in files.iter().enumerate().filter(|(_, (name, _))| is_toml(name)) {
            for spot in spots(text) {
                let mut try_one = |with: &str, fits: fn(usize) -> bool| {
                    let told = messages(&changed(&files, index, &[(&spot, with)]));
                    if !fits(told.len()) {
                        others += &format!("{name}: {} <- {with}: {told:#?}\n", spot.path.join("."));
                    }
                };
                let overridden = OVERRIDDEN.contains(&(*name, spot.path.join(".").as_str()));
                try_one(wrong(&spot), if overridden { |told| told == 0 } else { |told| told == 1 });
                if spot.is_key {
                    try_one(&format!("{}x", text[spot.range.clone()].trim_matches('"')), |told| told == 1);
                } else if !is_name(&spot) {
                    // Each value in the first spec; in the longer ones by turns, for the time it takes.
                    let turn = spot.range.start % DOUBTFUL.len();
                    let tried = DOUBTFUL.iter().enumerate().filter(|(n, _)| files.len() == 1 || *n == turn);
                    for (_, with) in tried {
                        try_one(with, |told| told <= 1);
                    }
                }
            }
        }
    }
    assert!(others.is_empty(), "{others}");
}

/// Whether a value is what other places refer to.
fn is_name(spot: &Spot) -> bool {
    spot.path.last().is_some_and(|key| key == "name")
        || spot.path[0] == "include"
        || spot.path.iter().any(|key| key == "vars")
}

/// Values of includes that the including file replaces: nothing ever reads them.
const OVERRIDDEN: &[(&str, &str)] = &[
    ("tests/fixtures/layers/parts/servers.toml", "postgres.settings.shared_buffers"),
    ("tests/fixtures/layers/parts/load.toml", "vars.rows"),
];

#[test]
fn two_mistakes_are_told_as_each_alone() {
    let mut random = SplitMix64::seeded(1);
    let mut others = String::new();
    for files in right_specs() {
        let tomls = files.iter().filter(|(name, _)| is_toml(name)).count();
        for index in 0..tomls {
            let text = &files[index].1;
            let spots: Vec<Spot> = spots(text).into_iter().filter(|spot| !is_array_key(text, spot)).collect();
            for _ in 0..40 {
                let (a, b) = (&spots[random.below(spots.len())], &spots[random.below(spots.len())]);
                // What lies within a thing that is misspelt beyond recognition is not looked at.
                if a.path.starts_with(&b.path) || b.path.starts_with(&a.path) {
                    continue;
                }
                let with_b = if b.is_key { "nobody_knows_this" } else { wrong(b) };
                let mut apart = messages(&changed(&files, index, &[(a, wrong(a))]));
                apart.extend(messages(&changed(&files, index, &[(b, with_b)])));
                apart.sort();
                let together = messages(&changed(&files, index, &[(a, wrong(a)), (b, with_b)]));
                if together != apart {
                    others += &format!("{} and {}: {together:#?}\n", a.path.join("."), b.path.join("."));
                }
            }
        }
    }
    assert!(others.is_empty(), "{others}");
}

/// Whether a spot is the header of the first of several tables: renaming it splits the list.
fn is_array_key(text: &str, spot: &Spot) -> bool {
    spot.is_key && text[..spot.range.start].ends_with("[[")
}
