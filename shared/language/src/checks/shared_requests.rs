//! Finds requests that are the same for several objects: they use no field of the object, or none that names
//! its external resource.
//!
//! Only certain cases count. A value from the external system (a status, an id derived from the uid) or the selection
//! of one entry of a response may distinguish objects too.

use drift_api::object::field_paths::FieldPaths;

use crate::cel::{DESIRED, Expressions as _};
use crate::target::Target;

/// The actions that find an existing resource. The others create it.
const FINDING: [&str; 2] = ["update", "delete"];

impl Target {
    /// Returns the places of requests that are the same for objects with different identities, or that can reach one
    /// resource from two objects, each with its warning. If all objects have one identity, equal requests are allowed.
    /// A creation may get its name from the external system.
    #[must_use]
    pub fn shared_requests(&self) -> Vec<(Vec<&'static str>, String)> {
        let identity = self.identity.fields();
        if identity.iter().next().is_none() {
            return Vec::new();
        }
        let mut found: Vec<_> = self.shared_read(&identity).into_iter().collect();
        let Some(section) = self.correct.section() else { return found };
        let kind = section.key();
        for (action, made_of) in section.made_of().filter(|(action, _)| FINDING.contains(action)) {
            let mut fields = made_of.fields();
            if made_of.reads(DESIRED) {
                fields.extend(&self.compare.desired.fields());
            }
            let message = if fields.iter().next().is_none() {
                Some(format!(
                    "no field of the object stands in it, so that each object's {action} sends the same: {}",
                    wanted(&identity)
                ))
            } else {
                let known_by = [&identity, &self.read.source.section().fields()];
                let is_other = known_by.iter().all(|known| are_apart(&fields, known));
                is_other.then(|| {
                    format!("it is made of {} and not of what the identity is: {}", list(&fields), wanted(&identity))
                })
            };
            found.extend(message.map(|message| (vec!["spec", "correct", kind, action], message)));
        }
        found
    }

    fn shared_read(&self, identity: &FieldPaths) -> Option<(Vec<&'static str>, String)> {
        if self.read.keys().is_some() {
            return None;
        }
        let (path, fields) = (self.read.place(), self.read.source.section().own_fields());
        let message = if fields.iter().next().is_none() {
            format!(
                "no field of the object stands in the read, so that all objects read the same resource: {}",
                wanted(identity)
            )
        } else if are_apart(&fields, identity) && !fields.iter().any(is_name) {
            let (read, identity) = (list(&fields), list(identity));
            format!(
                "it is made of {read} and the identity of {identity}: two objects can read one resource and count as two; make both of the same"
            )
        } else {
            return None;
        };
        Some((path, message))
    }
}

/// Returns true if no field of one is, or contains, a field of the other, and none distinguishes objects by itself.
fn are_apart(fields: &FieldPaths, known: &FieldPaths) -> bool {
    let is_given = |field: &[String]| {
        let names: Vec<&str> = field.iter().map(String::as_str).collect();
        matches!(names.as_slice(), ["status", ..] | ["metadata"] | ["metadata", "uid"])
    };
    let is_known = |field: &[String]| known.iter().any(|known| known.starts_with(field) || field.starts_with(known));
    !fields.iter().any(|field| is_given(field) || is_known(field))
}

/// Returns true for `metadata.name`. Names are unique within a namespace only.
fn is_name(field: &[String]) -> bool {
    field.iter().map(String::as_str).eq(["metadata", "name"])
}

fn wanted(identity: &FieldPaths) -> String {
    format!("write what the identity is made of ({})", list(identity))
}

fn list(fields: &FieldPaths) -> String {
    let written = |field: &[String]| {
        format!("`{}`", ["self".to_owned()].iter().chain(field).cloned().collect::<Vec<_>>().join("."))
    };
    fields.iter().map(written).collect::<Vec<_>>().join(", ")
}
