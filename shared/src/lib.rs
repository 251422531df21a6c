//! What the drift poller and the drift controller both speak: names, conditions, the target language, the API server.
//!
//! There is no poll and no correction here. `clean_up`, `condition`, `target` and `template` are pure; `outside` and `runtime`
//! do the I/O that both programs need in the same way.

pub mod clean_up;
pub mod condition;
pub mod identity;
pub mod line;
pub mod moment;
pub mod names;
pub mod object;
pub mod outside;
pub mod runtime;
pub mod sightings;
pub mod target;
pub mod template;
pub mod token_bucket;
pub mod voucher;
