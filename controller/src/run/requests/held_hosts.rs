//! What a correction holds of the hosts that it asks: a place among the requests to one, and leave to ask the silent ones.
//!
//! A silent host is asked by one request at a time. Leave for that is taken before anything is written, so that of many corrections
//! that wait for such a host one lays its claim.

use std::collections::{BTreeSet, HashMap};

use drift_api::timing::moment::Moment;
use drift_systems::{HostGate, Permit, Probe};

/// A place among the requests to one host.
#[derive(Debug)]
pub struct HostPlace {
    pub(super) host: String,
    pub(super) permit: Permit,
}

/// The places that a correction holds. Unused ones are given back on drop.
#[derive(Debug, Default)]
pub struct HeldHosts {
    /// A place at the host of the first request.
    pub place: Option<HostPlace>,
    /// Leave to ask those that are silent.
    pub(super) probes: HashMap<String, Probe>,
}

impl HeldHosts {
    /// Takes leave to ask all of these hosts.
    ///
    /// # Errors
    /// Until when one of them is to be left alone.
    pub fn take_probes(&mut self, gate: &HostGate, hosts: BTreeSet<String>, now: Moment) -> Result<(), Moment> {
        for host in hosts {
            if let Some(probe) = gate.take_probe(&host, now).map_err(|pause| pause.until)? {
                self.probes.insert(host, probe);
            }
        }
        Ok(())
    }
}
