//! The holds of all targets on the controller's Lease, for `kubectl drift`, and for the next controller: a breaker that is
//! open stays open when another process takes over.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use drift_api::held_corrections::{BreakerCounts, HeldCorrections, ObjectHold, TargetHold, TargetHolds};
use drift_api::names::{HELD_CORRECTIONS_ANNOTATION, SELECTIONS_ANNOTATION};
use drift_api::timing::moment::Moment;
use drift_kube::cleanup::KnownTargets;
use drift_kube::lease::LeaseHandle;
use drift_kube::process::clock;
use drift_kube::{Configuration, KindName, NotedSelections, Selection, Selections};
use drift_language::{Target, TargetState};
use jiff::Timestamp;
use tokio::sync::watch;

use crate::engine::objects::held_objects::TargetHeld;

/// Shortest time between two changes of the Lease. A change after a quiet time is written at once.
const PAUSE: Duration = Duration::from_secs(5);

/// Shortest time before a change of single objects, times or counts alone. While many corrections fail, these change with each
/// try. 30 s is short beside the hour to which the delay of an object grows.
const LONG_PAUSE: Duration = Duration::from_secs(30);

/// The holds of one target by their source.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct BySource {
    kind_unusable: bool,
    rights_missing: bool,
    /// The state of the target, if it holds corrections.
    state: Option<TargetHold>,
    engine: TargetHolds,
    /// The open breaker of an earlier term, until the target's engine reports.
    found: Option<FoundBreaker>,
}

/// The open breaker of an earlier term.
#[derive(Clone, Debug, PartialEq, Eq)]
struct FoundBreaker {
    counts: BreakerCounts,
    /// The kinds of the target's objects in that term, as the Lease notes them.
    kinds: BTreeSet<KindName>,
}

impl BySource {
    /// Returns what outlives the work on the target: its open breaker.
    fn left(self) -> Option<Self> {
        let is_open = |hold: &TargetHold| matches!(hold, TargetHold::BreakerOpen(_));
        let whole: BTreeSet<_> = self.engine.whole.into_iter().filter(is_open).collect();
        let left =
            Self { found: self.found, engine: TargetHolds { whole, ..TargetHolds::default() }, ..Self::default() };
        (left != Self::default()).then_some(left)
    }

    fn together(&self) -> TargetHolds {
        let mut holds = self.engine.clone();
        holds.whole.extend(self.found.as_ref().map(|found| TargetHold::BreakerOpen(found.counts)));
        holds.whole.extend(self.kind_unusable.then_some(TargetHold::KindUnusable));
        holds.whole.extend(self.state);
        holds.whole.extend(self.rights_missing.then_some(TargetHold::RightsMissing));
        holds
    }
}

/// The holds of the targets at work. Clones share them.
#[derive(Clone, Debug, Default)]
pub struct PublishedHolds {
    by_target: watch::Sender<BTreeMap<String, BySource>>,
}

impl PublishedHolds {
    /// Begins a term. The breakers that this process and the last holder of the Lease left open stay published until their
    /// targets report. This process may have lost the Lease before it could write there.
    #[must_use]
    pub fn next_term(&self, annotations: &BTreeMap<String, String>) -> Self {
        let text = annotations.get(HELD_CORRECTIONS_ANNOTATION).map(String::as_str).unwrap_or_default();
        let on_lease = HeldCorrections::parse(text).targets;
        let noted = annotations.get(SELECTIONS_ANNOTATION).map(|text| Selections::parse(text).0).unwrap_or_default();
        self.by_target.send_modify(|all| {
            let own = std::mem::take(all).into_iter().map(|(target, holds)| (target, holds.together()));
            let found = |(target, holds): (String, TargetHolds)| {
                let of_target = noted.iter().map(|(selection, _)| selection).filter(|noted| noted.target == target);
                let kinds = of_target.map(Selection::kind_name).collect();
                let found = Some(FoundBreaker { counts: holds.open_breaker()?, kinds });
                Some((target, BySource { found, ..BySource::default() }))
            };
            *all = own.chain(on_lease).filter_map(found).collect();
        });
        self.clone()
    }

    /// Returns the breaker that an earlier term left open for this target. `None` once the target's engine reported, and
    /// if the target had objects of other kinds then.
    #[must_use]
    pub fn left_open(&self, target: &Target) -> Option<BreakerCounts> {
        let all = self.by_target.borrow();
        let FoundBreaker { counts, kinds } = all.get(&target.name)?.found.as_ref()?;
        let is_of_kind = kinds.is_empty() || kinds.iter().any(|kind| kind.is_of(&target.objects));
        is_of_kind.then_some(*counts)
    }

    /// Drops the breakers that earlier terms left open for targets that were removed meanwhile. Runs until the future is
    /// dropped.
    pub async fn follow(&self, mut configuration: watch::Receiver<Arc<Configuration>>, notes: NotedSelections) {
        loop {
            let now = configuration.borrow_and_update().clone();
            notes.read(|notes| self.forget_removed(&now, notes));
            if configuration.changed().await.is_err() {
                return;
            }
        }
    }

    /// A missing target keeps its breaker: its ConfigMap may be restored.
    fn forget_removed(&self, configuration: &Configuration, notes: &Selections) {
        if !configuration.loaded {
            return;
        }
        let missing = KnownTargets::new(notes, configuration).missing();
        let is_kept = |target: &String| configuration.targets.contains_key(target) || missing.contains_key(target);
        self.by_target.send_if_modified(|all| {
            let before = all.len();
            all.retain(|target, holds| holds.found.is_none() || is_kept(target));
            all.len() < before
        });
    }

    /// Drops the holds of a target that was removed.
    pub fn forget(&self, target: &str) {
        self.by_target.send_if_modified(|all| all.remove(target).is_some());
    }

    /// Replaces the holds that the target's engine reports.
    pub fn set_held(&self, target: &str, held: &TargetHeld) {
        let engine = holds_of(held, (clock::now(), clock::wall()));
        self.change(target, |holds| (holds.engine, holds.found) = (engine, None));
    }

    /// Sets or clears that the target's kind cannot be used.
    pub fn set_kind_unusable(&self, target: &str, unusable: bool) {
        self.change(target, |holds| holds.kind_unusable = unusable);
    }

    /// Sets the state of the target by its ConfigMaps.
    pub fn set_state(&self, target: &str, state: TargetState) {
        self.change(target, |holds| {
            holds.state = match state {
                TargetState::Former => Some(TargetHold::TargetFormer),
                TargetState::Taken => Some(TargetHold::TargetTaken),
                TargetState::Live | TargetState::Missing | TargetState::Forgotten => None,
            }
        });
    }

    /// Sets or clears that the controller lacks rights of the target.
    pub fn set_rights_missing(&self, target: &str, missing: bool) {
        self.change(target, |holds| holds.rights_missing = missing);
    }

    /// Keeps the target's holds until the guard is dropped, which a panic does too.
    pub fn begin(&self, target: &str) -> HoldsGuard {
        HoldsGuard { holds: self.clone(), target: target.to_owned() }
    }

    /// Writes the holds onto the Lease whenever they change. Only open breakers are left when this is dropped.
    pub async fn keep(&self, lease: &LeaseHandle) {
        let (sender, list) = watch::channel(together(&self.by_target.borrow()));
        let annotations = |held: &HeldCorrections| {
            // An empty list is also the one of a term that ends.
            let text = if held.targets.is_empty() { self.left().to_annotation() } else { held.to_annotation() };
            BTreeMap::from([(HELD_CORRECTIONS_ANNOTATION.to_owned(), text)])
        };
        tokio::select! {
            () = lease.keep_list(list, annotations) => {}
            () = self.pass_on(&sender) => {}
        }
    }

    async fn pass_on(&self, sender: &watch::Sender<HeldCorrections>) {
        let mut changes = self.by_target.subscribe();
        loop {
            let held = together(&changes.borrow_and_update());
            let shown = reasons(&held);
            sender.send_if_modified(|before| {
                let changed = *before != held;
                *before = held;
                changed
            });
            tokio::time::sleep(PAUSE).await;
            let mut minor = changes.clone();
            let minor = async {
                tokio::time::sleep(LONG_PAUSE - PAUSE).await;
                minor.changed().await.is_ok()
            };
            let other_reasons = |all: &BTreeMap<String, BySource>| reasons(&together(all)) != shown;
            let goes_on = tokio::select! {
                changed = async { changes.wait_for(other_reasons).await.is_ok() } => changed,
                changed = minor => changed,
            };
            if !goes_on {
                return;
            }
        }
    }

    /// Returns what outlives the term.
    fn left(&self) -> HeldCorrections {
        let all = self.by_target.borrow();
        together(&all.iter().filter_map(|(target, holds)| Some((target.clone(), holds.clone().left()?))).collect())
    }

    fn change(&self, target: &str, change: impl FnOnce(&mut BySource)) {
        self.by_target.send_if_modified(|all| {
            let holds = all.entry(target.to_owned()).or_default();
            let before = holds.clone();
            change(holds);
            *holds != before
        });
    }
}

/// Removes the holds of a target whose work ended, except for its open breaker.
#[must_use]
pub struct HoldsGuard {
    holds: PublishedHolds,
    target: String,
}

impl Drop for HoldsGuard {
    fn drop(&mut self) {
        self.holds.by_target.send_if_modified(|all| {
            let Some(holds) = all.remove(&self.target) else { return false };
            all.extend(holds.left().map(|left| (self.target.clone(), left)));
            true
        });
    }
}

/// The words of each target. Another word is news for people, another number or object is not.
fn reasons(held: &HeldCorrections) -> BTreeSet<(String, &'static str)> {
    let words = |(target, holds): (&String, &TargetHolds)| {
        let whole = holds.whole.iter().map(|hold| hold.as_str());
        let words: Vec<_> = whole.chain(holds.objects.iter().map(|(_, hold)| hold.why.as_str())).collect();
        let target = target.clone();
        words.into_iter().map(move |word| (target.clone(), word))
    };
    held.targets.iter().flat_map(words).collect()
}

fn together(all: &BTreeMap<String, BySource>) -> HeldCorrections {
    let targets = all.iter().map(|(target, holds)| (target.clone(), holds.together()));
    HeldCorrections { targets: targets.filter(|(_, holds)| !holds.is_empty()).collect(), left_out: 0 }
}

fn holds_of(held: &TargetHeld, (now, wall): (Moment, Timestamp)) -> TargetHolds {
    // One second more than the whole seconds: the try is not announced before its time.
    let at = |until: Moment| {
        let until = wall.checked_add(until.saturating_since(now)).ok()?;
        Timestamp::from_second(until.as_second().saturating_add(1)).ok()
    };
    let breaker = held.breaker.map(TargetHold::BreakerOpen);
    let limited = (held.limited > 0).then_some(TargetHold::Limited { waiting: held.limited });
    let objects = held.objects.iter().map(|(uid, why, until)| {
        let until = until.and_then(at);
        (uid.clone(), ObjectHold { why: *why, until })
    });
    TargetHolds {
        whole: breaker.into_iter().chain(limited).collect(),
        objects: objects.collect(),
        left_out: held.left_out,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use drift_api::held_corrections::Held;

    fn open_with(drifted: usize) -> TargetHeld {
        TargetHeld { breaker: Some(BreakerCounts { drifted, judged: 29, limit: 20 }), ..TargetHeld::default() }
    }

    fn open() -> TargetHeld {
        open_with(15)
    }

    /// The target `flags` for objects of this kind.
    fn target(kind: &str) -> Arc<Target> {
        let text = format!(
            r#"
apiVersion: driftpoller.dev/v1alpha1
kind: PollTarget
metadata: {{name: flags}}
spec:
  objects: {{apiVersion: demo.example/v1, kind: {kind}}}
  identity: "${{self.metadata.name}}"
  read: {{http: {{url: "https://h.example/x"}}}}
  compare: {{desired: {{login: "${{self.spec.login}}"}}}}
"#
        );
        Arc::new(drift_language::fixtures::target(&text))
    }

    fn words(held: &HeldCorrections) -> Vec<String> {
        held.targets.values().flat_map(|holds| &holds.whole).map(ToString::to_string).collect()
    }

    #[test]
    fn each_source_clears_its_own_holds() {
        let holds = PublishedHolds::default();
        let seen = || words(&together(&holds.by_target.borrow()));
        holds.set_rights_missing("flags", true);
        holds.set_kind_unusable("flags", true);
        holds.set_held("flags", &TargetHeld { limited: 3, ..open() });
        assert_eq!(seen(), ["KindUnusable", "BreakerOpen 15/29 20%", "Limited 3", "RightsMissing"]);
        holds.set_held("flags", &TargetHeld::default());
        holds.set_kind_unusable("flags", false);
        assert_eq!(seen(), ["RightsMissing"]);
        holds.set_rights_missing("flags", false);
        assert!(together(&holds.by_target.borrow()).targets.is_empty());
    }

    #[tokio::test]
    async fn holds_end_with_the_task_of_their_target() {
        let holds = PublishedHolds::default();
        for panics in [false, true] {
            let (guard, of_task) = (holds.begin("flags"), holds.clone());
            let mut tasks = tokio::task::JoinSet::new();
            tasks.spawn(async move {
                let _guard = guard;
                of_task.set_held("flags", &TargetHeld { limited: 3, ..TargetHeld::default() });
                of_task.set_kind_unusable("flags", true);
                assert!(!panics, "a panic of the task");
            });
            assert_eq!(tasks.join_next().await.is_some_and(|ended| ended.is_err()), panics);
            assert!(holds.by_target.borrow().is_empty(), "panics: {panics}");
        }
    }

    #[test]
    fn an_open_breaker_outlives_its_target_and_its_term() {
        let holds = PublishedHolds::default();
        let guard = holds.begin("flags");
        holds.set_held("flags", &TargetHeld { limited: 3, ..open() });
        holds.set_rights_missing("flags", true);
        drop(guard);
        assert_eq!(words(&together(&holds.by_target.borrow())), ["BreakerOpen 15/29 20%"]);
        assert_eq!(holds.left_open(&target("Flag")), None, "the handover within the term knows more");
        let on_lease = BTreeMap::from([(HELD_CORRECTIONS_ANNOTATION.to_owned(), holds.left().to_annotation())]);
        let next = PublishedHolds::default().next_term(&on_lease);
        let _guard = next.begin("flags");
        next.set_rights_missing("flags", true);
        assert_eq!(next.left_open(&target("Flag")), open().breaker);
        assert_eq!(next.left(), holds.left(), "a crash before the first report loses nothing");
        next.set_held("flags", &TargetHeld::default());
        assert_eq!(next.left_open(&target("Flag")), None);
        assert_eq!(next.left(), HeldCorrections::default(), "it closed");
        let again = holds.next_term(&BTreeMap::new());
        assert_eq!(again.left_open(&target("Flag")), open().breaker, "the Lease was lost before it was written");
        holds.forget("flags");
        assert_eq!(holds.left(), HeldCorrections::default());
    }

    #[test]
    fn a_breaker_left_open_ends_with_its_target() {
        let open = HeldCorrections {
            targets: [("flags".to_owned(), holds_of(&open(), (clock::now(), clock::wall())))].into(),
            left_out: 0,
        };
        let selections = r#"[{"configMap": "c", "target": "flags", "apiVersion": "demo.example/v1", "kind": "Flag"}]"#;
        let notes = Selections::parse(selections).0;
        let on_lease = BTreeMap::from([
            (HELD_CORRECTIONS_ANNOTATION.to_owned(), open.to_annotation()),
            (SELECTIONS_ANNOTATION.to_owned(), selections.to_owned()),
        ]);
        let (flag, role) = (target("Flag"), target("Role"));
        // The active target, if its ConfigMap is whole and read, and if the breaker stays on the Lease and is taken over.
        for (active, is_whole, loaded, stays, taken) in [
            (None, false, false, true, true),
            (Some(&flag), true, true, true, true),
            (Some(&role), true, true, true, false),
            (None, false, true, true, true),
            (None, true, true, false, false),
        ] {
            let mut configuration = Configuration { loaded, ..Configuration::default() };
            configuration.targets.extend(active.map(|target| (target.name.clone(), target.clone())));
            configuration.whole.extend(is_whole.then(|| "c".to_owned()));
            let holds = PublishedHolds::default().next_term(&on_lease);
            holds.forget_removed(&configuration, &notes);
            assert_eq!(!holds.left().targets.is_empty(), stays, "{active:?} {is_whole} {loaded}");
            assert_eq!(holds.left_open(active.unwrap_or(&flag)).is_some(), taken, "{active:?} {is_whole} {loaded}");
        }
    }

    #[test]
    fn times_are_whole_seconds_and_not_early() {
        let now = Moment::from_start(Duration::from_secs(100));
        let until = Some(now + Duration::from_millis(1_500));
        let held = TargetHeld { objects: vec![("u".into(), Held::Delayed, until)], ..TargetHeld::default() };
        for (wall, expected) in [("00:00:00Z", "00:00:02Z"), ("00:00:00.7Z", "00:00:03Z")] {
            let wall = format!("2026-01-01T{wall}").parse().unwrap();
            let text = holds_of(&held, (now, wall)).objects[0].1.to_string();
            assert_eq!(text, format!("Delayed until 2026-01-01T{expected}"));
        }
    }

    #[tokio::test(start_paused = true)]
    async fn failing_corrections_change_the_list_rarely() {
        let holds = PublishedHolds::default();
        let (sender, mut list) = watch::channel(HeldCorrections::default());
        let failing = async {
            for second in 0..600 {
                let until = Some(clock::now() + Duration::from_secs(60));
                let uid = format!("u{}", second % 50);
                let objects = vec![(uid.as_str().into(), Held::Delayed, until)];
                holds.set_held("flags", &TargetHeld { objects, ..TargetHeld::default() });
                tokio::time::sleep(Duration::from_secs(1)).await;
            }
        };
        let mut written = 0;
        tokio::select! {
            () = failing => {}
            () = holds.pass_on(&sender) => {}
            never = async { loop { list.changed().await.unwrap(); written += 1; } } => never,
        }
        assert!((15..=22).contains(&written), "{written} changes in 600 s");
    }

    #[tokio::test(start_paused = true)]
    async fn changes_come_at_once_and_then_every_pause() {
        let holds = PublishedHolds::default();
        let (sender, mut list) = watch::channel(HeldCorrections::default());
        let checking = async {
            tokio::time::sleep(2 * PAUSE).await;
            let begun = clock::now();
            holds.set_held("flags", &open());
            list.changed().await.unwrap();
            assert_eq!(
                (clock::now() - begun, words(&list.borrow_and_update())),
                (Duration::ZERO, vec!["BreakerOpen 15/29 20%".to_owned()])
            );
            for drifted in 16..18 {
                holds.set_held("flags", &open_with(drifted));
                tokio::task::yield_now().await;
            }
            list.changed().await.unwrap();
            assert_eq!(
                (clock::now() - begun, words(&list.borrow_and_update())),
                (LONG_PAUSE, vec!["BreakerOpen 17/29 20%".to_owned()]),
                "another count"
            );
            holds.set_held("flags", &open_with(17));
            assert!(tokio::time::timeout(10 * PAUSE, list.changed()).await.is_err(), "the same is no change");
            holds.set_held("flags", &TargetHeld { limited: 1, ..TargetHeld::default() });
            list.changed().await.unwrap();
            let begun = clock::now();
            holds.set_held("flags", &open());
            list.changed().await.unwrap();
            assert_eq!(clock::now() - begun, PAUSE, "another word");
        };
        tokio::select! {
            () = holds.pass_on(&sender) => {}
            () = checking => {}
        }
    }
}
