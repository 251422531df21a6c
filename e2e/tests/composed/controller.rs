//! The controller as a step machine: its engines between the values of the world, one step at a time.
//!
//! It performs the effects that the engines ask for, in whatever order the history says. It decides nothing.

use std::collections::BTreeMap;
use std::sync::Arc;

use drift_api::identity::{Selected, Uid};
use drift_api::object::LeanObject;
use drift_api::timing::moment::Moment;
use drift_controller::core::decision::Decision;
use drift_controller::core::roster::Handover;
use drift_controller::core::vouching::Vouching;
use drift_controller::engine::{self, Effect, Input, Now};
use drift_language::Target;

use crate::act::Acting;
use crate::calls::{Clock, Dispatch, Scene};
use crate::endings;
use crate::outside::Fault;
use crate::resources::Resources;
use crate::shared::{Around, Shared};
use crate::targets::Text;
use crate::watch::{Event, Watch, uid_of};

/// One term of one process of the controller.
#[derive(Default)]
pub(crate) struct Controller {
    targets: BTreeMap<&'static str, AtWork>,
    resources: Resources,
    around: Around,
    handovers: BTreeMap<&'static str, Handover>,
    tasks: Vec<Task>,
    texts: u64,
    /// The scope was complete when it was looked at last.
    was_complete: bool,
}

/// One target at work.
struct AtWork {
    engine: engine::Target<Shared>,
    target: Arc<Target>,
    text: Text,
    /// Its list cannot be read yet, so that it hears of nothing.
    awaits_list: bool,
    /// Which of the target's texts; what an earlier one began is not its own.
    number: u64,
}

/// An execution under way for one object.
struct Task {
    target: &'static str,
    text: u64,
    uid: Uid,
    since: Moment,
    acting: Acting,
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
                let own = self.tasks.iter_mut().filter(|task| task.text == at_work.number);
                own.for_each(|task| task.acting.supersede(clock.moment));
                let (mut handover, _) = at_work.engine.end();
                if !texts.contains_key(name) {
                    self.resources.drop_target(name);
                    handover.forget_claims();
                }
                self.handovers.insert(name, handover);
            }
        }
        for (name, (text, target)) in texts {
            if self.targets.contains_key(name) {
                continue;
            }
            let handover = self.handovers.remove(name).unwrap_or_default();
            self.texts += 1;
            self.resources.join(target);
            let shared = Shared::new(target, self.resources.clone(), self.around.clone());
            let engine = engine::Target::new(target.clone(), shared, handover);
            let at_work = AtWork { engine, target: target.clone(), text: *text, awaits_list: true, number: self.texts };
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
        let hearing = self.targets.iter().filter(|(_, at_work)| !at_work.awaits_list);
        let inputs: Vec<_> = hearing.filter_map(|(name, at_work)| Some((*name, input(&dispatch, at_work)?))).collect();
        inputs.into_iter().for_each(|(name, input)| self.feed(name, input, clock));
    }

    /// The poller attests this from now on.
    pub(crate) fn attest(&mut self, vouching: Vouching, clock: Clock) {
        self.around.attest(vouching);
        self.feed_all(|| Input::AttestationChanged, clock);
    }

    /// Has everybody decided whose turn it is.
    pub(crate) fn attend(&mut self, clock: Clock) {
        self.around.set_secret(clock.known_secret());
        for Selected { target, uid } in self.resources.take_concerned() {
            if let Some(name) = self.targets.keys().copied().find(|name| *name == &*target) {
                self.feed(name, Input::Concerned(uid), clock);
            }
        }
        if std::mem::replace(&mut self.was_complete, self.resources.is_complete()) != self.was_complete {
            self.feed_all(|| Input::ScopesChanged, clock);
        }
        self.feed_all(|| Input::Tick, clock);
    }

    fn feed_all(&mut self, input: impl Fn() -> Input, clock: Clock) {
        let names: Vec<_> = self.targets.keys().copied().collect();
        names.into_iter().for_each(|name| self.feed(name, input(), clock));
    }

    /// Gives the engine of the target an input, and performs what it asks for.
    fn feed(&mut self, name: &'static str, input: Input, clock: Clock) {
        let Some(at_work) = self.targets.get_mut(name) else { return };
        let now = Now { moment: clock.moment, wall: clock.since_epoch() };
        let effects = at_work.engine.step(now, input);
        effects.into_iter().for_each(|effect| self.perform(name, effect, clock.moment));
    }

    fn perform(&mut self, name: &'static str, effect: Effect, now: Moment) {
        let Some(at_work) = self.targets.get(name) else { return };
        let number = at_work.number;
        match effect {
            Effect::Begin { object, decision } => {
                self.compare_endings(at_work, &object, &decision);
                let uid = object.id.uid.clone();
                let acting = Acting::begin(&at_work.target, at_work.text, *object, decision);
                self.tasks.push(Task { target: name, text: number, uid, since: now, acting });
            }
            Effect::Answer(answer) => {
                self.compare_endings(at_work, &answer.object, &answer.decision);
                let uid = answer.object.id.uid.clone();
                if answer.claimant.is_some() {
                    self.resources.hold(&uid, answer.claimant.clone());
                }
                self.with_task(&uid, number, |acting| acting.answer(Some(*answer), now));
            }
            Effect::Dismiss(uid) => self.with_task(&uid, number, |acting| acting.answer(None, now)),
            Effect::Interrupt(uid) => self.with_task(&uid, number, |acting| acting.interrupt(now)),
            Effect::ReadAnew(known) => unreachable!("a list is older than what is known of {}", known.id),
            Effect::Report(_) | Effect::WakeAt(_) => {}
        }
    }

    fn compare_endings(&self, at_work: &AtWork, object: &LeanObject, decision: &Decision) {
        endings::compare(&at_work.target, (at_work.engine.roster(), &self.resources), object, decision);
    }

    fn with_task(&mut self, uid: &Uid, number: u64, does: impl FnOnce(&mut Acting)) {
        let task = self.tasks.iter_mut().find(|task| task.uid == *uid && task.text == number);
        task.map(|task| &mut task.acting).map(does);
    }

    /// Lets one thing that is under way go one step on.
    pub(crate) fn step(&mut self, index: usize, fault: Fault, scene: &mut Scene<'_>) {
        if self.tasks.is_empty() {
            return;
        }
        let mut task = self.tasks.swap_remove(index % self.tasks.len());
        let (clock, name) = (scene.clock, task.target);
        self.around.set_secret(clock.known_secret());
        task.since = clock.moment;
        if task.acting.waits_until().is_none_or(|until| until <= clock.moment) {
            task.acting.go_on(fault, scene);
        }
        if task.acting.writes_no_more() {
            scene.ledger.writing.remove(&task.uid);
            self.resources.hold(&task.uid, None);
        }
        let is_own = self.targets.get(name).is_some_and(|at_work| at_work.number == task.text);
        let stalls = task.acting.take_stalls().into_iter().map(|held| Input::Stalled(task.uid.clone(), held));
        let mut inputs: Vec<Input> = stalls.collect();
        let object = Box::new(task.acting.object().clone());
        match task.acting.ended().cloned() {
            Some(end) => {
                self.around.end_work(&task.uid);
                inputs.push(Input::Ended { object, end });
                if !is_own {
                    // What became of it is known to nobody who works by the present text.
                    scene.ledger.left.insert(task.uid);
                }
            }
            None => {
                match (task.acting.asks(), is_own) {
                    (true, true) => inputs.push(Input::ReadLive { object, was_read: true }),
                    (true, false) => task.acting.answer(None, clock.moment),
                    (false, _) => {}
                }
                self.tasks.push(task);
            }
        }
        inputs.into_iter().filter(|_| is_own).for_each(|input| self.feed(name, input, clock));
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

/// What an event of the watch is to the target; a sign of life is nothing.
fn input(dispatch: &Dispatch<'_>, at_work: &AtWork) -> Option<Input> {
    let target = &at_work.target;
    let lean = |object| Box::new(LeanObject::prune(object, &target.all_fields));
    match dispatch {
        Dispatch::Owner(owner, object) if *owner == target.name => Some(Input::Seen(lean(object))),
        Dispatch::Owner(_, object) => {
            let metadata = &object["metadata"];
            let is_selected = target.objects.selects(metadata["namespace"].as_str(), metadata.get("labels"));
            Some(if is_selected { Input::Skipped(lean(object)) } else { Input::Left(uid_of(object)) })
        }
        Dispatch::Nobody(object) => Some(Input::Left(uid_of(object))),
        Dispatch::Listed => Some(Input::Listed),
        Dispatch::Alive => None,
    }
}
