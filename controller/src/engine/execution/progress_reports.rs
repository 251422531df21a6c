//! What was begun and goes on by itself: how far it has come is said on the object, and the same step looks again.
//!
//! Each later stage is said once, whatever comes and goes meanwhile.

use drift_api::requests::job::JobStage;

use super::step::{Event, Failure, Purpose, Step, Write};
use super::{Execution, Stage};
use crate::engine::corrections::outcome::Sighting;

impl Execution {
    /// What was begun goes on. Only what is later than what was told is news, so that it is told some times at the most.
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

    /// Whether it could be told or not, it goes on. What another writer overtook is told at the next look.
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
