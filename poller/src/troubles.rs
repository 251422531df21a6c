//! Why reads fail, told in the log for the person who looks: the condition says only of which kind a failure is.
//!
//! A target of a thousand objects fails a thousand times for one reason, and half of them may fail while the other half
//! succeed. So each target's trouble is told once, again when it changed or came back, and never more than once a
//! minute. It must not know what follows from a failure.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use drift_model::condition::ObservedReason;
use drift_model::moment::Moment;

use crate::core::finding::Finding;

/// Between two lines about one target: whoever reads along learns of a change soon, and a flapping host fills no disk.
const TOLD_EVERY: Duration = Duration::from_secs(60);

/// What was told of each target.
#[derive(Debug, Default)]
pub struct Troubles {
    told: Mutex<HashMap<String, Told>>,
}

#[derive(Debug)]
struct Told {
    sentence: String,
    at: Moment,
    /// A read succeeded since.
    over: bool,
}

impl Troubles {
    /// A read of the target failed for the reason in this sentence, which holds no value of an object or an answer.
    pub fn note(&self, target: &str, sentence: &str, now: Moment) {
        if self.is_news(target, sentence, now) {
            tracing::warn!(target_name = target, "reads fail: {sentence}");
        }
    }

    /// What a read of the target found out. Why there was no answer has been told already, in more words.
    pub fn note_finding(&self, target: &str, finding: &Finding, now: Moment) {
        match finding {
            Finding::Failed(failure) => match failure.reason {
                ObservedReason::PollTimedOut | ObservedReason::ExternalUnreachable | ObservedReason::Settling => {}
                _ => self.note(target, &failure.text, now),
            },
            _ => self.note_success(target),
        }
    }

    /// A read of the target was answered.
    pub fn note_success(&self, target: &str) {
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(told) = told.get_mut(target) {
            told.over = true;
        }
    }

    fn is_news(&self, target: &str, sentence: &str, now: Moment) -> bool {
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        let is_news = told.get(target).is_none_or(|told| {
            let changed = told.over || told.sentence != sentence;
            changed && now.is_past(told.at, TOLD_EVERY)
        });
        if is_news {
            told.insert(target.to_owned(), Told { sentence: sentence.to_owned(), at: now, over: false });
        }
        is_news
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trouble_is_told_once_and_again_when_it_changed_or_came_back_but_not_more_than_once_a_minute() {
        let troubles = Troubles::default();
        let at = |seconds| Moment::from_start(Duration::from_secs(seconds));
        let is_news = |sentence, seconds| troubles.is_news("a", sentence, at(seconds));
        assert!(is_news("refused", 0));
        assert!(troubles.is_news("b", "refused", at(0)), "each target has its own");
        assert!(!is_news("refused", 500), "nothing new");
        assert!(is_news("no route", 501));
        assert!(!is_news("refused", 510), "too soon");
        assert!(is_news("refused", 562));
        troubles.note_success("a");
        assert!(!is_news("refused", 570), "too soon");
        assert!(is_news("refused", 623), "it came back");
    }
}
