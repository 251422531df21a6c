//! The shell against an API server and an external system that are functions: requests and their order.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod actor;
mod acts;
mod bench;
