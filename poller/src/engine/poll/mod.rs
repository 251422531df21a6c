//! One poll: the request of an object, and the observation from its response.

pub mod absence_answer;
pub mod cluster_resource;
pub mod entity_tag;
pub mod http_reading;
pub mod http_reply;
pub mod known_finding;
pub mod ldap_entry;
pub mod media_type;
pub mod request;
pub mod rows;
