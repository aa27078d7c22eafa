//! CPU of a node's server processes: a reading at each edge of a window, and what lies between two.
//!
//! How a reading is taken differs by system (`cpu_linux.rs`, `cpu_macos.rs`); here is the
//! arithmetic. Live processes count in nanoseconds by role. Those that ended in between are known
//! only as a sum that the postmaster has reaped, in clock ticks; it is shown, never dropped.
//! Kernel work outside of any process (writeback, softirqs) is in no figure.
use super::{ProbeError, Role};
use std::collections::{BTreeMap, HashMap};

#[cfg(target_os = "linux")]
use super::cpu_linux as system;
#[cfg(target_os = "macos")]
use super::cpu_macos as system;

/// One process at one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProcessCpu {
    /// Its pid.
    pub pid: u32,
    /// When it started, in the system's own unit: with the pid it names the process for good.
    pub started: u64,
    /// CPU used since its start, with that of its own ended children, in nanoseconds.
    pub cpu_ns: u64,
    /// Its title, such as `postgres: walwriter`.
    pub title: String,
}

/// A node's processes at one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CpuReading {
    /// The postmaster itself, without any children.
    pub postmaster: ProcessCpu,
    /// CPU of all children that the postmaster has reaped so far, in nanoseconds (on Linux whole ticks of 10 ms).
    pub reaped_ns: u64,
    /// Its live children.
    pub children: Vec<ProcessCpu>,
    /// Whether no child ended while the reading was taken; if one did in every attempt, the
    /// figures may be wrong by what it used.
    pub settled: bool,
}

/// What a node used between two readings, in nanoseconds.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CpuUse {
    /// Live children by role, without the runner's own sessions.
    pub by_role: BTreeMap<Role, u64>,
    /// Children that ended in between and whose role is no longer known, in steps of a tick.
    pub exited_ns: u64,
    /// The runner's own sessions, which are in no other figure.
    pub own_sessions_ns: u64,
    /// The postmaster itself.
    pub postmaster_ns: u64,
    /// Whether both readings were settled.
    pub settled: bool,
}

/// CPU nanoseconds of one process, with the children that it waited for; `None` if it has ended.
#[cfg(any(target_os = "linux", target_os = "macos"))]
pub fn process_cpu(pid: u32) -> Result<Option<u64>, ProbeError> {
    system::read_process(pid)
}

/// CPU nanoseconds of one process; not available here.
#[cfg(not(any(target_os = "linux", target_os = "macos")))]
pub fn process_cpu(_pid: u32) -> Result<Option<u64>, ProbeError> {
    Err(ProbeError::Unavailable { what: "CPU of a process" })
}

impl CpuReading {
    /// Reads the processes of the postmaster `postmaster_pid`; retried while a child ends under it.
    #[cfg(any(target_os = "linux", target_os = "macos"))]
    pub fn take(postmaster_pid: u32) -> Result<Self, ProbeError> {
        system::read(postmaster_pid)
    }

    /// Reads the processes of the postmaster `postmaster_pid`; not available here.
    #[cfg(not(any(target_os = "linux", target_os = "macos")))]
    pub fn take(_postmaster_pid: u32) -> Result<Self, ProbeError> {
        Err(ProbeError::Unavailable { what: "CPU of server processes" })
    }

    /// Sessions of clients that have come since `earlier` and are still there, with those that have ended and are yet to
    /// be reaped; `own_sessions` are none.
    pub fn new_clients(&self, earlier: &CpuReading, own_sessions: &[u32]) -> usize {
        let is_new = |child: &&ProcessCpu| !earlier.children.iter().any(|known| known.is(child));
        let is_client =
            |child: &&ProcessCpu| child.title.is_empty() || Role::of_title(&child.title) == Role::ClientBackend;
        self.children.iter().filter(is_new).filter(is_client).filter(|child| !own_sessions.contains(&child.pid)).count()
    }

    /// What was used since `earlier`, with the sessions of `own_sessions` (backend pids) set apart.
    ///
    /// An own session that has ended is in `exited_ns`, so keep them open across a window. A
    /// reading of another postmaster counts as none: the node was started in between.
    pub fn since(&self, earlier: &CpuReading, own_sessions: &[u32]) -> CpuUse {
        let same_node = self.postmaster.is(&earlier.postmaster);
        let before: &[ProcessCpu] = if same_node { &earlier.children } else { &[] };
        let mut not_seen_again: HashMap<(u32, u64), &ProcessCpu> =
            before.iter().map(|child| ((child.pid, child.started), child)).collect();
        let mut used = CpuUse { settled: self.settled && earlier.settled, ..CpuUse::default() };
        for child in &self.children {
            let before = not_seen_again.remove(&(child.pid, child.started));
            let ns = child.cpu_ns.saturating_sub(before.map_or(0, |before| before.cpu_ns));
            if own_sessions.contains(&child.pid) {
                used.own_sessions_ns += ns;
            } else {
                match child.role(before) {
                    Role::Exited => used.exited_ns += ns,
                    role => *used.by_role.entry(role).or_default() += ns,
                }
            }
        }
        // Reaped figures hold the whole life of a child; what it had used before the window does
        // not belong to it. Ticks are cut off, so the remainder may be a tick short of zero.
        let lived_before: u64 = not_seen_again.values().map(|child| child.cpu_ns).sum();
        let (postmaster_before, reaped_before) =
            if same_node { (earlier.postmaster.cpu_ns, earlier.reaped_ns) } else { (0, 0) };
        used.exited_ns += self.reaped_ns.saturating_sub(reaped_before + lived_before);
        used.postmaster_ns = self.postmaster.cpu_ns.saturating_sub(postmaster_before);
        used
    }
}

impl ProcessCpu {
    fn is(&self, other: &Self) -> bool {
        self.pid == other.pid && self.started == other.started
    }

    /// Its role by its title. A zombie, which the postmaster has yet to reap, has none left: it
    /// keeps the role it had at the earlier reading, or counts as exited if it was not in that.
    fn role(&self, before: Option<&Self>) -> Role {
        match before {
            _ if self.title.starts_with("postgres: ") => Role::of_title(&self.title),
            Some(before) => Role::of_title(&before.title),
            None if self.title.is_empty() => Role::Exited,
            None => Role::Other,
        }
    }
}

impl CpuUse {
    /// All of the node's CPU but that of the runner's own sessions.
    pub fn total_ns(&self) -> u64 {
        self.by_role.values().sum::<u64>() + self.exited_ns + self.postmaster_ns
    }

    /// Every role with its nanoseconds, the postmaster and the exited among them, by name.
    pub fn named_ns(&self) -> BTreeMap<&'static str, u64> {
        let mut named: BTreeMap<&'static str, u64> = self.by_role.iter().map(|(role, ns)| (role.name(), *ns)).collect();
        named.insert(Role::Postmaster.name(), self.postmaster_ns);
        named.insert(Role::Exited.name(), self.exited_ns);
        named
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn process(pid: u32, started: u64, cpu_ns: u64, title: &str) -> ProcessCpu {
        ProcessCpu { pid, started, cpu_ns, title: title.to_owned() }
    }

    fn reading(postmaster_ns: u64, reaped_ns: u64, children: Vec<ProcessCpu>) -> CpuReading {
        CpuReading { postmaster: process(100, 1, postmaster_ns, "postgres"), reaped_ns, children, settled: true }
    }

    const CLIENT: &str = "postgres: u d [local] idle";
    const WALWRITER: &str = "postgres: walwriter ";

    #[test]
    fn live_processes_are_booked_by_role_and_new_ones_from_zero() {
        let earlier = reading(5, 0, vec![process(1, 2, 100, WALWRITER), process(2, 3, 1_000, CLIENT)]);
        let later =
            reading(9, 0, vec![process(1, 2, 130, WALWRITER), process(2, 3, 1_400, CLIENT), process(3, 9, 70, CLIENT)]);
        let used = later.since(&earlier, &[]);
        assert_eq!(used.by_role, BTreeMap::from([(Role::ClientBackend, 470), (Role::Walwriter, 30)]));
        assert_eq!((used.postmaster_ns, used.exited_ns), (4, 0));
        assert_eq!(used.total_ns(), 504);
        assert_eq!(used.named_ns()["postmaster"], 4);
    }

    #[test]
    fn a_process_that_exited_counts_only_what_it_used_inside_the_window() {
        let earlier = reading(0, 30_000_000, vec![process(2, 3, 40_000_000, CLIENT)]);
        let later = reading(0, 120_000_000, vec![]);
        assert_eq!(later.since(&earlier, &[]).exited_ns, 50_000_000);
        // The tick it ended in has not come round: not below zero.
        let later = reading(0, 60_000_000, vec![]);
        assert_eq!(later.since(&earlier, &[]).exited_ns, 0);
    }

    #[test]
    fn a_reused_pid_is_another_process() {
        let earlier = reading(0, 0, vec![process(2, 3, 40_000_000, CLIENT)]);
        let later = reading(0, 50_000_000, vec![process(2, 8, 7, WALWRITER)]);
        let used = later.since(&earlier, &[]);
        assert_eq!(used.by_role, BTreeMap::from([(Role::Walwriter, 7)]));
        assert_eq!(used.exited_ns, 10_000_000);
    }

    #[test]
    fn the_runners_own_sessions_are_in_no_role() {
        let earlier = reading(0, 0, vec![process(2, 3, 10, CLIENT)]);
        let later = reading(0, 0, vec![process(2, 3, 15, CLIENT), process(3, 4, 6, CLIENT)]);
        let used = later.since(&earlier, &[3]);
        assert_eq!(used.own_sessions_ns, 6);
        assert_eq!(used.by_role, BTreeMap::from([(Role::ClientBackend, 5)]));
        assert_eq!(used.total_ns(), 5);
    }

    #[test]
    fn sessions_that_came_since_are_there_until_they_are_reaped() {
        let earlier = reading(0, 0, vec![process(2, 3, 10, CLIENT)]);
        let there = |children| reading(0, 0, children).new_clients(&earlier, &[9]);
        assert_eq!(there(vec![process(2, 3, 15, CLIENT), process(9, 4, 1, CLIENT), process(4, 5, 1, WALWRITER)]), 0);
        assert_eq!(there(vec![process(2, 8, 1, CLIENT), process(5, 6, 1, "")]), 2);
    }

    #[test]
    fn a_zombie_without_a_title_keeps_its_role() {
        let earlier = reading(0, 0, vec![process(2, 3, 10, CLIENT)]);
        let used = reading(0, 0, vec![process(2, 3, 25, "")]).since(&earlier, &[]);
        assert_eq!(used.by_role, BTreeMap::from([(Role::ClientBackend, 15)]));
    }

    #[test]
    fn a_zombie_that_came_and_went_within_the_window_has_exited() {
        let earlier = reading(0, 20_000_000, vec![]);
        let used = reading(0, 30_000_000, vec![process(2, 3, 25, "")]).since(&earlier, &[]);
        assert_eq!(used.by_role, BTreeMap::new());
        assert_eq!(used.exited_ns, 10_000_025);
    }

    #[test]
    fn a_restarted_postmaster_counts_from_its_start() {
        let earlier = reading(900, 70_000_000, vec![process(2, 3, 10, CLIENT)]);
        let mut later = reading(40, 20_000_000, vec![process(2, 3, 15, CLIENT)]);
        later.postmaster.started = 7;
        let used = later.since(&earlier, &[]);
        assert_eq!((used.postmaster_ns, used.exited_ns), (40, 20_000_000));
        assert_eq!(used.by_role[&Role::ClientBackend], 15);
    }
}
