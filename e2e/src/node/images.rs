//! The images on the node: the two programs' from the unchanged Dockerfiles, the pause image, and a tool for Jobs.
//!
//! Built images are kept in the user's cache folder under a hash of their sources, so an unchanged checkout builds
//! nothing. [`builder`] abstracts the build tool, [`bases`] provides the base images, and [`image_cache`] combines
//! them.

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
