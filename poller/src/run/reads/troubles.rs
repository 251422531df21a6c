//! Logs why reads fail, because the condition names only the kind of a failure.
//!
//! A target with a thousand objects may fail a thousand times for one reason, and half of its objects may fail while
//! the other half succeeds. So each cause of a target is logged once, and again only if it returns.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use drift_api::condition::ObservedReason;
use drift_api::timing::moment::Moment;
use drift_language::Target;

use crate::engine::judgement::finding::Finding;

/// A cause that was not seen for this long is over. It is logged again if it returns. [`INTERVALS`] may be longer.
const OVER_AFTER: Duration = Duration::from_mins(10);
/// Maximum remembered causes of one target; further ones are not logged. Causes are closed sentences, of which a target
/// has a few.
const MOST_CAUSES: usize = 32;

/// A target whose reads failed works again once a read succeeds this long after the last failure. Where half of its objects
/// fail, the failures come more often. [`INTERVALS`] may be longer.
const WORKS_AFTER: Duration = Duration::from_mins(2);

/// Polls of an object begin an interval apart and take at most an interval, so its next failure comes within two.
const INTERVALS: u32 = 2;

/// The subject of a cause.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Topic {
    Reads,
    Hints,
    Withheld,
}

/// What is known of one target.
#[derive(Debug, Default)]
struct OfTarget {
    /// Reported causes, with the time each was last seen.
    causes: HashMap<(Topic, String), Moment>,
    /// The first and the last failed read since reads worked.
    failing: Option<(Moment, Moment)>,
}

/// Reported causes of each target.
#[derive(Debug, Default)]
pub struct Troubles {
    told: Mutex<HashMap<String, OfTarget>>,
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
        let causes = told.get(target).into_iter().flat_map(|of_target| of_target.causes.keys());
        let mut causes: Vec<String> = causes.map(|(_, cause)| cause.clone()).collect();
        causes.sort();
        causes
    }

    /// Records a failed read of the target with this reason, which contains no value of an object or a response.
    pub fn note(&self, target: &Target, cause: &str, now: Moment) {
        if self.is_news(target, (Topic::Reads, cause), now) && !self.is_silent {
            tracing::warn!(target = target.name, cause, "reads fail");
        }
    }

    /// Records that the target's hints are missing, with this closed reason.
    pub fn note_hints(&self, target: &Target, cause: &str, now: Moment) {
        if self.is_news(target, (Topic::Hints, cause), now) {
            tracing::warn!(target = target.name, cause, "hints do not come");
        }
    }

    /// Takes in the finding of a read.
    pub fn note_finding(&self, target: &Target, finding: &Finding, now: Moment) {
        match finding {
            Finding::Failed(failure) if failure.reason != ObservedReason::Settling => {
                self.note(target, &failure.text, now);
            }
            _ => {
                if let Some(failed) = self.end_of_failures(target, now).filter(|_| !self.is_silent) {
                    let failed_for_seconds = failed.as_secs();
                    tracing::info!(target = target.name, failed_for_seconds, "reads work again");
                }
            }
        }
    }

    /// Records fields that are not published because they contain a credential. Their names come from the target.
    pub fn note_withheld(&self, target: &Target, fields: &[String], now: Moment) {
        for field in fields {
            if self.is_news(target, (Topic::Withheld, field), now) {
                let target = &target.name;
                tracing::warn!(target, field, "a field is not published: what is observed repeats a credential there");
            }
        }
    }

    /// Returns how long reads failed, if they work again. A cause that returns later is news.
    fn end_of_failures(&self, target: &Target, now: Moment) -> Option<Duration> {
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        let of_target = told.get_mut(&target.name)?;
        let works_after = WORKS_AFTER.max(target.interval * INTERVALS);
        let (first, last) = of_target.failing.take_if(|(_, last)| now.is_past(*last, works_after))?;
        of_target.causes.retain(|(topic, _), _| *topic != Topic::Reads);
        Some(last - first)
    }

    fn is_news(&self, target: &Target, (topic, cause): (Topic, &str), now: Moment) -> bool {
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        let OfTarget { causes, failing } = told.entry(target.name.clone()).or_default();
        if topic == Topic::Reads {
            failing.get_or_insert((now, now)).1 = now;
        }
        let over_after = OVER_AFTER.max(target.interval * INTERVALS);
        causes.retain(|_, seen| !now.is_past(*seen, over_after));
        if let Some(seen) = causes.get_mut(&(topic, cause.to_owned())) {
            *seen = now;
            return false;
        }
        let is_news = causes.len() < MOST_CAUSES;
        if is_news {
            causes.insert((topic, cause.to_owned()), now);
        }
        is_news
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::fixtures::{TEXT, target};
    use std::sync::Arc;

    fn named(name: &str, interval: &str) -> Arc<Target> {
        let text = TEXT.replace("name: t", &format!("name: {name}"));
        target(&text.replace("interval: 30s", &format!("interval: {interval}")))
    }

    #[test]
    fn each_cause_is_told_once_while_it_lasts() {
        let (a, b) = (named("a", "30s"), named("b", "30s"));
        let troubles = Troubles::default();
        let at = |minutes: u64| Moment::from_start(Duration::from_mins(minutes));
        let is_news = |sentence: &str, minutes| troubles.is_news(&a, (Topic::Reads, sentence), at(minutes));
        assert!(is_news("refused", 0));
        assert!(troubles.is_news(&b, (Topic::Reads, "refused"), at(0)), "each target has its own");
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
        let a = named("a", "30s");
        let troubles = Troubles::silent();
        for sentence in ["refused", "no route", "refused"] {
            troubles.note(&a, sentence, Moment::START);
        }
        assert_eq!(troubles.causes("a"), ["no route", "refused"]);
        assert!(troubles.causes("b").is_empty());
    }

    #[test]
    fn causes_without_end_fill_no_disk() {
        let a = named("a", "30s");
        let troubles = Troubles::default();
        let is_news = |cause: &u32| troubles.is_news(&a, (Topic::Reads, &format!("cause {cause}")), Moment::START);
        let told = (0..1_000).filter(is_news).count();
        assert_eq!(told, MOST_CAUSES);
    }

    #[test]
    fn reads_that_work_again_end_their_causes() {
        let (a, b) = (named("a", "30s"), named("b", "30s"));
        let troubles = Troubles::default();
        let at = |seconds: u64| Moment::from_start(Duration::from_secs(seconds));
        assert_eq!(troubles.end_of_failures(&a, at(0)), None, "nothing failed");
        for seconds in [0, 60, 90] {
            troubles.note(&a, "refused", at(seconds));
        }
        troubles.note_hints(&a, "closed", at(90));
        assert_eq!(troubles.end_of_failures(&a, at(100)), None, "another object may still fail");
        assert_eq!(troubles.end_of_failures(&b, at(300)), None, "another target");
        assert_eq!(troubles.end_of_failures(&a, at(211)), Some(Duration::from_secs(90)));
        assert_eq!(troubles.end_of_failures(&a, at(212)), None, "told once");
        assert_eq!(troubles.causes("a"), ["closed"]);
        assert!(troubles.is_news(&a, (Topic::Reads, "refused"), at(213)), "it came back");
    }

    #[test]
    fn long_intervals_lengthen_the_quiet_time() {
        let (troubles, a) = (Troubles::default(), named("a", "1h"));
        let at = |minutes: u64| Moment::from_start(Duration::from_mins(minutes));
        for minutes in [0, 60, 119] {
            let is_news = troubles.is_news(&a, (Topic::Reads, "refused"), at(minutes));
            assert_eq!(is_news, minutes == 0, "after {minutes} minutes");
            assert_eq!(troubles.end_of_failures(&a, at(minutes + 50)), None, "that object still fails");
        }
        assert_eq!(troubles.end_of_failures(&a, at(240)), Some(Duration::from_mins(119)));
    }
}
