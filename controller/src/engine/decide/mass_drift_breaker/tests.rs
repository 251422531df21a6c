use super::*;
use proptest::prelude::*;

fn at(seconds: u64) -> Moment {
    Moment::from_start(Duration::from_secs(seconds))
}

fn uid(number: usize) -> Uid {
    Uid::from(format!("u{number}"))
}

/// Returns a breaker over `all` objects in sync, after the first `drifted` of them drifted.
fn breaker(all: usize, drifted: usize) -> Breaker {
    let mut breaker = Breaker::default();
    for number in 0..all {
        breaker.observe(&uid(number), Stand::Calm, at(0));
    }
    for number in 0..drifted {
        breaker.observe(&uid(number), Stand::Incident, at(1));
    }
    breaker
}

#[test]
fn it_opens_at_ten_or_the_percentage() {
    let opened = |all, drifted| breaker(all, drifted).evaluate(20, at(2)).is_some();
    assert!(!opened(20, 9));
    assert!(opened(20, 10));
    assert!(opened(50, 10));
    assert!(!opened(51, 10));
    assert!(opened(51, 11));
    assert_eq!(breaker(50, 10).evaluate(20, at(2)), Some(Transition::Opened { drifted: 10, judged: 50 }));
}

#[test]
fn drifted_objects_that_are_unknown_now_count_on_both_sides() {
    let mut breaker = breaker(18, 10);
    for number in 0..10 {
        breaker.observe(&uid(number), Stand::Untold, at(2));
    }
    assert_eq!(breaker.clone().evaluate(20, at(3)), Some(Transition::Opened { drifted: 10, judged: 18 }));
    assert_eq!(breaker.clone().evaluate(56, at(3)), None, "10 of 18 are 55.6 %");
    // Unknown objects that did not drift do not change the share.
    for number in 18..100 {
        breaker.observe(&uid(number), Stand::Untold, at(2));
    }
    assert_eq!(breaker.evaluate(20, at(3)), Some(Transition::Opened { drifted: 10, judged: 18 }));
}

#[test]
fn objects_that_healed_still_count_for_ten_minutes() {
    let mut breaker = breaker(20, 9);
    for number in 0..9 {
        breaker.observe(&uid(number), Stand::Calm, at(2));
    }
    breaker.observe(&uid(9), Stand::Incident, at(600));
    assert!(breaker.clone().evaluate(20, at(600)).is_some());
    assert_eq!(breaker.evaluate(20, at(601)), None);
}

#[test]
fn what_was_corrected_before_it_opened_does_not_close_it() {
    let mut breaker = breaker(20, 9);
    assert_eq!(breaker.evaluate(20, at(1)), None);
    for number in 0..9 {
        breaker.let_through(&uid(number));
    }
    for number in 0..5 {
        breaker.observe(&uid(number), Stand::Calm, at(2));
    }
    breaker.observe(&uid(9), Stand::Incident, at(2));
    assert_eq!(breaker.evaluate(20, at(2)), Some(Transition::Opened { drifted: 10, judged: 20 }));
    assert_eq!(breaker.evaluate(20, at(2)), None, "five healed by our hand");
    for number in 5..9 {
        breaker.observe(&uid(number), Stand::Calm, at(3));
        assert_eq!(breaker.evaluate(20, at(3)), None, "in flight when it opened");
    }
    assert!(breaker.holds(&uid(9)));
    breaker.observe(&uid(9), Stand::Calm, at(4));
    assert_eq!(breaker.evaluate(20, at(4)), Some(Transition::Closed), "healed by another hand");
}

#[test]
fn with_nothing_to_hold_it_stays_closed() {
    let mut breaker = breaker(100, 15);
    for number in 0..15 {
        breaker.let_through(&uid(number));
        breaker.observe(&uid(number), Stand::Calm, at(2));
    }
    for number in 30..100 {
        breaker.forget(&uid(number));
    }
    assert_eq!(breaker.evaluate(20, at(3)), None);
    breaker.observe(&uid(20), Stand::Incident, at(4));
    assert!(breaker.evaluate(20, at(4)).is_some());
    assert_eq!(breaker.evaluate(20, at(5)), None);
}

#[test]
fn at_a_hundred_percent_it_never_opens() {
    assert_eq!(breaker(300, 300).evaluate(100, at(2)), None);
    assert!(breaker(300, 297).evaluate(99, at(2)).is_some());
}

proptest! {
    /// Each turn is one drifting object and one immediate reaction: none, a correction, or a healed object.
    #[test]
    fn quick_healing_does_not_keep_it_closed(
        turns in proptest::collection::vec((0..30_usize, 0..4_u8, any::<bool>()), 1..100)
    ) {
        let mut breaker = breaker(30, 0);
        let mut corrected = HashSet::new();
        for (number, come_so_far, told_throughout) in turns {
            let uid = uid(number);
            breaker.observe(&uid, Stand::Incident, at(2));
            breaker.evaluate(20, at(2));
            if come_so_far > 0 && !breaker.holds(&uid) {
                breaker.let_through(&uid);
                corrected.insert(number);
            }
            if !told_throughout {
                breaker.observe(&uid, Stand::Untold, at(2));
                breaker.observe(&uid, Stand::Incident, at(2));
            }
            if come_so_far > 1 && corrected.contains(&number) && !breaker.holds(&uid) {
                breaker.observe(&uid, Stand::Calm, at(2));
            }
            breaker.evaluate(20, at(2));
            prop_assert!(corrected.len() < MIN_OBJECTS, "{} got through", corrected.len());
        }
    }
}

#[test]
fn one_object_that_flaps_is_one_object() {
    let mut breaker = breaker(20, 0);
    for second in 0..100 {
        let stand = if second % 2 == 0 { Stand::Incident } else { Stand::Calm };
        breaker.observe(&uid(0), stand, at(second));
    }
    assert_eq!(breaker.evaluate(20, at(100)), None);
}

#[test]
fn installing_and_editing_never_count() {
    let mut breaker = Breaker::default();
    for number in 0..100 {
        // NotCreated and NotUpdated are Calm.
        breaker.observe(&uid(number), Stand::Calm, at(0));
    }
    assert_eq!(breaker.evaluate(20, at(1)), None);
}

#[test]
fn it_closes_when_fewer_than_half_of_them_still_stand() {
    let mut breaker = breaker(20, 10);
    assert!(breaker.evaluate(20, at(2)).is_some());
    for number in 0..5 {
        breaker.observe(&uid(number), Stand::Calm, at(700));
        assert_eq!(breaker.evaluate(20, at(700)), None);
    }
    breaker.observe(&uid(5), Stand::Untold, at(700));
    assert_eq!(breaker.evaluate(20, at(700)), None, "what cannot be told still stands");
    breaker.observe(&uid(5), Stand::Calm, at(700));
    assert_eq!(breaker.evaluate(20, at(700)), Some(Transition::Closed));
    assert_eq!(breaker.evaluate(20, at(700)), None, "those that closed it do not open it again");
    assert!(!breaker.holds(&uid(9)));
}

#[test]
fn edited_limits_let_the_present_ones_pass() {
    let mut breaker = breaker(40, 10);
    assert!(breaker.evaluate(20, at(2)).is_some());
    assert!(breaker.holds(&uid(0)));
    assert_eq!(breaker.let_pass(), Some(Transition::Closed));
    assert_eq!(breaker.evaluate(20, at(3)), None);
    for number in 10..20 {
        breaker.observe(&uid(number), Stand::Incident, at(4));
    }
    assert!(breaker.evaluate(20, at(4)).is_some());
    assert!(!breaker.holds(&uid(0)) && breaker.holds(&uid(10)));
    breaker.observe(&uid(0), Stand::Calm, at(5));
    breaker.observe(&uid(0), Stand::Incident, at(6));
    assert!(breaker.holds(&uid(0)), "who healed and drifted again is a new incident");
}

#[test]
fn the_deleted_count_no_more() {
    let mut breaker = breaker(20, 10);
    assert!(breaker.evaluate(20, at(2)).is_some());
    for number in 0..10 {
        breaker.forget(&uid(number));
    }
    assert_eq!(breaker.evaluate(20, at(2)), Some(Transition::Closed));
    assert_eq!(breaker.evaluate(20, at(2)), None);
}
