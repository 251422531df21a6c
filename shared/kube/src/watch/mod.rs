//! Lists and watches: collections kept in sync with the API server, and their kept content.

pub(crate) mod collection;
mod objects;
mod readable_secrets;
mod resource_changes;
mod resume_versions;
mod secrets;
pub(crate) mod store;

pub use collection::Change;
pub use objects::{follow_objects, follow_reports};
pub use readable_secrets::ReadableSecrets;
pub use resource_changes::{ResourceNews, hear_of_changes};
pub use resume_versions::HeardVersions;
pub use secrets::{SecretWatch, read_secret};
