//! The controller as a step machine: its real core between the values of the world, one step at a time.
//!
//! It does what the shell does in the shell's order: live read, decide again, then one correction's steps. It decides
//! nothing.

use std::collections::BTreeMap;
use std::sync::Arc;

use drift_api::identity::{Selected, Uid};
use drift_api::object::LeanObject;
use drift_api::timing::moment::Moment;
use drift_controller::core::limits::Room;
use drift_controller::core::roster::Handover;
use drift_controller::core::vouching::Vouching;
use drift_language::{Mode, Target};

use crate::at_work::{AtWork, Task};
use crate::calls::{Clock, Dispatch, Scene};
use crate::outside::Fault;
use crate::resources::Resources;
use crate::targets::Text;
use crate::watch::{Event, Watch, uid_of};

/// One term of one process of the controller.
#[derive(Default)]
pub(crate) struct Controller {
    targets: BTreeMap<&'static str, AtWork>,
    resources: Resources,
    handovers: BTreeMap<&'static str, (Arc<Target>, Handover)>,
    tasks: Vec<Task>,
    texts: u64,
    pub(crate) vouching: Vouching,
    /// The scope was complete when it was looked at last.
    was_complete: bool,
}

impl Controller {
    /// Takes in the targets that are in force now.
    pub(crate) fn configure(
        &mut self,
        texts: &BTreeMap<&'static str, (Text, Arc<Target>)>,
        watch: &Watch,
        clock: Clock,
    ) {
        let changed = |name: &str, at_work: &AtWork| texts.get(name).is_none_or(|(text, _)| *text != at_work.text);
        let gone: Vec<&'static str> =
            self.targets.iter().filter(|(name, at_work)| changed(name, at_work)).map(|(name, _)| *name).collect();
        for name in gone {
            if let Some(at_work) = self.targets.remove(name) {
                let mut handover = at_work.roster.into_handover(at_work.memories);
                if !texts.contains_key(name) {
                    self.resources.drop_target(name);
                    handover.forget_claims();
                }
                self.handovers.insert(name, (at_work.target, handover));
            }
        }
        for (name, (text, target)) in texts {
            if self.targets.contains_key(name) {
                continue;
            }
            let handover = self.handovers.remove(name).map(|(_, handover)| handover).unwrap_or_default();
            self.texts += 1;
            self.resources.join(target);
            let mut at_work = AtWork::new(target, *text, (handover, self.resources.clone()), self.texts);
            at_work.awaits_list = true;
            self.targets.insert(name, at_work);
        }
        self.read_lists(watch, clock);
    }

    /// Whether each target has read its list.
    pub(crate) fn has_all_lists(&self) -> bool {
        self.resources.is_complete()
    }

    /// Tells everybody whose list can be read of all objects.
    pub(crate) fn read_lists(&mut self, watch: &Watch, clock: Clock) {
        self.targets.iter_mut().for_each(|(name, at_work)| at_work.awaits_list &= watch.is_barred(name));
        watch.objects().for_each(|object| self.take(&Event::Seen(object.clone()), clock));
        if watch.listed {
            self.take(&Event::Listed, clock);
        }
    }

    /// Takes in what the watch says.
    pub(crate) fn take(&mut self, event: &Event, clock: Clock) {
        let dispatch = Dispatch::of(event, self.targets.values().map(|at_work| &*at_work.target));
        for (name, at_work) in self.targets.iter_mut().filter(|(_, at_work)| !at_work.awaits_list) {
            match &dispatch {
                Dispatch::Owner(owner, object) if owner == name => {
                    let object = LeanObject::prune(object, &at_work.target.all_fields);
                    if at_work.target.correct.mode == Mode::Correct || object.has_finalizer() {
                        at_work.see(object, clock.moment);
                    } else {
                        at_work.see_only(&object, clock.moment);
                    }
                }
                Dispatch::Owner(_, object) | Dispatch::Nobody(object) => at_work.forget(&uid_of(object)),
                Dispatch::Listed => {
                    at_work.roster.note_listed();
                    self.resources.note_listed(&at_work.target);
                    at_work.memories.clear();
                    at_work.add_all();
                }
                Dispatch::Alive => {}
            }
        }
    }

    /// The poller's word may have changed.
    pub(crate) fn reconsider(&mut self) {
        self.targets.values_mut().for_each(AtWork::add_all);
    }

    /// The Secret that corrections send changed.
    pub(crate) fn note_secret(&mut self) {
        for at_work in self.targets.values_mut() {
            at_work.roster.send_anew(|_| true);
            at_work.add_all();
        }
    }

    /// Has everybody decided whose turn it is.
    pub(crate) fn attend(&mut self, clock: Clock) {
        let now = clock.moment;
        for Selected { target, uid } in self.resources.take_concerned() {
            if let Some(at_work) = self.targets.get_mut(&*target) {
                at_work.queue.add(&uid);
            }
        }
        // Whoever waited for the scope is decided anew.
        if std::mem::replace(&mut self.was_complete, self.resources.is_complete()) != self.was_complete {
            self.reconsider();
        }
        for task in &mut self.tasks {
            let at_work = self.targets.get(task.target).filter(|at_work| at_work.number == task.text);
            let deleting = at_work.and_then(|at_work| at_work.roster.object(&task.uid)).is_some_and(|it| it.deleting);
            if deleting || at_work.is_none() {
                task.acting.interrupt(now);
            }
        }
        for (name, at_work) in &mut self.targets {
            at_work.secret = clock.known_secret();
            let roster = &at_work.roster;
            for uid in at_work.limited.extract_if(.., |uid| roster.room(&roster.line(uid), now) == Room::Free) {
                at_work.queue.add(&uid);
            }
            while let Some(uid) = at_work.queue.next(now) {
                let busy = self.tasks.iter().any(|task| task.uid == uid);
                match at_work.begin(&uid, busy, &self.vouching, now) {
                    Some((acting, reserved)) => {
                        let (text, since) = (at_work.number, now);
                        self.tasks.push(Task { target: name, text, uid, since, acting, reserved, begun: None });
                    }
                    None => at_work.queue.done(&uid),
                }
            }
        }
    }

    /// Lets one thing that is under way go one step on.
    pub(crate) fn step(&mut self, index: usize, fault: Fault, scene: &mut Scene<'_>) {
        if self.tasks.is_empty() {
            return;
        }
        let mut task = self.tasks.swap_remove(index % self.tasks.len());
        let now = scene.clock.moment;
        task.since = now;
        let mut at_work = self.targets.get_mut(task.target).filter(|at_work| at_work.number == task.text);
        at_work.iter_mut().for_each(|at_work| at_work.secret = scene.clock.known_secret());
        if task.acting.waits_until().is_none_or(|until| until <= now) {
            task.acting.go_on(fault, at_work.is_none(), scene);
        }
        if task.acting.writes_no_more() {
            scene.ledger.writing.remove(&task.uid);
            self.resources.hold(&task.uid, None);
        }
        match (task.acting.ended().cloned(), at_work) {
            (None, at_work) => {
                if task.acting.asks() {
                    let decided = at_work.and_then(|at_work| at_work.decide_anew(&mut task, &self.vouching, now));
                    task.acting.answer(decided, now);
                }
                self.tasks.push(task);
            }
            (Some(end), Some(at_work)) => at_work.end(task, &end, now),
            // What became of it is known to nobody who works by the present text.
            (Some(_), None) => drop(scene.ledger.left.insert(task.uid)),
        }
    }

    /// The first thing under way that nobody may wait for any longer.
    pub(crate) fn overdue(&self, since: Moment, now: Moment) -> Option<usize> {
        let is_overdue = |task: &Task| task.acting.waits_until().map_or(task.since < since, |until| until <= now);
        self.tasks.iter().position(is_overdue)
    }

    /// Something that can go on at once.
    pub(crate) fn ready(&self, now: Moment) -> Option<usize> {
        self.tasks.iter().position(|task| task.acting.waits_until().is_none_or(|until| until <= now))
    }

    /// How many things are under way.
    pub(crate) fn under_way(&self) -> usize {
        self.tasks.len()
    }

    /// Whether something is under way for the object.
    pub(crate) fn works_on(&self, uid: &Uid) -> bool {
        self.tasks.iter().any(|task| task.uid == *uid)
    }
}
