use super::*;
use crate::engine::corrections::outcome::{Doubt, Reach};
use crate::engine::fixtures::{claims, correction, desired_hash, doubtful, owns, refused, status};
use drift_systems::RefusalReason;

fn at(label: &str, reach: Reach) -> FailedStep {
    FailedStep { label: Some(label.into()), reach }
}

#[test]
fn only_a_definite_outcome_spends_a_k() {
    let update = Correction { before: status(7, owns("db")), ..correction(Action::Update) };
    assert_eq!(update.ended(&Outcome::Applied).message(), r#"correction 8, owns "db": updated [scope d0a9b8f2]"#);
    assert_eq!(
        update.ended(&refused(409)).message(),
        r#"correction 8, owns "db": update: the external system refuses it with status 409 [scope d0a9b8f2]"#
    );
    let delete = Correction { before: status(7, owns("db")), ..correction(Action::Delete) };
    let underway = delete.ended(&Outcome::Underway { retry_after: None });
    assert_eq!(underway.reason, Some(CorrectedReason::CorrectionStarted));
    assert_eq!(
        underway.message(),
        r#"correction 8, owns "db": delete: accepted, and not done yet; it is asked for again [scope d0a9b8f2]"#
    );
    assert_eq!(
        update.ended(&doubtful(Doubt::NoAnswer)).message(),
        r#"correction 7, owns "db": update: no answer from the external system; it is tried again [scope d0a9b8f2]"#
    );
}

#[test]
fn a_create_of_what_exists_notes_what_it_contradicts() {
    let exists = |because: Option<&str>| {
        let refusal = Refusal { code: 409.into(), because: because.map(RefusalReason::own) };
        Outcome::AlreadyExists(FailedStep { label: None, reach: Reach::Unwritten }, refusal)
    };
    let hash = desired_hash();
    let owned = Correction { before: status(7, owns("db")), ..correction(Action::Create) };
    assert_eq!(
        owned.ended(&exists(None)).message(),
        format!(
            "correction 8, owns \"db\": create: the external system refuses it with status 409; it seems to exist already, \
             so the create is tried once an hour [scope d0a9b8f2, exists {hash}]"
        )
    );
    let first = Correction { claim_first: true, before: status(7, None), ..owned.clone() };
    let record = first.ended(&exists(Some("the name is taken")));
    assert_eq!(
        record.message(),
        format!(
            "correction 8: create: 409: the name is taken; it seems to exist already, so the create is tried once an hour \
             [exists {hash}]"
        )
    );
    assert_eq!((record.reason, record.claim.clone()), (Some(CorrectedReason::CorrectionFailed), None));
    let next = Correction { before: record, number: 9, ..first };
    for outcome in [refused(422), doubtful(Doubt::NoAnswer), Outcome::Applied] {
        assert_eq!(next.ended(&outcome).exists, None, "{outcome:?}");
    }
    assert_eq!(next.claim().exists, None);
    let again = Correction { was_in_doubt: true, ..owned };
    assert_eq!(again.ended(&exists(None)).claim, owns("db"), "a request without an answer may have made it");
}

#[test]
fn a_claim_is_written_with_the_k_that_stands() {
    let create = Correction { claim_first: true, before: status(7, None), ..correction(Action::Create) };
    assert_eq!(create.claim().message(), r#"correction 7, owns "db": creating the external resource [scope d0a9b8f2]"#);
    assert_eq!(create.claim().reason, Some(CorrectedReason::CorrectionStarted));
}

#[test]
fn a_job_makes_a_claim_ownership_once_it_runs() {
    let job = Correction { by_job: true, before: status(7, claims("db")), ..correction(Action::Create) };
    assert!(job.is_announced());
    assert_eq!(job.claim().claim, claims("db"), "nothing was sent");
    assert_eq!(job.underway("create: the Job runs").claim, owns("db"), "a crash loses nothing that it makes");
    let edited = Correction { claim_first: true, before: status(7, claims("former")), ..job.clone() };
    assert_eq!(edited.claim().claim, owns("db"), "a new claim is written before anything is sent");
    let owned = Correction { before: status(7, owns("db")), ..job.clone() };
    assert_eq!((owned.claim().claim, owned.underway("").claim), (owns("db"), owns("db")));
    let again = Correction { before: job.ended(&doubtful(Doubt::CredentialRefused)), was_in_doubt: true, ..job };
    assert!(!again.is_announced(), "what is turned away again is no news");
    assert_eq!(again.to_record(&again.before, &doubtful(Doubt::CredentialRefused)), None);
}

#[test]
fn the_next_job_says_why_the_one_before_failed() {
    let failed =
        status(8, owns("db")).keeping(CorrectedReason::CorrectionFailed, "update: the Job: n: it failed", Some(3));
    let next = Correction { by_job: true, before: failed, ..correction(Action::Update) };
    let said = next.claim();
    assert_eq!(said.reason, Some(CorrectedReason::CorrectionStarted));
    assert_eq!(said.text, "updating the external resource; before: update: the Job: n: it failed");
}

#[test]
fn the_record_has_the_reason_of_a_refusal() {
    let update = Correction { before: status(7, owns("db")), ..correction(Action::Update) };
    let because = Some(RefusalReason::own("quota of zone exceeded"));
    let step = || FailedStep { label: Some("set".into()), reach: Reach::FirstWrite };
    let refused = Outcome::Refused(step(), Refusal { code: 422.into(), because: because.clone() });
    assert_eq!(update.ended(&refused).text, "update, step set: 422: quota of zone exceeded");
    let lacking = Uncertainty { because, ..Uncertainty::answered(Doubt::Forbidden, 403.into()) };
    assert_eq!(
        update.ended(&Outcome::Doubtful(step(), lacking)).text,
        "update, step set: the external system does not allow the controller's account this write (403): quota of zone \
         exceeded; it is tried again"
    );
}

#[test]
fn values_in_memory_are_not_told_as_lost() {
    let create = Correction { before: status(7, owns("db")), ..correction(Action::Create) };
    let step = || FailedStep { label: None, reach: Reach::Further };
    let lost = create.ended(&Outcome::Unstored(step(), Unstored::Unread("store.id: no field `id`".to_owned()))).text;
    assert!(lost.contains("what was made is not known here") && lost.ends_with("tried again in an hour"), "{lost}");
    let kept = create.ended(&Outcome::Unstored(step(), Unstored::Refused)).text;
    assert!(kept.contains("keeps them in memory and tries again") && !kept.contains("not known"), "{kept}");
}

#[test]
fn a_lasting_doubt_is_written_once() {
    let first = Correction { before: status(7, owns("db")), ..correction(Action::Update) };
    let current = first.ended(&doubtful(Doubt::NoAnswer));
    assert_eq!(first.to_record(&status(7, owns("db")), &doubtful(Doubt::NoAnswer)), Some(current.clone()));
    let again = Correction { was_in_doubt: true, before: current.clone(), ..first };
    assert_eq!(again.to_record(&current, &doubtful(Doubt::ServerError)), None);
    assert!(again.to_record(&current, &Outcome::Applied).is_some());
    let older = CorrectionStatus::parse(&current.message().replace(" [scope d0a9b8f2]", ""));
    let older =
        CorrectionStatus { text: String::new(), reason: current.reason, generation: current.generation, ..older };
    assert_eq!(again.to_record(&older, &doubtful(Doubt::ServerError)), None, "a missing scope is no news");
}

#[test]
fn another_fault_of_a_secret_is_written() {
    let lacks = |cause: &str| {
        let step = FailedStep { label: None, reach: Reach::Unsent };
        Outcome::Doubtful(step, Uncertainty::caused_by(Doubt::SecretUnavailable, cause))
    };
    let first = Correction { before: status(7, owns("db")), ..correction(Action::Update) };
    let current = first.ended(&lacks("Secret a/pw has no key x"));
    let text = "update: a Secret that is to be sent cannot be used: Secret a/pw has no key x; it is tried again";
    assert_eq!(current.text, text);
    let again = Correction { was_in_doubt: true, before: current.clone(), ..first };
    assert_eq!(again.to_record(&current, &lacks("Secret a/pw has no key x")), None);
    assert!(again.to_record(&current, &lacks("Secret a/pw may not be sent to h:443")).is_some());
}

#[test]
fn an_outcome_that_is_counted_already_is_not_written() {
    let update = Correction { before: status(7, owns("db")), ..correction(Action::Update) };
    assert_eq!(update.to_record(&status(8, owns("db")), &Outcome::Applied), None);
}

#[test]
fn the_idempotency_key_tells_requests_apart() {
    let (update, desired_hash) = (correction(Action::Update), desired_hash());
    assert_eq!(update.idempotency_key("u-1", 0, None), format!("u-1-8-update-{desired_hash}-000000000000002a"));
    assert_eq!(update.idempotency_key("u-1", 2, None), format!("u-1-8-update-2-{desired_hash}-000000000000002a"));
    let create = correction(Action::Create);
    assert_eq!(create.idempotency_key("u-1", 0, None), format!("u-1-8-{desired_hash}-000000000000002a"));
    let keys = [
        correction(Action::Delete),
        Correction { number: 9, ..create.clone() },
        Correction {
            desired_hash: Some(drift_api::condition::DesiredHash::of(&serde_json::json!("other"))),
            ..create.clone()
        },
        Correction { correct_hash: 43, ..create.clone() },
    ];
    assert!(keys.iter().all(|other| other.idempotency_key("u-1", 0, None) != create.idempotency_key("u-1", 0, None)));
}

fn after(action: Action, claim_first: bool, claim: Option<Claim>, outcome: Outcome) -> Option<Claim> {
    Correction { claim_first, before: status(0, claim), ..correction(action) }.claim_after(&outcome)
}

#[test]
fn a_first_try_keeps_its_claim_unless_it_did_nothing() {
    let first = |action, outcome| after(action, true, None, outcome);
    assert_eq!(first(Action::Create, refused(409)), None);
    assert_eq!(first(Action::Create, doubtful(Doubt::CredentialUnavailable)), None);
    assert_eq!(
        first(Action::Create, Outcome::Refused(at("2", Reach::Further), Refusal { code: 409.into(), because: None })),
        owns("db")
    );
    assert_eq!(first(Action::Create, Outcome::Applied), owns("db"));
    assert_eq!(first(Action::Create, doubtful(Doubt::NoAnswer)), owns("db"));
    assert_eq!(first(Action::Create, doubtful(Doubt::CredentialRefused)), claims("db"));
    assert_eq!(first(Action::Create, doubtful(Doubt::RateLimited)), claims("db"));
    let second_step = Outcome::Doubtful(at("2", Reach::Further), Uncertainty::unanswered(Doubt::RateLimited));
    assert_eq!(first(Action::Create, second_step), owns("db"));
    assert_eq!(first(Action::Update, doubtful(Doubt::RateLimited)), owns("db"));
}

#[test]
fn a_create_only_claim_becomes_ownership_or_nothing() {
    let again = |outcome| after(Action::Create, false, claims("db"), outcome);
    assert_eq!(again(Outcome::Applied), owns("db"));
    assert_eq!(again(doubtful(Doubt::ServerError)), owns("db"));
    assert_eq!(again(doubtful(Doubt::CredentialRefused)), claims("db"));
    assert_eq!(again(doubtful(Doubt::TemplateFails)), claims("db"));
    assert_eq!(again(refused(409)), None);
}

#[test]
fn an_earlier_claim_stays_whatever_comes() {
    for outcome in [refused(409), doubtful(Doubt::CredentialRefused)] {
        assert_eq!(after(Action::Create, false, owns("db"), outcome.clone()), owns("db"), "{outcome:?}");
    }
}
