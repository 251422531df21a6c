//! The meaning of a failed API server call in a correction.
//!
//! The API server responds before it changes anything, so a refused call did nothing. But a permission may be granted,
//! and an overloaded server may recover, without an edit of the target or the object.

use std::time::Duration;

use drift_systems::RefusalReason;

use crate::engine::corrections::outcome::{Code, Doubt, Refusal, StepOutcome, Uncertainty};

/// Response of the API server to a failed call, or the lack of one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApiRefusal {
    /// Status code of the response.
    pub status: Option<u16>,
    /// Message of the API server, without values of secret names.
    pub sentence: String,
    /// Delay that the API server asked for.
    pub retry_after: Option<Duration>,
}

/// Judges a failed call.
#[must_use]
pub fn judge_refusal(refusal: ApiRefusal) -> StepOutcome {
    let ApiRefusal { status, sentence, retry_after } = refusal;
    let code = status.map(Code::Status);
    match (status, code) {
        (Some(401 | 403), _) => {
            let because = Some(RefusalReason::own(sentence));
            StepOutcome::Indefinite(Uncertainty { why: Doubt::RightMissing, code, because, retry_after })
        }
        (Some(400..=407 | 409..=428 | 430..=499), Some(code)) => StepOutcome::Refused {
            refusal: Refusal { code, because: Some(RefusalReason::own(sentence)) },
            did_nothing: true,
        },
        _ => {
            let why = if status == Some(429) { Doubt::ApiServerBusy } else { Doubt::ApiServerUnavailable };
            StepOutcome::Indefinite(Uncertainty { why, code, because: None, retry_after })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_api_server_refuses_did_nothing() {
        let judged =
            |status: Option<u16>| judge_refusal(ApiRefusal { status, sentence: "why".to_owned(), retry_after: None });
        for status in [400, 404, 409, 413, 422] {
            let refusal = Refusal { code: status.into(), because: Some(RefusalReason::own("why")) };
            assert_eq!(judged(Some(status)), StepOutcome::Refused { refusal, did_nothing: true }, "{status}");
        }
        for status in [None, Some(408), Some(429), Some(500), Some(503), Some(504)] {
            let StepOutcome::Indefinite(Uncertainty { why, .. }) = judged(status) else { unreachable!("{status:?}") };
            let busy = status == Some(429);
            assert_eq!(why, if busy { Doubt::ApiServerBusy } else { Doubt::ApiServerUnavailable }, "{status:?}");
        }
        let StepOutcome::Indefinite(lacking) = judged(Some(403)) else { unreachable!() };
        assert_eq!(lacking.to_string(), "the API server says that the controller lacks a right (403): why");
    }
}
