//! The meaning of one answer of an external system, and the outcome of a whole correction.
//!
//! Only an outcome that is certain may count as a correction: an answer that leaves open whether the write was done is asked again
//! with the same idempotency key.
//!
//! An answer that the target does not accept and that is no error either (2xx, 3xx) is certain too: the request was
//! read and answered, so it counts, and the poll that follows says what came of it.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use drift_api::requests::job::JobStage;
use drift_api::requests::sql_state::SqlState;
use drift_language::StatusSet;

pub use crate::engine::corrections::doubt::Doubt;

/// The meaning of one answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StepOutcome {
    /// The target accepts the answer.
    Accepted,
    /// The target accepts the answer, which says that nothing is there.
    NotThere,
    /// The target accepts the answer, but it does not mean that the resource is gone yet.
    Underway {
        /// The time until the external system wants to be asked again.
        retry_after: Option<Duration>,
    },
    /// A definite no.
    Refused {
        /// The text for people.
        refusal: Refusal,
        /// True if it is certain that the request did nothing.
        did_nothing: bool,
    },
    /// The resource to delete is not ours and stays as it is.
    LeftBehind,
    /// The target accepts the answer, but what it wants to store of it cannot be told, for the reason in this sentence.
    Unstored(String),
    /// It may or may not have been done.
    Indefinite(Uncertainty),
    /// It was begun and goes on by itself: the same step asks again how far it has come. Said only where people are to know it.
    Open(Option<Sighting>),
    /// It is certain that nothing was done, and whether it is still to be done is decided anew.
    NotNow {
        /// This much later.
        pause: Duration,
    },
    /// The same, since another writer of the object was faster: the pause is that of lost races.
    Overtaken,
}

impl StepOutcome {
    /// Returns true if the target accepts the answer.
    #[must_use]
    pub const fn is_accepted(&self) -> bool {
        matches!(self, Self::Accepted | Self::NotThere | Self::Underway { .. })
    }
}

/// The progress of work that was begun.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sighting {
    /// The stage. Only a later one is news.
    pub stage: JobStage,
    /// The text for people.
    pub because: String,
}

/// By what an answer says what became of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Code {
    /// The status of an HTTP answer.
    Status(u16),
    /// The SQLSTATE of a statement.
    SqlState(SqlState),
    /// The end of a Job.
    Job,
}

impl Code {
    /// Returns the short form for use in a sentence: `404`, `SQLSTATE 42704`.
    #[must_use]
    pub fn short(self) -> String {
        match self {
            Self::Status(status) => status.to_string(),
            Self::SqlState(state) => format!("SQLSTATE {state}"),
            Self::Job => "the Job".to_owned(),
        }
    }
}

impl fmt::Display for Code {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Status(status) => write!(formatter, "status {status}"),
            Self::SqlState(state) => write!(formatter, "SQLSTATE {state}"),
            Self::Job => formatter.write_str("the Job"),
        }
    }
}

impl From<u16> for Code {
    fn from(status: u16) -> Self {
        Self::Status(status)
    }
}

/// The description of a refusal for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The code of the answer.
    pub code: Code,
    /// The result of the target's `because` for the answer.
    pub because: Option<String>,
}

/// Why nobody knows whether a request was done, and what its answer says besides.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Uncertainty {
    /// Why nobody knows.
    pub why: Doubt,
    /// The code of the answer, where one came.
    pub code: Option<Code>,
    /// The message of the API server.
    pub because: Option<String>,
    /// The time that the external system asked to be left alone.
    pub retry_after: Option<Duration>,
}

impl Uncertainty {
    /// Without an answer.
    #[must_use]
    pub const fn unanswered(why: Doubt) -> Self {
        Self { why, code: None, because: None, retry_after: None }
    }

    /// With an answer of that code.
    #[must_use]
    pub const fn answered(why: Doubt, code: Code) -> Self {
        Self { why, code: Some(code), because: None, retry_after: None }
    }
}

impl fmt::Display for Uncertainty {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.why.as_text())?;
        self.code.map_or(Ok(()), |code| write!(formatter, " ({})", code.short()))?;
        self.because.as_ref().map_or(Ok(()), |because| write!(formatter, ": {because}"))
    }
}

/// Judges an answer by its status: whether the target accepts it, and whether that means `done_on`.
/// `retry_after` is what the answer asked for.
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
        401 | 403 => Doubt::CredentialRefused,
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

/// The step at which a correction ended before its last.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FailedStep {
    /// The name of the step; `None` for an action with a single unnamed step.
    pub label: Option<Arc<str>>,
    /// The progress of the correction.
    pub reach: Reach,
}

/// The progress of a correction at its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// Nothing of it was sent, not even a look-up, and nothing written on the object for it.
    Unsent,
    /// It is certain that no write of it did anything.
    Unwritten,
    /// Its first write may have been done.
    FirstWrite,
    /// A write was accepted, and what ended it came after that.
    Further,
}

/// The outcome of a whole correction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Every step was accepted, or skipped.
    Applied,
    /// A deletion was accepted and is not done: it has to be asked for again.
    Underway {
        /// The time until the external system wants to be asked again.
        retry_after: Option<Duration>,
    },
    /// What was to be created or changed was not: every write that would have done so was skipped. A deletion: nothing was asked, or
    /// what stands there is not ours.
    AllSkipped,
    /// A step was definitely refused.
    Refused(FailedStep, Refusal),
    /// A step was accepted, and what was to be stored of its answer cannot be told, for the reason in this sentence.
    Unstored(FailedStep, String),
    /// It went no further after a write that was accepted, and is not to be begun anew by the same verdict: a template of the
    /// step cannot be evaluated with the answers that came, or the step of a replacement is in doubt. What was done before
    /// is certain, so it counts, and the poll that follows says what came of it.
    Halted(FailedStep, Uncertainty),
    /// A step's outcome is open.
    Doubtful(FailedStep, Uncertainty),
}

impl Outcome {
    /// Returns true if it counts as a correction: a definite outcome spends one K.
    #[must_use]
    pub const fn is_definite(&self) -> bool {
        !matches!(self, Self::Doubtful(..))
    }

    /// Returns true if it is certain that this correction changed nothing outside.
    #[must_use]
    pub fn changed_nothing(&self) -> bool {
        match self {
            Self::Applied | Self::Underway { .. } => false,
            Self::AllSkipped => true,
            Self::Refused(step, _) | Self::Unstored(step, _) | Self::Halted(step, _) | Self::Doubtful(step, _) => {
                matches!(step.reach, Reach::Unsent | Reach::Unwritten)
            }
        }
    }

    /// Returns true if it could not be sent, so that nobody outside heard of it.
    #[must_use]
    pub const fn sent_nothing(&self) -> bool {
        matches!(self, Self::Doubtful(FailedStep { reach: Reach::Unsent, .. }, _))
    }

    /// Returns true if the first write was turned away at the door: a credential that is refused, or too many requests.
    #[must_use]
    pub fn was_turned_away(&self) -> bool {
        let Self::Doubtful(step, Uncertainty { why, .. }) = self else { return false };
        step.reach == Reach::FirstWrite
            && (why.is_refusal_of_api_server() || matches!(why, Doubt::CredentialRefused | Doubt::RateLimited))
    }

    /// Returns true if a write of it may have been done that nobody answered for. The API server answers before it does anything; of
    /// an external system that turns a request away nobody knows.
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
            Self::AllSkipped => "all_skipped",
            Self::Refused(..) => "refused",
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
            (403, Err(Doubt::CredentialRefused)),
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
        for why in [Doubt::RightMissing, Doubt::ApiServerBusy] {
            let outcome = ended(why, Reach::FirstWrite);
            assert!(outcome.was_turned_away() && !outcome.may_have_written(), "{why:?}");
        }
        assert!(ended(Doubt::CredentialRefused, Reach::FirstWrite).may_have_written(), "who knows what it did before");
        assert!(!ended(Doubt::ServerError, Reach::Unwritten).may_have_written());
    }
}
