//! External resources that are objects of the cluster.

pub(crate) mod correct;
pub(crate) mod read;
