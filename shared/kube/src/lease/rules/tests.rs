use super::*;
use proptest::prelude::*;

fn record(holder: Option<&str>) -> LeaseRecord {
    LeaseRecord { holder: holder.map(str::to_owned), duration_seconds: Some(12), ..LeaseRecord::default() }
}

fn at(seconds: u64) -> Moment {
    Moment::START + Duration::from_secs(seconds)
}

#[test]
fn each_state_has_its_decision() {
    use Decision::{Renew, StepDown, Take, Wait};
    // holder in the record (seen at 100), own renewal began at, now, decision
    let cases = [
        (Some("me"), Some(100), 102, Wait),
        (Some("me"), Some(100), 103, Renew),
        (Some("me"), Some(100), 107, Renew),
        (Some("me"), Some(100), 108, StepDown),
        (Some("me"), Some(100), 5000, StepDown),
        (Some("other"), Some(100), 101, StepDown),
        (None, Some(100), 101, StepDown),
        (Some("other"), None, 100, Wait),
        (Some("other"), None, 111, Wait),
        (Some("other"), None, 112, Take),
        (Some("me"), None, 101, Take),
        (None, None, 100, Take),
    ];
    for (holder, renewed, now, expected) in cases {
        let mut view = LeaseView::default();
        view.observe(Some(record(holder)), at(100));
        let got = decide(&view, "me", renewed.map(at), at(now));
        assert_eq!(got, expected, "{holder:?} {renewed:?} {now}");
    }
}

#[test]
fn a_lease_that_never_was_is_taken_once_read() {
    let mut view = LeaseView::default();
    assert_eq!(decide(&view, "me", None, at(1000)), Decision::Wait);
    view.observe(None, at(1000));
    assert_eq!(decide(&view, "me", None, at(1000)), Decision::Take);
}

#[test]
fn a_removed_lease_expires_as_a_still_record_does() {
    let removed = || {
        let mut view = LeaseView::default();
        view.observe(Some(record(Some("other"))), at(99));
        view.observe(None, at(100));
        view
    };
    let mut view = removed();
    for now in 101..112 {
        view.observe(None, at(now));
        assert_eq!(decide(&view, "me", None, at(now)), Decision::Wait, "{now}");
    }
    assert_eq!(decide(&view, "me", None, at(112)), Decision::Take);

    // Between two distant reads it may have existed.
    let mut view = removed();
    view.observe(None, at(112));
    assert_eq!(decide(&view, "me", None, at(112)), Decision::Wait);
}

#[test]
fn a_holder_writes_a_removed_record_anew_in_time() {
    let mut view = LeaseView::default();
    view.observe(Some(record(Some("me"))), at(100));
    view.observe(None, at(103));
    for (now, expected) in [(102, Decision::Wait), (103, Decision::Renew), (108, Decision::StepDown)] {
        assert_eq!(decide(&view, "me", Some(at(100)), at(now)), expected, "{now}");
    }
}

#[test]
fn any_change_of_the_record_counts_as_life() {
    let base = LeaseRecord { renewed: Some("2999-01-01T00:00:00Z".to_owned()), ..record(Some("other")) };
    let changes: [fn(&mut LeaseRecord); 4] = [
        |record| record.renewed = Some("1970-01-01T00:00:00Z".to_owned()),
        |record| record.transitions += 1,
        |record| record.holder = Some("third".to_owned()),
        |record| _ = record.annotations.insert("a".to_owned(), "b".to_owned()),
    ];
    for change in changes {
        let mut view = LeaseView::default();
        view.observe(Some(base.clone()), at(0));
        let mut later = base.clone();
        change(&mut later);
        view.observe(Some(later), at(11));
        assert_eq!(decide(&view, "me", None, at(22)), Decision::Wait);
        assert_eq!(decide(&view, "me", None, at(23)), Decision::Take);
    }
}

#[test]
fn the_duration_of_the_record_counts_within_bounds() {
    for (seconds, expected) in [(Some(1), 1), (Some(0), 0), (None, 12), (Some(-5), 12), (Some(i32::MAX), 120)] {
        let record = LeaseRecord { duration_seconds: seconds, ..record(Some("other")) };
        assert_eq!(duration_of(Some(&record)), Duration::from_secs(expected), "{seconds:?}");
    }
}

/// One contender. Its clock has its own zero, and its requests may be delayed or lost in either direction.
#[derive(Default)]
struct Contender {
    view: LeaseView,
    version: u64,
    renewed: Option<Moment>,
}

#[derive(Clone, Copy, Debug)]
enum Fate {
    Fine,
    RequestLost,
    AnswerLost,
    Frozen,
    /// The Lease is deleted right before.
    Removed,
}

/// A Lease, the number of its writes, and the time of its creation.
struct Stored {
    record: Option<LeaseRecord>,
    version: u64,
    there_since: u64,
}

impl Stored {
    /// Not if a contender has never seen it, or if one may miss its existence between two deletions.
    fn remove(&mut self, contenders: &[Contender], clock: u64) {
        let long = u128::from(clock - self.there_since) > MOST_BETWEEN_LOOKS.as_millis();
        if self.record.is_some() && long && contenders.iter().all(|it| it.view.was_there) {
            self.record = None;
            self.version += 1;
        }
    }

    fn write(&mut self, record: LeaseRecord, clock: u64) {
        if self.record.is_none() {
            self.there_since = clock;
        }
        self.record = Some(record);
        self.version += 1;
    }
}

fn fates() -> impl Strategy<Value = Vec<(usize, Fate, u64)>> {
    let fate = prop_oneof![
        6 => Just(Fate::Fine),
        1 => Just(Fate::RequestLost),
        1 => Just(Fate::AnswerLost),
        1 => Just(Fate::Frozen),
        1 => Just(Fate::Removed),
    ];
    // Each reads often enough to see a missing Lease for its whole duration, and sometimes misses a lot.
    let pause = prop_oneof![4 => 1..1000_u64, 1 => 1..4000_u64];
    proptest::collection::vec((0..3_usize, fate, pause), 1..400)
}

proptest! {
    #[test]
    fn two_contenders_never_believe_at_once(steps in fates()) {
        let names = ["a", "b", "c"];
        let skew = [0_u64, 1_000_000, 77_777];
        let mut lease = Stored { record: None, version: 1, there_since: 0 };
        let mut contenders: [Contender; 3] = Default::default();
        let mut clock = 0_u64;
        for (turn, (who, fate, pause)) in steps.into_iter().enumerate() {
            clock += pause;
            if matches!(fate, Fate::Removed) {
                lease.remove(&contenders, clock);
            }
            let own = |who: usize| Moment::START + Duration::from_millis(clock + skew[who]);
            let contender = &mut contenders[who];
            let now = own(who);
            if !matches!(fate, Fate::Frozen | Fate::RequestLost) {
                contender.view.observe(lease.record.clone(), now);
                contender.version = lease.version;
            }
            if !matches!(fate, Fate::Frozen) {
                match decide(&contender.view, names[who], contender.renewed, now) {
                    Decision::StepDown => contender.renewed = None,
                    Decision::Take | Decision::Renew
                        if !matches!(fate, Fate::RequestLost) && contender.version == lease.version =>
                    {
                        let renewed = Some(turn.to_string());
                        lease.write(LeaseRecord { renewed, ..record(Some(names[who])) }, clock);
                        if matches!(fate, Fate::Fine | Fate::Removed) {
                            contender.renewed = Some(now);
                            contender.view.observe(lease.record.clone(), now);
                            contender.version = lease.version;
                        }
                    }
                    _ => {}
                }
            }
            let believing = (0..3).filter(|who| contenders[*who].renewed.is_some_and(|at| holds(at, own(*who))));
            prop_assert!(believing.count() <= 1, "at {clock} ms");
        }
    }
}
