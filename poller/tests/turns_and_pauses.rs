//! Random histories of the limits on polls of many objects: the turns of one target, and the pauses of one host.
#![allow(clippy::unwrap_used, clippy::panic)]

use std::collections::BTreeSet;
use std::time::Duration;

use drift_api::identity::Uid;
use drift_api::timing::moment::Moment;
use drift_poller::engine::schedule::poll_turns::{PROMPT_TURNS, PollTurns};
use drift_systems::guard::host_health::{HostHealth, LONGEST_ASKED_PAUSE, SPEAK_FOR_HOST, TOLD_WITHIN};
use drift_systems::{HostReply, PauseCause};
use proptest::prelude::*;

fn uid(number: u8) -> Uid {
    format!("u{number}").as_str().into()
}

#[derive(Clone, Copy, Debug)]
enum Turn {
    Prompt(u8),
    Regular(u8),
    Remove(u8),
    Poll,
}

fn turns() -> impl Strategy<Value = Vec<Turn>> {
    let turn = prop_oneof![
        4 => (0..8_u8).prop_map(Turn::Prompt),
        3 => (0..20_u8).prop_map(Turn::Regular),
        1 => (0..20_u8).prop_map(Turn::Remove),
        5 => Just(Turn::Poll),
    ];
    proptest::collection::vec(turn, 1..200)
}

#[derive(Clone, Copy, Debug)]
enum Event {
    Wait(u64),
    Hear(u8, HostReply),
}

fn events(objects: u8) -> impl Strategy<Value = Vec<Event>> {
    let heard = prop_oneof![
        2 => Just(HostReply::Answer),
        3 => (0..7200_u64).prop_map(|seconds| HostReply::AskedToWait(Duration::from_secs(seconds))),
        3 => Just(HostReply::TimedOut),
        3 => Just(HostReply::Unreachable),
    ];
    let event = prop_oneof![
        1 => (0..40_u64).prop_map(Event::Wait),
        3 => (0..objects, heard).prop_map(|(object, heard)| Event::Hear(object, heard)),
    ];
    proptest::collection::vec(event, 1..120)
}

proptest! {
    #[test]
    fn no_regular_poll_waits_for_four_prompt_ones(history in turns()) {
        let mut waiting = PollTurns::default();
        let mut regular: BTreeSet<Uid> = BTreeSet::new();
        let mut prompt_in_a_row = 0;
        for turn in history {
            match turn {
                Turn::Prompt(number) => {
                    waiting.add_prompt(&uid(number));
                    regular.remove(&uid(number));
                }
                Turn::Regular(number) => {
                    waiting.add_regular(&uid(number));
                    if waiting.has_regular(&uid(number)) {
                        regular.insert(uid(number));
                    }
                }
                Turn::Remove(number) => {
                    waiting.remove(&uid(number));
                    regular.remove(&uid(number));
                }
                Turn::Poll => {
                    let Some(turn) = waiting.call_next() else { continue };
                    waiting.note_used(&turn);
                    let was_regular = regular.remove(&turn.uid);
                    prompt_in_a_row = if was_regular || regular.is_empty() { 0 } else { prompt_in_a_row + 1 };
                    prop_assert!(prompt_in_a_row <= PROMPT_TURNS);
                }
            }
        }
        while let Some(turn) = waiting.call_next() {
            waiting.note_used(&turn);
            regular.remove(&turn.uid);
        }
        prop_assert!(regular.is_empty(), "{regular:?} never had their turn");
    }

    #[test]
    fn two_objects_never_pause_their_host(history in events(2)) {
        let (mut health, mut now) = (HostHealth::default(), Moment::START);
        for event in history {
            match event {
                Event::Wait(seconds) => now += Duration::from_secs(seconds),
                Event::Hear(object, heard) => health.note(&uid(object), heard, health.epoch(), now),
            }
            prop_assert_eq!(health.paused(now), None);
        }
    }

    #[test]
    fn every_pause_of_a_host_is_bounded_and_earned(history in events(6)) {
        let (mut health, mut now) = (HostHealth::default(), Moment::START);
        let mut told: Vec<(u8, Moment)> = Vec::new();
        for event in history {
            let paused_before = health.paused(now);
            match event {
                Event::Wait(seconds) => now += Duration::from_secs(seconds),
                Event::Hear(object, heard) => {
                    if matches!(heard, HostReply::AskedToWait(_)) {
                        told.push((object, now));
                    }
                    health.note(&uid(object), heard, health.epoch(), now);
                    if heard == HostReply::Answer {
                        prop_assert!(health.paused(now).is_none_or(|pause| pause.cause == PauseCause::AskedToWait));
                    }
                }
            }
            let Some(pause) = health.paused(now) else { continue };
            let longest = if pause.cause == PauseCause::AskedToWait { LONGEST_ASKED_PAUSE } else { Duration::from_secs(30) };
            prop_assert!(pause.until - now <= longest, "{pause:?} at {now:?}");
            if pause.cause == PauseCause::AskedToWait && paused_before.is_none() {
                let recent = told.iter().filter(|(_, at)| !now.is_past(*at, TOLD_WITHIN)).map(|(object, _)| object);
                prop_assert!(recent.collect::<BTreeSet<_>>().len() >= SPEAK_FOR_HOST);
            }
        }
    }
}
