//! One poll: the request of an object, and the observation that an answer gives.

pub mod entity_tag;
pub mod entries;
pub mod known_finding;
pub mod read_rules;
pub mod reading;
pub mod reply;
pub mod request;
pub mod resources;
pub mod rows;
