//! The shell that both programs share: the API server, leadership, configuration, events, telemetry.
//!
//! Everything that waits, connects or reads a clock, and that both need in the same way, is here; what is decided is
//! in the pure parts. It must not know of polls or corrections.

pub mod access;
pub mod admin;
mod clean_up;
pub mod client;
pub mod clock;
mod collection;
mod config_news;
mod config_watch;
pub mod document_counts;
mod event_budget;
mod events;
#[cfg(test)]
mod fake_api;
pub mod health;
pub mod instance;
pub mod kill_point;
mod kind_schema;
mod kind_search;
mod kinds;
mod last_good;
mod leadership;
mod lease;
pub mod lease_record;
mod lease_store;
#[cfg(test)]
mod lease_tests;
mod lease_watch;
pub mod metrics;
mod mirror;
mod note_board;
mod object_client;
mod object_pages;
mod object_watch;
mod pages;
pub mod rights;
mod secret_watch;
pub mod settings;
pub mod shutdown;
pub mod site;
mod supervisor;
mod sweep;
#[cfg(test)]
mod sweep_tests;
pub mod tasks;
pub mod telemetry;

pub use clean_up::{CleanUp, CleanUpParts, Cleaner, Leavers};
pub use config_watch::{ConfigSettings, ConfigWatch, Configuration, Documents, Judge};
pub use events::{EventTask, EventWriter, Notice, NoticeKind, config_map_reference, event_writer};
pub use kind_schema::schema_problems;
pub use kind_search::{KindNews, KindSearch, find_kind};
pub use kinds::{KindError, ResolvedKind, locate_kind, resolve_kind};
pub use last_good::last_good_judge;
pub use leadership::{Leadership, LeaseHandle};
pub use lease::{LeaseSettings, LeaseTask, lease};
pub use lease_watch::{LeaseWatch, ObservedLease};
pub use note_board::{HeldNote, NoteBoard};
pub use object_client::{ObjectClient, WriteError};
pub use object_pages::ObjectPages;
pub use object_watch::{ObjectEvent, WatchRequest, watch_objects};
pub use secret_watch::SecretWatch;
pub use supervisor::supervise;
