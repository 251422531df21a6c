//! Places that a correction holds at hosts: one place among the requests to a host, and probes of unresponsive hosts.
//!
//! An unresponsive host gets one request at a time. The probe is acquired before anything is written, so that of many
//! corrections that wait for such a host only one writes its claim.

use std::collections::{BTreeSet, HashMap};

use drift_api::timing::moment::Moment;
use drift_systems::{HostGate, Permit, Probe};

/// A place among the requests to one host.
#[derive(Debug)]
pub struct HostPlace {
    pub(super) host: String,
    pub(super) permit: Permit,
}

/// Places that a correction holds. Dropping this value releases unused ones.
#[derive(Debug, Default)]
pub struct HeldHosts {
    /// Place at the host of the first request.
    pub place: Option<HostPlace>,
    /// Probes of unresponsive hosts.
    pub(super) probes: HashMap<String, Probe>,
}

impl HeldHosts {
    /// Acquires probes for all of these hosts that are unresponsive.
    ///
    /// # Errors
    /// Returns the end of the delay that a host asked for.
    pub fn take_probes(&mut self, gate: &HostGate, hosts: BTreeSet<String>, now: Moment) -> Result<(), Moment> {
        for host in hosts {
            if let Some(probe) = gate.take_probe(&host, now).map_err(|pause| pause.until)? {
                self.probes.insert(host, probe);
            }
        }
        Ok(())
    }
}
