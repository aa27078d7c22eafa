//! The host: what it is, and how busy it was between two moments.
//!
//! Nothing here changes the host; pinning and governors are the user's to set.
use super::ProbeError;
use crate::measure::HostFacts;
use serde::{Deserialize, Serialize};
use sysinfo::{CpuRefreshKind, MemoryRefreshKind, RefreshKind, System};

/// Reads the facts of this host; takes a few milliseconds.
pub fn read_host_facts() -> Result<HostFacts, ProbeError> {
    let wanted =
        RefreshKind::nothing().with_cpu(CpuRefreshKind::nothing()).with_memory(MemoryRefreshKind::nothing().with_ram());
    let system = System::new_with_specifics(wanted).map_err(|error| ProbeError::Read {
        what: "the facts of this host".to_owned(),
        source: std::io::Error::other(error.to_string()),
    })?;
    let model = system.cpus().first().map(|cpu| cpu.brand().trim().to_owned());
    Ok(HostFacts {
        cpu_model: model.filter(|model| !model.is_empty()),
        cores: Some(system.cpus().len()).filter(|cores| *cores > 0),
        physical_cores: System::physical_core_count().ok(),
        usable_cores: std::thread::available_parallelism().ok().map(Into::into),
        memory_bytes: Some(system.total_memory()).filter(|bytes| *bytes > 0),
        os: System::long_os_version().ok(),
        kernel: System::kernel_version().ok(),
        architecture: Some(std::env::consts::ARCH.to_owned()),
        governor: governor(),
    })
}

/// Where Linux keeps each core's governor.
fn governor() -> Option<String> {
    let mut governors: Vec<String> = std::fs::read_dir("/sys/devices/system/cpu")
        .ok()?
        .filter_map(|entry| {
            let file = entry.ok()?.path().join("cpufreq/scaling_governor");
            Some(std::fs::read_to_string(file).ok()?.trim().to_owned())
        })
        .collect();
    governors.sort();
    governors.dedup();
    (!governors.is_empty()).then(|| governors.join(", "))
}

/// The host's CPU time since it booted, all cores together, in clock ticks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HostTimes {
    all: u64,
    idle: u64,
    steal: u64,
}

/// How the host's cores were used between two moments, as shares of all of their time.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct HostUse {
    /// The share that was not idle, waiting for I/O counted as idle and stolen time as busy: it
    /// was not to be had.
    pub busy: f64,
    /// The share that the hypervisor gave to others while this host wanted it.
    pub steal: f64,
}

impl HostTimes {
    /// Reads the counters.
    #[cfg(target_os = "linux")]
    pub fn take() -> Result<Self, ProbeError> {
        const FILE: &str = "/proc/stat";
        let text =
            std::fs::read_to_string(FILE).map_err(|source| ProbeError::Read { what: FILE.to_owned(), source })?;
        let first = text.lines().next().unwrap_or_default();
        Self::parse(first).ok_or_else(|| ProbeError::Malformed { what: FILE.to_owned(), text: first.to_owned() })
    }

    /// Reads the counters; not available here.
    #[cfg(not(target_os = "linux"))]
    pub fn take() -> Result<Self, ProbeError> {
        Err(ProbeError::Unavailable { what: "how busy the host is" })
    }

    /// The line `cpu user nice system idle iowait irq softirq steal guest guest_nice` of proc_stat(5).
    #[cfg_attr(not(target_os = "linux"), expect(dead_code, reason = "Linux's format"))]
    fn parse(line: &str) -> Option<Self> {
        let mut words = line.split_whitespace();
        if words.next() != Some("cpu") {
            return None;
        }
        // A guest's time is in user's and nice's already.
        let ticks: Vec<u64> = words.take(8).map(str::parse).collect::<Result<_, _>>().ok()?;
        let [_, _, _, idle, iowait, ..] = ticks[..] else {
            return None;
        };
        Some(Self { all: ticks.iter().sum(), idle: idle + iowait, steal: ticks.get(7).copied().unwrap_or(0) })
    }

    /// The use since `earlier`; `None` if not a single tick has passed. A window of one second on
    /// two cores has 200 ticks, so a share is known to about a hundredth.
    pub fn since(&self, earlier: &HostTimes) -> Option<HostUse> {
        let all = self.all.checked_sub(earlier.all).filter(|all| *all > 0)? as f64;
        // The kernel's own idle and iowait counters may step back by a tick.
        let idle = self.idle.saturating_sub(earlier.idle) as f64;
        let steal = self.steal.saturating_sub(earlier.steal) as f64;
        Some(HostUse { busy: (1.0 - idle / all).clamp(0.0, 1.0), steal: (steal / all).clamp(0.0, 1.0) })
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]
    use super::*;

    #[test]
    #[cfg(target_os = "linux")]
    fn waiting_for_io_is_idle_and_stolen_time_is_busy() {
        let earlier = HostTimes::parse("cpu  100 0 50 1000 20 0 5 10 0 0").unwrap();
        let later = HostTimes::parse("cpu  160 0 70 1070 30 5 10 40 30 0").unwrap();
        // 60 user, 20 system, 70 idle, 10 iowait, 5 irq, 5 softirq, 30 steal: 200 in all.
        let used = later.since(&earlier).unwrap();
        assert!((used.busy - 0.6).abs() < 1e-12 && (used.steal - 0.15).abs() < 1e-12);
        assert_eq!(earlier.since(&earlier), None);
        assert_eq!(earlier.since(&later), None);
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_line_that_is_not_the_sum_of_the_cores_is_refused() {
        for line in ["cpu0 1 2 3 4 5", "cpu 1 2", "cpu a b c d e", ""] {
            assert_eq!(HostTimes::parse(line), None, "{line}");
        }
    }

    #[test]
    fn this_host_has_cores_and_memory() {
        let facts = read_host_facts().unwrap();
        assert!(facts.cores.unwrap() > 0 && facts.memory_bytes.unwrap() > 1 << 20);
        let json = serde_json::to_string(&facts).unwrap();
        assert_eq!(serde_json::from_str::<HostFacts>(&json).unwrap(), facts);
    }
}
