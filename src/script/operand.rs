//! Parses what stands between operators: constants, variables, calls, CASE, parentheses.
//!
//! Owns argument counts and what is said about unknown functions. Variables are resolved to
//! slots here and nowhere later. Operators are in `grammar`.

use std::ops::Range;

use super::ScriptError;
use super::expr::Expr;
use super::functions::{self, FUNCTIONS, Function};
use super::grammar::{Parsed, Parser};
use super::names::DEFAULT_SEED;
use super::token::{Keyword, Token};
use super::value::Value;
use crate::text::suggest::nearest;

impl Parser<'_, '_> {
    /// A constant, a variable, a call, CASE, or an expression in parentheses.
    pub(super) fn primary(&mut self) -> Parsed {
        let range = self.range();
        let constant = match self.peek() {
            Token::Integer(integer) => Value::Integer(integer),
            Token::Double(double) => Value::Double(double),
            Token::Null => Value::Null,
            Token::True => Value::Boolean(true),
            Token::False => Value::Boolean(false),
            Token::Variable(name) => {
                self.at += 1;
                let slot = self.names.used(name, range);
                return Ok((Expr::Variable(slot), 1));
            }
            Token::Name(name) => {
                self.at += 1;
                return self.call(name, range);
            }
            Token::Keyword(Keyword::Case) => {
                self.at += 1;
                return self.case();
            }
            Token::Symbol("(") => {
                self.at += 1;
                let inner = self.binary(0)?;
                self.expect(Token::Symbol(")"), "`)`")?;
                return Ok(inner);
            }
            Token::BeyondInteger => {
                return Err(ScriptError {
                    range,
                    message: "bigint constant overflow".to_owned(),
                    help: Some("the largest bigint is 9223372036854775807".to_owned()),
                });
            }
            _ => return Err(self.unexpected("a number, a :variable, a function or `(`")),
        };
        self.at += 1;
        Ok((Expr::Constant(constant), 1))
    }

    fn case(&mut self) -> Parsed {
        let mut branches = Vec::new();
        let mut depths = Vec::new();
        while self.accept(Token::Keyword(Keyword::When)) {
            let (condition, condition_depth) = self.binary(0)?;
            self.expect(Token::Keyword(Keyword::Then), "THEN")?;
            let (result, result_depth) = self.binary(0)?;
            branches.push((condition, result));
            depths.extend([condition_depth, result_depth]);
        }
        if branches.is_empty() {
            return Err(self.unexpected("WHEN"));
        }
        let otherwise = if self.accept(Token::Keyword(Keyword::Else)) {
            let (otherwise, depth) = self.binary(0)?;
            depths.push(depth);
            otherwise
        } else {
            Expr::Constant(Value::Null)
        };
        self.expect(Token::Keyword(Keyword::End), "WHEN, ELSE or END")?;
        self.node(Expr::Case(branches, Box::new(otherwise)), &depths)
    }

    fn call(&mut self, name: &str, range: Range<usize>) -> Parsed {
        if self.peek() != Token::Symbol("(") {
            // A bare word: a variable without its colon, or a call without its parentheses.
            return Err(ScriptError {
                message: format!("syntax error at `{name}`"),
                help: Some(match functions::find(name) {
                    Some(entry) => format!("a call is written `{}{}`", entry.name, entry.arguments),
                    None => format!("a variable is written `:{name}`"),
                }),
                range,
            });
        }
        self.at += 1;
        let mut arguments = Vec::new();
        let mut depths = Vec::new();
        if !self.accept(Token::Symbol(")")) {
            loop {
                let (argument, depth) = self.binary(0)?;
                arguments.push(argument);
                depths.push(depth);
                if !self.accept(Token::Symbol(",")) {
                    break;
                }
            }
            self.expect(Token::Symbol(")"), "`,` or `)`")?;
        }
        let Some(entry) = functions::find(name) else {
            self.errors.push(unknown_function(name, range));
            return self.node(Expr::Constant(Value::Null), &depths);
        };
        if !(entry.min_arguments..=entry.max_arguments).contains(&arguments.len()) {
            self.errors.push(ScriptError {
                range,
                message: match (entry.function, arguments.len()) {
                    (Function::Least | Function::Greatest, 0) => {
                        format!("at least one argument expected ({})", entry.name)
                    }
                    (Function::Least | Function::Greatest, _) => {
                        "too many function arguments, maximum is 16".to_owned()
                    }
                    _ => format!("unexpected number of arguments ({})", entry.name),
                },
                help: Some(format!("it is `{}{}`; {} given", entry.name, entry.arguments, arguments.len())),
            });
        } else if entry.seed_is_optional() && arguments.len() < entry.max_arguments {
            arguments.push(Expr::Variable(DEFAULT_SEED));
        }
        self.node(Expr::Call(entry.function, arguments), &depths)
    }
}

fn unknown_function(name: &str, range: Range<usize>) -> ScriptError {
    let known = || FUNCTIONS.iter().map(|entry| entry.name);
    ScriptError {
        range,
        message: format!("unexpected function name `{name}`"),
        help: Some(match nearest(name, known()) {
            Some(name) => format!("did you mean `{name}`?"),
            None => format!("the functions are {}", known().collect::<Vec<_>>().join(", ")),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_misspelt_function_finds_its_name() {
        let error = unknown_function("random_gausian", 0..14);
        assert_eq!(error.help.as_deref(), Some("did you mean `random_gaussian`?"));
    }
}
