//! What holds a correction, one thing after the other.

use super::*;
use drift_api::condition::{ObservedReason, Tag, Verdict};
use drift_api::names::{
    ATTESTED_TARGETS_ANNOTATION, ATTESTED_TEXTS_ANNOTATION, GIVE_UP_ANNOTATION, HELD_CORRECTIONS_ANNOTATION,
    PAUSED_ANNOTATION, UNWRITTEN_ANNOTATION,
};
use drift_api::object::LeanObject;
use drift_language::Target;
use drift_language::fixtures::proxies::{TEXT, target};
use serde_json::Value;
use serde_json::json;

const NOW: &str = "2026-01-01T00:00:30Z";
const CORRECT: &str = "\n  correct: {mode: Correct, http: {create: [{method: POST, url: 'http://h/x'}], update: [{method: PUT, url: 'http://h/x'}]}}\n";

fn spec() -> Value {
    json!({"id": "x", "a": "1"})
}

fn verdict(reason: ObservedReason) -> Verdict {
    let desired = target(TEXT).desired_state_of(&json!({"spec": spec()})).unwrap();
    let tag = Tag { desired_hash: Some(desired.hash), correction: 2, ..Tag::default() };
    Verdict { reason, text: "x".into(), tag, generation: Some(1) }
}

/// An object on which this verdict and this note stand.
fn object(current: &Verdict, note: &str, more: &Value) -> LeanObject {
    with_record(current, ("CorrectionApplied", note), more)
}

fn with_record(current: &Verdict, (reason, note): (&str, &str), more: &Value) -> LeanObject {
    let mut metadata = json!({"name": "web", "uid": "u", "generation": 1});
    metadata.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    let observed = current.to_condition(None, NOW).to_json();
    let corrected = json!({"type": "driftCorrected", "status": "True", "reason": reason, "message": note, "observedGeneration": 1,
        "lastTransitionTime": NOW});
    let whole = json!({"metadata": metadata, "spec": spec(), "status": {"conditions": [observed, corrected]}});
    LeanObject::prune(&whole, &target(TEXT).all_fields)
}

/// The same with this identity given up.
fn disputed(current: &Verdict, record: (&str, &str), gives_up: &str) -> LeanObject {
    with_record(current, record, &json!({"annotations": {GIVE_UP_ANNOTATION: gives_up}}))
}

fn leases(target: &Target, renewed: &str) -> Leases {
    let lease = json!({"metadata": {"annotations": {ATTESTED_TARGETS_ANNOTATION: json!({&target.name: target.verdict_hash}).to_string(),
        ATTESTED_TEXTS_ANNOTATION: json!({&target.name: target.document_hash}).to_string()}},
        "spec": {"holderIdentity": "a", "renewTime": renewed}});
    Leases { poller: Ok(Some(lease.clone())), controller: Ok(Some(lease)) }
}

#[test]
fn a_dispute_is_told_whatever_the_verdict_is() {
    let correcting = target(&format!("{}{CORRECT}", TEXT.trim_end()));
    let taken = ("IdentityTaken", "correction 2: another object has it: Proxy.g.example a/web");
    let contested = ("IdentityContested", "correction 2, owns \"x\": others claim it: Proxy a/web");
    let given_up = ("NotOurs", "correction 2: given up");
    for (record, gives_up, expected) in [
        (taken, "", "Proxy.g.example a/web has the external resource that this object names"),
        (contested, "", "Proxy a/web and this object claim the same external resource"),
        (given_up, "x", "it gives up \"x\" by its annotation driftpoller.dev/give-up"),
        (given_up, "y", ""),
    ] {
        for reason in [ObservedReason::FieldsDiffer, ObservedReason::NotCreated, ObservedReason::InSync] {
            let current = verdict(reason);
            let object = disputed(&current, record, gives_up);
            let facts = Facts { target: &correcting, is_deployed: true, object: &object, verdict: &current };
            let held = holds(facts, &leases(&correcting, NOW), NOW.parse().unwrap()).join("; ");
            assert!(held.contains(expected), "{reason} {expected}: {held}");
            assert_eq!(held.contains("that ends when"), !expected.is_empty(), "{held}");
            assert!(record == given_up || !held.contains("NotOurs"), "{held}");
        }
    }
    let current = verdict(ObservedReason::InSync);
    let object = disputed(&current, contested, "");
    let facts = Facts { target: &correcting, is_deployed: true, object: &object, verdict: &current };
    for held in
        [holds(facts, &leases(&correcting, NOW), NOW.parse().unwrap()), stated_holds(facts, NOW.parse().unwrap())]
    {
        assert!(
            held[0].contains("claim the same") && held[1].contains("it is in sync"),
            "the dispute comes first: {held:?}"
        );
    }
    let observing = target(TEXT);
    let current = verdict(ObservedReason::FieldsDiffer);
    let object = disputed(&current, taken, "x");
    let facts = Facts { target: &observing, is_deployed: true, object: &object, verdict: &current };
    let held = holds(facts, &leases(&observing, NOW), NOW.parse().unwrap()).join("; ");
    assert!(held.starts_with("the target only observes") && !held.contains(';'), "it takes no part: {held}");
}

#[test]
fn each_thing_that_holds_is_told() {
    let correcting = target(&format!("{}{CORRECT}", TEXT.trim_end()));
    let (differs, absent) = (verdict(ObservedReason::FieldsDiffer), verdict(ObservedReason::ExternalMissing));
    let owned = "correction 2, owns \"x\": updated";
    let no_more = json!({});
    let exhausted = Verdict { tag: Tag { unhealed: 99, ..differs.tag.clone() }, ..differs.clone() };
    let table = [
        (&differs, object(&differs, owned, &no_more), ""),
        (&absent, object(&absent, owned, &no_more), ""),
        (&differs, object(&verdict(ObservedReason::InSync), owned, &no_more), "and driftObserved is not True yet"),
        (
            &differs,
            object(&differs, "correction 3, owns \"x\": updated", &no_more),
            "driftCorrected speaks of correction 3",
        ),
        (&differs, object(&differs, "correction 2: updated", &no_more), "was there before this object"),
        (&exhausted, object(&exhausted, owned, &no_more), "the last corrections healed nothing"),
        (&differs, object(&differs, owned, &json!({"generation": 2})), "an older spec"),
        (&differs, object(&differs, owned, &json!({"annotations": {PAUSED_ANNOTATION: "true"}})), "is paused"),
        (
            &differs,
            object(&differs, owned, &json!({"annotations": {PAUSED_ANNOTATION: "CHG-4711"}})),
            "paused (Paused): CHG-4711",
        ),
    ];
    let now = NOW.parse().unwrap();
    for (verdict, object, expected) in &table {
        let facts = Facts { target: &correcting, is_deployed: true, object, verdict };
        let held = holds(facts, &leases(&correcting, NOW), now).join("; ");
        assert!(held.contains(expected) && held.is_empty() == expected.is_empty(), "{expected}: {held}");
    }
    let facts = Facts { target: &correcting, is_deployed: true, object: &table[0].1, verdict: &differs };
    let stale = holds(facts, &leases(&correcting, "2026-01-01T00:01:30Z"), now);
    assert_eq!(stale.len(), 2, "{stale:?}");
    assert_eq!(holds(facts, &Leases::default(), now).len(), 2);
    assert_eq!(holds(Facts { is_deployed: false, ..facts }, &Leases::default(), now).len(), 1);
    let mut other = leases(&correcting, NOW);
    other.poller.as_mut().unwrap().as_mut().unwrap()["metadata"]["annotations"][ATTESTED_TARGETS_ANNOTATION] =
        json!("{}");
    assert!(holds(facts, &other, now)[0].contains("does not attest"));
}

/// Until `explain` asked the controller's guards, it promised a correction for each of these.
#[test]
fn no_correction_is_promised_while_a_guard_holds() {
    let correcting = format!("{}{CORRECT}", TEXT.trim_end());
    let approving = correcting.replace("mode: Correct", "mode: Approve");
    let differs = verdict(ObservedReason::FieldsDiffer);
    let owned = "correction 2, owns \"x\": updated";
    let moved = "correction 2, owns \"x\": updated [scope 3f2a9c71]";
    let awake = spec();
    let asleep = json!({"id": "x", "a": "1", "asleep": true});
    let forbidden = json!({"id": "forbidden", "a": "1"});
    for (text, note, spec, expected) in [
        (&correcting, owned, &asleep, "the target's `suspendWhen` holds for this object"),
        (&correcting, owned, &forbidden, "(NotAllowed): this identity is forbidden"),
        (&correcting, owned, &json!({"a": "1"}), "(TemplateFails): require[0].that: no field `id`; identity"),
        (&correcting, moved, &awake, "the target's scope changed from 3f2a9c71 to "),
        (&approving, owned, &awake, "a person has to approve the correction"),
    ] {
        let target = target(text);
        let mut object = object(&differs, note, &json!({}));
        object.view = drift_api::object::object_view::ObjectView::of(&json!({"spec": spec}));
        let facts = Facts { target: &target, is_deployed: true, object: &object, verdict: &differs };
        let held = holds(facts, &leases(&target, NOW), NOW.parse().unwrap()).join("; ");
        assert!(held.contains(expected), "{expected}: {held}");
    }
}

#[test]
fn a_verdict_that_is_not_written_is_not_awaited() {
    let correcting = target(&format!("{}{CORRECT}", TEXT.trim_end()));
    let differs = verdict(ObservedReason::FieldsDiffer);
    let object = object(&verdict(ObservedReason::InSync), "correction 2, owns \"x\": updated", &json!({}));
    let facts = Facts { target: &correcting, is_deployed: true, object: &object, verdict: &differs };
    let mut leases = leases(&correcting, NOW);
    let held = |leases: &Leases| holds(facts, leases, NOW.parse().unwrap()).join("; ");
    let awaited = "driftObserved is not True yet (InSync): a poll has to find it first, and 3 in a row while its verdict keeps changing";
    assert!(held(&leases).contains(awaited), "{}", held(&leases));
    let unwritten = json!({&correcting.name: {"word": "WriteRefused", "count": 1, "uids": ["u"]}}).to_string();
    let annotations = &mut leases.poller.as_mut().unwrap().as_mut().unwrap()["metadata"]["annotations"];
    annotations[UNWRITTEN_ANNOTATION] = json!(unwritten);
    let held = held(&leases);
    assert!(
        held.contains("(NotAttested): the API server does not take the poller's verdict")
            && !held.contains("not True yet"),
        "{held}"
    );
}

#[test]
fn what_this_version_cannot_read_holds_alone() {
    let correcting = target(&format!("{}{CORRECT}", TEXT.trim_end()));
    let drifted = verdict(ObservedReason::FieldsDiffer);
    let held = |note: &str| {
        let object = object(&drifted, note, &json!({}));
        let facts = Facts { target: &correcting, is_deployed: false, object: &object, verdict: &drifted };
        (holds(facts, &Leases::default(), NOW.parse().unwrap()), stated_holds(facts, NOW.parse().unwrap()))
    };
    let (all, stated) = held("correction 2, owns \"x\": updated [scope 3f2a9c71, later 9]");
    assert!(matches!(&all[..], [only] if only.contains("(NewerVersion)")), "{all:?}");
    assert_eq!(all, stated);
    assert!(!held("correction 2, owns \"x\": updated").1.iter().any(|why| why.contains("NewerVersion")));
}

#[test]
fn an_id_that_is_not_the_stored_one_holds() {
    let storing =
        CORRECT.replacen("url: 'http://h/x'}", "url: 'http://h/x', store: {externalId: '${response.body.id}'}}", 1);
    let storing = target(&format!("{}{storing}", TEXT.trim_end()));
    let drifted = verdict(ObservedReason::FieldsDiffer);
    let object =
        object(&drifted, "correction 2, owns \"x\": updated [scope 3f2a9c71, ids externalId@3f2a9c71]", &json!({}));
    let facts = Facts { target: &storing, is_deployed: false, object: &object, verdict: &drifted };
    let held = stated_holds(facts, NOW.parse().unwrap());
    assert!(
        held.iter().any(|why| why.contains("removed status.externalId") && why.ends_with("(StoredIdChanged)")),
        "{held:?}"
    );
}

#[test]
fn a_lease_that_cannot_be_read_says_why() {
    let correcting = target(&format!("{}{CORRECT}", TEXT.trim_end()));
    let differs = verdict(ObservedReason::FieldsDiffer);
    let object = object(&differs, "correction 2, owns \"x\": updated", &json!({}));
    let facts = Facts { target: &correcting, is_deployed: true, object: &object, verdict: &differs };
    let unread = |name: &str| Err(format!("the Lease {name} cannot be read: forbidden"));
    let leases = Leases { poller: unread("p"), controller: unread("c") };
    let expected = [
        "the controller's holds are not known: the Lease c cannot be read: forbidden",
        "the poller's attestations are not known: the Lease p cannot be read: forbidden",
    ];
    assert_eq!(holds(facts, &leases, NOW.parse().unwrap()), expected);
}

#[test]
fn the_controller_lists_its_holds() {
    let correcting = target(&format!("{}{CORRECT}", TEXT.trim_end()));
    let (differs, created) = (verdict(ObservedReason::FieldsDiffer), verdict(ObservedReason::NotCreated));
    let mut leases = leases(&correcting, NOW);
    let listed = json!({"targets": {&correcting.name: {"whole": ["BreakerOpen 15/29 20%"], "objects": {"u": "Delayed until 2026-01-01T00:01:00Z"}}}});
    leases.controller.as_mut().unwrap().as_mut().unwrap()["metadata"]["annotations"] =
        json!({HELD_CORRECTIONS_ANNOTATION: listed.to_string()});
    let of = |verdict: &Verdict, metadata: &Value| {
        let object = object(verdict, "correction 2, owns \"x\": updated", metadata);
        let facts = Facts { target: &correcting, is_deployed: true, object: &object, verdict };
        holds(facts, &leases, NOW.parse().unwrap())
    };
    let held = of(&differs, &json!({}));
    let breaker = format!("the breaker of target {} is open (BreakerOpen): 15 of 29 objects drifted", correcting.name);
    assert!(held.len() == 2 && held[0].starts_with(&breaker), "{held:?}");
    assert!(held[1].ends_with("(Delayed); next try at 2026-01-01 00:01:00 UTC"), "{held:?}");
    assert_eq!(of(&created, &json!({})).len(), 1, "the breaker lets new objects pass");
    assert_eq!(of(&differs, &json!({"uid": "v"})).len(), 1, "another object is not delayed");
}

#[test]
fn conditions_that_nobody_wrote_hold_nothing() {
    let correcting = target(&format!("{}{CORRECT}", TEXT.trim_end()));
    let differs = verdict(ObservedReason::FieldsDiffer);
    let bare = LeanObject::prune(&json!({"metadata": {"name": "web"}, "spec": spec()}), &correcting.all_fields);
    let in_sync = object(&verdict(ObservedReason::InSync), "correction 2, owns \"x\": updated", &json!({}));
    let facts = |object| Facts { target: &correcting, is_deployed: false, object, verdict: &differs };
    assert_eq!(stated_holds(facts(&bare), NOW.parse().unwrap()), Vec::<String>::new());
    let held = stated_holds(facts(&in_sync), NOW.parse().unwrap());
    assert!(held.len() == 1 && held[0].contains("driftObserved is not True yet"), "{held:?}");
}

#[test]
fn without_drift_or_mode_nothing_follows() {
    let (observing, now) = (target(TEXT), NOW.parse().unwrap());
    for (reason, expected) in [
        (ObservedReason::InSync, "nothing to correct"),
        (ObservedReason::PollTimedOut, "the poll gave no result"),
        (ObservedReason::FieldsDiffer, "only observes"),
    ] {
        let verdict = verdict(reason);
        let object = object(&verdict, "x", &json!({}));
        let facts = Facts { target: &observing, is_deployed: true, object: &object, verdict: &verdict };
        let held = holds(facts, &Leases::default(), now);
        assert!(held.len() == 1 && held[0].contains(expected), "{held:?}");
    }
}

#[test]
fn another_text_at_the_poller_is_told_whatever_was_found() {
    let observing = target(TEXT);
    let in_sync = verdict(ObservedReason::InSync);
    let object = object(&in_sync, "correction 2, owns \"x\": updated", &json!({}));
    let mut leases = leases(&observing, NOW);
    let facts = Facts { target: &observing, is_deployed: true, object: &object, verdict: &in_sync };
    let now = NOW.parse().unwrap();
    assert_eq!(holds(facts, &leases, now).len(), 1, "in sync alone");
    let other = json!({&observing.name: "0123456789abcdef"}).to_string();
    leases.poller.as_mut().unwrap().as_mut().unwrap()["metadata"]["annotations"][ATTESTED_TARGETS_ANNOTATION] =
        json!(other);
    let held = holds(facts, &leases, now);
    assert!(held[0].contains("another text") && held[1].contains("in sync"), "{held:?}");
    assert_eq!(holds(Facts { is_deployed: false, ..facts }, &leases, now).len(), 1, "from a file");
    let mut whole = self::leases(&observing, NOW);
    whole.poller.as_mut().unwrap().as_mut().unwrap()["metadata"]["annotations"][ATTESTED_TEXTS_ANNOTATION] =
        json!(other);
    assert!(holds(facts, &whole, now)[0].contains("another text"), "the same verdicts, but another `correct`");
    let correcting = target(&format!("{}{CORRECT}", TEXT.trim_end()));
    let differs = verdict(ObservedReason::FieldsDiffer);
    let excepted = json!({&correcting.name: "0123456789abcdef except u"}).to_string();
    leases.poller.as_mut().unwrap().as_mut().unwrap()["metadata"]["annotations"][ATTESTED_TARGETS_ANNOTATION] =
        json!(excepted);
    let drifted = self::object(&differs, "correction 2, owns \"x\": updated", &json!({}));
    let held = holds(Facts { target: &correcting, object: &drifted, verdict: &differs, ..facts }, &leases, now);
    assert_eq!(held.len(), 1, "an exception to another text says nothing of this one: {held:?}");
}

#[test]
fn an_absence_says_how_long_it_has_to_last() {
    let storing = CORRECT.replacen("url: 'http://h/x'}", "url: 'http://h/x', store: {key: '${response.body.id}'}}", 1);
    let (storing, plain) =
        (target(&format!("{}{storing}", TEXT.trim_end())), target(&format!("{}{CORRECT}", TEXT.trim_end())));
    let in_sync = object(&verdict(ObservedReason::InSync), "correction 2, owns \"x\": updated", &json!({}));
    for (target, reason, is_told) in [
        (&storing, ObservedReason::ExternalMissing, true),
        (&storing, ObservedReason::FieldsDiffer, false),
        (&plain, ObservedReason::ExternalMissing, false),
    ] {
        let verdict = verdict(reason);
        let facts = Facts { target, is_deployed: true, object: &in_sync, verdict: &verdict };
        let held = holds(facts, &leases(target, NOW), NOW.parse().unwrap()).join("; ");
        assert_eq!(held.contains("has to be missing for 10s (confirm.absentFor)"), is_told, "{held}");
    }
}

#[test]
fn a_remedy_is_a_whole_command() {
    let correcting = target(&format!("{}{CORRECT}", TEXT.trim_end()));
    let drifted = verdict(ObservedReason::FieldsDiffer);
    let exhausted = Verdict { tag: Tag { unhealed: 99, ..drifted.tag.clone() }, ..drifted };
    let contradicted = verdict(ObservedReason::AbsenceContradicted);
    for (verdict, expected) in [
        (&exhausted, "`kubectl drift retry proxy.demo.driftpoller.dev/web`"),
        (&contradicted, "`kubectl drift retry proxy.demo.driftpoller.dev/web`"),
    ] {
        let object = object(verdict, "correction 2, owns \"x\": updated", &json!({}));
        let facts = Facts { target: &correcting, is_deployed: true, object: &object, verdict };
        let held = holds(facts, &leases(&correcting, NOW), NOW.parse().unwrap()).join("; ");
        assert!(held.contains(expected) && !held.contains("KIND/NAME"), "{held}");
    }
}
