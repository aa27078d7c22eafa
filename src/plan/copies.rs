//! Copies of numbered nodes and subscriptions told together, as `NAME*`. That nothing else has the name of a copy is the
//! spec's rule.

use indexmap::{IndexMap, IndexSet};

/// What is told of a thing: what of it, and its value.
pub(super) type Told = Vec<(String, String)>;

/// The number of a copy of `base`.
pub(super) fn number(name: &str, base: &str) -> Option<u64> {
    name.strip_prefix(base)?.parse().ok()
}

/// Names of which all copies of what is numbered are there, as `NAME*`.
pub(super) fn together(names: &[String], counts: &IndexMap<String, u64>) -> Vec<String> {
    let whole = |name: &str, (base, count): &(&String, &u64)| {
        number(name, base).is_some() && (1..=**count).all(|own| names.contains(&format!("{base}{own}")))
    };
    let told = |name: &String| {
        let base = counts.iter().find(|own| whole(name, own)).map(|(base, _)| format!("{base}*"));
        base.unwrap_or_else(|| name.clone())
    };
    names.iter().map(told).collect::<IndexSet<String>>().into_iter().collect()
}

/// Numbered tables whose copies are not alike.
pub(super) fn unlike(all: &[(String, Told)], counts: &IndexMap<String, u64>) -> Vec<String> {
    let alike = |base: &str| {
        let mut copies = all.iter().filter(|(name, _)| number(name, base).is_some()).map(|(_, told)| told);
        let first = copies.next();
        copies.all(|told| Some(told) == first)
    };
    counts.keys().filter(|base| !alike(base)).cloned().collect()
}

/// What is told of each, of copies once.
pub(super) fn fold(all: &[(String, Told)], counts: &IndexMap<String, u64>) -> IndexMap<String, Told> {
    let copy = |name: &str| counts.keys().find(|base| number(name, base).is_some()).map(|base| format!("{base}*"));
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
