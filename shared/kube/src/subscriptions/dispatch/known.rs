//! The objects of one watch that were delivered, and their recipients.
//!
//! Little is kept of each: there are tens of thousands, and nearly all have the same recipients.

use std::num::NonZeroU64;
use std::sync::Arc;

use drift_api::{LeanObject, ObjectId, SharedText, Uid};
use indexmap::IndexMap;

use super::object_memory::{Counted, ObjectMemory};

/// The recipients of an object, with their roles.
pub(super) type Recipients = Arc<[(Arc<str>, Role)]>;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    Owner,
    /// Another target, first by name, selects it too.
    Skipper,
}

/// The delivered objects.
#[derive(Debug, Default)]
pub(super) struct KnownObjects {
    objects: IndexMap<Uid, KnownObject>,
    /// Distinct sets of recipients. An object has the index of its own. Unused sets are removed with a target.
    told: Vec<Recipients>,
    /// The index of the last object's recipients, which the next one usually has too.
    last_told: u32,
    /// The namespace of the last object. The next one usually has the same, because lists are sorted by namespace.
    last_namespace: Option<SharedText>,
    /// Number of objects without their fields.
    refused: usize,
}

/// A delivered object.
#[derive(Debug)]
struct KnownObject {
    namespace: Option<SharedText>,
    version: Option<NonZeroU64>,
    /// The last list that had it, or after which it was reported.
    list: u32,
    /// Index into `KnownObjects::told`.
    told: u32,
    counted: Counted,
}

/// An object that is no longer known.
pub(super) struct Forgotten {
    /// The recipients, which must be notified.
    pub(super) told: Recipients,
    pub(super) namespace: Option<SharedText>,
    pub(super) counted: Counted,
}

impl KnownObjects {
    /// Replaces equal names of an object by the stored ones, to share memory: the uid is stored in a dozen places.
    pub(super) fn share_names(&mut self, id: &mut ObjectId) {
        let known = self.objects.get_key_value(&id.uid);
        if let Some((uid, _)) = known {
            id.uid = uid.clone();
        }
        match known {
            Some((_, known)) if known.namespace == id.namespace => id.namespace.clone_from(&known.namespace),
            _ if self.last_namespace == id.namespace => id.namespace.clone_from(&self.last_namespace),
            _ => self.last_namespace.clone_from(&id.namespace),
        }
    }

    /// Returns the recipients of an object.
    pub(super) fn told(&self, uid: &Uid) -> Option<&Recipients> {
        self.told.get(self.objects.get(uid)?.told as usize)
    }

    /// Returns true if the object was delivered in its current version.
    pub(super) fn has_version_of(&self, object: &LeanObject) -> bool {
        let version = stored_version(object);
        version.is_some() && self.objects.get(&object.id.uid).is_some_and(|known| known.version == version)
    }

    /// Records that these received the object in or after that list. Without its fields, it is delivered again by the
    /// next list.
    pub(super) fn note(&mut self, object: &LeanObject, list: u32, told: Recipients, counted: Counted) {
        let ObjectId { uid, namespace, .. } = object.id.clone();
        let told = self.number_of(told);
        let version = stored_version(object).filter(|_| matches!(counted, Counted::Bytes(_)));
        self.refused += usize::from(matches!(counted, Counted::Refused(_)));
        let before = self.objects.insert(uid, KnownObject { namespace, version, list, told, counted });
        self.refused -= usize::from(before.is_some_and(|before| matches!(before.counted, Counted::Refused(_))));
    }

    /// Removes the object.
    pub(super) fn forget(&mut self, uid: &Uid) -> Option<Forgotten> {
        let KnownObject { namespace, told, counted, .. } = self.objects.swap_remove(uid)?;
        self.refused -= usize::from(matches!(counted, Counted::Refused(_)));
        let told = self.told.get(told as usize).cloned().unwrap_or_default();
        Some(Forgotten { told, namespace, counted })
    }

    /// Returns the counted fields of an object.
    pub(super) fn counted(&self, uid: &Uid) -> Option<Counted> {
        self.objects.get(uid).map(|known| known.counted)
    }

    /// Returns true if an object is without its fields.
    pub(super) const fn has_refused(&self) -> bool {
        self.refused > 0
    }

    /// Returns the namespace and the counted fields of each object.
    pub(super) fn counts(&self) -> impl Iterator<Item = (Option<&SharedText>, Counted)> {
        self.objects.values().map(|known| (known.namespace.as_ref(), known.counted))
    }

    fn number_of(&mut self, told: Recipients) -> u32 {
        if self.told.get(self.last_told as usize) != Some(&told) {
            self.last_told = number_in(&mut self.told, told);
        }
        self.last_told
    }

    /// Removes a target from all recipients, and the objects that no other target received.
    pub(super) fn forget_target(&mut self, target: &str, memory: &mut ObjectMemory) {
        let before = std::mem::take(&mut self.told);
        let without = |told: &Recipients| told.iter().filter(|(one, _)| &**one != target).cloned().collect();
        let numbers = before.iter().map(without).map(|told: Recipients| (told, None));
        let mut after: Vec<(Recipients, Option<u32>)> = numbers.collect();
        self.objects.retain(|_, known| {
            let Some((told, number)) = after.get_mut(known.told as usize).filter(|(told, _)| !told.is_empty()) else {
                memory.release(known.namespace.as_ref(), known.counted);
                self.refused -= usize::from(matches!(known.counted, Counted::Refused(_)));
                return false;
            };
            known.told = *number.get_or_insert_with(|| number_in(&mut self.told, told.clone()));
            true
        });
    }

    /// Returns the objects of a namespace, or of all, that this list lacks and that were not reported after it.
    pub(super) fn missing(&self, namespace: Option<&str>, list: u32) -> Vec<Uid> {
        let is_here = |known: &KnownObject| namespace.is_none() || known.namespace.as_deref() == namespace;
        let missing = self.objects.iter().filter(|(_, known)| is_here(known) && known.list != list);
        missing.map(|(uid, _)| uid.clone()).collect()
    }

    /// Returns true if an object has such recipients.
    pub(super) fn any(&self, such: impl Fn(&Recipients) -> bool) -> bool {
        self.objects.values().filter_map(|known| self.told.get(known.told as usize)).any(such)
    }
}

/// Returns the version if it is a 64-bit number. Any other version counts as none, and none never equals another: an
/// object is rather delivered twice than not at all.
fn stored_version(object: &LeanObject) -> Option<NonZeroU64> {
    NonZeroU64::new(object.resource_version.short_number()?)
}

fn number_in(all: &mut Vec<Recipients>, told: Recipients) -> u32 {
    let known = all.iter().position(|one| *one == told);
    known.unwrap_or_else(|| {
        all.push(told);
        all.len() - 1
    }) as u32
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use drift_api::object::field_paths::FieldPaths;
    use serde_json::json;

    use super::*;

    fn object(namespace: &str, name: &str, version: &str) -> LeanObject {
        let object = json!({"metadata": {"namespace": namespace, "uid": name, "resourceVersion": version}});
        LeanObject::prune(&object, &FieldPaths::default())
    }

    fn told(of: &[&str]) -> Recipients {
        of.iter().map(|target| ((*target).into(), Role::Owner)).collect()
    }

    #[test]
    fn only_the_same_number_is_the_same_version() {
        let mut known = KnownObjects::default();
        let mut is_same = |before: &str, after: &str| {
            known.note(&object("a", "p", before), 1, told(&["a"]), Counted::Bytes(0));
            known.has_version_of(&object("a", "p", after))
        };
        assert!(is_same("7", "7") && is_same("18446744073709551615", "18446744073709551615"));
        assert!(!is_same("7", "8"));
        let beyond = "18446744073709551616";
        assert!(!is_same(beyond, beyond) && !is_same("v7", "v7") && !is_same("7", beyond));
        assert!(!known.has_version_of(&object("a", "q", "7")));
    }

    #[test]
    fn a_target_that_goes_takes_its_own_along() {
        let mut known = KnownObjects::default();
        for (name, of) in [("p", &["b"][..]), ("q", &["b", "c"]), ("r", &["c"]), ("s", &["c", "d"]), ("t", &["d"])] {
            known.note(&object("a", name, "1"), 1, told(of), Counted::Bytes(0));
        }
        known.forget_target("b", &mut ObjectMemory::default());
        known.forget(&"t".into());
        let all: Vec<Option<Recipients>> =
            ["p", "q", "r", "s", "t"].map(|name| known.told(&name.into()).cloned()).into();
        assert_eq!(all, [None, Some(told(&["c"])), Some(told(&["c"])), Some(told(&["c", "d"])), None]);
        known.forget_target("x", &mut ObjectMemory::default());
        assert_eq!(known.told, [told(&["c"]), told(&["c", "d"])], "what nobody has goes");
    }

    #[test]
    fn a_list_lacks_only_what_is_in_its_namespace() {
        let mut known = KnownObjects::default();
        for (namespace, name, list) in [("a", "p", 1), ("a", "q", 2), ("b", "r", 1)] {
            known.note(&object(namespace, name, "1"), list, told(&["a"]), Counted::Bytes(0));
        }
        assert_eq!(known.missing(Some("a"), 2), ["p"]);
        assert_eq!(known.missing(None, 1), ["q"]);
    }
}
