//! What the program does once and then ends, one file a command. It must not know how the program runs on.

pub(crate) mod check;
mod cluster;
pub(crate) mod command_line;
pub(crate) mod completions;
pub(crate) mod ending;
pub(crate) mod explain;
pub(crate) mod get;
mod kinds;
mod live_targets;
mod needs;
pub(crate) mod plugin;
pub(crate) mod rbac;
pub(crate) mod request;
pub(crate) mod schema;
pub(crate) mod suspend;
mod table;
mod written_kinds;
