//! Fixtures for tests: a target, objects of its kind, and moments.

use std::time::Duration;

use drift_api::timing::moment::Moment;
pub(crate) use drift_language::fixtures::proxies::{TEXT, object, ruled, target};

use crate::engine::schedule::Now;

pub(crate) fn at(seconds: u64) -> Now {
    let span = Duration::from_secs(seconds);
    Now { moment: Moment::from_start(span), wall: Duration::from_secs(1_700_000_000) + span }
}
