//! Replication errors as the servers log them. An apply worker that fails exits, is started again and fails again,
//! while its subscription stays enabled: only the log tells, and reading it costs the server nothing.

use std::path::PathBuf;
use std::time::Duration;

use super::node::LiveNode;
use crate::execute::world::Failure;
use crate::lab::log;

/// The logs of a turn's nodes, from where they are now.
pub(super) struct Health {
    logs: Vec<(String, PathBuf, u64)>,
}

impl Health {
    /// From now on.
    pub(super) fn of<'n>(nodes: impl Iterator<Item = (&'n str, &'n LiveNode)>) -> Self {
        let logs = nodes
            .map(|(name, node)| {
                let length = std::fs::metadata(&node.node.log).map_or(0, |file| file.len());
                (name.to_owned(), node.node.log.clone(), length)
            })
            .collect();
        Self { logs }
    }

    /// The first error of a replication process since then, with the node it is on.
    pub(super) fn error(&self) -> Option<String> {
        self.logs.iter().find_map(|(name, path, offset)| {
            let (text, _) = log::since(path, *offset);
            replication_error(&text).map(|error| format!("on `{name}`: {error}"))
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

/// The first ERROR of an apply worker, a tablesync worker or a walsender, with what follows of it.
fn replication_error(log: &str) -> Option<String> {
    let mut lines = log.lines();
    let (prefix, message) = lines.by_ref().find_map(|line| {
        let (prefix, message) = line.split_once("ERROR:")?;
        let ours = prefix.contains("logical replication") || prefix.contains("walsender");
        ours.then(|| (prefix.to_owned(), message.trim().to_owned()))
    })?;
    let process = prefix.rsplit(']').next().unwrap_or_default().trim().to_owned();
    let mut text = format!("{process}: ERROR: {message}");
    for line in lines.take(6) {
        let Some((_, more)) = ["DETAIL:", "HINT:", "CONTEXT:"].iter().find_map(|key| line.split_once(key)) else {
            continue;
        };
        text += &format!(" ({})", more.trim());
    }
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_replication_error_is_told_from_a_clients() {
        let log = "2026-01-01 00:00:00 UTC [7] client backend ERROR:  syntax error\n\
            2026-01-01 00:00:01 UTC [8] logical replication apply worker ERROR:  duplicate key value violates unique constraint \"t_pkey\"\n\
            2026-01-01 00:00:01 UTC [8] logical replication apply worker DETAIL:  Key (id)=(1) already exists.\n\
            2026-01-01 00:00:01 UTC [1] postmaster LOG:  background worker exited with exit code 1\n";
        assert_eq!(
            replication_error(log).as_deref(),
            Some(
                "logical replication apply worker: ERROR: duplicate key value violates unique constraint \"t_pkey\" (Key (id)=(1) already exists.)"
            )
        );
        assert_eq!(replication_error("2026 [7] client backend ERROR:  x\n"), None);
    }
}
