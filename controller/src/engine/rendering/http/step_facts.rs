//! Facts about one step of a correction, and the last check of its rendered request.

use std::time::Duration;

use drift_api::requests::http_request::HttpRequest;
use drift_language::{Format, HttpStep, Step as _};

use super::Rendering;
use crate::engine::corrections::outcome::Doubt;
use crate::engine::rendering::unrenderable::Unrenderable;

impl Rendering {
    /// Returns the deadline of the step's request; `None` for the default.
    #[must_use]
    pub fn timeout(&self, index: usize) -> Option<Duration> {
        self.parts().step(index)?.timeout
    }

    /// Returns the format of the response to the step's request.
    #[must_use]
    pub fn format(&self, index: usize) -> Option<&Format> {
        self.parts().step(index).map(|step| &step.format)
    }

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
