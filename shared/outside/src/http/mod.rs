//! Guarded clients for external systems, and the Secrets they may use.
//!
//! Both programs speak to systems that nobody here controls: slow, broken, compromised, or simply not the system that
//! the target's author meant. Every bound that protects us from them, and every bound that protects their
//! credentials, stands in this folder. It must not know what a poll or a correction is.

mod answer;
mod auth;
mod authorized;
mod challenge;
mod client;
mod clients;
mod connector;
mod deadline;
mod failure;
mod memory;
mod oauth2;
mod opened;
mod options;
mod outgoing;
mod packed;
mod progress;
mod reply;
mod resolver;
mod retry_after;
mod sender;
mod sent;
mod tls;
mod token_request;
mod tokens;

#[cfg(test)]
mod tests;

pub use answer::{Answer, Unreadable};
pub use deadline::before_deadline;
pub use failure::HttpFailure;
pub use memory::{MAX_BYTES_KEPT, Room};
pub use options::HttpOptions;
pub use progress::{ExchangeProgress, heard};
pub use reply::{HttpReply, ReplyBody};
pub use retry_after::{MAX_RETRY_AFTER, PAUSE_WHEN_NOT_TOLD, retry_after};
pub use sender::HttpSender;
pub use sent::SentCredentials;
