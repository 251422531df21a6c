//! When a status may be written that no correction brings along.
//!
//! This file must not know what is said.

use drift_model::condition::{CorrectedReason, CorrectionStatus};

use crate::core::decision::Decision;
use crate::core::held::Held;
use crate::core::situation::Situation;

/// Of an object that may have come back with an old claim nothing is written until everybody is known, but of a correction: its note
/// would be younger than that of whoever has the resource now, and the younger note counts at the next start.
pub(super) fn write_among_all(situation: &Situation<'_>, status: CorrectionStatus) -> Decision {
    let waits = status.owned().is_some() && !situation.surroundings.scope_complete;
    if waits { Decision::Nothing(Held::ScopeIncomplete) } else { Decision::WriteStatus(status) }
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
    if status.stands(situation.object.conditions.corrected()) { otherwise } else { write_among_all(situation, status) }
}
