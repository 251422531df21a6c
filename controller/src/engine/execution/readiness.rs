//! The last look at the requests of a correction before anything is written or sent for it.

use std::time::Duration;

use drift_api::timing::moment::Moment;

use super::step::Readiness;
use crate::engine::corrections::outcome::Doubt;
use crate::engine::rendering::plan::Plan;
use crate::engine::rendering::unrenderable::Unrenderable;

/// How often a correction that sends secrets looks whether they are listed by now: that takes a second at the start, and
/// where the first object of a namespace comes.
const UNTIL_SECRETS_ARE_LISTED: Duration = Duration::from_secs(1);

/// The rendered requests of a correction, none of which was sent.
pub trait Outgoing {
    /// Returns true if a correction may begin now.
    fn may_begin(&self) -> bool;

    /// Takes leave to ask all hosts.
    ///
    /// # Errors
    /// Until when one of them is to be left alone.
    fn take_hosts(&mut self, now: Moment) -> Result<(), Moment>;

    /// Returns what is missing: a credential, or a Secret that is sent.
    fn missing(&mut self) -> Option<Doubt>;

    /// The steps.
    fn plan(&self) -> Plan;
}

impl Readiness {
    /// Looks at the requests; `None` while it is not known which Secrets there are. An object that was not read live, since
    /// something was missing, is decided on again if it is there by now.
    pub fn of(requests: Option<Result<&mut dyn Outgoing, Unrenderable>>, is_unread: bool, now: Moment) -> Self {
        let requests = match requests {
            None => return Self::Postponed(now + UNTIL_SECRETS_ARE_LISTED),
            Some(Err(why)) => return Self::Unsendable(why.label, why.doubt),
            Some(Ok(requests)) => requests,
        };
        if !requests.may_begin() {
            return Self::NotNow;
        }
        if let Err(until) = requests.take_hosts(now) {
            return Self::Postponed(until);
        }
        if let Some(doubt) = requests.missing() {
            return Self::Unsendable(None, doubt);
        }
        if is_unread { Self::Postponed(now) } else { Self::Ready(requests.plan()) }
    }
}
