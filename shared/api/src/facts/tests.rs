//! Every list of facts is read as it was written, and no text is a panic.

use std::collections::BTreeSet;

use proptest::collection::{btree_set, vec};
use proptest::option;
use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::attestation::{Attestation, Exceptions};
use crate::condition::{
    Claim, ClaimedName, CorrectionStatus, DesiredHash, DifferingFields, NotedSecrets, PollRequest, SecretMark,
    StoredIds, Tag, UnseenCreate,
};
use crate::held_corrections::{BreakerCounts, Held, HeldCorrections, ObjectHold, TargetHold};
use crate::identity::{ScopeId, Uid};
use crate::secrets::labelled_secrets::SecretVersion;

fn hashes() -> impl Strategy<Value = DesiredHash> {
    any::<u32>().prop_map(|seed| DesiredHash::of(&json!(seed)))
}

prop_compose! {
    fn tags()(
        desired_hash in option::of(hashes()), (seen, found, unfound, replace, ready) in any::<(bool, bool, bool, bool, bool)>(),
        correction: u64, unhealed: u32, names in vec("\\PC{0,9}|[a-z]{1,9}", 0..4),
        polled in option::of("\\PC{0,99}|[0-9TZ:.-]{1,40}"),
    ) -> Tag {
        let fields = DifferingFields::named(names.iter().map(String::as_str));
        let polled = polled.as_deref().map(PollRequest::of);
        Tag { desired_hash, seen, found, unfound, correction, unhealed, fields, replace, ready, polled }
    }
}

prop_compose! {
    fn claims()(identity in "\\PC{0,20}", scope in option::of("[ab]"), full: bool) -> Claim {
        let scope = scope.as_deref().map(ScopeId::of);
        (if full { Claim::Owns } else { Claim::Claims })(ClaimedName { identity: identity.as_str().into(), scope })
    }
}

prop_compose! {
    /// Secrets that were sent in version 1, of which some now have another version.
    fn secrets()(names in btree_set("[a-z]{1,9}", 0..3), unsent in btree_set("[a-z]{1,9}", 0..2), now in "[12]")
    -> NotedSecrets {
        let marks = |at: &str| names.union(&unsent).map(|name| {
            let version = SecretVersion { uid: "u".to_owned(), resource_version: at.to_owned() };
            (name.clone(), Some(SecretMark::of(name, "k", &version)))
        }).collect();
        NotedSecrets::default().after_sending(&names, &unsent, &marks("1")).compared(&marks(&now))
    }
}

prop_compose! {
    fn unseen()(number: u64, request: u32, sent in 1..u32::MAX, accepted: bool) -> UnseenCreate {
        UnseenCreate { number, request, sent, accepted }
    }
}

prop_compose! {
    /// Records of claims.
    fn records()(
        correction: u64, claim in claims(), text in "[a-z ,:\\[\\]]{0,40}[a-z]", secrets in secrets(), replaced: bool,
        exists in option::of(hashes()), unseen in option::of(unseen()), ids in btree_set("[a-zA-Z_-]{1,9}", 0..3),
    ) -> CorrectionStatus {
        let ids = StoredIds::of(ids.iter().map(String::as_str), Some(&ids.iter().map(|id| (id.clone(), json!(id))).collect()));
        let claim = Some(claim);
        CorrectionStatus { correction, claim, text, secrets, replaced, exists, unseen, ids, ..CorrectionStatus::default() }
    }
}

prop_compose! {
    fn attestations()(
        hash in "[0-9a-f]{16}", uids in btree_set("[0-9a-f-]{1,36}", 0..5),
        namespaces in btree_set("except|except-namespaces|[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?", 0..5),
    ) -> Attestation {
        let objects: BTreeSet<Uid> = uids.iter().map(|uid| uid.as_str().into()).collect();
        Attestation { hash, except: Exceptions { objects, namespaces } }
    }
}

fn target_holds() -> impl Strategy<Value = TargetHold> {
    let counts = (any::<usize>(), any::<usize>(), any::<u8>());
    prop_oneof![
        counts.prop_map(|(drifted, judged, limit)| TargetHold::BreakerOpen(BreakerCounts { drifted, judged, limit })),
        any::<usize>().prop_map(|waiting| TargetHold::Limited { waiting }),
        Just(TargetHold::TargetTaken),
    ]
}

prop_compose! {
    fn object_holds()(
        why in proptest::sample::select(Held::ALL), until in option::of(0..253_402_300_800_i64),
    ) -> ObjectHold {
        ObjectHold { why, until: until.and_then(|second| jiff::Timestamp::from_second(second).ok()) }
    }
}

proptest! {
    #[test]
    fn each_list_is_read_as_it_was_written(
        tag in tags(), record in records(), text in "[a-z\\[\\]:;/ ]{0,40}[a-z:;]", attestation in attestations(),
        of_target in target_holds(), of_object in object_holds(),
    ) {
        let message = tag.append_to(&text);
        let expected = (tag != Tag::default()).then(|| tag.clone());
        prop_assert_eq!(Tag::split(&message), (text.as_str(), expected));
        let known_before = Tag { polled: None, ..tag }.to_string();
        prop_assert!(message.ends_with(&known_before), "older programs read the last brackets: {}", message);

        prop_assert_eq!(CorrectionStatus::parse(&record.message()), record.clone());
        let exists = record.exists.filter(|_| record.correction > 0);
        let unclaimed = CorrectionStatus { correction: record.correction, exists, text, ..CorrectionStatus::default() };
        prop_assert_eq!(CorrectionStatus::parse(&unclaimed.message()), unclaimed);

        prop_assert_eq!(Attestation::parse(&attestation.to_string()), Some(attestation));
        prop_assert_eq!(TargetHold::parse(&of_target.to_string()), Some(of_target));
        let published = Some(of_object).filter(|hold| hold.why.is_published());
        prop_assert_eq!(ObjectHold::parse(&of_object.to_string()), published);
    }

    #[test]
    fn any_text_is_read_without_panic(message in "\\PC*|(correction 7, )?(owns )?\"\\PC*\"?: \\PC*( \\[\\PC*\\])?") {
        let _ = (Tag::find(&message), Tag::is_of_newer_version(&message), CorrectionStatus::parse(&message));
        let _ = (Attestation::parse(&message), HeldCorrections::parse(&message), TargetHold::parse(&message));
        let _ = ObjectHold::parse(&message);
    }

    #[test]
    fn no_message_is_too_long_and_none_loses_its_tag(text in "\\PC{0,2000}x", correction in 1..u64::MAX) {
        let tag = Tag { correction, ..Tag::default() };
        let message = fit(&text, &tag);
        prop_assert!(message.len() <= MAX_MESSAGE_BYTES);
        prop_assert_eq!(Tag::find(&message), Some(tag));
    }

    #[test]
    fn a_message_is_known_without_being_made(
        text in "\\PC{0,12}|\\PC{500,1100}", correction in 0..30_u64, seen: bool, other in 0..30_u64, cut in 0..9_usize,
    ) {
        let tag = Tag { correction, seen, ..Tag::default() };
        let message = fit(&text, &tag);
        prop_assert!(is_fitted(&message, &text, &tag));
        let otherwise = fit(&text, &Tag { correction: other, ..tag.clone() });
        prop_assert_eq!(is_fitted(&otherwise, &text, &tag), otherwise == message);
        let end = message.char_indices().rev().nth(cut).map_or(0, |(at, _)| at);
        prop_assert!(!is_fitted(&message[..end], &text, &tag) || message.is_empty());
        prop_assert_eq!(is_fitted(&tag.append_to(&text), &text, &tag), tag.append_to(&text) == message);
    }
}
