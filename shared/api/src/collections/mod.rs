//! Containers for a hundred thousand objects in little memory.

pub mod by_uid;
pub mod fifo;
pub mod first;
pub mod shared_text;
