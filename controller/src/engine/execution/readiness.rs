//! The final check of a correction's requests before anything is written or sent.

use std::time::Duration;

use drift_api::timing::moment::Moment;

use super::step::Readiness;
use crate::engine::corrections::outcome::Uncertainty;
use crate::engine::rendering::{Plan, Unrenderable};

/// Interval in which a correction that sends secrets checks if the Secrets are listed. Listing takes a second at the
/// start, and for the first object of a namespace.
const UNTIL_SECRETS_ARE_LISTED: Duration = Duration::from_secs(1);

/// The rendered, unsent requests of a correction.
pub trait Outgoing {
    /// Returns true if a correction may begin now.
    fn may_begin(&self) -> bool;

    /// Acquires permission to call all hosts.
    ///
    /// # Errors
    /// Returns the end of the longest delay that a host asked for.
    fn take_hosts(&mut self, now: Moment) -> Result<(), Moment>;

    /// Returns the reason if a credential or a sent Secret is missing.
    fn missing(&mut self) -> Option<Uncertainty>;

    /// Returns the plan of the steps.
    fn plan(&self) -> Plan;
}

impl Readiness {
    /// Checks the requests; `None` means that the Secrets are not listed yet. An object that was not read live because
    /// something was missing is decided on again once nothing is missing.
    pub fn of(requests: Option<Result<&mut dyn Outgoing, Unrenderable>>, is_unread: bool, now: Moment) -> Self {
        let requests = match requests {
            None => return Self::Postponed(now + UNTIL_SECRETS_ARE_LISTED),
            Some(Err(why)) => return Self::Unsendable(why.label.clone(), why.uncertainty()),
            Some(Ok(requests)) => requests,
        };
        if !requests.may_begin() {
            return Self::NotNow;
        }
        if let Err(until) = requests.take_hosts(now) {
            return Self::Postponed(until);
        }
        if let Some(lacking) = requests.missing() {
            return Self::Unsendable(None, lacking);
        }
        if is_unread { Self::Postponed(now) } else { Self::Ready(requests.plan()) }
    }
}
