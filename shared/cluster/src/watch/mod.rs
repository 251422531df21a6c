//! Lists and watches: collections kept in step with the API server, and what is kept of them.
//!
//! It must not know what is done with an object.

pub(crate) mod collection;
pub(crate) mod objects;
mod secrets;
pub(crate) mod store;

pub use objects::{ObjectEvent, WatchRequest, watch_objects};
pub use secrets::SecretWatch;
