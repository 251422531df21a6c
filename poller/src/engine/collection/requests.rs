//! Traversals of one target's collection: their schedule, and the entries that belong to no object.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use drift_api::collections::fifo::Fifo;
use drift_api::identity::Uid;
use drift_api::object::object_view::ObjectView;
use drift_api::secrets::secret_texts::REDACTED;
use drift_api::timing::moment::Moment;
use drift_language::cel::SecretValues;
use indexmap::IndexSet;
use serde_json::Value;

use crate::engine::poll::request::Request;
use crate::engine::schedule::PROMPT_SPACING;

/// Maximum names that are kept for people. A screen of names shows the problem, and the count shows its size.
pub const SHOWN_NAMES: usize = 1_000;

/// The first request of a traversal as it is sent. Objects with an equal one share a traversal.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RequestKey(Arc<[u8]>);

impl RequestKey {
    /// Returns the key of a request. It covers all that the external system sees.
    #[must_use]
    pub fn of(request: &Request) -> Self {
        Self(request.fingerprint().into())
    }
}

/// Entries that belong to no object.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Unnamed {
    /// Number of the entries.
    pub count: usize,
    /// The first [`SHOWN_NAMES`] of them by name.
    pub names: BTreeSet<String>,
}

/// The request of an object to its collection, valid for one view of the object.
#[derive(Clone, Debug)]
pub struct CollectionRequest {
    /// View that the request was rendered from.
    pub view: ObjectView,
    /// Key of the request.
    pub request: RequestKey,
    /// Name of the object's entry.
    pub name: String,
}

/// Traversals of one target. No step but [`changed_unnamed`](Self::changed_unnamed) looks at more than the objects of
/// one request: each object may have a request of its own.
#[derive(Debug, Default)]
pub struct CollectionRequests {
    asked: HashMap<Uid, CollectionRequest>,
    known: HashMap<RequestKey, Traversed>,
    /// Objects whose request was never determined.
    unasked: HashSet<Uid>,
    /// Objects with a view that the request was not determined for.
    edited: Fifo,
    is_unnamed_changed: bool,
}

/// Traversals of one request.
#[derive(Debug)]
struct Traversed {
    request: Request,
    /// Objects with this request.
    members: IndexSet<Uid>,
    /// Start of the last traversal.
    began: Option<Moment>,
    under_way: bool,
    /// Earliest start of the next traversal, if an object asked for one during the current one.
    next: Option<Moment>,
    unnamed: Unnamed,
}

impl Traversed {
    fn of(request: Request) -> Self {
        let (members, unnamed) = (IndexSet::new(), Unnamed::default());
        Self { request, members, began: None, under_way: false, next: None, unnamed }
    }
}

impl CollectionRequests {
    /// Returns the request of the object, if it is known for this view.
    #[must_use]
    pub fn asked_by(&self, uid: &Uid, view: &ObjectView) -> Option<&CollectionRequest> {
        self.asked.get(uid).filter(|asked| asked.view.is(view))
    }

    /// Records that an object has another view, so that its request may have changed.
    pub fn note_view(&mut self, uid: &Uid) {
        self.edited.join(uid);
        if !self.asked.contains_key(uid) {
            self.unasked.insert(uid.clone());
        }
    }

    /// Removes and returns an object of [`note_view`](Self::note_view).
    pub fn next_edited(&mut self) -> Option<Uid> {
        self.edited.call_next()
    }

    /// Sets the request and the entry's name for this view of the object.
    pub fn set_asked(&mut self, uid: &Uid, view: ObjectView, request: Request, name: String) -> CollectionRequest {
        let key = RequestKey::of(&request);
        if self.asked.get(uid).is_some_and(|asked| asked.request != key) {
            self.leave(uid);
        }
        let known = self.known.entry(key);
        // Objects with the same request share its key.
        let asked = CollectionRequest { view, request: known.key().clone(), name };
        known.or_insert_with(|| Traversed::of(request)).members.insert(uid.clone());
        self.asked.insert(uid.clone(), asked.clone());
        self.unasked.remove(uid);
        asked
    }

    /// Returns the objects with that request.
    pub fn members(&self, key: &RequestKey) -> impl Iterator<Item = &Uid> {
        self.known.get(key).into_iter().flat_map(|known| &known.members)
    }

    /// Returns the objects whose request was never determined.
    pub fn unasked(&self) -> impl Iterator<Item = &Uid> {
        self.unasked.iter()
    }

    /// Returns the request of a key, if an object uses it.
    #[must_use]
    pub fn request(&self, key: &RequestKey) -> Option<&Request> {
        self.known.get(key).map(|known| &known.request)
    }

    /// Forgets an object that is no longer polled here.
    pub fn forget(&mut self, uid: &Uid) {
        self.leave(uid);
        self.unasked.remove(uid);
        self.edited.leave(uid);
    }

    fn leave(&mut self, uid: &Uid) {
        let Some(CollectionRequest { request, .. }) = self.asked.remove(uid) else { return };
        if let Some(known) = self.known.get_mut(&request) {
            known.members.swap_remove(uid);
        }
        self.forget_unused(&request);
    }

    /// Forgets a request that no object uses, once its traversal has ended.
    fn forget_unused(&mut self, key: &RequestKey) {
        if self.known.get(key).is_some_and(|known| known.members.is_empty() && !known.under_way) {
            let forgotten = self.known.remove(key);
            self.is_unnamed_changed |= forgotten.is_some_and(|known| known.unnamed.count > 0);
        }
    }

    /// Returns the names of the entries of all objects with that request.
    pub fn names(&self, key: &RequestKey) -> impl Iterator<Item = &str> {
        self.members(key).filter_map(|uid| self.asked.get(uid)).map(|asked| asked.name.as_str())
    }

    /// Returns the earliest start of a traversal with that request; `None` if it may begin now. Traversals begin at
    /// least [`PROMPT_SPACING`] apart and never overlap. Objects that arrive during a traversal wait for the next
    /// one, and later objects join them. Otherwise, objects that arrive a moment earlier each time would keep others
    /// waiting for ever.
    #[must_use]
    pub fn not_before(&mut self, key: &RequestKey, now: Moment) -> Option<Moment> {
        let known = self.known.get_mut(key)?;
        let spaced = known.began? + PROMPT_SPACING;
        if known.under_way {
            let sooner = if spaced > now { spaced } else { now + PROMPT_SPACING };
            known.next = Some(known.next.filter(|next| *next > now).unwrap_or(sooner));
            return known.next;
        }
        let until = known.next.map_or(spaced, |next| next.max(spaced));
        (until > now).then_some(until)
    }

    /// Records the start of a traversal.
    pub fn begin(&mut self, key: &RequestKey, now: Moment) {
        if let Some(known) = self.known.get_mut(key) {
            (known.began, known.under_way, known.next) = (Some(now), true, None);
        }
    }

    /// Records the end of a traversal, and forgets a request that no object uses.
    pub fn end(&mut self, key: &RequestKey) {
        if let Some(known) = self.known.get_mut(key) {
            known.under_way = false;
        }
        self.forget_unused(key);
    }

    /// Records the entries of a complete traversal that belong to no object. Names that contain one of the
    /// `credentials` of the request are redacted.
    pub fn note_unnamed(&mut self, key: &RequestKey, names: HashSet<String>, credentials: &SecretValues) {
        if let Some(known) = self.known.get_mut(key) {
            let count = names.len();
            let names: BTreeSet<String> = names.into_iter().collect();
            let shown = |name: String| {
                let is_secret = credentials.occur_in(&Value::from(name.as_str()));
                if is_secret { REDACTED.to_owned() } else { name }
            };
            let unnamed = Unnamed { count, names: names.into_iter().take(SHOWN_NAMES).map(shown).collect() };
            self.is_unnamed_changed |= known.unnamed != unnamed;
            known.unnamed = unnamed;
        }
    }

    /// Returns the entries without an object, of all traversals. `None` if they are those of the last call.
    #[must_use]
    pub fn changed_unnamed(&mut self) -> Option<Unnamed> {
        std::mem::take(&mut self.is_unnamed_changed).then(|| self.unnamed())
    }

    fn unnamed(&self) -> Unnamed {
        let all = self.known.values().map(|known| &known.unnamed);
        let count = all.clone().map(|unnamed| unnamed.count).sum();
        let names: BTreeSet<String> = all.flat_map(|unnamed| unnamed.names.iter().cloned()).collect();
        Unnamed { count, names: names.into_iter().take(SHOWN_NAMES).collect() }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::engine::fixtures::at;
    use drift_language::HttpRequest;

    fn request(url: &str) -> Request {
        let (method, headers) = (http::Method::GET, Arc::default());
        let url = url.parse().unwrap();
        Request::Http(HttpRequest {
            method,
            url,
            headers,
            body: None,
            has_chosen_host: false,
            socket: None,
            auth: None,
        })
    }

    /// Makes an object request an entry `x` with that request.
    fn ask(traversals: &mut CollectionRequests, uid: &str, url: &str) -> RequestKey {
        traversals.set_asked(&uid.into(), ObjectView::default(), request(url), "x".to_owned()).request
    }

    #[test]
    fn traversals_of_one_request_keep_their_distance() {
        let mut traversals = CollectionRequests::default();
        let (one, other) = (ask(&mut traversals, "u", "http://h/a"), ask(&mut traversals, "v", "http://h/b"));
        assert_eq!(traversals.not_before(&one, at(0).moment), None);
        traversals.begin(&one, at(0).moment);
        assert_eq!(traversals.not_before(&other, at(0).moment), None);
        traversals.end(&one);
        assert_eq!(traversals.not_before(&one, at(0).moment), Some(at(1).moment));
        assert_eq!(traversals.not_before(&one, at(1).moment), None);
    }

    #[test]
    fn who_comes_during_a_traversal_joins_the_next() {
        let mut traversals = CollectionRequests::default();
        let key = ask(&mut traversals, "u", "http://h/a");
        let milliseconds = |count| at(0).moment + std::time::Duration::from_millis(count);
        let mut begins = milliseconds(0);
        for _ in 0..10 {
            traversals.begin(&key, begins);
            let waits = traversals.not_before(&key, begins + std::time::Duration::from_millis(2));
            traversals.end(&key);
            // Another object arrives once the distance is kept, or a moment later.
            assert_eq!(waits, Some(begins + PROMPT_SPACING));
            assert_eq!(traversals.not_before(&key, begins + PROMPT_SPACING), None);
            begins += PROMPT_SPACING;
        }
        traversals.begin(&key, begins);
        let late = begins + PROMPT_SPACING * 5;
        assert_eq!(traversals.not_before(&key, late), Some(late + PROMPT_SPACING), "it is still under way");
        traversals.end(&key);
        let between = late + PROMPT_SPACING / 2;
        assert_eq!(traversals.not_before(&key, between), Some(late + PROMPT_SPACING), "they begin together");
        assert_eq!(traversals.not_before(&key, late + PROMPT_SPACING), None);
    }

    #[test]
    fn a_request_that_no_object_makes_any_more_is_forgotten() {
        let (mut traversals, uid) = (CollectionRequests::default(), Uid::from("u"));
        traversals.note_view(&uid);
        assert_eq!(traversals.unasked().collect::<Vec<_>>(), [&uid]);
        let one = ask(&mut traversals, "u", "http://h/a");
        assert_eq!(traversals.unasked().count(), 0);
        traversals.begin(&one, at(0).moment);
        traversals.note_unnamed(&one, HashSet::from(["y".to_owned()]), &SecretValues::default());
        assert_eq!(traversals.names(&one).collect::<Vec<_>>(), ["x"]);
        let other = ask(&mut traversals, "u", "http://h/b");
        assert_eq!(traversals.names(&one).count(), 0, "an entry of that name is none of its own");
        assert_eq!(traversals.changed_unnamed().map(|unnamed| unnamed.count), Some(1), "its traversal is under way");
        traversals.end(&one);
        assert!(traversals.request(&one).is_none() && traversals.request(&other).is_some());
        assert_eq!(traversals.changed_unnamed().map(|unnamed| unnamed.count), Some(0));
        assert_eq!(traversals.changed_unnamed(), None);
        assert!(traversals.asked_by(&uid, &ObjectView::default()).is_none(), "another view may ask for something else");
    }

    #[test]
    fn requests_of_many_edits_do_not_gather() {
        let mut traversals = CollectionRequests::default();
        for edit in 0..100 {
            ask(&mut traversals, "u", &format!("http://h/{edit}"));
        }
        assert_eq!(traversals.known.len(), 1);
    }

    #[test]
    fn what_belongs_to_no_object_is_counted_over_all_requests() {
        let mut traversals = CollectionRequests::default();
        for (uid, url, names) in [("u", "http://h/a", vec!["x", "y"]), ("v", "http://h/b", vec!["z"])] {
            let key = ask(&mut traversals, uid, url);
            traversals.note_unnamed(&key, names.into_iter().map(str::to_owned).collect(), &SecretValues::default());
        }
        let unnamed = traversals.unnamed();
        assert_eq!((unnamed.count, unnamed.names.len()), (3, 3));
        traversals.note_unnamed(&RequestKey::of(&request("http://h/a")), HashSet::new(), &SecretValues::default());
        assert_eq!(traversals.unnamed().count, 1);
    }
}
