//! Variables of a script: names become slots once, when the script is parsed.
//!
//! Owns the table of names and the record of names used before anything defines them.

use std::collections::HashMap;
use std::ops::Range;

/// A variable, as its place in the table of variables.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Slot(u32);

impl Slot {
    /// The place as an index.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// Names that have a value before the first transaction, in the order of their slots.
pub const PREDEFINED: [&str; 4] = ["client_id", "default_seed", "random_seed", "scale"];

/// The slot of `:default_seed`, which hash functions and `permute` use unasked.
pub(super) const DEFAULT_SEED: Slot = Slot(1);

/// The variables of one script, or of several scripts that one client runs.
#[derive(Debug, Clone)]
pub(super) struct Names {
    all: Vec<String>,
    slots: HashMap<String, Slot>,
    /// For each slot, whether something defined it by now.
    defined: Vec<bool>,
    /// Prefixes of names that a query's result may define: `\gset` and `\aset` take the rest from its columns.
    captured: Vec<String>,
    /// Uses of names that nothing before them defines.
    pub(super) undefined: Vec<(String, Range<usize>)>,
}

impl Names {
    pub(super) fn new() -> Names {
        let mut names = Names {
            all: Vec::new(),
            slots: HashMap::new(),
            defined: Vec::new(),
            captured: Vec::new(),
            undefined: Vec::new(),
        };
        for name in PREDEFINED {
            names.defined(name);
        }
        names
    }

    /// The slot of a name, new if need be.
    pub(super) fn slot(&mut self, name: &str) -> Slot {
        if let Some(slot) = self.slots.get(name) {
            return *slot;
        }
        let slot = Slot(self.all.len() as u32);
        self.all.push(name.to_owned());
        self.defined.push(false);
        self.slots.insert(name.to_owned(), slot);
        slot
    }

    /// The slot of a name that stands at `range`, noted if nothing has defined it by here.
    pub(super) fn used(&mut self, name: &str, range: Range<usize>) -> Slot {
        let slot = self.slot(name);
        if !self.may_be_defined(name) {
            self.undefined.push((name.to_owned(), range));
        }
        slot
    }

    /// The slot of a name that is given a value here.
    pub(super) fn defined(&mut self, name: &str) -> Slot {
        let slot = self.slot(name);
        self.defined[slot.index()] = true;
        slot
    }

    /// From here on a query's result may have defined any name that begins so.
    pub(super) fn captured(&mut self, prefix: &str) {
        self.captured.push(prefix.to_owned());
    }

    /// Whether something so far defines the name, or a query's result may.
    pub(super) fn may_be_defined(&self, name: &str) -> bool {
        self.find(name).is_some_and(|slot| self.defined[slot.index()])
            || self.captured.iter().any(|prefix| name.starts_with(prefix.as_str()))
    }

    pub(super) fn find(&self, name: &str) -> Option<Slot> {
        self.slots.get(name).copied()
    }

    pub(super) fn all(&self) -> &[String] {
        &self.all
    }
}

/// Whether a name may be given a value: letters, digits and underscores, no digit first; any
/// character beyond ASCII is a letter.
pub(super) fn is_valid(name: &str) -> bool {
    length_at(name) == name.len() && !name.is_empty()
}

/// How many bytes at the start of `text` are a valid name; 0 if there is none.
pub(super) fn length_at(text: &str) -> usize {
    let letter = |byte: u8| byte.is_ascii_alphabetic() || byte == b'_' || !byte.is_ascii();
    if !text.bytes().next().is_some_and(letter) {
        return 0;
    }
    text.bytes().take_while(|byte| letter(*byte) || byte.is_ascii_digit()).count()
}
