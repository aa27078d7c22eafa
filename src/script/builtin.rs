//! pgbench's built-in scripts, word for word as `pgbench --show-script` prints them.
//!
//! They need the tables that `pgbench -i` makes, and `:scale`, which is theirs.

/// A built-in script.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Builtin {
    /// TPC-B (sort of): three updates, a select, an insert.
    TpcbLike,
    /// The same without tellers and branches, whose few rows the updates queue for.
    SimpleUpdate,
    /// One row of `pgbench_accounts`.
    SelectOnly,
}

const TPCB_LIKE: &str = r"\set aid random(1, 100000 * :scale)
\set bid random(1, 1 * :scale)
\set tid random(1, 10 * :scale)
\set delta random(-5000, 5000)
BEGIN;
UPDATE pgbench_accounts SET abalance = abalance + :delta WHERE aid = :aid;
SELECT abalance FROM pgbench_accounts WHERE aid = :aid;
UPDATE pgbench_tellers SET tbalance = tbalance + :delta WHERE tid = :tid;
UPDATE pgbench_branches SET bbalance = bbalance + :delta WHERE bid = :bid;
INSERT INTO pgbench_history (tid, bid, aid, delta, mtime) VALUES (:tid, :bid, :aid, :delta, CURRENT_TIMESTAMP);
END;
";

const SIMPLE_UPDATE: &str = r"\set aid random(1, 100000 * :scale)
\set bid random(1, 1 * :scale)
\set tid random(1, 10 * :scale)
\set delta random(-5000, 5000)
BEGIN;
UPDATE pgbench_accounts SET abalance = abalance + :delta WHERE aid = :aid;
SELECT abalance FROM pgbench_accounts WHERE aid = :aid;
INSERT INTO pgbench_history (tid, bid, aid, delta, mtime) VALUES (:tid, :bid, :aid, :delta, CURRENT_TIMESTAMP);
END;
";

const SELECT_ONLY: &str = r"\set aid random(1, 100000 * :scale)
SELECT abalance FROM pgbench_accounts WHERE aid = :aid;
";

impl Builtin {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::TpcbLike, Self::SimpleUpdate, Self::SelectOnly];

    /// The name that `pgbench -b` takes.
    pub fn name(self) -> &'static str {
        match self {
            Self::TpcbLike => "tpcb-like",
            Self::SimpleUpdate => "simple-update",
            Self::SelectOnly => "select-only",
        }
    }

    /// The script's text.
    pub fn text(self) -> &'static str {
        match self {
            Self::TpcbLike => TPCB_LIKE,
            Self::SimpleUpdate => SIMPLE_UPDATE,
            Self::SelectOnly => SELECT_ONLY,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::script::Script;

    #[test]
    fn every_builtin_script_is_read_and_no_variable_of_it_lacks_a_value() {
        for builtin in Builtin::ALL {
            let script = Script::parse(builtin.text()).expect("pgbench's own text");
            assert_eq!(script.undefined(), [], "{}", builtin.name());
            assert_eq!(script.quoted(), [], "{}", builtin.name());
        }
    }
}
