//! Objects without a current verdict of this process, and the exceptions in the attestation that follow.
//!
//! After a start or an edit, the breaker must see all verdicts before anything is corrected, so few late ones may be
//! excepted. A verdict that the API server refuses, that another writer wrote, or that an object brought along later
//! concerns only its object: a party that can do this to many objects of a namespace blocks only that namespace.

use std::collections::{BTreeMap, BTreeSet};

use drift_api::attestation::{Exceptions, MOST_EXCEPTED_NAMESPACES, MOST_EXCEPTIONS};
use drift_api::collections::shared_text::SharedText;
use drift_api::identity::Uid;
use drift_api::object::ObjectId;
use drift_api::unwritten::{MOST_UNWRITTEN, Unwritten, UnwrittenWord};

/// Cause of a missing verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Affair {
    /// The verdict is late since a start or an edit of the target.
    OfTarget,
    /// The verdict cannot be written, was written by another writer, or came with the object later.
    OfObject,
}

/// Objects of one target that need a verdict.
#[derive(Debug, Default)]
pub struct OwingObjects {
    late: BTreeSet<Uid>,
    own: BTreeMap<Option<SharedText>, BTreeSet<Uid>>,
    own_count: usize,
}

impl OwingObjects {
    /// Sets the cause of an object's missing verdict; `None` if it is current.
    pub fn set(&mut self, object: &ObjectId, owes: Option<Affair>) {
        let ObjectId { uid, namespace, .. } = object;
        if owes == Some(Affair::OfTarget) {
            self.late.insert(uid.clone());
        } else {
            self.late.remove(uid);
        }
        if owes == Some(Affair::OfObject) {
            let is_new = self.own.entry(namespace.clone()).or_default().insert(uid.clone());
            self.own_count += usize::from(is_new);
        } else if let Some(owing) = self.own.get_mut(namespace) {
            self.own_count -= usize::from(owing.remove(uid));
            if owing.is_empty() {
                self.own.remove(namespace);
            }
        }
    }

    /// Returns the exceptions; `None` if the target is not attested. Called on every step, so it visits no more objects
    /// than may be excepted.
    #[must_use]
    pub fn exceptions(&self, is_waited_for: impl Fn(&Uid) -> bool) -> Option<Exceptions> {
        let most_namespaces = MOST_EXCEPTIONS + MOST_EXCEPTED_NAMESPACES;
        if self.late.len() > MOST_EXCEPTIONS || self.own.len() > most_namespaces || self.late.iter().any(is_waited_for)
        {
            return None;
        }
        let namespaces = self.crowded();
        let rest = self.own.iter().filter(|(name, _)| !name.as_deref().is_some_and(|name| namespaces.contains(name)));
        let count: usize = rest.clone().map(|(_, owing)| owing.len()).sum();
        if namespaces.len() > MOST_EXCEPTED_NAMESPACES || count + self.late.len() > MOST_EXCEPTIONS {
            return None;
        }
        let objects = rest.flat_map(|(_, owing)| owing.iter()).chain(self.late.iter()).cloned().collect();
        Some(Exceptions { objects, namespaces })
    }

    /// Returns the namespaces with the most objects of their own cause, as many as needed to leave few
    /// enough other objects.
    #[must_use]
    pub fn crowded(&self) -> BTreeSet<String> {
        let mut left = self.own_count + self.late.len();
        if left <= MOST_EXCEPTIONS {
            return BTreeSet::new();
        }
        let mut by_count: Vec<_> =
            self.own.iter().filter_map(|(name, owing)| Some((owing.len(), name.as_deref()?))).collect();
        by_count.sort_by(|one, other| other.0.cmp(&one.0).then(one.1.cmp(other.1)));
        let mut crowded = BTreeSet::new();
        for (count, name) in by_count {
            if left <= MOST_EXCEPTIONS {
                break;
            }
            left -= count;
            crowded.insert(name.to_owned());
        }
        crowded
    }
}

/// Objects of one target whose verdict cannot be written.
#[derive(Debug, Default)]
pub struct UnwrittenObjects {
    by_word: BTreeMap<UnwrittenWord, BTreeSet<Uid>>,
}

impl UnwrittenObjects {
    /// Sets the reason for an object; `None` if its condition is current.
    pub fn set(&mut self, uid: &Uid, word: Option<UnwrittenWord>) {
        self.by_word.retain(|known, uids| {
            if Some(*known) != word {
                uids.remove(uid);
            }
            !uids.is_empty()
        });
        if let Some(word) = word {
            self.by_word.entry(word).or_default().insert(uid.clone());
        }
    }

    /// Returns their count with the first uids; `None` without such objects. A missing right is named first, because
    /// it is usually the cause of all.
    #[must_use]
    pub fn summary(&self) -> Option<Unwritten> {
        let word = *self.by_word.keys().next()?;
        let count = self.by_word.values().map(BTreeSet::len).sum();
        let uids = self.by_word.values().flatten().take(MOST_UNWRITTEN).cloned().collect();
        Some(Unwritten { word, count, uids })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(namespace: &str, number: usize) -> ObjectId {
        let namespace = Some(namespace).filter(|namespace| !namespace.is_empty()).map(Into::into);
        let uid = format!("{}-{number}", namespace.as_deref().unwrap_or_default());
        ObjectId { namespace, name: "p".into(), uid: Uid::from(uid) }
    }

    /// Returns this many objects in each namespace. Those of the namespace `late` are late.
    fn owing(counts: &[(&str, usize)]) -> OwingObjects {
        let mut owing = OwingObjects::default();
        for (namespace, count) in counts {
            let affair = if *namespace == "late" { Affair::OfTarget } else { Affair::OfObject };
            (0..*count).for_each(|number| owing.set(&id(namespace, number), Some(affair)));
        }
        owing
    }

    /// Returns the number of single exceptions, and the excepted namespaces.
    fn excepted(counts: &[(&str, usize)]) -> Option<(usize, Vec<String>)> {
        let except = owing(counts).exceptions(|_| false)?;
        Some((except.objects.len(), except.namespaces.into_iter().collect()))
    }

    #[test]
    fn a_crowded_namespace_keeps_back_only_itself() {
        for (counts, expected) in [
            (vec![], Some((0, vec![]))),
            (vec![("a", 20)], Some((20, vec![]))),
            (vec![("a", 21)], Some((0, vec!["a"]))),
            (vec![("a", 5000), ("b", 3)], Some((3, vec!["a"]))),
            (vec![("a", 15), ("b", 15)], Some((15, vec!["a"]))),
            (vec![("a", 30), ("b", 31), ("late", 20)], Some((20, vec!["a", "b"]))),
            (vec![("late", 21)], None),
            (vec![("a", 30), ("late", 21)], None),
            // Objects of a cluster-scoped kind have no namespace to except.
            (vec![("", 20)], Some((20, vec![]))),
            (vec![("", 21)], None),
        ] {
            let expected = expected.map(|(count, names)| (count, names.into_iter().map(str::to_owned).collect()));
            assert_eq!(excepted(&counts), expected, "{counts:?}");
        }
    }

    #[test]
    fn unwritten_verdicts_are_counted_and_named() {
        let mut unwritten = UnwrittenObjects::default();
        assert_eq!(unwritten.summary(), None);
        (0..25).for_each(|number| unwritten.set(&id("a", number).uid, Some(UnwrittenWord::WriteRefused)));
        let summary = unwritten.summary();
        assert!(summary.is_some_and(|one| one.count == 25 && one.uids.len() == MOST_UNWRITTEN));
        unwritten.set(&id("a", 24).uid, Some(UnwrittenWord::RightsMissing));
        let summary = unwritten.summary();
        let is_named =
            |one: &Unwritten| one.word == UnwrittenWord::RightsMissing && one.uids.contains(&id("a", 24).uid);
        assert!(summary.as_ref().is_some_and(|one| one.count == 25 && is_named(one)), "{summary:?}");
        (0..25).for_each(|number| unwritten.set(&id("a", number).uid, None));
        assert_eq!(unwritten.summary(), None);
    }

    #[test]
    fn trouble_in_many_namespaces_is_the_target_s() {
        let names: Vec<String> = (0..=MOST_EXCEPTED_NAMESPACES).map(|number| format!("n{number:02}")).collect();
        let counts: Vec<(&str, usize)> = names.iter().map(|name| (name.as_str(), 21)).collect();
        assert!(excepted(&counts[1..]).is_some_and(|(_, namespaces)| namespaces.len() == MOST_EXCEPTED_NAMESPACES));
        assert_eq!(excepted(&counts), None);
        assert_eq!(owing(&counts).crowded().len(), MOST_EXCEPTED_NAMESPACES + 1, "the sign names them all the same");
    }

    #[test]
    fn what_owes_nothing_more_is_forgotten() {
        let mut owing = owing(&[("a", 21), ("late", 1)]);
        (0..21).for_each(|number| owing.set(&id("a", number), None));
        owing.set(&id("late", 0), Some(Affair::OfObject));
        assert_eq!(owing.exceptions(|_| true), Some([id("late", 0).uid].into_iter().collect()));
        owing.set(&id("late", 0), None);
        assert_eq!(owing.exceptions(|_| true), Some(Exceptions::default()));
        assert!(owing.own.is_empty() && owing.own_count == 0);
    }
}
