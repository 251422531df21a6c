//! Parts that both programs' machines share: the clock, and the world's parts that a step may change.

use std::time::Duration;

use drift_api::timing::moment::Moment;

use crate::api_server::{ApiServer, Refusal};
use crate::ledger::Ledger;
use crate::outside::{Fault, Outside};

/// State that is visible without a call: the clocks at one instant, with a wall clock that users and NTP may change,
/// and the Secret.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Clock {
    pub(crate) moment: Moment,
    /// Seconds by which the wall clock was set back.
    pub(crate) back: u64,
    /// The version of the Secret that corrections send. Its watch delivers it at once.
    pub(crate) secret: u32,
    /// True while the Secret is missing.
    pub(crate) lacks_secret: bool,
}

/// Unix time of 1 January 2026.
const EPOCH: u64 = 1_767_225_600;

impl Clock {
    /// Returns the version of the existing Secret.
    pub(crate) fn known_secret(self) -> Option<u32> {
        (!self.lacks_secret).then_some(self.secret)
    }

    pub(crate) fn since_epoch(self) -> Duration {
        (Duration::from_secs(EPOCH) + self.moment.since_start()).saturating_sub(Duration::from_secs(self.back))
    }

    /// Returns the wall time in the format of conditions.
    pub(crate) fn wall(self) -> String {
        let second = i64::try_from(self.since_epoch().as_secs()).unwrap_or_default();
        jiff::Timestamp::from_second(second).unwrap_or_default().to_string()
    }
}

/// The parts of the world that a step may change.
pub(crate) struct Scene<'a> {
    pub(crate) api: &'a mut ApiServer,
    pub(crate) outside: &'a mut Outside,
    pub(crate) ledger: &'a mut Ledger,
    pub(crate) clock: Clock,
}

/// Calls the API server, which may fail.
pub(crate) fn call<T>(
    fault: Fault,
    api: &mut ApiServer,
    does: impl FnOnce(&mut ApiServer) -> Result<T, Refusal>,
) -> Result<T, Refusal> {
    match fault {
        Fault::LostBefore | Fault::ServerError | Fault::RateLimited => Err(Refusal::Unavailable),
        Fault::LostAfter | Fault::Late => {
            let _ = does(api);
            Err(Refusal::Unavailable)
        }
        Fault::Forbidden | Fault::Unauthorized => Err(Refusal::Refused),
        Fault::Refused => Err(Refusal::Moved),
        Fault::None | Fault::Maintenance | Fault::Empty | Fault::Page => does(api),
    }
}
