//! The WAL of every phase by resource manager, read after the last phase, when nothing is measured any more.
//!
//! `pg_walinspect` reads the WAL itself (a second for each 1.5 GB), so that it can be cut at the phases' positions as
//! statistics cannot. What it takes to ask is rolled back: no trace is left for the comparison of the nodes or for who
//! looks at them later.

use indexmap::IndexMap;
use tokio_postgres::Client;

use super::node::{rows, server_words};
use crate::execute::settle::PhaseLedger;
use crate::execute::world::Failure;
use crate::measure::{RmgrEvidence, Rmgrs};
use crate::text::Lsn;
use crate::text::quantity::format_bytes;
use crate::text::quote::identifier;

/// The most WAL of a node that is read: some 3 s. Of more the server has hardly kept all.
const MOST_BYTES: u64 = 4 << 30;

/// Schema of the extension where the database does not have it.
const SCHEMA: &str = "runner_ledger";

/// Where a node's WAL stood at the edges of a phase.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Stretch {
    pub(super) phase: String,
    pub(super) start: Lsn,
    pub(super) end: Lsn,
}

/// The WAL of a node by phase, or why it is not known. `stretches` follow one another.
pub(super) async fn read(
    session: &Client,
    major: u32,
    stretches: &[Stretch],
) -> Result<IndexMap<String, PhaseLedger>, String> {
    let (Some(first), Some(last)) = (stretches.first(), stretches.last()) else { return Ok(IndexMap::new()) };
    if major < 15 {
        return Err(format!("PostgreSQL {major} has no pg_walinspect; it came with 15"));
    }
    let bytes = last.end.bytes_since(first.start);
    if bytes > MOST_BYTES {
        let (bytes, most) = (format_bytes(bytes), format_bytes(MOST_BYTES));
        return Err(format!("{bytes} of WAL are too many to be read; at most {most} are"));
    }
    let told = |failure: Failure| failure.reason;
    flush(session, last.end).await.map_err(told)?;
    let found = inspect(session, stretches).await;
    // Whatever became of it, nothing of it stays.
    session.batch_execute("ROLLBACK").await.map_err(|error| server_words(&error))?;
    found.map_err(told)
}

/// WAL that nobody has flushed cannot be read, and on an idle node nobody may for a while.
async fn flush(session: &Client, end: Lsn) -> Result<(), Failure> {
    let flushed = format!("SELECT 1 WHERE pg_catalog.pg_current_wal_flush_lsn() >= '{end}'");
    if rows(session, &flushed).await?.is_empty() {
        // A commit is flushed with all before it; a standby is not waited for.
        rows(
            session,
            "BEGIN READ WRITE; SET LOCAL synchronous_commit = local; \
             SELECT pg_catalog.pg_logical_emit_message(true, 'runner', ''); COMMIT",
        )
        .await?;
    }
    Ok(())
}

async fn inspect(session: &Client, stretches: &[Stretch]) -> Result<IndexMap<String, PhaseLedger>, Failure> {
    rows(session, "BEGIN READ WRITE; SET LOCAL statement_timeout = '60s'").await?;
    let there = rows(
        session,
        "SELECT n.nspname FROM pg_catalog.pg_extension e JOIN pg_catalog.pg_namespace n ON n.oid = e.extnamespace \
         WHERE e.extname = 'pg_walinspect'",
    )
    .await?;
    let schema = match there.first().and_then(|row| row.get(0)) {
        Some(schema) => schema.to_owned(),
        None => {
            rows(session, &format!("CREATE SCHEMA {SCHEMA}; CREATE EXTENSION pg_walinspect SCHEMA {SCHEMA}")).await?;
            SCHEMA.to_owned()
        }
    };
    let mut phases = IndexMap::new();
    let mut reached = None;
    for stretch in stretches {
        let before = match reached {
            Some(reached) => between(session, &schema, reached, stretch.start).await?,
            None => Rmgrs::new(),
        };
        let inside = between(session, &schema, stretch.start, stretch.end).await?;
        phases.insert(stretch.phase.clone(), PhaseLedger { before, inside });
        reached = Some(stretch.end);
    }
    Ok(phases)
}

async fn between(session: &Client, schema: &str, start: Lsn, end: Lsn) -> Result<Rmgrs, Failure> {
    if start >= end {
        return Ok(Rmgrs::new());
    }
    let sql = format!(
        "SELECT \"resource_manager/record_type\", count, record_size, fpi_size \
         FROM {}.pg_get_wal_stats('{start}', '{end}', false) WHERE count > 0 ORDER BY record_size + fpi_size DESC",
        identifier(schema)
    );
    let mut rmgrs = Rmgrs::new();
    for row in rows(session, &sql).await? {
        // Counts are bigint and sizes numeric: both print as whole numbers.
        let number = |index: usize| row.get(index).and_then(|number| number.parse().ok()).unwrap_or_default();
        let wrote = RmgrEvidence { records: number(1), record_bytes: number(2), fpi_bytes: number(3) };
        rmgrs.insert(row.get(0).unwrap_or("?").to_owned(), wrote);
    }
    Ok(rmgrs)
}
