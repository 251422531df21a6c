//! Which Lease a program holds, and as who. It must not know how it is held.

use std::collections::BTreeMap;

use crate::telemetry::health::Part;

/// Which Lease, and as who.
pub struct LeaseSettings {
    /// The namespace of the Lease.
    pub namespace: String,
    /// Its name: `names::POLLER_LEASE` or `names::CONTROLLER_LEASE` where nobody chose another.
    pub name: String,
    /// What this process is called; the holder's name is this and random digits.
    pub instance: String,
    /// The field manager.
    pub manager: &'static str,
    /// Annotations that taking the Lease sets, whatever stood there before.
    pub on_take: BTreeMap<String, String>,
    /// Says in `/readyz` whether the Lease can be read and written.
    pub part: Part,
}
