//! Reads the bodies of a result's messages: the names of its columns and the texts of a row, borrowed.
//!
//! For whoever was handed these messages while a reply was scanned; a load that only counts rows never comes here.

/// The columns' names in the body of a `RowDescription`. A body cut short yields the names before.
pub fn column_names(body: &[u8]) -> impl Iterator<Item = &[u8]> {
    /// What follows a name: table, column, type, its size and modifier, format.
    const DESCRIPTION_BYTES: usize = 18;
    let mut rest = body.get(2..).unwrap_or_default();
    std::iter::from_fn(move || {
        let end = rest.iter().position(|byte| *byte == 0)?;
        let name = &rest[..end];
        rest = rest.get(end + 1 + DESCRIPTION_BYTES..)?;
        Some(name)
    })
}

/// The values in the body of a `DataRow`, `None` for NULL. A body cut short yields the values before.
pub fn row_values(body: &[u8]) -> impl Iterator<Item = Option<&[u8]>> {
    let mut rest = body.get(2..).unwrap_or_default();
    std::iter::from_fn(move || {
        let (length, after) = rest.split_first_chunk::<4>()?;
        let Ok(length) = usize::try_from(i32::from_be_bytes(*length)) else {
            rest = after;
            return Some(None);
        };
        let (value, after) = after.split_at_checked(length)?;
        rest = after;
        Some(Some(value))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_over_what_describes_them() {
        let mut body = vec![0, 2];
        for name in ["a", "?column?"] {
            body.extend_from_slice(name.as_bytes());
            body.push(0);
            body.extend_from_slice(&[7; 18]);
        }
        let names =
            |body| column_names(body).map(|name| String::from_utf8_lossy(name).into_owned()).collect::<Vec<_>>();
        assert_eq!(names(&body), ["a", "?column?"]);
        assert_eq!(names(&body[..body.len() - 1]), ["a"]);
        assert_eq!(names(&[]), Vec::<String>::new());
    }
}
