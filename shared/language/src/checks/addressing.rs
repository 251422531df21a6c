//! Checks which fields of an object select its external resource. Every field in an address must be part
//! of the identity.
//!
//! A claim holds for an identity. If an address had a field that the identity lacks, an edit of it would direct an
//! update or a deletion to a resource that the object never claimed.

use std::collections::BTreeMap;

use crate::cel::{DESIRED, EVERY_KEY, Expressions, Node as ValueNode};
use crate::target::Target;
use crate::yaml::{Node, Reader};
use drift_api::object::field_paths::FieldPaths;

/// Rejects addresses with a field that the identity lacks. Without external writes they are harmless.
pub(crate) fn check_addressing(reader: &mut Reader<'_>, spec: &Node, target: &Target) {
    let (identity, excused) = (target.identity.fields(), &target.not_identifying);
    let mut lacking = BTreeMap::<Vec<String>, Vec<&str>>::new();
    for (place, fields) in target.addresses() {
        for field in fields.iter().filter(|field| !is_fixed(field) && !identity.covers(field)) {
            let places = lacking.entry(field.to_vec()).or_default();
            places.push(place);
            places.dedup();
        }
    }
    for (field, places) in lacking.iter().filter(|(field, _)| !excused.covers(field)) {
        let (field, places) = (field.join("."), places.join(" and "));
        let message = format!(
            "identity: `self.{field}` stands in the address of {places} and not in the identity, so an edit of it would lead \
             a correction to a resource that the object never claimed; add it to the identity, or write \
             notIdentifying: [{field}] if it does not choose the resource"
        );
        reader.refuse::<()>(spec.get("identity").map_or(spec.at, |identity| identity.at), message);
    }
    let is_needed = |entry: &[String]| lacking.keys().any(|field| field.starts_with(entry));
    for entry in excused.iter().filter(|entry| target.correct.writes_outside() && !is_needed(entry)) {
        let message =
            format!("notIdentifying: no address needs `{}` beside the identity: leave it out", entry.join("."));
        reader.refuse::<()>(spec.get("notIdentifying").map_or(spec.at, |entries| entries.at), message);
    }
}

/// Returns true if a field never changes during the life of its object, or is our own: `store` and `publish`
/// write the status.
fn is_fixed(field: &[String]) -> bool {
    let names: Vec<&str> = field.iter().map(String::as_str).collect();
    matches!(
        names.as_slice(),
        ["apiVersion" | "kind" | "status", ..] | ["metadata", "name" | "namespace" | "uid" | "creationTimestamp"]
    )
}

impl Target {
    /// The fields under `self` in addresses, by the place of the address. The addresses of a Job are not known.
    fn addresses(&self) -> Vec<(&'static str, FieldPaths)> {
        let Some(section) = self.correct.section().filter(|section| section.writes_outside()) else {
            return Vec::new();
        };
        let mut found = vec![("read", self.read.address_fields())];
        let addresses = section.addresses().into_iter();
        found.extend(addresses.map(|(action, address)| (action, self.fields_behind(&address))));
        found
    }

    /// The fields of the object that values come from, also through `desired`.
    pub(crate) fn fields_behind(&self, values: &impl Expressions) -> FieldPaths {
        let mut fields = values.fields();
        match self.compare.desired.root() {
            _ if !values.reads(DESIRED) => {}
            ValueNode::Map(entries) if !values.reads(EVERY_KEY) => {
                let read = entries.iter().filter(|(key, _)| values.reads(&format!("{DESIRED}.{key}")));
                read.for_each(|(_, value)| fields.extend(&value.fields()));
            }
            _ => fields.extend(&self.compare.desired.fields()),
        }
        fields
    }
}

#[cfg(test)]
mod tests;
