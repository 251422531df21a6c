//! The world: both programs, the API server, the external system, the targets, and the time, each as a value.
//!
//! It implements all events, and nothing else happens.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use drift_api::attestation::Attestation;
use drift_api::identity::Uid;
use drift_api::object::LeanObject;
use drift_api::object::report::report_fields;
use drift_api::timing::moment::Moment;
use drift_controller::engine::decide::attestation::Attestations;
use drift_kube::UnderWay;
use drift_kube::cleanup::{ReportSweep, SweepStep, judge_report};
use drift_kube::subscriptions::dispatch::Effects;
use drift_language::{Target, TargetState};
use serde_json::Value;

use crate::api_server::{ApiServer, INSTALLATION};
use crate::calls::{Clock, Scene};
use crate::collector::{Collector, KEPT_FOR};
use crate::controller::Controller;
use crate::governing::Governing;
use crate::jobs::{self, JobEvent};
use crate::ledger::Ledger;
use crate::outside::{Fault, Outside};
use crate::poller::Poller;
use crate::targets::{Documents, Text, target};
use crate::watch::{Watch, Which};

/// The two programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Who {
    Poller,
    Controller,
}

/// Live programs receive all events within this time. A call takes little more than two of these.
const SLICE: Duration = Duration::from_secs(5);
/// The same limit while no task is in progress.
const IDLE_SLICE: Duration = Duration::from_secs(20);
/// Deadline of a call.
const DEADLINE: Duration = Duration::from_secs(10);
/// More steps than a world that comes to rest takes within one moment.
const MOST_STEPS: usize = 400;

/// The complete state of a history.
pub(crate) struct World {
    pub(crate) api: ApiServer,
    pub(crate) outside: Outside,
    pub(crate) ledger: Ledger,
    pub(crate) clock: Clock,
    pub(crate) documents: Documents,
    governing: Governing,
    poller: Poller,
    controller: Controller,
    poller_collector: Collector,
    controller_collector: Collector,
    report_sweep: ReportSweep,
    poller_watch: Watch,
    controller_watch: Watch,
    lease: BTreeMap<String, Attestation>,
    /// Number of checked changes.
    checked: usize,
    /// Earlier verdicts of drift, for writers that restore them.
    pub(crate) verdicts: BTreeMap<Uid, Value>,
}

impl Default for World {
    fn default() -> Self {
        Self {
            api: ApiServer::default(),
            outside: Outside::default(),
            ledger: Ledger::default(),
            clock: Clock::default(),
            documents: Documents::default(),
            governing: Governing::default(),
            poller: Poller::default(),
            controller: Controller::default(),
            poller_collector: Collector::of(Who::Poller),
            controller_collector: Collector::of(Who::Controller),
            report_sweep: sweep_of_term(Moment::START),
            poller_watch: Watch::of(Who::Poller),
            controller_watch: Watch::of(Who::Controller),
            lease: BTreeMap::new(),
            checked: 0,
            verdicts: BTreeMap::new(),
        }
    }
}

impl World {
    /// Advances one task by a step.
    pub(crate) fn step(&mut self, who: Who, index: usize, fault: Fault) {
        let Self { api, outside, ledger, clock, poller, controller, .. } = self;
        let mut scene = Scene { api, outside, ledger, clock: *clock };
        match who {
            Who::Poller => poller.step(index, fault, &mut scene),
            Who::Controller => controller.step(index, fault, &mut scene),
        }
    }

    /// Lets the program start due work.
    pub(crate) fn attend(&mut self, who: Who) {
        match who {
            Who::Poller => self.poller.attend(self.clock),
            Who::Controller => self.controller.attend(self.clock),
        }
    }

    /// Delivers the next events of a collection to the program.
    pub(crate) fn deliver(&mut self, who: Who, which: Which, events: usize) {
        for _ in 0..events {
            let Self { api, clock, .. } = self;
            let effects = match who {
                Who::Poller => self.poller_watch.next(which, api, clock.moment),
                Who::Controller => self.controller_watch.next(which, api, clock.moment),
            };
            let Some(effects) = effects else { break };
            self.tell(who, effects);
        }
    }

    /// Makes the program's watch repeat its last events.
    pub(crate) fn repeat(&mut self, who: Who, events: usize) {
        match who {
            Who::Poller => self.poller_watch.go_back(events),
            Who::Controller => self.controller_watch.go_back(events),
        }
    }

    /// Breaks the program's watches, so that they lose events and list again.
    pub(crate) fn list(&mut self, who: Who) {
        for which in [Which::Objects, Which::Reports] {
            let effects = match who {
                Who::Poller => self.poller_watch.list(which, &self.api, self.clock.moment),
                Who::Controller => self.controller_watch.list(which, &self.api, self.clock.moment),
            };
            self.tell(who, effects);
        }
    }

    fn tell(&mut self, who: Who, effects: Effects) {
        let collector = match who {
            Who::Poller => &mut self.poller_collector,
            Who::Controller => &mut self.controller_collector,
        };
        collector.hear_of(&effects.orphans, self.clock.moment);
        if who == Who::Poller && effects.orphans.iter().any(|orphan| orphan.has_left) {
            self.report_sweep.note_change(self.clock.moment);
        }
        for (target, event) in effects.words {
            match who {
                Who::Poller => self.poller.take(&target, event, self.clock),
                Who::Controller => self.controller.take(&target, event, self.clock),
            }
        }
    }

    /// Lets the program read its targets.
    pub(crate) fn configure(&mut self, who: Who) {
        let used = self.governing.configure(who, &self.documents);
        let texts: BTreeMap<&'static str, (Text, Arc<Target>)> =
            used.iter().map(|(name, text)| (*name, (*text, target(name, *text)))).collect();
        let targets = texts.iter().map(|(name, (_, target))| (*name, target.clone())).collect();
        let states = self.governing.states(who);
        match who {
            Who::Poller => {
                self.poller.configure((&targets, states), self.clock);
                self.poller_watch.configure(&targets);
                self.ledger.note_changes(&self.api);
                self.ledger.claims.note_unknown();
            }
            Who::Controller => {
                self.controller.configure((&texts, states), self.clock);
                self.controller_watch.configure(&targets);
                let noted = self.governing.noted(who).iter().map(|(name, text)| target(name, *text));
                self.ledger.note_targets(noted.collect(), &self.api);
            }
        }
        self.publish(who);
    }

    /// Tells the program the state of a target by its ConfigMaps.
    pub(crate) fn govern(&mut self, who: Who, name: &'static str, state: TargetState) {
        self.governing.note(who, name, state);
        match who {
            Who::Poller => self.poller.govern(name, state, self.clock),
            Who::Controller => self.controller.govern(name, state, self.clock),
        }
        self.publish(who);
    }

    /// Passes the targets and the notes to the program's parts.
    fn publish(&mut self, who: Who) {
        let (published, clock) = (Arc::new(self.governing.published(who)), self.clock);
        match who {
            Who::Poller => {
                self.poller_collector.publish(published, clock.moment);
                self.report_sweep.note_change(clock.moment);
            }
            Who::Controller => {
                self.controller.publish(published.clone(), clock);
                self.controller_collector.publish(published, clock.moment);
            }
        }
    }

    /// Lets no later text of the target find its kind, or lets it.
    pub(crate) fn bar(&mut self, who: Who, name: &'static str, rejected: bool) {
        match who {
            Who::Poller => self.poller_watch.bar(name, rejected),
            Who::Controller => self.controller_watch.bar(name, rejected),
        }
    }

    /// Writes the poller's attestations to its Lease, from which the controller reads them.
    pub(crate) fn renew(&mut self) {
        self.lease.clone_from(&self.poller.active);
        let changed_at = Some(self.clock.moment);
        let (by_target, texts) = (self.lease.clone(), self.poller.attested_texts.clone());
        let attestations = Attestations { held: true, changed_at, by_target, texts };
        self.controller.attest(attestations, self.clock);
    }

    /// Returns the attestation of the target in the poller's Lease.
    pub(crate) fn attestation(&self, name: &str) -> Option<&Attestation> {
        self.lease.get(name)
    }

    /// Pauses the external system's host because of other requests.
    pub(crate) fn pause_host(&mut self, seconds: u64) {
        self.poller.pause_host(self.clock.moment + Duration::from_secs(seconds));
    }

    /// Changes the Secret that corrections send.
    pub(crate) fn rotate(&mut self) {
        self.clock.secret += 1;
    }

    /// Removes that Secret, or restores it.
    pub(crate) fn take_secret(&mut self, taken: bool) {
        self.clock.lacks_secret = taken;
    }

    /// Kills the process and starts another.
    pub(crate) fn crash(&mut self, who: Who) {
        self.governing.crash(who);
        match who {
            Who::Poller => {
                self.poller = std::mem::take(&mut self.poller).die();
                self.poller_watch.begin_anew();
                self.poller_collector = Collector::of(who);
                self.report_sweep = sweep_of_term(self.clock.moment);
                self.lease.clear();
            }
            Who::Controller => {
                self.note_doubt();
                self.controller = Controller::default();
                self.controller_watch.begin_anew();
                self.controller_collector = Collector::of(who);
                self.ledger.note_death(&self.api);
            }
        }
        self.configure(who);
    }

    /// Takes the controller's Lease away. It continues for some steps, and another process follows.
    pub(crate) fn end_term(&mut self, steps: u8) {
        self.controller.end_term(self.clock);
        (0..steps).for_each(|_| self.step(Who::Controller, 0, Fault::None));
        self.crash(Who::Controller);
    }

    /// Records that the outcome of a claim is unknown if its process dies: the claim counts in any case.
    fn note_doubt(&mut self) {
        for object in self.api.objects.values() {
            if let Some(owned) = crate::ledger::owns(object) {
                let is_begun = crate::ledger::entry(object, drift_api::names::DRIFT_CORRECTED)
                    .is_some_and(|noted| noted["reason"] == "CorrectionStarted");
                self.outside.doubt(&owned, &crate::watch::uid_of(object), is_begun);
            }
        }
    }

    /// Lets time pass. Live programs continue, and tasks in progress run into their deadlines.
    pub(crate) fn pass(&mut self, seconds: u64) {
        let mut left = Duration::from_secs(seconds);
        while !left.is_zero() && self.ledger.violation.is_none() {
            let is_idle = self.poller.under_way() + self.controller.under_way() == 0;
            let slice = left.min(if is_idle { IDLE_SLICE } else { SLICE });
            left -= slice;
            self.clock.moment += slice;
            self.hear();
            self.end_overdue();
        }
    }

    /// Applies an event to the unfinished Jobs.
    pub(crate) fn happen_to_jobs(&mut self, event: JobEvent) {
        let Self { api, outside, ledger, clock, .. } = self;
        jobs::apply(event, &mut Scene { api, outside, ledger, clock: *clock });
    }

    /// Delivers all events, and advances everything outside of our programs.
    pub(crate) fn hear(&mut self) {
        for (uid, resource) in self.outside.land(self.clock.moment) {
            self.ledger.note_landed((&uid, &resource), &self.api);
        }
        let Self { api, outside, ledger, clock, .. } = self;
        jobs::go_on(&mut Scene { api, outside, ledger, clock: *clock });
        self.api.collect_garbage();
        for who in [Who::Poller, Who::Controller] {
            // The objects follow once their reports are listed.
            for which in [Which::Reports, Which::Objects] {
                self.deliver(who, which, usize::MAX);
            }
            let effects = match who {
                Who::Poller => self.poller_watch.sign(self.clock.moment),
                Who::Controller => self.controller_watch.sign(self.clock.moment),
            };
            self.tell(who, effects);
        }
        self.ledger.decisions.note_heard(&self.api);
        // Every task in progress was decided before.
        if self.controller.under_way() == 0 && self.controller.has_all_lists() {
            self.ledger.note_heard(&self.api);
        }
        self.poller.attend(self.clock);
        self.renew();
        self.controller.attend(self.clock);
        self.collect();
    }

    fn collect(&mut self) {
        let Self { api, outside, ledger, clock, controller, .. } = self;
        let mut scene = Scene { api, outside, ledger, clock: *clock };
        self.poller_collector.collect(&self.poller_watch, &UnderWay::default(), &mut scene);
        self.controller_collector.collect(&self.controller_watch, controller.objects_under_way(), &mut scene);
        self.sweep();
    }

    /// Does the steps of the clean-up of reports that are due.
    fn sweep(&mut self) {
        let Self { report_sweep, api, clock, poller_watch, poller_collector, .. } = self;
        let (now, dispatch, published) = (clock.moment, poller_watch.dispatch(), poller_collector.published());
        let mut left = Vec::new();
        published.notes.know(&published.configuration, |known| {
            let judge = |report: &LeanObject| judge_report(report, known, dispatch);
            let mut is_read = false;
            loop {
                match report_sweep.step(known, judge, now) {
                    SweepStep::Wait(_) => return,
                    // All are in one page.
                    SweepStep::Read(_) if is_read => {
                        is_read = false;
                        report_sweep.end_list();
                    }
                    SweepStep::Read(_) => {
                        is_read = true;
                        let page = api.reports.values().map(|report| LeanObject::prune(report, &report_fields()));
                        report_sweep.take_page(page.collect());
                    }
                    SweepStep::Delete(report) => {
                        let is_it = |stored: &Value| {
                            let metadata = &stored["metadata"];
                            metadata["uid"] == *report.id.uid
                                && metadata["resourceVersion"] == report.resource_version.to_string()
                        };
                        let name = api.reports.iter().find(|(_, stored)| is_it(stored)).map(|(name, _)| name.clone());
                        name.iter().for_each(|name| api.delete_report(name));
                        report_sweep.end_deletion(name.is_some());
                    }
                    SweepStep::Forget(notes) => left.extend(notes),
                }
            }
        });
        published.notes.forget(&left);
    }

    fn end_overdue(&mut self) {
        let since = self.clock.moment.saturating_sub(DEADLINE);
        for _ in 0..MOST_STEPS {
            if let Some(index) = self.poller.overdue(since) {
                self.step(Who::Poller, index, Fault::LostBefore);
            } else if let Some(index) = self.controller.overdue(since, self.clock.moment) {
                self.step(Who::Controller, index, Fault::LostBefore);
            } else {
                return;
            }
        }
    }

    /// Advances everything that can continue at this moment, without any fault.
    pub(crate) fn rest(&mut self) {
        for _ in 0..MOST_STEPS {
            if self.poller.under_way() > 0 {
                self.step(Who::Poller, 0, Fault::None);
            } else if let Some(index) = self.controller.ready(self.clock.moment) {
                self.step(Who::Controller, index, Fault::None);
            } else {
                let told = (self.api.log.len(), self.api.report_log.len());
                self.hear();
                let at_rest = self.poller.under_way() == 0 && self.controller.ready(self.clock.moment).is_none();
                if at_rest && told == (self.api.log.len(), self.api.report_log.len()) {
                    return;
                }
            }
            if self.ledger.violation.is_some() {
                return;
            }
            self.check();
        }
        self.ledger.violate("it does not come to rest within one moment");
    }

    /// Checks the invariants. Remembers verdicts for writers that restore them.
    pub(crate) fn check(&mut self) {
        self.poller.violation.take().into_iter().for_each(|violation| self.ledger.violate(violation));
        self.controller.note_ends(&mut self.ledger, &self.outside, &self.api);
        if !(self.controller.has_all_lists() && self.poller.has_all_lists()) {
            self.ledger.note_changes(&self.api);
            self.ledger.claims.note_unknown();
        }
        if self.checked == self.api.log.len() {
            return;
        }
        self.checked = self.api.log.len();
        self.ledger.note_changes(&self.api);
        for object in self.api.objects.values() {
            let observed = crate::ledger::entry(object, drift_api::names::DRIFT_OBSERVED);
            if let Some(observed) = observed.filter(|observed| observed["status"] == "True") {
                self.verdicts.insert(crate::watch::uid_of(object), observed.clone());
            }
        }
    }
}

/// Returns the clean-up of reports for a new term.
fn sweep_of_term(now: Moment) -> ReportSweep {
    ReportSweep::new(INSTALLATION, KEPT_FOR, now)
}
