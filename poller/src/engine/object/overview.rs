//! The overview of one target for people: counts of verdicts and of holds, and the groups or objects that are asked for.
//!
//! Everything here comes from the known conditions, the Leases and the schedule. No object is judged anew.

mod field_change;
mod group;
mod holds;
mod natural_order;
mod next;
pub mod order;
mod question;
mod row;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::time::Duration;

use drift_api::collections::first::first;
use drift_api::condition::{Condition, CorrectedReason, ObservedReason};
use drift_api::held_corrections::{Held, Hold};
use drift_api::object::{LeanObject, ObjectId};
use drift_language::Target;
use jiff::Timestamp;

pub use field_change::{FieldChange, FieldChanges};
pub use group::{CORRECTION_FAILED, DELETION_STAYS, EXAMPLES, FLAPPING, Group, GroupKey};
pub use holds::LeaseHolds;
pub use natural_order::{compare as compare_names, compare_objects};
pub use next::Next;
pub use question::{GROUPS_PER_PAGE, MOST_PAGES, OBJECTS_PER_PAGE, ObjectAddress, Question, Shown, Sort};
pub use row::{ObjectRow, Rank, RowCondition};

use crate::engine::object::deletion::verdict_of;
use crate::engine::object::object_state::ObjectState;
use crate::engine::schedule::Now;
use group::{Judged, Keys, known_reason};
use holds::OfTarget;
use order::{GroupPlace, ObjectPlace};
use row::{rank_of, shown_verdict};

/// The word for objects whose verdict is Unknown.
pub const UNKNOWN: &str = "Unknown";

/// The verdicts of one target's objects.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TargetOverview {
    /// The counts of all objects of the target.
    pub counts: VerdictCounts,
    /// The objects by the words of their holds and marks, and the Unknown ones.
    pub words: BTreeMap<&'static str, WordCount>,
    /// The delay of the poll that has waited the longest.
    pub lateness: Duration,
    /// The number of objects that match the question.
    pub matching: usize,
    /// The number of groups that match the question.
    pub group_count: usize,
    /// The first groups, the worst first. Empty if the question asks for objects.
    pub groups: Vec<Group>,
    /// The objects that match and stand before the first of `rows`.
    pub skipped: usize,
    /// The objects, in the order that is asked for. Empty if the question asks for groups.
    pub rows: Vec<ObjectRow>,
}

/// Objects with a word.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WordCount {
    /// The number of them.
    pub count: usize,
    /// The first by name.
    pub first: ObjectId,
}

/// Objects by their verdict.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct VerdictCounts {
    /// Status False.
    pub in_sync: usize,
    /// Status True.
    pub drifted: usize,
    /// Status Unknown, or no verdict yet.
    pub unknown: usize,
    /// Objects that are being deleted and so have no verdict.
    pub deleting: usize,
}

impl std::ops::Add for VerdictCounts {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            in_sync: self.in_sync + other.in_sync,
            drifted: self.drifted + other.drifted,
            unknown: self.unknown + other.unknown,
            deleting: self.deleting + other.deleting,
        }
    }
}

impl VerdictCounts {
    fn of_rank(&mut self, rank: Rank) -> &mut usize {
        match rank {
            Rank::Drifted => &mut self.drifted,
            Rank::Unknown => &mut self.unknown,
            Rank::Deleting => &mut self.deleting,
            Rank::InSync => &mut self.in_sync,
        }
    }
}

/// The objects of one group.
struct Found<'s> {
    key: GroupKey,
    states: Vec<&'s ObjectState>,
}

/// Judges single objects of a target at one time.
struct Judge<'q> {
    target: &'q Target,
    holds: OfTarget<'q>,
    now: Now,
    wall: Timestamp,
}

/// Returns the overview of a target. Time is proportional to its objects, and so is the memory until it returns.
#[must_use]
pub fn overview<'a>(
    target: &Target,
    states: impl Iterator<Item = &'a ObjectState>,
    question: &Question,
    now: Now,
) -> TargetOverview {
    let wall = Timestamp::UNIX_EPOCH.saturating_add(now.wall).unwrap_or(Timestamp::MAX);
    let judge = Judge { target, holds: question.holds.of_target(target), now, wall };
    let mut overview = TargetOverview::default();
    let groups = judge.groups(states.inspect(|state| {
        let lateness = state.poll_due().map_or(Duration::ZERO, |due| now.moment - due);
        overview.lateness = overview.lateness.max(lateness);
    }));
    for group in &groups {
        *overview.counts.of_rank(group.key.rank) += group.states.len();
        let is_unknown = group.key.rank == Rank::Unknown;
        for word in group.key.words().chain(is_unknown.then_some(UNKNOWN)) {
            note_word(&mut overview.words, word, group);
        }
    }
    if question.asks_for(target) {
        let meant = groups.into_iter().filter(|group| question.means_group(&target.name, &group.key));
        let meant = meant.map(|Found { key, states }| {
            let states = states.into_iter().filter(|state| question.means_object(&state.object().id)).collect();
            Found { key, states }
        });
        judge.answer(question, meant.filter(|group| !group.states.is_empty()).collect(), &mut overview);
    }
    overview
}

fn note_word(words: &mut BTreeMap<&'static str, WordCount>, word: &'static str, group: &Found<'_>) {
    let by_name = |one: &&&ObjectState, other: &&&ObjectState| compare_objects(&one.object().id, &other.object().id);
    let Some(first) = group.states.iter().min_by(by_name).map(|state| &state.object().id) else { return };
    let known = words.entry(word).or_insert_with(|| WordCount { count: 0, first: first.clone() });
    known.count += group.states.len();
    if compare_objects(first, &known.first).is_lt() {
        known.first = first.clone();
    }
}

impl Judge<'_> {
    /// Returns all objects in their groups.
    fn groups<'a>(&self, states: impl Iterator<Item = &'a ObjectState>) -> Vec<Found<'a>> {
        let mut keys = Keys::default();
        let placed: Vec<(usize, &ObjectState)> = states.map(|state| (keys.count(self.key_of(state)), state)).collect();
        let mut groups: BTreeMap<GroupKey, Vec<&ObjectState>> = BTreeMap::new();
        let folded = keys.folded();
        let mut by_place: Vec<Vec<&ObjectState>> = folded.iter().map(|_| Vec::new()).collect();
        for (place, state) in placed {
            if let Some(states) = by_place.get_mut(place) {
                states.push(state);
            }
        }
        for (key, states) in folded.into_iter().zip(by_place) {
            groups.entry(key).or_default().extend(states);
        }
        groups.into_iter().map(|(key, states)| Found { key, states }).collect()
    }

    fn rank_of(&self, state: &ObjectState) -> Rank {
        let status = verdict_of(state.object()).map(|condition| shown_verdict(condition, state, self.now.moment).0);
        rank_of(status, state.object().deleting)
    }

    fn holds_of(&self, state: &ObjectState, rank: Rank) -> Vec<Hold> {
        let object = state.object();
        let is_troubled = matches!(rank, Rank::Drifted | Rank::Deleting);
        if !is_troubled && !may_need_a_person(object) {
            // Nearly all objects. Their next step takes the longest to find, and it holds nothing.
            return Vec::new();
        }
        let next = Next::of(Some(self.target), object);
        if !is_troubled && !next.held().is_some_and(Held::needs_a_person) {
            return Vec::new();
        }
        self.holds.of_object(object, next, self.wall)
    }

    fn key_of(&self, state: &ObjectState) -> GroupKey {
        let (object, now) = (state.object(), self.now.moment);
        let rank = self.rank_of(state);
        let unwritten = state.unwritten(now).filter(|_| !object.deleting);
        let verdict = verdict_of(object).map(|condition| {
            let (_, (reason, text)) = shown_verdict(condition, state, now);
            let reason =
                if unwritten.is_some() { reason } else { known_reason(&condition.reason, condition.status).into() };
            (reason, text)
        });
        // A deletion raises the generation, so a record of another one is not about it.
        let is_about_it = |record: &&Condition| !object.deleting || record.observed_generation == object.generation;
        let record = object.conditions.corrected().filter(is_about_it);
        GroupKey::of(&Judged {
            rank,
            verdict: verdict.as_ref().map(|(reason, text)| (&**reason, &**text)),
            unwritten,
            record: record.map(|record| &*record.reason),
            holds: &self.holds_of(state, rank),
            is_paused: object.paused,
            is_flapping: state.is_flapping(now),
        })
    }

    fn row(&self, state: &ObjectState) -> ObjectRow {
        ObjectRow::new(self.target, state, self.holds_of(state, self.rank_of(state)), self.now)
    }

    /// Fills in the groups or the objects that are asked for.
    fn answer(&self, question: &Question, meant: Vec<Found<'_>>, overview: &mut TargetOverview) {
        overview.matching = meant.iter().map(|group| group.states.len()).sum();
        overview.group_count = meant.len();
        if question.lists_objects() {
            let objects =
                meant.iter().flat_map(|group| group.states.iter().map(|state| (self.place(group, state), *state)));
            let (skipped, sort) = (question.skipped(), question.order());
            let most = skipped.saturating_add(question.most_objects());
            let listed = first(objects.collect(), most, |(one, _), (other, _)| one.compare(other, sort));
            overview.skipped = skipped.min(listed.len());
            overview.rows = listed.into_iter().skip(skipped).map(|(_, state)| self.row(state)).collect();
        } else {
            let most = (question.page.min(MOST_PAGES - 1) + 1) * GROUPS_PER_PAGE;
            let by_order = |one: &Found<'_>, other: &Found<'_>| self.group_place(one).cmp(&self.group_place(other));
            overview.groups = first(meant, most, by_order).into_iter().map(|found| self.group(found)).collect();
        }
    }

    fn place<'p>(&'p self, group: &Found<'_>, state: &'p ObjectState) -> ObjectPlace<'p> {
        let verdict = verdict_of(state.object());
        let since = verdict.and_then(|verdict| verdict.last_transition_time.second());
        ObjectPlace { target: &self.target.name, rank: group.key.rank, since, id: &state.object().id }
    }

    fn group_place<'p>(&'p self, group: &'p Found<'_>) -> GroupPlace<'p> {
        GroupPlace::new(&self.target.name, &group.key, group.states.len())
    }

    fn group(&self, Found { key, states }: Found<'_>) -> Group {
        let count = states.len();
        let oldest = states.iter().filter_map(|state| verdict_of(state.object())).map(|it| &it.last_transition_time);
        let since = oldest.min_by_key(|since| since.second().unwrap_or(i64::MAX)).map(ToString::to_string);
        let by_name = |one: &&ObjectState, other: &&ObjectState| compare_objects(&one.object().id, &other.object().id);
        let rows = first(states, EXAMPLES, by_name).into_iter().map(|state| self.row(state)).collect();
        Group { target: self.target.name.clone(), key, count, since, rows }
    }
}

/// Returns true if the object may have a hold although it is in sync or Unknown, because a person has to decide.
fn may_need_a_person(object: &LeanObject) -> bool {
    let record = object.conditions.corrected().and_then(|record| CorrectedReason::parse(&record.reason));
    let contradicted = ObservedReason::AbsenceContradicted.as_str();
    let is_contradicted = object.conditions.observed().is_some_and(|verdict| &*verdict.reason == contradicted);
    is_contradicted || record.is_some_and(CorrectedReason::needs_a_person)
}
