//! The traversals of one target's collection: which may begin, and what they found that belongs to no object.
//!
//! It must not know what an entry means.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use drift_model::http_request::HttpRequest;
use drift_model::identity::Uid;
use drift_model::moment::Moment;
use serde_json::Value;

use super::schedule::PROMPT_SPACING;

/// Names that are kept for people: a screen of them tells what is wrong, and the count tells how many there are.
pub const SHOWN_NAMES: usize = 1_000;

/// A request for a first page, as it goes out: objects with the same one share a traversal.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RequestKey(Arc<[u8]>);

impl RequestKey {
    /// All of a request that the external system sees.
    #[must_use]
    pub fn of(request: &HttpRequest) -> Self {
        let mut key = format!("{} {}", request.method, request.url).into_bytes();
        for (name, value) in &request.headers {
            key.extend_from_slice(b"\n");
            key.extend_from_slice(name.as_str().as_bytes());
            key.extend_from_slice(b":");
            key.extend_from_slice(value.as_bytes());
        }
        key.extend_from_slice(b"\n\n");
        key.extend_from_slice(request.body.as_deref().unwrap_or_default());
        Self(key.into())
    }
}

/// Entries that belong to no object.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Unnamed {
    /// How many.
    pub count: usize,
    /// The first [`SHOWN_NAMES`] of them by name.
    pub names: BTreeSet<String>,
}

/// What an object asks of its collection; it stays so while its view does.
#[derive(Clone, Debug)]
pub struct Asked {
    /// The view that it was found from.
    pub view: Arc<Value>,
    /// Its request.
    pub request: RequestKey,
    /// What its entry is called.
    pub name: String,
}

/// It was never found out what an object asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotAsked;

/// The traversals of one target.
#[derive(Debug, Default)]
pub struct Traversals {
    asked: HashMap<Uid, Asked>,
    known: HashMap<RequestKey, Traversed>,
}

#[derive(Debug)]
struct Traversed {
    began: Moment,
    under_way: bool,
    unnamed: Unnamed,
}

impl Traversals {
    /// What the object asks for, as far as it was found out for this very view.
    #[must_use]
    pub fn asked_by(&self, uid: &Uid, view: &Arc<Value>) -> Option<&Asked> {
        self.asked.get(uid).filter(|asked| Arc::ptr_eq(&asked.view, view))
    }

    /// What the object asks for from now on.
    pub fn set_asked(&mut self, uid: &Uid, asked: Asked) {
        self.asked.insert(uid.clone(), asked);
    }

    /// The object is not polled here any more.
    pub fn forget(&mut self, uid: &Uid) {
        self.asked.remove(uid);
    }

    /// The name that the object gives its entry, if it takes part in traversals with that request; `Err` where it is not
    /// known which it asks for.
    ///
    /// # Errors
    /// Nothing was found out about the object.
    pub fn name_within(&self, uid: &Uid, request: &RequestKey) -> Result<Option<&str>, NotAsked> {
        let asked = self.asked.get(uid).ok_or(NotAsked)?;
        Ok((asked.request == *request).then_some(asked.name.as_str()))
    }

    /// When one with that request may begin; `None` for now. They begin at least [`PROMPT_SPACING`] apart, and never two at
    /// once.
    #[must_use]
    pub fn not_before(&self, key: &RequestKey, now: Moment) -> Option<Moment> {
        let known = self.known.get(key)?;
        let until = if known.under_way { now + PROMPT_SPACING } else { known.began + PROMPT_SPACING };
        (until > now).then_some(until)
    }

    /// One begins.
    pub fn begin(&mut self, key: RequestKey, now: Moment) {
        let known = self.known.entry(key);
        let known = known.or_insert(Traversed { began: now, under_way: true, unnamed: Unnamed::default() });
        (known.began, known.under_way) = (now, true);
    }

    /// It ended, however. What no object asks for any more is forgotten.
    pub fn end(&mut self, key: &RequestKey) {
        let asked: HashSet<&RequestKey> = self.asked.values().map(|asked| &asked.request).collect();
        self.known.retain(|known, traversed| traversed.under_way || asked.contains(known));
        if let Some(known) = self.known.get_mut(key) {
            known.under_way = false;
        }
    }

    /// What a complete one found that belongs to no object.
    pub fn note_unnamed(&mut self, key: &RequestKey, names: HashSet<String>) {
        if let Some(known) = self.known.get_mut(key) {
            let count = names.len();
            let names: BTreeSet<String> = names.into_iter().collect();
            known.unnamed = Unnamed { count, names: names.into_iter().take(SHOWN_NAMES).collect() };
        }
    }

    /// What all of them found.
    #[must_use]
    pub fn unnamed(&self) -> Unnamed {
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
    use crate::core::fixtures::at;

    fn key(url: &str) -> RequestKey {
        let url = url.parse().unwrap();
        RequestKey::of(&HttpRequest {
            method: http::Method::GET,
            url,
            headers: http::HeaderMap::new(),
            body: None,
            has_chosen_host: false,
            socket: None,
        })
    }

    #[test]
    fn traversals_of_one_request_keep_their_distance() {
        let mut traversals = Traversals::default();
        let (one, other) = (key("http://h/a"), key("http://h/b"));
        assert_eq!(traversals.not_before(&one, at(0).moment), None);
        traversals.begin(one.clone(), at(0).moment);
        assert_eq!(traversals.not_before(&one, at(5).moment), Some(at(6).moment), "one is under way");
        assert_eq!(traversals.not_before(&other, at(0).moment), None);
        traversals.end(&one);
        assert_eq!(traversals.not_before(&one, at(0).moment), Some(at(1).moment));
        assert_eq!(traversals.not_before(&one, at(1).moment), None);
    }

    #[test]
    fn a_request_that_no_object_makes_any_more_is_forgotten() {
        let mut traversals = Traversals::default();
        let (one, other, uid) = (key("http://h/a"), key("http://h/b"), Uid::from("u"));
        let view = Arc::new(Value::Null);
        let asked = |request: &RequestKey| Asked { view: view.clone(), request: request.clone(), name: "x".to_owned() };
        traversals.set_asked(&uid, asked(&one));
        traversals.begin(one.clone(), at(0).moment);
        traversals.note_unnamed(&one, HashSet::from(["y".to_owned()]));
        assert_eq!(traversals.name_within(&uid, &one), Ok(Some("x")));
        assert_eq!(traversals.name_within(&uid, &other), Ok(None), "an entry of that name is none of its own");
        assert_eq!(traversals.name_within(&Uid::from("v"), &one), Err(NotAsked));
        traversals.end(&one);
        traversals.set_asked(&uid, asked(&other));
        traversals.begin(other.clone(), at(1).moment);
        traversals.end(&other);
        assert_eq!(traversals.unnamed().count, 0);
        assert!(traversals.asked_by(&uid, &Arc::new(Value::Null)).is_none(), "another view may ask for something else");
    }

    #[test]
    fn what_belongs_to_no_object_is_counted_over_all_requests() {
        let mut traversals = Traversals::default();
        for (url, names) in [("http://h/a", vec!["x", "y"]), ("http://h/b", vec!["z"])] {
            traversals.begin(key(url), at(0).moment);
            traversals.note_unnamed(&key(url), names.into_iter().map(str::to_owned).collect());
        }
        let unnamed = traversals.unnamed();
        assert_eq!((unnamed.count, unnamed.names.len()), (3, 3));
        traversals.note_unnamed(&key("http://h/a"), HashSet::new());
        assert_eq!(traversals.unnamed().count, 1);
    }
}
