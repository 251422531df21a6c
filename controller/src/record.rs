//! Notes what a correction came to, for as long as it takes.
//!
//! What was done outside must not be forgotten while the process lives: a write that does not land is tried again,
//! each time onto what stands by then. Until it has landed the object stays busy, so no other correction of it
//! begins. This file must not know how a correction is done.

use std::time::Duration;

use drift_cluster::client::WriteError;
use drift_cluster::process::clock;
use drift_cluster::process::kill_point::{KillPoint, reach};
use drift_model::backoff::{Backoff, Series};
use drift_model::condition::CorrectionStatus;
use drift_model::object::LeanObject;
use tokio_util::sync::CancellationToken;

use crate::core::correction::Correction;
use crate::core::outcome::Outcome;
use crate::notices::Announcer;
use crate::pen::Pen;

/// What a correction came to.
#[derive(Clone, Copy, Debug)]
pub struct Finished<'a> {
    /// The correction.
    pub correction: &'a Correction,
    /// What it came to.
    pub outcome: Outcome,
}

/// How noting it ended.
#[derive(Clone, Debug, Default)]
pub struct Recorded {
    /// The newest state of the object; `None` where it is gone or not known.
    pub object: Option<LeanObject>,
    /// The status that was written or stood already; `None` where there was nothing to say.
    pub status: Option<CorrectionStatus>,
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
    let mut races = Backoff::new(Series::RACE_LOST);
    let mut unavailable = Backoff::new(Series::API_UNAVAILABLE);
    let mut refusals = Backoff::new(Series::WRITE_REFUSED);
    loop {
        let status = result.correction.to_record(&object.conditions.correction_status(), &result.outcome);
        let Some(status) = status else { return Recorded { object: Some(object), status: None } };
        if status.stands(object.conditions.corrected()) {
            return Recorded { object: Some(object), status: Some(status) };
        }
        reach(KillPoint::ControllerBeforeNote);
        let written = pen.write_status(&object, &status).await;
        reach(KillPoint::ControllerAfterNote);
        let now = clock::now();
        let delay = match written {
            Ok(written) => {
                announcer.status(&pen.kind, &written, &status);
                return Recorded { object: Some(written), status: Some(status) };
            }
            Err(WriteError::Gone) => return Recorded::default(),
            Err(WriteError::Moved) => races.fail(now),
            Err(error @ (WriteError::Unavailable(_) | WriteError::NotLeading)) => {
                tracing::warn!(object = %object.id, "the outcome of a correction is not noted yet: {error}");
                unavailable.fail(now)
            }
            Err(WriteError::Refused(sentence)) => {
                if refusals.failures() == 0 {
                    announcer.write_refused(&pen.kind, &object, &sentence);
                }
                refusals.fail(now)
            }
        };
        if !result.outcome.is_definite() && term.is_cancelled() {
            return Recorded::default();
        }
        object = match read_after(pen, &object, delay).await {
            Some(live) => live,
            None => return Recorded::default(),
        };
    }
}

/// The object as it is after the delay; `None` where it is gone. Reads until it is told.
async fn read_after(pen: &Pen, object: &LeanObject, delay: Duration) -> Option<LeanObject> {
    tokio::time::sleep(delay).await;
    let mut unavailable = Backoff::new(Series::API_UNAVAILABLE);
    loop {
        match pen.read(&object.id).await {
            Ok(live) => return live,
            Err(error) => {
                tracing::warn!(object = %object.id, "the object cannot be read: {error}");
                tokio::time::sleep(unavailable.fail(clock::now())).await;
            }
        }
    }
}
