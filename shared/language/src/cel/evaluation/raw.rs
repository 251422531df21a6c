//! The bytes of answers as they came: what JSON and texts cannot hold.

use std::collections::BTreeMap;
use std::fmt;

/// The bytes of an answer, beside its status, headers, body and text.
pub(in crate::cel) const RAW: &str = "raw";

/// The bytes of answers, by the names of their steps.
#[derive(Clone, Default)]
pub struct RawAnswers(BTreeMap<String, Vec<u8>>);

impl RawAnswers {
    /// Keeps the bytes of an answer.
    pub fn keep(&mut self, step: &str, bytes: &[u8]) {
        self.0.insert(step.to_owned(), bytes.to_vec());
    }

    /// The bytes of the answer to this step; `None` where it was skipped or came in part only.
    pub(in crate::cel) fn of(&self, step: &str) -> Option<&[u8]> {
        self.0.get(step).map(Vec::as_slice)
    }
}

// Its content is not shown: a debug print must not carry an answer.
impl fmt::Debug for RawAnswers {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("RawAnswers")
    }
}
