//! Cuts the server's byte stream into messages (one tag byte, a big-endian length that counts itself, a body) over
//! one read buffer, with no allocation per message.
//!
//! It only cuts: what a message means, and where bytes come from, is not known here, so that it serves COPY BOTH
//! (replication) streams as well as queries.

use std::fmt;

/// The header of a message: tag and length.
const HEADER_BYTES: usize = 5;
/// What a buffer begins with: the replies of small transactions fit many times over.
const INITIAL_BYTES: usize = 16 * 1024;
/// The largest message that the server sends (its own limit of an allocation, 1 GiB); more means a broken stream.
const LARGEST_BYTES: usize = 1 << 30;

/// A message of the server, borrowed from the read buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Frame<'a> {
    /// The message's type, e.g. `b'Z'` for `ReadyForQuery`.
    pub tag: u8,
    /// What follows the length.
    pub body: &'a [u8],
}

/// The stream is not the protocol: a message of an impossible length.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a message of type {tag:#04x} has the impossible length {length_bytes}")]
pub struct MalformedFrame {
    /// The message's type byte.
    pub tag: u8,
    /// The length as the stream gives it.
    pub length_bytes: u32,
}

/// A whole message found in the buffer. It is a token for [`Framer::frame`] so that callers can loop over "is there
/// one? else read" without holding the buffer borrowed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Cut {
    tag: u8,
    start: usize,
    end: usize,
}

impl Cut {
    /// The message's type byte.
    pub(crate) fn tag(self) -> u8 {
        self.tag
    }
}

/// One read buffer and the position in it.
pub struct Framer {
    /// Always initialised to its full length, so that reading into it needs no zeroing.
    buffer: Vec<u8>,
    /// The first byte not yet handed out.
    head: usize,
    /// One past the last byte received.
    tail: usize,
}

// By hand, so that a log does not get the bytes.
impl fmt::Debug for Framer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Framer").field("unread_bytes", &(self.tail - self.head)).finish_non_exhaustive()
    }
}

impl Default for Framer {
    fn default() -> Self {
        Self::new()
    }
}

impl Framer {
    /// An empty buffer of 16 KiB; it grows to the largest message met.
    pub fn new() -> Self {
        Self { buffer: vec![0; INITIAL_BYTES], head: 0, tail: 0 }
    }

    /// Room to receive into; never empty. Follow with [`Framer::received`].
    pub fn space(&mut self) -> &mut [u8] {
        if self.head == self.tail {
            self.head = 0;
            self.tail = 0;
        }
        let whole = self.peek_length().unwrap_or(HEADER_BYTES);
        if self.head > 0 && (self.tail == self.buffer.len() || self.head + whole > self.buffer.len()) {
            self.buffer.copy_within(self.head..self.tail, 0);
            self.tail -= self.head;
            self.head = 0;
        }
        if whole > self.buffer.len() {
            self.buffer.resize(whole.next_power_of_two(), 0);
        }
        if self.tail == self.buffer.len() {
            // Only a caller who reads on without taking out what is there comes here.
            self.buffer.resize(2 * self.tail, 0);
        }
        &mut self.buffer[self.tail..]
    }

    /// Takes note that the first `count` bytes of [`Framer::space`] are filled.
    pub fn received(&mut self, count: usize) {
        self.tail = (self.tail + count).min(self.buffer.len());
    }

    /// The next whole message, or `None` if more bytes must be received first.
    pub fn next_frame(&mut self) -> Result<Option<Frame<'_>>, MalformedFrame> {
        Ok(self.cut()?.map(|cut| self.frame(cut)))
    }

    /// Like [`Framer::next_frame`], without borrowing the buffer.
    pub(crate) fn cut(&mut self) -> Result<Option<Cut>, MalformedFrame> {
        let Some([tag, a, b, c, d]) = self.buffer[self.head..self.tail].first_chunk().copied() else {
            return Ok(None);
        };
        let length_bytes = u32::from_be_bytes([a, b, c, d]);
        if length_bytes < 4 || length_bytes as usize > LARGEST_BYTES {
            return Err(MalformedFrame { tag, length_bytes });
        }
        let end = self.head + 1 + length_bytes as usize;
        if end > self.tail {
            return Ok(None);
        }
        let start = self.head + HEADER_BYTES;
        self.head = end;
        Ok(Some(Cut { tag, start, end }))
    }

    /// The message that was cut last. Valid until the next call of [`Framer::space`].
    pub(crate) fn frame(&self, cut: Cut) -> Frame<'_> {
        Frame { tag: cut.tag, body: &self.buffer[cut.start..cut.end] }
    }

    /// Whether bytes are left that were received and not handed out.
    pub fn is_empty(&self) -> bool {
        self.head == self.tail
    }

    /// The size of the message that begins at `head`, where its header is there and its length is possible.
    fn peek_length(&self) -> Option<usize> {
        let [_, a, b, c, d] = self.buffer[self.head..self.tail].first_chunk().copied()?;
        let length = u32::from_be_bytes([a, b, c, d]) as usize;
        (length <= LARGEST_BYTES).then_some(length + 1)
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use super::*;
    use proptest::prelude::*;

    fn encoded(messages: &[(u8, Vec<u8>)]) -> Vec<u8> {
        let mut stream = Vec::new();
        for (tag, body) in messages {
            stream.push(*tag);
            stream.extend_from_slice(&(body.len() as u32 + 4).to_be_bytes());
            stream.extend_from_slice(body);
        }
        stream
    }

    /// Feeds a stream in pieces of the given sizes (used in a circle) and collects what comes out.
    fn fed(mut stream: &[u8], pieces: &[usize]) -> Vec<(u8, Vec<u8>)> {
        let mut framer = Framer::new();
        let mut out = Vec::new();
        let mut pieces = pieces.iter().cycle();
        while !stream.is_empty() {
            let space = framer.space();
            let count = (*pieces.next().unwrap()).min(space.len()).min(stream.len());
            space[..count].copy_from_slice(&stream[..count]);
            framer.received(count);
            stream = &stream[count..];
            while let Some(frame) = framer.next_frame().unwrap() {
                out.push((frame.tag, frame.body.to_vec()));
            }
        }
        assert!(framer.is_empty());
        out
    }

    proptest! {
        #[test]
        fn messages_are_the_same_however_the_stream_is_split(
            messages in prop::collection::vec(
                (any::<u8>(), prop::collection::vec(any::<u8>(), 0..300)), 0..40),
            pieces in prop::collection::vec(1usize..400, 1..20),
        ) {
            prop_assert_eq!(fed(&encoded(&messages), &pieces), messages);
        }

        #[test]
        fn messages_larger_than_the_buffer_arrive_whole(
            sizes in prop::collection::vec(0usize..100_000, 1..5),
            pieces in prop::collection::vec(1usize..50_000, 1..8),
        ) {
            let messages: Vec<_> = sizes.iter().map(|&size| (b'D', vec![size as u8; size])).collect();
            prop_assert_eq!(fed(&encoded(&messages), &pieces), messages);
        }

        #[test]
        fn any_bytes_are_cut_or_refused_without_a_panic(bytes in prop::collection::vec(any::<u8>(), 0..64)) {
            let mut framer = Framer::new();
            framer.space()[..bytes.len()].copy_from_slice(&bytes);
            framer.received(bytes.len());
            while let Ok(Some(_)) = framer.next_frame() {}
        }
    }

    #[test]
    fn a_length_below_four_is_malformed() {
        let mut framer = Framer::new();
        framer.space()[..5].copy_from_slice(&[b'Z', 0, 0, 0, 3]);
        framer.received(5);
        assert_eq!(framer.next_frame(), Err(MalformedFrame { tag: b'Z', length_bytes: 3 }));
    }
}
