//! The watches that the targets of a program share, and the events that each target receives.

pub mod dispatch;
mod event;
mod kind_watches;
mod ownership;

pub use dispatch::Orphan;
pub use event::ObjectEvent;
pub use kind_watches::{KindWatches, Subscription};
pub use ownership::owner_of;
