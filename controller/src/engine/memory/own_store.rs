//! Values that an approved correction stored in its object's status.
//!
//! A correction in doubt is tried again without another approval. Its first try may have stored an id that its requests
//! read, so the object changed by our own hand.

use drift_api::approval::ObjectInputs;

/// The last change of an object by its own correction. Boxed: only mode Approve needs it.
#[derive(Clone, Debug, Default)]
pub struct OwnStore(Option<Box<Stored>>);

#[derive(Clone, Copy, Debug)]
struct Stored {
    /// The number that the correction and its retries have.
    number: u64,
    before: ObjectInputs,
    after: ObjectInputs,
}

impl OwnStore {
    /// Records that the correction of this number stored values, and changed nothing else.
    pub fn note(&mut self, number: u64, before: ObjectInputs, after: ObjectInputs) {
        let before = self.inputs_before(number, before).unwrap_or(before);
        self.0 = Some(Box::new(Stored { number, before, after }));
    }

    /// Returns the inputs that the correction had before it stored values; `None` if it stored none, or if another
    /// writer changed an input.
    #[must_use]
    pub fn inputs_before(&self, number: u64, current: ObjectInputs) -> Option<ObjectInputs> {
        self.0.as_deref().filter(|own| own.number == number && own.after == current).map(|own| own.before)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use drift_api::object::LeanObject;
    use drift_api::object::field_paths::FieldPaths;
    use serde_json::json;

    fn inputs(id: &str) -> ObjectInputs {
        let mut fields = FieldPaths::default();
        fields.insert(vec!["status".to_owned(), "id".to_owned()]);
        ObjectInputs::of(&LeanObject::prune(&json!({"status": {"id": id}}), &fields))
    }

    #[test]
    fn own_values_lead_back_to_the_first_try() {
        let mut own = OwnStore::default();
        own.note(8, inputs(""), inputs("a"));
        own.note(8, inputs("a"), inputs("b"));
        assert_eq!(own.inputs_before(8, inputs("b")), Some(inputs("")));
        assert_eq!(own.inputs_before(8, inputs("victim")), None, "another writer's value");
        assert_eq!(own.inputs_before(9, inputs("b")), None, "another correction");
    }
}
