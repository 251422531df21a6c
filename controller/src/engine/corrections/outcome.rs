//! The meaning of one response of an external system, and the outcome of a whole correction.
//!
//! Only a certain outcome counts as a correction. A response that leaves the result of the write open is retried with
//! the same idempotency key.
//!
//! A response that the target does not accept and that is no error (2xx, 3xx) is certain too: the system read and
//! answered the request. It counts, and the next poll shows the result.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use drift_api::condition::StatusFields;
use drift_api::object::LeanObject;
use drift_language::{JobStage, StatusSet};
use drift_systems::{RefusalReason, ResultCode, SqlState, SystemFailure};

pub use crate::engine::corrections::doubt::Doubt;

/// Meaning of one response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StepOutcome {
    /// The target accepts the answer.
    Accepted,
    /// The target accepts the response, which reports that the resource is absent.
    NotThere,
    /// The target accepts the response, but the resource may not be gone yet.
    Underway {
        /// Delay before the next request, as the external system asked.
        retry_after: Option<Duration>,
    },
    /// The external system definitely refused.
    Refused {
        /// Description of the refusal for people.
        refusal: Refusal,
        /// True if it is certain that the request did nothing.
        did_nothing: bool,
    },
    /// The external system refused a write because what it creates exists already. The write did nothing.
    AlreadyExists(Refusal),
    /// The resource to delete is not ours and stays as it is.
    LeftBehind,
    /// The target accepts the response, but the values to store cannot be read from it, for this reason.
    Unstored(String),
    /// The request may or may not have taken effect.
    Indefinite(Uncertainty),
    /// The work was started and continues by itself, so the same step checks its progress again. The stage is present if
    /// people should see it.
    Open(Option<JobStage>),
    /// Nothing was done, and the correction is decided anew.
    NotNow {
        /// Delay before the new decision.
        pause: Duration,
    },
    /// The same, because another writer of the object was faster. The delay is that of lost races.
    Overtaken,
}

/// Meaning of the reply to one request, with its parts that are kept.
#[derive(Clone, Debug)]
pub struct StepAnswer {
    /// Meaning of the reply.
    pub outcome: StepOutcome,
    /// Code of the response, if there was one.
    pub code: Option<Code>,
    /// Part of the response to store in the object's status.
    pub stored: StatusFields,
    /// Part of the step at which it ended.
    pub label: Option<Arc<str>>,
    /// Object, if the request was a write to the object itself.
    pub object: Option<Box<LeanObject>>,
}

impl StepAnswer {
    /// Creates an answer with only this meaning.
    #[must_use]
    pub const fn of(outcome: StepOutcome) -> Self {
        Self { outcome, code: None, stored: StatusFields::NONE, label: None, object: None }
    }
}

impl StepOutcome {
    /// Returns the reason that the server gives for a response that the target does not accept.
    #[must_use]
    pub const fn reason(&self) -> Option<&RefusalReason> {
        match self {
            Self::Refused { refusal, .. } | Self::AlreadyExists(refusal) => refusal.because.as_ref(),
            Self::Indefinite(uncertainty) => uncertainty.because.as_ref(),
            _ => None,
        }
    }

    /// Returns the same outcome with the server's reason, if there is one and the outcome is one that has reasons.
    #[must_use]
    pub fn with_reason(mut self, reason: Option<RefusalReason>) -> Self {
        if reason.is_none() {
            return self;
        }
        match &mut self {
            Self::Refused { refusal, .. } | Self::AlreadyExists(refusal) => refusal.because = reason,
            Self::Indefinite(uncertainty) => uncertainty.because = reason,
            _ => {}
        }
        self
    }

    /// Returns the same outcome of a write that certainly was not sent, for example because the session was not opened.
    #[must_use]
    pub const fn before_sending(mut self) -> Self {
        if let Self::Indefinite(uncertainty) = &mut self
            && matches!(uncertainty.why, Doubt::NoAnswer | Doubt::TimedOut | Doubt::ServerError)
        {
            uncertainty.why = Doubt::NotConnected;
        }
        self
    }

    /// Returns true if the target accepts the response.
    #[must_use]
    pub const fn is_accepted(&self) -> bool {
        matches!(self, Self::Accepted | Self::NotThere | Self::Underway { .. })
    }
}

/// Result code of a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Code {
    /// Status of an HTTP response.
    Status(u16),
    /// SQLSTATE of a statement.
    SqlState(SqlState),
    /// Result code of a directory.
    Ldap(ResultCode),
    /// End of a Job.
    Job,
}

impl Code {
    /// Returns the short form for use in a sentence: `404`, `SQLSTATE 42704`.
    #[must_use]
    pub fn short(self) -> String {
        match self {
            Self::Status(status) => status.to_string(),
            Self::SqlState(state) => format!("SQLSTATE {state}"),
            Self::Ldap(code) => code.to_string(),
            Self::Job => "the Job".to_owned(),
        }
    }
}

impl fmt::Display for Code {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Status(status) => write!(formatter, "status {status}"),
            Self::SqlState(state) => write!(formatter, "SQLSTATE {state}"),
            Self::Ldap(code) => write!(formatter, "{code}"),
            Self::Job => formatter.write_str("the Job"),
        }
    }
}

impl From<u16> for Code {
    fn from(status: u16) -> Self {
        Self::Status(status)
    }
}

/// Description of a refusal for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// Code of the response.
    pub code: Code,
    /// Reason of the refusal: the server's sentence, what the target's `because` chooses, or our own words.
    pub because: Option<RefusalReason>,
}

/// Reason why the result of a request is unknown, with details of its response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Uncertainty {
    /// Reason for the uncertainty.
    pub why: Doubt,
    /// Code of the response, if there was one.
    pub code: Option<Code>,
    /// Reason that the server gives.
    pub because: Option<RefusalReason>,
    /// Delay that the external system asked for.
    pub retry_after: Option<Duration>,
}

impl Uncertainty {
    /// Creates an uncertainty without a response.
    #[must_use]
    pub const fn unanswered(why: Doubt) -> Self {
        Self { why, code: None, because: None, retry_after: None }
    }

    /// Creates an uncertainty with a cause in our own words, which has no value of a secret.
    #[must_use]
    pub fn caused_by(why: Doubt, cause: impl Into<Box<str>>) -> Self {
        Self { because: Some(RefusalReason::own(cause)), ..Self::unanswered(why) }
    }

    /// Creates an uncertainty with a response code.
    #[must_use]
    pub const fn answered(why: Doubt, code: Code) -> Self {
        Self { why, code: Some(code), because: None, retry_after: None }
    }
}

/// A result that cannot be read does not say if the request was executed.
impl From<&SystemFailure> for Uncertainty {
    fn from(failure: &SystemFailure) -> Self {
        match failure {
            SystemFailure::Unreachable(_) | SystemFailure::Unreadable(_) => Self::unanswered(Doubt::NoAnswer),
            SystemFailure::CredentialUnavailable(cause) => {
                Self::caused_by(Doubt::CredentialUnavailable, cause.as_str())
            }
            SystemFailure::AddressRefused { .. } => Self::unanswered(Doubt::AddressRefused),
        }
    }
}

impl fmt::Display for Uncertainty {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.why.as_text())?;
        self.code.map_or(Ok(()), |code| write!(formatter, " ({})", code.short()))?;
        self.because.as_ref().map_or(Ok(()), |because| write!(formatter, ": {because}"))
    }
}

/// Judges a response by its status: is it accepted, and is it in `done_on`? `retry_after` is the delay that the
/// response asks for.
#[must_use]
pub fn judge(status: u16, accept: &StatusSet, done_on: &StatusSet, retry_after: Option<Duration>) -> StepOutcome {
    if accept.contains(status) {
        return match status {
            _ if !done_on.contains(status) => StepOutcome::Underway { retry_after },
            404 | 410 => StepOutcome::NotThere,
            _ => StepOutcome::Accepted,
        };
    }
    let why = match status {
        401 => Doubt::CredentialRefused,
        403 => Doubt::Forbidden,
        408 => Doubt::TimedOut,
        429 => Doubt::RateLimited,
        500.. => Doubt::ServerError,
        _ => {
            let refusal = Refusal { code: status.into(), because: None };
            return StepOutcome::Refused { refusal, did_nothing: status >= 400 };
        }
    };
    StepOutcome::Indefinite(Uncertainty { retry_after, ..Uncertainty::answered(why, status.into()) })
}

/// The step that ended a correction early.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FailedStep {
    /// Name of the step; `None` for an action with a single unnamed step.
    pub label: Option<Arc<str>>,
    /// Progress of the correction.
    pub reach: Reach,
}

/// Progress of a correction at its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// Nothing was sent, not even a look-up, and nothing was written on the object.
    Unsent,
    /// No write took effect for certain.
    Unwritten,
    /// The first write may have taken effect.
    FirstWrite,
    /// Only writes of the deletion part of a replacement were accepted.
    Deleted,
    /// A write was accepted before the correction ended.
    Further,
}

/// The reason why values of an accepted response are not on the object.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unstored {
    /// They cannot be read from the response, for this reason.
    #[error("{0}")]
    Unread(String),
    /// The API server refuses them. This process still has them.
    #[error(
        "the API server refuses the values to store: the controller keeps them in memory and tries again; allow that \
         write, because a restart loses them"
    )]
    Refused,
}

/// Outcome of a whole correction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Every step was accepted or skipped.
    Applied,
    /// A deletion was accepted but is not complete, so it must be requested again.
    Underway {
        /// Delay before the next request, as the external system asked.
        retry_after: Option<Duration>,
    },
    /// A deletion that no write performed, because nothing is at its address, although the last poll found the resource.
    /// A poll decides if it is gone.
    FoundNothing,
    /// Every write that would have created or changed the resource was skipped. For a deletion: no request was sent, or
    /// the existing resource is not ours.
    AllSkipped,
    /// A step was definitely refused.
    Refused(FailedStep, Refusal),
    /// A create was refused because the resource exists already. That contradicts the poll, which did not find it.
    AlreadyExists(FailedStep, Refusal),
    /// A step was accepted, but the values to store are not on the object.
    Unstored(FailedStep, Unstored),
    /// The correction ended after an accepted write, and the same verdict must not restart it: a template of a step
    /// fails with the received responses, or a step of a replacement is in doubt. The earlier steps are certain, so it
    /// counts, and the next poll shows the result.
    Halted(FailedStep, Uncertainty),
    /// The result of a step is unknown.
    Doubtful(FailedStep, Uncertainty),
}

impl Outcome {
    /// Returns true if it counts as a correction. Each definite outcome uses one K.
    #[must_use]
    pub const fn is_definite(&self) -> bool {
        !matches!(self, Self::Doubtful(..))
    }

    /// Returns true if this correction certainly changed nothing in the external system.
    #[must_use]
    pub fn changed_nothing(&self) -> bool {
        match self {
            Self::Applied | Self::Underway { .. } => false,
            Self::AllSkipped | Self::FoundNothing => true,
            Self::Refused(step, _)
            | Self::AlreadyExists(step, _)
            | Self::Unstored(step, _)
            | Self::Halted(step, _)
            | Self::Doubtful(step, _) => matches!(step.reach, Reach::Unsent | Reach::Unwritten),
        }
    }

    /// Returns true if it could not be sent, so that no external system received a request.
    #[must_use]
    pub const fn sent_nothing(&self) -> bool {
        matches!(self, Self::Doubtful(FailedStep { reach: Reach::Unsent, .. }, _))
    }

    /// Returns true if the first write certainly did nothing: there was no connection, or the answer was a refused
    /// credential, a missing right, too many requests, or a refusal of the API server.
    #[must_use]
    pub fn was_turned_away(&self) -> bool {
        let Self::Doubtful(step, Uncertainty { why, .. }) = self else { return false };
        let is_refusal =
            matches!(why, Doubt::CredentialRefused | Doubt::Forbidden | Doubt::RateLimited | Doubt::NotConnected);
        step.reach == Reach::FirstWrite && (is_refusal || why.is_refusal_of_api_server())
    }

    /// Returns true if the external system says of the first write that it did nothing: it turned the write away, or
    /// answered with a 503 that says when to come back. Such a 503 takes no claim back, because a proxy may have sent it.
    #[must_use]
    pub fn was_rejected(&self) -> bool {
        let Self::Doubtful(step, Uncertainty { why, code, retry_after, .. }) = self else { return false };
        let is_busy = *code == Some(Code::Status(503)) && retry_after.is_some();
        let is_first = step.reach == Reach::FirstWrite;
        is_first && (is_busy || self.was_turned_away() && !why.is_refusal_of_api_server())
    }

    /// Returns true if a write without a response may have taken effect. The API server responds before it changes
    /// anything. For an external system that rejects a request, this is unknown.
    #[must_use]
    pub fn may_have_written(&self) -> bool {
        let Self::Doubtful(_, Uncertainty { why, .. }) = self else { return false };
        !self.changed_nothing() && !why.is_refusal_of_api_server()
    }

    /// The label of the metric.
    #[must_use]
    pub const fn as_label(&self) -> &'static str {
        match self {
            Self::Applied => "applied",
            Self::Underway { .. } => "underway",
            Self::FoundNothing => "found_nothing",
            Self::AllSkipped => "all_skipped",
            Self::Refused(..) => "refused",
            Self::AlreadyExists(..) => "already_exists",
            Self::Unstored(..) => "unstored",
            Self::Halted(..) => "halted",
            Self::Doubtful(_, uncertainty) => uncertainty.why.as_label(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(status: u16) -> StepOutcome {
        StepOutcome::Refused { refusal: Refusal { code: status.into(), because: None }, did_nothing: status >= 400 }
    }

    #[test]
    fn a_status_accepts_refuses_or_leaves_a_doubt() {
        let accept = StatusSet(vec![200..=299, 404..=404]);
        let table = [
            (200, Ok(StepOutcome::Accepted)),
            (404, Ok(StepOutcome::NotThere)),
            (400, Ok(refused(400))),
            (409, Ok(refused(409))),
            (422, Ok(refused(422))),
            (425, Ok(refused(425))),
            (301, Ok(refused(301))),
            (401, Err(Doubt::CredentialRefused)),
            (403, Err(Doubt::Forbidden)),
            (408, Err(Doubt::TimedOut)),
            (429, Err(Doubt::RateLimited)),
            (500, Err(Doubt::ServerError)),
            (503, Err(Doubt::ServerError)),
            (599, Err(Doubt::ServerError)),
        ];
        for (status, expected) in table {
            let doubt = |why| StepOutcome::Indefinite(Uncertainty::answered(why, status.into()));
            assert_eq!(judge(status, &accept, &accept, None), expected.unwrap_or_else(doubt), "{status}");
        }
        let only_ok = StatusSet(vec![200..=200]);
        assert_eq!(judge(202, &only_ok, &only_ok, None), refused(202));
    }

    #[test]
    fn an_accepted_status_wins_over_what_it_usually_means() {
        let accept = StatusSet(vec![429..=429]);
        assert_eq!(judge(429, &accept, &accept, None), StepOutcome::Accepted);
    }

    #[test]
    fn a_deletion_is_under_way_until_it_is_done() {
        let (accept, done_on) = (StatusSet(vec![200..=299, 404..=404]), StatusSet(vec![404..=404]));
        let retry_after = Some(Duration::from_secs(3));
        assert_eq!(judge(202, &accept, &done_on, retry_after), StepOutcome::Underway { retry_after });
        assert_eq!(judge(404, &accept, &done_on, None), StepOutcome::NotThere);
        let outcome = Outcome::Underway { retry_after };
        assert!(outcome.is_definite() && !outcome.changed_nothing());
    }

    #[test]
    fn what_ended_before_a_write_could_be_done_changed_nothing() {
        let table =
            [(Reach::Unsent, true), (Reach::Unwritten, true), (Reach::FirstWrite, false), (Reach::Further, false)];
        for (reach, expected) in table {
            let step = || FailedStep { label: None, reach };
            let refusal = Refusal { code: 409.into(), because: None };
            assert_eq!(Outcome::Refused(step(), refusal).changed_nothing(), expected);
            let uncertainty = Uncertainty::unanswered(Doubt::NoAnswer);
            let doubtful = Outcome::Doubtful(step(), uncertainty);
            assert_eq!(doubtful.changed_nothing(), expected);
            assert_eq!(doubtful.sent_nothing(), reach == Reach::Unsent, "{reach:?}");
        }
        assert!(Outcome::AllSkipped.changed_nothing() && Outcome::AllSkipped.is_definite());
        assert!(!Outcome::Applied.changed_nothing());
    }

    #[test]
    fn only_a_first_write_is_turned_away() {
        let ended = |why, reach| Outcome::Doubtful(FailedStep { label: None, reach }, Uncertainty::unanswered(why));
        assert!(ended(Doubt::CredentialRefused, Reach::FirstWrite).was_turned_away());
        assert!(ended(Doubt::RateLimited, Reach::FirstWrite).was_turned_away());
        assert!(!ended(Doubt::RateLimited, Reach::Unwritten).was_turned_away(), "a look-up claims nothing");
        assert!(!ended(Doubt::RateLimited, Reach::Further).was_turned_away());
        assert!(!ended(Doubt::ServerError, Reach::FirstWrite).was_turned_away());
        assert!(!ended(Doubt::JobUnseen, Reach::FirstWrite).was_turned_away(), "it runs on");
        assert!(ended(Doubt::NotConnected, Reach::FirstWrite).was_turned_away());
        let answered = Uncertainty::answered(Doubt::ServerError, 503.into());
        let busy = Uncertainty { retry_after: Some(Duration::from_secs(1)), ..answered };
        let busy = Outcome::Doubtful(FailedStep { label: None, reach: Reach::FirstWrite }, busy);
        assert!(busy.was_rejected() && !busy.was_turned_away(), "a proxy may have sent it");
        for why in [Doubt::RightMissing, Doubt::ApiServerBusy] {
            let outcome = ended(why, Reach::FirstWrite);
            assert!(outcome.was_turned_away() && !outcome.may_have_written(), "{why:?}");
        }
        assert!(ended(Doubt::CredentialRefused, Reach::FirstWrite).may_have_written(), "who knows what it did before");
        assert!(!ended(Doubt::ServerError, Reach::Unwritten).may_have_written());
    }
}
