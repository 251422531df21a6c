//! Guarded clients for external systems.
//!
//! External systems are outside of our control: slow, broken, compromised, or not the system that the
//! target's author intended.

mod credential_values;
pub mod guard;
pub mod http;
pub mod ldap;
pub mod refusal;
pub mod sessions;
pub mod sql;

pub use credential_values::{credentials_of_correct, credentials_of_read};
pub use guard::failure::SystemFailure;
pub use guard::host_gate::{HOST_CONCURRENCY, HostGate, Permit, Probe};
pub use guard::host_health::{HostReply, Pause, PauseCause};
pub use guard::roots::{NoBundle, add_to_system_roots};
pub use guard::write_progress::WriteProgress;
pub use http::{
    Answer, BadProxyUrl, ExchangeProgress, HttpFailure, HttpOptions, HttpReply, HttpSender, MAX_BYTES_KEPT,
    MAX_RETRY_AFTER, NoProxy, PAUSE_WHEN_NOT_TOLD, ProgramProxy, ProjectedTokens, RecordedExchange, RecordedExchanges,
    ReplyBody, Room, SentCredentials, Unreadable,
};
pub use http::{before_deadline, count_as_denied, count_as_limited, heard, retry_after};
pub use ldap::{DirectoryParameters, DirectoryServer, LdapFailure, ResultCode, SearchAnswer};
pub use refusal::{RefusalReason, ServerText};
pub use sql::{
    ConnectionParameters, ConnectionPlace, Databases, Listener, QueryOptions, RunOptions, SqlFailure, SqlState,
    SslMode, StatementFailure, Way, WriteStatement,
};
