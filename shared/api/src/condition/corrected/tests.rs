use super::*;
use crate::condition::{Conditions, CurrentVerdict, ObservedReason, SecretMark, StatusFields, Tag};
use crate::identity::ResourceName;
use crate::secrets::labelled_secrets::SecretVersion;
use serde_json::{Value, json};

fn name(identity: &str, scope: Option<&str>) -> ClaimedName {
    ClaimedName { identity: identity.into(), scope: scope.map(ScopeId::of) }
}

fn owns(identity: &str) -> Option<Claim> {
    Some(Claim::Owns(name(identity, None)))
}

fn status(correction: u64, claim: Option<Claim>, text: &str) -> CorrectionStatus {
    CorrectionStatus { correction, claim, text: text.to_owned(), ..CorrectionStatus::default() }
}

#[test]
fn an_id_that_another_writer_changes_or_removes_is_noticed() {
    let ids = |status: Value| StoredIds::of(["id", "zone"].into_iter(), Some(&status));
    let stored = ids(json!({"id": "i-1", "zone": 1}));
    let changed = |present: Value| stored.changed(&ids(present), |name| name != "old").collect::<Vec<_>>().join(" ");
    for (present, expected) in [
        (json!({"id": "i-1", "zone": 1.0, "other": 2}), ""),
        (json!({"id": "i-2", "zone": 1}), "id"),
        (json!({"id": null, "zone": "1"}), "id zone"),
        (json!({}), "id zone"),
    ] {
        assert_eq!(changed(present.clone()), expected, "{present}");
    }
    assert_eq!(stored.changed(&StoredIds::default(), |name| name == "zone").collect::<Vec<_>>(), ["zone"]);
    assert_eq!(ids(json!({"id": "i-1"})).with_new(&ids(json!({"id": "i-2", "zone": 1}))), stored);
    let written: StatusFields = [("id", json!("i-3")), ("zone", Value::Null)].into_iter().collect();
    assert_eq!(stored.after(&written), ids(json!({"id": "i-3"})));
}

#[test]
fn messages_read_as_documented() {
    let cases = [
        (status(7, owns("a\"b: c"), "updated"), r#"correction 7, owns "a\"b: c": updated"#),
        (status(7, Some(Claim::Claims(name("x", None))), "no"), r#"correction 7, claims "x": no"#),
        (status(7, owns("a\u{202e}b\u{200b}"), "updated"), r#"correction 7, owns "a\u202eb\u200b": updated"#),
        (status(0, Some(Claim::Claims(name("x", None))), "no"), r#"claims "x": no"#),
        (
            status(7, Some(Claim::Owns(name("x", Some("s")))), "updated"),
            r#"correction 7, owns "x": updated [scope 043a7187]"#,
        ),
        (status(0, Some(Claim::Claims(name("x", Some("s")))), "no"), r#"claims "x": no [scope 043a7187]"#),
        (
            CorrectionStatus { replaced: true, ..status(7, Some(Claim::Owns(name("x", Some("s")))), "replaced") },
            r#"correction 7, owns "x": replaced [scope 043a7187, replaced]"#,
        ),
        (
            CorrectionStatus {
                exists: hash(),
                replaced: true,
                ..status(7, Some(Claim::Owns(name("x", Some("s")))), "no")
            },
            r#"correction 7, owns "x": no [scope 043a7187, replaced, exists 3f2a9c71d04b58e6]"#,
        ),
        (
            CorrectionStatus { exists: hash(), ..status(7, None, "no [scope 043a7187]") },
            "correction 7: no [scope 043a7187] [exists 3f2a9c71d04b58e6]",
        ),
        (status(7, None, "text [scope 043a7187]"), "correction 7: text [scope 043a7187]"),
        (
            status(7, None, "text [scope 043a7187, exists 3f2a9c71d04b58e6]"),
            "correction 7: text [scope 043a7187, exists 3f2a9c71d04b58e6]",
        ),
        (status(0, None, "text [exists 3f2a9c71d04b58e6]"), "text [exists 3f2a9c71d04b58e6]"),
        (
            CorrectionStatus {
                unseen: created(false),
                exists: hash(),
                ..status(7, Some(Claim::Owns(name("x", Some("s")))), "no")
            },
            r#"correction 7, owns "x": no [scope 043a7187, exists 3f2a9c71d04b58e6, creating 7-3f2a9c71-2]"#,
        ),
        (
            CorrectionStatus { unseen: created(true), ..status(7, Some(Claim::Owns(name("x", Some("s")))), "no") },
            r#"correction 7, owns "x": no [scope 043a7187, created 7-3f2a9c71-2]"#,
        ),
        (status(7, None, "no [creating 7-3f2a9c71-2]"), "correction 7: no [creating 7-3f2a9c71-2]"),
        (
            CorrectionStatus {
                ids: StoredIds::of(
                    ["id", "zone", "gone"].into_iter(),
                    Some(&json!({"id": "i-1", "zone": 2, "gone": null})),
                ),
                unseen: created(true),
                ..status(7, Some(Claim::Owns(name("x", Some("s")))), "no")
            },
            r#"correction 7, owns "x": no [scope 043a7187, created 7-3f2a9c71-2, ids id@505287d4 zone@d4735e3a]"#,
        ),
        (status(7, None, "no [ids id@3f2a9c71]"), "correction 7: no [ids id@3f2a9c71]"),
        (status(7, None, "refused"), "correction 7: refused"),
        (status(0, owns("x"), "creating"), r#"owns "x": creating"#),
        (status(0, None, "not ours"), "not ours"),
    ];
    for (status, message) in cases {
        assert_eq!(status.message(), message);
        assert_eq!(CorrectionStatus::parse(message), status);
    }
}

fn created(accepted: bool) -> Option<UnseenCreate> {
    Some(UnseenCreate { number: 7, request: 0x3f2a_9c71, sent: 2, accepted })
}

#[test]
fn only_a_later_poll_finds_what_was_created() {
    use ObservedReason::*;
    let record = CorrectionStatus { unseen: created(true), ..status(7, owns("x"), "created") };
    let verdict = |reason, correction, unfound| CurrentVerdict {
        reason,
        tag: Tag { correction, unfound, ..Tag::default() },
        generation: Some(1),
    };
    assert_eq!(record.unseen_create(None), created(true));
    let table = [
        (InSync, 7, false, true),
        (FieldsDiffer, 8, false, true),
        (ExternalMissing, 7, false, true),
        (ExternalMissing, 7, true, false),
        (NotCreated, 7, true, false),
        (InSync, 6, false, false),
        (ExternalMissing, 6, false, false),
        (PollTimedOut, 7, false, true),
        (PollTimedOut, 7, true, false),
    ];
    for (reason, correction, unfound, is_found) in table {
        let unseen = record.unseen_create(Some(&verdict(reason, correction, unfound)));
        assert_eq!(unseen.is_none(), is_found, "{reason} {correction} {unfound}");
    }
    let under_way = CorrectionStatus { unseen: created(false), ..status(6, owns("x"), "creating") };
    for (reason, is_found) in
        [(InSync, true), (NotUpdated, true), (NotCreated, false), (ExternalMissing, false), (PollTimedOut, false)]
    {
        let unseen = under_way.unseen_create(Some(&verdict(reason, 6, false)));
        assert_eq!(unseen.is_none(), is_found, "{reason} before its number is used up");
    }
}

fn hash() -> Option<DesiredHash> {
    DesiredHash::parse("3f2a9c71d04b58e6")
}

#[test]
fn a_refused_create_contradicts_the_absence_of_one_state() {
    let other = DesiredHash::parse("0000000000000000");
    let refused = CorrectionStatus {
        exists: hash(),
        ..status(7, None, "").keeping(CorrectedReason::CorrectionFailed, "no", Some(3))
    };
    let contradicts = |record: &CorrectionStatus, generation, desired_hash| {
        let entry = record.to_condition(None, "2026-01-01T00:00:00Z").unwrap().to_json();
        let conditions = Conditions::from_status(Some(&serde_json::json!({"conditions": [entry]})));
        conditions.contradict_absence(generation, desired_hash)
    };
    let table = [
        (Some(3), hash(), true),
        (Some(4), hash(), false),
        (None, hash(), false),
        (Some(3), other, false),
        (Some(3), None, false),
    ];
    for (generation, desired_hash, expected) in table {
        assert_eq!(contradicts(&refused, generation, desired_hash), expected, "{generation:?} {desired_hash:?}");
    }
    let ungenerated = CorrectionStatus { generation: None, ..refused.clone() };
    assert!(contradicts(&ungenerated, None, hash()) && !contradicts(&ungenerated, None, other));
    let ended = [
        refused.without_contradiction(),
        refused.keeping(CorrectedReason::CorrectionApplied, "in sync again", Some(3)),
        refused.in_doubt("no answer", Some(3)),
        status(7, None, "").keeping(CorrectedReason::CorrectionFailed, "no [exists 3f2a9c71d04b58e6].", Some(3)),
    ];
    for record in ended {
        assert!(!contradicts(&record, Some(3), hash()), "{record:?}");
    }
}

#[test]
fn foreign_texts_claim_nothing() {
    for message in [
        "",
        "correction x: y",
        "correction 7, something",
        "owns x: y",
        r#"owns "x" y"#,
        "claims x: y",
        "correction 0: x",
    ] {
        assert_eq!(CorrectionStatus::parse(message), status(0, None, message), "{message}");
    }
}

#[test]
fn a_broken_ending_says_no_scope() {
    for text in ["x [scope 043a718]", "x [scope 043A7187]", "x [scope 043a7187] ", "x[scope 043a7187]", "[scope ]"] {
        assert_eq!(CorrectionStatus::parse(&format!("owns \"x\": {text}")), status(0, owns("x"), text));
    }
}

fn version(at: &str) -> SecretVersion {
    SecretVersion { uid: "u".to_owned(), resource_version: at.to_owned() }
}

/// Secrets that were sent in version 1 and now have the version `now`.
fn sent(names: &[&str], now: &str) -> NotedSecrets {
    let marks =
        |at| names.iter().map(|name| ((*name).to_owned(), Some(SecretMark::of(name, "k", &version(at))))).collect();
    let sent = names.iter().map(|name| (*name).to_owned()).collect();
    NotedSecrets::default().after_sending(&sent, &[].into(), &marks("1")).compared(&marks(now))
}

#[test]
fn secrets_that_were_sent_stand_at_the_end() {
    let noted = |secrets| CorrectionStatus { secrets, ..status(7, Some(Claim::Owns(name("x", Some("s")))), "updated") };
    let hash = SecretMark::of("password", "k", &version("1"));
    let marks = || [("password".to_owned(), Some(hash)), ("token".to_owned(), None)].into();
    let unsent = NotedSecrets::default().after_sending(&[].into(), &["token".to_owned()].into(), &marks());
    let cases = [
        (noted(sent(&["password"], "1")), format!("[scope 043a7187, secrets password@{hash}]")),
        (noted(sent(&["password"], "2")), format!("[scope 043a7187, secrets password@{hash}, moved password]")),
        (noted(unsent), format!("[scope 043a7187, secrets password@{hash} token@unsent]")),
    ];
    for (status, ending) in cases {
        let message = format!("correction 7, owns \"x\": updated {ending}");
        assert_eq!(status.message(), message);
        assert_eq!(CorrectionStatus::parse(&message), status);
    }
    for ending in [
        "[secrets]",
        "[secrets a@1]",
        "[secrets 9f31c2d4]",
        "[secrets @9f31c2d4]",
        "[secrets b@unsent a@unsent]",
        "[moved b a]",
        "[moved ]",
        "[replaced, scope 043a7187]",
        "[scope 043a7187, moved a, secrets a@9f31c2d4]",
    ] {
        let text = format!("text {ending}");
        assert_eq!(CorrectionStatus::parse(&format!("owns \"x\": {text}")), status(0, owns("x"), &text), "{ending}");
    }
}

#[test]
fn marks_without_names_are_dropped() {
    let record = |secrets, replaced| {
        let claim = Some(Claim::Owns(name("x", Some("s"))));
        CorrectionStatus { secrets, replaced, ..status(7, claim, "updated") }
    };
    let mut moved = NotedSecrets::default();
    moved.take(Fact::parse("moved password"));
    for (ending, expected) in [
        ("secrets 9f31c2d4", record(NotedSecrets::default(), false)),
        ("secrets 1c8f0158 9f31c2d4, replaced", record(NotedSecrets::default(), true)),
        ("secrets 9f31c2d4, moved password", record(moved, false)),
    ] {
        let message = format!("correction 7, owns \"x\": updated [scope 043a7187, {ending}]");
        assert_eq!(CorrectionStatus::parse(&message), expected, "{ending}");
    }
    for ending in ["secrets ", "secrets 9f31c2d4 ", "secrets 9f31c2d4 a@9f31c2d4", "secrets 9F31C2D4"] {
        let text = format!("updated [scope 043a7187, {ending}]");
        assert_eq!(CorrectionStatus::parse(&format!("owns \"x\": {text}")), status(0, owns("x"), &text), "{ending}");
    }
}

#[test]
fn a_claim_holds_in_its_own_scope() {
    let (here, elsewhere) = (ScopeId::of("here"), ScopeId::of("elsewhere"));
    let resource = |scope| ResourceName { scope, identity: "x".into() };
    let claimed = ClaimedName::from(resource(here));
    assert!(claimed.names(&resource(here)) && !claimed.names(&resource(elsewhere)));
    assert_eq!(claimed.resource(elsewhere), resource(here));
    let older = name("x", None);
    assert!(older.names(&resource(here)) && older.names(&resource(elsewhere)));
    assert_eq!(older.resource(elsewhere), resource(elsewhere));
}

#[test]
fn a_scope_that_is_missing_is_no_reason_to_write() {
    let older = status(1, owns("x"), "x").keeping(CorrectedReason::CorrectionFailed, "x", Some(1));
    let current = older.to_condition(None, "2026-01-01T00:00:00Z").unwrap();
    let now = older.clone().in_scope(ScopeId::of("here"));
    assert!(now != older && now.stands(Some(&current)));
    let moved = older.in_scope(ScopeId::of("elsewhere")).to_condition(None, "").unwrap();
    assert!(!now.stands(Some(&moved)) && now.clone().in_scope(ScopeId::of("elsewhere")) == now);
}

#[test]
fn the_transition_time_moves_forward_and_only_with_the_status() {
    let failed = status(1, None, "x").keeping(CorrectedReason::CorrectionFailed, "x", Some(1));
    let first = failed.to_condition(None, "2026-01-02T00:00:00Z").unwrap();
    let written = |reason, now| failed.keeping(reason, "x", Some(1)).to_condition(Some(&first), now).unwrap();
    let time = |reason, now| written(reason, now).last_transition_time.to_string();
    assert_eq!(time(CorrectedReason::AttemptsExhausted, "2026-01-03T00:00:00Z"), "2026-01-02T00:00:00Z");
    assert_eq!(time(CorrectedReason::CorrectionApplied, "2026-01-03T00:00:00Z"), "2026-01-03T00:00:00Z");
    let back = time(CorrectedReason::CorrectionApplied, "2026-01-01T00:00:00Z");
    assert_eq!(back, "2026-01-02T00:00:00Z", "the clock was set back");
}

#[test]
fn only_the_very_same_condition_stands_already() {
    let failed = status(1, None, "x").keeping(CorrectedReason::CorrectionFailed, "x", Some(1));
    let first = failed.to_condition(None, "2026-01-01T00:00:00Z").unwrap();
    assert!(failed.stands(Some(&first)) && !failed.stands(None));
    assert!(!failed.keeping(CorrectedReason::CorrectionApplied, "x", Some(1)).stands(Some(&first)));
    let none = CorrectionStatus::default();
    assert!(none.stands(None) && !none.stands(Some(&first)));
}
