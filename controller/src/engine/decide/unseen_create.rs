//! The decision on another create while nobody knows if the last one made the resource.

use drift_api::{CorrectedReason, CorrectionStatus, UnseenCreate};
use drift_language::RepeatedCreate;

use super::status_writes::write_once;
use crate::engine::correction_limits::RETRY_EVERY;
use crate::engine::corrections::Held;
use crate::engine::corrections::unseen_create::MAX_KEYED_REPEATS;
use crate::engine::decide::decision::Decision;
use crate::engine::decide::situation::Situation;

/// Number of creates that are sent without a person while the result of the first is unknown. The second one ends an
/// outage of the external system without a person, at the price of one duplicate.
const WITHOUT_PERSON: u32 = 2;

/// Returns the decision that replaces another create; `None` if it may be sent.
pub(super) fn without_knowledge(situation: &Situation<'_>, status: &CorrectionStatus) -> Option<Decision> {
    let Situation { object, target, memory, now, .. } = situation;
    let unseen = situation.unseen_create(status)?;
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
        true if *now >= until => return None,
        true => Decision::Wait { until, why: Held::CreationInDoubt },
        false => Decision::Nothing(Held::CreationInDoubt),
    };
    Some(write_once(situation, status, CorrectedReason::CreationInDoubt, &text(unseen), wait))
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
         system, and correct the read, delete what is there, or request a retry"
    )
}
