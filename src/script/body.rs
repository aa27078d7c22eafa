//! Knows a SQL-standard function body, in which semicolons do not end the statement.
//!
//! The rule is psql's: words are counted, nothing is parsed.

/// Whether reading is inside of the `BEGIN ATOMIC … END` of a CREATE FUNCTION or PROCEDURE,
/// whose semicolons do not end the statement.
#[derive(Debug, Default)]
pub(super) struct FunctionBody {
    /// Words of the statement seen so far.
    words: usize,
    /// Whether the words so far begin `CREATE [OR REPLACE] {FUNCTION | PROCEDURE}`.
    head: Head,
    /// Open BEGINs and CASEs.
    pub(super) depth: usize,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Head {
    #[default]
    Other,
    Create,
    CreateOr,
    CreateOrReplace,
    Routine,
}

impl FunctionBody {
    /// A `\;` begins another command within the statement.
    pub(super) fn next_command(&mut self) {
        self.words = 0;
    }

    /// Takes in the next word of the statement.
    pub(super) fn word(&mut self, word: &str, outside_parentheses: bool) {
        let is = |keyword: &str| word.eq_ignore_ascii_case(keyword);
        let routine = is("function") || is("procedure");
        self.head = match (self.words, self.head) {
            (0, _) if is("create") => Head::Create,
            (1, Head::Create) if is("or") => Head::CreateOr,
            (2, Head::CreateOr) if is("replace") => Head::CreateOrReplace,
            (1, Head::Create) | (3, Head::CreateOrReplace) if routine => Head::Routine,
            (_, Head::Routine) if self.words > 0 => Head::Routine,
            _ => Head::Other,
        };
        self.words += 1;
        if self.head != Head::Routine || !outside_parentheses {
            return;
        }
        if is("begin") || (is("case") && self.depth > 0) {
            self.depth += 1;
        } else if is("end") {
            self.depth = self.depth.saturating_sub(1);
        }
    }
}
