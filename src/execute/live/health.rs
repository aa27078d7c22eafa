//! Replication errors as the servers log them. An apply worker that fails exits, is started again and fails again,
//! while its subscription stays enabled: only the log tells, and reading it costs the server nothing.

use std::path::PathBuf;
use std::time::Duration;

use super::node::LiveNode;
use crate::execute::world::Failure;
use crate::lab::log;

/// What a server logs when `disable_on_error` ends a subscription: no worker will fail again.
const DISABLED: &str = "has been disabled because of an error";

/// The logs of a turn's nodes.
pub(super) struct Health {
    /// Node, log, and from where on it is read.
    logs: Vec<(String, PathBuf, u64)>,
    /// The error of a subscription that had been disabled by one before.
    stopped: Option<String>,
}

impl Health {
    /// The whole life of the nodes.
    pub(super) fn whole<'n>(nodes: impl Iterator<Item = (&'n str, &'n LiveNode)>) -> Self {
        let logs = nodes.map(|(name, node)| (name.to_owned(), node.node.log.clone(), 0)).collect();
        Self { logs, stopped: None }
    }

    /// From now on; what was logged before counts only if it ended a subscription.
    pub(super) fn of<'n>(nodes: impl Iterator<Item = (&'n str, &'n LiveNode)>) -> Self {
        let mut health = Self::whole(nodes);
        health.stopped = health.first(|text| text.contains(DISABLED));
        for (_, path, offset) in &mut health.logs {
            *offset = std::fs::metadata(path).map_or(0, |file| file.len());
        }
        health
    }

    /// The first error of a replication process, with the node it is on.
    pub(super) fn error(&self) -> Option<String> {
        self.stopped.clone().or_else(|| self.first(|_| true))
    }

    fn first(&self, counts: impl Fn(&str) -> bool) -> Option<String> {
        self.logs.iter().find_map(|(name, path, offset)| {
            let (text, _) = log::since(path, *offset);
            let error = replication_error(&text).filter(|_| counts(&text))?;
            Some(format!("on `{name}`: {error}"))
        })
    }

    /// Waits for one.
    pub(super) async fn first_error(&self, interval: Duration) -> Failure {
        loop {
            tokio::time::sleep(interval).await;
            if let Some(error) = self.error() {
                return Failure::new(error);
            }
        }
    }
}

/// How many lines after an error may belong to it.
const FOLLOWING: usize = 8;

/// The first ERROR of an apply worker, a tablesync worker or a walsender, with what follows of it.
fn replication_error(log: &str) -> Option<String> {
    let mut lines = log.lines();
    let (prefix, message) = lines.by_ref().find_map(|line| {
        let (prefix, message) = line.split_once("ERROR:")?;
        let ours = prefix.contains("logical replication") || prefix.contains("walsender");
        ours.then(|| (prefix.to_owned(), message.trim().to_owned()))
    })?;
    let process = prefix.rsplit(']').next().unwrap_or_default().trim().to_owned();
    let mut parts = vec![message];
    let mut ours = true;
    for line in lines.take(FOLLOWING).take_while(|line| !line.contains("ERROR:")) {
        if let Some(more) = line.strip_prefix('\t') {
            // A field goes on over lines that begin with a tab.
            if ours && let Some(last) = parts.last_mut() {
                *last = format!("{last} {}", more.trim());
            }
            continue;
        }
        let field = ["DETAIL:", "HINT:", "CONTEXT:"].iter().find_map(|key| line.split_once(key));
        ours = field.is_some();
        parts.extend(field.map(|(_, more)| more.trim().to_owned()));
    }
    let (message, fields) = parts.split_first()?;
    let fields: String = fields.iter().flat_map(|field| [" (", field, ")"]).collect();
    let text = format!("{process}: ERROR: {message}{fields}");
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_replication_error_is_told_from_a_clients() {
        let log = "2026-01-01 00:00:00 UTC [7] client backend ERROR:  syntax error\n\
            2026-01-01 00:00:01 UTC [8] logical replication apply worker ERROR:  duplicate key value violates unique constraint \"t_pkey\"\n\
            2026-01-01 00:00:01 UTC [8] logical replication apply worker DETAIL:  Key (id)=(1) already exists,\n\
            \tand is older.\n\
            2026-01-01 00:00:01 UTC [1] postmaster LOG:  background worker exited with exit code 1\n";
        assert_eq!(
            replication_error(log).as_deref(),
            Some(
                "logical replication apply worker: ERROR: duplicate key value violates unique constraint \"t_pkey\" (Key (id)=(1) already exists, and is older.)"
            )
        );
        assert_eq!(replication_error("2026 [7] client backend ERROR:  x\n"), None);
    }
}
