//! The fields of an object that a set of templates reads, and the object pruned to them.
//!
//! This reduces the memory of an object to a few hundred bytes.

use std::borrow::Borrow;
use std::collections::BTreeSet;

use serde_json::{Map, Value};

use crate::condition::GenerationPlace;

/// The fields under `self` that a set of templates reads.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FieldPaths {
    paths: BTreeSet<Vec<String>>,
    /// True if the conditions of `ready: true` are kept too.
    pub readiness: bool,
    /// The place of the generation in the conditions of the kind.
    pub generation_place: GenerationPlace,
}

impl FieldPaths {
    /// Adds everything that the other set reads.
    pub fn extend(&mut self, other: &Self) {
        self.paths.extend(other.paths.iter().cloned());
        self.readiness |= other.readiness;
        if other.generation_place == GenerationPlace::Tag {
            self.generation_place = GenerationPlace::Tag;
        }
    }

    /// Returns the fields of a kind with this place of the generation.
    #[must_use]
    pub fn with_generation_in(self, generation_place: GenerationPlace) -> Self {
        Self { generation_place, ..self }
    }

    /// Adds one path below `self`, for example `["spec", "listen"]`. The empty path means the whole object.
    pub fn insert(&mut self, path: Vec<String>) {
        self.paths.insert(path);
    }

    /// The paths, in order. A path may be below another one.
    pub fn iter(&self) -> impl Iterator<Item = &[String]> {
        self.paths.iter().map(Vec::as_slice)
    }

    /// Returns true if the set contains a path, or one above it.
    #[must_use]
    pub fn covers(&self, path: &[String]) -> bool {
        self.iter().any(|known| path.starts_with(known))
    }

    /// Returns `object` with only these fields. A path that ends inside keeps everything below it.
    ///
    /// Templates have the same results as for the whole object. If a path leads through a value that is not a map, the
    /// value is kept. A map on the path is kept even if it becomes empty.
    #[must_use]
    pub fn prune(&self, object: &Value) -> Value {
        let paths: Vec<&[String]> = self.iter().collect();
        prune(object, &paths)
    }
}

impl<F: Borrow<FieldPaths>> FromIterator<F> for FieldPaths {
    fn from_iter<I: IntoIterator<Item = F>>(parts: I) -> Self {
        let mut fields = Self::default();
        parts.into_iter().for_each(|part| fields.extend(part.borrow()));
        fields
    }
}

/// `paths` are sorted, so those with the same first field are adjacent, the shortest first.
fn prune(value: &Value, paths: &[&[String]]) -> Value {
    let Value::Object(fields) = value else {
        return value.clone();
    };
    if paths.first().is_some_and(|path| path.is_empty()) {
        return value.clone();
    }
    let mut kept = Map::new();
    for group in paths.chunk_by(|left, right| left.first() == right.first()) {
        let Some(name) = group.first().and_then(|path| path.first()) else { continue };
        if let Some(field) = fields.get(name) {
            let below: Vec<&[String]> = group.iter().filter_map(|path| path.get(1..)).collect();
            kept.insert(name.clone(), prune(field, &below));
        }
    }
    Value::Object(kept)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn paths(paths: &[&[&str]]) -> FieldPaths {
        let mut fields = FieldPaths::default();
        for path in paths {
            fields.insert(path.iter().map(|&field| field.to_owned()).collect());
        }
        fields
    }

    #[test]
    fn an_object_is_cut_down_to_the_paths() {
        let object =
            json!({"spec": {"a": {"b": 1, "c": 2}, "list": [{"x": 1}], "text": "t", "none": null}, "other": 1});
        let table = [
            (paths(&[]), json!({})),
            (paths(&[&[]]), object.clone()),
            (paths(&[&[], &["spec", "a"]]), object.clone()),
            (paths(&[&["spec", "a", "b"]]), json!({"spec": {"a": {"b": 1}}})),
            (paths(&[&["spec", "a", "b"], &["spec", "a"]]), json!({"spec": {"a": {"b": 1, "c": 2}}})),
            (paths(&[&["spec", "a", "b"], &["other"]]), json!({"spec": {"a": {"b": 1}}, "other": 1})),
            (paths(&[&["spec", "list", "x"]]), json!({"spec": {"list": [{"x": 1}]}})),
            (paths(&[&["spec", "text", "x", "y"]]), json!({"spec": {"text": "t"}})),
            (paths(&[&["spec", "none"]]), json!({"spec": {"none": null}})),
            (paths(&[&["spec", "absent", "x"], &["gone"]]), json!({"spec": {}})),
        ];
        for (fields, expected) in table {
            assert_eq!(fields.prune(&object), expected, "{fields:?}");
        }
    }
}
