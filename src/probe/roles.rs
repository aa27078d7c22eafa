//! What a PostgreSQL server process does, told by its process title, for versions 14 to 18.
//!
//! Only titles are read here; which session is the runner's own is known by pid, not by role.
use std::fmt;

/// The role that a server process's CPU is booked under.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Role {
    /// A session of an ordinary client.
    ClientBackend,
    /// Sends WAL or decoded changes.
    Walsender,
    /// Applies a subscription's changes. In 14 and 15 its title differs from a table
    /// synchronisation's only by the latter's `sync`.
    ApplyWorker,
    /// Helps an apply worker with a streamed transaction (16 and later).
    ParallelApply,
    /// Copies a table at the start of a subscription.
    Tablesync,
    /// Receives WAL on a standby.
    Walreceiver,
    /// Replays WAL.
    Startup,
    /// Writes checkpoints.
    Checkpointer,
    /// Writes dirty buffers ahead of need.
    BackgroundWriter,
    /// Flushes WAL in the background.
    Walwriter,
    /// The autovacuum launcher and its workers.
    Autovacuum,
    /// Does reads for others (18, `io_method = worker`).
    IoWorker,
    /// Starts apply workers.
    LogicalLauncher,
    /// Archives WAL segments.
    Archiver,
    /// Collects statistics (14 only).
    StatsCollector,
    /// The parent of them all.
    Postmaster,
    /// Any other: parallel query workers, WAL summarizer, slot sync worker, logger, extensions.
    Other,
    /// Processes that ended within the window, whose role is no longer known.
    Exited,
}

/// What follows `postgres: ` (and a cluster name), longest first where one begins another.
const TITLES: &[(&str, Role)] = &[
    ("logical replication parallel apply worker", Role::ParallelApply),
    ("logical replication tablesync worker", Role::Tablesync),
    ("logical replication apply worker", Role::ApplyWorker),
    ("logical replication worker", Role::ApplyWorker),
    ("logical replication launcher", Role::LogicalLauncher),
    ("background writer", Role::BackgroundWriter),
    ("autovacuum launcher", Role::Autovacuum),
    ("autovacuum worker", Role::Autovacuum),
    ("stats collector", Role::StatsCollector),
    ("checkpointer", Role::Checkpointer),
    ("walreceiver", Role::Walreceiver),
    ("io worker", Role::IoWorker),
    ("walsender", Role::Walsender),
    ("walwriter", Role::Walwriter),
    ("archiver", Role::Archiver),
    ("startup", Role::Startup),
    ("parallel worker", Role::Other),
    ("walsummarizer", Role::Other),
    ("slotsync worker", Role::Other),
    ("logger", Role::Other),
];

impl Role {
    /// The role of a child of the postmaster by its title, such as `postgres: publisher: walwriter`.
    ///
    /// A title that is not PostgreSQL's (a child that has just been forked) is `Other`. A role or
    /// cluster name that begins like a process type (a user called `walwriter`) misleads it.
    pub fn of_title(title: &str) -> Self {
        let Some(mut rest) = title.strip_prefix("postgres: ") else {
            return Self::Other;
        };
        let session = is_session(rest);
        loop {
            let known = TITLES.iter().find(|(words, _)| begins_with_words(rest, words));
            match known {
                // 14 and 15 give the synchronisation of a table the apply worker's words.
                Some((_, Self::ApplyWorker)) if rest.contains(" sync ") => return Self::Tablesync,
                Some((_, role)) => return *role,
                None => {}
            }
            // A cluster_name stands in front, and may hold a colon itself.
            match rest.split_once(": ") {
                Some((_, after)) => rest = after,
                None if session => return Self::ClientBackend,
                None => return Self::Other,
            }
        }
    }

    /// The role's name as metrics and reports spell it.
    pub fn name(self) -> &'static str {
        match self {
            Self::ClientBackend => "client backend",
            Self::Walsender => "walsender",
            Self::ApplyWorker => "apply worker",
            Self::ParallelApply => "parallel apply worker",
            Self::Tablesync => "tablesync worker",
            Self::Walreceiver => "walreceiver",
            Self::Startup => "startup",
            Self::Checkpointer => "checkpointer",
            Self::BackgroundWriter => "background writer",
            Self::Walwriter => "walwriter",
            Self::Autovacuum => "autovacuum",
            Self::IoWorker => "io worker",
            Self::LogicalLauncher => "logical launcher",
            Self::Archiver => "archiver",
            Self::StatsCollector => "stats collector",
            Self::Postmaster => "postmaster",
            Self::Other => "other",
            Self::Exited => "exited",
        }
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Whether `text` is `words`, or goes on after them with a space.
fn begins_with_words(text: &str, words: &str) -> bool {
    text.strip_prefix(words).is_some_and(|after| after.is_empty() || after.starts_with(' '))
}

/// Whether a title names where a client is: `[local]` or `host(port)`.
fn is_session(rest: &str) -> bool {
    rest.split(' ').any(|word| {
        word == "[local]"
            || word.strip_suffix(')').and_then(|word| word.rsplit_once('(')).is_some_and(|(host, port)| {
                !host.is_empty() && !port.is_empty() && port.bytes().all(|b| b.is_ascii_digit())
            })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn titles_of_all_versions_give_their_roles() {
        for (title, role) in [
            ("postgres: checkpointer ", Role::Checkpointer),
            ("postgres: background writer", Role::BackgroundWriter),
            ("postgres: walwriter ", Role::Walwriter),
            ("postgres: autovacuum launcher ", Role::Autovacuum),
            ("postgres: autovacuum worker bench", Role::Autovacuum),
            ("postgres: stats collector ", Role::StatsCollector),
            ("postgres: archiver last was 000000010000000000000003", Role::Archiver),
            ("postgres: startup recovering 000000010000000000000003", Role::Startup),
            ("postgres: walreceiver streaming 0/3000148", Role::Walreceiver),
            ("postgres: io worker 0", Role::IoWorker),
            ("postgres: logical replication launcher ", Role::LogicalLauncher),
            // 14 and 15.
            ("postgres: logical replication worker for subscription 16399 ", Role::ApplyWorker),
            ("postgres: logical replication worker for subscription 16399 sync 16390 ", Role::Tablesync),
            ("postgres: walsender postgres [local] START_REPLICATION", Role::Walsender),
            // 16 and later.
            ("postgres: logical replication apply worker for subscription 16399 ", Role::ApplyWorker),
            ("postgres: logical replication parallel apply worker for subscription 16399 ", Role::ParallelApply),
            ("postgres: logical replication tablesync worker for subscription 16399 sync 16390 ", Role::Tablesync),
            ("postgres: walsender postgres bench [local] START_REPLICATION", Role::Walsender),
            ("postgres: walsender rep 127.0.0.1(40312) streaming 0/3000148", Role::Walsender),
            ("postgres: postgres bench [local] idle", Role::ClientBackend),
            ("postgres: postgres bench 127.0.0.1(40312) INSERT", Role::ClientBackend),
            ("postgres: My User My \"Db\" ::1(40312) idle in transaction", Role::ClientBackend),
            ("postgres: postgres bench [local] authentication", Role::ClientBackend),
            ("postgres: parallel worker for PID 4711 ", Role::Other),
            ("postgres: walsummarizer ", Role::Other),
            ("postgres: slotsync worker ", Role::Other),
            ("postgres: pg_cron launcher ", Role::Other),
            ("/usr/lib/postgresql/15/bin/postgres -D /x", Role::Other),
            ("", Role::Other),
        ] {
            assert_eq!(Role::of_title(title), role, "{title}");
        }
    }

    #[test]
    fn a_cluster_name_in_front_changes_nothing() {
        for (title, role) in [
            ("postgres: publisher: walwriter ", Role::Walwriter),
            ("postgres: a: b: io worker 2", Role::IoWorker),
            ("postgres: publisher: walsender u d [local] START_REPLICATION", Role::Walsender),
            ("postgres: subscriber: u d [local] idle", Role::ClientBackend),
            ("postgres: walwriters: u d [local] idle", Role::ClientBackend),
            ("postgres: x: logical replication worker for subscription 1 sync 2 ", Role::Tablesync),
        ] {
            assert_eq!(Role::of_title(title), role, "{title}");
        }
    }

    #[test]
    fn every_role_can_be_named_in_a_spec() {
        for (_, role) in TITLES {
            assert!(crate::measure::metric::ROLES.contains(&role.name()), "{role}");
        }
        for role in [Role::ClientBackend, Role::Tablesync, Role::Postmaster, Role::Other, Role::Exited] {
            assert!(crate::measure::metric::ROLES.contains(&role.name()), "{role}");
        }
    }
}
