//! Replacements: resources that cannot be changed in place are deleted and created anew, with a poll between two
//! deletions or creations.

use drift_api::condition::CorrectedReason;
use drift_language::Existing;

use super::event::{Answer, Event, Meanwhile, Mishap};
use super::world::World;
use crate::engine::corrections::{Correction, Doubt, FailedStep, Outcome, Reach, Refusal, Uncertainty};
use crate::engine::fixtures::{doubtful, refused};

impl World {
    /// Deletes and then creates the resource; `None` if the process crashes between the two.
    pub(super) fn replace(&mut self, correction: &Correction, answer: Answer, mishap: Mishap) -> Option<Outcome> {
        let said = self.object.conditions.correction_status().reason;
        assert_eq!(said, Some(CorrectedReason::CorrectionStarted), "a crash would leave no word of it");
        let present = self.outside();
        assert!(
            !present.is_some_and(|resource| resource.unread),
            "what was just made is taken away, and no poll saw it"
        );
        let is_foreign = present.is_some_and(|resource| resource.foreign);
        assert!(
            !is_foreign || self.target.existing == Existing::Adopt || self.claim_lost,
            "what was there is taken away"
        );
        if matches!(self.deletion, Answer::Done | Answer::LostAfter) {
            *self.outside_mut() = None;
        }
        let undone = match self.deletion {
            Answer::Done => None,
            Answer::AcceptedWithoutEffect => Some(Outcome::Underway { retry_after: None }),
            Answer::Refused => Some(refused(409)),
            Answer::LostBefore | Answer::LostAfter => Some(doubtful(Doubt::NoAnswer)),
            Answer::TurnedAway => Some(doubtful(Doubt::CredentialRefused)),
        };
        self.send(correction, 0, undone.as_ref().unwrap_or(&Outcome::Applied));
        if undone.is_some() {
            return undone;
        }
        if mishap == Mishap::DiesMidway {
            return None;
        }
        let outcome = self.create_anew(correction, answer);
        self.send(correction, 1, &outcome);
        Some(outcome)
    }

    fn create_anew(&mut self, correction: &Correction, answer: Answer) -> Outcome {
        let step = FailedStep { label: None, reach: Reach::Further };
        if matches!(answer, Answer::Done | Answer::LostAfter) {
            self.make(false);
        }
        match answer {
            Answer::Done | Answer::AcceptedWithoutEffect => Outcome::Applied,
            Answer::Refused => Outcome::Refused(step, Refusal { code: 409.into(), because: None }),
            Answer::LostBefore | Answer::LostAfter => {
                correction.in_doubt(step, Uncertainty::unanswered(Doubt::NoAnswer))
            }
            Answer::TurnedAway => correction.in_doubt(step, Uncertainty::unanswered(Doubt::CredentialRefused)),
        }
    }
}

/// A resource of ours in its requested state, after an edit that needs a replacement.
fn edited() -> World {
    let mut world = World::new(Existing::Refuse, None);
    world.target.actions.replace = true;
    (0..3).for_each(|_| world.quiet_round(10));
    world.apply(Event::Edited(2));
    poll(&mut world);
    world
}

fn poll(world: &mut World) {
    world.apply(Event::PollBegins);
    world.apply(Event::PollEnds);
}

fn act(world: &mut World, answer: Answer, mishap: Mishap) {
    world.apply(Event::Controller(answer, mishap, Meanwhile::Nothing));
}

/// The requests sent so far, by their keys.
fn keys(world: &World) -> Vec<&str> {
    world.requests.iter().map(|request| request.key.as_str()).collect()
}

#[test]
fn what_cannot_be_changed_is_replaced_in_one_correction() {
    let mut world = edited();
    act(&mut world, Answer::Done, Mishap::None);
    assert_eq!((world.status().correction, world.status().reason), (2, Some(CorrectedReason::CorrectionApplied)));
    assert_eq!(world.outside().map(|resource| resource.value), Some(2));
    let [_, deletion, creation] = keys(&world)[..] else { unreachable!("{:?}", world.requests) };
    assert!(deletion.starts_with("u-2-replace-") && creation.starts_with("u-2-replace-1-"), "{deletion} {creation}");
}

#[test]
fn a_replacement_cut_in_two_goes_on() {
    type Cut = fn(&mut World);
    let cuts: [Cut; 5] = [
        |world| act(world, Answer::LostBefore, Mishap::None),
        |world| act(world, Answer::LostAfter, Mishap::None),
        |world| act(world, Answer::Refused, Mishap::None),
        |world| act(world, Answer::Done, Mishap::DiesMidway),
        |world| act(world, Answer::Done, Mishap::DiesBeforeRecord),
    ];
    for (case, cut) in cuts.into_iter().enumerate() {
        let mut world = edited();
        cut(&mut world);
        let sent = world.requests.len();
        // Until a poll has shown the remaining state, no leader sends anything.
        (0..3).for_each(|_| act(&mut world, Answer::Done, Mishap::None));
        assert_eq!((world.requests.len(), world.status().correction), (sent, 2), "cut {case}");
        (0..3).for_each(|_| world.quiet_round(10));
        assert_eq!(world.outside().map(|resource| resource.value), Some(2), "cut {case}");
        assert!(world.requests.len() <= sent + 1, "cut {case}: it is created at most once more");
    }
}

#[test]
fn a_deletion_under_way_is_asked_for_again() {
    let mut world = edited();
    world.apply(Event::DeletionAnswered(Answer::AcceptedWithoutEffect));
    for number in 2..5 {
        (0..2).for_each(|_| act(&mut world, Answer::Done, Mishap::None));
        assert_eq!(
            (world.status().correction, world.requests.len() as u64),
            (number, number),
            "one request for a poll"
        );
        assert_eq!(world.status().reason, Some(CorrectedReason::CorrectionStarted));
        poll(&mut world);
        world.apply(Event::Passes(60));
    }
    world.apply(Event::RemovedOutside);
    poll(&mut world);
    world.quiet_round(10);
    assert_eq!(world.status().reason, Some(CorrectedReason::CorrectionApplied));
    assert_eq!(world.outside().map(|resource| resource.value), Some(2));
}
