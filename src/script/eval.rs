//! Evaluates expressions over a client's variables and its generator.
//!
//! Owns the order of evaluation, calls, and pgbench's run-time errors in pgbench's words.
//! Allocates nothing unless there is an error to tell.

use std::cmp::Ordering;

use super::arithmetic::{binary, extreme, unary};
use super::expr::{Expr, Operator};
use super::functions::{Function, MAX_ARGUMENTS};
use super::hash;
use super::names::Slot;
use super::random::Random;
use super::text::PlainDouble;
use super::value::Value;

/// Why an expression has no value. The messages are pgbench's.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum EvalError {
    /// Nothing gave the variable a value yet.
    #[error("undefined variable \"{0}\"")]
    UndefinedVariable(String),
    /// A variable given as text is no number, no boolean and not NULL.
    #[error("malformed variable \"{name}\" value: \"{value}\"")]
    MalformedVariable {
        /// The variable.
        name: String,
        /// Its text.
        value: String,
    },
    /// A variable given as text is an integer beyond 64 bits.
    #[error("value \"{0}\" is out of range for type bigint")]
    IntegerOutOfRange(String),
    /// A value of one type stands where another is needed.
    #[error("cannot coerce {from} to {to}")]
    Coercion {
        /// The type there is.
        from: &'static str,
        /// The type that is needed.
        to: &'static str,
    },
    /// A double does not fit into 64 bits.
    #[error("double to int overflow for {0}")]
    DoubleToInteger(PlainDouble),
    /// An integer operation's result does not fit into 64 bits.
    #[error("bigint {0} out of range")]
    Overflow(&'static str),
    /// An integer was divided by zero; doubles give infinity instead.
    #[error("division by zero")]
    DivisionByZero,
    /// A random function's lower bound lies above its upper one.
    #[error("empty range given to random")]
    EmptyRange,
    /// A random function's range has more than 2^63 - 1 numbers.
    #[error("random range is too large")]
    RangeTooLarge,
    /// `random_exponential`'s parameter.
    #[error("exponential parameter must be greater than zero (not {0})")]
    ExponentialParameter(PlainDouble),
    /// `random_gaussian`'s parameter.
    #[error("gaussian parameter must be at least 2.000000 (not {0})")]
    GaussianParameter(PlainDouble),
    /// `random_zipfian`'s parameter.
    #[error("zipfian parameter must be in range [1.001, 1000] (not {0})")]
    ZipfianParameter(PlainDouble),
    /// `permute`'s size.
    #[error("permute size parameter must be greater than zero")]
    PermuteSize,
}

/// The number of arguments that all functions but `least` and `greatest` keep within.
const FEW: usize = 3;

/// What an expression is evaluated in.
pub(super) struct Scope<'s> {
    /// The value of a variable.
    pub(super) variable: &'s dyn Fn(Slot) -> Result<Value, EvalError>,
    /// The client's generator.
    pub(super) random: &'s mut Random,
    /// What `debug` shows its argument to.
    pub(super) debug: &'s mut dyn FnMut(Value),
}

impl Scope<'_> {
    /// The expression's value.
    pub(super) fn evaluate(&mut self, expr: &Expr) -> Result<Value, EvalError> {
        match expr {
            Expr::Constant(value) => Ok(*value),
            Expr::Variable(slot) => (self.variable)(*slot),
            Expr::Not(inner) => match self.evaluate(inner)? {
                Value::Null => Ok(Value::Null),
                value => Ok(Value::Boolean(!value.to_boolean()?)),
            },
            Expr::Is(inner, wanted) => Ok(Value::Boolean(self.evaluate(inner)? == *wanted)),
            Expr::Binary(operator, sides) => {
                let left = self.evaluate(&sides.0)?;
                let right = self.evaluate(&sides.1)?;
                binary(*operator, left, right)
            }
            Expr::And(sides) => self.connect(sides, false),
            Expr::Or(sides) => self.connect(sides, true),
            Expr::Case(branches, otherwise) => {
                for (condition, result) in branches {
                    if self.evaluate(condition)?.holds() {
                        return self.evaluate(result);
                    }
                }
                self.evaluate(otherwise)
            }
            Expr::Call(function, arguments) => self.call(*function, arguments),
        }
    }

    /// AND and OR: `decisive` on the left side spares the right one. NULL on the left is the
    /// result too, without a look at the right: pgbench's rule, not SQL's.
    fn connect(&mut self, sides: &(Expr, Expr), decisive: bool) -> Result<Value, EvalError> {
        match self.evaluate(&sides.0)? {
            Value::Null => return Ok(Value::Null),
            left if left.to_boolean()? == decisive => return Ok(Value::Boolean(decisive)),
            _ => {}
        }
        match self.evaluate(&sides.1)? {
            Value::Null => Ok(Value::Null),
            right => Ok(Value::Boolean(right.to_boolean()?)),
        }
    }

    fn call(&mut self, function: Function, arguments: &[Expr]) -> Result<Value, EvalError> {
        // Nearly all calls have few arguments, and clearing room for all 16 takes longer than
        // most functions. The parser has checked that there are no more.
        if arguments.len() <= FEW {
            self.call_with::<FEW>(function, arguments)
        } else {
            self.call_with::<MAX_ARGUMENTS>(function, arguments)
        }
    }

    fn call_with<const ROOM: usize>(&mut self, function: Function, arguments: &[Expr]) -> Result<Value, EvalError> {
        let mut values = [Value::Null; ROOM];
        let mut null = false;
        for (value, argument) in values.iter_mut().zip(arguments) {
            *value = self.evaluate(argument)?;
            null |= matches!(value, Value::Null);
        }
        let values = &values[..arguments.len().min(ROOM)];
        if let (Function::Debug, [value]) = (function, values) {
            (self.debug)(*value);
            return Ok(*value);
        }
        if null {
            return Ok(Value::Null);
        }
        match (function, values) {
            (Function::Pi, []) => Ok(Value::Double(std::f64::consts::PI)),
            (Function::Least, [first, rest @ ..]) => extreme(*first, rest, Ordering::Less),
            (Function::Greatest, [first, rest @ ..]) => extreme(*first, rest, Ordering::Greater),
            (_, [value]) => unary(function, *value),
            (Function::Mod, [left, right]) => binary(Operator::Modulo, *left, *right),
            (Function::Pow, [base, exponent]) => Ok(Value::Double(base.to_double()?.powf(exponent.to_double()?))),
            (Function::HashFnv1a, [value, seed]) => {
                Ok(Value::Integer(hash::fnv1a(value.to_integer()?, seed.to_integer()?)))
            }
            (Function::HashMurmur2, [value, seed]) => {
                Ok(Value::Integer(hash::murmur2(value.to_integer()?, seed.to_integer()?)))
            }
            (Function::Permute, [value, size, seed]) => {
                let (value, size) = (value.to_integer()?, size.to_integer()?);
                let seed = seed.to_integer()?;
                if size <= 0 {
                    return Err(EvalError::PermuteSize);
                }
                Ok(Value::Integer(hash::permute(value, size, seed)))
            }
            (_, [min, max, rest @ ..]) => {
                let range = (min.to_integer()?, max.to_integer()?);
                self.draw(function, range, rest.first().copied())
            }
            // Only a call with a wrong number of arguments is left, and none is parsed.
            (_, []) => Ok(Value::Null),
        }
    }

    fn draw(
        &mut self,
        function: Function,
        (min, max): (i64, i64),
        parameter: Option<Value>,
    ) -> Result<Value, EvalError> {
        if min > max {
            return Err(EvalError::EmptyRange);
        }
        if max.checked_sub(min).and_then(|width| width.checked_add(1)).is_none() {
            return Err(EvalError::RangeTooLarge);
        }
        let Some(parameter) = parameter else {
            return Ok(Value::Integer(self.random.uniform(min, max)));
        };
        let parameter = parameter.to_double()?;
        let shown = PlainDouble(parameter);
        // The tests are written so that a NaN is refused, which would never leave the loops.
        let drawn = match function {
            Function::RandomGaussian if parameter >= 2.0 => self.random.gaussian(min, max, parameter),
            Function::RandomGaussian => return Err(EvalError::GaussianParameter(shown)),
            Function::RandomZipfian if (1.001..=1000.0).contains(&parameter) => {
                self.random.zipfian(min, max, parameter)
            }
            Function::RandomZipfian => return Err(EvalError::ZipfianParameter(shown)),
            _ if parameter > 0.0 => self.random.exponential(min, max, parameter),
            _ => return Err(EvalError::ExponentialParameter(shown)),
        };
        Ok(Value::Integer(drawn))
    }
}

#[cfg(test)]
pub(super) mod tests {
    use std::sync::{Arc, Mutex};

    use crate::script::{Machine, Predefined, Program, Script, Seeds};

    /// What `debug` shows of the expression under the seed of pgbench's own tests, else the
    /// error's message.
    pub(in crate::script) fn shown(expression: &str) -> String {
        let script = match Script::parse(&format!("\\set v debug({expression})")) {
            Ok(script) => script,
            Err(errors) => return format!("parse: {}", errors[0]),
        };
        let program = Arc::new(Program::from(script));
        let seeds = Seeds::new(5432, 1);
        let predefined = Predefined { client_id: 0, default_seed: seeds.default_seed, random_seed: 5432, scale: 1 };
        let mut machine = Machine::new(&program, seeds.clients[0], predefined);
        for (name, text) in
            [("foo", "-10.1"), ("bla", "false"), ("i", "+3"), ("n", "null"), ("t", "t"), ("f", "of"), ("bad", "xyz")]
        {
            machine.define(name, text);
        }
        let lines = Arc::new(Mutex::new(String::new()));
        let collected = Arc::clone(&lines);
        machine.on_debug(move |line| {
            if let Ok(mut lines) = collected.lock() {
                lines.push_str(&line.to_string());
            }
        });
        match machine.next() {
            Ok(_) => lines.lock().map(|lines| lines.replace("debug(script=0,command=1): ", "")).unwrap_or_default(),
            Err(error) => format!("error: {}", error.source),
        }
    }

    #[test]
    fn expressions_have_the_values_pgbench_gives_them() {
        // All of these were compared with pgbench 15.18 and 18.6; many are from its own tests.
        for (expression, value) in [
            ("random(10, 19)", "int 17"),
            ("abs(-4)", "int 4"),
            ("greatest(5, 4, 3, 2)", "int 5"),
            ("11 + least(-5, -4, -3, -2)", "int 6"),
            ("int(7.3)", "int 7"),
            ("17 / (4|1) + ( 4 + (7 >> 2))", "int 8"),
            ("- (3 * 4 - (-(~ 1) + -(~ 0))) / -1 + 3 % -1", "int 9"),
            ("10 + (0 + 0 * 0 - 0 / 1)", "int 10"),
            ("64 % (((2 + 1 * 2 + (1 # 2) | 4 * (2 & 11)) - (1 << 2)) + 2)", "int 12"),
            ("sqrt(+1.5 * 2.0) * abs(-0.8E1)", "double 13.856406460551"),
            ("double(1 + 1) * (-75.0 / :foo)", "double 14.8514851485149"),
            ("pi() * 4.9", "double 15.39380400259"),
            ("greatest(4, 2, -1.17) * 4.0 * Ln(Exp(1.0))", "double 16"),
            ("least(-5.18, .0E0, 1.0/0) * -3.3", "double 17.094"),
            ("pow(-3,3)", "double -27"),
            ("power(-5.0,-5.0)", "double -0.00032"),
            ("pow(9223372036854775807, 2)", "double 8.50705917302346e+37"),
            ("pow(10,30)", "double 1e+30"),
            ("1.0 = 0.0 and 1.0 != 0.0", "boolean false"),
            ("0 = 1 Or 1.0 = 1", "boolean true"),
            ("case when 0 < 1 then 32 else 0 end", "int 32"),
            ("case when false THEN -1 when 1 = 1 then 13 + 19 + 2.0 end", "double 34"),
            ("case when null then 1 end", "null"),
            ("CASE WHEN NOT FALSE THEN 3 * 12.3333334 END", "double 37.0000002"),
            ("10 + mod(13 * 7 + 12, 13) - mod(-19 * 11 - 17, 19)", "int 39"),
            ("NULL + NULL * exp(NULL)", "null"),
            ("NOT (:n IS NOT NULL OR :bla IS NULL)", "boolean true"),
            ("NULL ISNULL AND NOT NULL IS TRUE AND NULL IS NOT FALSE", "boolean true"),
            (":n IS NULL AND NOT :f AND :t", "boolean true"),
            (
                "CASE WHEN 1 THEN TRUE END AND CASE WHEN 1.0 THEN TRUE END AND CASE WHEN :n THEN NULL ELSE TRUE END",
                "boolean true",
            ),
            ("hash(10, 5432)", "int -5817877081768721676"),
            ("hash(10) = hash(10, :default_seed)", "boolean true"),
            ("hash_fnv1a(10)", "int 1738298496642736203"),
            ("hash(null)", "null"),
            ("permute(5, 16)", "int 4"),
            (":scale + :client_id + :random_seed + :i", "int 5436"),
            ("-9223372036854775808", "int -9223372036854775808"),
            ("-9223372036854775808 % -1", "int 0"),
            ("abs(-9223372036854775808)", "int -9223372036854775808"),
            // Precedence.
            ("~ 1 + 1", "int -3"),
            ("~ 1 | 4", "int -2"),
            ("2 * ~ 1 + 1", "int -6"),
            ("- 2 * 3", "int -6"),
            ("1 << 2 + 1", "int 8"),
            ("1 | 2 # 3 & 5", "int 0"),
            ("1 + 2 < 4 and not 3 = 2 or false", "boolean true"),
            ("not true is null", "boolean true"),
            ("not 1 = 2 isnull", "boolean true"),
            ("1 is null is null", "boolean false"),
            // NULL on the left decides AND and OR, unlike in SQL.
            ("null or true", "null"),
            ("false and null", "boolean false"),
            // Arithmetic at its edges.
            ("7 / 2", "int 3"),
            ("-7 % 3", "int -1"),
            ("5.5 % 2", "int 0"),
            ("1 << 65", "int 2"),
            ("-1 >> 1", "int -1"),
            ("-0.0", "double 0"),
            ("1.0 / 0", "double Infinity"),
            ("0.0 / 0", "double NaN"),
            ("least(0.0/0, 1.0)", "double 1"),
            ("greatest(1.0, 0.0/0)", "double NaN"),
            ("2 <> 2.0", "boolean false"),
            // Only the branch that is taken is evaluated.
            ("case when 0 = 0 or (1 / 0) < 0 then -1 else 1 / 0 end", "int -1"),
            ("case when 0 > 0 and (1 / 0) < 0 then 1 / 0 else 1 end", "int 1"),
            ("debug(3) + 1", "int 3int 4"),
        ] {
            assert_eq!(shown(expression), value, "{expression}");
        }
    }

    #[test]
    fn what_has_no_value_is_told_in_pgbenchs_words() {
        for (expression, message) in [
            ("9223372036854775807 + 1", "bigint add out of range"),
            ("-9223372036854775808 - 1", "bigint sub out of range"),
            ("9223372036854775807 * 2", "bigint mul out of range"),
            ("-9223372036854775808 / -1", "bigint div out of range"),
            ("1 / 0", "division by zero"),
            ("1 % 0", "division by zero"),
            ("5 % 0.4", "division by zero"),
            ("int(1e19)", "double to int overflow for 10000000000000000000.000000"),
            ("int(0.0/0)", "double to int overflow for NaN"),
            ("int(true)", "cannot coerce boolean to int"),
            ("1.0 + true", "cannot coerce boolean to double"),
            ("not 1", "cannot coerce int to boolean"),
            ("true and 1.5", "cannot coerce double to boolean"),
            ("random(5, 1)", "empty range given to random"),
            ("random(-9223372036854775808, 9223372036854775807)", "random range is too large"),
            ("random_gaussian(1, 10, 1.9)", "gaussian parameter must be at least 2.000000 (not 1.900000)"),
            ("random_gaussian(1, 10, 0.0/0)", "gaussian parameter must be at least 2.000000 (not NaN)"),
            ("random_zipfian(1, 10, 1001)", "zipfian parameter must be in range [1.001, 1000] (not 1001.000000)"),
            ("random_exponential(1, 10, 0.0)", "exponential parameter must be greater than zero (not 0.000000)"),
            ("permute(1, 0)", "permute size parameter must be greater than zero"),
            (":nope + 1", "undefined variable \"nope\""),
            (":bad + 1", "malformed variable \"bad\" value: \"xyz\""),
        ] {
            assert_eq!(shown(expression), format!("error: {message}"), "{expression}");
        }
    }

    #[test]
    fn the_deepest_expressions_are_evaluated() {
        for (before, after) in [("least(1, 1, 1, 1, ", ")"), ("abs(", ")"), ("- - ", "")] {
            let expression = format!("{}1{}", before.repeat(90), after.repeat(90));
            assert_eq!(shown(&expression), "int 1");
        }
    }
}
