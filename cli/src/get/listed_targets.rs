//! The targets of one command, and the rows of their objects.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use drift_api::object::SeenObject;
use drift_kube::process::clock;
use drift_language::LabelSelector;
use drift_poller::engine::object::overview::LeaseHolds;
use tokio::sync::Notify;

use super::asked::AskedKind;
use super::rows::Row;
use crate::cluster::is_selected;
use crate::kinds::KindWord;
use crate::targets::KnownKind;
use crate::targets::collections::Asked;
use crate::targets::known::KnownTarget;

/// The kinds and objects that are listed.
#[derive(Default)]
pub(super) struct ListedTargets {
    /// Of the kinds that were named, or all.
    pub(super) known: Vec<KnownKind>,
    /// The kinds that were named; none for all.
    pub(super) asked: Vec<AskedObjects>,
    /// Problems of programs and targets. Equal ones are one.
    pub(super) troubles: Vec<String>,
    /// The same, each for itself.
    pub(super) single_troubles: Vec<String>,
    /// The labels of the objects.
    pub(super) selector: LabelSelector,
    /// True if that is all that there is.
    pub(super) whole: bool,
    /// True if no poller holds its Lease, so that no verdict is current.
    pub(super) is_unpolled: bool,
    /// The Leases; `--watch` reads them again.
    pub(super) holds: RefCell<LeaseHolds>,
    /// Notified after each such read.
    pub(super) holds_read: Notify,
}

/// A kind that was named, with the names of its objects.
pub(super) struct AskedObjects {
    pub(super) asked: AskedKind,
    /// The numbers of the known kinds that are meant.
    pub(super) of: Vec<usize>,
}

impl AskedObjects {
    /// Finds the known kinds that each word means.
    pub(super) fn among(known: &[KnownKind], words: Vec<(AskedKind, KindWord)>) -> Vec<Self> {
        let meant = |word: &KindWord| {
            let numbered = known.iter().enumerate().filter(|(_, one)| word.means(&one.kind));
            numbered.map(|(number, _)| number).collect()
        };
        words.into_iter().map(|(asked, word)| Self { of: meant(&word), asked }).collect()
    }
}

impl ListedTargets {
    /// The names that are asked for of each known kind; a kind without an entry has all.
    fn names(&self) -> BTreeMap<usize, BTreeSet<String>> {
        let (mut names, mut whole) = (BTreeMap::<usize, BTreeSet<String>>::new(), BTreeSet::new());
        for AskedObjects { asked, of } in &self.asked {
            match asked.names.is_empty() {
                true => whole.extend(of.iter().copied()),
                false => of.iter().for_each(|number| names.entry(*number).or_default().extend(asked.names.clone())),
            }
        }
        names.retain(|number, _| !whole.contains(number));
        names
    }

    /// Returns true if objects of a listed kind live in namespaces.
    pub(super) fn has_namespaces(&self) -> bool {
        self.known.iter().any(|one| one.kind.namespaced)
    }

    /// The objects to read.
    pub(super) fn to_read<'n>(&self, namespace: Option<&'n str>) -> Asked<'n> {
        Asked { namespace, selector: self.selector.clone(), names: self.names() }
    }

    /// The row of an object of these known kinds, each with the conditions that its target keeps: that of the first target
    /// by name that has it.
    pub(super) fn row_among(&self, of: &[usize], join: impl Fn(&KnownKind) -> SeenObject) -> Option<Row> {
        let known = of.iter().filter_map(|number| Some((*number, self.known.get(*number)?)));
        let rows = known.filter_map(|(number, one)| self.row_of((number, one), &join(one)));
        rows.min_by(|one, other| one.target.cmp(&other.target))
    }

    /// The row of an object of this kind, where it is one of this target's, not better known by another, and asked for.
    /// An object that no known text selects has an unknown target, also if only one target may be meant.
    fn row_of(&self, (number, one): (usize, &KnownKind), seen: &SeenObject) -> Option<Row> {
        let is_kind = |other: &&KnownKind| other.objects.is_of(one.objects.group(), &one.objects.kind);
        let others = || self.known.iter().filter(is_kind);
        let is_of_text = |other: &KnownKind| other.target.text().is_some() && is_selected(&other.objects, seen);
        let is_better_known = one.target.text().is_none() && others().any(is_of_text);
        let is_listed = !is_better_known && one.target.lists(&one.objects, &seen.object, seen.labels.as_ref());
        if !is_listed || !self.selector.matches(seen.labels.as_ref()) || !self.is_named(number, seen) {
            return None;
        }
        let candidates = others().filter(|other| is_selected(&other.objects, seen));
        let without_text = candidates.filter_map(|other| match &other.target {
            KnownTarget::LastGood(target) => Some(target.clone()),
            KnownTarget::Text(_) | KnownTarget::Unknown(_) => None,
        });
        let target = match &one.target {
            KnownTarget::Text(_) => one.target.clone(),
            _ => KnownTarget::without_text(without_text.collect())?,
        };
        let row = Row::of((&target, &one.objects), &seen.object);
        if row.unread {
            return Some(row);
        }
        let leases = self.holds.borrow();
        let holds = |target| leases.of_target(target).of_object(&seen.object, row.next, clock::wall());
        let hold = target.text().and_then(|target| holds(target).into_iter().next());
        Some(Row { hold, doubt: leases.doubt_of(target.name(), &seen.object), ..row })
    }

    fn is_named(&self, number: usize, seen: &SeenObject) -> bool {
        let mut asked = self.asked.iter().filter(|asked| asked.of.contains(&number)).peekable();
        let names = |one: &AskedObjects| one.asked.names.is_empty() || one.asked.names.contains(&*seen.object.id.name);
        asked.peek().is_none() || asked.any(names)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::targets::known::ByLastGood;
    use drift_kube::client::ResolvedKind;
    use drift_language::fixtures::proxies::TEXT;
    use drift_language::{DocumentName, Problem};
    use kube::core::{ApiResource, GroupVersionKind};
    use serde_json::json;
    use std::sync::Arc;

    fn listed(last_good: &[&str], by_text: bool) -> ListedTargets {
        let target = drift_language::fixtures::proxies::target(TEXT);
        let objects = target.objects.clone();
        let version = GroupVersionKind::gvk(objects.group(), "v1", &objects.kind);
        let kind = ResolvedKind { resource: ApiResource::from_gvk(&version), namespaced: true };
        let of_name = |name: &&str| {
            let last_good = ByLastGood {
                name: (*name).to_owned(),
                objects: vec![objects.clone()],
                trouble: Problem::of_target(DocumentName::default(), *name, "it is gone"),
                missing_map: None,
            };
            KnownTarget::LastGood(Arc::new(last_good))
        };
        let targets =
            by_text.then(|| KnownTarget::Text(target.clone())).into_iter().chain(last_good.iter().map(of_name));
        let known = targets.map(|target| KnownKind { target, objects: objects.clone(), kind: kind.clone() }).collect();
        ListedTargets { known, whole: true, ..ListedTargets::default() }
    }

    #[test]
    fn an_object_without_a_known_text_has_an_unknown_target() {
        let condition = json!({"type": "driftObserved", "status": "False", "reason": "InSync", "message": "m"});
        let whole =
            json!({"metadata": {"name": "web", "namespace": "n", "uid": "u"}, "status": {"conditions": [condition]}});
        let paths = drift_api::object::field_paths::FieldPaths::default();
        let seen = SeenObject { object: drift_api::object::LeanObject::prune(&whole, &paths), labels: None };
        for (last_good, by_text, expected) in [
            (&["billing"][..], false, Some("unknown")),
            (&["billing", "dns"], false, Some("unknown")),
            (&["billing", "dns"], true, Some("t")),
            (&[], false, None),
        ] {
            let listed = listed(last_good, by_text);
            let all: Vec<usize> = (0..listed.known.len()).collect();
            let row = listed.row_among(&all, |_| seen.clone());
            assert_eq!(row.as_ref().map(|row| row.target.as_str()), expected, "{last_good:?}");
        }
    }
}
