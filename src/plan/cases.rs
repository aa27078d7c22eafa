//! What differs told by the axes that it depends on, where every cell apart would be a long list of repetitions.

use std::collections::{BTreeSet, HashMap};

use indexmap::{IndexMap, IndexSet};

/// Where a cell is, as it is named: the scenario, then the axes.
pub type Place<'a> = Vec<(&'a str, String)>;

/// More places than these are not listed one after another: that is where the value is the one "elsewhere".
const MOST_PLACES: usize = 3;

/// A value, and all places where it holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Case<'a> {
    /// In words: `clients=1, 8`, `engine=pgbench, clients=1; engine=runner, clients=8` or, once and as the last, `elsewhere`.
    pub place: String,
    /// What it is there.
    pub value: &'a str,
}

/// The place of a cell in a spec with axes; where it has one scenario, that is in no place.
pub fn place<'a>(scenario: Option<&str>, point: impl Iterator<Item = (&'a str, String)>) -> Place<'a> {
    scenario.map(|name| ("scenario", name.to_owned())).into_iter().chain(point).collect()
}

/// Each value once, with no more axes than tell where it holds: an axis is left out, the last ones first, if those that
/// are left still tell everything. Another order of leaving out might have left fewer.
pub fn cases<'a>(cells: &[(Place<'_>, &'a str)]) -> Vec<Case<'a>> {
    let axes: Vec<&str> =
        cells.iter().flat_map(|(place, _)| place).map(|(axis, _)| *axis).collect::<IndexSet<_>>().into_iter().collect();
    let mut kept: BTreeSet<usize> = (0..axes.len()).collect();
    for axis in (0..axes.len()).rev() {
        kept.remove(&axis);
        if !tells(cells, &axes, &kept) {
            kept.insert(axis);
        }
    }
    let mut by_value: IndexMap<&str, IndexSet<Vec<Option<&str>>>> = IndexMap::new();
    for (place, value) in cells {
        by_value.entry(*value).or_default().insert(seen(place, &axes, &kept));
    }
    let kept: Vec<&str> = kept.into_iter().map(|axis| axes[axis]).collect();
    if kept.len() > 1
        && let Some(most) = elsewhere(&by_value)
    {
        let (value, _) = by_value.shift_remove_index(most).unwrap_or_default();
        let mut cases = told(&kept, &by_value);
        cases.push(Case { place: "elsewhere".to_owned(), value });
        return cases;
    }
    told(&kept, &by_value)
}

/// Each value with its places in words.
fn told<'a>(kept: &[&str], by_value: &IndexMap<&'a str, IndexSet<Vec<Option<&str>>>>) -> Vec<Case<'a>> {
    by_value.iter().map(|(value, places)| Case { place: words(kept, places), value }).collect()
}

/// Which value holds at the most places, where they are too many to be listed.
fn elsewhere(by_value: &IndexMap<&str, IndexSet<Vec<Option<&str>>>>) -> Option<usize> {
    let most = by_value.values().enumerate().max_by_key(|(at, places)| (places.len(), usize::MAX - at))?;
    (most.1.len() > MOST_PLACES).then_some(most.0)
}

/// The values that a place has on the kept axes.
fn seen<'p>(place: &'p Place<'_>, axes: &[&str], kept: &BTreeSet<usize>) -> Vec<Option<&'p str>> {
    let value = |axis: &usize| place.iter().find(|(name, _)| *name == axes[*axis]).map(|(_, value)| value.as_str());
    kept.iter().map(value).collect()
}

/// Whether no two cells that are alike on the kept axes differ in the value.
fn tells(cells: &[(Place<'_>, &str)], axes: &[&str], kept: &BTreeSet<usize>) -> bool {
    let mut known: HashMap<Vec<Option<&str>>, &str> = HashMap::new();
    cells.iter().all(|(place, value)| *known.entry(seen(place, axes, kept)).or_insert(value) == *value)
}

/// One axis with several values, or places one after another.
fn words(axes: &[&str], places: &IndexSet<Vec<Option<&str>>>) -> String {
    let known = |value: Option<&str>| value.unwrap_or("–").to_owned();
    if let [axis] = axes {
        let values: Vec<String> = places.iter().map(|place| known(place[0])).collect();
        return format!("{axis}={}", values.join(", "));
    }
    let one = |place: &Vec<Option<&str>>| {
        let parts = axes.iter().zip(place).map(|(axis, value)| format!("{axis}={}", known(*value)));
        parts.collect::<Vec<_>>().join(", ")
    };
    places.iter().map(one).collect::<Vec<_>>().join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn cell<'a>(place: &[(&'a str, &str)]) -> Place<'a> {
        place.iter().map(|(axis, value)| (*axis, (*value).to_owned())).collect()
    }

    fn in_words(cells: &[(Place<'_>, &str)]) -> Vec<(String, String)> {
        cases(cells).into_iter().map(|case| (case.place, case.value.to_owned())).collect()
    }

    #[test]
    fn a_value_is_told_by_the_axes_that_it_depends_on() {
        let mut cells = Vec::new();
        for engine in ["runner", "pgbench"] {
            for clients in ["1", "8", "32"] {
                cells.push((
                    cell(&[("engine", engine), ("clients", clients)]),
                    if clients == "1" { "one" } else { "many" },
                ));
            }
        }
        let pair = |place: &str, value: &str| (place.to_owned(), value.to_owned());
        assert_eq!(in_words(&cells), [pair("clients=1", "one"), pair("clients=8, 32", "many")]);
        cells[1].1 = "some";
        assert_eq!(
            in_words(&cells),
            [
                pair("engine=runner, clients=1; engine=pgbench, clients=1", "one"),
                pair("engine=runner, clients=8", "some"),
                pair("engine=runner, clients=32; engine=pgbench, clients=8; engine=pgbench, clients=32", "many"),
            ]
        );
    }

    #[test]
    fn the_rest_is_elsewhere_where_its_places_would_be_a_long_list() {
        let mut cells = Vec::new();
        for engine in ["runner", "pgbench"] {
            for clients in ["1", "8", "32"] {
                let lone = engine == "pgbench" && clients == "1";
                cells.push((cell(&[("engine", engine), ("clients", clients)]), if lone { "1" } else { "2" }));
            }
        }
        let pair = |place: &str, value: &str| (place.to_owned(), value.to_owned());
        assert_eq!(in_words(&cells), [pair("engine=pgbench, clients=1", "1"), pair("elsewhere", "2")]);
    }

    #[test]
    fn a_cell_without_an_axis_is_told_as_such() {
        let cells = [(cell(&[("scenario", "a"), ("clients", "1")]), "x"), (cell(&[("scenario", "b")]), "y")];
        assert_eq!(in_words(&cells)[0].0, "scenario=a");
    }

    proptest! {
        #[test]
        fn each_cell_has_its_own_value_at_one_place(values in proptest::collection::vec(0usize..3, 12)) {
            let names = ["zero", "one", "two"];
            let cells: Vec<(Place<'_>, &str)> = (0..12)
                .map(|n| {
                    let point = [("a", format!("{}", n % 2)), ("b", format!("{}", n / 2 % 2)), ("c", format!("{}", n / 4))];
                    (point.to_vec(), names[values[n]])
                })
                .collect();
            let told = cases(&cells);
            for (place, value) in &cells {
                let holds = |case: &&Case<'_>| {
                    case.place.split("; ").any(|one| {
                        one.is_empty() || match one.split_once('=') {
                            Some((axis, list)) if !list.contains('=') => {
                                let own = &place.iter().find(|(name, _)| *name == axis).expect("known").1;
                                list.split(", ").any(|value| value == own)
                            }
                            _ => one.split(", ").all(|part| place.iter().any(|(a, v)| format!("{a}={v}") == part)),
                        }
                    })
                };
                let mut found: Vec<&str> = told.iter().filter(holds).map(|case| case.value).collect();
                if found.is_empty() {
                    found.extend(told.last().filter(|case| case.place == "elsewhere").map(|case| case.value));
                }
                prop_assert_eq!(found, vec![*value]);
            }
        }
    }
}
