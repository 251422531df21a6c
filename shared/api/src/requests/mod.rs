//! Rendered requests to external systems, and the Jobs that send some of them.

pub mod http_request;
pub mod job;
pub mod ldap;
pub mod sql_dialect;
pub mod sql_query;
pub mod sql_state;
