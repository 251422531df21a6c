//! What reading and correcting by HTTP share: requests, headers, credentials, statuses.

pub(crate) mod auth;
pub(crate) mod body;
pub(crate) mod challenge;
pub(crate) mod headers;
pub(crate) mod oauth2;
pub(crate) mod request;
pub(crate) mod secret_key;
pub(crate) mod socket;
pub(crate) mod statuses;
pub(crate) mod tls;
