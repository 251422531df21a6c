//! The requests in the annotations of an object.

use super::LeanObject;

impl LeanObject {
    /// Returns the value of the annotation that requests an immediate poll.
    #[must_use]
    pub fn poll_requested(&self) -> Option<&str> {
        self.asked.as_ref()?.poll.as_deref()
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
