//! Notes what a correction came to, for as long as it takes.
//!
//! What was done outside must not be forgotten while the process lives: a write that does not land is tried again,
//! each time onto what stands by then. Until it has landed the object stays busy, so no other correction of it
//! begins. This file must not know how a correction is done.

use std::time::Duration;

use drift_cluster::client::WriteError;
use drift_cluster::process::kill_point::{KillPoint, reach};
use drift_model::object::LeanObject;
use tokio_util::sync::CancellationToken;

use crate::core::decision::Correction;
use crate::core::note::{NoteChange, Noted};
use crate::core::outcome::Outcome;
use crate::core::races;
use crate::notices::Announcer;
use crate::pen::Pen;

/// The first wait after an API server that does not answer.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
/// The longest wait while the API server does not answer.
const MAX_PAUSE: Duration = Duration::from_secs(30);
/// The longest wait while the API server refuses.
const MAX_REFUSED_PAUSE: Duration = Duration::from_secs(300);

/// What a correction came to, and what stood before it.
#[derive(Clone, Debug)]
pub struct Finished<'a> {
    /// The correction.
    pub correction: &'a Correction,
    /// What stood before it.
    pub noted: &'a Noted,
    /// What it came to.
    pub outcome: Outcome,
    /// Whether the one before it was in doubt already.
    pub was_in_doubt: bool,
}

/// How noting it ended.
#[derive(Clone, Debug, Default)]
pub struct Recorded {
    /// The newest state of the object; `None` where it is gone or not known.
    pub object: Option<LeanObject>,
    /// The note that was written or stood already; `None` where there was nothing to say.
    pub change: Option<NoteChange>,
}

/// Notes it onto `object` or whatever becomes of it. Only what is in doubt is given up when `term` ends: the next
/// leader finds the claim and treats it so.
pub async fn record(
    pen: &Pen,
    announcer: &Announcer,
    object: LeanObject,
    (result, term): (&Finished<'_>, &CancellationToken),
) -> Recorded {
    let mut object = object;
    let mut races = 0_u32;
    let mut failures = 0_u32;
    loop {
        let standing = Noted::read(&object, None);
        let change =
            NoteChange::to_record(result.noted, &standing, result.correction, &result.outcome, result.was_in_doubt);
        let Some(change) = change else { return Recorded { object: Some(object), change: None } };
        if change.stands(object.conditions.corrected()) {
            return Recorded { object: Some(object), change: Some(change) };
        }
        reach(KillPoint::ControllerBeforeNote);
        let written = pen.write_note(&object, &change).await;
        reach(KillPoint::ControllerAfterNote);
        let pause = match written {
            Ok(written) => {
                announcer.noted(&pen.kind, &written, &change);
                return Recorded { object: Some(written), change: Some(change) };
            }
            Err(WriteError::Gone) => return Recorded::default(),
            Err(WriteError::Moved) => {
                races += 1;
                races::pause(races)
            }
            Err(error @ (WriteError::Unavailable(_) | WriteError::NotLeading)) => {
                failures += 1;
                tracing::warn!(object = %object.id, "the outcome of a correction is not noted yet: {error}");
                pause_after(failures, MAX_PAUSE)
            }
            Err(WriteError::Refused(sentence)) => {
                failures += 1;
                if failures == 1 {
                    announcer.write_refused(&pen.kind, &object, &sentence);
                }
                pause_after(failures, MAX_REFUSED_PAUSE)
            }
        };
        if !result.outcome.is_definite() && term.is_cancelled() {
            return Recorded { object: None, change: None };
        }
        object = match read_after(pen, &object, pause).await {
            Some(live) => live,
            None => return Recorded::default(),
        };
    }
}

/// The object as it is after the pause; `None` where it is gone. Reads until it is told.
async fn read_after(pen: &Pen, object: &LeanObject, pause: Duration) -> Option<LeanObject> {
    tokio::time::sleep(pause).await;
    let mut failures = 0;
    loop {
        match pen.read(&object.id).await {
            Ok(live) => return live,
            Err(error) => {
                failures += 1;
                tracing::warn!(object = %object.id, "the object cannot be read: {error}");
                tokio::time::sleep(pause_after(failures, MAX_PAUSE)).await;
            }
        }
    }
}

/// Doubles from [`FIRST_PAUSE`] up to `longest`.
fn pause_after(failures: u32, longest: Duration) -> Duration {
    FIRST_PAUSE.saturating_mul(1_u32.checked_shl(failures.saturating_sub(1)).unwrap_or(u32::MAX)).min(longest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_up_to_the_longest() {
        let seconds: Vec<u64> = (1..8).map(|failures| pause_after(failures, MAX_PAUSE).as_secs()).collect();
        assert_eq!(seconds, [1, 2, 4, 8, 16, 30, 30]);
        assert_eq!(pause_after(u32::MAX, MAX_REFUSED_PAUSE), MAX_REFUSED_PAUSE);
    }
}
