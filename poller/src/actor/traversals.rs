//! The actor's traversals of a collection: objects whose polls are due together take part together.
//!
//! When an object wants a poll and what a traversal says of it is the core's business.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use drift_model::http_request::HttpRequest;
use drift_target::Wished;
use serde_json::Value;

use super::TargetActor;
use crate::core::finding::Finding;
use crate::core::poll_turns::PollTurn;
use crate::core::rendered::rule_error;
use crate::core::schedule::Now;
use crate::core::traversals::RequestKey;
use crate::metrics::of_target;
use crate::poll::{Member, TraversalOrder, prepare, traverse};
use crate::sources::http::http_of;

/// An object whose poll is due, and what it needs.
struct Due {
    turn: PollTurn,
    view: Arc<Value>,
    prepared: Prepared,
}

/// What an object asks of its collection.
struct Prepared {
    wished: Wished,
    request: HttpRequest,
    key: String,
}

impl TargetActor {
    /// One traversal for all objects that are due and have the same request.
    pub(super) fn begin_traversals(&mut self, now: Now) {
        if !self.may_read(now.moment) {
            return;
        }
        let mut groups: BTreeMap<RequestKey, Vec<Due>> = BTreeMap::new();
        while let Some(turn) = self.roster.next_poll(now.moment) {
            let Some(view) = self.roster.track(&turn.uid).map(|track| track.object().view.clone()) else { continue };
            match self.prepare_member(&turn, &view) {
                Ok(prepared) => {
                    let key = RequestKey::of(&prepared.request);
                    groups.entry(key).or_default().push(Due { turn, view, prepared });
                }
                Err(finding) => {
                    let begun = self.roster.begin_poll(&turn, now);
                    begun.into_iter().for_each(|begun| self.take_finding(&turn.uid, begun, finding.clone()));
                }
            }
        }
        for (key, group) in groups {
            self.begin_traversal(key, group, now);
        }
    }

    fn prepare_member(&self, turn: &PollTurn, view: &Value) -> Result<Prepared, Finding> {
        let (wished, request) = prepare(&self.target, view)?;
        let identity = self.roster.track(&turn.uid).and_then(|track| track.rendered().identity.as_deref());
        let collection = http_of(&self.target).collection.as_ref();
        let key = collection.map(|collection| collection.key_of_object(view, identity.unwrap_or_default()));
        let key = key.transpose().map_err(|error| Finding::Failed(rule_error(&error)))?.unwrap_or_default();
        Ok(Prepared { wished, request, key })
    }

    fn begin_traversal(&mut self, key: RequestKey, group: Vec<Due>, now: Now) {
        let Some(request) = group.first().map(|due| due.prepared.request.clone()) else { return };
        if let Some(postponed) = self.context.outside.postponed(&request, now.moment) {
            return group.iter().for_each(|due| self.postpone(&due.turn.uid, None, postponed.clone()));
        }
        if let Some(until) = self.traversals.not_before(&key, now.moment) {
            for due in &group {
                self.roster.update(&due.turn.uid, now.moment, |track| track.hold_polls(until));
            }
            return;
        }
        if !self.may_read(now.moment) {
            return group.iter().for_each(|due| self.roster.queue_poll(&due.turn.uid));
        }
        let _ = self.read_rate.take(now.moment);
        let mut members = Vec::with_capacity(group.len());
        for Due { turn, view, prepared: Prepared { wished, key, .. } } in group {
            let Some(begun) = self.roster.begin_poll(&turn, now) else { continue };
            members.push(Member { uid: turn.uid, begun, view, wished, key });
        }
        self.traversals.begin(key.clone(), now.moment);
        let order = TraversalOrder { key, request, members };
        let (outside, target) = (self.context.outside.clone(), self.target.clone());
        self.polls.push(Box::pin(async move { traverse(&outside, &target, order).await }));
    }

    /// What stands in the collection and belongs to no object is told, and never touched.
    pub(super) fn end_traversal(&mut self, key: &RequestKey, names: Option<HashSet<String>>) {
        self.traversals.end(key);
        let (Some(mut names), Some(collection)) = (names, http_of(&self.target).collection.as_ref()) else { return };
        for track in self.roster.tracks() {
            let identity = track.rendered().identity.as_deref().unwrap_or_default();
            if let Ok(own) = collection.key_of_object(&track.object().view, identity) {
                names.remove(&own);
            }
        }
        self.traversals.note_unnamed(key, names);
        let unnamed = self.traversals.unnamed();
        let count = i64::try_from(unnamed.count).unwrap_or(i64::MAX);
        self.context.metrics.unnamed.get_or_create(&of_target(&self.target.name)).set(count);
        self.context.unnamed.set(&self.target.name, unnamed);
    }
}
