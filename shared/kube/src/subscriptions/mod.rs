//! The watches that the targets of a program share, and what each target receives of them.

pub mod dispatch;
mod event;
mod kind_watches;
mod ownership;

pub use dispatch::Orphan;
pub use event::ObjectEvent;
pub use kind_watches::{KindWatches, Subscription};
pub use ownership::owner_of;
