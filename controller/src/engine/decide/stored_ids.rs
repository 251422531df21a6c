//! Guards by the ids that the steps stored in the object's status.

use drift_api::condition::CorrectedReason;

use super::state::Case;
use crate::engine::corrections::Held;
use crate::engine::decide::decision::Decision;

/// Another writer changed or removed an id that the steps stored.
pub(super) fn changed(case: &Case<'_>) -> Option<Decision> {
    let Case { situation, status, .. } = case;
    let is_stored = |name: &str| situation.target.stores.iter().any(|stored| **stored == *name);
    let changed = status.ids.describe_changed(&situation.facts.stored, is_stored)?;
    let text = format!(
        "another writer changed or removed {changed}, which identifies the external resource: nothing is created, updated or \
         deleted until it is set back, or the object gives the resource up"
    );
    let written = case.write_once(status, CorrectedReason::StoredIdChanged, &text);
    written.or(Some(Decision::Nothing(Held::StoredIdChanged)))
}

/// The ids are set back. The number of the record is raised, because the present verdict may be that of a poll without
/// the id.
pub(super) fn set_back(case: &Case<'_>) -> Option<Decision> {
    let Case { situation, status, .. } = case;
    let was_changed = status.reason == Some(CorrectedReason::StoredIdChanged);
    let set_back = || status.in_doubt("the stored id is set back; it is polled first", situation.object.generation);
    was_changed.then(|| Decision::WriteStatus(set_back()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::corrections::Action;
    use crate::engine::fixtures::{Scene, owns, set_corrected, status};
    use drift_api::condition::{CorrectionStatus, ObservedReason, StoredIds};
    use serde_json::{Value, json};

    fn ids(present: Value) -> StoredIds {
        StoredIds::of(["id", "zone"].into_iter(), Some(&present))
    }

    /// An owned object with stored ids, and the present values.
    fn scene(stored: Value, present: Value) -> Scene {
        let record = CorrectionStatus {
            ids: ids(stored),
            ..status(7, owns("db")).keeping(CorrectedReason::CorrectionApplied, "created", Some(3))
        };
        Scene::new().with_finalizer().with(|scene| {
            scene.target.stores = Box::new(["id".into()]);
            scene.target.actions.delete = true;
            scene.facts.stored = ids(present);
            set_corrected(&mut scene.object.conditions, &record);
            scene.memory.land_status(record, scene.now);
        })
    }

    #[test]
    fn an_id_that_is_not_the_stored_one_stops_every_action() {
        for reason in [ObservedReason::ExternalMissing, ObservedReason::FieldsDiffer, ObservedReason::InSync] {
            for (present, is_held) in
                [(json!({"id": "i-1", "zone": 2}), false), (json!({"id": "i-2"}), true), (json!({}), true)]
            {
                let living = scene(json!({"id": "i-1", "zone": 1}), present.clone()).observed(reason);
                for scene in [living.clone(), living.with(|scene| scene.object.deleting = true)] {
                    let told = matches!(scene.decide(), Decision::WriteStatus(status)
                        if status.reason == Some(CorrectedReason::StoredIdChanged) && status.text.contains("status.id"));
                    assert_eq!(told, is_held, "{reason} {present} {:?}", scene.decide());
                }
            }
        }
    }

    #[test]
    fn an_id_without_a_hash_counts_from_the_next_write() {
        let scene = scene(json!({}), json!({"id": "i-1"})).observed(ObservedReason::FieldsDiffer);
        let Decision::Correct(update) = scene.decide() else { unreachable!("{:?}", scene.decide()) };
        assert_eq!((update.action, update.before.ids), (Action::Update, ids(json!({"id": "i-1"}))));
        let missing = scene.observed(ObservedReason::ExternalMissing);
        let Decision::Correct(create) = missing.decide() else { unreachable!("{:?}", missing.decide()) };
        assert!(create.before.ids.is_empty(), "what it makes has another id");
    }

    #[test]
    fn a_poll_comes_first_once_the_id_is_back() {
        let changed = scene(json!({"id": "i-1"}), json!({})).observed(ObservedReason::InSync);
        let Decision::WriteStatus(record) = changed.decide() else { unreachable!("{:?}", changed.decide()) };
        let back = changed.with(|scene| {
            set_corrected(&mut scene.object.conditions, &record);
            scene.memory.land_status(record.clone(), scene.now);
            assert_eq!(scene.decide(), Decision::Nothing(Held::StoredIdChanged), "told once");
            scene.facts.stored = ids(json!({"id": "i-1"}));
        });
        // The poll without the id has found nothing.
        let back = back.observed(ObservedReason::ExternalMissing);
        let Decision::WriteStatus(record) = back.decide() else { unreachable!("{:?}", back.decide()) };
        assert_eq!((record.correction, &record.ids), (8, &ids(json!({"id": "i-1"}))));
        let waiting = back.with(|scene| {
            set_corrected(&mut scene.object.conditions, &record);
            scene.memory.land_status(record.clone(), scene.now);
        });
        assert_eq!(waiting.decide(), Decision::Nothing(Held::NotVerified));
    }
}
