//! Markers in the output of `pg_recvlogical`: a stream of the plugin's messages, each followed by a newline.
//!
//! Only the marker is looked for, by a search through the bytes: messages are not told apart, since nothing says where
//! a binary one ends. Pure.

use crate::plan::sql::marker;
use memchr::memmem;

/// Which plugin wrote the stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// `test_decoding`: text.
    Text,
    /// `pgoutput`: the messages of the logical replication protocol.
    Binary,
}

impl Form {
    /// The form of a plugin's output, if it is known.
    pub fn of(plugin: &str) -> Option<Self> {
        match plugin {
            "test_decoding" => Some(Form::Text),
            crate::plan::sql::slot::PGOUTPUT => Some(Form::Binary),
            _ => None,
        }
    }
}

/// The longest decimal text of a marker's number.
const LONGEST_ID: usize = 19;

/// A search that goes on from one piece of the stream to the next.
#[derive(Debug)]
pub struct MarkerScan {
    form: Form,
    /// How the marker's table is introduced, and by what its rows are then known.
    relation: Vec<u8>,
    insert: Option<Vec<u8>>,
    /// What may be the beginning of something that goes on in the next piece.
    rest: Vec<u8>,
}

impl MarkerScan {
    /// Nothing read yet.
    pub fn new(form: Form) -> Self {
        let table = marker::TABLE;
        let (relation, insert) = match form {
            Form::Text => (Vec::new(), Some(format!("table public.{table}: INSERT: id[bigint]:").into_bytes())),
            Form::Binary => (format!("public\0{table}\0").into_bytes(), None),
        };
        Self { form, relation, insert, rest: Vec::new() }
    }

    /// Takes the next piece and gives the numbers of the markers whose transactions it completes.
    pub fn take(&mut self, piece: &[u8]) -> Vec<u64> {
        let mut bytes = std::mem::take(&mut self.rest);
        bytes.extend_from_slice(piece);
        let mut found = Vec::new();
        let mut from = 0;
        if self.insert.is_none() {
            from = self.learn(&bytes);
        }
        if let Some(insert) = &self.insert {
            loop {
                let Some(at) = memmem::find(&bytes[from..], insert).map(|at| from + at) else {
                    from = from.max(bytes.len().saturating_sub(insert.len() - 1));
                    break;
                };
                match row(self.form, &bytes[at + insert.len()..]) {
                    Row::Complete(id) => {
                        found.push(id);
                        from = at + insert.len();
                    }
                    Row::Other => from = at + insert.len(),
                    Row::Unfinished => {
                        from = at;
                        break;
                    }
                }
            }
        }
        self.rest = bytes.split_off(from);
        found
    }

    /// Looks for the message that introduces the marker's table, whose object identifier stands before its name; gives
    /// from where on to look further.
    fn learn(&mut self, bytes: &[u8]) -> usize {
        let Some(at) = memmem::find(bytes, &self.relation).filter(|at| *at >= 4) else {
            return bytes.len().saturating_sub(self.relation.len() + 4);
        };
        let mut insert = vec![b'I'];
        insert.extend_from_slice(&bytes[at - 4..at]);
        // A new row of one column; its form comes next.
        insert.extend_from_slice(b"N\0\x01");
        self.insert = Some(insert);
        at + self.relation.len()
    }
}

enum Row {
    Complete(u64),
    Other,
    /// It may be one when more has come.
    Unfinished,
}

/// What follows the beginning of a marker's row: its number, then the message of the commit.
fn row(form: Form, bytes: &[u8]) -> Row {
    let (id, end, commit): (Option<u64>, usize, &[u8]) = match form {
        Form::Text => {
            let digits = bytes.iter().take(LONGEST_ID + 1).take_while(|byte| byte.is_ascii_digit()).count();
            (decimal(&bytes[..digits]), digits, b"\nCOMMIT")
        }
        Form::Binary => {
            let Some((head, value)) = bytes.split_first_chunk::<5>() else { return Row::Unfinished };
            let length = u32::from_be_bytes([head[1], head[2], head[3], head[4]]) as usize;
            let fits = match head[0] {
                b't' => length <= LONGEST_ID,
                b'b' => length == 8,
                _ => false,
            };
            if !fits {
                return Row::Other;
            }
            let Some(value) = value.get(..length) else { return Row::Unfinished };
            let binary = value.try_into().ok().filter(|_| head[0] == b'b').map(i64::from_be_bytes);
            let id = binary.map_or_else(|| decimal(value), |id| u64::try_from(id).ok());
            (id, 5 + length, b"\nC")
        }
    };
    let after = &bytes[end..];
    if after.len() < commit.len() {
        return if commit.starts_with(after) { Row::Unfinished } else { Row::Other };
    }
    match id {
        Some(id) if after.starts_with(commit) => Row::Complete(id),
        _ => Row::Other,
    }
}

fn decimal(digits: &[u8]) -> Option<u64> {
    std::str::from_utf8(digits).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn text(ids: &[u64]) -> Vec<u8> {
        let one = |id: &u64| {
            format!(
                "BEGIN 7\ntable public.t: INSERT: x[text]:'a\n'\nCOMMIT 7\nBEGIN 8\n\
                 table public.runner_marker: INSERT: id[bigint]:{id}\nCOMMIT 8\n"
            )
        };
        ids.iter().map(one).collect::<String>().into_bytes()
    }

    fn binary(ids: &[u64], in_binary: bool) -> Vec<u8> {
        let mut out = Vec::new();
        for (index, id) in ids.iter().enumerate() {
            out.extend_from_slice(b"B01234567012345670123\n");
            if index == 0 {
                out.extend_from_slice(b"R\0\0\x40\x01public\0runner_marker\0d\0\x01\0id\0\0\0\0\x14\xff\xff\xff\xff\n");
            }
            out.extend_from_slice(b"I\0\0\x40\x01N\0\x01");
            if in_binary {
                out.extend_from_slice(b"b\0\0\0\x08");
                out.extend_from_slice(&id.to_be_bytes());
            } else {
                let digits = id.to_string();
                out.push(b't');
                out.extend_from_slice(&(digits.len() as u32).to_be_bytes());
                out.extend_from_slice(digits.as_bytes());
            }
            out.extend_from_slice(b"\nC\0aaaaaaaabbbbbbbbcccccccc\n");
        }
        out
    }

    proptest! {
        #[test]
        fn markers_are_found_however_the_stream_is_cut(
            ids in prop::collection::vec(0..u64::from(u32::MAX), 0..6),
            cut in 1usize..60,
        ) {
            let streams =
                [(Form::Text, text(&ids)), (Form::Binary, binary(&ids, false)), (Form::Binary, binary(&ids, true))];
            for (form, bytes) in streams {
                let mut scan = MarkerScan::new(form);
                let found: Vec<u64> = bytes.chunks(cut).flat_map(|piece| scan.take(piece)).collect();
                prop_assert_eq!(&found, &ids);
            }
        }
    }

    #[test]
    fn a_marker_without_its_commit_has_not_come_yet() {
        for (form, bytes) in [(Form::Text, text(&[12])), (Form::Binary, binary(&[12], false))] {
            let end = memmem::rfind(&bytes, b"\nC").expect("a commit");
            let mut scan = MarkerScan::new(form);
            assert_eq!(scan.take(&bytes[..=end]), [0; 0]);
            assert_eq!(scan.take(&bytes[end + 1..]), [12]);
        }
    }

    #[test]
    fn little_is_kept_of_a_stream_without_markers() {
        for form in [Form::Text, Form::Binary] {
            let mut scan = MarkerScan::new(form);
            for _ in 0..100 {
                scan.take(&[b'x'; 10_000]);
            }
            assert!(scan.rest.len() < 100);
        }
    }
}
