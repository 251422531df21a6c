//! A text that never changes and that many keep: an object's uid, its names, its fields as templates see them.
//!
//! A uid alone is kept in a dozen places of each program, and there are as many as there are objects. So it is one pointer, where an
//! `Arc<str>` is a pointer and a length.

/// A text with a count of those who keep it.
pub type SharedText = arcstr::ArcStr;

/// The uid of an object.
pub type Uid = SharedText;

/// A text of the program itself, which takes no memory of its own.
pub use arcstr::literal;
