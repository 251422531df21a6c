//! What the poller decides, as functions over values.
//!
//! Nothing here knows of tasks, clients, clocks or the environment: time comes in as a value, and what is to be
//! done goes out as one.

pub mod announcement;
pub mod authenticity;
pub mod confirmation;
pub mod credentials;
pub mod deletion;
pub mod description;
pub mod difference;
pub mod drift;
pub mod entity_tag;
pub mod entries;
pub mod finding;
pub mod flapping;
pub mod hints;
pub mod known_finding;
pub mod overview;
pub mod owing;
pub mod pace;
pub mod poll_turns;
pub mod prepared;
pub mod read_rules;
pub mod reading;
pub mod rendered;
pub mod reply;
pub mod request;
pub mod resources;
pub mod roster;
pub mod rows;
pub mod schedule;
pub mod slow_lane;
pub mod track;
pub mod traversal;
pub mod traversals;
pub mod urgency;
pub mod verdict;
pub mod watched_resources;
pub mod write_attempts;

#[cfg(test)]
pub(crate) mod fixtures;
