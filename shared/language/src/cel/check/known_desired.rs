//! Static knowledge of `desired` and `observed`: the keys of their maps, and the keys of the desired state
//! that can differ.
//!
//! An expression that reads another key would never work.

use std::collections::{BTreeMap, BTreeSet};

use crate::cel::check::variables::DESIRED;
use crate::suggest::did_you_mean_or_known;

/// Static knowledge of the desired state when a correction is compiled.
#[derive(Debug, Default)]
pub(crate) struct KnownDesired {
    /// The shape of the variable `desired`.
    pub(crate) desired: Shape,
    /// Possible entries of the variable `differs`. `None` if they depend on the object.
    pub(crate) differing: Option<BTreeSet<String>>,
}

/// The shape of such a variable at one place.
#[derive(Debug, Default)]
pub(crate) enum Shape {
    /// Depends on the object, or is not a map.
    #[default]
    Unknown,
    /// An ignored key, which is removed before anything is sent.
    Ignored,
    /// A map with exactly these keys.
    Map(BTreeMap<String, Self>),
}

impl KnownDesired {
    /// Returns the reason why a path below `desired` cannot exist, or `None` if it may exist.
    pub(in crate::cel) fn refusal(&self, path: &[&str]) -> Option<String> {
        self.desired.refusal(DESIRED, path)
    }

    /// Returns the reason why a text is never in `differs`.
    pub(in crate::cel) fn never_differs(&self, name: &str) -> Option<String> {
        let known = self.differing.as_ref().filter(|known| !known.contains(name))?;
        let hint = did_you_mean_or_known(name, known.iter().map(String::as_str));
        Some(format!("`{name}` never differs: desired has no such key{hint}"))
    }
}

impl Shape {
    /// Returns the reason why a path below a variable of this shape cannot exist, or `None` if it may exist.
    pub(in crate::cel) fn refusal(&self, variable: &str, path: &[&str]) -> Option<String> {
        let mut here = self;
        for (depth, name) in path.iter().enumerate() {
            let Shape::Map(fields) = here else { return None };
            here = match fields.get(*name) {
                Some(Shape::Ignored) => {
                    return Some(format!(
                        "{variable}.{} is ignored by compare.rules, and so not there in a correction",
                        path[..=depth].join(".")
                    ));
                }
                Some(below) => below,
                None => {
                    let place = [&[variable][..], &path[..depth]].concat().join(".");
                    let hint = did_you_mean_or_known(name, fields.keys().map(String::as_str));
                    return Some(format!("{place} has no `{name}`{hint}"));
                }
            };
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_can_be_there_is_found() {
        let map = |fields: Vec<(&str, Shape)>| {
            Shape::Map(fields.into_iter().map(|(name, field)| (name.to_owned(), field)).collect())
        };
        let quota = map(vec![("cpu", Shape::Unknown), ("etag", Shape::Ignored)]);
        let desired = KnownDesired { desired: map(vec![("quota", quota), ("spec", Shape::Unknown)]), differing: None };
        let table = [
            (&["quota", "cpu"][..], None),
            (&["quota", "cpu", "any"], None),
            (&["spec", "any"], None),
            (&[], None),
            (&["qouta"], Some("desired has no `qouta`: did you mean `quota`?")),
            (&["quota", "disk"], Some("desired.quota has no `disk`; known: cpu, etag")),
            (
                &["quota", "etag"],
                Some("desired.quota.etag is ignored by compare.rules, and so not there in a correction"),
            ),
        ];
        for (path, expected) in table {
            assert_eq!(desired.refusal(path).as_deref(), expected, "{path:?}");
        }
        assert_eq!(desired.never_differs("anything"), None, "an object decides");
    }
}
