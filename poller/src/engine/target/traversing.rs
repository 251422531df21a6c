//! Traversals of a target's collection: objects whose polls are due at the same time take part together.

use drift_api::identity::Uid;
use drift_api::object::object_view::ObjectView;
use drift_api::timing::moment::Moment;

use super::Target;
use crate::engine::collection::requests::{CollectionRequest, RequestKey};
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

impl<P: SharedState> Target<P> {
    /// Begins one traversal for all due objects with the same request, in the order of their first turns. So no request
    /// is overtaken repeatedly.
    pub(super) fn begin_traversals(&mut self, now: Now) {
        self.ask_edited();
        while self.may_read(now.moment) {
            let Some(turn) = self.objects.next_poll(now.moment) else { return };
            let Some(view) = self.objects.state(&turn.uid).map(|state| state.object().view.clone()) else { continue };
            match self.ask(&turn.uid, &view) {
                Ok(CollectionRequest { request, name, .. }) => {
                    self.begin_traversal(request, Due { turn, view, name }, now);
                }
                Err(found) => self.end_at_once(&turn, *found, now),
            }
        }
    }

    /// Determines the requests of edited objects, so that the members of each request are known. A failure is reported
    /// at the object's turn.
    fn ask_edited(&mut self) {
        while let Some(uid) = self.traversals.next_edited() {
            if let Some(view) = self.objects.state(&uid).map(|state| state.object().view.clone()) {
                let _ = self.ask(&uid, &view);
            }
        }
    }

    /// Returns the first object and the other due objects with its request.
    fn due_members(&mut self, request: &RequestKey, first: Due, now: Moment) -> Vec<Due> {
        let mut group = vec![first];
        for uid in self.traversals.members(request) {
            let Some(view) = self.objects.state(uid).map(|state| state.object().view.clone()) else { continue };
            let Some(asked) = self.traversals.asked_by(uid, &view) else { continue };
            if let Some(turn) = self.objects.take_poll(uid, now) {
                group.push(Due { turn, view, name: asked.name.clone() });
            }
        }
        group
    }

    /// Returns the object's request to its collection.
    fn ask(&mut self, uid: &Uid, view: &ObjectView) -> Result<CollectionRequest, Box<Found>> {
        if let Some(asked) = self.traversals.asked_by(uid, view) {
            return Ok(asked.clone());
        }
        let open = view.open();
        let request = first_request(&self.text, &open)?;
        let identity = self.objects.state(uid).and_then(|state| state.rendered().identity.as_deref());
        let name = self.text.read.keys().map(|keys| keys.of_object(&open, identity.unwrap_or_default()));
        let failed = |error| Box::new(Found::from(Finding::Failed(rule_error(&error))));
        let name = name.transpose().map_err(failed)?.unwrap_or_default();
        Ok(self.traversals.set_asked(uid, view.clone(), request, name))
    }

    fn end_at_once(&mut self, turn: &PollTurn, found: Found, now: Now) {
        if let Some(begun) = self.objects.begin_poll(turn, now) {
            self.take_found(&turn.uid, begun, found, now.moment);
        }
    }

    fn begin_traversal(&mut self, key: RequestKey, first: Due, now: Now) {
        let uid = &first.turn.uid;
        if let Some(until) = self.traversals.not_before(&key, now.moment) {
            self.objects.update(uid, now.moment, |state| state.hold_polls(until));
            return;
        }
        let Some(request) = self.traversals.request(&key).cloned() else { return };
        if let Some(postponed) = self.shared.postponed(&request, now.moment) {
            return self.postpone(uid, None, postponed, now.moment);
        }
        let group = self.due_members(&key, first, now.moment);
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
        for own in self.traversals.names(&key) {
            names.remove(own);
        }
        // An object without polls, for example a suspended one, has its entry all the same.
        for state in self.traversals.unasked().filter_map(|uid| self.objects.state(uid)) {
            let identity = state.rendered().identity.as_deref().unwrap_or_default();
            if let Ok(own) = keys.of_object(&state.object().view.open(), identity) {
                names.remove(&own);
            }
        }
        self.traversals.note_unnamed(&key, names, &credentials);
        if let Some(unnamed) = self.traversals.changed_unnamed() {
            self.report(Report::Unnamed(unnamed));
        }
    }
}
