//! Parts that both programs' machines share: the clock, the world's parts that a step may change, and the dispatch of
//! events.

use std::time::Duration;

use drift_api::timing::moment::Moment;
use drift_language::Target;
use serde_json::Value;

use crate::api_server::{ApiServer, Refusal};
use crate::ledger::Ledger;
use crate::outside::{Fault, Outside};
use crate::targets::owner_of;
use crate::watch::Event;

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

/// The receiver of a watch event.
pub(crate) enum Dispatch<'a> {
    /// The first target by name that selects the object.
    Owner(&'static str, &'a Value),
    /// No target selects it, or it is deleted.
    Nobody(&'a Value),
    Listed,
    Alive,
}

impl<'a> Dispatch<'a> {
    pub(crate) fn of<'t>(event: &'a Event, targets: impl Iterator<Item = &'t Target>) -> Self {
        match event {
            Event::Seen(object) => match owner_of(object, targets) {
                Some(owner) => Self::Owner(owner, object),
                None => Self::Nobody(object),
            },
            Event::Gone(object) => Self::Nobody(object),
            Event::Listed => Self::Listed,
            Event::Alive => Self::Alive,
        }
    }
}
