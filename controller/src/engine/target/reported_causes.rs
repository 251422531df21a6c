//! The causes why corrections cannot be sent.
//!
//! A cause is reported once for an object, until another takes its place, because a correction that cannot be sent is
//! tried again every half minute. The condition names only the kind of the cause, and may be of an earlier failure.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use drift_api::identity::Uid;

/// Last reported causes, by object.
#[derive(Debug, Default)]
pub(super) struct ReportedCauses(HashMap<Uid, u64>);

impl ReportedCauses {
    /// Records a cause. Returns true if it differs from the last reported one.
    pub(super) fn is_news(&mut self, object: &Uid, cause: &str) -> bool {
        let mut hasher = DefaultHasher::new();
        cause.hash(&mut hasher);
        let cause = hasher.finish();
        self.0.insert(object.clone(), cause) != Some(cause)
    }

    /// Forgets an object that was corrected or is gone, so that its next cause is reported.
    pub(super) fn forget(&mut self, object: &Uid) {
        self.0.remove(object);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_cause_is_reported_once() {
        let (mut reported, [one, other]) = (ReportedCauses::default(), ["a", "b"].map(Uid::from));
        assert!(reported.is_news(&one, "no Secret x") && !reported.is_news(&one, "no Secret x"));
        assert!(reported.is_news(&other, "no Secret x"), "each object has its own");
        assert!(reported.is_news(&one, "Secret x has no key y"), "what was mended in part is another cause");
        assert!(reported.is_news(&one, "no Secret x"));
        reported.forget(&one);
        assert!(reported.is_news(&one, "no Secret x"), "it was corrected meanwhile");
        assert!(!reported.is_news(&other, "no Secret x"));
    }
}
