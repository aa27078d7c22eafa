//! Metrics that a spec computes: one operator between two references, in each run, before any median.

use super::metric::{Better, Metric, Unit};
use super::name::Reference;

/// What a column or a claim is about: a metric of the catalogue, or one that the spec computes.
#[derive(Clone, Debug, PartialEq)]
pub enum Quantity {
    /// `WINDOW.METRIC{label=value}`.
    Read(Reference),
    /// The bare name of a computed metric.
    Computed(Box<Computed>),
}

/// A computed metric.
#[derive(Clone, Debug, PartialEq)]
pub struct Computed {
    /// Its name.
    pub name: String,
    /// Left side.
    pub left: Reference,
    /// What is done with the two.
    pub operator: Operator,
    /// Right side.
    pub right: Reference,
    /// Unit of its values, from those of the sides.
    pub unit: Unit,
    /// Which way is good.
    pub better: Better,
}

/// What is done with two figures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operator {
    /// `+`
    Add,
    /// `-`
    Subtract,
    /// `*`
    Multiply,
    /// `/`
    Divide,
}

impl Operator {
    /// Every operator with how it is written.
    pub const ALL: &'static [(char, Operator)] =
        &[('+', Operator::Add), ('-', Operator::Subtract), ('*', Operator::Multiply), ('/', Operator::Divide)];

    /// As written in a spec.
    pub fn symbol(self) -> char {
        Self::ALL.iter().find(|(_, operator)| *operator == self).map_or('?', |(symbol, _)| *symbol)
    }

    /// The figure; not finite where a division has no result.
    pub fn apply(self, left: f64, right: f64) -> f64 {
        match self {
            Operator::Add => left + right,
            Operator::Subtract => left - right,
            Operator::Multiply => left * right,
            Operator::Divide => left / right,
        }
    }

    /// The unit of the result; `None` for a sum or difference of unlike units.
    pub fn unit(self, left: Unit, right: Unit) -> Option<Unit> {
        match self {
            Operator::Add | Operator::Subtract => (left == right).then_some(left),
            Operator::Divide if right == Unit::Count && left != Unit::Count => Some(left),
            Operator::Divide if (left, right) == (Unit::Count, Unit::Seconds) => Some(Unit::PerSecond),
            Operator::Multiply if right == Unit::Count => Some(left),
            Operator::Multiply if left == Unit::Count => Some(right),
            Operator::Multiply | Operator::Divide => Some(Unit::Number),
        }
    }
}

/// Where the one operator of a computed metric stands, outside of labels' braces.
pub fn operator_in(text: &str) -> Option<(usize, Operator)> {
    let mut depth = 0;
    for (index, c) in text.char_indices() {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            _ if depth == 0 => {
                if let Some((_, operator)) = Operator::ALL.iter().find(|(symbol, _)| *symbol == c) {
                    return Some((index, *operator));
                }
            }
            _ => {}
        }
    }
    None
}

impl Quantity {
    /// As a spec writes it.
    pub fn display(&self) -> String {
        match self {
            Quantity::Read(reference) => reference.display(),
            Quantity::Computed(computed) => computed.name.clone(),
        }
    }

    /// The references that are read for it.
    pub fn references(&self) -> Vec<&Reference> {
        match self {
            Quantity::Read(reference) => vec![reference],
            Quantity::Computed(computed) => vec![&computed.left, &computed.right],
        }
    }

    /// Windows that it spans, each once.
    pub fn windows(&self) -> Vec<&str> {
        let mut out: Vec<&str> = Vec::new();
        for reference in self.references() {
            if !out.contains(&reference.window.as_str()) {
                out.push(&reference.window);
            }
        }
        out
    }

    /// Unit of its values.
    pub fn unit(&self) -> Unit {
        match self {
            Quantity::Read(reference) => reference.metric.unit,
            Quantity::Computed(computed) => computed.unit,
        }
    }

    /// Which way is good.
    pub fn better(&self) -> Better {
        match self {
            Quantity::Read(reference) => reference.metric.better,
            Quantity::Computed(computed) => computed.better,
        }
    }

    /// Both sides of a ratio must reach this; 0 for no floor. A computed metric has none: what it is computed of may be
    /// small where it is not.
    pub fn ratio_floor(&self) -> f64 {
        match self {
            Quantity::Read(reference) => reference.metric.ratio_floor,
            Quantity::Computed(_) => 0.0,
        }
    }

    /// Whether it is CPU time, which contention for the cores lengthens little.
    pub fn is_cpu(&self) -> bool {
        self.unit() == Unit::Seconds && self.references().iter().all(|reference| is_cpu(reference.metric))
    }

    /// Its name without window and labels.
    pub fn name(&self) -> &str {
        match self {
            Quantity::Read(reference) => reference.metric.name,
            Quantity::Computed(computed) => &computed.name,
        }
    }
}

/// Every metric of CPU has the floor of its instrument, and no other in seconds has one.
fn is_cpu(metric: &Metric) -> bool {
    metric.unit == Unit::Seconds && metric.ratio_floor > 0.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_follow_from_the_sides() {
        use Operator::{Add, Divide, Multiply, Subtract};
        for (left, operator, right, unit) in [
            (Unit::Count, Divide, Unit::Seconds, Some(Unit::PerSecond)),
            (Unit::Bytes, Divide, Unit::Count, Some(Unit::Bytes)),
            (Unit::Seconds, Add, Unit::Seconds, Some(Unit::Seconds)),
            (Unit::Seconds, Subtract, Unit::Bytes, None),
            (Unit::Bytes, Divide, Unit::Bytes, Some(Unit::Number)),
            (Unit::Count, Divide, Unit::Count, Some(Unit::Number)),
            (Unit::Bytes, Divide, Unit::Seconds, Some(Unit::Number)),
            (Unit::Count, Multiply, Unit::Bytes, Some(Unit::Bytes)),
        ] {
            assert_eq!(operator.unit(left, right), unit, "{left:?} {operator:?} {right:?}");
        }
    }

    #[test]
    fn the_operator_stands_outside_of_labels() {
        assert_eq!(operator_in("load.transactions / total.seconds"), Some((18, Operator::Divide)));
        assert_eq!(operator_in("a.b{table=x-y} - c.d"), Some((15, Operator::Subtract)));
        assert_eq!(operator_in("a.b{table=x-y}"), None);
    }
}
