//! An immutable shared text: an object's uid, its names, its fields as templates see them.
//!
//! A uid is stored in a dozen places of each program for every object. So it is a single pointer, while an
//! `Arc<str>` is a pointer and a length.

/// A reference-counted text.
pub type SharedText = arcstr::ArcStr;

/// The uid of an object.
pub type Uid = SharedText;

/// The hasher of maps that every poll asks. The API server makes uids at random, so no client can choose colliding ones.
pub use foldhash::fast::RandomState as UidHasher;

/// A text literal of the program, which needs no allocation.
pub use arcstr::literal;
