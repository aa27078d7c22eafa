//! Names of the files that charts are written to.

use std::collections::BTreeSet;

/// The longest name before its ending, so that a path stays readable.
const LONGEST: usize = 60;

/// The file of one chart: letters and digits of its title in lower case, with `-` between words, and `.svg`;
/// `chart.svg` where the title has none of them.
pub fn file_name(title: &str) -> String {
    format!("{}.svg", slug(title))
}

/// The files of all charts, in their order: as [`file_name`] gives them, with a number where two would be the same.
pub fn file_names<S: AsRef<str>>(titles: &[S]) -> Vec<String> {
    let mut taken = BTreeSet::new();
    let unique = |title: &S| {
        let slug = slug(title.as_ref());
        let mut name = slug.clone();
        let mut number = 2;
        while !taken.insert(name.clone()) {
            name = format!("{slug}-{number}");
            number += 1;
        }
        format!("{name}.svg")
    };
    titles.iter().map(unique).collect()
}

/// Words of ASCII letters and digits joined by `-`; whole words as long as there is room for them.
pub(super) fn slug(title: &str) -> String {
    let lower = title.to_ascii_lowercase();
    let mut slug = String::new();
    for word in lower.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty()) {
        if slug.is_empty() {
            slug.push_str(&word[..word.len().min(LONGEST)]);
        } else if slug.len() + 1 + word.len() <= LONGEST {
            slug = format!("{slug}-{word}");
        } else {
            break;
        }
    }
    if slug.is_empty() { "chart".to_owned() } else { slug }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_file_is_called_as_its_title_reads() {
        for (title, expected) in [
            ("TPS by clients", "tps-by-clients.svg"),
            ("  CPU: apply worker / walsender (s) ", "cpu-apply-worker-walsender-s.svg"),
            ("µ", "chart.svg"),
            ("", "chart.svg"),
            ("../../etc/passwd", "etc-passwd.svg"),
        ] {
            assert_eq!(file_name(title), expected);
        }
        assert_eq!(file_name(&"long ".repeat(40)), format!("{}.svg", ["long"; 12].join("-")));
    }

    #[test]
    fn equal_titles_get_numbers() {
        assert_eq!(file_names(&["a", "A!", "a 2", "a"]), ["a.svg", "a-2.svg", "a-2-2.svg", "a-3.svg"]);
    }

    proptest! {
        #[test]
        fn names_differ_and_are_plain(titles in prop::collection::vec("[aAbB é/.2]{0,4}", 0..20)) {
            let names = file_names(&titles);
            prop_assert_eq!(names.len(), titles.len());
            prop_assert_eq!(names.iter().collect::<BTreeSet<_>>().len(), titles.len());
            for name in names {
                let stem = name.strip_suffix(".svg").expect("the ending");
                prop_assert!(!stem.is_empty() && stem.chars().all(|c| c.is_ascii_alphanumeric() || c == '-'));
            }
        }
    }
}
