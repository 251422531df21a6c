//! The common vocabulary of both programs: names, time as a value, the two conditions, the lean object, identity, requests.
//!
//! Pure: functions over values.

pub mod approval;
pub mod attestation;
pub mod collections;
pub mod condition;
pub mod held_corrections;
pub mod identity;
pub mod lease;
pub mod mutants;
pub mod names;
pub mod object;
pub mod printable;
pub mod requests;
pub mod resource_version;
pub mod secrets;
mod short_hash;
pub mod timing;
