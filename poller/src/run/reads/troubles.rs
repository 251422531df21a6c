//! Logs why reads fail, because the condition names only the kind of a failure.
//!
//! A target with a thousand objects may fail a thousand times for one reason, and half of its objects may fail while
//! the other half succeeds. So each cause of a target is logged once, and again only if it returns.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use drift_api::condition::ObservedReason;
use drift_api::timing::moment::Moment;

use crate::engine::judgement::finding::Finding;

/// A cause that was not seen for this long is over. It is logged again if it returns.
const OVER_AFTER: Duration = Duration::from_mins(10);
/// Maximum remembered causes of one target; further ones are not logged. Causes are closed sentences, of which a target
/// has a few.
const MOST_CAUSES: usize = 32;

/// Reported causes of each target, with the time each was last seen.
#[derive(Debug, Default)]
pub struct Troubles {
    told: Mutex<HashMap<String, HashMap<String, Moment>>>,
    /// True if nothing is logged, because the caller reads the causes here.
    is_silent: bool,
}

impl Troubles {
    /// Creates a list that does not log, for callers that report the causes themselves.
    #[must_use]
    pub fn silent() -> Self {
        Self { is_silent: true, ..Self::default() }
    }

    /// Returns the causes of a target in order.
    #[must_use]
    pub fn causes(&self, target: &str) -> Vec<String> {
        let told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        let mut causes: Vec<String> = told.get(target).into_iter().flat_map(HashMap::keys).cloned().collect();
        causes.sort();
        causes
    }

    /// Records a failed read of the target with this reason, which contains no value of an object or a response.
    pub fn note(&self, target: &str, sentence: &str, now: Moment) {
        if self.is_news(target, sentence, now) && !self.is_silent {
            tracing::warn!(target = target, "reads fail: {sentence}");
        }
    }

    /// Records that the target's hints are missing, with this closed reason.
    pub fn note_hints(&self, target: &str, sentence: &str, now: Moment) {
        let sentence = format!("hints do not come: {sentence}");
        if self.is_news(target, &sentence, now) {
            tracing::warn!(target = target, "{sentence}");
        }
    }

    /// Takes in the finding of a read.
    pub fn note_finding(&self, target: &str, finding: &Finding, now: Moment) {
        match finding {
            Finding::Failed(failure) if failure.reason != ObservedReason::Settling => {
                self.note(target, &failure.text, now);
            }
            _ => {}
        }
    }

    /// Records fields that are not published because they contain a credential. Their names come from the target.
    pub fn note_withheld(&self, target: &str, fields: &[String], now: Moment) {
        for field in fields {
            let sentence = format!("publish.{field} stays as it is: what is observed repeats a credential there");
            if self.is_news(target, &sentence, now) {
                tracing::warn!(target = target, "{sentence}");
            }
        }
    }

    fn is_news(&self, target: &str, sentence: &str, now: Moment) -> bool {
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        let causes = told.entry(target.to_owned()).or_default();
        causes.retain(|_, seen| !now.is_past(*seen, OVER_AFTER));
        if let Some(seen) = causes.get_mut(sentence) {
            *seen = now;
            return false;
        }
        let is_news = causes.len() < MOST_CAUSES;
        if is_news {
            causes.insert(sentence.to_owned(), now);
        }
        is_news
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_cause_is_told_once_while_it_lasts() {
        let troubles = Troubles::default();
        let at = |minutes: u64| Moment::from_start(Duration::from_mins(minutes));
        let is_news = |sentence: &str, minutes| troubles.is_news("a", sentence, at(minutes));
        assert!(is_news("refused", 0));
        assert!(troubles.is_news("b", "refused", at(0)), "each target has its own");
        assert!(!is_news("refused", 9), "nothing new");
        assert!(is_news("no route", 9), "another cause");
        for minutes in 10..60 {
            let sentence = if minutes % 2 == 0 { "refused" } else { "no route" };
            assert!(!is_news(sentence, minutes), "two causes in turn are told once each");
        }
        assert!(is_news("refused", 70), "it came back");
    }

    #[test]
    fn causes_are_kept_for_who_tells_them() {
        let troubles = Troubles::silent();
        for sentence in ["refused", "no route", "refused"] {
            troubles.note("a", sentence, Moment::START);
        }
        assert_eq!(troubles.causes("a"), ["no route", "refused"]);
        assert!(troubles.causes("b").is_empty());
    }

    #[test]
    fn causes_without_end_fill_no_disk() {
        let troubles = Troubles::default();
        let told = (0..1_000).filter(|cause| troubles.is_news("a", &format!("cause {cause}"), Moment::START)).count();
        assert_eq!(told, MOST_CAUSES);
    }
}
