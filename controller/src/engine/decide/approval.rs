//! Mode Approve: each correction waits until a person approves exactly it.
//!
//! The approval is the hash of the correction in an annotation. The hash covers every field of the object that a template
//! reads, and the versions of the Secrets that are sent. The decision after the live read computes it again, so a
//! withdrawn approval or another value stops the correction before the external write.

use drift_api::approval::{ApprovedCorrection, ObjectInputs, with_secrets};
use drift_api::condition::{CorrectionStatus, named_fields};
use drift_api::object::LeanObject;
use drift_language::Mode;

use super::state::Case;
use crate::engine::corrections::{Action, Held};
use crate::engine::decide::decision::Decision;
use crate::engine::decide::situation::Situation;

/// Maximum fields in the condition. The verdict beside it names all.
const MOST_FIELDS: usize = 5;

/// No person approved the correction.
///
/// The retry of a correction in doubt has the number, and so the hash, of its first try. Status fields that the first try
/// stored itself do not change the hash.
pub(super) fn awaited(case: &Case<'_>) -> Option<Decision> {
    let Situation { object, target, memory, .. } = case.situation;
    if target.mode != Mode::Approve {
        return None;
    }
    let correction = case.correction()?;
    if case.situation.declared_secrets.is_none() && !target.sends.is_empty(correction.action) {
        // Until the Secrets are listed, their versions are unknown.
        return Some(Decision::Nothing(Held::Unsendable));
    }
    let approved = ApprovedCorrection {
        action: correction.action.as_str(),
        number: correction.asked_as(),
        resource: &correction.resource,
        desired_hash: correction.desired_hash,
        correct_hash: correction.correct_hash,
        verdict_hash: &target.verdict_hash,
        inputs: ObjectInputs::of(object),
    };
    let hash_of =
        |approved: &ApprovedCorrection<'_>| with_secrets(&approved.hash(object), &correction.approved_secrets);
    let hash = hash_of(&approved);
    let first_try = memory.own_store.inputs_before(approved.number, approved.inputs);
    let first_hash = first_try.map(|inputs| hash_of(&ApprovedCorrection { inputs, ..approved }));
    if object.approved().is_some_and(|given| given == hash || Some(given) == first_hash.as_deref()) {
        return None;
    }
    // Only a create may end a replacement.
    let replaced = correction.before.replaced && correction.action == Action::Create;
    let status = correction.before.awaiting_approval(&what(&approved, object), &hash, object.generation);
    let status = CorrectionStatus { replaced, ..status };
    let stands = status.stands(object.conditions.corrected());
    Some(if stands { Decision::Nothing(Held::AwaitingApproval) } else { Decision::WriteStatus(status) })
}

/// Returns the action and the fields that differ, for people.
fn what(approved: &ApprovedCorrection<'_>, object: &LeanObject) -> String {
    let verb = approved.action;
    let fields = approved.verdict(object).map(|verdict| named_fields(verdict.message.sentence())).unwrap_or_default();
    let more = fields.len().saturating_sub(MOST_FIELDS);
    let shown = fields.into_iter().take(MOST_FIELDS).collect::<Vec<_>>().join(", ");
    match (shown.as_str(), more) {
        ("", _) => verb.to_owned(),
        (fields, 0) => format!("{verb} of {fields}"),
        (fields, more) => format!("{verb} of {fields} and {more} more"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::corrections::outcome::{Doubt, Outcome};
    use crate::engine::fixtures::{
        CORRECT_HASH, Scene, at, doubtful, elsewhere, moved, owns, refused, set_corrected, set_observed, status,
    };
    use crate::engine::rendering::sent_secrets::SentSecrets;
    use drift_api::condition::{
        ConditionStatus, CorrectedReason, DesiredHash, DifferingFields, ObservedReason, SecretMark, SecretMarks, Tag,
        Verdict,
    };
    use drift_api::object::object_view::ObjectView;
    use drift_api::secrets::labelled_secrets::SecretVersion;
    use drift_language::Actions;
    use serde_json::json;

    /// Returns an object of ours that drifted, in mode Approve.
    fn asking() -> Scene {
        Scene::new().with(|scene| scene.target.mode = Mode::Approve)
    }

    fn awaited(scene: &Scene) -> CorrectionStatus {
        let Decision::WriteStatus(status) = scene.decide() else { unreachable!("{:?}", scene.decide()) };
        assert_eq!(status.reason, Some(CorrectedReason::AwaitingApproval));
        status
    }

    fn hash(scene: &Scene) -> String {
        awaited(scene).awaits_approval().unwrap_or_default().to_owned()
    }

    fn approved(scene: Scene, hash: &str) -> Scene {
        scene.with(|scene| scene.object.asked.get_or_insert_default().approved = Some(hash.into()))
    }

    fn written(scene: Scene) -> Scene {
        let status = awaited(&scene);
        scene.with(|scene| set_corrected(&mut scene.object.conditions, &status))
    }

    fn observing(scene: Scene, text: &str, fields: &[&str]) -> Scene {
        let fields = DifferingFields::named(fields.iter().copied());
        let current = scene.object.conditions.observed().and_then(drift_api::condition::CurrentVerdict::read);
        let tag = Tag { fields, ..current.map(|current| current.tag).unwrap_or_default() };
        let verdict = Verdict {
            reason: ObservedReason::FieldsDiffer,
            text: text.to_owned().into(),
            tag,
            generation: scene.object.generation,
        };
        scene.with(|scene| set_observed(&mut scene.object.conditions, &verdict))
    }

    #[test]
    fn drift_waits_for_its_approval() {
        let scene = observing(asking(), "2 fields differ: /a desired 1, observed 2; /b missing", &[]);
        let status = awaited(&scene);
        assert_eq!(status.text, format!("update of /a, /b awaits approval {}", hash(&scene)));
        assert_eq!((status.correction, &status.claim), (7, &owns("db")), "number and claim stay");
        assert_eq!(CorrectedReason::AwaitingApproval.status(), ConditionStatus::Unknown);
        let scene = written(scene);
        assert_eq!(scene.decide(), Decision::Nothing(Held::AwaitingApproval), "it is written once");
        let hash = scene.object.awaits_approval().unwrap_or_default();
        assert_eq!(approved(scene.clone(), "0000000000000000").decide(), scene.decide());
        let approved = approved(scene, &hash);
        assert_eq!(approved.object.awaits_approval(), None);
        let Decision::Correct(correction) = approved.decide() else { unreachable!("{:?}", approved.decide()) };
        assert_eq!((correction.action, correction.number), (Action::Update, 8));
    }

    #[test]
    fn the_approval_is_asked_for_outside_of_windows() {
        let closed = asking().with(|scene| scene.surroundings.window_opens = Some(at(2000)));
        let hash = hash(&closed);
        let wait = Decision::Wait { until: at(2000), why: Held::OutsideWindow };
        assert_eq!(approved(written(closed), &hash).decide(), wait);
    }

    #[test]
    fn an_approval_is_for_one_correction_only() {
        let base = observing(asking(), "a differs", &["a"]);
        let approval = hash(&base);
        let others: &[fn(Scene) -> Scene] = &[
            |scene| observing(scene, "a differs otherwise", &["a"]),
            |scene| observing(scene, "a differs", &["b"]),
            |scene| {
                scene.with(|scene| {
                    let placed = scene.object.conditions.observed.as_mut();
                    let condition = placed.map(|placed| &mut placed.condition);
                    condition.into_iter().for_each(|condition| {
                        condition.last_transition_time = "2026-01-02T00:00:00Z".into();
                    });
                })
            },
            |scene| scene.observed(ObservedReason::ExternalMissing),
            |scene| scene.with(|scene| scene.target.correct_hash = CORRECT_HASH + 1),
            |scene| scene.with(|scene| scene.object.id.uid = "u-2".into()),
            |scene| {
                let scene = scene.with(|scene| scene.object.generation = Some(4));
                observing(scene, "a differs", &["a"])
            },
            |scene| {
                let other = DesiredHash::of(&json!("another"));
                let tag = Tag { desired_hash: Some(other), correction: 7, ..Tag::default() };
                let scene = scene.with(|scene| scene.facts.desired_hash = Some(other));
                observing(scene.observed_with(ObservedReason::FieldsDiffer, tag), "a differs", &["a"])
            },
            |scene| {
                let scene = scene.corrected(CorrectedReason::CorrectionApplied, 8, owns("db"));
                observing(scene.observed(ObservedReason::FieldsDiffer), "a differs", &["a"])
            },
            |scene| {
                let other = moved(owns("db"));
                let scene = scene.with(|scene| scene.facts.scope = Some(elsewhere("db").scope));
                let scene = scene.corrected(CorrectedReason::CorrectionApplied, 7, other);
                observing(scene.observed(ObservedReason::FieldsDiffer), "a differs", &["a"])
            },
        ];
        let mut seen = vec![approval.clone()];
        for (position, other) in others.iter().enumerate() {
            let other = approved(other(base.clone()), &approval);
            let hash = hash(&other);
            assert!(!seen.contains(&hash), "{position}");
            seen.push(hash);
        }
    }

    #[test]
    fn no_action_passes_without_approval() {
        for (action, scene) in each_action() {
            let verb = action.as_str();
            let hash = hash(&scene);
            assert_eq!(awaited(&scene).text, format!("{verb} awaits approval {hash}"));
            let decision = approved(scene, &hash).decide();
            let Decision::Correct(correction) = decision else { unreachable!("{verb}: {decision:?}") };
            assert_eq!(correction.action.as_str(), verb);
        }
    }

    /// Returns the scene with these labels and status fields, as templates read them.
    fn reading(scene: Scene, owner: &str, id: &str) -> Scene {
        let view = json!({"metadata": {"labels": {"owner": owner}}, "status": {"id": id}});
        scene.with(|scene| scene.object.view = ObjectView::of(&view))
    }

    fn with_secret(scene: Scene, version: &str) -> Scene {
        let version = SecretVersion { uid: "u".to_owned(), resource_version: version.to_owned() };
        let mark = SecretMark::of("password", "key", &version);
        scene.with(|scene| scene.declared_secrets = Some([("password".to_owned(), Some(mark))].into()))
    }

    /// Returns a scene that awaits approval for each action.
    fn each_action() -> Vec<(Action, Scene)> {
        let replace = Tag { replace: true, correction: 7, desired_hash: asking().facts.desired_hash, ..Tag::default() };
        let replacing = asking().with(|scene| scene.target.actions.replace = true);
        let nudging = asking().with(|scene| scene.target.actions = Actions { nudge: true, ..Actions::default() });
        let deleting = asking().with_finalizer().with(|scene| {
            scene.object.deleting = true;
            scene.target.actions.delete = true;
        });
        vec![
            (Action::Create, asking().observed(ObservedReason::ExternalMissing)),
            (Action::Update, asking()),
            (Action::Replace, replacing.observed_with(ObservedReason::FieldsDiffer, replace)),
            (Action::Nudge, nudging),
            (Action::Delete, deleting),
        ]
    }

    #[test]
    fn whatever_changes_what_is_sent_asks_again() {
        type Change = fn(Scene) -> Scene;
        for (action, scene) in each_action() {
            let scene = scene.with(|scene| scene.target.sends = SentSecrets::only(action, "password"));
            let base = with_secret(reading(scene, "alice", "1"), "1");
            let approval = hash(&base);
            let passes = |scene: &Scene| matches!(scene.decide(), Decision::Correct(_));
            assert!(passes(&approved(base.clone(), &approval)), "{action:?}");
            let changes: [(&str, Change); 5] = [
                ("a label", |scene| reading(scene, "root", "1")),
                ("a status field", |scene| reading(scene, "alice", "victim")),
                ("a Secret", |scene| with_secret(scene, "2")),
                ("a Secret is gone", |scene| scene.with(|scene| scene.declared_secrets = Some(SecretMarks::new()))),
                ("the target", |scene| scene.with(|scene| scene.target.verdict_hash = "2".into())),
            ];
            for (what, change) in changes {
                let before = change(approved(base.clone(), &approval));
                assert_ne!(hash(&before), approval, "{action:?}: {what}");
                assert!(passes(&approved(before.clone(), &hash(&before))), "{action:?}: {what}");
            }
            let unlisted = approved(base, &approval).with(|scene| scene.declared_secrets = None);
            assert_eq!(unlisted.decide(), Decision::Nothing(Held::Unsendable), "{action:?}");
        }
    }

    #[test]
    fn a_secret_of_another_action_changes_nothing() {
        let sends = SentSecrets::only(Action::Create, "password");
        let update = with_secret(asking().with(|scene| scene.target.sends = sends), "1");
        let approval = hash(&update);
        let rotated = with_secret(approved(update, &approval), "2");
        assert!(matches!(rotated.decide(), Decision::Correct(_)), "{:?}", rotated.decide());
    }

    #[test]
    fn our_own_writes_keep_the_approval() {
        let base = asking().with(|scene| scene.target.actions.delete = true).with_finalizer();
        let bare = base.with(|scene| scene.object.view = ObjectView::of(&json!({"metadata": {"name": "web"}})));
        let approval = hash(&bare);
        let marked = approved(written(bare), &approval).with(|scene| {
            let annotations = json!({"driftpoller.dev/approved": approval.clone()});
            let metadata =
                json!({"name": "web", "annotations": annotations, "finalizers": ["driftpoller.dev/external"]});
            scene.object.view = ObjectView::of(&json!({"metadata": metadata}));
        });
        assert!(matches!(marked.decide(), Decision::Correct(_)), "{:?}", marked.decide());
    }

    #[test]
    fn an_id_that_the_first_try_stored_keeps_the_approval() {
        let base = reading(asking(), "alice", "");
        let doubted = after(base, &doubtful(Doubt::NoAnswer));
        let stored = reading(doubted.clone(), "alice", "7").with(|scene| {
            let inputs = ObjectInputs::of(&doubted.object);
            let own = ObjectInputs::of(&reading(doubted.clone(), "alice", "7").object);
            scene.memory.own_store.note(8, inputs, own);
        });
        let Decision::Correct(again) = stored.decide() else { unreachable!("{:?}", stored.decide()) };
        assert!(again.was_in_doubt && again.number == 8);
        assert_eq!(
            awaited(&reading(stored.clone(), "alice", "victim")).correction,
            7,
            "another writer's id asks again"
        );
        assert_eq!(awaited(&reading(stored, "root", "7")).correction, 7);
    }

    /// Returns the scene after this outcome of the approved correction and another poll.
    fn after(scene: Scene, outcome: &Outcome) -> Scene {
        let hash = hash(&scene);
        let scene = approved(written(scene), &hash);
        let Decision::Correct(correction) = scene.decide() else { unreachable!("{:?}", scene.decide()) };
        let record = correction.ended(outcome);
        let scene = scene.with(|scene| {
            scene.memory.know(correction.before.clone());
            scene.memory.begin(scene.now, None);
            scene.memory.finish(&correction, outcome, scene.now);
            scene.memory.land_outcome(record.clone());
            set_corrected(&mut scene.object.conditions, &record);
            scene.now = at(3000);
        });
        scene.observed(ObservedReason::FieldsDiffer)
    }

    #[test]
    fn a_retry_in_doubt_needs_no_second_approval() {
        let doubted = after(asking(), &doubtful(Doubt::NoAnswer));
        let Decision::Correct(again) = doubted.decide() else { unreachable!("{:?}", doubted.decide()) };
        assert!(again.was_in_doubt && again.number == 8);
        let other = observing(doubted, "another state", &[]);
        assert_eq!(awaited(&other).correction, 7, "another observed state asks again");
        let refused = after(asking(), &refused(422));
        let status = awaited(&refused);
        assert_eq!(status.correction, 8);
        assert!(status.text.contains("; before: update: the external system refuses it"), "{}", status.text);
        assert_eq!(hash(&written(refused.clone()).with(|scene| scene.target.correct_hash += 1)).len(), 32);
    }

    #[test]
    fn a_deletion_is_approved_until_it_is_done() {
        let deleting = asking().with_finalizer().with(|scene| {
            scene.object.deleting = true;
            scene.target.actions.delete = true;
        });
        let again = after(deleting, &refused(422));
        assert!(matches!(again.decide(), Decision::Correct(_)), "{:?}", again.decide());
    }

    #[test]
    fn an_interrupted_creation_stays_known_while_it_awaits_approval() {
        let interrupted = status(7, owns("db")).interrupted(Some(3));
        let scene = asking().with(|scene| set_corrected(&mut scene.object.conditions, &interrupted));
        let mut scene = scene.observed(ObservedReason::NotCreated);
        for _ in 0..2 {
            let status = awaited(&scene);
            assert!(status.is_interrupted(), "{}", status.text);
            let hash = hash(&scene);
            scene = written(scene);
            let approved = approved(scene.clone(), &hash);
            let Decision::Correct(create) = approved.decide() else { unreachable!("{:?}", approved.decide()) };
            assert!(create.resumes && create.asked_as() == 8, "the key of the interrupted request");
            scene.target.correct_hash += 1;
        }
    }

    #[test]
    fn what_healed_by_itself_awaits_nothing() {
        let waiting = |scene: Scene| written(scene).observed(ObservedReason::InSync);
        let Decision::WriteStatus(ours) = waiting(asking()).decide() else { unreachable!() };
        assert_eq!((ours.reason, ours.claim), (Some(CorrectedReason::CorrectionApplied), owns("db")));
        let tag = Tag { desired_hash: asking().facts.desired_hash, ..Tag::default() };
        let new = asking().without_status().observed_with(ObservedReason::NotCreated, tag);
        let Decision::WriteStatus(new) = waiting(new).decide() else { unreachable!() };
        assert_eq!(new.reason, None, "nothing was ever corrected");
    }

    #[test]
    fn a_replacement_in_two_parts_stays_known() {
        let started = CorrectionStatus { replaced: true, ..status(7, owns("db")) };
        let started =
            CorrectionStatus { replaced: true, ..started.keeping(CorrectedReason::CorrectionApplied, "x", Some(3)) };
        let scene = asking().with(|scene| set_corrected(&mut scene.object.conditions, &started));
        assert!(awaited(&scene.clone().observed(ObservedReason::ExternalMissing)).replaced);
        assert!(!awaited(&scene.observed(ObservedReason::FieldsDiffer)).replaced);
    }
}
