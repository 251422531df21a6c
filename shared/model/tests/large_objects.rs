//! What large objects take together: in a test of its own, since the budget is the program's.
#![allow(clippy::unwrap_used)]

use drift_model::field_paths::FieldPaths;
use drift_model::kept_fields::KeptFields;
use drift_model::object::LeanObject;
use drift_model::packed_text::MOST_LARGE_BYTES;
use serde_json::json;

fn decode(bytes: usize) -> LeanObject {
    let mut fields = FieldPaths::default();
    fields.insert(vec!["spec".to_owned()]);
    let text = json!({"metadata": {"name": "o"}, "spec": "x".repeat(bytes)}).to_string();
    let kept = KeptFields::new(fields.clone()).decode(&mut serde_json::Deserializer::from_str(&text)).unwrap();
    LeanObject::of_kept(&kept, &fields, None)
}

#[test]
fn large_objects_share_one_budget() {
    const KIB: usize = 1024;
    let mut objects = Vec::new();
    let counted = allocation_counter::measure(|| objects.extend((0..500).map(|_| decode(250 * KIB))));
    let kept = objects.iter().filter(|object| !object.is_oversized).count();
    assert!((50..160).contains(&kept), "{kept} of 500 objects of 250 KiB");
    assert!(usize::try_from(counted.bytes_current).unwrap() < MOST_LARGE_BYTES + 256 * KIB, "{counted:?}");
    assert!(decode(250 * KIB).is_oversized && !decode(100 * KIB).is_oversized, "smaller ones still have room");
    objects.extend((0..1_000).map(|_| decode(20 * KIB)));
    let kept: usize = objects.iter().map(|object| object.view.open().to_string().len()).sum();
    assert!(kept < MOST_LARGE_BYTES && decode(20 * KIB).is_oversized, "{kept} bytes");
    assert!(!decode(4 * KIB - 100).is_oversized, "a small one is always kept");
    drop(objects);
    assert!(!decode(250 * KIB).is_oversized, "there is room again");
}
