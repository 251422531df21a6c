//! Executes the engine's decisions: watches, reads, writes, the status page, hints and metrics.

pub mod attestation;
pub mod condition_writes;
pub mod context;
pub(crate) mod hint_inbox;
pub mod hints;
pub mod metrics;
mod notices;
pub mod page;
pub mod rate_limit;
pub mod reads;
pub mod report_sweep;
pub mod target_actor;
pub mod target_metrics;
pub mod target_work;
