//! Writes a status outside of corrections, once.

use drift_api::condition::{CorrectedReason, CorrectionStatus};

use crate::engine::decide::decision::Decision;
use crate::engine::decide::situation::Situation;

/// Writes the status, or returns `otherwise` if the object already has it.
pub(super) fn write_once(
    situation: &Situation<'_>,
    status: &CorrectionStatus,
    reason: CorrectedReason,
    text: &str,
    otherwise: Decision,
) -> Decision {
    let status = status.keeping(reason, text, situation.object.generation);
    if status.stands(situation.object.conditions.corrected()) { otherwise } else { Decision::WriteStatus(status) }
}
