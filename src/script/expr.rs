//! The tree of an expression.
//!
//! Owns the shapes that `grammar` builds and `eval` computes; variables are slots in it.

use super::functions::Function;
use super::names::Slot;
use super::value::Value;

/// An expression, ready to be evaluated.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Expr {
    Constant(Value),
    Variable(Slot),
    Not(Box<Expr>),
    /// `IS NULL`, `IS TRUE` or `IS FALSE`.
    Is(Box<Expr>, Value),
    Binary(Operator, Box<(Expr, Expr)>),
    And(Box<(Expr, Expr)>),
    Or(Box<(Expr, Expr)>),
    /// Conditions with their results, then what holds otherwise.
    Case(Vec<(Expr, Expr)>, Box<Expr>),
    Call(Function, Vec<Expr>),
}

/// Operators that evaluate both sides; `>` and `>=` are `<` and `<=` with the sides swapped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Operator {
    Add,
    Subtract,
    Multiply,
    Divide,
    Modulo,
    Equal,
    NotEqual,
    Less,
    LessEqual,
    BitAnd,
    BitOr,
    BitXor,
    ShiftLeft,
    ShiftRight,
}

impl Expr {
    /// Calls `change` with each slot of the expression.
    pub(super) fn for_each_slot(&mut self, change: &mut impl FnMut(&mut Slot)) {
        match self {
            Expr::Constant(_) => {}
            Expr::Variable(slot) => change(slot),
            Expr::Not(inner) | Expr::Is(inner, _) => inner.for_each_slot(change),
            Expr::Binary(_, sides) | Expr::And(sides) | Expr::Or(sides) => {
                sides.0.for_each_slot(change);
                sides.1.for_each_slot(change);
            }
            Expr::Case(branches, otherwise) => {
                for (condition, result) in branches {
                    condition.for_each_slot(change);
                    result.for_each_slot(change);
                }
                otherwise.for_each_slot(change);
            }
            Expr::Call(_, arguments) => {
                for argument in arguments {
                    argument.for_each_slot(change);
                }
            }
        }
    }
}
