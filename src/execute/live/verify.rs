//! Convergence: rows and checksums of what is replicated, on both sides.

use super::Live;
use super::node::LiveNode;
use crate::execute::world::Failure;
use crate::plan::sql::checksum::{self, Projection};
use crate::results::{Convergence, TableComparison, TableDigest};

/// Buckets that are looked into, and rows shown of a side.
const SHOWN: usize = 3;

impl Live<'_> {
    pub(super) async fn verify(&mut self, projections: &[Projection]) -> Result<Convergence, Failure> {
        let mut convergence = Convergence::default();
        let mut notes = Vec::new();
        for node in self.nodes.values() {
            node.batch(checksum::SESSION).await?;
        }
        for projection in projections {
            let publisher = self.node(&projection.publisher)?;
            let subscriber = self.node(&projection.subscriber)?;
            for row in publisher.rows(&projection.tables_sql).await? {
                let text = |name: &str| row.get(name).unwrap_or_default().to_owned();
                let (table, rows_sql, left_out) = (text("table_name"), text("rows_sql"), text("operations"));
                let missing: Vec<&str> = left_out.split(", ").filter(|operation| !operation.is_empty()).collect();
                if missing.iter().any(|operation| *operation != "truncate") {
                    notes.push(format!(
                        "{table} was not compared: its publication does not publish {left_out}, so the nodes may differ"
                    ));
                    continue;
                }
                let mut comparison = TableComparison {
                    table,
                    publisher: projection.publisher.clone(),
                    subscriber: projection.subscriber.clone(),
                    published: digest(publisher, &rows_sql).await?,
                    subscribed: digest(subscriber, &rows_sql).await?,
                    differing: Vec::new(),
                };
                if !comparison.agrees() {
                    comparison.differing = differing(publisher, subscriber, projection, &rows_sql).await?;
                }
                convergence.tables.push(comparison);
            }
        }
        self.notes.extend(notes);
        Ok(convergence)
    }
}

async fn digest(node: &LiveNode, rows_sql: &str) -> Result<TableDigest, Failure> {
    let rows = node.rows(&checksum::digest(rows_sql)).await?;
    let row = rows.first().ok_or_else(|| Failure::new("a checksum gave no row"))?;
    Ok(TableDigest {
        rows: row.get(0).and_then(|rows| rows.parse().ok()).unwrap_or_default(),
        checksum: row.get(1).unwrap_or_default().to_owned(),
    })
}

/// Some rows that are on one side only.
async fn differing(
    publisher: &LiveNode,
    subscriber: &LiveNode,
    projection: &Projection,
    rows_sql: &str,
) -> Result<Vec<String>, Failure> {
    let buckets = |node: &LiveNode| {
        let sql = checksum::buckets(rows_sql);
        let control = node.control.clone();
        async move {
            let rows = super::node::rows(&control, &sql).await?;
            Ok::<_, Failure>(
                rows.iter()
                    .map(|row| (0..3).map(|index| row.get(index).unwrap_or_default().to_owned()).collect::<Vec<_>>())
                    .collect::<std::collections::BTreeSet<_>>(),
            )
        }
    };
    let (left, right) = (buckets(publisher).await?, buckets(subscriber).await?);
    let mut names: Vec<String> = left.symmetric_difference(&right).map(|bucket| bucket[0].clone()).collect();
    names.dedup();
    names.truncate(SHOWN);
    let sql = checksum::rows_of(rows_sql, &names, 10_000);
    let rows = |list: Vec<tokio_postgres::SimpleQueryRow>| -> Vec<String> {
        list.iter().map(|row| row.get(0).unwrap_or_default().to_owned()).collect()
    };
    let (left, right) = (rows(publisher.rows(&sql).await?), rows(subscriber.rows(&sql).await?));
    let mut out = Vec::new();
    for (here, there, node) in [(&left, &right, &projection.publisher), (&right, &left, &projection.subscriber)] {
        for row in here.iter().filter(|row| !there.contains(row)).take(SHOWN) {
            let row: String = row.chars().take(120).collect();
            out.push(format!("only on {node}: {row}"));
        }
    }
    Ok(out)
}
