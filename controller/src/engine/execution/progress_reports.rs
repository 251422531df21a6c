//! Progress of work that continues by itself. It is reported on the object, and the same step checks again.
//!
//! Each later stage is reported once, regardless of stages in between.

use drift_api::requests::job::JobStage;

use super::step::{Event, Failure, Purpose, Step, Write};
use super::{Execution, Stage};
use crate::engine::corrections::outcome::Sighting;

impl Execution {
    /// Continues with running work. Only a later stage than the reported one is written, so the number of
    /// writes is bounded.
    pub(super) fn go_on(&mut self, index: usize, sighting: Option<Sighting>) -> Step {
        self.progress.is_open = true;
        let told = self.progress.told;
        let is_news = |stage| told.map_or(stage < JobStage::Running, |told| told < stage);
        let news = sighting.filter(|sighting| is_news(sighting.stage));
        let Some((status, stage)) =
            news.zip(self.correction()).map(|(news, correction)| (correction.seen(&news), news.stage))
        else {
            return self.send(index);
        };
        self.progress.telling = Some(stage);
        self.stage = Stage::TellingProgress(index);
        Step::Write(Write::Status(status, Purpose::Word))
    }

    /// Continues even if the report was not written. A report that another writer overtook is repeated after
    /// the next check.
    pub(super) fn told_progress(&mut self, index: usize, event: Event) -> Step {
        match event {
            Event::Written(Ok(object)) | Event::Read(Ok(Some(object))) => self.object = *object,
            Event::Written(Err(Failure::Moved)) => {
                self.progress.telling = None;
                return Step::ReadAgain;
            }
            _ => {}
        }
        self.progress.told = self.progress.telling.take().or(self.progress.told);
        self.send(index)
    }
}
