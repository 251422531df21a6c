//! Collections: one list that answers for many objects, page by page.

pub mod entries;
pub mod requests;
pub mod traversal;
