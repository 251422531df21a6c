//! The clean-up of one program: objects that no target selects lose its marks.
//!
//! The shipped schedule decides when an object is looked at, and the shipped judgement if its mark is an orphan. This
//! performs the reads and writes of the shell.

use std::sync::Arc;
use std::time::Duration;

use drift_api::object::field_paths::FieldPaths;
use drift_api::object::status_patch::removal_patch;
use drift_api::object::{LeanObject, ObjectId};
use drift_api::timing::moment::Moment;
use drift_controller::engine::corrections::finalizer_patches::release_patch;
use drift_kube::cleanup::{Duty, Judgement, LookEnd, Schedule, Stage};
use drift_kube::subscriptions::Orphan;
use drift_kube::{KindName, SweepSettings, UnderWay};
use json_patch::Patch;
use serde_json::Value;

use crate::api_server::Refusal;
use crate::calls::Scene;
use crate::governing::Published;
use crate::watch::Watch;
use crate::world::Who;

/// Time for which the conditions of an unselected object stay.
pub(crate) const KEPT_FOR: Duration = Duration::from_secs(600);

/// The clean-up of one program.
pub(crate) struct Collector {
    published: Arc<Published>,
    /// The marks of the program.
    marks: &'static [Mark],
    schedule: Schedule,
}

/// A mark of ours on objects.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Mark {
    Finalizer,
    Corrected,
    Observed,
}

/// The stages in their order. A program without urgent marks has nothing due in the first.
const STAGES: [Stage; 2] = [Stage::Urgent, Stage::Last];

impl Collector {
    /// Creates the clean-up of a new process.
    pub(crate) fn of(who: Who) -> Self {
        let conditions = SweepSettings::of_conditions(KEPT_FOR);
        let (marks, settings): (&'static [Mark], _) = match who {
            Who::Poller => (&[Mark::Observed], conditions),
            Who::Controller => (&[Mark::Finalizer, Mark::Corrected], conditions.with_finalizers()),
        };
        Self { published: Arc::default(), marks, schedule: Schedule::new(settings) }
    }

    /// Returns the targets by their ConfigMaps, and the notes on the Lease.
    pub(crate) fn published(&self) -> Arc<Published> {
        self.published.clone()
    }

    /// Accepts the targets by their ConfigMaps, and the notes on the Lease.
    pub(crate) fn publish(&mut self, published: Arc<Published>, now: Moment) {
        let Published { configuration, notes, .. } = &*published;
        notes.know(configuration, |known| self.schedule.arrange(known, now));
        self.published = published;
    }

    /// Accepts objects without a target.
    pub(crate) fn hear_of(&mut self, orphans: &[Orphan], now: Moment) {
        for Orphan { kind, object, has_left } in orphans {
            let stages = if self.marks.contains(&Mark::Finalizer) { &STAGES[..] } else { &STAGES[1..] };
            let from = stages.iter().find(|stage| *has_left || self.marks_on(object, **stage).next().is_some());
            if let Some(from) = from {
                self.schedule.hear_of(kind, &object.id, *from, *has_left, now);
            }
        }
    }

    /// Does everything that is due.
    pub(crate) fn collect(&mut self, watch: &Watch, under_way: &UnderWay, scene: &mut Scene<'_>) {
        for stage in STAGES {
            while let Some(duty) = self.schedule.due(stage, scene.clock.moment) {
                match duty {
                    Duty::List(kind, _) => self.list(&kind, stage, scene),
                    Duty::Look(kind, ids) => {
                        for id in ids {
                            let end = self
                                .doubt(&kind, &id, watch)
                                .unwrap_or_else(|| self.clean(&kind, &id, (stage, under_way), scene));
                            self.schedule.end_look(&kind, &id.uid, end, scene.clock.moment);
                        }
                        self.strike_out(&kind, scene.clock.moment);
                    }
                }
            }
        }
    }

    /// Returns the marks on the object that go in this stage.
    fn marks_on<'a>(&'a self, object: &'a LeanObject, stage: Stage) -> impl Iterator<Item = Mark> + 'a {
        let goes = move |mark: &Mark| stage == Stage::Last || *mark == Mark::Finalizer;
        self.marks.iter().copied().filter(move |mark| goes(mark) && mark.is_on(object))
    }

    fn list(&mut self, kind: &KindName, stage: Stage, scene: &Scene<'_>) {
        for object in scene.api.objects.values().map(with_labels) {
            let is_orphan = matches!(self.judged(kind, &object), Judgement::Left | Judgement::Undecided);
            if is_orphan && self.marks_on(&object, stage).next().is_some() {
                self.schedule.find(kind, &object.id, stage, scene.clock.moment);
            }
        }
        self.schedule.end_list(kind, stage);
        self.strike_out(kind, scene.clock.moment);
    }

    fn strike_out(&mut self, kind: &KindName, now: Moment) {
        let finished = self.schedule.finished(kind);
        if !finished.is_empty() {
            let is_held = !self.published.notes.forget(&finished);
            self.schedule.strike_out(kind, is_held, now);
        }
    }

    /// Returns the result of a look that needs no request. `None` if certainly no target selects the object.
    fn doubt(&self, kind: &KindName, id: &ObjectId, watch: &Watch) -> Option<LookEnd> {
        let Published { configuration, notes, .. } = &*self.published;
        let told = watch.told(&id.uid);
        let told: Vec<Arc<str>> = told.iter().map(|name| Arc::from(&**name)).collect();
        let listed = |target: &str| watch.is_listed(target);
        match notes.know(configuration, |known| known.judge_by_watches(kind, id, &told, listed)) {
            Judgement::Selected => Some(LookEnd::Settled),
            Judgement::Undecided => Some(LookEnd::Undecided),
            Judgement::Unlisted => Some(LookEnd::Unripe),
            Judgement::Left | Judgement::Foreign => None,
        }
    }

    /// Removes the marks of a stage if the object still is an orphan.
    fn clean(
        &self,
        kind: &KindName,
        id: &ObjectId,
        (stage, under_way): (Stage, &UnderWay),
        scene: &mut Scene<'_>,
    ) -> LookEnd {
        let Some(_busy) = under_way.begin(&id.uid) else { return LookEnd::Unripe };
        let Some(mut live) = scene.api.read(&id.name, &id.uid).as_ref().map(with_labels) else {
            return LookEnd::Settled;
        };
        let marks: Vec<Mark> = self.marks_on(&live, stage).collect();
        if marks.is_empty() {
            return LookEnd::Cleaned;
        }
        match self.judged(kind, &live) {
            Judgement::Left => {}
            Judgement::Unlisted => return LookEnd::Unripe,
            Judgement::Undecided => return LookEnd::Undecided,
            Judgement::Selected | Judgement::Foreign => return LookEnd::Settled,
        }
        for mark in marks {
            let Some((patch, status)) = mark.removal(&live) else { return LookEnd::Settled };
            match scene.api.patch(&id.name, &patch, status) {
                Ok(written) => {
                    if mark == Mark::Corrected {
                        scene.outside.disown(&id.uid);
                        scene.ledger.forget(&id.uid);
                    }
                    live = with_labels(&written);
                }
                Err(Refusal::Gone) => return LookEnd::Settled,
                Err(_) => return LookEnd::Failed("refused"),
            }
        }
        LookEnd::Cleaned
    }

    fn judged(&self, kind: &KindName, object: &LeanObject) -> Judgement {
        let Published { configuration, notes, .. } = &*self.published;
        notes.know(configuration, |known| known.judge(kind, object))
    }
}

impl Mark {
    fn is_on(self, object: &LeanObject) -> bool {
        match self {
            Self::Finalizer => object.has_finalizer(),
            Self::Corrected => object.conditions.corrected.is_some(),
            Self::Observed => object.conditions.observed.is_some(),
        }
    }

    /// Returns the patch that removes the mark, and true if it is one of the status.
    fn removal(self, object: &LeanObject) -> Option<(Patch, bool)> {
        let conditions = &object.conditions;
        match self {
            Self::Finalizer => Some((release_patch(object)?, false)),
            Self::Corrected => Some((removal_patch(object, conditions.corrected.as_deref()?), true)),
            Self::Observed => Some((removal_patch(object, conditions.observed.as_ref()?), true)),
        }
    }
}

fn with_labels(object: &Value) -> LeanObject {
    let mut fields = FieldPaths::default();
    fields.insert(vec!["metadata".to_owned(), "labels".to_owned()]);
    LeanObject::prune(object, &fields)
}
