//! What pgbench tells of a load that it ran: its closing report ([`Output`]), its log of transactions ([`LogReader`]), read
//! while it grows ([`Follower`]). Starting the process and its life are the caller's; how it is called is the plan's.

mod follow;
mod log;
mod output;

pub use follow::{FollowError, Followed, Follower};
pub use log::{Counted, LogForm, LogLine, LogReader, UnreadableLine};
pub use output::{Output, Told, complaint};
