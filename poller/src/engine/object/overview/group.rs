//! Groups of objects: those of one target with the same verdict, cause and holds.

use std::collections::HashMap;
use std::time::Duration;

use drift_api::condition::{ConditionStatus, CorrectedReason, ObservedReason, named_fields};
use drift_api::held_corrections::{Held, Hold};
use drift_api::short_hash;
use drift_api::unwritten::UnwrittenWord;

use super::row::{ObjectRow, Rank};

/// The objects that are shown of each group.
pub const EXAMPLES: usize = 3;
/// The causes of one verdict and hold that are groups of their own, the most frequent ones. The others share one group, because
/// each object may have a text of its own.
pub(super) const MOST_CAUSES: usize = 8;
/// The cause of the objects whose own cause is rare.
const OTHER_CAUSES: &str = "other causes";
/// The reason of a verdict that another writer wrote.
const FOREIGN: &str = "another writer's reason";
/// The fields that the cause of a group names. Objects that differ in more share it.
const MOST_FIELDS: usize = 4;

/// The mark of an object whose deletion a refusal, or an answer that says nothing, keeps up for long.
pub const DELETION_STAYS: &str = "DeletionStays";
/// The age from which a deletion stays: most refusals are over by then. The alert DriftDeletionStays has the same limit, for
/// an age without closed windows.
pub const DELETION_STAYS_AFTER: Duration = Duration::from_mins(30);
/// The mark of an object whose verdict keeps changing.
pub const FLAPPING: &str = "Flapping";
/// The mark of an object whose last correction failed.
pub const CORRECTION_FAILED: &str = CorrectedReason::CorrectionFailed.as_str();

/// What the objects of a group share.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct GroupKey {
    /// The verdict.
    pub rank: Rank,
    /// The reason of the verdict.
    pub reason: String,
    /// The cause: the fields that differ, or the sentence of an Unknown. Empty if the reason says all.
    pub cause: String,
    /// The words of the holds.
    pub held: Vec<&'static str>,
    /// Further marks, such as `CorrectionFailed`.
    pub marks: Vec<&'static str>,
}

/// Objects of one target with the same verdict, cause and holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// The target.
    pub target: String,
    /// What they share.
    pub key: GroupKey,
    /// The number of them.
    pub count: usize,
    /// The time of the oldest verdict, RFC 3339.
    pub since: Option<String>,
    /// The first of them, at most [`EXAMPLES`].
    pub rows: Vec<ObjectRow>,
}

/// One object, as far as its group depends on it.
pub(super) struct Judged<'j> {
    pub(super) rank: Rank,
    /// Reason and text of the verdict; `None` without one.
    pub(super) verdict: Option<(&'j str, &'j str)>,
    pub(super) unwritten: Option<UnwrittenWord>,
    pub(super) record: Option<&'j str>,
    /// Time since the deletion was requested. Zero for other objects.
    pub(super) deletion_age: Duration,
    pub(super) holds: &'j [Hold],
    pub(super) is_paused: bool,
    pub(super) is_flapping: bool,
}

impl GroupKey {
    /// Returns the key of an object.
    pub(super) fn of(judged: &Judged<'_>) -> Self {
        let Judged { rank, verdict, unwritten, record, holds, .. } = judged;
        let (reason, text) = verdict.unwrap_or(("NoVerdict", "no verdict yet"));
        let (reason, cause) = match rank {
            Rank::Deleting => ("Deleting", record.unwrap_or_default().to_owned()),
            Rank::Drifted => (reason, fields_of(text)),
            Rank::Unknown => (reason, text.to_owned()),
            Rank::InSync => (reason, String::new()),
        };
        let mut held: Vec<&'static str> = Vec::new();
        for hold in holds.iter().filter(|hold| !hold.word.is_empty()) {
            if !held.contains(&hold.word) {
                held.push(hold.word);
            }
        }
        Self { rank: *rank, reason: reason.to_owned(), cause, held, marks: judged.marks(*unwritten) }
    }

    /// Every word by which a filter finds the group.
    pub fn words(&self) -> impl Iterator<Item = &'static str> + Clone {
        self.held.iter().chain(&self.marks).copied()
    }

    /// Returns the id in links. It is the same as long as the objects share the same.
    #[must_use]
    pub fn id(&self, target: &str) -> String {
        let Self { rank, reason, cause, held, marks } = self;
        let text = format!("{target}\n{rank:?}\n{reason}\n{cause}\n{}\n{}", held.join(" "), marks.join(" "));
        format!("{:08x}", short_hash(&text))
    }

    /// The same without its cause.
    fn without_cause(&self) -> Self {
        Self { cause: OTHER_CAUSES.to_owned(), ..self.clone() }
    }
}

impl Judged<'_> {
    fn marks(&self, unwritten: Option<UnwrittenWord>) -> Vec<&'static str> {
        let is_recorded = |reason: CorrectedReason| self.record == Some(reason.as_str());
        let has_failed = is_recorded(CorrectedReason::CorrectionFailed);
        let is_old = self.deletion_age > DELETION_STAYS_AFTER;
        let stays = is_old && (has_failed || is_recorded(CorrectedReason::DeletionUnclear));
        // A paused object that is drifted has the hold.
        let is_marked_paused = self.is_paused && self.holds.is_empty();
        // The record of one that was never sent says failed too.
        let is_sent = self.holds.iter().all(|hold| hold.word != Held::Unsendable.as_str());
        let marks = [
            (self.rank == Rank::Deleting && stays, DELETION_STAYS),
            (self.rank == Rank::Drifted && has_failed && is_sent, CORRECTION_FAILED),
            (self.is_flapping, FLAPPING),
            (is_marked_paused, Held::Paused.as_str()),
        ];
        let marks = marks.into_iter().filter_map(|(holds, mark)| holds.then_some(mark));
        unwritten.map(UnwrittenWord::as_str).into_iter().chain(marks).collect()
    }
}

/// Returns the reason of a verdict for groups. Another writer may write any reason, so that these share one.
pub(super) fn known_reason(reason: &str, status: ConditionStatus) -> &str {
    let is_ours = ObservedReason::parse(reason).is_some_and(|known| known.status() == status);
    if is_ours { reason } else { FOREIGN }
}

/// Returns the fields that a sentence names, for example `/ttl, /value`.
fn fields_of(text: &str) -> String {
    let fields = named_fields(text);
    match fields.len() {
        0..=MOST_FIELDS => fields.join(", "),
        count => format!("{} and {} more", fields[..MOST_FIELDS].join(", "), count - MOST_FIELDS),
    }
}

/// Counts of objects by their key, and the keys after rare causes share one.
#[derive(Debug, Default)]
pub(super) struct Keys {
    places: HashMap<GroupKey, usize>,
    counts: Vec<usize>,
}

impl Keys {
    /// Counts an object and returns the place of its key.
    pub(super) fn count(&mut self, key: GroupKey) -> usize {
        let next = self.counts.len();
        let place = *self.places.entry(key).or_insert(next);
        if place == next {
            self.counts.push(0);
        }
        self.counts[place] += 1;
        place
    }

    /// Returns the key for each place. Of one verdict and hold only the most frequent causes keep a key of their own.
    pub(super) fn folded(self) -> Vec<GroupKey> {
        let Self { places, counts } = self;
        let mut keys: Vec<(GroupKey, usize)> = places.into_iter().collect();
        keys.sort_unstable_by(|(one, place), (other, other_place)| {
            counts[*other_place].cmp(&counts[*place]).then_with(|| one.cmp(other))
        });
        let mut causes: HashMap<GroupKey, usize> = HashMap::new();
        let mut folded: Vec<(usize, GroupKey)> = Vec::with_capacity(keys.len());
        for (key, place) in keys {
            let coarse = key.without_cause();
            let number = causes.entry(coarse.clone()).or_default();
            *number += 1;
            folded.push((place, if *number > MOST_CAUSES { coarse } else { key }));
        }
        folded.sort_unstable_by_key(|(place, _)| *place);
        folded.into_iter().map(|(_, key)| key).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(cause: &str, held: &[&'static str]) -> GroupKey {
        let (reason, cause) = ("ResponseInvalid".to_owned(), cause.to_owned());
        GroupKey { rank: Rank::Unknown, reason, cause, held: held.to_vec(), marks: Vec::new() }
    }

    #[test]
    fn rare_causes_share_a_group_per_hold() {
        let mut keys = Keys::default();
        let mut places = vec![keys.count(key("frequent", &[])), keys.count(key("frequent", &[]))];
        places.extend((0..50).map(|number| keys.count(key(&format!("id {number:02}"), &[]))));
        places.push(keys.count(key("rare", &["IdentityContested"])));
        let folded = keys.folded();
        let of = |place: usize| folded[places[place]].cause.as_str();
        assert_eq!((of(0), of(1), of(2), of(8)), ("frequent", "frequent", "id 00", "id 06"));
        assert_eq!((of(9), of(51)), (OTHER_CAUSES, OTHER_CAUSES));
        assert_eq!(of(52), "rare", "a rare hold keeps its group");
    }

    #[test]
    fn fields_of_a_sentence_are_the_cause() {
        let many: Vec<String> = (0..6).map(|number| format!("/f{number} desired 1, observed 2")).collect();
        for (text, expected) in [
            ("1 field differs: /value desired 1, observed 2", "/value"),
            ("2 fields differ: /a desired 1, observed 2; /b missing \"x\"", "/a, /b"),
            (&*format!("6 fields differ: {}", many.join("; ")), "/f0, /f1, /f2, /f3 and 2 more"),
            ("there is nothing", ""),
        ] {
            assert_eq!(fields_of(text), expected, "{text}");
        }
    }
}
