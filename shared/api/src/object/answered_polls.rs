//! The request for a poll on an object, and the verdict that answers it.

use crate::condition::PollRequest;
use crate::object::LeanObject;

impl LeanObject {
    /// Returns true if the verdict answers the request for an immediate poll, or there is none.
    #[must_use]
    pub fn is_poll_answered(&self) -> bool {
        let Some(asked) = self.poll_requested().map(PollRequest::of) else { return true };
        self.conditions.observed().and_then(|condition| condition.message.tag()?.polled) == Some(asked)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::names::POLL_REQUESTED_ANNOTATION;
    use crate::object::field_paths::FieldPaths;
    use serde_json::json;

    #[test]
    fn a_verdict_answers_the_request_that_it_names() {
        for (asked, message, expected) in [
            (Some("1"), "ok [polled 1] [correction 1]", true),
            (Some("2"), "ok [polled 1] [correction 1]", false),
            (Some("1"), "ok [correction 1]", false),
            (None, "ok [polled 1]", true),
            (Some("any day"), "ok", false),
        ] {
            let object = json!({"metadata": {"annotations": {POLL_REQUESTED_ANNOTATION: asked}}, "status": {"conditions":
                [{"type": "driftObserved", "status": "False", "reason": "InSync", "message": message}]}});
            let object = LeanObject::prune(&object, &FieldPaths::default());
            assert_eq!(object.is_poll_answered(), expected, "{asked:?} {message}");
        }
    }
}
