//! Guarded HTTP clients for external systems, and the Secrets that they may use.
//!
//! External systems are outside of our control: slow, broken, compromised, or not the system that the target's author
//! intended. Every limit that protects us and our credentials from them is in this folder.

mod auth;
mod exchange;
mod transport;

pub(crate) mod sender;
#[cfg(test)]
mod tests;

pub use auth::aws_denied::count_as_denied;
pub use auth::projected_token::ProjectedTokens;
pub use exchange::answer::{Answer, Unreadable, count_as_limited};
pub use exchange::failure::HttpFailure;
pub use exchange::memory::{MAX_BYTES_KEPT, Room};
pub use exchange::options::HttpOptions;
pub use exchange::progress::{ExchangeProgress, before_deadline, heard};
pub use exchange::recorded::{RecordedExchange, RecordedExchanges};
pub use exchange::reply::{HttpReply, ReplyBody};
pub use exchange::retry_after::{MAX_RETRY_AFTER, PAUSE_WHEN_NOT_TOLD, retry_after};
pub use exchange::sent::SentCredentials;
pub use sender::HttpSender;
pub use transport::proxy::{BadProxyUrl, NoProxy, ProgramProxy};
