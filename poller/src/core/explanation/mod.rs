//! What one poll of one object means, in sentences: what was asked and observed, what differs, and whether a correction would
//! follow or what holds it, as far as the object, its target and the programs' Leases tell.
//!
//! Pure: it must not know who polled, nor how anything is printed.

mod deleting;
mod holds;
mod shown;
mod steps;
mod told;

pub use holds::{Facts, Leases, action, holds, stated_holds, vouchers};
pub use shown::{differing, observed, request_lines};
pub use steps::steps;
pub use told::{Explanation, Poll, Shown};
