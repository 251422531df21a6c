//! The images on the node: the two programs', built from the two Dockerfiles as they are, and the one that holds a
//! Pod's namespaces, and one for Jobs to run.
//!
//! What was built is kept in the user's cache folder under a hash of all that it was built from, so that an
//! unchanged checkout builds nothing. What builds is hidden in [`builder`], what is built on in [`bases`]; [`image_cache`] brings them together.

mod again;
mod archive;
mod bases;
mod buildah;
mod builder;
mod docker;
mod image_cache;
mod workspace;

pub use again::{Again, BuiltTwice, build_again};
pub(super) use docker::answers as docker_answers;
pub use image_cache::JOB_TOOL;
pub(super) use image_cache::{PAUSE, built};
