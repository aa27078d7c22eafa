//! A share of the turns for one of several machines. What is compared within a round stays together. Pure.

use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::order::Turn;
use crate::spec::{LoweredCell, Spec};

/// Which of how many shares, from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shard {
    /// Its number, from 1 to `of`.
    pub number: u32,
    /// How many shares there are.
    pub of: u32,
}

impl std::fmt::Display for Shard {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.number, self.of)
    }
}

impl FromStr for Shard {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let part = |text: &str| text.trim().parse::<u32>().ok();
        let parts = text.split_once('/').and_then(|(number, of)| Some((part(number)?, part(of)?)));
        match parts {
            Some((number, of)) if (1..=of).contains(&number) => Ok(Self { number, of }),
            Some((number, of)) => Err(format!("there is no share {number} of {of}; they are numbered from 1 to {of}")),
            None => Err("write K/N, such as 2/5: the second of five shares".to_owned()),
        }
    }
}

impl Shard {
    /// Whether the unit of that place in the order of all units, from 0, is of this share.
    pub fn has(self, unit: usize) -> bool {
        unit % self.of as usize == self.number as usize - 1
    }
}

/// The group of each cell, numbered from 0 in the order of the cells: cells that differ only in the scenario or in the
/// axis of `[compare]` are of one.
pub fn groups(spec: &Spec) -> Vec<usize> {
    let axis = spec.compare.as_ref().map(|compare| compare.axis.as_str());
    let key = |cell: &LoweredCell| -> Vec<(String, String)> {
        let point = cell.point.iter().filter(|(name, _)| Some(name.as_str()) != axis);
        point.map(|(name, value)| (name.clone(), value.to_string())).collect()
    };
    let mut keys = Vec::new();
    spec.cells
        .iter()
        .map(|cell| {
            let own = key(cell);
            keys.iter().position(|known| *known == own).unwrap_or_else(|| {
                keys.push(own);
                keys.len() - 1
            })
        })
        .collect()
}

/// The turns of a share, in their order and with their numbers. A unit is one group in one round; units are dealt out in
/// turn, ordered by round and then group. `groups` has the group of each cell.
pub fn share(turns: &[Turn], groups: &[usize], shard: Shard) -> Vec<Turn> {
    let in_round = groups.iter().max().map_or(0, |last| last + 1);
    let unit = |turn: &Turn| (turn.round as usize - 1) * in_round + groups[turn.cell];
    turns.iter().filter(|turn| shard.has(unit(turn))).copied().collect()
}

/// The comparisons of a share of a paired run, by their index: there the unit is the comparison with all its pairs, since
/// how many it needs is known only while it runs.
pub fn share_of_comparisons(comparisons: usize, shard: Shard) -> Vec<usize> {
    (0..comparisons).filter(|index| shard.has(*index)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::order::turns;
    use crate::spec::Order;
    use proptest::prelude::*;

    #[test]
    fn a_share_is_written_as_its_number_of_how_many() {
        assert_eq!("2/5".parse(), Ok(Shard { number: 2, of: 5 }));
        for (wrong, part) in [("2", "K/N"), ("a/b", "K/N"), ("0/5", "from 1 to 5"), ("6/5", "no share 6 of 5")] {
            let error = wrong.parse::<Shard>().expect_err("no share");
            assert!(error.contains(part), "{error}");
        }
    }

    #[test]
    fn units_are_dealt_out_in_turn() {
        let all = turns(4, 2, Order::AsWritten, 1);
        let own = share(&all, &[0, 0, 1, 1], Shard { number: 2, of: 3 });
        let own: Vec<(u32, u32, usize)> = own.iter().map(|turn| (turn.number, turn.round, turn.cell)).collect();
        assert_eq!(own, [(3, 1, 2), (4, 1, 3)]);
        assert_eq!(share_of_comparisons(5, Shard { number: 1, of: 2 }), [0, 2, 4]);
    }

    proptest! {
        #[test]
        fn shares_are_disjoint_whole_and_even(
            groups in prop::collection::vec(0usize..5, 1..12), rounds in 1u32..5, of in 1u32..6, seed: u64
        ) {
            // Groups are numbered without gaps.
            let mut known: Vec<usize> = groups.clone();
            known.sort_unstable();
            known.dedup();
            let groups: Vec<usize> =
                groups.iter().map(|own| known.iter().position(|known| known == own).expect("it is known")).collect();
            let all = turns(groups.len(), rounds, Order::Shuffled, seed);
            let shares: Vec<Vec<Turn>> = (1..=of).map(|number| share(&all, &groups, Shard { number, of })).collect();
            let mut union: Vec<Turn> = shares.concat();
            union.sort_by_key(|turn| turn.number);
            prop_assert_eq!(&union, &all);
            let units = |turns: &[Turn]| {
                let mut units: Vec<(u32, usize)> = turns.iter().map(|turn| (turn.round, groups[turn.cell])).collect();
                units.sort_unstable();
                units.dedup();
                units
            };
            // No unit is in two shares, and no share has two units more than another.
            prop_assert_eq!(shares.iter().map(|own| units(own).len()).sum::<usize>(), units(&all).len());
            let counts: Vec<usize> = shares.iter().map(|own| units(own).len()).collect();
            let (least, most) = (counts.iter().min().copied(), counts.iter().max().copied());
            prop_assert!(most.zip(least).is_some_and(|(most, least)| most - least <= 1));
        }
    }
}
