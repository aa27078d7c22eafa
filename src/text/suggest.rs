//! "Did you mean": the nearest of the known names.

/// The known name that `word` most likely means: at most a third of its letters (and at least one, but not all)
/// inserted, dropped, replaced or swapped with their neighbour, in any case.
pub fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let word = word.to_lowercase();
    let letters = word.chars().count();
    let tolerance = (letters / 3).max(1);
    known
        .into_iter()
        .map(|name| (strsim::osa_distance(&word, &name.to_lowercase()), name))
        .filter(|(distance, _)| *distance <= tolerance && *distance < letters)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_near_name_is_suggested_and_a_far_one_is_not() {
        let known = ["publisher", "subscriber"];
        assert_eq!(nearest("publsher", known), Some("publisher"));
        assert_eq!(nearest("Subscriber", known), Some("subscriber"));
        assert_eq!(nearest("x", known), None);
        assert_eq!(nearest("x", ["y"]), None);
        assert_eq!(nearest("st", ["set"]), Some("set"));
    }
}
