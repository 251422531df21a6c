//! Collections: one list that answers for many objects, page by page.

pub mod traversal;
pub mod traversals;
