//! The common vocabulary of both programs: names, time as a value, the two conditions, the lean object, identity.
//!
//! Pure: functions over values.

pub mod approval;
pub mod attestation;
pub mod collections;
pub mod condition;
mod facts;
pub mod held_corrections;
pub mod identity;
pub mod lease;
pub mod names;
pub mod object;
pub mod printable;
pub mod resource_version;
pub mod secrets;
mod short_hash;
pub mod timing;
pub mod unwritten;

pub use short_hash::short_hash;
