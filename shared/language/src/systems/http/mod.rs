//! Reads from and corrections of HTTP servers.

pub(crate) mod auth;
pub(crate) mod collection;
pub(crate) mod correct;
pub(crate) mod correct_step;
pub(crate) mod for_each;
pub(crate) mod format;
pub(crate) mod insecure;
pub(crate) mod proxy;
pub(crate) mod read;
pub(crate) mod read_step;
pub(crate) mod request;
pub(crate) mod scope;
pub(crate) mod socket;
pub(crate) mod statuses;
pub(crate) mod tls;
