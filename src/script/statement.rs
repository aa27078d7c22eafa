//! One SQL statement, compiled for both protocols.
//!
//! Owns how `:name`s are found in SQL text (pgbench's rule knows neither quotes nor comments)
//! and what a statement does to a transaction block. Values come from `machine`.

use std::ops::Range;

use super::ScriptError;
use super::capture::Capture;
use super::lex::SqlText;
use super::names::{self, Names, Slot};

/// The largest number of variables a statement may use; the limit is pgbench's.
pub const MAX_PARAMETERS: usize = 255;

/// One SQL statement of a script.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Statement {
    /// Its place among the script's statements, from 0.
    pub index: usize,
    /// Where it stands, in bytes of the script's text.
    pub range: Range<usize>,
    /// The statement with its `:name`s, as pgbench names it: without `--` comments before it,
    /// with its semicolon.
    pub text: String,
    /// The text to prepare: each use of a variable is a parameter of its own, `$1` to `$n`.
    pub prepared_text: String,
    /// The variables of `$1` to `$n`, in this order; bind NULL for one without a value.
    pub parameters: Vec<Slot>,
    /// What it does to a transaction block.
    pub edge: TransactionEdge,
    /// Whether `\;` made it several commands, which only the simple protocol takes.
    pub compound: bool,
    /// What `\gset` or `\aset` behind it takes from its results.
    pub capture: Option<Capture>,
    /// Where each parameter's `:name` stands in `text`.
    uses: Vec<Range<usize>>,
}

/// What a statement does to a transaction block, by its first words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TransactionEdge {
    /// BEGIN or START TRANSACTION.
    Begin,
    /// COMMIT, END, ROLLBACK, ABORT or PREPARE TRANSACTION.
    End,
    /// Anything else; also several commands in one, ROLLBACK TO, AND CHAIN, and the second
    /// half of a two-phase commit (COMMIT PREPARED), which run in no block or stay in one.
    None,
}

impl Statement {
    /// Compiles `sql`. Names become slots, and uses of names within quotes or comments are
    /// added to `quoted` with their ranges in the script.
    pub(super) fn compile(
        index: usize,
        mut sql: SqlText,
        names: &mut Names,
        quoted: &mut Vec<(String, Range<usize>)>,
        errors: &mut Vec<ScriptError>,
    ) -> Statement {
        let range = sql.origin(0..sql.text.len());
        let mut prepared_text = String::with_capacity(sql.text.len());
        let mut parameters = Vec::new();
        let mut uses = Vec::new();
        let mut copied = 0;
        for found in variables(&sql.text) {
            let name = &sql.text[found.start + 1..found.end];
            let origin = sql.origin(found.clone());
            let literal = |literal: &Range<usize>| literal.contains(&found.start);
            if sql.literals.iter().any(literal) {
                quoted.push((name.to_owned(), origin.clone()));
            }
            parameters.push(names.used(name, origin));
            prepared_text.push_str(&sql.text[copied..found.start]);
            prepared_text.push('$');
            prepared_text.push_str(&parameters.len().to_string());
            copied = found.end;
            uses.push(found);
        }
        prepared_text.push_str(&sql.text[copied..]);
        if parameters.len() > MAX_PARAMETERS {
            errors.push(ScriptError {
                range: range.clone(),
                message: format!(
                    "statement has too many arguments (maximum is {MAX_PARAMETERS}): {}",
                    parameters.len()
                ),
                help: Some("each use of a variable counts; split the statement".to_owned()),
            });
        }
        Statement {
            index,
            range,
            edge: if sql.compound { TransactionEdge::None } else { edge(&sql.text) },
            text: std::mem::take(&mut sql.text),
            prepared_text,
            parameters,
            compound: sql.compound,
            capture: None,
            uses,
        }
    }

    /// Appends the text for the simple protocol. `write` appends a variable's text and says
    /// whether it has any; without one its name stays as it is.
    pub(super) fn write_simple(&self, out: &mut Vec<u8>, mut write: impl FnMut(Slot, &mut Vec<u8>) -> bool) {
        let text = self.text.as_bytes();
        let mut copied = 0;
        for (used, slot) in self.uses.iter().zip(&self.parameters) {
            out.extend_from_slice(&text[copied..used.start]);
            copied = if write(*slot, out) { used.end } else { used.start };
        }
        out.extend_from_slice(&text[copied..]);
    }
}

/// The ranges of `:name` in SQL text. Colons next to each other (`::int`) begin none of them,
/// and neither does a colon before a digit (`10:20`).
fn variables(text: &str) -> impl Iterator<Item = Range<usize>> {
    let mut at = 0;
    std::iter::from_fn(move || {
        loop {
            let colon = at + text[at..].find(':')?;
            let length = names::length_at(&text[colon + 1..]);
            if length > 0 {
                at = colon + 1 + length;
                return Some(colon..at);
            }
            at = colon + text[colon..].bytes().take_while(|byte| *byte == b':').count();
        }
    })
}

fn edge(text: &str) -> TransactionEdge {
    let words: Vec<String> = words(text).take(8).map(str::to_ascii_uppercase).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let rest = words.get(1..).unwrap_or_default();
    let stays = rest.first() == Some(&"PREPARED")
        || rest.contains(&"TO")
        || rest.windows(2).any(|pair| pair == ["AND", "CHAIN"]);
    match words[..] {
        ["BEGIN", ..] | ["START", "TRANSACTION", ..] => TransactionEdge::Begin,
        ["COMMIT" | "END" | "ROLLBACK" | "ABORT", ..] if !stays => TransactionEdge::End,
        ["PREPARE", "TRANSACTION", ..] => TransactionEdge::End,
        _ => TransactionEdge::None,
    }
}

/// The words at the start of SQL text, comments left out, up to the first other character.
fn words(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        loop {
            rest = rest.trim_ascii_start();
            if let Some(comment) = rest.strip_prefix("--") {
                rest = &comment[comment.find('\n')?..];
            } else if rest.starts_with("/*") {
                rest = behind_comment(rest);
            } else {
                break;
            }
        }
        let length = names::length_at(rest);
        let (word, behind) = rest.split_at(length);
        rest = behind;
        (length > 0).then_some(word)
    })
}

/// What follows the (nested) block comment that `text` starts with.
fn behind_comment(text: &str) -> &str {
    let bytes = text.as_bytes();
    let (mut at, mut depth) = (0, 0_usize);
    while at < bytes.len() {
        match bytes.get(at..at + 2) {
            Some(b"/*") => depth += 1,
            Some(b"*/") => depth -= 1,
            _ => {
                at += 1;
                continue;
            }
        }
        at += 2;
        if depth == 0 {
            break;
        }
    }
    &text[at..]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_where_pgbench_finds_them() {
        for (text, found) in [
            ("SELECT :a, :a+:_b2", &[":a", ":a", ":_b2"][..]),
            ("SELECT a::int, :b::int", &[":b"]),
            ("SELECT ':x', '10:20:30', \":y\"", &[":x", ":y"]),
            ("SELECT a[1:n], a[:m], :::z", &[":n", ":m"]),
            ("SELECT :1x, : x, x:=:y", &[":y"]),
            ("SELECT :größe", &[":größe"]),
            ("SELECT 1:", &[]),
        ] {
            let names: Vec<&str> = variables(text).map(|range| &text[range]).collect();
            assert_eq!(names, found, "{text}");
        }
    }

    #[test]
    fn the_first_words_tell_what_happens_to_the_transaction_block() {
        use TransactionEdge::{Begin, End, None};
        for (text, expected) in [
            ("BEGIN;", Begin),
            ("/* a /* b */ */ -- c\n begin isolation level serializable;", Begin),
            ("START TRANSACTION;", Begin),
            ("START_REPLICATION;", None),
            ("COMMIT;", End),
            ("end work", End),
            ("ROLLBACK;", End),
            ("ABORT", End),
            ("ROLLBACK TO SAVEPOINT a;", None),
            ("ROLLBACK WORK TO a;", None),
            ("ROLLBACK AND CHAIN;", None),
            ("COMMIT AND NO CHAIN;", End),
            ("COMMIT PREPARED 'x';", None),
            ("PREPARE TRANSACTION 'x';", End),
            ("PREPARE x AS SELECT 1;", None),
            ("BEGINNING;", None),
            ("SELECT 1;", None),
            (";", None),
        ] {
            assert_eq!(edge(text), expected, "{text}");
        }
    }
}
