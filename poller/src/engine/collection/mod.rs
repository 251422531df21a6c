//! Collections: one list that answers for many objects, page by page.

pub mod requests;
pub mod traversal;
