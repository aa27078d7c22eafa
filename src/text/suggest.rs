//! "Did you mean": the nearest of the known names.

/// Similarity (Jaro-Winkler, 0 to 1) below which a suggestion would mislead more than help.
const THRESHOLD: f64 = 0.82;

/// The known name nearest to `word`, if one is near enough.
pub fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    known
        .into_iter()
        .map(|name| (strsim::jaro_winkler(&word.to_lowercase(), &name.to_lowercase()), name))
        .filter(|(similarity, _)| *similarity > THRESHOLD)
        .max_by(|a, b| a.0.total_cmp(&b.0))
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
    }
}
