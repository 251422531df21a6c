//! Removals of the verdict by another writer: an operator that replaces the list of conditions at each reconcile.

use std::time::Duration;

use drift_api::timing::moment::Moment;
use drift_api::timing::token_bucket::TokenBucket;

/// Removals that are not reported: a person, or a tool that restores an object, makes a few.
const UNREPORTED: u32 = 5;

/// Time after which one of them is forgotten. Six within an hour are a habit, also of an operator that reconciles every
/// ten minutes.
const FORGOTTEN_AFTER: Duration = Duration::from_secs(600);

/// Counts the removals of an object's verdict. Boxed: nearly all objects have none.
#[derive(Debug, Default)]
pub struct Removals(Option<Box<Counted>>);

#[derive(Debug)]
struct Counted {
    allowed: TokenBucket,
    /// True if the sixth one was not reported yet. `None` before it.
    is_news: Option<bool>,
}

impl Removals {
    /// Takes in a removal.
    pub fn note(&mut self, now: Moment) {
        let full = || Box::new(Counted { allowed: TokenBucket::full(UNREPORTED, FORGOTTEN_AFTER, now), is_news: None });
        let counted = self.0.get_or_insert_with(full);
        if counted.allowed.is_full(now) {
            counted.is_news = None;
        }
        if counted.allowed.take(now).is_err() {
            counted.is_news.get_or_insert(true);
        }
    }

    /// Returns true if they are too many and were not reported yet, and marks them as reported.
    pub fn are_news(&mut self) -> bool {
        self.0.as_mut().and_then(|counted| counted.is_news.as_mut()).is_some_and(std::mem::take)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the seconds of the removals that are reported.
    fn reported(removals: impl IntoIterator<Item = u64>) -> Vec<u64> {
        let mut counted = Removals::default();
        let is_reported = |second: &u64| {
            counted.note(Moment::from_start(Duration::from_secs(*second)));
            counted.are_news()
        };
        removals.into_iter().filter(is_reported).collect()
    }

    #[test]
    fn the_sixth_removal_within_an_hour_is_reported_once() {
        let minutes = |minutes: u64| minutes * 60;
        for (case, removals, expected) in [
            ("five", (0..5).collect::<Vec<_>>(), vec![]),
            ("at once", (0..60).collect(), vec![5]),
            ("each minute for a day", (0..1440).map(minutes).collect(), vec![minutes(5)]),
            ("every nine minutes", (0..1000).map(|number| minutes(9 * number)).collect(), vec![minutes(9 * 41)]),
            ("every eleven minutes", (0..1000).map(|number| minutes(11 * number)).collect(), vec![]),
            ("after a rest again", (0..6).chain(minutes(100)..minutes(100) + 6).collect(), vec![5, minutes(100) + 5]),
        ] {
            assert_eq!(reported(removals), expected, "{case}");
        }
    }
}
