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
use drift_kube::cleanup::{Duty, Judgement, LookEnd, Schedule, is_in_doubt, judge};
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
const KEPT_FOR: Duration = Duration::from_secs(600);

/// The clean-up of one program.
pub(crate) struct Collector {
    published: Arc<Published>,
    sweeps: Vec<Sweep>,
}

/// A mark of ours on objects.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Mark {
    Finalizer,
    Corrected,
    Observed,
}

/// The removal of one mark.
struct Sweep {
    mark: Mark,
    schedule: Schedule,
    settings: SweepSettings,
}

impl Collector {
    /// Creates the clean-up of a new process.
    pub(crate) fn of(who: Who) -> Self {
        let conditions = SweepSettings::of_conditions(KEPT_FOR);
        let sweeps = match who {
            Who::Poller => vec![Sweep::new(Mark::Observed, conditions)],
            Who::Controller => vec![
                Sweep::new(Mark::Finalizer, SweepSettings::of_finalizers()),
                Sweep::new(Mark::Corrected, conditions),
            ],
        };
        Self { published: Arc::default(), sweeps }
    }

    /// Accepts the targets by their ConfigMaps, and the notes on the Lease.
    pub(crate) fn publish(&mut self, published: Arc<Published>, now: Moment) {
        self.published = published;
        let Published { configuration, notes, .. } = &*self.published;
        for sweep in &mut self.sweeps {
            notes.read(|notes| sweep.schedule.arrange(notes, configuration.active(), now));
        }
    }

    /// Accepts objects without a target.
    pub(crate) fn hear_of(&mut self, orphans: &[Orphan], now: Moment) {
        for sweep in &mut self.sweeps {
            let heard = orphans.iter().filter(|orphan| orphan.has_left || sweep.mark.is_on(&orphan.object));
            for Orphan { kind, object, has_left } in heard.collect::<Vec<_>>() {
                sweep.schedule.hear_of(kind, &object.id, *has_left, now);
            }
        }
    }

    /// Does everything that is due.
    pub(crate) fn collect(&mut self, watch: &Watch, under_way: &UnderWay, scene: &mut Scene<'_>) {
        let Self { published, sweeps } = self;
        for sweep in sweeps {
            while let Some(duty) = sweep.schedule.due(scene.clock.moment) {
                match duty {
                    Duty::List(kind, _) => sweep.list(&kind, published, scene),
                    Duty::KindSweep(kind, ids) => {
                        for id in ids {
                            let end = sweep
                                .doubt(&kind, &id, (published, watch))
                                .unwrap_or_else(|| sweep.clean(&kind, &id, (published, under_way), scene));
                            sweep.schedule.end_look(&kind, &id.uid, end, scene.clock.moment);
                        }
                        sweep.strike_out(&kind, published, scene.clock.moment);
                    }
                }
            }
        }
    }
}

impl Sweep {
    const fn new(mark: Mark, settings: SweepSettings) -> Self {
        Self { mark, schedule: Schedule::new(settings.patience, settings.retries), settings }
    }

    fn list(&mut self, kind: &KindName, published: &Published, scene: &Scene<'_>) {
        for object in scene.api.objects.values().map(with_labels).filter(|object| self.mark.is_on(object)) {
            if matches!(judged(kind, &object, published), Judgement::Left | Judgement::Undecided) {
                self.schedule.find(kind, &object.id, scene.clock.moment);
            }
        }
        self.schedule.end_list(kind);
        self.strike_out(kind, published, scene.clock.moment);
    }

    fn strike_out(&mut self, kind: &KindName, published: &Published, now: Moment) {
        let finished = if self.settings.is_last { self.schedule.finished(kind) } else { Vec::new() };
        if !finished.is_empty() {
            let is_held = !published.notes.forget(&finished);
            self.schedule.strike_out(kind, is_held, now);
        }
    }

    /// Returns the result of a look that needs no request. `None` if certainly no target selects the object.
    fn doubt(&self, kind: &KindName, id: &ObjectId, (published, watch): (&Published, &Watch)) -> Option<LookEnd> {
        let Published { configuration, notes, .. } = published;
        let peers = || configuration.active().of_kind(kind);
        let told = watch.told(&id.uid);
        let is_doubtful =
            || notes.read(|notes| is_in_doubt(notes, configuration.active(), kind, id.namespace.as_deref()));
        if peers().any(|peer| told.contains(&peer.name)) {
            Some(LookEnd::Settled)
        } else if is_doubtful() {
            Some(LookEnd::Undecided)
        } else if !told.is_empty() || !peers().all(|peer| watch.is_listed(&peer.name)) {
            Some(LookEnd::Unripe)
        } else {
            None
        }
    }

    /// Removes the mark if the object still is an orphan.
    fn clean(
        &self,
        kind: &KindName,
        id: &ObjectId,
        (published, under_way): (&Published, &UnderWay),
        scene: &mut Scene<'_>,
    ) -> LookEnd {
        let Some(_busy) = under_way.begin(&id.uid) else { return LookEnd::Unripe };
        let live = scene.api.read(&id.name, &id.uid).as_ref().map(with_labels);
        let Some(live) = live.filter(|live| self.mark.is_on(live)) else { return LookEnd::Settled };
        match judged(kind, &live, published) {
            Judgement::Left => {}
            Judgement::Undecided => return LookEnd::Undecided,
            Judgement::Selected | Judgement::Foreign => return LookEnd::Settled,
        }
        let Some((patch, status)) = self.mark.removal(&live) else { return LookEnd::Settled };
        match scene.api.patch(&id.name, &patch, status) {
            Ok(_) => {
                if self.mark == Mark::Corrected {
                    scene.outside.disown(&id.uid);
                    scene.ledger.forget(&id.uid);
                }
                LookEnd::Settled
            }
            Err(Refusal::Gone) => LookEnd::Settled,
            Err(_) => LookEnd::Failed("refused"),
        }
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

fn judged(kind: &KindName, object: &LeanObject, Published { configuration, notes, .. }: &Published) -> Judgement {
    notes.read(|notes| judge(notes, configuration.active(), kind, object))
}

fn with_labels(object: &Value) -> LeanObject {
    let mut fields = FieldPaths::default();
    fields.insert(vec!["metadata".to_owned(), "labels".to_owned()]);
    LeanObject::prune(object, &fields)
}
