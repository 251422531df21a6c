//! What one answer of an external system means, and what a whole correction came to.
//!
//! Only an outcome that is certain may count as a correction: an answer that leaves open whether the write was done
//! is asked again with the same idempotency key. This file must not know who asked.
//!
//! An answer that the target does not accept and that is no error either (2xx, 3xx) is certain too: the request was
//! read and answered, so it counts, and the poll that follows says what came of it.

use std::time::Duration;

use drift_target::StatusSet;

/// Why nobody knows whether a write was done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Doubt {
    /// No connection, or it broke.
    NoAnswer,
    /// No answer within the step's deadline, or 408.
    TimedOut,
    /// 401 or 403.
    CredentialRefused,
    /// 429.
    RateLimited,
    /// 5xx.
    ServerError,
    /// The Secret is missing, not labelled for the controller, or not for this host: nothing was sent.
    CredentialUnavailable,
    /// The token server gives no token: nothing was sent.
    TokenUnavailable,
    /// The host's address is in a network that the target does not allow: nothing was sent.
    AddressRefused,
    /// A template of the steps cannot be evaluated for the object: nothing was sent.
    TemplateFails,
    /// We stopped: leadership was lost or the process is ending.
    CutOff,
}

impl Doubt {
    /// Whether it is certain that nothing was sent.
    #[must_use]
    pub const fn sent_nothing(self) -> bool {
        matches!(
            self,
            Self::CredentialUnavailable | Self::TokenUnavailable | Self::AddressRefused | Self::TemplateFails
        )
    }

    /// The closed sentence for people.
    #[must_use]
    pub const fn as_text(self) -> &'static str {
        match self {
            Self::NoAnswer => "no answer from the external system",
            Self::TimedOut => "the external system did not answer in time",
            Self::CredentialRefused => "the external system refuses the controller's credential",
            Self::RateLimited => "the external system asks for fewer requests",
            Self::ServerError => "the external system answers with an error",
            Self::CredentialUnavailable => {
                "the Secret with the controller's credential is missing, not labelled for the controller, or not for this host"
            }
            Self::TokenUnavailable => "the token server refuses the controller's credential, or gives no token",
            Self::AddressRefused => "the host's address is in a network that the target does not allow",
            Self::TemplateFails => "a template of the correction cannot be evaluated for this object",
            Self::CutOff => "the controller had to stop before the answer came",
        }
    }

    /// The label of the metric.
    #[must_use]
    pub const fn as_label(self) -> &'static str {
        match self {
            Self::NoAnswer => "no_answer",
            Self::TimedOut => "timed_out",
            Self::CredentialRefused => "credential_refused",
            Self::RateLimited => "rate_limited",
            Self::ServerError => "server_error",
            Self::CredentialUnavailable => "credential_unavailable",
            Self::TokenUnavailable => "token_unavailable",
            Self::AddressRefused => "address_refused",
            Self::TemplateFails => "template_fails",
            Self::CutOff => "cut_off",
        }
    }
}

/// What one answer means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StepOutcome {
    /// The target accepts the status.
    Accepted,
    /// The target accepts the status, but it does not mean that the resource is gone yet.
    Underway {
        /// When the external system wants to be asked again.
        retry_after: Option<Duration>,
    },
    /// A definite no.
    Refused {
        /// The status of the answer.
        status: u16,
    },
    /// It may or may not have been done.
    Indefinite {
        /// Why nobody knows.
        why: Doubt,
        /// How long the external system asked to be left alone.
        retry_after: Option<Duration>,
    },
}

/// Judges the answer of one step by its status: whether the target accepts it, and whether that means `done_on`.
/// `retry_after` is what the answer asked for.
#[must_use]
pub fn judge(status: u16, accept: &StatusSet, done_on: &StatusSet, retry_after: Option<Duration>) -> StepOutcome {
    if accept.contains(status) {
        let done = done_on.contains(status);
        return if done { StepOutcome::Accepted } else { StepOutcome::Underway { retry_after } };
    }
    let why = match status {
        401 | 403 => Doubt::CredentialRefused,
        408 => Doubt::TimedOut,
        429 => Doubt::RateLimited,
        500.. => Doubt::ServerError,
        _ => return StepOutcome::Refused { status },
    };
    StepOutcome::Indefinite { why, retry_after }
}

/// What a whole correction came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Every step was accepted.
    Applied,
    /// A deletion was accepted and is not done: it has to be asked for again.
    Underway {
        /// When the external system wants to be asked again.
        retry_after: Option<Duration>,
    },
    /// A step was definitely refused.
    Refused {
        /// The status of the answer.
        status: u16,
        /// Index of the step.
        step: usize,
    },
    /// A step's outcome is open.
    Doubtful {
        /// Why nobody knows.
        why: Doubt,
        /// How long to leave the external system alone.
        retry_after: Option<Duration>,
        /// Index of the step.
        step: usize,
    },
}

impl Outcome {
    /// What the outcome of the step at `step` means for the whole; `None` where the next step follows.
    #[must_use]
    pub const fn after_step(step: usize, outcome: StepOutcome) -> Option<Self> {
        match outcome {
            StepOutcome::Accepted => None,
            StepOutcome::Underway { retry_after } => Some(Self::Underway { retry_after }),
            StepOutcome::Refused { status } => Some(Self::Refused { status, step }),
            StepOutcome::Indefinite { why, retry_after } => Some(Self::Doubtful { why, retry_after, step }),
        }
    }

    /// Whether it counts as a correction: a definite outcome spends one K.
    #[must_use]
    pub const fn is_definite(&self) -> bool {
        !matches!(self, Self::Doubtful { .. })
    }

    /// Whether it is certain that this correction changed nothing outside.
    #[must_use]
    pub const fn changed_nothing(&self) -> bool {
        match *self {
            Self::Applied | Self::Underway { .. } => false,
            Self::Refused { status, step } => step == 0 && status >= 400,
            Self::Doubtful { why, step, .. } => step == 0 && why.sent_nothing(),
        }
    }

    /// Whether the first request was turned away at the door: a credential that is refused, or too many requests.
    #[must_use]
    pub const fn was_turned_away(&self) -> bool {
        matches!(self, Self::Doubtful { why: Doubt::CredentialRefused | Doubt::RateLimited, step: 0, .. })
    }

    /// The label of the metric.
    #[must_use]
    pub const fn as_label(&self) -> &'static str {
        match self {
            Self::Applied => "applied",
            Self::Underway { .. } => "underway",
            Self::Refused { .. } => "refused",
            Self::Doubtful { why, .. } => why.as_label(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_is_accepted_or_definitely_refused_or_leaves_a_doubt() {
        let accept = StatusSet(vec![200..=299, 404..=404]);
        let doubt = |why| StepOutcome::Indefinite { why, retry_after: None };
        let table = [
            (200, StepOutcome::Accepted),
            (404, StepOutcome::Accepted),
            (400, StepOutcome::Refused { status: 400 }),
            (409, StepOutcome::Refused { status: 409 }),
            (422, StepOutcome::Refused { status: 422 }),
            (425, StepOutcome::Refused { status: 425 }),
            (301, StepOutcome::Refused { status: 301 }),
            (401, doubt(Doubt::CredentialRefused)),
            (403, doubt(Doubt::CredentialRefused)),
            (408, doubt(Doubt::TimedOut)),
            (429, doubt(Doubt::RateLimited)),
            (500, doubt(Doubt::ServerError)),
            (503, doubt(Doubt::ServerError)),
            (599, doubt(Doubt::ServerError)),
        ];
        for (status, expected) in table {
            assert_eq!(judge(status, &accept, &accept, None), expected, "{status}");
        }
        let only_ok = StatusSet(vec![200..=200]);
        assert_eq!(judge(202, &only_ok, &only_ok, None), StepOutcome::Refused { status: 202 });
    }

    #[test]
    fn an_accepted_status_wins_over_what_it_usually_means() {
        let accept = StatusSet(vec![429..=429]);
        assert_eq!(judge(429, &accept, &accept, None), StepOutcome::Accepted);
    }

    #[test]
    fn an_accepted_deletion_is_under_way_until_an_answer_means_done() {
        let (accept, done_on) = (StatusSet(vec![200..=299, 404..=404]), StatusSet(vec![404..=404]));
        let retry_after = Some(Duration::from_secs(3));
        let underway = judge(202, &accept, &done_on, retry_after);
        assert_eq!(underway, StepOutcome::Underway { retry_after });
        assert_eq!(judge(404, &accept, &done_on, None), StepOutcome::Accepted);
        let outcome = Outcome::Underway { retry_after };
        assert_eq!(Outcome::after_step(0, underway), Some(outcome), "what comes after it has to wait");
        assert!(outcome.is_definite() && !outcome.changed_nothing());
    }

    #[test]
    fn only_a_first_step_that_was_refused_or_never_sent_changed_nothing() {
        let doubtful = |why, step| Outcome::Doubtful { why, retry_after: None, step };
        assert!(Outcome::Refused { status: 409, step: 0 }.changed_nothing());
        assert!(doubtful(Doubt::CredentialUnavailable, 0).changed_nothing());
        assert!(!Outcome::Refused { status: 409, step: 1 }.changed_nothing());
        assert!(!Outcome::Refused { status: 202, step: 0 }.changed_nothing());
        assert!(!Outcome::Refused { status: 303, step: 0 }.changed_nothing());
        assert!(!doubtful(Doubt::NoAnswer, 0).changed_nothing());
        assert!(!doubtful(Doubt::CredentialRefused, 0).changed_nothing());
        assert!(!Outcome::Applied.changed_nothing());
    }
}
