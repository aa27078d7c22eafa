//! pgbench's `hash_*` functions and `permute`: the same input gives the same output everywhere.
//!
//! Owns the arithmetic only; default seeds and argument checks are done where calls are parsed
//! and evaluated.

use super::random::Random;

/// 64-bit FNV-1a over the eight bytes of `value`, low byte first, with `seed` folded into the
/// offset basis.
pub(super) fn fnv1a(value: i64, seed: i64) -> i64 {
    let basis = 0xcbf2_9ce4_8422_2325 ^ seed as u64;
    value
        .to_le_bytes()
        .iter()
        .fold(basis, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3))
        .cast_signed()
}

/// MurmurHash2 (64A) of the eight bytes of `value`.
pub(super) fn murmur2(value: i64, seed: i64) -> i64 {
    const MULTIPLIER: u64 = 0xc6a4_a793_5bd1_e995;
    const SHIFT: u32 = 47;
    let mut mixed = (value as u64).wrapping_mul(MULTIPLIER);
    mixed ^= mixed >> SHIFT;
    mixed = mixed.wrapping_mul(MULTIPLIER);
    let mut hash = seed as u64 ^ MULTIPLIER.wrapping_mul(8);
    hash = (hash ^ mixed).wrapping_mul(MULTIPLIER);
    hash = (hash ^ (hash >> SHIFT)).wrapping_mul(MULTIPLIER);
    (hash ^ (hash >> SHIFT)).cast_signed()
}

/// The place of `value` in the pseudorandom permutation of `0..size` that belongs to `seed`.
///
/// `value` is first taken modulo `size` (as an unsigned number). `size` must be positive.
/// Six rounds, each of them a bijection: the lower and the upper half (the largest power of two
/// that fits, so they overlap) are multiplied by an odd number, XORed and rotated; then the
/// whole range is shifted by a random offset.
pub(super) fn permute(value: i64, size: i64, seed: i64) -> i64 {
    if size < 2 {
        return 0;
    }
    let mut random = Random::from_seed(seed as u64);
    let size = size as u64;
    let bits = size.ilog2();
    let mask = (1_u64 << bits) - 1;
    let scramble = |random: &mut Random, input: u64| {
        let factor = (random.bits() & mask) | 1;
        let noise = random.bits() & mask;
        if input > mask {
            return input;
        }
        let mixed = (input.wrapping_mul(factor) ^ noise) & mask;
        ((mixed << 1) & mask) | (mixed >> (bits - 1))
    };
    let mut place = value as u64 % size;
    for _ in 0..6 {
        place = scramble(&mut random, place);
        place = size - 1 - scramble(&mut random, size - 1 - place);
        // Both are below 2^63, so the sum fits.
        place = (place + random.up_to(size - 1)) % size;
    }
    place.cast_signed()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn hashes_agree_with_pgbenchs_own_tests() {
        assert_eq!(murmur2(10, 5432), -5_817_877_081_768_721_676);
        assert_eq!(fnv1a(10, 5432), -7_793_829_335_365_542_153);
    }

    #[test]
    fn permutations_agree_with_pgbenchs_own_tests() {
        assert_eq!([permute(0, 2, 5431), permute(1, 2, 5431)], [0, 1]);
        assert_eq!([permute(0, 2, 5433), permute(1, 2, 5433)], [1, 0]);
        let size = i64::MAX - 10;
        for (below, place) in [
            (1, 520_382_784_483_822_430),
            (2, 1_143_715_004_660_802_862),
            (3, 447_293_596_416_496_998),
            (4, 916_527_772_266_572_956),
            (5, 2_763_809_008_686_028_849),
            (6, 8_648_551_549_198_294_572),
            (7, 4_542_876_852_200_565_125),
        ] {
            assert_eq!(permute(size - below, size, 5432), place);
        }
    }

    proptest! {
        #[test]
        fn permute_is_a_bijection(size in 1_i64..600, seed: i64) {
            let mut places: Vec<_> = (0..size).map(|value| permute(value, size, seed)).collect();
            places.sort_unstable();
            prop_assert!(places.into_iter().eq(0..size));
        }

        #[test]
        fn permute_takes_its_value_modulo_the_size(value in 0_i64..1_000_000, size in 1_i64..1_000_000, seed: i64) {
            prop_assert_eq!(permute(value + size, size, seed), permute(value, size, seed));
            prop_assert!((0..size).contains(&permute(value, size, seed)));
        }
    }
}
