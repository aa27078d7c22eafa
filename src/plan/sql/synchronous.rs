//! `synchronous_standby_names`: set once its members stream, taken away before the nodes are stopped.

use crate::plan::instruction::SqlText;
use crate::spec::scenario::Synchronous;
use crate::text::quote::literal;

/// The statements that put the names into force. A setting of the configuration file, since it belongs to no session.
pub fn set(of: &Synchronous) -> SqlText {
    let value = literal(&names(of));
    SqlText::plain(format!("ALTER SYSTEM SET synchronous_standby_names = {value};\nSELECT pg_reload_conf()"))
}

/// The statements that take them away, so that no commit waits for a member that is stopped.
pub fn reset() -> SqlText {
    SqlText::plain("ALTER SYSTEM RESET synchronous_standby_names;\nSELECT pg_reload_conf()")
}

/// The setting's value. A subscription's walsender is named after the subscription; each name is quoted, since one that
/// is no plain identifier must be.
pub fn names(of: &Synchronous) -> String {
    let quoted: Vec<String> = of.of.iter().map(|name| format!("\"{}\"", name.replace('"', "\"\""))).collect();
    let method = if of.any { "ANY" } else { "FIRST" };
    format!("{method} {} ({})", of.number, quoted.join(", "))
}

/// The `sync_state` that each member has in `pg_stat_replication` once the names are in force and all are connected.
pub fn states(of: &Synchronous) -> Vec<(String, &'static str)> {
    of.of
        .iter()
        .enumerate()
        .map(|(index, name)| {
            let state = match (of.any, index < of.number as usize) {
                (true, _) => "quorum",
                (false, true) => "sync",
                (false, false) => "potential",
            };
            (name.clone(), state)
        })
        .collect()
}

/// The query that counts the members that are in their state.
pub fn in_force(states: &[(String, String)]) -> String {
    let pairs: Vec<String> =
        states.iter().map(|(name, state)| format!("({}, {})", literal(name), literal(state))).collect();
    format!(
        "SELECT count(DISTINCT application_name) FROM pg_catalog.pg_stat_replication\nWHERE (application_name, sync_state) IN ({}) AND state = 'streaming'",
        pairs.join(", ")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(any: bool, number: u32, members: &[&str]) -> Synchronous {
        let of = members.iter().map(|name| (*name).to_owned()).collect();
        Synchronous { any, number, of, span: crate::text::Span::default() }
    }

    #[test]
    fn names_are_quoted_and_states_follow_the_method() {
        let first = of(false, 1, &["idle", "My \"Sub\"-1"]);
        assert_eq!(names(&first), r#"FIRST 1 ("idle", "My ""Sub""-1")"#);
        assert_eq!(states(&first).iter().map(|(_, state)| *state).collect::<Vec<_>>(), ["sync", "potential"]);
        let any = of(true, 2, &["a", "b", "c"]);
        assert_eq!(names(&any), r#"ANY 2 ("a", "b", "c")"#);
        assert!(states(&any).iter().all(|(_, state)| *state == "quorum"));
        assert!(set(&of(false, 1, &["it's"])).display().contains(r#"'FIRST 1 ("it''s")'"#));
    }
}
