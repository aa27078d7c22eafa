//! A position in the write-ahead log.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A log sequence number: bytes since the beginning of the WAL. Text form as PostgreSQL prints it (`0/16B3748`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Lsn(pub u64);

impl Lsn {
    /// Bytes from `earlier` to this position, 0 if it is not later.
    pub fn bytes_since(self, earlier: Lsn) -> u64 {
        self.0.saturating_sub(earlier.0)
    }
}

impl fmt::Display for Lsn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:X}/{:X}", self.0 >> 32, self.0 & 0xFFFF_FFFF)
    }
}

/// A text that is not an LSN.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("`{0}` is not an LSN such as 0/16B3748")]
pub struct NotAnLsn(String);

impl FromStr for Lsn {
    type Err = NotAnLsn;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let wrong = || NotAnLsn(text.to_owned());
        let (high, low) = text.split_once('/').ok_or_else(wrong)?;
        let part = |text: &str| u32::from_str_radix(text, 16).map_err(|_| wrong());
        Ok(Lsn(u64::from(part(high)?) << 32 | u64::from(part(low)?)))
    }
}

impl Serialize for Lsn {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Lsn {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn an_lsn_reads_back_as_printed(position: u64) {
            prop_assert_eq!(Lsn(position).to_string().parse::<Lsn>(), Ok(Lsn(position)));
        }
    }

    #[test]
    fn what_is_no_lsn_is_refused() {
        for text in ["", "0", "0/", "G/0", "0/123456789"] {
            assert!(text.parse::<Lsn>().is_err(), "{text}");
        }
    }
}
