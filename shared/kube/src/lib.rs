//! The Kubernetes API as both programs use it: client, watches, Leases, configuration, clean-up, Events, telemetry.
//!
//! It contains everything that waits, connects or reads a clock, and that both need in the same way.

pub mod access;
pub mod cleanup;
pub mod client;
pub mod config;
pub mod events;
pub mod identities;
pub mod jobs;
pub mod kinds;
pub mod lease;
pub mod object_writer;
pub mod process;
pub mod program;
pub mod reports;
pub mod resources;
pub mod subscriptions;
pub mod telemetry;
pub mod under_way;
pub mod watch;

pub use access::Right;
pub use access::missing::RightsNews;
pub use access::rights::RightsNeeded;
pub use cleanup::{
    CleanedObjects, Cleaner, Collector, CollectorContext, NotedSelections, Selection, Selections, Stage, SweepSettings,
};
pub use client::{CallError, KindName, KubeconfigSettings, ObjectClient, ObjectPages, ResolvedKind, WriteError};
pub use config::Configuration;
pub use events::{EventWriter, Notice, NoticeKind};
pub use identities::{HeldClaim, Identities, Member, Wake};
pub use jobs::JobClient;
pub use kinds::{KindError, KindNews, KindSearch};
pub use lease::{Leadership, LeaseHandle, LeaseWatch};
pub use object_writer::{CallSlot, CallSlots, ObjectWriter};
pub use process::kill_point::KillPoint;
pub use process::progress::Progress;
pub use process::shutdown::ShutdownSignals;
pub use program::program_environment::Site;
pub use program::settings::{CleanUpSettings, HomeSettings, LogSettings, RunSettings};
pub use resources::ResourceClient;
pub use subscriptions::{KindWatches, ObjectEvent};
pub use telemetry::admin::AdminServer;
pub use telemetry::health::{Health, Remark};
pub use telemetry::questions::Crowded;
pub use under_way::{Busy, UnderWay};
pub use watch::{HeardVersions, ResourceNews};
