//! The sections of the document that say how one kind of system is read and corrected, one folder for each kind.

pub(crate) mod http;
pub(crate) mod job;
pub(crate) mod kubernetes;
pub(crate) mod nudge;
pub(crate) mod postgres;
