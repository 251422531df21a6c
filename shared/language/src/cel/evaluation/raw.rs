//! The raw bytes of responses, for content that JSON and texts cannot hold.

use std::collections::BTreeMap;
use std::fmt;

/// The field for the raw bytes of a response, next to status, headers, body and text.
pub(in crate::cel) const RAW: &str = "raw";

/// The raw bytes of responses, by step name.
#[derive(Clone, Default)]
pub struct RawAnswers(BTreeMap<String, Vec<u8>>);

impl RawAnswers {
    /// Keeps the raw bytes of a response.
    pub fn keep(&mut self, step: &str, bytes: &[u8]) {
        self.0.insert(step.to_owned(), bytes.to_vec());
    }

    /// Returns the raw bytes of the response to this step. `None` if the step was skipped or the
    /// response was incomplete.
    pub(in crate::cel) fn of(&self, step: &str) -> Option<&[u8]> {
        self.0.get(step).map(Vec::as_slice)
    }
}

// Hides the content: debug output must not contain a response.
impl fmt::Debug for RawAnswers {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("RawAnswers")
    }
}
