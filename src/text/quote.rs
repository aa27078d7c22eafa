//! PostgreSQL's quoting: identifiers, string literals, connection strings, and names written as SQL would.

/// An identifier, always quoted, so that capitals, spaces, quotes and key words are safe (`user` → `"user"`).
pub fn identifier(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// A string literal. Backslashes need the `E` form only when they are there.
pub fn literal(text: &str) -> String {
    let doubled = text.replace('\'', "''");
    if doubled.contains('\\') { format!("E'{}'", doubled.replace('\\', "\\\\")) } else { format!("'{doubled}'") }
}

/// A value inside a libpq connection string.
pub fn conninfo_value(value: &str) -> String {
    let plain = !value.is_empty() && value.chars().all(|c| c.is_ascii_alphanumeric() || "/._-".contains(c));
    if plain { value.to_owned() } else { format!("'{}'", value.replace('\\', "\\\\").replace('\'', "\\'")) }
}

/// A word of a POSIX shell command line.
pub fn shell_word(word: &str) -> String {
    let plain = !word.is_empty() && word.chars().all(|c| c.is_ascii_alphanumeric() || "/._-=:,+@%".contains(c));
    if plain { word.to_owned() } else { format!("'{}'", word.replace('\'', "'\\''")) }
}

/// A possibly qualified name as SQL reads it: unquoted parts fold to lower case, quoted ones stay
/// (`"S"."T"` → `["S", "T"]`). `None` if SQL would not read it as a name.
pub fn parse_name(text: &str) -> Option<Vec<String>> {
    let mut parts = Vec::new();
    let mut rest = text.trim();
    loop {
        let (part, tail) = if let Some(quoted) = rest.strip_prefix('"') {
            quoted_part(quoted)?
        } else {
            let end = rest.find(|c: char| !(c.is_alphanumeric() || c == '_' || c == '$')).unwrap_or(rest.len());
            let word = &rest[..end];
            if !word.starts_with(|c: char| c.is_alphabetic() || c == '_') {
                return None;
            }
            (word.to_lowercase(), &rest[end..])
        };
        parts.push(part);
        let tail = tail.trim_start();
        if tail.is_empty() {
            return (parts.len() <= 2).then_some(parts);
        }
        rest = tail.strip_prefix('.')?.trim_start();
    }
}

/// The rest of a quoted identifier after its opening quote, and what follows.
fn quoted_part(text: &str) -> Option<(String, &str)> {
    let mut part = String::new();
    let mut rest = text;
    loop {
        let end = rest.find('"')?;
        part.push_str(&rest[..end]);
        rest = &rest[end + 1..];
        match rest.strip_prefix('"') {
            Some(tail) => {
                part.push('"');
                rest = tail;
            }
            None => return (!part.is_empty()).then_some((part, rest)),
        }
    }
}

/// A qualified name, each part quoted.
pub fn qualified(parts: &[String]) -> String {
    parts.iter().map(|part| identifier(part)).collect::<Vec<_>>().join(".")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn names_are_read_as_sql_reads_them() {
        for (text, expected) in [
            ("items", Some(vec!["items"])),
            ("Items", Some(vec!["items"])),
            ("public.items", Some(vec!["public", "items"])),
            (r#""My Schema"."Tab ""Q"" x""#, Some(vec!["My Schema", "Tab \"Q\" x"])),
            (r#""a"b"#, None),
            ("a.b.c", None),
            ("1a", None),
            ("", None),
            ("a b", None),
        ] {
            let expected = expected.map(|parts| parts.into_iter().map(str::to_owned).collect::<Vec<_>>());
            assert_eq!(parse_name(text), expected, "{text}");
        }
    }

    #[test]
    fn literals_and_conninfo_values_are_closed() {
        assert_eq!(literal("it's"), "'it''s'");
        assert_eq!(literal("a\\b'"), "E'a\\\\b'''");
        assert_eq!(conninfo_value("it's"), "'it\\'s'");
        assert_eq!(conninfo_value("/tmp/x"), "/tmp/x");
        assert_eq!(shell_word("it's"), "'it'\\''s'");
    }

    proptest! {
        #[test]
        fn a_quoted_identifier_reads_back(name in "[^\\x00]{1,20}") {
            prop_assert_eq!(parse_name(&identifier(&name)), Some(vec![name]));
        }
    }
}
