//! What both programs speak of: names, time as a value, the two conditions, the lean object, identity, requests.
//!
//! Pure: functions over values. It must not know clients, tasks, clocks, or how targets are written.

pub mod backoff;
pub mod by_uid;
pub mod cluster_resource;
pub mod condition;
pub mod field_paths;
pub mod fifo;
pub mod first;
pub mod http_request;
pub mod identity;
pub mod job;
pub mod kept_fields;
pub mod labelled_secrets;
pub mod moment;
pub mod names;
pub mod object;
pub mod object_view;
pub mod packed_text;
pub mod printable;
pub mod resource_version;
pub mod secret_names;
pub mod shared_text;
mod short_hash;
pub mod sql_query;
pub mod sql_state;
pub mod token_bucket;
pub mod voucher;
pub mod work_queue;
