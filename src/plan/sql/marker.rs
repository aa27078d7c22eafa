//! The marker: a row in the runner's own table that says when everything before it has arrived.
//!
//! It travels in a publication of its own, since FOR ALL TABLES cannot be added to and a publication of updates
//! would swallow the row. The table has no key: a node that gets the row through two subscriptions gets it twice.

use crate::spec::scenario::MarkerCommit;

/// The table, in schema `public`.
pub const TABLE: &str = "runner_marker";
/// The publication.
pub const PUBLICATION: &str = "runner_marker";
/// The channel on which a subscriber tells that the row has come.
pub const CHANNEL: &str = "runner_marker";

/// On every node.
pub const CREATE_TABLE: &str = "CREATE TABLE public.runner_marker (id bigint NOT NULL)";

/// On every node that subscribes: the apply worker fires only triggers that are enabled for it.
pub const CREATE_TRIGGER: &str = "CREATE FUNCTION public.runner_marker_seen() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN PERFORM pg_catalog.pg_notify('runner_marker', NEW.id::text); RETURN NULL; END $$;
CREATE TRIGGER runner_marker_seen AFTER INSERT ON public.runner_marker
  FOR EACH ROW EXECUTE FUNCTION public.runner_marker_seen();
ALTER TABLE public.runner_marker ENABLE ALWAYS TRIGGER runner_marker_seen";

/// On every node that publishes.
pub const CREATE_PUBLICATION: &str =
    "CREATE PUBLICATION runner_marker FOR TABLE ONLY public.runner_marker WITH (publish = 'insert')";

/// The marker's commit. Flushed, a walsender can send it at once; as the load commits, an idle system with
/// `synchronous_commit = off` would add the WAL writer's sleep of up to 200 ms.
pub fn insert(id: u64, commit: MarkerCommit) -> String {
    let insert = format!("INSERT INTO public.runner_marker VALUES ({id})");
    match commit {
        MarkerCommit::Flushed => format!("BEGIN; SET LOCAL synchronous_commit = local; {insert}; COMMIT"),
        MarkerCommit::AsLoad => insert,
    }
}

/// How often the row is there.
pub fn count(id: u64) -> String {
    format!("SELECT count(*) FROM public.runner_marker WHERE id = {id}")
}
