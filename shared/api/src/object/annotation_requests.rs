//! The requests in the annotations of an object, and the verdict that answers a request for a poll.

use super::LeanObject;
use crate::condition::PollRequest;

impl LeanObject {
    /// Returns the value of the annotation that requests an immediate poll.
    #[must_use]
    pub fn poll_requested(&self) -> Option<&str> {
        self.asked.as_ref()?.poll.as_deref()
    }

    /// Returns true if the verdict answers the request for an immediate poll, or there is none.
    #[must_use]
    pub fn is_poll_answered(&self) -> bool {
        let Some(asked) = self.poll_requested().map(PollRequest::of) else { return true };
        self.conditions.observed().and_then(|condition| condition.message.tag()?.polled) == Some(asked)
    }

    /// Returns the reason of its pause, as far as the annotation has one: at most 256 bytes.
    #[must_use]
    pub fn pause_reason(&self) -> Option<&str> {
        self.asked.as_ref()?.pause.as_deref()
    }

    /// Returns the value of the annotation that requests one more correction.
    #[must_use]
    pub fn retry_requested(&self) -> Option<&str> {
        self.asked.as_ref()?.retry.as_deref()
    }

    /// Returns the value of the annotation that requests a longer interval.
    #[must_use]
    pub fn interval_requested(&self) -> Option<&str> {
        self.asked.as_ref()?.interval.as_deref()
    }

    /// Returns true if the object gives up the external resource of this identity.
    #[must_use]
    pub fn gives_up(&self, identity: &str) -> bool {
        self.given_up() == Some(identity)
    }

    /// Returns the identity that the object gives up.
    #[must_use]
    pub fn given_up(&self) -> Option<&str> {
        self.asked.as_ref()?.give_up.as_deref()
    }

    /// Returns the time until which its windows are open, seconds since 1970. 0 if they are not, or if it is invalid.
    #[must_use]
    pub fn window_open_until(&self) -> u32 {
        self.asked.as_ref().map_or(0, |asked| asked.window_open_until)
    }

    /// Returns true if the annotation that opens its windows is no time, so that it opens none.
    #[must_use]
    pub fn is_window_unreadable(&self) -> bool {
        self.asked.as_ref().is_some_and(|asked| asked.is_window_unreadable)
    }

    /// Returns the time of its deletion request, seconds since 1970. 0 if there is none or it is invalid.
    #[must_use]
    pub fn deletion_requested(&self) -> u32 {
        self.asked.as_ref().map_or(0, |asked| asked.deletion)
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
