//! The functions of pgbench's expression language: names, argument counts, one line each.
//!
//! Owns the table that the parser looks calls up in and that reference documentation prints.
//! What a function computes is in `eval`.

/// What a call computes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Function {
    Abs,
    Debug,
    Double,
    Exp,
    Greatest,
    HashFnv1a,
    HashMurmur2,
    Int,
    Least,
    Ln,
    Mod,
    Permute,
    Pi,
    Pow,
    Random,
    RandomExponential,
    RandomGaussian,
    RandomZipfian,
    Sqrt,
}

/// One function of the expression language.
#[derive(Debug, Clone, Copy)]
pub struct FunctionEntry {
    /// The name; calls may write it in any case.
    pub name: &'static str,
    /// The argument list as documentation prints it, e.g. `(lb, ub)`.
    pub arguments: &'static str,
    /// The smallest number of arguments.
    pub min_arguments: usize,
    /// The largest number of arguments.
    pub max_arguments: usize,
    /// What it returns, in one line.
    pub summary: &'static str,
    pub(super) function: Function,
}

impl FunctionEntry {
    /// Whether an argument left out at the end is `:default_seed`.
    pub(super) fn seed_is_optional(&self) -> bool {
        matches!(self.function, Function::HashFnv1a | Function::HashMurmur2 | Function::Permute)
    }
}

/// The largest number of arguments `least` and `greatest` take in pgbench.
pub(super) const MAX_ARGUMENTS: usize = 16;

const fn entry(
    function: Function,
    name: &'static str,
    arguments: &'static str,
    (min_arguments, max_arguments): (usize, usize),
    summary: &'static str,
) -> FunctionEntry {
    FunctionEntry { name, arguments, min_arguments, max_arguments, summary, function }
}

/// All functions of PostgreSQL 18's pgbench, by name.
pub const FUNCTIONS: &[FunctionEntry] = &[
    entry(Function::Abs, "abs", "(number)", (1, 1), "absolute value, of the argument's type"),
    entry(Function::Debug, "debug", "(value)", (1, 1), "the value, after showing it to the user"),
    entry(Function::Double, "double", "(number)", (1, 1), "the number as a double"),
    entry(Function::Exp, "exp", "(number)", (1, 1), "e raised to the given power"),
    entry(
        Function::Greatest,
        "greatest",
        "(number, …)",
        (1, MAX_ARGUMENTS),
        "the largest argument; a double if one of them is",
    ),
    entry(Function::HashMurmur2, "hash", "(value [, seed])", (1, 2), "the same as hash_murmur2"),
    entry(Function::HashFnv1a, "hash_fnv1a", "(value [, seed])", (1, 2), "64-bit FNV-1a hash of an integer"),
    entry(Function::HashMurmur2, "hash_murmur2", "(value [, seed])", (1, 2), "64-bit MurmurHash2 of an integer"),
    entry(Function::Int, "int", "(number)", (1, 1), "the number as an integer, rounded half to even"),
    entry(
        Function::Least,
        "least",
        "(number, …)",
        (1, MAX_ARGUMENTS),
        "the smallest argument; a double if one of them is",
    ),
    entry(Function::Ln, "ln", "(number)", (1, 1), "natural logarithm"),
    entry(Function::Mod, "mod", "(i, j)", (2, 2), "remainder of integer division, as %"),
    entry(
        Function::Permute,
        "permute",
        "(i, size [, seed])",
        (2, 3),
        "the place of i in a pseudorandom permutation of 0 to size - 1",
    ),
    entry(Function::Pi, "pi", "()", (0, 0), "the number pi"),
    entry(Function::Pow, "pow", "(x, y)", (2, 2), "x raised to the power y, a double"),
    entry(Function::Pow, "power", "(x, y)", (2, 2), "the same as pow"),
    entry(Function::Random, "random", "(lb, ub)", (2, 2), "uniformly distributed integer from lb to ub, both included"),
    entry(
        Function::RandomExponential,
        "random_exponential",
        "(lb, ub, parameter)",
        (3, 3),
        "exponentially distributed integer from lb to ub, lb the most frequent; parameter > 0",
    ),
    entry(
        Function::RandomGaussian,
        "random_gaussian",
        "(lb, ub, parameter)",
        (3, 3),
        "normally distributed integer from lb to ub, the middle the most frequent; parameter >= 2",
    ),
    entry(
        Function::RandomZipfian,
        "random_zipfian",
        "(lb, ub, parameter)",
        (3, 3),
        "Zipf-distributed integer from lb to ub, lb the most frequent; parameter from 1.001 to 1000",
    ),
    entry(Function::Sqrt, "sqrt", "(number)", (1, 1), "square root"),
];

/// The function a call names, in any case.
pub(super) fn find(name: &str) -> Option<&'static FunctionEntry> {
    FUNCTIONS.iter().find(|entry| entry.name.eq_ignore_ascii_case(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_sorted_and_its_arguments_match_its_counts() {
        assert!(FUNCTIONS.is_sorted_by_key(|entry| entry.name));
        for entry in FUNCTIONS {
            let required = entry.arguments.split('[').next().unwrap_or_default();
            let named = required.split(',').filter(|part| part.chars().any(char::is_alphabetic)).count();
            assert_eq!(named, entry.min_arguments, "{}", entry.name);
            assert!(entry.min_arguments <= entry.max_arguments);
        }
    }

    #[test]
    fn names_are_found_in_any_case() {
        assert!(find("Random_Zipfian").is_some());
        assert!(find("ceil").is_none());
    }
}
