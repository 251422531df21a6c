//! The guard of another create while the result of the last one is unknown.

use drift_api::condition::{CorrectedReason, UnseenCreate};
use drift_language::RepeatedCreate;

use super::state::Case;
use crate::engine::correction_limits::RETRY_EVERY;
use crate::engine::corrections::unseen_create::MAX_KEYED_REPEATS;
use crate::engine::corrections::{Action, Held};
use crate::engine::decide::decision::Decision;

/// Number of creates that are sent without a person while the result of the first is unknown. The second one ends an
/// outage of the external system without a person, at the price of one duplicate.
const WITHOUT_PERSON: u32 = 2;

/// The last create may have made a resource that the read does not find.
pub(super) fn unknown(case: &Case<'_>) -> Option<Decision> {
    let Case { situation, status, .. } = case;
    let (object, target, memory, now) = (situation.object, situation.target, situation.memory, situation.now);
    let unseen = situation.unseen_create(status).filter(|_| case.is_for(Action::Create))?;
    let may_repeat = match target.repeated_create {
        RepeatedCreate::Harmless => true,
        RepeatedCreate::Keyed => unseen.sent <= MAX_KEYED_REPEATS,
        RepeatedCreate::Duplicates => target.read_finds_created && !unseen.accepted,
    };
    if may_repeat || memory.retry_is_requested(object.retry_requested()) {
        return None;
    }
    let until = memory.delay.last_begun() + RETRY_EVERY;
    let wait = match unseen.sent < WITHOUT_PERSON {
        true if now >= until => return None,
        true => Decision::Wait { until, why: Held::CreationInDoubt },
        false => Decision::Nothing(Held::CreationInDoubt),
    };
    case.write_once(status, CorrectedReason::CreationInDoubt, &text(unseen)).or(Some(wait))
}

fn text(unseen: UnseenCreate) -> String {
    let UnseenCreate { sent, accepted, .. } = unseen;
    let requests = if sent == 1 { "1 create was sent".to_owned() } else { format!("{sent} creates were sent") };
    let what = if accepted { "accepted" } else { "its answer is unknown" };
    let next = match sent < WITHOUT_PERSON {
        true => "one more is tried in an hour",
        false => "a person decides",
    };
    format!(
        "{requests} ({what}), and the read finds no resource: up to {sent} may exist; {next}: look in the external \
         system, and correct the read, delete what is there, or run `kubectl drift retry KIND/NAME`"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::corrections::{Action, Doubt};
    use crate::engine::fixtures::{
        Scene, at, correction, desired_hash, doubtful, owns, refused, set_corrected, status,
    };
    use drift_api::condition::{CorrectionStatus, DesiredHash, ObservedReason, Tag};
    use serde_json::json;

    const UNSEEN: UnseenCreate = UnseenCreate { number: 8, request: 1, sent: 1, accepted: false };

    /// An owned object whose create of correction 8 no poll has found.
    fn unseen(unseen: UnseenCreate, repeated: RepeatedCreate, found: bool) -> Scene {
        let record = CorrectionStatus {
            unseen: Some(unseen),
            ..status(8, owns("db")).keeping(CorrectedReason::CorrectionFailed, "create: no answer", Some(3))
        };
        let tag = Tag { desired_hash: Some(desired_hash()), correction: 8, unfound: true, ..Tag::default() };
        Scene::new().observed_with(ObservedReason::NotCreated, tag).with(|scene| {
            (scene.target.repeated_create, scene.target.read_finds_created) = (repeated, found);
            set_corrected(&mut scene.object.conditions, &record);
            scene.memory.begin(at(900), None);
            scene.memory.land_outcome(record);
        })
    }

    /// Returns `create N-SENT` for a create with the number of its key, or the word for what is done instead.
    fn shown(scene: &Scene) -> String {
        match scene.decide() {
            Decision::Correct(correction) if correction.action == Action::Create => match correction.creating {
                Some(creating) => format!("create {}-{}", creating.number, creating.sent),
                None => "create".to_owned(),
            },
            Decision::WriteStatus(status) => status.reason.map_or("no reason", CorrectedReason::as_str).to_owned(),
            Decision::Wait { until, why } => {
                format!("{} until {}", why.as_str(), until.saturating_since(at(0)).as_secs())
            }
            Decision::Nothing(why) => why.as_str().to_owned(),
            other => format!("{other:?}"),
        }
    }

    /// The same scene an hour later, once the decided status was written.
    fn an_hour_later(scene: &Scene) -> Scene {
        let Decision::WriteStatus(record) = scene.decide() else { unreachable!("{:?}", scene.decide()) };
        let told = scene.clone().with(|scene| {
            set_corrected(&mut scene.object.conditions, &record);
            scene.memory.land_status(record, scene.now);
        });
        assert!(shown(&told).starts_with("CreationInDoubt"), "{}", shown(&told));
        told.with(|scene| scene.now = at(900 + 3600))
    }

    #[test]
    fn another_create_follows_only_what_a_poll_can_show() {
        use RepeatedCreate::{Duplicates, Harmless, Keyed};
        let accepted = UnseenCreate { accepted: true, ..UNSEEN };
        let often = UnseenCreate { sent: MAX_KEYED_REPEATS + 1, ..UNSEEN };
        for (last, repeated, found, expected) in [
            (UNSEEN, Harmless, false, "create"),
            (UNSEEN, Keyed, false, "create 9-2"),
            (accepted, Keyed, false, "create 9-2"),
            (often, Keyed, true, "CreationInDoubt"),
            (UNSEEN, Duplicates, true, "create 9-1"),
            (accepted, Duplicates, true, "CreationInDoubt"),
            (UNSEEN, Duplicates, false, "CreationInDoubt"),
            (accepted, Duplicates, false, "CreationInDoubt"),
        ] {
            assert_eq!(shown(&unseen(last, repeated, found)), expected, "{last:?} {repeated:?} {found}");
        }
    }

    #[test]
    fn an_equal_request_has_the_key_of_the_first() {
        let scene = unseen(UNSEEN, RepeatedCreate::Duplicates, true);
        let Decision::Correct(first) = scene.decide() else { unreachable!() };
        let request = first.creating.unwrap_or(UNSEEN).request;
        let again = unseen(UnseenCreate { request, ..UNSEEN }, RepeatedCreate::Duplicates, true);
        assert_eq!(shown(&again), "create 8-2");
        let Decision::Correct(second) = again.decide() else { unreachable!() };
        assert!(second.idempotency_key("u", 0, None).starts_with("u-8-"), "{}", second.idempotency_key("u", 0, None));
        let other = DesiredHash::of(&json!("edited"));
        let edited = again.with(|scene| scene.facts.desired_hash = Some(other));
        let tag = Tag { desired_hash: Some(other), correction: 8, unfound: true, ..Tag::default() };
        assert_eq!(shown(&edited.observed_with(ObservedReason::NotCreated, tag)), "create 9-1");
    }

    #[test]
    fn one_create_follows_without_a_person() {
        let first = an_hour_later(&unseen(UNSEEN, RepeatedCreate::Duplicates, false));
        assert_eq!(shown(&first), "create 9-2");
        let second = unseen(UnseenCreate { sent: 2, ..UNSEEN }, RepeatedCreate::Duplicates, false);
        let held = an_hour_later(&second);
        assert_eq!(shown(&held), "CreationInDoubt");
        let asked = held.with(|scene| scene.object.asked.get_or_insert_default().retry = Some("now".into()));
        assert_eq!(shown(&asked), "create 9-3");
    }

    #[test]
    fn a_poll_that_found_it_ends_the_doubt() {
        let scene = unseen(UNSEEN, RepeatedCreate::Duplicates, false);
        let tag = Tag { desired_hash: Some(desired_hash()), correction: 8, ..Tag::default() };
        let missing = scene.clone().observed_with(ObservedReason::ExternalMissing, tag.clone());
        assert_eq!(shown(&missing), "create 9-1");
        let Decision::Correct(update) = scene.observed_with(ObservedReason::FieldsDiffer, tag).decide() else {
            unreachable!()
        };
        assert_eq!((update.action, update.before.unseen), (Action::Update, None));
    }

    #[test]
    fn the_refusal_of_a_repeated_create_ends_no_doubt() {
        let first = unseen(UNSEEN, RepeatedCreate::Duplicates, true);
        let Decision::Correct(repeated) = first.decide() else { unreachable!() };
        let after = repeated.ended(&refused(409)).unseen;
        assert_eq!(after.map(|unseen| (unseen.sent, unseen.accepted)), Some((1, true)));
        let held = unseen(after.unwrap_or(UNSEEN), RepeatedCreate::Duplicates, true);
        assert_eq!(shown(&held), "CreationInDoubt");
    }

    #[test]
    fn a_doubt_uses_up_the_number_of_a_create() {
        let sends = |repeated, found| {
            let scene = Scene::new().observed(ObservedReason::ExternalMissing);
            let scene = scene.with(|scene| {
                (scene.target.repeated_create, scene.target.read_finds_created) = (repeated, found);
            });
            let Decision::Correct(create) = scene.decide() else { unreachable!("{:?}", scene.decide()) };
            create
        };
        use RepeatedCreate::{Duplicates, Harmless, Keyed};
        for (repeated, why, correction, sent) in [
            (Harmless, Doubt::NoAnswer, 7, None),
            (Keyed, Doubt::NoAnswer, 7, Some(1)),
            (Duplicates, Doubt::NoAnswer, 8, Some(1)),
            (Duplicates, Doubt::TimedOut, 8, Some(1)),
            (Duplicates, Doubt::ServerError, 8, Some(1)),
            (Duplicates, Doubt::NotConnected, 7, None),
            (Duplicates, Doubt::RateLimited, 7, None),
            (Duplicates, Doubt::CredentialRefused, 7, None),
            (Duplicates, Doubt::SecretUnavailable, 7, None),
        ] {
            let create = sends(repeated, false);
            assert_eq!(create.claim().unseen.is_some(), repeated != Harmless, "it is recorded before it is sent");
            let record = create.ended(&doubtful(why));
            let noted = (record.correction, record.unseen.map(|unseen| unseen.sent));
            assert_eq!(noted, (correction, sent), "{repeated:?} {why:?}");
        }
        assert_eq!(correction(Action::Update).ended(&doubtful(Doubt::NoAnswer)).correction, 7);
    }
}
