//! Probabilities of the events in a random history.

use drift_language::{Existing, Mode};
use proptest::prelude::*;

use super::event::{Answer, Event, Meanwhile, Mishap, Scope};

pub(super) fn answers() -> impl Strategy<Value = Answer> {
    prop_oneof![
        4 => Just(Answer::Done),
        1 => Just(Answer::AcceptedWithoutEffect),
        1 => Just(Answer::Refused),
        1 => Just(Answer::LostBefore),
        1 => Just(Answer::LostAfter),
        1 => Just(Answer::TurnedAway),
    ]
}

pub(super) fn mishaps() -> impl Strategy<Value = Mishap> {
    prop_oneof![
        8 => Just(Mishap::None),
        2 => Just(Mishap::LacksSecret),
        1 => Just(Mishap::DiesAfterClaim),
        1 => Just(Mishap::DiesMidway),
        1 => Just(Mishap::DiesBeforeRecord),
        1 => Just(Mishap::DiesAfterRecord),
        1 => Just(Mishap::NoteTakenBeforeRecord),
    ]
}

pub(super) fn meanwhiles() -> impl Strategy<Value = Meanwhile> {
    prop_oneof![
        12 => Just(Meanwhile::Nothing),
        2 => (1_u8..4).prop_map(Meanwhile::Edited),
        1 => Just(Meanwhile::Deleted),
    ]
}

pub(super) fn modes() -> impl Strategy<Value = Mode> {
    prop_oneof![1 => Just(Mode::Observe), 2 => Just(Mode::Correct)]
}

pub(super) fn events() -> impl Strategy<Value = Vec<Event>> {
    let event = prop_oneof![
        4 => Just(Event::PollBegins),
        4 => Just(Event::PollEnds),
        8 => (answers(), mishaps(), meanwhiles())
            .prop_map(|(answer, mishap, meanwhile)| Event::Controller(answer, mishap, meanwhile)),
        4 => (0_u64..400).prop_map(Event::Passes),
        1 => (1_u8..4).prop_map(Event::Edited),
        1 => (1_u8..4).prop_map(Event::ChangedOutside),
        1 => Just(Event::RemovedOutside),
        1 => Just(Event::MadeByOthers),
        1 => any::<bool>().prop_map(Event::Attested),
        1 => Just(Event::NoteTaken),
        1 => Just(Event::StatusAltered),
        1 => Just(Event::FinalizerStripped),
        1 => any::<bool>().prop_map(Event::StatusRefused),
        1 => Just(Event::Replayed),
        1 => answers().prop_map(Event::DeletionAnswered),
        1 => any::<u8>().prop_map(Event::StepsEdited),
        1 => any::<bool>().prop_map(|cleaned| Event::TargetReadded { cleaned }),
        1 => scopes().prop_map(Event::ScopeSet),
        1 => Just(Event::Restarted),
        1 => (1_u8..12).prop_map(Event::Overtaken),
        1 => any::<u8>().prop_map(Event::RetryRequested),
        1 => modes().prop_map(Event::ModeSet),
    ];
    proptest::collection::vec(event, 1..120)
}

pub(super) fn scopes() -> impl Strategy<Value = Scope> {
    prop_oneof![2 => Just(Scope::Here), 1 => Just(Scope::Elsewhere)]
}

pub(super) fn existing() -> impl Strategy<Value = Existing> {
    prop_oneof![Just(Existing::Refuse), Just(Existing::Adopt)]
}
