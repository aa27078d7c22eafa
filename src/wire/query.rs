//! Queries of the runner's own over a driver's connection: SQL text in, rows as text out.
//!
//! For the few looks that a probe or a test takes; what is timed never comes here, since it allocates for each value.

use super::connection::Connection;
use super::error::WireError;
use super::reply::Reply;
use super::request::refuse_zero_byte;
use super::rows::row_values;

/// The rows and the reply of a query in the simple protocol.
#[derive(Debug)]
pub struct QueryResult {
    /// Each row's values in their text form, `None` for NULL.
    pub rows: Vec<Vec<Option<String>>>,
    /// Counts and the transaction status; its `error` is empty, since an error is the query's error.
    pub reply: Reply,
}

impl Connection {
    /// Runs SQL of the runner's own in the simple protocol and waits for its rows. The server's error is an error here.
    pub fn query(&mut self, sql: &str) -> Result<QueryResult, WireError> {
        refuse_zero_byte(sql)?;
        self.simple(|out| out.extend_from_slice(sql.as_bytes()));
        self.flush()?;
        let mut rows = Vec::new();
        let mut reply = self.reply_with(&mut |frame| {
            if frame.tag == b'D' {
                rows.push(row_texts(frame.body));
            }
        })?;
        match reply.error.take() {
            Some(error) => Err(error.into()),
            None => Ok(QueryResult { rows, reply }),
        }
    }
}

/// Reads the body of a `DataRow` whose values are text. A body cut short yields the values before.
fn row_texts(body: &[u8]) -> Vec<Option<String>> {
    row_values(body).map(|value| value.map(|text| String::from_utf8_lossy(text).into_owned())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn row_values_are_text_or_null() {
        let body = [0, 3, 0, 0, 0, 2, b'4', b'2', 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0];
        assert_eq!(row_texts(&body), [Some(String::from("42")), None, Some(String::new())]);
        assert_eq!(row_texts(&body[..7]), Vec::<Option<String>>::new());
        assert_eq!(row_texts(&[]), Vec::<Option<String>>::new());
    }
}
