//! Small containers that the standard library lacks, and the shared text.

pub mod fifo;
pub mod first;
pub mod shared_text;
