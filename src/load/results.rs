//! What a statement's `\gset` or `\aset` wants of its reply: for each result the columns' names and the last row.
//!
//! It keeps bytes in room that is used again; which of them become variables is the script's rule.

use crate::script::{Machine, ResultRows, RunError};
use crate::wire::{Frame, column_names, row_values};

/// One result, as its messages have come.
#[derive(Debug, Default)]
struct OneResult {
    names: Vec<u8>,
    last_row: Vec<u8>,
    rows: u64,
}

impl OneResult {
    fn clear(&mut self) {
        self.names.clear();
        self.last_row.clear();
        self.rows = 0;
    }
}

/// The results of one reply.
#[derive(Debug, Default)]
pub(super) struct Results {
    /// The complete ones first, then the one that is coming in.
    room: Vec<OneResult>,
    complete: usize,
}

impl Results {
    /// Forgets the last reply.
    pub(super) fn clear(&mut self) {
        self.complete = 0;
        self.room.iter_mut().for_each(OneResult::clear);
    }

    /// Takes the next message of the reply.
    pub(super) fn take(&mut self, frame: Frame<'_>) {
        if self.room.len() == self.complete {
            self.room.push(OneResult::default());
        }
        let result = &mut self.room[self.complete];
        let copy = |room: &mut Vec<u8>| {
            room.clear();
            room.extend_from_slice(frame.body);
        };
        match frame.tag {
            b'T' => copy(&mut result.names),
            b'D' => {
                copy(&mut result.last_row);
                result.rows += 1;
            }
            _ => self.complete += 1,
        }
    }

    /// Hands the results of `statement` to the client's variables.
    pub(super) fn store(&self, statement: usize, machine: &mut Machine) -> Result<(), RunError> {
        for (query, result) in self.room[..self.complete].iter().enumerate() {
            let rows = ResultRows { query, rows: result.rows, last: query + 1 == self.complete };
            let columns = column_names(&result.names).zip(row_values(&result.last_row));
            machine.capture(statement, rows, columns)?;
        }
        Ok(())
    }
}
