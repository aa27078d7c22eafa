//! Scans the messages of a reply up to `ReadyForQuery`: counts rows, reads the command tag, keeps the first error.
//!
//! It decodes no values; whoever wants rows is handed their raw bodies.

use super::error::WireError;
use super::frame::Frame;
use super::server_error::ServerError;

/// Whether the session is inside a transaction block, as `ReadyForQuery` tells it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum TransactionStatus {
    /// Not in a transaction block.
    #[default]
    Idle,
    /// In a transaction block.
    InBlock,
    /// In a failed transaction block: only ROLLBACK is accepted.
    Failed,
}

/// The whole answer to one request.
#[derive(Debug, Default)]
pub struct Reply {
    /// Rows received.
    pub rows: u64,
    /// Rows that the command tags name (`INSERT 0 5`, `UPDATE 2`, `SELECT 3`), summed.
    pub affected: u64,
    /// The first error, if any. The server then skipped the rest of the request.
    pub error: Option<Box<ServerError>>,
    /// The transaction status after the request.
    pub status: TransactionStatus,
}

/// The reply as far as it has come; it survives a stream that pauses anywhere.
#[derive(Debug, Default)]
pub(super) struct ReplyScan {
    so_far: Reply,
}

impl ReplyScan {
    /// Takes the next message. Returns the reply when it is complete; messages of results (`RowDescription`, `DataRow`,
    /// and what ends each one) go to `on_result`.
    #[inline]
    pub(super) fn take(
        &mut self,
        frame: Frame<'_>,
        on_result: &mut impl FnMut(Frame<'_>),
    ) -> Result<Option<Reply>, WireError> {
        match frame.tag {
            b'D' => {
                self.so_far.rows += 1;
                on_result(frame);
            }
            b'C' => {
                self.so_far.affected += affected(frame.body);
                on_result(frame);
            }
            b'T' | b'I' => on_result(frame),
            b'Z' => {
                self.so_far.status = match frame.body {
                    b"I" => TransactionStatus::Idle,
                    b"T" => TransactionStatus::InBlock,
                    b"E" => TransactionStatus::Failed,
                    _ => {
                        return Err(WireError::Unexpected { tag: b'Z', during: "reading a reply" });
                    }
                };
                return Ok(Some(std::mem::take(&mut self.so_far)));
            }
            b'E' => {
                if self.so_far.error.is_none() {
                    self.so_far.error = Some(Box::new(ServerError::parse(frame.body)));
                }
            }
            // ParseComplete, BindComplete, CloseComplete, NoData, ParameterDescription, PortalSuspended, CopyOutResponse
            // with its CopyData and CopyDone: nothing to count.
            b'1' | b'2' | b'3' | b'n' | b't' | b's' | b'H' | b'd' | b'c' => {}
            b'G' => return Err(WireError::CopyIn),
            tag => {
                return Err(WireError::Unexpected { tag, during: "reading a reply" });
            }
        }
        Ok(None)
    }

    /// The error met so far, given away: for a stream that ends before the reply does.
    pub(super) fn last_words(&mut self) -> Option<Box<ServerError>> {
        self.so_far.error.take()
    }
}

/// The number that ends a command tag, 0 if there is none.
fn affected(tag: &[u8]) -> u64 {
    let tag = tag.strip_suffix(&[0]).unwrap_or(tag);
    let digits = tag.iter().rev().take_while(|byte| byte.is_ascii_digit());
    let at = tag.len() - digits.count();
    tag[at..].iter().fold(0_u64, |sum, digit| sum.wrapping_mul(10).wrapping_add(u64::from(digit - b'0')))
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use super::*;

    #[test]
    fn command_tags_end_with_the_count_of_rows() {
        for (tag, count) in [
            (&b"INSERT 0 5\0"[..], 5),
            (b"UPDATE 12\0", 12),
            (b"SELECT 0\0", 0),
            (b"BEGIN\0", 0),
            (b"COPY 1000000\0", 1_000_000),
            (b"\0", 0),
            (b"", 0),
        ] {
            assert_eq!(affected(tag), count, "{}", String::from_utf8_lossy(tag));
        }
    }

    #[test]
    fn the_first_error_is_kept_and_the_next_reply_begins_clean() {
        let mut scan = ReplyScan::default();
        let mut take = |tag, body: &[u8]| scan.take(Frame { tag, body }, &mut |_| {}).unwrap();
        assert!(take(b'2', b"").is_none());
        assert!(take(b'D', b"").is_none());
        assert!(take(b'E', b"VERROR\0C23505\0Mone\0\0").is_none());
        assert!(take(b'E', b"VERROR\0C40001\0Mtwo\0\0").is_none());
        let reply = take(b'Z', b"E").unwrap();
        assert_eq!((reply.rows, reply.status), (1, TransactionStatus::Failed));
        assert_eq!(reply.error.unwrap().sqlstate, "23505");
        let reply = take(b'Z', b"I").unwrap();
        assert_eq!((reply.rows, reply.status, reply.error), (0, TransactionStatus::Idle, None));
    }
}
