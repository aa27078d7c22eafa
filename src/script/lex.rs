//! Cuts a script's text into SQL statements, the way psql's lexer does for pgbench.
//!
//! Owns where a statement ends (a `;` outside of quotes, comments, parentheses and the body of
//! a SQL-standard function, or a backslash) and which of its bytes lie in quotes or comments.
//! Does not know variables, nor what a backslash command says.

use std::ops::Range;

use super::ScriptError;
use super::body::FunctionBody;

/// The text of one statement as it will be sent, with the way back to the script.
#[derive(Debug, Default)]
pub(super) struct SqlText {
    /// The text, its terminating semicolon included.
    pub(super) text: String,
    /// Where runs of `text` come from: (offset in `text`, offset in the script).
    origins: Vec<(usize, usize)>,
    /// Ranges of `text` that are in quotes or comments.
    pub(super) literals: Vec<Range<usize>>,
    /// Whether a `\;` joined several commands into one statement.
    pub(super) compound: bool,
}

impl SqlText {
    /// The range in the script that a range of `text` came from.
    pub(super) fn origin(&self, range: Range<usize>) -> Range<usize> {
        let place = |offset: usize| {
            let run = self.origins.partition_point(|(start, _)| *start <= offset);
            let (start, origin) = self.origins.get(run.wrapping_sub(1)).copied().unwrap_or((0, 0));
            origin + offset - start
        };
        let last = range.end.saturating_sub(1).max(range.start);
        place(range.start)..place(last) + (range.end - last)
    }

    fn keep(&mut self, script: &str, range: Range<usize>) {
        let contiguous =
            self.origins.last().is_some_and(|(start, origin)| origin + self.text.len() - start == range.start);
        if !contiguous {
            self.origins.push((self.text.len(), range.start));
        }
        self.text.push_str(&script[range]);
    }

    fn keep_literal(&mut self, script: &str, range: Range<usize>) {
        let start = self.text.len();
        self.keep(script, range);
        self.literals.push(start..self.text.len());
    }
}

/// What ended a statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stop {
    /// A semicolon, which belongs to the statement.
    Semicolon,
    /// The backslash of a command, at this offset.
    Backslash(usize),
    /// The end of the script.
    End,
}

/// Reads a script from front to back, statement by statement.
pub(super) struct Scanner<'t> {
    script: &'t str,
    /// Where reading goes on; whoever reads a backslash command moves it behind that command.
    pub(super) at: usize,
}

impl<'t> Scanner<'t> {
    pub(super) fn new(script: &'t str) -> Scanner<'t> {
        Scanner { script, at: 0 }
    }

    /// Reads up to the end of the next statement. Whitespace and `--` comments before it are
    /// dropped; the text is empty if there was nothing else.
    pub(super) fn statement(&mut self, errors: &mut Vec<ScriptError>) -> (SqlText, Stop) {
        let mut sql = SqlText::default();
        let mut open = Vec::new();
        let mut body = FunctionBody::default();
        let stop = loop {
            let start = self.at;
            let Some(next) = self.peek(0) else {
                break Stop::End;
            };
            match next {
                b' ' | b'\t' | b'\n' | b'\r' | 0x0b | 0x0c => {
                    self.at += 1;
                    if !sql.text.is_empty() {
                        sql.keep(self.script, start..self.at);
                    }
                }
                b'-' if self.peek(1) == Some(b'-') => {
                    self.at = self.find("\n").unwrap_or(self.script.len());
                    if !sql.text.is_empty() {
                        sql.keep_literal(self.script, start..self.at);
                    }
                }
                b'/' if self.peek(1) == Some(b'*') => {
                    self.block_comment(errors);
                    sql.keep_literal(self.script, start..self.at);
                }
                b'\'' => {
                    self.quoted(false, errors);
                    sql.keep_literal(self.script, start..self.at);
                }
                b'"' => {
                    let close = self.script[start + 1..].find('"').map(|at| start + 2 + at);
                    self.close(start..start + 1, close, "quoted identifier", errors);
                    sql.keep_literal(self.script, start..self.at);
                }
                b'$' => {
                    if let Some(tag) = self.dollar_tag() {
                        let inside = start + tag.len();
                        let close = self.script[inside..].find(tag).map(|at| inside + at + tag.len());
                        self.close(start..inside, close, "dollar-quoted string", errors);
                        sql.keep_literal(self.script, start..self.at);
                    } else {
                        self.at += 1;
                        sql.keep(self.script, start..self.at);
                    }
                }
                b'\\' => {
                    if !matches!(self.peek(1), Some(b';' | b':')) {
                        self.at += 1;
                        break Stop::Backslash(start);
                    }
                    // The backslash takes the next character's meaning away and disappears.
                    self.at += 2;
                    sql.keep(self.script, start + 1..self.at);
                    if self.script.as_bytes()[start + 1] == b';' {
                        sql.compound = true;
                        body.next_command();
                    }
                }
                b';' => {
                    self.at += 1;
                    sql.keep(self.script, start..self.at);
                    if open.is_empty() && body.depth == 0 {
                        break Stop::Semicolon;
                    }
                }
                b':' => {
                    // Names after a colon are variables, not words of the statement.
                    self.at += 1;
                    self.skip(is_word_byte);
                    sql.keep(self.script, start..self.at);
                }
                b'(' | b')' => {
                    self.at += 1;
                    if next == b'(' {
                        open.push(start);
                    } else {
                        open.pop();
                    }
                    sql.keep(self.script, start..self.at);
                }
                b'e' | b'E' if self.peek(1) == Some(b'\'') => {
                    self.at += 1;
                    self.quoted(true, errors);
                    sql.keep_literal(self.script, start..self.at);
                }
                _ if next.is_ascii_digit() => {
                    self.skip(|byte| byte.is_ascii_digit());
                    sql.keep(self.script, start..self.at);
                }
                _ if is_word_byte(next) => {
                    self.skip(|byte| is_word_byte(byte) || byte == b'$');
                    body.word(&self.script[start..self.at], open.is_empty());
                    sql.keep(self.script, start..self.at);
                }
                _ => {
                    self.at += 1;
                    sql.keep(self.script, start..self.at);
                }
            }
        };
        if let (Some(start), false) = (open.first(), stop == Stop::Semicolon) {
            errors.push(ScriptError {
                range: *start..start + 1,
                message: "this parenthesis is never closed".to_owned(),
                help: Some("a statement cannot end inside of parentheses".to_owned()),
            });
        }
        (sql, stop)
    }

    fn peek(&self, ahead: usize) -> Option<u8> {
        self.script.as_bytes().get(self.at + ahead).copied()
    }

    fn find(&self, text: &str) -> Option<usize> {
        self.script[self.at..].find(text).map(|at| self.at + at)
    }

    fn skip(&mut self, belongs: impl Fn(u8) -> bool) {
        while self.peek(0).is_some_and(&belongs) {
            self.at += 1;
        }
    }

    /// Moves behind what was opened at `opening`, or to the end with an error.
    fn close(&mut self, opening: Range<usize>, end: Option<usize>, what: &str, errors: &mut Vec<ScriptError>) {
        self.at = end.unwrap_or(self.script.len());
        if end.is_none() {
            errors.push(ScriptError {
                message: format!("this {what} is never closed"),
                help: Some(format!(
                    "it needs another `{}` at its end",
                    match &self.script[opening.clone()] {
                        "/*" => "*/",
                        mark => mark,
                    }
                )),
                range: opening,
            });
        }
    }

    /// A string from its opening quote on; doubled quotes read as two strings side by side.
    fn quoted(&mut self, escapes: bool, errors: &mut Vec<ScriptError>) {
        let start = self.at;
        loop {
            self.at += 1;
            match self.peek(0) {
                None => {
                    self.at = self.script.len();
                    return self.close(start..start + 1, None, "string", errors);
                }
                Some(b'\\') if escapes => self.at += 1,
                Some(b'\'') => {
                    self.at += 1;
                    // A string goes on after a line break, with the escapes it began with.
                    let rest = &self.script[self.at..];
                    let gap = rest.len() - rest.trim_ascii_start().len();
                    let goes_on = escapes && rest[gap..].starts_with('\'') && (gap == 0 || rest[..gap].contains('\n'));
                    if !goes_on {
                        return;
                    }
                    self.at += gap;
                }
                Some(_) => {}
            }
        }
    }

    fn block_comment(&mut self, errors: &mut Vec<ScriptError>) {
        let start = self.at;
        let mut depth = 0_usize;
        loop {
            match (self.peek(0), self.peek(1)) {
                (Some(b'/'), Some(b'*')) => {
                    depth += 1;
                    self.at += 2;
                }
                (Some(b'*'), Some(b'/')) => {
                    depth -= 1;
                    self.at += 2;
                    if depth == 0 {
                        return;
                    }
                }
                (Some(_), _) => self.at += 1,
                (None, _) => return self.close(start..start + 2, None, "comment", errors),
            }
        }
    }

    /// The `$tag$` that opens a dollar-quoted string here, if one does.
    fn dollar_tag(&self) -> Option<&'t str> {
        let rest = &self.script[self.at..];
        let length =
            rest[1..].find(|letter: char| !(letter.is_ascii_alphanumeric() || letter == '_' || !letter.is_ascii()))?;
        let tag = rest.get(..length + 2)?;
        let digit_first = tag.as_bytes()[1].is_ascii_digit();
        (tag.ends_with('$') && !digit_first).then_some(tag)
    }
}

/// What names and keywords consist of; digits may not come first.
fn is_word_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || !byte.is_ascii()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn split(script: &str) -> (Vec<String>, Vec<ScriptError>) {
        let mut scanner = Scanner::new(script);
        let mut errors = Vec::new();
        let mut texts = Vec::new();
        loop {
            let (sql, stop) = scanner.statement(&mut errors);
            if !sql.text.is_empty() {
                texts.push(sql.text);
            }
            if stop == Stop::End {
                return (texts, errors);
            }
        }
    }

    #[test]
    fn statements_end_where_psqls_lexer_ends_them() {
        for (script, statements) in [
            ("SELECT 1; SELECT 2", &["SELECT 1;", "SELECT 2"][..]),
            ("SELECT 'a;''b;'; SELECT 2;", &["SELECT 'a;''b;';", "SELECT 2;"]),
            ("SELECT E'a\\';b'; SELECT 2;", &["SELECT E'a\\';b';", "SELECT 2;"]),
            ("SELECT 'a\\'; SELECT 2;", &["SELECT 'a\\';", "SELECT 2;"]),
            ("SELECT E'a'\n 'b\\';c';", &["SELECT E'a'\n 'b\\';c';"]),
            ("SELECT name'a\\';", &["SELECT name'a\\';"]),
            ("SELECT \"a;\"\"b\";x", &["SELECT \"a;\"\"b\";", "x"]),
            ("SELECT $$a;$$; x", &["SELECT $$a;$$;", "x"]),
            ("SELECT $q$a;$$b$qq$;$q$; x", &["SELECT $q$a;$$b$qq$;$q$;", "x"]),
            ("SELECT $1; SELECT a$b$c; x", &["SELECT $1;", "SELECT a$b$c;", "x"]),
            ("-- one;\nSELECT 1 -- two;\n; x", &["SELECT 1 -- two;\n;", "x"]),
            ("/* a; /* b; */ c; */ x;", &["/* a; /* b; */ c; */ x;"]),
            ("SELECT (1;2); x", &["SELECT (1;2);", "x"]),
            ("SELECT 1\\; SELECT 2; x", &["SELECT 1; SELECT 2;", "x"]),
            (
                "CREATE FUNCTION f() RETURNS int BEGIN ATOMIC SELECT CASE WHEN true THEN 1 END; SELECT 2; END; x",
                &["CREATE FUNCTION f() RETURNS int BEGIN ATOMIC SELECT CASE WHEN true THEN 1 END; SELECT 2; END;", "x"],
            ),
            (
                "create or replace procedure p() begin atomic select 1; end; begin; end;",
                &["create or replace procedure p() begin atomic select 1; end;", "begin;", "end;"],
            ),
            ("SELECT ';", &["SELECT ';"]),
            ("  \r\n -- nothing\n", &[]),
            (";;", &[";", ";"]),
        ] {
            assert_eq!(split(script).0, statements, "{script}");
        }
    }

    #[test]
    fn what_is_never_closed_is_told_with_its_opening() {
        for (script, range, message) in [
            ("SELECT 'a", 7..8, "this string is never closed"),
            ("SELECT E'a\\", 8..9, "this string is never closed"),
            ("SELECT \"a", 7..8, "this quoted identifier is never closed"),
            ("SELECT $x$a$$", 7..10, "this dollar-quoted string is never closed"),
            ("SELECT /* /* */", 7..9, "this comment is never closed"),
            ("SELECT (1;", 7..8, "this parenthesis is never closed"),
        ] {
            let (_, errors) = split(script);
            assert_eq!(errors.len(), 1, "{script}");
            assert_eq!((&errors[0].range, &*errors[0].message), (&range, message));
        }
    }

    #[test]
    fn ranges_lead_back_over_what_was_left_out() {
        let script = "  SELECT 1\\; SELECT :x;";
        let (sql, _) = Scanner::new(script).statement(&mut Vec::new());
        let at = sql.text.find(":x").unwrap_or_default();
        assert_eq!(&script[sql.origin(at..at + 2)], ":x");
        assert_eq!(&script[sql.origin(0..sql.text.len())], &script[2..]);
    }

    proptest! {
        #[test]
        fn splitting_loses_nothing_and_joining_splits_again(
            script in r#"(SELECT|[a-z]|'[a-z;]*'|"[a;]"| \$q\$;\$q\$|/\*;\*/|--[a-z;]*\n|[(][a;]*[)]|[;: ]|\$1|é){0,30}"#,
        ) {
            let (statements, errors) = split(&script);
            prop_assert!(errors.is_empty());
            let joined = statements.concat();
            let squeezed = |text: &str| text.replace(char::is_whitespace, "");
            let mut rest = squeezed(&script);
            for statement in &statements {
                let statement = squeezed(statement);
                let at = rest.find(&statement);
                prop_assert!(at.is_some());
                rest.drain(..at.unwrap_or_default() + statement.len());
            }
            prop_assert_eq!(split(&joined).0, statements);
        }

        #[test]
        fn any_text_is_read_to_its_end(script in r#"[\\'"$a-zE(): ;/*\n\-é]{0,40}"#) {
            split(&script);
        }
    }
}
