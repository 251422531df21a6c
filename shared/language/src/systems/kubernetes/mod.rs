//! Objects of the cluster.

pub(crate) mod correct;
pub(crate) mod read;
