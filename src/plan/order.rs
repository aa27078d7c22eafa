//! The order of the turns: a round holds one turn of every cell, shuffled with a seed or as written.

use crate::spec::Order;
use crate::stats::SplitMix64;

/// One turn to come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Turn {
    /// Position in the whole plan, from 1.
    pub number: u32,
    /// Round, from 1.
    pub round: u32,
    /// Index of the cell.
    pub cell: usize,
}

/// All turns in order. A fixed order within rounds makes "the second is slower" out of any drift, so the default
/// is shuffled anew in each round.
pub fn turns(cells: usize, rounds: u32, order: Order, seed: u64) -> Vec<Turn> {
    let mut random = SplitMix64::seeded(seed);
    let mut out = Vec::with_capacity(cells * rounds as usize);
    for round in 1..=rounds {
        let mut indices: Vec<usize> = (0..cells).collect();
        if order == Order::Shuffled {
            // Fisher and Yates.
            for last in (1..indices.len()).rev() {
                indices.swap(last, random.below(last + 1));
            }
        }
        for cell in indices {
            let number = u32::try_from(out.len() + 1).unwrap_or(u32::MAX);
            out.push(Turn { number, round, cell });
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn as_written_keeps_the_order_of_the_spec() {
        let order: Vec<usize> = turns(3, 2, Order::AsWritten, 1).iter().map(|turn| turn.cell).collect();
        assert_eq!(order, [0, 1, 2, 0, 1, 2]);
    }

    proptest! {
        #[test]
        fn each_round_holds_each_cell_once(cells in 1usize..20, rounds in 1u32..6, seed: u64) {
            let all = turns(cells, rounds, Order::Shuffled, seed);
            for round in 1..=rounds {
                let mut held: Vec<usize> = all.iter().filter(|turn| turn.round == round).map(|turn| turn.cell).collect();
                held.sort_unstable();
                prop_assert_eq!(held, (0..cells).collect::<Vec<_>>());
            }
            prop_assert_eq!(&all, &turns(cells, rounds, Order::Shuffled, seed));
        }
    }
}
