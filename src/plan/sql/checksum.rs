//! Convergence: what a subscription replicates, counted and summed on both sides.
//!
//! Which tables and columns a publication has is the server's own knowledge, so a first query on the publisher
//! writes the second one, which runs on both nodes and gives the same for the same rows in any order.

use crate::text::quote::literal;

/// What is compared for one subscription.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Projection {
    /// Subscription.
    pub subscription: String,
    /// Publishing node.
    pub publisher: String,
    /// Subscribing node.
    pub subscriber: String,
    /// Run on the publisher: a row for each table with `table_name`, `rows_sql` (one text column `r`, a row for
    /// each row) and `operations` (which of insert, update, delete and truncate are not published).
    pub tables_sql: String,
}

/// Settings that change text, fixed on both sides.
pub const SESSION: &str = "SET search_path = ''; SET datestyle = 'ISO, YMD'; SET intervalstyle = 'postgres'; SET timezone = 'UTC'; \
SET extra_float_digits = 1; SET bytea_output = 'hex'; SET lc_monetary = 'C'; SET xmlbinary = 'base64'";

/// The query that lists the tables of these publications on a publisher of that major version.
///
/// Generated columns are left out: the subscriber computes its own, except where 18 publishes stored ones.
/// Row filters of several publications are alternatives; one without a filter publishes all rows.
pub fn tables(publications: &[String], major: u32) -> String {
    let list = publications.iter().map(|name| literal(name)).collect::<Vec<_>>().join(", ");
    let (attnames, filter) = if major >= 15 { ("t.attnames", "t.rowfilter") } else { ("NULL::name[]", "NULL::text") };
    let generated = if major >= 18 {
        "(a.attgenerated = '' OR p.pubgencols = 's' AND a.attgenerated = 's')"
    } else {
        "a.attgenerated = ''"
    };
    let pubgencols = if major >= 18 { ", p.pubgencols" } else { "" };
    format!(
        "WITH published AS (
  SELECT c.oid, n.nspname, c.relname, {attnames} AS attnames, {filter} AS filter, p.pubinsert, p.pubupdate, p.pubdelete, p.pubtruncate{pubgencols}
  FROM pg_catalog.pg_publication_tables t
  JOIN pg_catalog.pg_publication p ON p.pubname = t.pubname
  JOIN pg_catalog.pg_namespace n ON n.nspname = t.schemaname
  JOIN pg_catalog.pg_class c ON c.relnamespace = n.oid AND c.relname = t.tablename
  WHERE t.pubname IN ({list}) AND NOT (t.schemaname = 'public' AND t.tablename = 'runner_marker')
), columns AS (
  SELECT p.oid, string_agg(DISTINCT format('%I', a.attname), ', ' ORDER BY format('%I', a.attname)) AS list
  FROM published p JOIN pg_catalog.pg_attribute a ON a.attrelid = p.oid AND a.attnum > 0 AND NOT a.attisdropped
  WHERE {generated} AND (p.attnames IS NULL OR a.attname = ANY (p.attnames))
  GROUP BY p.oid
)
SELECT format('%I.%I', p.nspname, p.relname) AS table_name,
  format('SELECT ROW(%s)::text AS r FROM %I.%I%s', c.list, p.nspname, p.relname,
    CASE WHEN bool_or(p.filter IS NULL) THEN '' ELSE ' WHERE ' || string_agg(DISTINCT '(' || p.filter || ')', ' OR ') END) AS rows_sql,
  concat_ws(', ', CASE WHEN NOT bool_or(p.pubinsert) THEN 'insert' END, CASE WHEN NOT bool_or(p.pubupdate) THEN 'update' END,
    CASE WHEN NOT bool_or(p.pubdelete) THEN 'delete' END, CASE WHEN NOT bool_or(p.pubtruncate) THEN 'truncate' END) AS operations
FROM published p JOIN columns c USING (oid)
GROUP BY p.nspname, p.relname, c.list
ORDER BY 1"
    )
}

/// Rows and checksum of a table: half of each row's MD5 as a number, summed, so that order does not matter and
/// equal rows do not cancel.
pub fn digest(rows_sql: &str) -> String {
    format!(
        "SELECT count(*)::text, coalesce(sum(('x' || substr(md5(r), 1, 16))::bit(64)::bigint::numeric), 0)::text FROM ({rows_sql}) AS rows"
    )
}

/// The same by bucket (the first three digits of the MD5), to find where two sides differ.
pub fn buckets(rows_sql: &str) -> String {
    format!(
        "SELECT substr(md5(r), 1, 3), count(*)::text, sum(('x' || substr(md5(r), 1, 16))::bit(64)::bigint::numeric)::text \
         FROM ({rows_sql}) AS rows GROUP BY 1 ORDER BY 1"
    )
}

/// The rows of some buckets.
pub fn rows_of(rows_sql: &str, buckets: &[String], limit: usize) -> String {
    let list = buckets.iter().map(|bucket| literal(bucket)).collect::<Vec<_>>().join(", ");
    format!("SELECT r FROM ({rows_sql}) AS rows WHERE substr(md5(r), 1, 3) IN ({list}) ORDER BY r LIMIT {limit}")
}
