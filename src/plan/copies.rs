//! Copies of numbered nodes and subscriptions told together, as `NAME*`. That nothing else has the name of a copy is the
//! spec's rule.

use std::collections::HashSet;

use indexmap::{IndexMap, IndexSet};

use crate::text::copy_number;

/// What is told of a thing: what of it, and its value.
pub(super) type Told = Vec<(String, String)>;

/// How many of `count` copies are among names.
fn among(names: &HashSet<&str>, (base, count): (&String, &u64)) -> u64 {
    (1..=*count).filter(|own| names.contains(format!("{base}{own}").as_str())).count() as u64
}

/// Names, with all copies of what is numbered as `NAME*` where none is missing.
pub(super) fn together(names: &[String], counts: &IndexMap<String, u64>) -> Vec<String> {
    let there: HashSet<&str> = names.iter().map(String::as_str).collect();
    let whole: Vec<&String> = counts.iter().filter(|own| among(&there, *own) == *own.1).map(|(base, _)| base).collect();
    let told = |name: &String| {
        let base = whole.iter().find(|base| copy_number(name, base).is_some());
        base.map_or_else(|| name.clone(), |base| format!("{base}*"))
    };
    names.iter().map(told).collect::<IndexSet<String>>().into_iter().collect()
}

/// Numbered tables of which some copies are among names, and others are not.
pub(super) fn in_part(names: &[String], counts: &IndexMap<String, u64>) -> Vec<String> {
    let there: HashSet<&str> = names.iter().map(String::as_str).collect();
    counts.iter().filter(|own| (1..*own.1).contains(&among(&there, *own))).map(|(base, _)| base.clone()).collect()
}

/// Numbered tables whose copies are not alike.
pub(super) fn unlike(all: &[(String, Told)], counts: &IndexMap<String, u64>) -> Vec<String> {
    let alike = |base: &str| {
        let mut copies = all.iter().filter(|(name, _)| copy_number(name, base).is_some()).map(|(_, told)| told);
        let first = copies.next();
        copies.all(|told| Some(told) == first)
    };
    counts.keys().filter(|base| !alike(base)).cloned().collect()
}

/// What is told of each, of copies once.
pub(super) fn fold(all: &[(String, Told)], counts: &IndexMap<String, u64>) -> IndexMap<String, Told> {
    let copy = |name: &str| counts.keys().find(|base| copy_number(name, base).is_some()).map(|base| format!("{base}*"));
    all.iter().map(|(name, told)| (copy(name).unwrap_or_else(|| name.clone()), told.clone())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_are_told_together_where_all_are_meant_and_alike() {
        let counts = IndexMap::from([("s".to_owned(), 3)]);
        let names = |list: &[&str]| list.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        assert_eq!(together(&names(&["p", "s1", "s2", "s3", "s"]), &counts), ["p", "s*", "s"]);
        assert_eq!(together(&names(&["s1", "s3"]), &counts), ["s1", "s3"]);
        assert_eq!(in_part(&names(&["s1", "s3"]), &counts), ["s"]);
        for whole in [&["p", "s"][..], &["s1", "s2", "s3"]] {
            assert_eq!(in_part(&names(whole), &counts), [""; 0]);
        }
        let told = |value: &str| vec![("fsync".to_owned(), value.to_owned())];
        let all = |last: &str| {
            let values = [("p", "on"), ("s1", "off"), ("s2", "off"), ("s3", last)];
            values.map(|(name, value)| (name.to_owned(), told(value)))
        };
        assert_eq!(unlike(&all("off"), &counts), [""; 0]);
        assert_eq!(unlike(&all("on"), &counts), ["s"]);
        let folded = IndexMap::from([("p".to_owned(), told("on")), ("s*".to_owned(), told("off"))]);
        assert_eq!(fold(&all("off"), &counts), folded);
    }
}
