//! JSON Patches that add and remove our finalizer without changing other finalizers.
//!
//! Both patches test the uid. Adding tests that the object is not deleted and that the list has the length that was
//! read. Removing tests that our finalizer is still at its index. Neither tests the resourceVersion, because unrelated
//! writes change it.

use drift_api::names::FINALIZER;
use drift_api::object::LeanObject;
use drift_api::object::status_patch::{into_patch, uid_test};
use json_patch::Patch;
use serde_json::{Value, json};

/// Returns the patch that appends our finalizer to the list.
#[must_use]
pub fn put_patch(object: &LeanObject) -> Patch {
    let mut operations = vec![uid_test(object), absence_test("/metadata/deletionTimestamp")];
    if object.finalizers.is_empty() {
        operations.push(absence_test("/metadata/finalizers"));
        operations.push(json!({"op": "add", "path": "/metadata/finalizers", "value": [FINALIZER]}));
    } else {
        // If the list grew meanwhile, our finalizer ends up at another index and the test fails.
        let place = format!("/metadata/finalizers/{}", object.finalizers.len());
        operations.push(json!({"op": "add", "path": "/metadata/finalizers/-", "value": FINALIZER}));
        operations.push(json!({"op": "test", "path": place, "value": FINALIZER}));
    }
    into_patch(operations)
}

/// The API server treats an absent field as equal to null, unlike RFC 6902.
fn absence_test(path: &str) -> Value {
    json!({"op": "test", "path": path, "value": null})
}

/// Returns the patch that removes our finalizer; `None` if it is absent.
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

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use drift_api::object::field_paths::FieldPaths;
    use json_patch::PatchOperation;

    fn object(finalizers: &Value) -> Value {
        json!({"metadata": {"uid": "u", "resourceVersion": "5", "finalizers": finalizers}})
    }

    fn lean(object: &Value) -> LeanObject {
        LeanObject::prune(object, &FieldPaths::default())
    }

    /// Applies a patch as the API server does.
    fn patched(object: &Value, patch: &Patch) -> Result<Value, json_patch::PatchError> {
        // A test for null passes if the field is absent. If the field exists, the test fails by itself.
        let holds = |operation: &PatchOperation| {
            matches!(operation, PatchOperation::Test(test) if test.value.is_null())
                && object.pointer(operation.path().as_str()).is_none()
        };
        let rest = Patch(patch.0.iter().filter(|operation| !holds(operation)).cloned().collect());
        let mut object = object.clone();
        json_patch::patch(&mut object, &rest).map(|()| object)
    }

    #[test]
    fn our_finalizer_stands_behind_the_others() {
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
    fn an_object_whose_finalizers_or_uid_moved_refuses_both() {
        let before = object(&json!([FINALIZER]));
        let release = release_patch(&lean(&before)).unwrap();
        assert!(patched(&object(&json!(["a", FINALIZER])), &release).is_err());
        let other = json!({"metadata": {"uid": "other", "resourceVersion": "5", "finalizers": [FINALIZER]}});
        assert!(patched(&other, &release).is_err());
        let bare = json!({"metadata": {"uid": "u", "resourceVersion": "5"}});
        for (read, moved) in
            [(&bare, json!(["a"])), (&bare, json!([FINALIZER])), (&object(&json!(["a"])), json!(["a", "b"]))]
        {
            assert!(patched(&object(&moved), &put_patch(&lean(read))).is_err(), "{read} {moved}");
        }
        assert!(patched(&other, &put_patch(&lean(&bare))).is_err());
    }

    #[test]
    fn a_deleted_object_is_not_held() {
        for read in [json!({"metadata": {"uid": "u", "resourceVersion": "5"}}), object(&json!(["a"]))] {
            let put = put_patch(&lean(&read));
            let mut busy = read.clone();
            busy["metadata"]["resourceVersion"] = json!("6");
            busy["metadata"]["annotations"] = json!({"count": "1"});
            assert!(patched(&busy, &put).is_ok(), "{read}");
            busy["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
            assert!(patched(&busy, &put).is_err(), "{read}");
        }
    }
}
