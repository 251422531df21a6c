//! Our finalizer as JSON Patches: put on and taken off without touching anybody else's.
//!
//! Both patches test the uid. Putting tests the resourceVersion, since an object that was deleted meanwhile must not
//! be held; taking off tests that ours still stands at its index. This file must not know when either is due.

use drift_shared::names::FINALIZER;
use drift_shared::object::LeanObject;
use json_patch::Patch;
use serde_json::{Value, json};

/// The patch that puts our finalizer at the end of the list.
#[must_use]
pub fn put_patch(object: &LeanObject) -> Patch {
    let add = if object.finalizers.is_empty() {
        json!({"op": "add", "path": "/metadata/finalizers", "value": [FINALIZER]})
    } else {
        json!({"op": "add", "path": "/metadata/finalizers/-", "value": FINALIZER})
    };
    into_patch(vec![
        uid_test(object),
        json!({"op": "test", "path": "/metadata/resourceVersion", "value": object.resource_version}),
        add,
    ])
}

/// The patch that takes our finalizer off; `None` where it is not there.
#[must_use]
pub fn release_patch(object: &LeanObject) -> Option<Patch> {
    let index = object.finalizers.iter().position(|finalizer| finalizer == FINALIZER)?;
    let path = format!("/metadata/finalizers/{index}");
    Some(into_patch(vec![
        uid_test(object),
        json!({"op": "test", "path": path, "value": FINALIZER}),
        json!({"op": "remove", "path": path}),
    ]))
}

fn uid_test(object: &LeanObject) -> Value {
    json!({"op": "test", "path": "/metadata/uid", "value": &*object.id.uid})
}

/// Operations written out above are always well formed; an empty patch would be refused by the API server, not misapplied.
fn into_patch(operations: Vec<Value>) -> Patch {
    serde_json::from_value(Value::Array(operations)).unwrap_or_default()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use drift_shared::template::FieldPaths;

    fn object(finalizers: &Value) -> Value {
        json!({"metadata": {"uid": "u", "resourceVersion": "5", "finalizers": finalizers}})
    }

    fn lean(object: &Value) -> LeanObject {
        LeanObject::prune(object, &FieldPaths::default())
    }

    fn patched(object: &Value, patch: &Patch) -> Result<Value, json_patch::PatchError> {
        let mut object = object.clone();
        json_patch::patch(&mut object, patch).map(|()| object)
    }

    #[test]
    fn ours_is_put_behind_the_others_and_taken_from_among_them() {
        let bare = json!({"metadata": {"uid": "u", "resourceVersion": "5"}});
        assert_eq!(patched(&bare, &put_patch(&lean(&bare))).unwrap(), object(&json!([FINALIZER])));
        let foreign = object(&json!(["a", "b"]));
        let ours = patched(&foreign, &put_patch(&lean(&foreign))).unwrap();
        assert_eq!(ours, object(&json!(["a", "b", FINALIZER])));
        let between = object(&json!(["a", FINALIZER, "b"]));
        assert_eq!(patched(&between, &release_patch(&lean(&between)).unwrap()).unwrap(), foreign);
        assert!(release_patch(&lean(&foreign)).is_none());
    }

    #[test]
    fn an_object_that_moved_refuses_both() {
        let before = object(&json!([FINALIZER]));
        let release = release_patch(&lean(&before)).unwrap();
        assert!(patched(&object(&json!(["a", FINALIZER])), &release).is_err());
        let other = json!({"metadata": {"uid": "other", "resourceVersion": "5", "finalizers": [FINALIZER]}});
        assert!(patched(&other, &release).is_err());
        let put = put_patch(&lean(&object(&json!([]))));
        let moved = json!({"metadata": {"uid": "u", "resourceVersion": "6", "finalizers": []}});
        assert!(patched(&moved, &put).is_err());
    }
}
