//! Random histories of one object against the poller's state machine: what must hold whatever happens.
#![allow(clippy::unwrap_used, clippy::panic)]

use std::time::Duration;

use drift_api::condition::{ConditionStatus, CurrentVerdict, DesiredHash, ObservedReason, PollRequest, Verdict};
use drift_api::names::{DRIFT_CORRECTED, DRIFT_OBSERVED, POLL_REQUESTED_ANNOTATION};
use drift_api::object::LeanObject;
use drift_api::object::field_paths::FieldPaths;
use drift_api::timing::moment::Moment;
use drift_language::{Actions, Confirm, ObjectMay};
use drift_poller::engine::judgement::finding::{Failure, Finding};
use drift_poller::engine::judgement::rendered::Rendered;
use drift_poller::engine::object::object_state::{Arrival, BegunPoll, ObjectState, SILENT_INTERVALS};
use drift_poller::engine::schedule::Now;
use drift_poller::engine::schedule::poll_settings::PollSettings;
use drift_poller::engine::writes::announcement::Announcement;
use drift_poller::engine::writes::write_attempts::WriteOutcome;
use proptest::prelude::*;
use serde_json::{Value, json};

const INTERVAL: Duration = Duration::from_secs(30);
const SETTINGS: PollSettings = PollSettings {
    object_may: ObjectMay { ignore: false, interval: false },
    interval: INTERVAL,
    create_shows_within: Duration::ZERO,
    settle: Duration::from_secs(2),
    corrects: true,
    actions: Actions::NONE,
    settles_edits: false,
    confirm: Confirm { drift: 1, absent: 2, unknown: 3, absent_for: Duration::ZERO },
    keeps_requests: false,
    ready: false,
    shared_phase: None,
};

#[derive(Clone, Copy, Debug, PartialEq)]
enum Outside {
    Fulfils(i64),
    Absent,
}

#[derive(Clone, Copy, Debug)]
enum Step {
    Wait(u64),
    Drift,
    Vanish,
    Fail(bool),
    Edit,
    Correct {
        effective: bool,
    },
    RemoveCondition,
    ForgeCondition,
    Restart,
    LoseRace,
    /// The process crashes during its next write, before or after it takes effect.
    DieWriting {
        landed: bool,
    },
    /// From now on responses are slow, or immediate again.
    Slow(bool),
    /// The pending response arrives.
    Answer,
    /// The object is deleted, and a finalizer delays the removal.
    Delete,
    /// The object is suspended, not allowed or contested, or free again.
    Bar(bool),
    /// From now on responses ask for a delay of this length; zero for none.
    AskToWait(u64),
    /// The host is paused for this long because of other requests.
    PauseHost(u64),
    /// The next write succeeds, and its response is lost.
    LoseAnswer,
    /// A hint reports a possible external change; it may have to wait for this long.
    Hint(u64),
    /// Hints may have been missed.
    MissHints,
    /// A person requests a poll.
    Ask(u8),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        6 => (1..90u64).prop_map(Step::Wait),
        2 => Just(Step::Drift),
        2 => Just(Step::Vanish),
        3 => any::<bool>().prop_map(Step::Fail),
        1 => Just(Step::Edit),
        3 => any::<bool>().prop_map(|effective| Step::Correct { effective }),
        1 => Just(Step::RemoveCondition),
        1 => Just(Step::ForgeCondition),
        1 => Just(Step::Restart),
        1 => Just(Step::LoseRace),
        1 => any::<bool>().prop_map(|landed| Step::DieWriting { landed }),
        2 => any::<bool>().prop_map(Step::Slow),
        3 => Just(Step::Answer),
        1 => prop_oneof![4 => Just(Step::Answer), 1 => Just(Step::Delete)],
        1 => any::<bool>().prop_map(Step::Bar),
        1 => Just(Step::LoseAnswer),
        1 => prop_oneof![Just(0), 1..100_u64].prop_map(Step::AskToWait),
        1 => (1..60_u64).prop_map(Step::PauseHost),
        2 => prop_oneof![Just(0), 1..20_u64].prop_map(Step::Hint),
        1 => Just(Step::MissHints),
        2 => (0..3_u8).prop_map(Step::Ask),
    ];
    proptest::collection::vec(step, 1..60)
}

/// The API server, the external system and one poller, all as values.
struct World {
    object: Value,
    outside: Outside,
    failing: bool,
    lose_races: u32,
    /// Set if the process crashes in its next write; true if that write takes effect.
    death: Option<bool>,
    slow: bool,
    rejected: bool,
    asked_pause: Duration,
    /// End of the delay that a response asked for.
    left_alone_until: Moment,
    host_paused_until: Moment,
    lose_answer: bool,
    /// A running poll: its basis, its finding, and the external state at the time of the read.
    under_way: Option<(BegunPoll, Finding, Outside)>,
    /// External state at the last complete poll.
    looked_at: Outside,
    /// Generation that a complete poll saw in sync, as long as no confirmed poll saw otherwise.
    sighted: Option<i64>,
    absences: u32,
    corrected_at: Option<Moment>,
    now: Now,
    state: ObjectState,
    writes: u32,
    announced: Vec<Announcement>,
    /// Number of writes that the history itself causes: each change of the world may cost some.
    allowance: u32,
}

impl World {
    fn new() -> Self {
        let object =
            json!({"metadata": {"uid": "u", "name": "n", "resourceVersion": "1", "generation": 1}, "spec": {}});
        let now = Now { moment: Moment::START, wall: Duration::from_secs(1_700_000_000) };
        let state = start(&object, now, Arrival::Later);
        Self {
            object,
            outside: Outside::Absent,
            failing: false,
            lose_races: 0,
            death: None,
            slow: false,
            rejected: false,
            asked_pause: Duration::ZERO,
            left_alone_until: Moment::START,
            host_paused_until: Moment::START,
            lose_answer: false,
            under_way: None,
            looked_at: Outside::Absent,
            sighted: None,
            absences: 0,
            corrected_at: None,
            now,
            state,
            writes: 0,
            announced: Vec::new(),
            allowance: 1,
        }
    }

    fn generation(&self) -> i64 {
        self.object["metadata"]["generation"].as_i64().unwrap()
    }

    fn correction(&self) -> u64 {
        lean(&self.object).conditions.correction()
    }

    fn finding(&self) -> Finding {
        match self.outside {
            _ if !self.asked_pause.is_zero() => Finding::from(ObservedReason::RateLimited),
            _ if self.failing => Finding::from(ObservedReason::PollTimedOut),
            Outside::Absent => Finding::Absent,
            Outside::Fulfils(generation) if generation == self.generation() => Finding::InSync,
            Outside::Fulfils(other) => {
                Finding::Differs(format!("1 field differs: /g observed {other}").as_str().into())
            }
        }
    }

    /// A change by any writer: a new resourceVersion, and the watch delivers it to the poller.
    fn change(&mut self, edit: impl FnOnce(&mut Value)) {
        edit(&mut self.object);
        let version: u64 = self.object["metadata"]["resourceVersion"].as_str().unwrap().parse().unwrap();
        self.object["metadata"]["resourceVersion"] = json!((version + 1).to_string());
        self.state.see(lean(&self.object), self.rendered(), self.now.moment);
    }

    fn set_condition(&mut self, kind: &str, entry: Option<Value>) {
        let kind = kind.to_owned();
        self.change(|object| {
            let list = object["status"]["conditions"].as_array().cloned().unwrap_or_default();
            let mut list: Vec<_> = list.into_iter().filter(|old| old["type"] != kind.as_str()).collect();
            list.extend(entry);
            object["status"] = json!({"conditions": list});
        });
    }

    fn correct(&mut self, effective: bool) {
        if effective {
            self.outside = Outside::Fulfils(self.generation());
        }
        let message = format!("correction {}: done", self.correction() + 1);
        let entry =
            json!({"type": DRIFT_CORRECTED, "status": "True", "reason": "CorrectionApplied", "message": message});
        self.set_condition(DRIFT_CORRECTED, Some(entry));
        self.corrected_at = Some(self.now.moment);
    }

    fn answer(&mut self) {
        if let Some((begun, finding, looked_at)) = self.under_way.take() {
            self.looked_at = looked_at;
            self.absences = if finding == Finding::Absent { self.absences + 1 } else { 0 };
            match &finding {
                Finding::InSync => self.sighted = begun.basis.generation,
                Finding::Differs(_) => self.sighted = None,
                // One absence is not confirmed yet.
                Finding::Absent if self.absences >= SETTINGS.confirm.absent => self.sighted = None,
                Finding::Absent | Finding::Failed(_) => {}
            }
            self.state.finish_poll(begun, finding, self.now.moment);
            self.left_alone_until = self.now.moment + self.asked_pause;
            if !self.asked_pause.is_zero() {
                self.state.hold_polls(self.left_alone_until);
            }
        }
    }

    fn take(&mut self, step: Step) {
        self.allowance += 2;
        match step {
            Step::Wait(seconds) => {
                self.allowance -= 2;
                self.run_for(Duration::from_secs(seconds));
            }
            Step::Drift => self.outside = Outside::Fulfils(0),
            Step::Vanish => self.outside = Outside::Absent,
            Step::Fail(failing) => {
                self.allowance -= 2;
                self.failing = failing;
            }
            Step::Edit => {
                let next = self.generation() + 1;
                self.change(|object| object["metadata"]["generation"] = json!(next));
            }
            Step::Correct { effective } => self.correct(effective),
            Step::RemoveCondition => self.set_condition(DRIFT_OBSERVED, None),
            Step::ForgeCondition => {
                let entry =
                    json!({"type": DRIFT_OBSERVED, "status": "True", "reason": "Whim", "message": "[desired x]"});
                self.set_condition(DRIFT_OBSERVED, Some(entry));
            }
            Step::Restart => self.restart(),
            Step::DieWriting { landed } => self.death = Some(landed),
            Step::LoseRace => self.lose_races += 1,
            Step::Slow(slow) => self.slow = slow,
            Step::Answer => self.answer(),
            Step::Bar(rejected) => {
                self.rejected = rejected;
                self.change(|_| ());
            }
            Step::AskToWait(seconds) => self.asked_pause = Duration::from_secs(seconds),
            Step::PauseHost(seconds) => self.host_paused_until = self.now.moment + Duration::from_secs(seconds),
            Step::LoseAnswer => self.lose_answer = true,
            Step::Hint(seconds) => self.state.take_hint_after(Duration::from_secs(seconds), self.now.moment),
            Step::MissHints => self.state.miss_hints(self.now.moment),
            Step::Ask(request) => self.ask(request),
            Step::Delete => {
                self.change(|object| object["metadata"]["deletionTimestamp"] = json!("2026-01-02T00:00:00Z"));
            }
        }
    }

    fn ask(&mut self, request: u8) {
        let annotation = json!({POLL_REQUESTED_ANNOTATION: request.to_string()});
        self.change(|object| object["metadata"]["annotations"] = annotation);
    }

    /// Returns the request that the verdict answers.
    fn polled(&self) -> Option<PollRequest> {
        lean(&self.object).conditions.observed().and_then(|condition| condition.message.tag()?.polled)
    }

    fn restart(&mut self) {
        self.allowance += 6;
        self.under_way = None;
        self.corrected_at = None;
        self.left_alone_until = Moment::START;
        self.state = ObjectState::new(
            lean(&self.object),
            self.rendered(),
            std::sync::Arc::new(SETTINGS),
            Arrival::Listed,
            self.now,
        );
    }

    fn run_for(&mut self, span: Duration) {
        let end = self.now.moment + span;
        loop {
            self.act();
            let wakes = [self.state.poll_due(), self.state.silence_due(), self.write_due()];
            match wakes.into_iter().flatten().min().filter(|wake| *wake <= end) {
                Some(wake) => self.now = self.now.after((wake - self.now.moment).max(Duration::from_millis(1))),
                None => break,
            }
        }
        self.now = self.now.after(end - self.now.moment);
    }

    fn write_due(&mut self) -> Option<Moment> {
        self.state.next_write(self.now.moment).map(|at| at.max(self.now.moment))
    }

    /// Performs the shell's work on a wake-up.
    fn act(&mut self) {
        self.state.notice_silence(self.now.moment);
        if self.state.poll_due().is_some_and(|due| due <= self.now.moment) {
            let settled = self.corrected_at.is_none_or(|moment| self.now.moment >= moment + SETTINGS.settle);
            assert!(settled, "polled before the correction had settled");
            assert!(!self.is_deleting(), "a deleting object is polled");
            assert!(self.now.moment >= self.left_alone_until, "polled although an answer asked to be left alone");
            if self.now.moment < self.host_paused_until {
                let cause = Failure::of(ObservedReason::ExternalUnreachable);
                self.state.postpone_poll(None, self.host_paused_until, cause);
            } else {
                let begun = self.state.begin_poll(self.now);
                self.under_way = Some((begun, self.finding(), self.outside));
            }
        }
        if !self.slow {
            self.answer();
        }
        if let Some(verdict) = self.state.due_verdict(self.now.moment) {
            assert!(!self.is_deleting(), "a deleting object is written");
            let update = self.state.begin_write(self.now.moment, "2026-01-01T00:00:00Z").unwrap();
            if self.lose_races > 0 {
                self.lose_races -= 1;
                self.state.finish_write(&WriteOutcome::Moved, self.now.moment);
                return;
            }
            self.hold_against_the_world(&verdict);
            let death = self.death.take();
            if death == Some(false) {
                return self.restart();
            }
            let patch = update.patch;
            if std::mem::take(&mut self.lose_answer) {
                self.state.finish_write(&WriteOutcome::Unavailable, self.now.moment);
                self.change(|object| json_patch::patch(object, &patch).unwrap());
                self.writes += 1;
                return;
            }
            self.change(|object| json_patch::patch(object, &patch).unwrap());
            self.writes += 1;
            if death == Some(true) {
                return self.restart();
            }
            let written = self.state.finish_write(&WriteOutcome::Written, self.now.moment);
            self.announced.extend(written.and_then(|sent| sent.announcement));
        }
    }

    /// A failed poll is not drift: the written verdict must match the last complete poll of this very state.
    fn hold_against_the_world(&self, verdict: &Verdict) {
        assert_eq!(verdict.generation, Some(self.generation()), "a verdict of another spec");
        let fulfilled = self.looked_at == Outside::Fulfils(self.generation());
        match verdict.status() {
            ConditionStatus::True => {
                assert!(!fulfilled, "drift where none was seen");
                assert_eq!(verdict.tag.correction, self.correction(), "drift bound to another correction");
            }
            ConditionStatus::False => {
                assert_eq!(self.sighted, Some(self.generation()), "in sync where it was not seen");
            }
            ConditionStatus::Unknown => {}
        }
    }

    fn rendered(&self) -> Rendered {
        let rejected = self.rejected.then(|| Failure::of(ObservedReason::Suspended));
        Rendered { rejected: rejected.map(Box::new), ..rendered(&self.object) }
    }

    fn is_deleting(&self) -> bool {
        self.object["metadata"]["deletionTimestamp"].is_string()
    }

    fn is_drifted(&self) -> bool {
        self.outside != Outside::Fulfils(self.generation())
    }

    fn reason(&self) -> Option<String> {
        lean(&self.object).conditions.observed().map(|condition| condition.reason.clone().to_string())
    }

    /// Runs the polls that are due within this span, so that the next span contains none without a cause.
    fn pass_regular_poll(&mut self, span: Duration) {
        while let Some(due) = self.state.poll_due().filter(|due| *due < self.now.moment + span) {
            self.run_for(due - self.now.moment + Duration::from_millis(1));
        }
    }

    /// Returns the number of consecutive verified corrections that left the object drifted, from the verdict.
    fn unhealed(&self) -> Option<u32> {
        lean(&self.object).conditions.observed().and_then(CurrentVerdict::read).map(|current| current.tag.unhealed)
    }

    fn status(&self) -> Option<ConditionStatus> {
        lean(&self.object).conditions.observed().map(|condition| condition.status)
    }
}

fn lean(object: &Value) -> LeanObject {
    LeanObject::prune(object, &FieldPaths::default())
}

fn rendered(object: &Value) -> Rendered {
    let desired_hash = DesiredHash::of(&object["metadata"]["generation"]);
    Rendered { desired_hash: Some(desired_hash), identity: Some("x".into()), rejected: None }
}

fn start(object: &Value, now: Now, arrival: Arrival) -> ObjectState {
    ObjectState::new(lean(object), rendered(object), std::sync::Arc::new(SETTINGS), arrival, now)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 600, ..ProptestConfig::default() })]

    #[test]
    fn no_history_writes_a_wrong_word_or_too_many(history in steps()) {
        let mut world = World::new();
        for step in &history {
            world.take(*step);
            world.run_for(Duration::from_millis(1));
        }
        let minutes = u32::try_from(world.now.moment.since_start().as_secs() / 60).unwrap();
        let most = world.allowance + 6 + minutes;
        prop_assert!(world.writes <= most, "{} writes where {most} are allowed", world.writes);
    }

    #[test]
    fn hints_hide_no_war_from_the_count(
        rounds in proptest::collection::vec((0..900_u64, 0..1_900_u64, any::<bool>(), any::<bool>()), 1..8),
    ) {
        let mut world = World::new();
        world.run_for(INTERVAL);
        prop_assert_eq!(world.status(), Some(ConditionStatus::True));
        for (noted_after, undone_after, hinted_before, missed) in &rounds {
            world.pass_regular_poll(Duration::from_secs(5));
            world.outside = Outside::Fulfils(world.generation());
            if *hinted_before {
                world.state.take_hint(world.now.moment);
            }
            if *missed {
                world.state.miss_hints(world.now.moment);
            }
            world.run_for(Duration::from_millis(*noted_after));
            world.correct(true);
            world.state.take_hint(world.now.moment);
            world.run_for(Duration::from_millis(*undone_after));
            world.outside = Outside::Fulfils(0);
            world.state.take_hint(world.now.moment);
            world.run_for(SETTINGS.settle);
        }
        prop_assert_eq!(world.unhealed(), u32::try_from(rounds.len()).ok());
    }

    #[test]
    fn once_faults_stop_the_truth_stands_and_all_goes_quiet(history in steps()) {
        let mut world = World::new();
        for step in &history {
            world.take(*step);
            world.run_for(Duration::from_millis(1));
        }
        world.failing = false;
        world.slow = false;
        world.asked_pause = Duration::ZERO;
        world.take(Step::Bar(false));
        world.lose_races = 0;
        world.run_for(INTERVAL * 6);
        let expected = if world.is_drifted() { ConditionStatus::True } else { ConditionStatus::False };
        if !world.is_deleting() {
            prop_assert_eq!(world.status(), Some(expected));
            prop_assert!(lean(&world.object).is_poll_answered(), "a requested poll is not answered");
        }
        let before = world.writes;
        world.run_for(INTERVAL * 50);
        prop_assert_eq!(world.writes, before, "a steady state costs no write");
    }
}

#[test]
fn a_host_that_flaps_over_sixty_polls_costs_few_writes() {
    let mut world = World::new();
    world.outside = Outside::Fulfils(1);
    world.run_for(INTERVAL * 2);
    assert_eq!((world.status(), world.writes), (Some(ConditionStatus::False), 1));
    for poll in 0..60 {
        world.failing = poll % 5 != 4;
        world.run_for(INTERVAL);
    }
    assert!(world.writes <= 1 + 6 + 30, "{} writes in half an hour of flapping", world.writes);
}

#[test]
fn an_absence_is_believed_after_a_second_poll() {
    for uid in ["a", "b", "c", "d"] {
        let object = json!({"metadata": {"uid": uid, "name": "n", "resourceVersion": "1", "generation": 1}});
        let mut world = World::new();
        world.state = start(&object, world.now, Arrival::Later);
        world.object = object;
        world.run_for(Duration::from_millis(1100));
        assert_eq!((world.status(), world.writes), (Some(ConditionStatus::True), 1), "{uid}");
        world.correct(true);
        world.run_for(Duration::from_secs(4));
        assert_eq!((world.status(), world.writes), (Some(ConditionStatus::False), 2), "{uid}");
    }
}

#[test]
fn a_writer_who_takes_our_condition_slows_us_down() {
    for step in [Step::RemoveCondition, Step::ForgeCondition] {
        let mut world = World::new();
        world.outside = Outside::Fulfils(1);
        world.run_for(INTERVAL * 2);
        for _ in 0..60 {
            world.take(step);
            world.run_for(INTERVAL);
        }
        assert!(world.writes <= 1 + 6 + 30, "{} writes in half an hour of {step:?}", world.writes);
        world.run_for(INTERVAL * 4);
        assert_eq!(world.status(), Some(ConditionStatus::False), "put right by a poll");
    }
}

#[test]
fn a_removed_verdict_is_back_before_the_next_poll() {
    for (outside, status) in [
        (Outside::Fulfils(1), ConditionStatus::False),
        (Outside::Fulfils(0), ConditionStatus::True),
        (Outside::Absent, ConditionStatus::True),
    ] {
        let mut world = World::new();
        world.outside = outside;
        world.run_for(INTERVAL * 2 + INTERVAL / 2);
        let regular = world.state.poll_due().unwrap();
        assert!(regular > world.now.moment + Duration::from_secs(3), "the test proves nothing");
        world.take(Step::RemoveCondition);
        world.run_for(Duration::from_secs(2));
        assert_eq!(world.status(), Some(status), "{outside:?}");
    }
}

#[test]
fn a_late_word_is_not_written_over_a_newer() {
    use Step::{Correct, LoseRace, Restart, Slow, Vanish, Wait};
    let mut world = World::new();
    // Found by chance: the next regular poll begins between a lost race and its repetition.
    let history = [
        [Wait(36), Wait(20), Wait(28), Wait(31), Slow(true), Wait(65), Wait(30), LoseRace],
        [
            Correct { effective: false },
            Wait(82),
            Restart,
            Correct { effective: true },
            Wait(10),
            Vanish,
            Slow(false),
            Wait(60),
        ],
    ];
    for step in history.concat() {
        // The world checks every write against the last read.
        world.take(step);
        world.run_for(Duration::from_millis(1));
    }
    assert_eq!(world.status(), Some(ConditionStatus::True));
}

#[test]
fn polls_that_never_end_make_an_object_unknown() {
    let mut world = World::new();
    world.outside = Outside::Fulfils(1);
    world.run_for(INTERVAL);
    world.slow = true;
    world.run_for(INTERVAL * (SILENT_INTERVALS - 1));
    assert_eq!(world.status(), Some(ConditionStatus::False));
    world.run_for(INTERVAL * 2);
    let reason = lean(&world.object).conditions.observed().map(|condition| condition.reason.clone());
    assert_eq!(reason.as_deref(), Some("NotYetPolled"));
    let writes = world.writes;
    world.run_for(INTERVAL * 50);
    assert_eq!(world.writes, writes, "and stays so without a write");
}

#[test]
fn a_verdict_that_lost_its_race_is_judged_anew() {
    let mut world = World::new();
    let history = [
        Step::LoseRace,
        Step::Slow(true),
        Step::Correct { effective: true },
        Step::Wait(32),
        Step::Vanish,
        Step::Slow(false),
    ];
    for step in history {
        world.take(step);
        world.run_for(Duration::from_millis(1));
    }
    world.run_for(INTERVAL * 6);
    assert_eq!(world.status(), Some(ConditionStatus::True));
}

#[test]
fn an_object_freed_again_gets_its_true_verdict() {
    let mut world = World::new();
    world.outside = Outside::Fulfils(1);
    world.take(Step::Bar(true));
    world.run_for(INTERVAL * (SILENT_INTERVALS + 1));
    assert_eq!((world.status(), world.writes), (Some(ConditionStatus::Unknown), 1));
    world.slow = true;
    world.take(Step::Bar(false));
    world.run_for(Duration::from_secs(5));
    assert_eq!(world.writes, 1, "something is written before its poll has ended");
    world.take(Step::Slow(false));
    world.run_for(Duration::from_secs(1));
    assert_eq!((world.status(), world.writes), (Some(ConditionStatus::False), 2));
}

#[test]
fn a_write_whose_answer_was_lost_is_our_own() {
    let mut world = World::new();
    world.outside = Outside::Fulfils(0);
    world.take(Step::LoseAnswer);
    world.run_for(Duration::from_millis(1));
    assert_eq!((world.status(), world.writes), (Some(ConditionStatus::True), 1));
    assert!(world.state.owes_verdict(world.now.moment).is_none(), "it is taken for somebody else's");
    assert!(!world.state.wants_prompt_poll(), "it is polled to put right what nobody did");
}

#[test]
fn an_outage_does_not_hide_that_drift_was_cleared() {
    let mut world = World::new();
    world.outside = Outside::Fulfils(1);
    world.run_for(INTERVAL);
    world.take(Step::Drift);
    world.run_for(INTERVAL);
    world.take(Step::Fail(true));
    world.run_for(INTERVAL);
    assert_eq!(world.status(), Some(ConditionStatus::Unknown));
    world.failing = false;
    world.outside = Outside::Fulfils(1);
    world.run_for(INTERVAL);
    assert_eq!(world.status(), Some(ConditionStatus::False));
    assert_eq!(world.announced, [Announcement::DriftObserved, Announcement::DriftCleared]);
}

#[test]
fn an_object_told_to_wait_is_polled_afterwards() {
    let mut world = World::new();
    world.outside = Outside::Fulfils(1);
    world.run_for(INTERVAL);
    world.take(Step::AskToWait(100));
    world.run_for(INTERVAL * (SILENT_INTERVALS + 1));
    assert_eq!(world.reason().as_deref(), Some("RateLimited"));
    world.asked_pause = Duration::ZERO;
    world.run_for(Duration::from_secs(100));
    assert_eq!(world.status(), Some(ConditionStatus::False));
}

#[test]
fn a_paused_poll_is_late_and_not_failed() {
    let mut world = World::new();
    world.outside = Outside::Fulfils(1);
    world.run_for(INTERVAL);
    world.take(Step::PauseHost(2 * INTERVAL.as_secs()));
    world.run_for(INTERVAL * (SILENT_INTERVALS - 1));
    assert_eq!((world.status(), world.writes), (Some(ConditionStatus::False), 1));
    world.take(Step::PauseHost(6 * INTERVAL.as_secs()));
    world.run_for(INTERVAL * (SILENT_INTERVALS + 1));
    assert_eq!(world.reason().as_deref(), Some("ExternalUnreachable"), "with the cause of the pause");
}

#[test]
fn a_pause_keeps_the_count_of_failed_polls() {
    let mut world = World::new();
    world.outside = Outside::Fulfils(1);
    world.run_for(INTERVAL * 2);
    world.failing = true;
    let regular = world.state.poll_due().unwrap();
    world.run_for(regular - world.now.moment);
    world.act();
    let due = world.state.poll_due().unwrap();
    world.run_for(due - world.now.moment);
    world.act();
    assert_eq!(world.status(), Some(ConditionStatus::False), "two failed polls");
    world.take(Step::PauseHost(20));
    world.run_for(Duration::from_secs(21));
    assert_eq!(world.reason().as_deref(), Some("PollTimedOut"), "the third after the pause");
}

#[test]
fn a_requested_poll_is_answered_by_one_write() {
    let mut world = World::new();
    world.outside = Outside::Fulfils(1);
    world.run_for(INTERVAL * 2);
    for request in 1..=3 {
        let regular = world.state.poll_due().unwrap();
        world.ask(request);
        let due = world.state.poll_due().unwrap();
        assert!(due < regular, "no prompt poll");
        world.run_for(due - world.now.moment);
        world.run_for(Duration::from_millis(1));
        assert_eq!(world.polled(), Some(PollRequest::of(&request.to_string())));
        world.run_for(INTERVAL * 10);
        assert_eq!(world.writes, 1 + u32::from(request), "one write for each request");
    }
    world.take(Step::Restart);
    world.run_for(INTERVAL * 10);
    assert_eq!(world.writes, 4, "a restarted poller answers again");
    world.change(|object| object["metadata"]["annotations"] = json!({}));
    world.run_for(INTERVAL * 10);
    assert_eq!(world.writes, 4, "a removed request is answered");
}

#[test]
fn a_poll_from_before_the_request_is_no_answer() {
    let mut world = World::new();
    world.outside = Outside::Fulfils(1);
    world.run_for(INTERVAL);
    world.slow = true;
    world.run_for(INTERVAL);
    assert!(world.under_way.is_some(), "the test proves nothing");
    world.ask(1);
    world.answer();
    world.act();
    assert_eq!(world.polled(), None, "it began before");
    world.take(Step::Slow(false));
    world.run_for(Duration::from_secs(2));
    assert_eq!(world.polled(), Some(PollRequest::of("1")));
}

#[test]
fn a_request_from_before_the_start_is_polled_promptly() {
    let mut world = World::new();
    world.outside = Outside::Fulfils(1);
    world.run_for(INTERVAL);
    // No regular poll can have been missed this shortly before the next one.
    world.pass_regular_poll(INTERVAL - Duration::from_secs(5));
    world.run_for(INTERVAL - Duration::from_secs(5));
    world.restart();
    assert!(!world.state.wants_prompt_poll(), "the test proves nothing");
    world.object["metadata"]["annotations"] = json!({POLL_REQUESTED_ANNOTATION: "1"});
    world.restart();
    assert!(world.state.wants_prompt_poll());
    world.run_for(Duration::from_secs(1));
    assert_eq!(world.polled(), Some(PollRequest::of("1")));
    world.restart();
    assert!(!world.state.wants_prompt_poll(), "it is answered");
}

#[test]
fn an_object_that_is_not_polled_answers_at_once() {
    let mut world = World::new();
    world.take(Step::Bar(true));
    world.run_for(Duration::from_secs(1));
    world.ask(1);
    world.run_for(Duration::from_millis(1));
    assert_eq!((world.reason().as_deref(), world.polled()), (Some("Suspended"), Some(PollRequest::of("1"))));
}

#[test]
fn silence_answers_no_request() {
    let mut world = World::new();
    world.outside = Outside::Fulfils(1);
    world.run_for(INTERVAL);
    world.take(Step::Slow(true));
    world.ask(1);
    world.run_for(INTERVAL * (SILENT_INTERVALS + 1));
    assert_eq!((world.reason().as_deref(), world.polled()), (Some("NotYetPolled"), None));
}
