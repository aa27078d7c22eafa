//! What a report says of the machine. Only the facts: reading them is the probe's.

use serde::{Deserialize, Serialize};

/// Facts of a host. What could not be read is absent, not guessed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct HostFacts {
    /// The CPU's own name, such as `Apple M1 Pro`.
    pub cpu_model: Option<String>,
    /// Logical cores.
    pub cores: Option<usize>,
    /// Physical cores.
    pub physical_cores: Option<usize>,
    /// Cores the runner may use, by affinity and control group.
    pub usable_cores: Option<usize>,
    /// Main memory.
    pub memory_bytes: Option<u64>,
    /// The operating system with its version, such as `Linux (Debian GNU/Linux 12)`.
    pub os: Option<String>,
    /// The kernel's version.
    pub kernel: Option<String>,
    /// The architecture, such as `x86_64`.
    pub architecture: Option<String>,
    /// The frequency governors in use, each once; absent where the kernel does not govern frequency (most virtual
    /// machines, macOS).
    pub governor: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn facts_that_were_not_written_are_unknown() {
        let facts: HostFacts = serde_json::from_str(r#"{ "cores": 2, "later": true }"#).expect("all are optional");
        assert_eq!(facts, HostFacts { cores: Some(2), ..HostFacts::default() });
    }
}
