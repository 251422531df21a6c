//! The instance name of this process.
//!
//! Two processes with the same name could both consider themselves the holder of one Lease. So a holder's name ends
//! with random digits that no other process has, not even the next one in the same pod.

use std::hash::{BuildHasher, Hasher, RandomState};

/// File with the host name, which in a Pod is the Pod's name.
const HOSTNAME_FILE: &str = "/proc/sys/kernel/hostname";

/// Returns the default name of this process: the host's, and random digits.
#[must_use]
pub fn default_instance() -> String {
    let host = std::fs::read_to_string(HOSTNAME_FILE).unwrap_or_default();
    let host = host.trim();
    let host = if host.is_empty() { "local" } else { host };
    unique(host)
}

/// Returns the name with random digits appended.
#[must_use]
pub fn unique(name: &str) -> String {
    format!("{name}-{:08x}", random() & 0xffff_ffff)
}

/// Returns a unique number. The standard library's hash keys come from the operating system's randomness.
pub(crate) fn random() -> u64 {
    RandomState::new().build_hasher().finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_processes_of_one_host_differ() {
        assert_ne!(default_instance(), default_instance());
        assert!(unique("pod-1").starts_with("pod-1-"));
    }
}
