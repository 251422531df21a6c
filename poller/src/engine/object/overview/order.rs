//! The order of groups, objects and targets, and the pages of a list.

use std::cmp::{Ordering, Reverse};

use drift_api::held_corrections::Held;
use drift_api::object::ObjectId;

use super::group::{CORRECTION_FAILED, DELETION_STAYS, FLAPPING, Group, GroupKey};
use super::natural_order::{compare, compare_objects};
use super::question::{GROUPS_PER_PAGE, MOST_PAGES, OBJECTS_PER_PAGE, Question, Sort};
use super::row::{ObjectRow, Rank};

/// The words that need a person, the most urgent first. A failed correction comes late, because it is tried again.
pub fn words_by_person() -> impl Iterator<Item = &'static str> {
    let holds = Held::BY_PERSON.iter().map(|why| why.as_str());
    std::iter::once(DELETION_STAYS).chain(holds).chain([CORRECTION_FAILED, FLAPPING])
}

/// The words of drift that stands because somebody wants that.
const WANTED: [&str; 3] = [Held::Observing.as_str(), Held::Suspended.as_str(), Held::Paused.as_str()];

/// How much a person has to do about objects. The most comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Urgency {
    /// A person has to decide, the more urgent of [`words_by_person`] first.
    Person(usize),
    /// Nothing is known to hold a correction, or it follows by itself.
    Itself,
    /// Somebody holds it on purpose.
    Wanted,
}

impl Urgency {
    fn of<'w>(words: impl Iterator<Item = &'w str> + Clone) -> Self {
        let place = |word: &str| words_by_person().position(|known| known == word);
        match words.clone().filter_map(place).min() {
            Some(place) => Self::Person(place),
            None if words.clone().any(|word| WANTED.contains(&word)) => Self::Wanted,
            None => Self::Itself,
        }
    }
}

/// The place of a group: the worse verdict first, then the more urgent hold, then the larger group.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct GroupPlace<'g>(Rank, Urgency, Reverse<usize>, &'g str, &'g GroupKey);

impl<'g> GroupPlace<'g> {
    pub(super) fn new(target: &'g str, key: &'g GroupKey, count: usize) -> Self {
        Self(key.rank, Urgency::of(key.words()), Reverse(count), target, key)
    }
}

/// The place of an object.
#[derive(Clone, Copy, Debug)]
pub(super) struct ObjectPlace<'o> {
    pub(super) target: &'o str,
    pub(super) rank: Rank,
    /// The time of its verdict in seconds since 1970.
    pub(super) since: Option<i64>,
    pub(super) id: &'o ObjectId,
}

impl ObjectPlace<'_> {
    pub(super) fn compare(&self, other: &Self, sort: Sort) -> Ordering {
        let by_target = || compare(self.target, other.target);
        let by_name = || compare_objects(self.id, other.id);
        let by_rank = self.rank.cmp(&other.rank);
        // An object without a verdict has no age and comes last.
        let age = |place: &Self| place.since.unwrap_or(i64::MAX);
        match sort {
            Sort::Trouble => by_rank.then_with(by_target).then_with(by_name),
            Sort::Age => age(self).cmp(&age(other)).then_with(by_target).then_with(by_name),
            Sort::Name => by_name().then_with(by_target),
            Sort::Target => by_target().then(by_rank).then_with(by_name),
        }
    }
}

/// One page of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page<T> {
    /// Its items.
    pub items: Vec<T>,
    /// Its number, from 0.
    pub number: usize,
    /// The number of pages that can be shown, at least 1.
    pub count: usize,
    /// The number of items before it.
    pub before: usize,
    /// The number of items of the whole list.
    pub total: usize,
}

impl<T> Page<T> {
    /// Cuts the page out of sorted items. They begin after `skipped` items of the list.
    fn cut(items: Vec<T>, (skipped, total): (usize, usize), question: &Question, size: usize) -> Self {
        let whole = total.div_ceil(size).max(1);
        let is_of_target = question.target.is_some() && question.lists_objects();
        let count = if is_of_target { whole } else { whole.min(MOST_PAGES) };
        let before = question.page.saturating_mul(size);
        let items = items.into_iter().skip(before - skipped.min(before)).take(size).collect();
        Self { items, number: question.page, count, before, total }
    }

    /// Returns true if the list has items on pages that cannot be shown.
    #[must_use]
    pub fn is_cut(&self, size: usize) -> bool {
        self.total > self.count * size
    }
}

/// Returns the page of the groups of several targets, the worst first.
#[must_use]
pub fn page_of_groups<'g>(
    groups: impl Iterator<Item = &'g Group>,
    total: usize,
    question: &Question,
) -> Page<&'g Group> {
    let mut groups: Vec<&Group> = groups.collect();
    groups.sort_by_cached_key(|group| GroupPlace::new(&group.target, &group.key, group.count));
    Page::cut(groups, (0, total), question, GROUPS_PER_PAGE)
}

/// Returns the page of the objects of several targets. `skipped` of them stand before the first.
#[must_use]
pub fn page_of_objects<'o, T>(
    objects: impl Iterator<Item = (&'o str, &'o ObjectRow, T)>,
    (skipped, total): (usize, usize),
    question: &Question,
) -> Page<T> {
    let place = |target: &'o str, row: &'o ObjectRow| {
        let since = row.verdict.as_ref().and_then(|verdict| verdict.since.parse::<jiff::Timestamp>().ok());
        ObjectPlace { target, rank: row.rank(), since: since.map(jiff::Timestamp::as_second), id: &row.id }
    };
    let mut placed: Vec<_> = objects.map(|(target, row, item)| (place(target, row), item)).collect();
    placed.sort_by(|(one, _), (other, _)| one.compare(other, question.order()));
    let items = placed.into_iter().map(|(_, item)| item).collect();
    Page::cut(items, (skipped, total), question, OBJECTS_PER_PAGE)
}

/// The trouble of a target. The worst comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Trouble {
    /// All its corrections are held, or it has no counts.
    Held,
    /// Some of its objects need a person.
    Person,
    /// Some of its objects drifted.
    Drifted,
    /// Some of its objects are Unknown.
    Unknown,
    /// Its polls are late by more than an interval.
    Late,
    /// None.
    None,
}

impl Trouble {
    /// Returns the word in JSON.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Held => "held",
            Self::Person => "needs-a-person",
            Self::Drifted => "drifted",
            Self::Unknown => "unknown",
            Self::Late => "late",
            Self::None => "none",
        }
    }
}

/// Returns true if objects with this word need a person.
#[must_use]
pub fn needs_a_person(word: &str) -> bool {
    words_by_person().any(|known| known == word)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(rank: Rank, held: &[&'static str]) -> GroupKey {
        GroupKey { rank, reason: "x".to_owned(), cause: String::new(), held: held.to_vec(), marks: Vec::new() }
    }

    #[test]
    fn a_rare_urgent_group_precedes_a_frequent_one() {
        let contested = key(Rank::Drifted, &[Held::IdentityContested.as_str()]);
        let breaker = key(Rank::Drifted, &[Held::BreakerOpen.as_str()]);
        let both = key(Rank::Drifted, &[Held::BreakerOpen.as_str(), Held::CreationInDoubt.as_str()]);
        let (free, observed) = (key(Rank::Drifted, &[]), key(Rank::Drifted, &[Held::Observing.as_str()]));
        let (unknown, deleting) = (key(Rank::Unknown, &[]), key(Rank::Deleting, &[DELETION_STAYS]));
        let places = [
            GroupPlace::new("z", &contested, 1),
            GroupPlace::new("z", &both, 2),
            GroupPlace::new("a", &breaker, 15),
            GroupPlace::new("z", &free, 40),
            GroupPlace::new("a", &free, 3),
            GroupPlace::new("a", &observed, 400),
            GroupPlace::new("a", &unknown, 1),
            GroupPlace::new("a", &deleting, 1),
        ];
        assert!(places.is_sorted(), "{places:#?}");
    }

    #[test]
    fn each_order_of_objects_is_total() {
        let ids = ["a", "b", "c", "d"].map(|name| ObjectId { namespace: None, name: name.into(), uid: name.into() });
        let place =
            |number: usize, target: &'static str, rank, since| ObjectPlace { target, rank, since, id: &ids[number] };
        let places = [
            place(0, "t2", Rank::InSync, Some(1)),
            place(1, "t10", Rank::Drifted, None),
            place(2, "t2", Rank::Drifted, Some(7)),
            place(3, "t2", Rank::Unknown, Some(3)),
        ];
        for (sort, expected) in
            [(Sort::Trouble, "cbda"), (Sort::Age, "adcb"), (Sort::Name, "abcd"), (Sort::Target, "cdab")]
        {
            let mut sorted = places;
            sorted.sort_by(|one, other| one.compare(other, sort));
            let names: String = sorted.iter().map(|place| &*place.id.name).collect();
            assert_eq!(names, expected, "{sort:?}");
        }
    }

    #[test]
    fn pages_cover_a_list_once() {
        let asked = |page: usize, target: Option<&str>| Question {
            page,
            single: true,
            target: target.map(str::to_owned),
            ..Question::default()
        };
        // Of one target, the items before the page are left out already.
        for (page, target, skipped, expected) in [
            (0, None, 0, (0, 10, 3)),
            (2, None, 0, (20, 25, 3)),
            (2, Some("a"), 20, (20, 25, 3)),
            (9, None, 0, (0, 0, 3)),
            (usize::MAX, Some("a"), 25, (0, 0, 3)),
        ] {
            let cut = Page::cut((skipped..25).collect(), (skipped, 25), &asked(page, target), 10);
            let (first, last) = (cut.items.first().copied(), cut.items.last().copied());
            let seen = (first.unwrap_or(0), last.map_or(0, |last| last + 1), cut.count);
            assert_eq!(seen, expected, "page {page} of {target:?}");
        }
        let cut = Page::cut((0..100).collect(), (0, 100), &asked(0, None), 10);
        assert_eq!((cut.count, cut.is_cut(10)), (MOST_PAGES, true));
        let cut = Page::cut((0..10).collect(), (0, 100), &asked(0, Some("a")), 10);
        assert_eq!((cut.count, cut.is_cut(10)), (10, false));
    }
}
