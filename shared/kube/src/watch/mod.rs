//! Lists and watches: collections kept in step with the API server, and what is kept of them.

pub(crate) mod collection;
mod heard;
mod objects;
mod readable_secrets;
mod resource_changes;
mod secrets;
pub(crate) mod store;

pub use collection::Change;
pub use heard::HeardVersions;
pub use objects::follow_objects;
pub use readable_secrets::ReadableSecrets;
pub use resource_changes::{ResourceNews, hear_of_changes};
pub use secrets::{SecretWatch, read_secret};
