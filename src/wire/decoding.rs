//! Reads from an output plugin's payloads what a consumer must know: which are row changes, which end a transaction, and
//! which transaction carried the marker row.
//!
//! Two plugins are read: `test_decoding` (text) and `pgoutput` (the logical replication message formats of the protocol
//! documentation, all versions). Of any other a payload is only a payload. No values are decoded but the marker's.

use crate::plan::sql::marker;

/// What `test_decoding` writes of a marker row, up to its id; none of its options changes that line.
const MARKER_LINE: &[u8] = b"table public.runner_marker: INSERT: id[bigint]:";

/// What a payload is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Piece {
    /// A row inserted, updated or deleted, or a TRUNCATE.
    Change,
    /// The end of a transaction, and the id of the marker row that it carried, if it did.
    Commit {
        /// The marker's id.
        marker: Option<u64>,
    },
    /// Anything else: a beginning, a description, a payload of a plugin that is not read.
    Other,
}

/// Reads the payloads of one stream in their order.
#[derive(Debug)]
pub struct Decoder {
    plugin: Plugin,
    /// A marker row whose transaction has not ended.
    marker: Option<MarkerRow>,
}

/// How payloads are read.
#[derive(Debug)]
enum Plugin {
    TestDecoding,
    Pgoutput {
        /// The marker table, once the stream has described it.
        relation: Option<u32>,
        /// The transaction between Stream Start and Stream Stop, where messages carry a transaction's id.
        streaming: Option<u32>,
    },
    Opaque,
}

#[derive(Debug, Clone, Copy)]
struct MarkerRow {
    id: u64,
    /// Its transaction and subtransaction, if they are streamed before their end.
    streamed: Option<(u32, u32)>,
}

impl Decoder {
    /// A decoder of the plugin named so.
    pub fn new(plugin: &str) -> Self {
        let plugin = match plugin {
            "test_decoding" => Plugin::TestDecoding,
            "pgoutput" => Plugin::Pgoutput { relation: None, streaming: None },
            _ => Plugin::Opaque,
        };
        Self { plugin, marker: None }
    }

    /// Whether it finds changes, commits and markers; if not, a marker's arrival must be told by its position.
    pub fn reads_markers(&self) -> bool {
        !matches!(self.plugin, Plugin::Opaque)
    }

    /// Reads the next payload. One that is not what its plugin writes is [`Piece::Other`].
    #[inline]
    pub fn read(&mut self, payload: &[u8]) -> Piece {
        match &mut self.plugin {
            Plugin::TestDecoding => {
                let piece = test_decoding(payload);
                match piece {
                    Piece::Change => {
                        if let Some(id) = payload.strip_prefix(MARKER_LINE).and_then(number) {
                            self.marker = Some(MarkerRow { id, streamed: None });
                        }
                        piece
                    }
                    Piece::Commit { .. } => Piece::Commit { marker: self.marker.take().map(|row| row.id) },
                    Piece::Other => piece,
                }
            }
            Plugin::Pgoutput { relation, streaming } => {
                let Some((&tag, body)) = payload.split_first() else {
                    return Piece::Other;
                };
                match tag {
                    b'I' => {
                        if let Some(oid) = *relation
                            && let Some(id) = inserted(without_xid(body, *streaming), oid)
                        {
                            self.marker = Some(MarkerRow { id, streamed: streaming.zip(word(body, 0)) });
                        }
                        Piece::Change
                    }
                    b'U' | b'D' | b'T' => Piece::Change,
                    b'C' => Piece::Commit { marker: self.take_marker(|row| row.streamed.is_none()) },
                    // A streamed transaction is whole only here.
                    b'c' => {
                        let ended = word(body, 0);
                        let of_it = |row: MarkerRow| row.streamed.is_some_and(|(top, _)| Some(top) == ended);
                        Piece::Commit { marker: self.take_marker(of_it) }
                    }
                    b'A' => {
                        let (top, part) = (word(body, 0), word(body, 4));
                        self.take_marker(|row| {
                            let streamed = row.streamed.map(|(row_top, row_part)| (Some(row_top), Some(row_part)));
                            streamed.is_some_and(|row| row.0 == top && (part == top || row.1 == part))
                        });
                        Piece::Other
                    }
                    b'R' => {
                        described(without_xid(body, *streaming), relation);
                        Piece::Other
                    }
                    b'S' => {
                        *streaming = word(body, 0);
                        Piece::Other
                    }
                    b'E' => {
                        *streaming = None;
                        Piece::Other
                    }
                    _ => Piece::Other,
                }
            }
            Plugin::Opaque => Piece::Other,
        }
    }

    /// Gives away the marker row that has not ended, if it is one of these.
    fn take_marker(&mut self, which: impl Fn(MarkerRow) -> bool) -> Option<u64> {
        self.marker.take_if(|row| which(*row)).map(|row| row.id)
    }
}

/// The four bytes at `at` as a number.
#[inline]
fn word(body: &[u8], at: usize) -> Option<u32> {
    body.get(at..)?.first_chunk().map(|bytes| u32::from_be_bytes(*bytes))
}

/// The kind of a `test_decoding` line.
#[inline]
fn test_decoding(line: &[u8]) -> Piece {
    match line {
        [b't', b'a', b'b', b'l', b'e', b' ', ..] => Piece::Change,
        [b'C', b'O', b'M', b'M', b'I', b'T', ..] => Piece::Commit { marker: None },
        _ => Piece::Other,
    }
}

/// Digits and nothing else.
fn number(text: &[u8]) -> Option<u64> {
    std::str::from_utf8(text).ok()?.parse().ok()
}

/// Inside a streamed transaction, messages begin with its id.
#[inline]
fn without_xid(body: &[u8], streaming: Option<u32>) -> &[u8] {
    if streaming.is_some() { body.get(4..).unwrap_or_default() } else { body }
}

/// Notes the marker table's oid from a Relation message, and forgets it if the oid has become another table's.
fn described(body: &[u8], relation: &mut Option<u32>) {
    let Some((oid, rest)) = body.split_first_chunk::<4>() else {
        return;
    };
    let oid = u32::from_be_bytes(*oid);
    let mut texts = rest.split(|&byte| byte == 0);
    let is_marker = texts.next() == Some(b"public".as_slice()) && texts.next() == Some(marker::TABLE.as_bytes());
    if is_marker {
        *relation = Some(oid);
    } else if *relation == Some(oid) {
        *relation = None;
    }
}

/// The id of the row, if an Insert message is of the marker's relation: its only column, as text or as a bigint's bytes.
#[inline]
fn inserted(body: &[u8], relation: u32) -> Option<u64> {
    let (oid, rest) = body.split_first_chunk::<4>()?;
    if u32::from_be_bytes(*oid) != relation {
        return None;
    }
    let rest = rest.strip_prefix(b"N\0\x01")?;
    let (&form, rest) = rest.split_first()?;
    let (length, rest) = rest.split_first_chunk::<4>()?;
    let value = rest.get(..u32::from_be_bytes(*length) as usize)?;
    match form {
        b't' => number(value),
        b'b' => u64::try_from(i64::from_be_bytes(value.try_into().ok()?)).ok(),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::Piece::{Change, Other};
    use super::*;
    use proptest::prelude::*;

    const COMMIT: Piece = Piece::Commit { marker: None };

    fn pieces<T: AsRef<[u8]>>(plugin: &str, payloads: impl IntoIterator<Item = T>) -> Vec<Piece> {
        let mut decoder = Decoder::new(plugin);
        payloads.into_iter().map(|payload| decoder.read(payload.as_ref())).collect()
    }

    /// A message of pgoutput; `xid` if it stands in a streamed transaction.
    fn message(tag: u8, xid: Option<u32>, parts: &[&[u8]]) -> Vec<u8> {
        let mut out = vec![tag];
        out.extend(xid.into_iter().flat_map(u32::to_be_bytes));
        out.extend(parts.concat());
        out
    }

    fn relation(xid: Option<u32>, oid: u32, schema: &str, name: &str) -> Vec<u8> {
        let names = format!("{schema}\0{name}\0");
        message(b'R', xid, &[&oid.to_be_bytes(), names.as_bytes(), b"d\0\x01\0id\0\0\0\0\x14\xff\xff\xff\xff"])
    }

    fn insert(xid: Option<u32>, oid: u32, form: u8, value: &[u8]) -> Vec<u8> {
        let length = (value.len() as u32).to_be_bytes();
        message(b'I', xid, &[&oid.to_be_bytes(), b"N\0\x01", &[form], &length, value])
    }

    #[test]
    fn test_decoding_lines_are_told_by_their_beginnings() {
        let lines = [
            "BEGIN 730",
            "table public.\"table x\": INSERT: id[integer]:1",
            "table public.runner_marker: INSERT: id[bigint]:17",
            "COMMIT 730",
            "BEGIN",
            "table public.runner_marker2: INSERT: id[bigint]:18",
            "table public.runner_marker: UPDATE: id[bigint]:19",
            "table public.t: TRUNCATE: (no-flags)",
            "COMMIT 731 (at 2026-11-30 19:00:00+00)",
            "message: transactional: 1 prefix: x, sz: 46 content:table public.runner_marker: INSERT: id[bigint]:17",
            "COMMIT",
        ];
        let marked = Piece::Commit { marker: Some(17) };
        let expected = [Other, Change, Change, marked, Other, Change, Change, Change, COMMIT, Other, COMMIT];
        assert_eq!(pieces("test_decoding", lines), expected);
        assert_eq!(pieces("wal2json", lines), [Other; 11]);
    }

    #[test]
    fn pgoutputs_marker_is_found_as_text_and_in_binary() {
        for (form, value) in [(b't', &b"17"[..]), (b'b', &17_u64.to_be_bytes())] {
            let payloads = [
                message(b'B', None, &[&[0; 20]]),
                relation(None, 9, "public", "t"),
                insert(None, 9, form, value),
                relation(None, 7, "public", "runner_marker"),
                relation(None, 8, "other", "runner_marker"),
                insert(None, 8, form, value),
                message(b'C', None, &[&[0; 25]]),
                insert(None, 7, form, value),
                message(b'C', None, &[&[0; 25]]),
                // The relation is described once a session.
                insert(None, 7, form, value),
                insert(None, 9, form, b"1"),
                message(b'C', None, &[&[0; 25]]),
            ];
            let marked = Piece::Commit { marker: Some(17) };
            let expected = [Other, Other, Change, Other, Other, Change, COMMIT, Change, marked, Change, Change, marked];
            assert_eq!(pieces("pgoutput", payloads), expected);
        }
    }

    #[test]
    fn a_streamed_marker_arrives_with_its_commit_and_not_if_aborted() {
        let (top, part) = (730_u32, 731_u32);
        let streamed = |end: u8, ids: [u32; 2]| {
            let ids = ids.map(u32::to_be_bytes);
            [
                message(b'S', None, &[&top.to_be_bytes(), b"\x01"]),
                relation(Some(part), 7, "public", "runner_marker"),
                insert(Some(part), 7, b't', b"17"),
                message(b'E', None, &[]),
                // Another transaction in between.
                message(b'C', None, &[&[0; 25]]),
                message(end, None, &[&ids[0], &ids[1], &[0; 21]]),
                message(b'c', None, &[&top.to_be_bytes(), &[0; 25]]),
            ]
        };
        let marked = Piece::Commit { marker: Some(17) };
        for (end, ids, expected) in [
            (b'c', [top, 0], [COMMIT, marked, COMMIT]),
            (b'c', [9, 0], [COMMIT, COMMIT, marked]),
            (b'A', [top, top], [COMMIT, Other, COMMIT]),
            (b'A', [top, part], [COMMIT, Other, COMMIT]),
            (b'A', [top, 9], [COMMIT, Other, marked]),
            (b'A', [9, 9], [COMMIT, Other, marked]),
        ] {
            assert_eq!(pieces("pgoutput", streamed(end, ids))[4..], expected, "{} {ids:?}", char::from(end));
        }
    }

    proptest! {
        #[test]
        fn no_payload_is_too_strange(payloads: Vec<Vec<u8>>, plugin in "test_decoding|pgoutput|other") {
            pieces(&plugin, payloads);
        }

        #[test]
        fn a_message_cut_short_carries_no_marker(cut in 0_usize..22) {
            let mut whole = insert(None, 7, b'b', &17_u64.to_be_bytes());
            prop_assert_eq!(whole.len(), 21);
            whole.truncate(cut);
            let read = pieces("pgoutput", [
                relation(None, 7, "public", "runner_marker"),
                whole,
                message(b'C', None, &[&[0; 25]]),
            ]);
            prop_assert_eq!(read[2], Piece::Commit { marker: (cut >= 21).then_some(17) });
        }

        #[test]
        fn any_id_is_read_back_in_either_form(id in 0..=i64::MAX as u64) {
            for payload in [insert(None, 7, b't', id.to_string().as_bytes()), insert(None, 7, b'b', &id.to_be_bytes())] {
                let read = pieces("pgoutput", [
                    relation(None, 7, "public", "runner_marker"),
                    payload,
                    message(b'C', None, &[&[0; 25]]),
                ]);
                prop_assert_eq!(read[2], Piece::Commit { marker: Some(id) });
            }
        }
    }
}
