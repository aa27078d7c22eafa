//! Server settings by the first version that has them, for the way out of one that a node's version lacks. From the
//! release notes of 15 to 18; whether a server takes a setting is asked of that server, never of this table.

use crate::text::suggest::nearest;

/// Settings that came after 14.
const LATER: &[(u32, &[&str])] = &[
    (
        15,
        &[
            "archive_library",
            "log_startup_progress_interval",
            "recovery_prefetch",
            "stats_fetch_consistency",
            "wal_decode_buffer_size",
        ],
    ),
    (
        16,
        &[
            "debug_io_direct",
            "debug_logical_replication_streaming",
            "enable_presorted_aggregate",
            "max_parallel_apply_workers_per_subscription",
            "reserved_connections",
            "scram_iterations",
            "vacuum_buffer_usage_limit",
        ],
    ),
    (
        17,
        &[
            "commit_timestamp_buffers",
            "enable_group_by_reordering",
            "io_combine_limit",
            "multixact_member_buffers",
            "multixact_offset_buffers",
            "notify_buffers",
            "serializable_buffers",
            "subtransaction_buffers",
            "summarize_wal",
            "sync_replication_slots",
            "synchronized_standby_slots",
            "transaction_buffers",
            "transaction_timeout",
            "wal_summary_keep_time",
        ],
    ),
    (
        18,
        &[
            "autovacuum_vacuum_max_threshold",
            "autovacuum_worker_slots",
            "enable_distinct_reordering",
            "enable_self_join_elimination",
            "file_copy_method",
            "idle_replication_slot_timeout",
            "io_max_combine_limit",
            "io_max_concurrency",
            "io_method",
            "io_workers",
            "log_lock_failures",
            "max_active_replication_origins",
            "track_cost_delay_timing",
            "vacuum_max_eager_freeze_failure_rate",
            "vacuum_truncate",
        ],
    ),
];

/// Settings of every version that specs are likely to name, for suggestions.
pub(super) const COMMON: &[&str] = &[
    "autovacuum",
    "autovacuum_naptime",
    "bgwriter_delay",
    "checkpoint_completion_target",
    "checkpoint_timeout",
    "commit_delay",
    "effective_io_concurrency",
    "fsync",
    "full_page_writes",
    "hot_standby_feedback",
    "huge_pages",
    "jit",
    "logical_decoding_work_mem",
    "maintenance_work_mem",
    "max_connections",
    "max_logical_replication_workers",
    "max_prepared_transactions",
    "max_replication_slots",
    "max_slot_wal_keep_size",
    "max_sync_workers_per_subscription",
    "max_wal_senders",
    "max_wal_size",
    "max_worker_processes",
    "min_wal_size",
    "shared_buffers",
    "synchronous_commit",
    "temp_buffers",
    "track_io_timing",
    "track_wal_io_timing",
    "wal_buffers",
    "wal_compression",
    "wal_keep_size",
    "wal_level",
    "wal_receiver_status_interval",
    "wal_receiver_timeout",
    "wal_retrieve_retry_interval",
    "wal_sender_timeout",
    "wal_writer_delay",
    "work_mem",
];

/// The way out of a setting that a server lacks.
pub(super) fn way_out(setting: &str) -> String {
    let later = || LATER.iter().flat_map(|(since, names)| names.iter().map(|name| (*since, *name)));
    if let Some((since, _)) = later().find(|(_, name)| *name == setting) {
        return format!("leave it out, or choose version \"{since}\" or later for this node, the first that has it");
    }
    match nearest(setting, later().map(|(_, name)| name).chain(COMMON.iter().copied())) {
        Some(name) => format!("did you mean `{name}`?"),
        None => "leave it out, or choose another version for this node".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_version_is_named_and_a_misspelt_name_is_mended() {
        assert!(way_out("io_method").contains("\"18\""));
        assert_eq!(way_out("io_methd"), "did you mean `io_method`?");
        assert_eq!(way_out("wal_lvel"), "did you mean `wal_level`?");
        assert!(way_out("frobnicate").starts_with("leave it out"));
    }
}
