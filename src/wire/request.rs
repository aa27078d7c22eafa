//! Writes the messages of a request into a buffer that lives as long as the connection, values first-hand: no
//! intermediate strings, no allocation once the buffer has its size.
//!
//! It writes bytes only; sending them, and what the values are, is the caller's. A request is Bind + Execute + Sync
//! (with Parse before them in the extended protocol), so one write and one read make a statement. No Describe is
//! sent unless a template asks for it: rows are counted, not read, so their description would be work for nobody.

use super::error::WireError;

/// The unchanging bytes of a statement's request; only the values differ from one execution to the next.
#[derive(Debug, Clone)]
pub struct BindTemplate {
    /// A Parse message of the unnamed statement, or nothing.
    parse: Vec<u8>,
    /// Bind up to its values, with a place for the length.
    head: Vec<u8>,
    /// The end of Bind, then Execute and Sync.
    tail: Vec<u8>,
}

/// The Sync at the end of `tail`: a tag and a length.
const SYNC_BYTES: usize = 5;

/// The part of `tail` that still belongs to Bind: the count of result formats (none given: all text).
const BIND_END_BYTES: usize = 2;

impl BindTemplate {
    /// Executes the statement that was prepared as `name`, with `parameters` values.
    pub fn prepared(name: &str, parameters: u16) -> Result<Self, WireError> {
        refuse_zero_byte(name)?;
        let mut head = vec![b'B', 0, 0, 0, 0];
        head.push(0); // the unnamed portal
        head.extend_from_slice(name.as_bytes());
        head.push(0);
        head.extend_from_slice(&0_u16.to_be_bytes()); // all parameters as text
        head.extend_from_slice(&parameters.to_be_bytes());
        let mut tail = vec![0; BIND_END_BYTES];
        message(&mut tail, b'E', |out| {
            out.extend_from_slice(&[0; 5]);
        });
        message(&mut tail, b'S', |_| {});
        Ok(Self { parse: Vec::new(), head, tail })
    }

    /// Parses `sql` anew at each execution.
    pub fn parsed_each_time(sql: &str, parameters: u16) -> Result<Self, WireError> {
        refuse_zero_byte(sql)?;
        let mut template = Self::prepared("", parameters)?;
        parse(&mut template.parse, "", sql);
        Ok(template)
    }

    /// Asks for the columns' names too, by a Describe before each Execute.
    #[must_use]
    pub fn described(mut self) -> Self {
        let execute = self.tail.split_off(BIND_END_BYTES);
        message(&mut self.tail, b'D', |out| out.extend_from_slice(b"P\0"));
        self.tail.extend_from_slice(&execute);
        self
    }

    /// Begins a request at the end of `out`. Give it exactly the parameters announced, then finish it.
    #[inline]
    pub fn begin<'a>(&'a self, out: &'a mut Vec<u8>) -> Request<'a> {
        out.extend_from_slice(&self.parse);
        let bind_at = out.len();
        out.extend_from_slice(&self.head);
        Request { template: self, bind_at, out }
    }
}

/// A request being written; it is complete after [`Request::finish`].
#[derive(Debug)]
#[must_use = "an unfinished request leaves half a message in the buffer"]
pub struct Request<'a> {
    template: &'a BindTemplate,
    bind_at: usize,
    out: &'a mut Vec<u8>,
}

impl Request<'_> {
    /// Adds a value: `write` appends its text form to the buffer and says whether there is one; if not, it is NULL.
    #[inline]
    pub fn value(&mut self, write: impl FnOnce(&mut Vec<u8>) -> bool) {
        let at = self.out.len();
        self.out.extend_from_slice(&(-1_i32).to_be_bytes());
        if write(self.out) {
            let length = (self.out.len() - at - 4) as u32;
            self.out[at..at + 4].copy_from_slice(&length.to_be_bytes());
        }
    }

    /// Completes Bind and adds Execute and Sync.
    #[inline]
    pub fn finish(self) {
        let whole = self.template.tail.len();
        self.end(whole);
    }

    /// Completes Bind and adds Execute, for a pipeline whose Sync comes later.
    pub fn finish_queued(self) {
        let without_sync = self.template.tail.len() - SYNC_BYTES;
        self.end(without_sync);
    }

    #[inline]
    fn end(self, tail: usize) {
        let at = self.bind_at + 1;
        let length = (self.out.len() - at + BIND_END_BYTES) as u32;
        self.out[at..at + 4].copy_from_slice(&length.to_be_bytes());
        self.out.extend_from_slice(&self.template.tail[..tail]);
    }
}

/// Appends one message: its tag, a length that is filled in, and what `body` appends.
pub(super) fn message(out: &mut Vec<u8>, tag: u8, body: impl FnOnce(&mut Vec<u8>)) {
    out.push(tag);
    let at = out.len();
    out.extend_from_slice(&[0; 4]);
    body(out);
    let length = (out.len() - at) as u32;
    out[at..at + 4].copy_from_slice(&length.to_be_bytes());
}

/// Appends a Parse message that leaves all parameter types to the server.
pub(super) fn parse(out: &mut Vec<u8>, name: &str, sql: &str) {
    message(out, b'P', |out| {
        for text in [name, sql] {
            out.extend_from_slice(text.as_bytes());
            out.push(0);
        }
        out.extend_from_slice(&0_u16.to_be_bytes());
    });
}

/// Texts end with a zero byte on the wire, so they must not contain one.
pub(super) fn refuse_zero_byte(text: &str) -> Result<(), WireError> {
    if text.as_bytes().contains(&0) {
        return Err(WireError::ZeroByte);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use super::*;
    use bytes::BytesMut;
    use postgres_protocol::IsNull;
    use postgres_protocol::message::frontend;

    /// The same request by the protocol crate's own writers.
    fn reference(parse: Option<&str>, name: &str, values: &[Option<&str>]) -> Vec<u8> {
        let mut out = BytesMut::new();
        if let Some(sql) = parse {
            frontend::parse(name, sql, [], &mut out).unwrap();
        }
        let bound = frontend::bind(
            "",
            name,
            [],
            values,
            |value, out| {
                Ok(match value {
                    Some(text) => {
                        out.extend_from_slice(text.as_bytes());
                        IsNull::No
                    }
                    None => IsNull::Yes,
                })
            },
            [],
            &mut out,
        );
        assert!(bound.is_ok());
        frontend::execute("", 0, &mut out).unwrap();
        frontend::sync(&mut out);
        out.to_vec()
    }

    fn ours(template: &BindTemplate, values: &[Option<&str>]) -> Vec<u8> {
        let mut out = Vec::new();
        let mut request = template.begin(&mut out);
        for value in values {
            request.value(|out| {
                out.extend_from_slice(value.unwrap_or_default().as_bytes());
                value.is_some()
            });
        }
        request.finish();
        out
    }

    #[test]
    fn requests_equal_those_of_the_protocol_crate() {
        for values in [&[][..], &[Some("1")], &[Some(""), None, Some("-9223372036854775808")]] {
            let count = values.len() as u16;
            let template = BindTemplate::prepared("s0", count).unwrap();
            assert_eq!(ours(&template, values), reference(None, "s0", values));
            let template = BindTemplate::parsed_each_time("SELECT $1", count).unwrap();
            assert_eq!(ours(&template, values), reference(Some("SELECT $1"), "", values));
        }
    }

    #[test]
    fn a_described_request_and_a_queued_one_differ_by_one_message() {
        let plain = BindTemplate::prepared("s0", 0).unwrap();
        let whole = ours(&plain, &[]);
        let mut queued = Vec::new();
        plain.begin(&mut queued).finish_queued();
        assert_eq!(whole.strip_suffix(b"S\0\0\0\x04").unwrap(), queued);
        let (bind, rest) = whole.split_at(whole.len() - 15);
        assert_eq!(ours(&plain.described(), &[]), [bind, b"D\0\0\0\x06P\0", rest].concat());
    }

    #[test]
    fn a_zero_byte_in_a_text_is_refused() {
        assert!(matches!(BindTemplate::parsed_each_time("SELECT '\0'", 0), Err(WireError::ZeroByte)));
    }
}
