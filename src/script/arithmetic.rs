//! What operators and plain functions compute, by the types of their arguments.
//!
//! Owns overflow, division by zero and the choice between integers and doubles: an operation
//! with a double is one of doubles, except `%` and the bitwise ones. Random numbers and what
//! evaluates its arguments in its own order are in `eval`.

use std::cmp::Ordering;

use super::eval::EvalError;
use super::expr::Operator;
use super::functions::Function;
use super::value::Value;

/// A function of one number.
pub(super) fn unary(function: Function, value: Value) -> Result<Value, EvalError> {
    Ok(match function {
        Function::Abs => match value {
            Value::Integer(integer) => Value::Integer(integer.wrapping_abs()),
            other => Value::Double(other.to_double()?.abs()),
        },
        Function::Int => Value::Integer(value.to_integer()?),
        Function::Sqrt => Value::Double(value.to_double()?.sqrt()),
        Function::Ln => Value::Double(value.to_double()?.ln()),
        Function::Exp => Value::Double(value.to_double()?.exp()),
        _ => Value::Double(value.to_double()?),
    })
}

/// The first argument or one of the rest that is `wanted` compared with all before it.
pub(super) fn extreme(first: Value, rest: &[Value], wanted: Ordering) -> Result<Value, EvalError> {
    let is_double = |value: &Value| matches!(value, Value::Double(_));
    if is_double(&first) || rest.iter().any(is_double) {
        let mut best = first.to_double()?;
        for value in rest {
            let value = value.to_double()?;
            // A NaN on either side gives way to what comes later, as in pgbench.
            if best.partial_cmp(&value) != Some(wanted) {
                best = value;
            }
        }
        return Ok(Value::Double(best));
    }
    let mut best = first.to_integer()?;
    for value in rest {
        let value = value.to_integer()?;
        if value.cmp(&best) == wanted {
            best = value;
        }
    }
    Ok(Value::Integer(best))
}

/// An operator with both of its sides; NULL if one of them is.
pub(super) fn binary(operator: Operator, left: Value, right: Value) -> Result<Value, EvalError> {
    if matches!(left, Value::Null) || matches!(right, Value::Null) {
        return Ok(Value::Null);
    }
    let double = matches!(left, Value::Double(_)) || matches!(right, Value::Double(_));
    let always_integer = matches!(
        operator,
        Operator::Modulo
            | Operator::BitAnd
            | Operator::BitOr
            | Operator::BitXor
            | Operator::ShiftLeft
            | Operator::ShiftRight
    );
    if double && !always_integer {
        return doubles(operator, left.to_double()?, right.to_double()?);
    }
    integers(operator, left.to_integer()?, right.to_integer()?)
}

#[expect(clippy::float_cmp, reason = "the script's author compares doubles, and pgbench does it exactly")]
fn doubles(operator: Operator, left: f64, right: f64) -> Result<Value, EvalError> {
    Ok(match operator {
        Operator::Add => Value::Double(left + right),
        Operator::Subtract => Value::Double(left - right),
        Operator::Multiply => Value::Double(left * right),
        Operator::Divide => Value::Double(left / right),
        Operator::Equal => Value::Boolean(left == right),
        Operator::NotEqual => Value::Boolean(left != right),
        Operator::Less => Value::Boolean(left < right),
        Operator::LessEqual => Value::Boolean(left <= right),
        integer_only => {
            let as_integer = |double| Value::Double(double).to_integer();
            return integers(integer_only, as_integer(left)?, as_integer(right)?);
        }
    })
}

fn integers(operator: Operator, left: i64, right: i64) -> Result<Value, EvalError> {
    let checked = |result: Option<i64>, what| result.ok_or(EvalError::Overflow(what));
    Ok(match operator {
        Operator::Add => Value::Integer(checked(left.checked_add(right), "add")?),
        Operator::Subtract => Value::Integer(checked(left.checked_sub(right), "sub")?),
        Operator::Multiply => Value::Integer(checked(left.checked_mul(right), "mul")?),
        Operator::Divide | Operator::Modulo if right == 0 => return Err(EvalError::DivisionByZero),
        Operator::Divide => Value::Integer(checked(left.checked_div(right), "div")?),
        Operator::Modulo => Value::Integer(left.wrapping_rem(right)),
        Operator::Equal => Value::Boolean(left == right),
        Operator::NotEqual => Value::Boolean(left != right),
        Operator::Less => Value::Boolean(left < right),
        Operator::LessEqual => Value::Boolean(left <= right),
        Operator::BitAnd => Value::Integer(left & right),
        Operator::BitOr => Value::Integer(left | right),
        Operator::BitXor => Value::Integer(left ^ right),
        // The processor's rule, and so pgbench's: the count is taken modulo 64.
        Operator::ShiftLeft => Value::Integer(left.wrapping_shl(right as u32)),
        Operator::ShiftRight => Value::Integer(left.wrapping_shr(right as u32)),
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::eval::tests::shown;

    proptest! {
        #[test]
        fn integer_arithmetic_is_that_of_64_bits(left: i64, right: i64) {
            for (symbol, result) in [
                ("+", left.checked_add(right)),
                ("-", left.checked_sub(right)),
                ("*", left.checked_mul(right)),
                ("/", left.checked_div(right)),
                ("&", Some(left & right)),
            ] {
                let shown = shown(&format!("{left} {symbol} {right}"));
                match result {
                    Some(result) => prop_assert_eq!(shown, format!("int {result}")),
                    None => prop_assert!(shown.starts_with("error: "), "{}", shown),
                }
            }
        }
    }
}
