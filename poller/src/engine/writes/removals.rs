//! Removals of the verdict by another writer: an operator that replaces the list of conditions at each reconcile.

use std::collections::VecDeque;
use std::time::Duration;

use drift_api::timing::moment::Moment;

/// Removals that are not reported: a person, or a tool that restores an object, makes a few.
const UNREPORTED: usize = 5;

/// Time in which more of them are a habit, also of an operator that reconciles every ten minutes. The same rest ends it.
const HABIT: Duration = Duration::from_hours(1);

/// Counts the removals of an object's verdict. Boxed: nearly all objects have none.
#[derive(Debug, Default)]
pub struct Removals(Option<Box<Counted>>);

#[derive(Debug, Default)]
struct Counted {
    /// The times of the last removals, at most [`UNREPORTED`].
    last: VecDeque<Moment>,
    /// True if a habit was not reported yet. `None` without one.
    is_news: Option<bool>,
}

impl Removals {
    /// Takes in a removal.
    pub fn note(&mut self, now: Moment) {
        let Counted { last, is_news } = &mut **self.0.get_or_insert_default();
        if last.back().is_some_and(|last| now.is_past(*last, HABIT)) {
            *is_news = None;
        }
        let sixth_last = if last.len() == UNREPORTED { last.pop_front() } else { None };
        if sixth_last.is_some_and(|first| now.saturating_since(first) <= HABIT) {
            is_news.get_or_insert(true);
        }
        last.push_back(now);
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
            ("every ten minutes", (0..1000).map(|number| minutes(10 * number)).collect(), vec![minutes(50)]),
            ("six in an hour", (0..6).map(|number| minutes(12 * number)).collect(), vec![minutes(60)]),
            ("six in more than an hour", (0..1000).map(|number| minutes(13 * number)).collect(), vec![]),
            ("once an hour after a habit", (0..6).chain((1..9).map(|hour| minutes(61 * hour))).collect(), vec![5]),
            ("after a rest again", (0..6).chain(minutes(100)..minutes(100) + 6).collect(), vec![5, minutes(100) + 5]),
        ] {
            assert_eq!(reported(removals), expected, "{case}");
        }
    }
}
