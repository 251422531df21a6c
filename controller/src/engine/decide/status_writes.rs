//! The times at which a status may be written without a correction.
//!
//! At a start the claim with the younger note counts, so a note must not become younger for what is said of it. This file must not
//! know what is said.

use drift_api::condition::{CorrectedReason, CorrectionStatus};

use crate::engine::corrections::held::Held;
use crate::engine::decide::decision::Decision;
use crate::engine::decide::situation::Situation;

/// Of an object that may have come back with an old claim nothing is written until everybody is known that would make its note
/// younger than that of whoever has the resource now; a correction writes all the same.
pub(super) fn write_among_all(situation: &Situation<'_>, status: CorrectionStatus) -> Decision {
    let waits = !situation.surroundings.scope_complete && status.owned().is_some() && makes_younger(situation, &status);
    if waits { Decision::Nothing(Held::ScopeIncomplete) } else { Decision::WriteStatus(status) }
}

/// The time of a note is that of its last change of status, so that another text or number leaves it as old as it is.
fn makes_younger(situation: &Situation<'_>, status: &CorrectionStatus) -> bool {
    let current = situation.object.conditions.corrected().map(|condition| condition.status);
    current != status.reason.map(CorrectedReason::status)
}

/// Writes the status, or does `otherwise` where it stands already.
pub(super) fn write_once(
    situation: &Situation<'_>,
    status: &CorrectionStatus,
    reason: CorrectedReason,
    text: &str,
    otherwise: Decision,
) -> Decision {
    let status = status.keeping(reason, text, situation.object.generation);
    if status.stands(situation.object.conditions.corrected()) {
        return otherwise;
    }
    match (write_among_all(situation, status), otherwise) {
        // Whoever waits for others as well is not to miss its own time.
        (Decision::Nothing(why), Decision::Wait { until, .. }) => Decision::Wait { until, why },
        (decision, _) => decision,
    }
}
