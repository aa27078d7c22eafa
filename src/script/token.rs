//! The tokens of pgbench's expression language.
//!
//! Owns spelling: what a number, a name, a variable and an operator look like. A backslash at
//! the end of a line is space, so an expression goes on in the next one.

use std::ops::Range;

use super::ScriptError;

/// One token of an expression.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Token<'t> {
    Integer(i64),
    /// 9223372036854775808, an integer only behind a minus.
    BeyondInteger,
    Double(f64),
    Null,
    True,
    False,
    /// `:name`, without its colon.
    Variable(&'t str),
    /// A function's name.
    Name(&'t str),
    Keyword(Keyword),
    /// An operator, a parenthesis or a comma, in its usual spelling.
    Symbol(&'static str),
    End,
}

/// The words that are part of the grammar.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Keyword {
    And,
    Case,
    Else,
    End,
    Is,
    IsNull,
    Not,
    NotNull,
    Or,
    Then,
    When,
}

const WORDS: &[(&str, Token<'static>)] = &[
    ("and", Token::Keyword(Keyword::And)),
    ("case", Token::Keyword(Keyword::Case)),
    ("else", Token::Keyword(Keyword::Else)),
    ("end", Token::Keyword(Keyword::End)),
    ("false", Token::False),
    ("is", Token::Keyword(Keyword::Is)),
    ("isnull", Token::Keyword(Keyword::IsNull)),
    ("not", Token::Keyword(Keyword::Not)),
    ("notnull", Token::Keyword(Keyword::NotNull)),
    ("null", Token::Null),
    ("or", Token::Keyword(Keyword::Or)),
    ("then", Token::Keyword(Keyword::Then)),
    ("true", Token::True),
    ("when", Token::Keyword(Keyword::When)),
];

/// Each spelling with the one it is read as; longer ones stand before their beginnings.
const SYMBOLS: &[(&str, &str)] = &[
    ("<<", "<<"),
    ("<=", "<="),
    ("<>", "<>"),
    ("<", "<"),
    (">>", ">>"),
    (">=", ">="),
    (">", ">"),
    ("!=", "<>"),
    ("=", "="),
    ("+", "+"),
    ("-", "-"),
    ("*", "*"),
    ("/", "/"),
    ("%", "%"),
    ("&", "&"),
    ("|", "|"),
    ("#", "#"),
    ("~", "~"),
    ("(", "("),
    (")", ")"),
    (",", ","),
];

/// Reads the tokens of the expression that is `script[range]`, each with its range in the
/// script; the last one is [`Token::End`].
pub(super) fn tokens(script: &str, range: Range<usize>) -> Result<Vec<(Token<'_>, Range<usize>)>, ScriptError> {
    let mut tokens = Vec::new();
    let mut at = range.start;
    loop {
        let rest = &script[at..range.end];
        let Some(first) = rest.chars().next() else {
            tokens.push((Token::End, at..at));
            return Ok(tokens);
        };
        let continuation = ["\\\n", "\\\r\n"].into_iter().find(|mark| rest.starts_with(mark));
        if first.is_ascii_whitespace() || first == '\x0b' {
            at += 1;
            continue;
        }
        if let Some(mark) = continuation {
            at += mark.len();
            continue;
        }
        let (token, length) =
            one(rest).map_err(|(length, message, help)| ScriptError { range: at..at + length, message, help })?;
        tokens.push((token, at..at + length));
        at += length;
    }
}

/// An error's length, message and help.
type Refusal = (usize, String, Option<String>);

fn one(rest: &str) -> Result<(Token<'_>, usize), Refusal> {
    let word_end = |text: &str| text.find(|letter: char| letter.is_ascii() && !is_word(letter)).unwrap_or(text.len());
    if let Some(length) = number_length(rest) {
        let text = &rest[..length];
        return number(text).map(|token| (token, length)).ok_or_else(|| {
            let (kind, limit) = if text.bytes().all(|byte| byte.is_ascii_digit()) {
                ("bigint", "9223372036854775807")
            } else {
                ("double", "about 1.8e308")
            };
            (length, format!("{kind} constant overflow"), Some(format!("the largest {kind} is {limit}")))
        });
    }
    if let Some(name) = rest.strip_prefix(':') {
        let length = word_end(name);
        if length > 0 {
            return Ok((Token::Variable(&name[..length]), length + 1));
        }
    }
    let length = word_end(rest);
    if length > 0 {
        let word = &rest[..length];
        let token = WORDS
            .iter()
            .find(|(spelling, _)| spelling.eq_ignore_ascii_case(word))
            .map_or(Token::Name(word), |(_, token)| *token);
        return Ok((token, length));
    }
    if let Some((spelling, symbol)) = SYMBOLS.iter().find(|(spelling, _)| rest.starts_with(spelling)) {
        return Ok((Token::Symbol(symbol), spelling.len()));
    }
    let letter = rest.chars().next().unwrap_or_default();
    let help = match letter {
        ';' => Some("a backslash command ends with its line and takes no semicolon"),
        '\'' | '"' => Some("the expression language has no text; put it into the SQL"),
        '\\' => Some("a backslash goes on in the next line only as the last character of its line"),
        ':' => Some("a variable is a colon with its name right behind it"),
        '^' => Some("powers are `pow(x, y)`, exclusive or is `#`"),
        _ => None,
    };
    Err((letter.len_utf8(), format!("unexpected character `{letter}`"), help.map(str::to_owned)))
}

fn is_word(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || letter == '_' || !letter.is_ascii()
}

/// How many bytes of `rest` are a number: `12`, `1.`, `1.5`, `.5`, each with an exponent.
fn number_length(rest: &str) -> Option<usize> {
    let bytes = rest.as_bytes();
    let digits_from = |start: usize| bytes[start..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    let whole = digits_from(0);
    let mut length = whole;
    if bytes.get(whole) == Some(&b'.') {
        let fraction = digits_from(whole + 1);
        if whole + fraction > 0 {
            length = whole + 1 + fraction;
        }
    }
    if length == 0 {
        return None;
    }
    if matches!(bytes.get(length), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(bytes.get(length + 1), Some(b'+' | b'-')));
        let start = length + 1 + sign;
        let exponent = if start <= bytes.len() { digits_from(start) } else { 0 };
        if exponent > 0 {
            length = start + exponent;
        }
    }
    Some(length)
}

/// The value of a number's text; none if it does not fit.
fn number(text: &str) -> Option<Token<'static>> {
    if text.bytes().all(|byte| byte.is_ascii_digit()) {
        return match text.parse() {
            Ok(integer) => Some(Token::Integer(integer)),
            Err(_) if text.trim_start_matches('0') == "9223372036854775808" => Some(Token::BeyondInteger),
            Err(_) => None,
        };
    }
    let double: f64 = text.parse().ok()?;
    let mantissa = text.split(['e', 'E']).next().unwrap_or_default();
    let vanished = double == 0.0 && mantissa.bytes().any(|byte| matches!(byte, b'1'..=b'9'));
    (double.is_finite() && !vanished).then_some(Token::Double(double))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Vec<Token<'_>>, String> {
        tokens(text, 0..text.len())
            .map(|tokens| tokens.into_iter().map(|(token, _)| token).collect())
            .map_err(|error| format!("{:?} {}", error.range, error.message))
    }

    #[test]
    fn numbers_are_read_as_pgbench_reads_them() {
        for (text, token) in [
            ("12", Token::Integer(12)),
            ("9223372036854775807", Token::Integer(i64::MAX)),
            ("9223372036854775808", Token::BeyondInteger),
            ("1.", Token::Double(1.0)),
            (".0E0", Token::Double(0.0)),
            ("0.8E1", Token::Double(8.0)),
            ("1e+3", Token::Double(1000.0)),
            ("1e-3", Token::Double(0.001)),
        ] {
            assert_eq!(read(text), Ok(vec![token, Token::End]), "{text}");
        }
        for text in ["100000000000000000000", "9223372036854775809"] {
            assert_eq!(read(text), Err(format!("0..{} bigint constant overflow", text.len())));
        }
        for text in ["1.0E309", ".1E310", "1e-400"] {
            assert_eq!(read(text), Err(format!("0..{} double constant overflow", text.len())));
        }
        // An exponent without digits is a name behind a number.
        assert_eq!(read("1e"), Ok(vec![Token::Integer(1), Token::Name("e"), Token::End]));
    }

    #[test]
    fn words_and_symbols_are_read_in_any_case_and_without_spaces() {
        assert_eq!(
            read("Not:a!=NULL\\\n<<\\\r\ntRue"),
            Ok(vec![
                Token::Keyword(Keyword::Not),
                Token::Variable("a"),
                Token::Symbol("<>"),
                Token::Null,
                Token::Symbol("<<"),
                Token::True,
                Token::End,
            ])
        );
    }

    #[test]
    fn other_characters_are_refused_where_they_stand() {
        for (text, error) in [
            ("1;", "1..2 unexpected character `;`"),
            ("1 ä?", "4..5 unexpected character `?`"),
            ("\\", "0..1 unexpected character `\\`"),
            (": x", "0..1 unexpected character `:`"),
            ("1 .", "2..3 unexpected character `.`"),
        ] {
            assert_eq!(read(text), Err(error.to_owned()));
        }
    }
}
