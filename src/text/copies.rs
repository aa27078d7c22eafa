//! Names of copies: what `count` makes of a table `s` is called `s1`, `s2` and so on.

/// The number of the copy of `base` that is called `name`, from 1; `None` if it is none.
pub fn copy_number(name: &str, base: &str) -> Option<u64> {
    let number = name.strip_prefix(base)?;
    let written = !number.starts_with('0') && number.bytes().all(|byte| byte.is_ascii_digit());
    number.parse().ok().filter(|_| written)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::copy_number;

    proptest! {
        #[test]
        fn a_copy_is_its_base_and_a_number(base in "[a-z][a-z0-9_]{0,8}", number in 1u64..5_000) {
            prop_assert_eq!(copy_number(&format!("{base}{number}"), &base), Some(number));
            for other in ["", "0", "*", "+1", "_", "1_"] {
                prop_assert_eq!(copy_number(&format!("{base}{other}"), &base), None);
            }
            prop_assert_eq!(copy_number(&format!("{base}0{number}"), &base), None);
            prop_assert_eq!(copy_number(&format!("x{base}{number}"), &base), None);
        }
    }
}
