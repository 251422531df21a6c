//! Traversals of a target's collection: objects whose polls are due at the same time take part together.

use std::collections::HashMap;

use drift_api::{Moment, ObjectView};

use super::Target;
use crate::engine::collection::requests::{CollectionRequest, OwnEntry, RequestKey};
use crate::engine::effect::{Effect, Member, Report, TraversalOrder};
use crate::engine::input::{EndedTraversal, PollResult};
use crate::engine::judgement::finding::{Finding, Found};
use crate::engine::judgement::rendered::rule_error;
use crate::engine::poll::request::first_request;
use crate::engine::schedule::Now;
use crate::engine::schedule::poll_turns::PollTurn;
use crate::engine::shared_state::SharedState;

/// An object whose poll is due.
struct Due {
    turn: PollTurn,
    view: ObjectView,
    name: String,
}

/// Due objects by request, in the order of their first turns, so that no request is overtaken repeatedly.
#[derive(Default)]
struct Groups {
    places: HashMap<RequestKey, usize>,
    groups: Vec<(RequestKey, Vec<Due>)>,
}

impl Groups {
    fn add(&mut self, request: &RequestKey, due: Due) {
        let place = *self.places.entry(request.clone()).or_insert_with(|| {
            self.groups.push((request.clone(), Vec::new()));
            self.groups.len() - 1
        });
        if let Some((_, group)) = self.groups.get_mut(place) {
            group.push(due);
        }
    }
}

impl<P: SharedState> Target<P> {
    /// Begins one traversal for all due objects with the same request.
    pub(super) fn begin_traversals(&mut self, now: Now) {
        if !self.may_read(now.moment) {
            return;
        }
        let mut due = Groups::default();
        while let Some(turn) = self.objects.next_poll(now.moment) {
            let Some(view) = self.objects.state(&turn.uid).map(|state| state.object().view.clone()) else { continue };
            match self.ask(&turn, &view) {
                Ok(CollectionRequest { request, name, .. }) => due.add(&request, Due { turn, view, name }),
                Err(found) => self.end_at_once(&turn, *found, now),
            }
        }
        for (key, group) in due.groups {
            self.begin_traversal(key, group, now);
        }
    }

    /// Returns the object's request to its collection.
    fn ask(&mut self, turn: &PollTurn, view: &ObjectView) -> Result<CollectionRequest, Box<Found>> {
        if let Some(asked) = self.traversals.asked_by(&turn.uid, view) {
            return Ok(asked.clone());
        }
        let open = view.open();
        let request = first_request(&self.text, &open)?;
        let identity = self.objects.state(&turn.uid).and_then(|state| state.rendered().identity.as_deref());
        let name = self.text.read.keys().map(|keys| keys.of_object(&open, identity.unwrap_or_default()));
        let failed = |error| Box::new(Found::from(Finding::Failed(rule_error(&error))));
        let name = name.transpose().map_err(failed)?.unwrap_or_default();
        Ok(self.traversals.set_asked(&turn.uid, view.clone(), request, name))
    }

    fn end_at_once(&mut self, turn: &PollTurn, found: Found, now: Now) {
        if let Some(begun) = self.objects.begin_poll(turn, now) {
            self.take_found(&turn.uid, begun, found, now.moment);
        }
    }

    fn begin_traversal(&mut self, key: RequestKey, group: Vec<Due>, now: Now) {
        if !self.may_read(now.moment) {
            return group.iter().for_each(|due| self.objects.queue_poll(&due.turn.uid));
        }
        if let Some(until) = self.traversals.not_before(&key, now.moment) {
            for due in &group {
                self.objects.update(&due.turn.uid, now.moment, |state| state.hold_polls(until));
            }
            return;
        }
        let Some(request) = self.traversals.request(&key).cloned() else { return };
        if let Some(postponed) = self.shared.postponed(&request, now.moment) {
            return group.iter().for_each(|due| self.postpone(&due.turn.uid, None, postponed.clone(), now.moment));
        }
        let members = self.join(group, now);
        if members.is_empty() {
            return;
        }
        self.shared.take_read(now.moment);
        self.traversals.begin(&key, now.moment);
        self.reads_under_way += 1;
        self.effects.push(Effect::Traverse(TraversalOrder { key, request, members }));
    }

    fn join(&mut self, group: Vec<Due>, now: Now) -> Vec<Member> {
        let join = |Due { turn, view, name }: Due| {
            let moved = self.objects.state(&turn.uid)?.object().conditions.moved_secrets();
            let begun = self.objects.begin_poll(&turn, now)?;
            Some(Member { uid: turn.uid, begun, view, moved, key: name })
        };
        group.into_iter().filter_map(join).collect()
    }

    /// Ends a traversal. Entries without an object are reported and never changed.
    pub(super) fn end_traversal(&mut self, traversal: EndedTraversal, now: Moment) {
        let EndedTraversal { key, results, names, credentials } = traversal;
        self.note_read_ended();
        // What was found proves that the list works, before the missing entries are judged.
        let is_found = |result: &PollResult| result.found.as_ref().is_ok_and(|found| found.finding.is_presence());
        let (found, others): (Vec<_>, Vec<_>) = results.into_iter().partition(is_found);
        found.into_iter().chain(others).for_each(|result| self.take_result(result, now));
        self.traversals.end(&key);
        let (Some(mut names), Some(keys)) = (names, self.text.read.keys()) else { return };
        for state in self.objects.states() {
            match self.traversals.own_entry(&state.object().id.uid, &key) {
                OwnEntry::Named(own) => drop(names.remove(own)),
                OwnEntry::Elsewhere => {}
                // An object without polls, for example a suspended one, has its entry all the same.
                OwnEntry::Unknown => {
                    let identity = state.rendered().identity.as_deref().unwrap_or_default();
                    if let Ok(own) = keys.of_object(&state.object().view.open(), identity) {
                        names.remove(&own);
                    }
                }
            }
        }
        self.traversals.note_unnamed(&key, names, &credentials);
        let unnamed = self.traversals.unnamed();
        self.report(Report::Unnamed(unnamed));
    }
}
