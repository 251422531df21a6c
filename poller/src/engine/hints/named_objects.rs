//! The objects of a target by the identity that each names.

use std::collections::{BTreeSet, HashMap};

use drift_api::collections::shared_text::SharedText;
use drift_api::identity::Uid;

/// The objects of a target by the identity that each names. Several may name one.
#[derive(Debug, Default)]
pub(super) struct NamedObjects {
    identities: HashMap<Uid, SharedText>,
    named: BTreeSet<(SharedText, Uid)>,
}

impl NamedObjects {
    /// Sets the identity that an object names; `None` if it names none or is gone.
    pub(super) fn set(&mut self, uid: &Uid, identity: Option<SharedText>) {
        let before = match identity.clone() {
            Some(identity) => self.identities.insert(uid.clone(), identity),
            None => self.identities.remove(uid),
        };
        if before == identity {
            return;
        }
        self.named.extend(identity.map(|identity| (identity, uid.clone())));
        if let Some(before) = before {
            self.named.remove(&(before, uid.clone()));
        }
    }

    /// Returns the objects that name an identity.
    pub(super) fn of<'a>(&'a self, identity: &'a str) -> impl Iterator<Item = &'a Uid> {
        let from = (SharedText::from(identity), Uid::from(""));
        self.named.range(from..).take_while(move |(named, _)| **named == *identity).map(|(_, uid)| uid)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_object_is_found_by_its_last_identity() {
        let mut objects = NamedObjects::default();
        for (uid, identity) in [("a", Some("x")), ("b", Some("x")), ("c", Some("xy")), ("b", Some("y")), ("c", None)] {
            objects.set(&uid.into(), identity.map(SharedText::from));
        }
        for (identity, expected) in [("x", vec!["a"]), ("y", vec!["b"]), ("xy", vec![]), ("", vec![])] {
            assert_eq!(objects.of(identity).map(|uid| &**uid).collect::<Vec<_>>(), expected, "{identity}");
        }
    }
}
