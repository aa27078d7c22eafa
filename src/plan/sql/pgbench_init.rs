//! The tables of pgbench's built-in scripts: what `pgbench -i` of PostgreSQL 18 makes, by SQL alone.
//!
//! Tables, columns, fillfactor, primary keys and the order of the steps are pgbench's (drop, create, generate, vacuum,
//! primary keys). Rows are made on the server, as by its step `G`, and then frozen, as its `COPY … (FREEZE)` leaves
//! them. Foreign keys, partitions, tablespaces and unlogged tables are not here: SQL in the next step makes them.

use crate::spec::scenario::PgbenchInit;

/// From this scale on account numbers need eight bytes.
const BIGINT_FROM: u32 = 20_000;

/// The statements, as one text.
pub fn create(init: PgbenchInit) -> String {
    let PgbenchInit { scale, fillfactor, rows } = init;
    let aid = if scale >= BIGINT_FROM { "bigint" } else { "int" };
    let (tellers, accounts) = (u64::from(scale) * 10, u64::from(scale) * 100_000);
    let generate = if rows {
        format!(
            "INSERT INTO pgbench_branches (bid, bbalance) SELECT bid, 0 FROM generate_series(1, {scale}) AS bid;\n\
             INSERT INTO pgbench_tellers (tid, bid, tbalance) SELECT tid, (tid - 1) / 10 + 1, 0 FROM generate_series(1, {tellers}) AS tid;\n\
             INSERT INTO pgbench_accounts (aid, bid, abalance, filler) SELECT aid, (aid - 1) / 100000 + 1, 0, '' FROM generate_series(1, {accounts}) AS aid;\n"
        )
    } else {
        String::new()
    };
    format!(
        "DROP TABLE IF EXISTS pgbench_accounts, pgbench_branches, pgbench_history, pgbench_tellers;\n\
         CREATE TABLE pgbench_history (tid int, bid int, aid {aid}, delta int, mtime timestamp, filler char(22));\n\
         CREATE TABLE pgbench_tellers (tid int NOT NULL, bid int, tbalance int, filler char(84)) WITH (fillfactor = {fillfactor});\n\
         CREATE TABLE pgbench_accounts (aid {aid} NOT NULL, bid int, abalance int, filler char(84)) WITH (fillfactor = {fillfactor});\n\
         CREATE TABLE pgbench_branches (bid int NOT NULL, bbalance int, filler char(88)) WITH (fillfactor = {fillfactor});\n\
         {generate}\
         VACUUM (FREEZE, ANALYZE) pgbench_branches;\n\
         VACUUM (FREEZE, ANALYZE) pgbench_tellers;\n\
         VACUUM (FREEZE, ANALYZE) pgbench_accounts;\n\
         VACUUM (FREEZE, ANALYZE) pgbench_history;\n\
         ALTER TABLE pgbench_branches ADD PRIMARY KEY (bid);\n\
         ALTER TABLE pgbench_tellers ADD PRIMARY KEY (tid);\n\
         ALTER TABLE pgbench_accounts ADD PRIMARY KEY (aid);"
    )
}

/// pgbench's tables with their indexes, a unit of scale.
const SCALE_BYTES: u64 = 16 << 20;

/// What the tables take on disk with their indexes, about, in bytes.
pub fn expected_bytes(init: PgbenchInit) -> u64 {
    if init.rows { u64::from(init.scale) * SCALE_BYTES * 100 / u64::from(init.fillfactor.max(1)) } else { 0 }
}

/// The step in words.
pub fn words(init: PgbenchInit) -> String {
    let fillfactor = if init.fillfactor == 100 { String::new() } else { format!(", fillfactor {}", init.fillfactor) };
    let rows = if init.rows { "" } else { ", no rows" };
    format!("pgbench's tables at scale {}{fillfactor}{rows}", init.scale)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_and_column_types_follow_the_scale() {
        let init = |scale, rows| create(PgbenchInit { scale, fillfactor: 90, rows });
        let small = init(3, true);
        assert!(small.contains("generate_series(1, 300000)") && small.contains("generate_series(1, 30)"));
        assert!(small.contains("(aid int NOT NULL") && small.contains("(fillfactor = 90)"));
        assert!(init(20_000, true).contains("(aid bigint NOT NULL"));
        assert!(!init(3, false).contains("INSERT"));
        assert_eq!(words(PgbenchInit { scale: 3, fillfactor: 100, rows: true }), "pgbench's tables at scale 3");
    }
}
