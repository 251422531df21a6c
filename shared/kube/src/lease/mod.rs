//! Leases: each program's own is taken, renewed, lost and released, and another program's is observed.

mod candidate;
mod election;
mod leader_gauge;
mod leadership;
mod observed;
pub mod rules;
mod store;
#[cfg(test)]
mod tests;
mod work_heartbeat;

pub use candidate::LeaseSettings;
pub use election::{LeaseTask, lease};
pub use leader_gauge::show_leader;
pub use leadership::{Leadership, LeaseHandle};
pub use observed::{LeaseWatch, ObservedLease};
pub use store::read_lease;
pub use work_heartbeat::Turning;
