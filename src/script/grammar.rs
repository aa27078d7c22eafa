//! Parses expressions: pgbench's grammar with PostgreSQL's operator precedence.
//!
//! Owns operators, their precedence and the depth limit. What stands between operators is in
//! `operand`; what the tree computes is in `eval`.

use std::ops::Range;

use super::ScriptError;
use super::expr::{Expr, Operator};
use super::names::Names;
use super::token::{Keyword, Token, tokens};
use super::value::Value;

/// How deep expressions may nest, so that neither parsing nor evaluating exhausts the stack.
const MAX_DEPTH: usize = 200;

// Binding strength, weakest first, as in PostgreSQL's own grammar.
const OR: u8 = 1;
const AND: u8 = 2;
const NOT: u8 = 3;
const IS: u8 = 4;
const COMPARISON: u8 = 5;
const BITWISE: u8 = 6;
const SUM: u8 = 7;
const PRODUCT: u8 = 8;
const UNARY: u8 = 9;

/// Parses `script[range]`; `:name`s become slots of `names`. On failure the errors have been
/// pushed and there is no expression.
pub(super) fn parse(
    script: &str,
    range: Range<usize>,
    names: &mut Names,
    errors: &mut Vec<ScriptError>,
) -> Option<Expr> {
    let tokens = match tokens(script, range) {
        Ok(tokens) => tokens,
        Err(error) => {
            errors.push(error);
            return None;
        }
    };
    let told = errors.len();
    let mut parser = Parser { script, tokens, at: 0, depth: 0, names, errors };
    let parsed = parser.binary(0).and_then(|(expr, _)| match parser.peek() {
        Token::End => Ok(expr),
        _ => Err(parser.unexpected("an operator or the end of the line")),
    });
    match parsed {
        Ok(expr) => (errors.len() == told).then_some(expr),
        Err(error) => {
            errors.push(error);
            None
        }
    }
}

/// A place in the tokens of one expression.
pub(super) struct Parser<'t, 'n> {
    script: &'t str,
    tokens: Vec<(Token<'t>, Range<usize>)>,
    pub(super) at: usize,
    depth: usize,
    pub(super) names: &'n mut Names,
    pub(super) errors: &'n mut Vec<ScriptError>,
}

/// An expression and how deep it nests.
pub(super) type Parsed = Result<(Expr, usize), ScriptError>;

impl<'t> Parser<'t, '_> {
    pub(super) fn peek(&self) -> Token<'t> {
        self.tokens.get(self.at).map_or(Token::End, |(token, _)| *token)
    }

    pub(super) fn range(&self) -> Range<usize> {
        self.tokens.get(self.at).map_or(0..0, |(_, range)| range.clone())
    }

    pub(super) fn next(&mut self) -> Token<'t> {
        let token = self.peek();
        self.at += 1;
        token
    }

    pub(super) fn accept(&mut self, token: Token<'static>) -> bool {
        let found = self.peek() == token;
        if found {
            self.at += 1;
        }
        found
    }

    pub(super) fn expect(&mut self, token: Token<'static>, what: &str) -> Result<(), ScriptError> {
        if self.accept(token) { Ok(()) } else { Err(self.unexpected(what)) }
    }

    pub(super) fn unexpected(&self, wanted: &str) -> ScriptError {
        let range = self.range();
        let message = if self.peek() == Token::End {
            "the expression ends too early".to_owned()
        } else {
            format!("syntax error at `{}`", &self.script[range.clone()])
        };
        ScriptError { range, message, help: Some(format!("{wanted} was expected here")) }
    }

    /// Checks the depth of a node above `depths`.
    pub(super) fn node(&self, expr: Expr, depths: &[usize]) -> Parsed {
        let depth = 1 + depths.iter().copied().max().unwrap_or_default();
        if depth > MAX_DEPTH {
            return Err(self.too_deep());
        }
        Ok((expr, depth))
    }

    fn too_deep(&self) -> ScriptError {
        ScriptError {
            range: self.range(),
            message: format!("the expression nests deeper than {MAX_DEPTH} levels"),
            help: Some("split it over several \\set lines".to_owned()),
        }
    }

    /// An operand with all operators behind it that bind at least as strongly as `weakest`.
    pub(super) fn binary(&mut self, weakest: u8) -> Parsed {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(self.too_deep());
        }
        let mut left = self.prefix()?;
        loop {
            let token = self.peek();
            let Some(strength) = strength(token).filter(|strength| *strength >= weakest) else {
                self.depth -= 1;
                return Ok(left);
            };
            if strength == IS {
                left = self.test(left)?;
                continue;
            }
            self.at += 1;
            let (right, right_depth) = self.binary(strength + 1)?;
            let depths = [left.1, right_depth];
            let (left_expr, _) = left;
            let both = |left, right| Box::new((left, right));
            let expr = match token {
                Token::Keyword(Keyword::Or) => Expr::Or(both(left_expr, right)),
                Token::Keyword(Keyword::And) => Expr::And(both(left_expr, right)),
                Token::Symbol(">") => Expr::Binary(Operator::Less, both(right, left_expr)),
                Token::Symbol(">=") => Expr::Binary(Operator::LessEqual, both(right, left_expr)),
                Token::Symbol(symbol) => Expr::Binary(operator(symbol), both(left_expr, right)),
                _ => return Err(self.unexpected("an operator")),
            };
            left = self.node(expr, &depths)?;
            if strength == COMPARISON && self::strength(self.peek()) == Some(COMPARISON) {
                return Err(ScriptError {
                    help: Some("comparisons do not chain; join them with AND".to_owned()),
                    ..self.unexpected("")
                });
            }
        }
    }

    /// `ISNULL`, `NOTNULL` or `IS [NOT] {NULL | TRUE | FALSE}` behind its operand.
    fn test(&mut self, (operand, depth): (Expr, usize)) -> Parsed {
        let word = self.next();
        let (negated, value) = match word {
            Token::Keyword(Keyword::IsNull) => (false, Value::Null),
            Token::Keyword(Keyword::NotNull) => (true, Value::Null),
            _ => {
                let negated = self.accept(Token::Keyword(Keyword::Not));
                let value = match self.peek() {
                    Token::Null => Value::Null,
                    Token::True => Value::Boolean(true),
                    Token::False => Value::Boolean(false),
                    _ => return Err(self.unexpected("NULL, TRUE or FALSE")),
                };
                self.at += 1;
                (negated, value)
            }
        };
        let test = Expr::Is(Box::new(operand), value);
        if negated { self.node(Expr::Not(Box::new(test)), &[depth + 1]) } else { self.node(test, &[depth]) }
    }

    fn prefix(&mut self) -> Parsed {
        match self.peek() {
            Token::Symbol("+") => {
                self.at += 1;
                self.binary(UNARY)
            }
            Token::Symbol("-") => {
                self.at += 1;
                if self.accept(Token::BeyondInteger) {
                    return Ok((Expr::Constant(Value::Integer(i64::MIN)), 1));
                }
                // Zero minus the operand, as pgbench has it; so there is no negative zero.
                self.applied_to_constant(Operator::Subtract, 0, UNARY)
            }
            Token::Symbol("~") => {
                self.at += 1;
                // PostgreSQL's grammar gives `~` the strength of `|`, so `~ 1 + 1` is `~ (1 + 1)`.
                self.applied_to_constant(Operator::BitXor, -1, BITWISE + 1)
            }
            Token::Keyword(Keyword::Not) => {
                self.at += 1;
                let (operand, depth) = self.binary(NOT)?;
                self.node(Expr::Not(Box::new(operand)), &[depth])
            }
            _ => self.primary(),
        }
    }

    fn applied_to_constant(&mut self, operator: Operator, constant: i64, strength: u8) -> Parsed {
        let (operand, depth) = self.binary(strength)?;
        let constant = Expr::Constant(Value::Integer(constant));
        self.node(Expr::Binary(operator, Box::new((constant, operand))), &[depth])
    }
}

fn strength(token: Token<'_>) -> Option<u8> {
    Some(match token {
        Token::Keyword(Keyword::Or) => OR,
        Token::Keyword(Keyword::And) => AND,
        Token::Keyword(Keyword::Is | Keyword::IsNull | Keyword::NotNull) => IS,
        Token::Symbol("<" | "<=" | ">" | ">=" | "=" | "<>") => COMPARISON,
        Token::Symbol("|" | "&" | "#" | "<<" | ">>") => BITWISE,
        Token::Symbol("+" | "-") => SUM,
        Token::Symbol("*" | "/" | "%") => PRODUCT,
        _ => return None,
    })
}

/// The operator a symbol with a [`strength`] stands for, `>` and `>=` excepted.
fn operator(symbol: &str) -> Operator {
    match symbol {
        "+" => Operator::Add,
        "-" => Operator::Subtract,
        "*" => Operator::Multiply,
        "/" => Operator::Divide,
        "%" => Operator::Modulo,
        "=" => Operator::Equal,
        "<>" => Operator::NotEqual,
        "<" => Operator::Less,
        "<=" => Operator::LessEqual,
        "&" => Operator::BitAnd,
        "|" => Operator::BitOr,
        "#" => Operator::BitXor,
        "<<" => Operator::ShiftLeft,
        _ => Operator::ShiftRight,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::eval::tests::shown;
    use super::*;

    fn told(expression: &str) -> Vec<(Range<usize>, String)> {
        let mut errors = Vec::new();
        let parsed = parse(expression, 0..expression.len(), &mut Names::new(), &mut errors);
        assert_eq!(parsed.is_none(), !errors.is_empty(), "{expression}");
        errors.into_iter().map(|error| (error.range, error.message)).collect()
    }

    #[test]
    fn mistakes_are_told_where_they_stand() {
        for (expression, range, message) in [
            ("1 +", 3..3, "the expression ends too early"),
            ("(1", 2..2, "the expression ends too early"),
            ("1)", 1..2, "syntax error at `)`"),
            ("1 2", 2..3, "syntax error at `2`"),
            ("1 < 2 < 3", 6..7, "syntax error at `<`"),
            ("1 = 1 = true", 6..7, "syntax error at `=`"),
            ("1 is 1", 5..6, "syntax error at `1`"),
            ("case else 1 end", 5..9, "syntax error at `else`"),
            ("case when 1 then 2", 18..18, "the expression ends too early"),
            ("x + 1", 0..1, "syntax error at `x`"),
            ("pi", 0..2, "syntax error at `pi`"),
            ("9223372036854775808", 0..19, "bigint constant overflow"),
            ("1 - 9223372036854775808", 4..23, "bigint constant overflow"),
            ("ceil(1)", 0..4, "unexpected function name `ceil`"),
            ("1 + least()", 4..9, "at least one argument expected (least)"),
            ("hash()", 0..4, "unexpected number of arguments (hash)"),
            ("hash(1, 2, 3)", 0..4, "unexpected number of arguments (hash)"),
            ("permute(1)", 0..7, "unexpected number of arguments (permute)"),
            ("random(1)", 0..6, "unexpected number of arguments (random)"),
            ("least(1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17)", 0..5, "too many function arguments, maximum is 16"),
        ] {
            assert_eq!(told(expression), [(range, message.to_owned())], "{expression}");
        }
        assert_eq!(told("f(g(1), abs())").len(), 3);
    }

    #[test]
    fn what_nests_too_deep_is_refused_and_not_a_crash() {
        for expression in [
            "(".repeat(100_000),
            "- ".repeat(100_000),
            "not ".repeat(100_000),
            "abs(".repeat(100_000),
            "case when ".repeat(100_000),
            format!("1{}", " + 1".repeat(100_000)),
            format!("1{}", " is null".repeat(100_000)),
        ] {
            let told = told(&expression);
            assert_eq!(
                told.first().map(|(_, message)| message.as_str()),
                Some("the expression nests deeper than 200 levels")
            );
        }
        assert!(told(&format!("1{}", " + 1".repeat(150))).is_empty());
        assert!(told(&format!("{}1{}", "(".repeat(90), ")".repeat(90))).is_empty());
    }

    fn expression() -> impl Strategy<Value = String> {
        let leaf = prop_oneof![
            any::<i64>().prop_map(|integer| integer.to_string()),
            any::<f64>().prop_map(|double| format!("{double:e}").replace("inf", "1e9").replace("NaN", "1.5")),
            prop::sample::select(vec!["0", "1", "-1", "null", "true", "false", ":i", ":n", ":scale", ":nope"])
                .prop_map(str::to_owned),
        ];
        leaf.prop_recursive(5, 40, 3, |inner| {
            let operator = prop::sample::select(vec![
                "+", "-", "*", "/", "%", "|", "&", "#", "<<", ">>", "<", "<=", ">", ">=", "=", "<>", "!=", "and", "or",
            ]);
            let function = prop::sample::select(crate::script::FUNCTIONS.to_vec());
            prop_oneof![
                (inner.clone(), operator, inner.clone())
                    .prop_map(|(left, operator, right)| format!("({left} {operator} {right})")),
                (prop::sample::select(vec!["-", "+", "~", "not"]), inner.clone())
                    .prop_map(|(prefix, operand)| format!("{prefix} {operand}")),
                (inner.clone(), prop::sample::select(vec!["is not null", "notnull", "is true"]))
                    .prop_map(|(operand, test)| format!("({operand} {test})")),
                (inner.clone(), inner.clone(), inner.clone()).prop_map(|(condition, result, otherwise)| {
                    format!("case when {condition} then {result} else {otherwise} end")
                }),
                (function, prop::collection::vec(inner, 3)).prop_map(|(entry, mut arguments)| {
                    arguments.truncate(entry.max_arguments);
                    format!("{}({})", entry.name, arguments.join(", "))
                }),
            ]
        })
    }

    proptest! {
        #[test]
        fn every_expression_has_a_value_or_an_error_and_always_the_same(expression in expression()) {
            let first = shown(&expression);
            prop_assert!(!first.starts_with("parse: "), "{expression}: {first}");
            prop_assert_eq!(shown(&expression), first);
        }

        #[test]
        fn any_text_is_parsed_or_refused(expression in r"[0-9a-z:()+*/<>=!,. ~#\\e'-]{0,40}") {
            shown(&expression);
        }
    }
}
