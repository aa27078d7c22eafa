//! A plan as a shell script that a person can run without us.
use super::Plan;
use crate::spec::Spec;

/// The script.
pub fn script(_plan: &Plan, _spec: &Spec) -> String {
    String::new()
}
