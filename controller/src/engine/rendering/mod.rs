//! The requests of a correction, rendered from the object: HTTP steps, statements, changes of directories, manifests, nudges and Jobs.

pub mod api_refusal;
pub mod desired;
pub mod http;
pub mod job;
pub mod kubernetes;
pub mod ldap;
pub mod nudge;
pub mod plan;
pub mod secrets;
pub mod sql;
mod steps;
pub mod unrenderable;
