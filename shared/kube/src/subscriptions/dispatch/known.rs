//! The objects of one watch that were delivered, and their recipients.

use std::sync::Arc;

use drift_api::collections::shared_text::SharedText;
use drift_api::identity::Uid;
use drift_api::object::{LeanObject, ObjectId};
use drift_api::resource_version::ResourceVersion;
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
    /// Number of objects without their fields.
    refused: usize,
}

/// A delivered object.
#[derive(Debug)]
struct KnownObject {
    namespace: Option<SharedText>,
    /// The delivered version. `None` if it is no number, or if the object was delivered without its fields.
    version: Option<ResourceVersion>,
    /// The last list that had it, or after which it was reported.
    list: u32,
    told: Recipients,
    counted: Counted,
}

impl KnownObject {
    fn is_in(&self, namespace: Option<&str>) -> bool {
        namespace.is_none() || self.namespace.as_deref() == namespace
    }
}

/// An object that is no longer known.
pub(super) struct Forgotten {
    /// The recipients, which must be notified.
    pub(super) told: Recipients,
    pub(super) namespace: Option<SharedText>,
    pub(super) counted: Counted,
}

impl KnownObjects {
    /// Returns the recipients of an object.
    pub(super) fn told(&self, uid: &Uid) -> Option<&Recipients> {
        Some(&self.objects.get(uid)?.told)
    }

    /// Returns true if the object was delivered in its current version.
    pub(super) fn has_version_of(&self, object: &LeanObject) -> bool {
        let version = version_of(object);
        version.is_some() && self.objects.get(&object.id.uid).is_some_and(|known| known.version.as_ref() == version)
    }

    /// Records that these received the object in or after that list. Without its fields, it is delivered again by the
    /// next list.
    pub(super) fn note(&mut self, object: &LeanObject, list: u32, told: Recipients, counted: Counted) {
        let ObjectId { uid, namespace, .. } = object.id.clone();
        let version = version_of(object).filter(|_| matches!(counted, Counted::Bytes(_))).cloned();
        self.refused += usize::from(matches!(counted, Counted::Refused(_)));
        let before = self.objects.insert(uid, KnownObject { namespace, version, list, told, counted });
        self.refused -= usize::from(before.is_some_and(|before| matches!(before.counted, Counted::Refused(_))));
    }

    /// Removes the object.
    pub(super) fn forget(&mut self, uid: &Uid) -> Option<Forgotten> {
        let KnownObject { namespace, told, counted, .. } = self.objects.swap_remove(uid)?;
        self.refused -= usize::from(matches!(counted, Counted::Refused(_)));
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

    /// Removes a target from all recipients, and the objects that no other target received.
    pub(super) fn forget_target(&mut self, target: &str, memory: &mut ObjectMemory) {
        self.objects.retain(|_, known| {
            known.told = known.told.iter().filter(|(one, _)| &**one != target).cloned().collect();
            let is_told = !known.told.is_empty();
            if !is_told {
                memory.release(known.namespace.as_ref(), known.counted);
                self.refused -= usize::from(matches!(known.counted, Counted::Refused(_)));
            }
            is_told
        });
    }

    /// Returns the objects of a namespace, or of all, that this list lacks and that were not reported after it.
    pub(super) fn missing(&self, namespace: Option<&str>, list: u32) -> Vec<Uid> {
        let missing = self.objects.iter().filter(|(_, known)| known.is_in(namespace) && known.list != list);
        missing.map(|(uid, _)| uid.clone()).collect()
    }

    /// Returns the objects of a namespace, or of all, with their recipients.
    pub(super) fn in_namespace(&self, namespace: Option<&str>) -> impl Iterator<Item = (&Uid, &Recipients)> {
        let here = self.objects.iter().filter(move |(_, known)| known.is_in(namespace));
        here.map(|(uid, known)| (uid, &known.told))
    }

    /// Returns true if an object has such recipients.
    pub(super) fn any(&self, such: impl Fn(&Recipients) -> bool) -> bool {
        self.objects.values().map(|known| &known.told).any(such)
    }
}

/// Returns the version if it is a number. Any other version counts as none, and none never equals another: an object is
/// rather delivered twice than not at all.
fn version_of(object: &LeanObject) -> Option<&ResourceVersion> {
    Some(&object.resource_version).filter(|version| version.number().is_some())
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
        let beyond = "18446744073709551616";
        assert!(is_same("7", "7") && is_same(beyond, beyond));
        assert!(!is_same("7", "8") && !is_same("v7", "v7") && !is_same("7", beyond));
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
