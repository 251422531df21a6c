//! The last check of a rendered request.

use drift_language::{HttpRequest, HttpStep, Step as _};

use super::Rendering;
use crate::engine::corrections::outcome::Doubt;
use crate::engine::rendering::unrenderable::Unrenderable;

impl Rendering {
    /// Fails if the body of a write repeats what an answer gave for a field that no read gives back.
    pub(super) fn check_repeats(
        &self,
        index: usize,
        step: &HttpStep,
        request: &HttpRequest,
    ) -> Result<(), Unrenderable> {
        let Some(sent) = request.body.as_deref().filter(|_| !step.looks_up()) else { return Ok(()) };
        let answers = &self.answers[self.parts().part(index)];
        let repeated = self.target.repeated_answer(step, sent, answers, &self.values);
        repeated.map_or(Ok(()), |cause| {
            let failing = self.failing(index, cause);
            Err(Unrenderable { doubt: Doubt::RepeatsAnswer, ..failing })
        })
    }
}
