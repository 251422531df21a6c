//! An external system as a value: resources by identity, a log of writes, and faults.
//!
//! It knows who made each resource, which the programs cannot see.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use drift_api::identity::Uid;
use drift_api::timing::moment::Moment;
use drift_controller::engine::corrections::claim::Action;
use drift_controller::engine::corrections::correction::Correction;
use drift_language::HttpRequest;
use drift_systems::{HttpReply, ReplyBody};
use http::{HeaderMap, Method, StatusCode};
use serde_json::{Value, json};

use crate::jobs::Work;
use crate::targets::{HOST_ELSEWHERE, key_of};

/// The end of a call to the external system or the API server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Fault {
    #[default]
    None,
    LostBefore,
    LostAfter,
    /// The answer is lost, and a POST takes effect only after [`LATE`].
    Late,
    ServerError,
    Unauthorized,
    Forbidden,
    RateLimited,
    Refused,
    Maintenance,
    Empty,
    Page,
}

/// Time after which a late request takes effect: less than the 30 s for which absence must last after an unknown result.
const LATE: Duration = Duration::from_secs(25);

/// All faults. The first means no fault.
pub(crate) const FAULTS: [Fault; 12] = [
    Fault::None,
    Fault::LostBefore,
    Fault::LostAfter,
    Fault::Late,
    Fault::ServerError,
    Fault::Unauthorized,
    Fault::Forbidden,
    Fault::RateLimited,
    Fault::Refused,
    Fault::Maintenance,
    Fault::Empty,
    Fault::Page,
];

/// A resource. `made_by` is the object whose correction made or adopted it, or `None` if it is foreign.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Resource {
    pub(crate) value: i64,
    pub(crate) made_by: Option<Uid>,
    /// The version of the last sent Secret, or `None` after a foreign write. No read returns it.
    pub(crate) password: Option<u32>,
    /// A request of ours made it, and no poll has read it since.
    pub(crate) is_unread: bool,
    /// Its number among all resources that were made.
    pub(crate) incarnation: usize,
}

impl Resource {
    /// Returns the body of a read. The zone is a part of the value that only some targets look at.
    fn shown(&self) -> Value {
        json!({"value": self.value, "zone": self.value.rem_euclid(2), "incarnation": self.incarnation})
    }
}

/// The answers of a system that is out of order. `Fault::None` for a good one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Answers {
    pub(crate) reads: Fault,
    pub(crate) writes: Fault,
    pub(crate) deletions: Fault,
}

impl Answers {
    const fn to(self, method: &Method) -> Fault {
        match *method {
            Method::DELETE => self.deletions,
            _ => self.writes,
        }
    }

    /// Returns true if every write is accepted and changes nothing.
    fn ignore_writes(self) -> bool {
        self.writes == Fault::Maintenance
    }
}

/// A request that writes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Written {
    pub(crate) method: Method,
    pub(crate) resource: String,
    pub(crate) key: String,
}

/// The external system.
#[derive(Clone, Debug, Default)]
pub(crate) struct Outside {
    pub(crate) resources: BTreeMap<String, Resource>,
    /// Objects that may have made the resource of that name, as far as an observer can tell.
    pub(crate) may_have_made: BTreeSet<(Uid, String)>,
    /// The end of each request that has no other fault.
    pub(crate) answers: Answers,
    /// The controller's credential is rejected.
    pub(crate) refuses_credential: bool,
    pub(crate) writes: usize,
    /// Number of polls.
    pub(crate) reads: usize,
    /// All requests that write, in order.
    pub(crate) sent: Vec<Written>,
    /// Resources that reads still find and that no write finds at its address.
    pub(crate) moved: BTreeSet<String>,
    /// A deletion is always accepted, and never answered as done.
    pub(crate) never_done: bool,
    /// Resources that no read shows, as if its credential might not see them.
    pub(crate) hidden: BTreeSet<String>,
    /// Number of creates of such a resource, all refused because it exists.
    pub(crate) contradicted: usize,
    /// Deleted resources, each with the object of the request.
    pub(crate) taken: BTreeMap<String, Uid>,
    /// Number of resources that were made.
    made: usize,
    /// Requests that have not taken effect yet.
    late: Vec<LateRequest>,
    /// Resources that another party made while a create of them was still under way. Who deletes such a resource cannot
    /// know of that create.
    made_meanwhile: BTreeSet<String>,
    /// Resources that a POST made, with the object of the request.
    posted: BTreeSet<(Uid, String)>,
}

/// A request that takes effect later.
#[derive(Clone, Debug)]
struct LateRequest {
    at: Moment,
    request: HttpRequest,
    uid: Uid,
}

/// Returns the key of the resource that a request is for.
pub(crate) fn resource_of(request: &HttpRequest) -> String {
    let name = request.url.path().rsplit('/').next().unwrap_or_default();
    format!("{}{name}", system_of(request))
}

/// Returns the beginning of the keys in the external system that a request is for.
pub(crate) fn system_of(request: &HttpRequest) -> String {
    match request.url.host_str() {
        Some(HOST_ELSEWHERE) => "elsewhere/".to_owned(),
        _ => String::new(),
    }
}

impl Outside {
    /// Returns a resource as reads show it.
    pub(crate) fn shown(&self, identity: &str) -> Option<&Resource> {
        self.resources.get(identity).filter(|_| !self.hidden.contains(identity))
    }

    /// Records that a poll has read the resource.
    pub(crate) fn note_read(&mut self, identity: &str) {
        if let Some(resource) = self.resources.get_mut(identity).filter(|_| !self.hidden.contains(identity)) {
            resource.is_unread = false;
        }
    }

    /// Returns true if deletions are accepted and change nothing.
    pub(crate) fn ignores_deletions(&self) -> bool {
        self.answers.deletions == Fault::Maintenance
    }

    /// Answers a read. `None` means no response.
    pub(crate) fn read(&self, identity: &str, fault: Fault) -> Option<HttpReply> {
        let (status, body) = match fault {
            Fault::LostBefore | Fault::LostAfter | Fault::Late => return None,
            Fault::ServerError => (503, String::new()),
            Fault::Unauthorized => (401, String::new()),
            Fault::Forbidden => (403, String::new()),
            Fault::RateLimited => (429, String::new()),
            Fault::Refused => (400, "{}".to_owned()),
            Fault::Maintenance => (200, json!({"error": "maintenance"}).to_string()),
            Fault::Empty => (200, "{}".to_owned()),
            Fault::Page => (404, "<html>no such page</html>".to_owned()),
            Fault::None => match self.shown(identity) {
                Some(resource) => (200, resource.shown().to_string()),
                None => (404, String::new()),
            },
        };
        let status = StatusCode::from_u16(status).unwrap_or_default();
        Some(HttpReply { status, headers: HeaderMap::new(), body: ReplyBody::Whole(body.into_bytes()) })
    }

    /// Answers the read of a page, which has one resource and names the next page. The last page ends with the fault.
    /// `None` means no response.
    pub(crate) fn page(&self, system: &str, after: Option<&str>, fault: Fault) -> Option<HttpReply> {
        let after = after.and_then(|query| query.strip_prefix("after=")).unwrap_or_default();
        let is_of = |key: &&String| key.starts_with(system) && (!system.is_empty() || !key.contains('/'));
        let mut names = self.resources.keys().filter(is_of).filter(|key| self.shown(key).is_some());
        let name = names.clone().map(|key| &key[system.len()..]).find(|name| *name > after);
        let next = name.and_then(|name| names.find(|key| &key[system.len()..] > name).map(|_| name));
        if next.is_none() && fault != Fault::None {
            return self.read("", fault);
        }
        let items = name.map(|name| {
            let mut item = self.shown(&format!("{system}{name}")).map(Resource::shown).unwrap_or_default();
            item["name"] = json!(name);
            item
        });
        let mut body = json!({"items": Vec::from_iter(items)});
        if let Some(next) = next {
            body["next"] = json!(format!("/things?after={next}"));
        }
        let (status, headers, body) = (StatusCode::OK, HeaderMap::new(), body.to_string().into_bytes());
        Some(HttpReply { status, headers, body: ReplyBody::Whole(body) })
    }

    /// Performs a write for the object. Returns the status of the response, or `None` without one.
    pub(crate) fn write(&mut self, request: &HttpRequest, uid: &Uid, (fault, now): (Fault, Moment)) -> Option<u16> {
        self.writes += 1;
        let key = request.headers.get("idempotency-key").and_then(|key| key.to_str().ok()).unwrap_or_default();
        let (method, resource, key) = (request.method.clone(), resource_of(request), key.to_owned());
        self.sent.push(Written { method, resource, key });
        if self.refuses_credential {
            return Some(401);
        }
        let fault = if fault == Fault::None { self.answers.to(&request.method) } else { fault };
        let answer = match fault {
            Fault::LostBefore => None,
            Fault::Late if request.method == Method::POST => {
                self.late.push(LateRequest { at: now + LATE, request: request.clone(), uid: uid.clone() });
                None
            }
            Fault::LostAfter | Fault::Late => {
                self.apply(request, uid);
                None
            }
            Fault::ServerError => Some(502),
            Fault::Unauthorized => Some(401),
            Fault::Forbidden => Some(403),
            Fault::RateLimited => Some(429),
            Fault::Refused => Some(409),
            Fault::Maintenance | Fault::Empty => Some(200),
            Fault::Page => Some(404),
            Fault::None => Some(self.apply(request, uid)),
        };
        let certain =
            matches!(fault, Fault::Unauthorized | Fault::Forbidden | Fault::RateLimited | Fault::Refused | Fault::Page);
        let refused = answer.is_some_and(|status| (400..500).contains(&status));
        if request.method != Method::DELETE && !(certain || refused) {
            let identity = resource_of(request);
            // Foreign resources made since the last poll are indistinguishable from the result of this request.
            self.adopt(&identity, uid);
        }
        answer
    }

    /// Lets late requests take effect. Returns the resources that they made, with their objects, as far as a deletion in
    /// between could know of them.
    pub(crate) fn land(&mut self, now: Moment) -> Vec<(Uid, String)> {
        let (due, late): (Vec<_>, _) = std::mem::take(&mut self.late).into_iter().partition(|late| late.at <= now);
        self.late = late;
        let mut made = Vec::new();
        for LateRequest { request, uid, .. } in due {
            let resource = resource_of(&request);
            let is_hidden = self.made_meanwhile.remove(&resource);
            if self.apply(&request, &uid) == 201 && !is_hidden {
                made.push((uid, resource));
            }
        }
        made
    }

    /// Returns true if an earlier create for the object made the resource, or may still do so.
    pub(crate) fn has_create_of(&self, uid: &Uid, identity: &str) -> bool {
        let is_made =
            self.posted.contains(&(uid.clone(), identity.to_owned())) && self.resources.contains_key(identity);
        is_made || self.late.iter().any(|late| late.uid == *uid && resource_of(&late.request) == identity)
    }

    fn apply(&mut self, request: &HttpRequest, uid: &Uid) -> u16 {
        let identity = resource_of(request);
        let body = request.body.as_deref().and_then(|body| serde_json::from_slice::<Value>(body).ok());
        let value = body.as_ref().and_then(|body| body["value"].as_i64()).unwrap_or_default();
        let password = body.and_then(|body| body["password"].as_str()?.parse().ok());
        match (request.method.as_str(), self.resources.get_mut(&identity)) {
            ("POST", Some(_)) => {
                self.contradicted += usize::from(self.hidden.contains(&identity));
                409
            }
            (_, Some(_)) if self.moved.contains(&identity) => 404,
            ("POST", None) => {
                self.taken.remove(&identity);
                self.posted.retain(|(_, made)| *made != identity);
                self.posted.insert((uid.clone(), identity.clone()));
                let made_by = Some(uid.clone());
                self.made += 1;
                let made = Resource { value, made_by, password, is_unread: true, incarnation: self.made };
                self.resources.insert(identity, made);
                201
            }
            ("PUT", Some(resource)) => {
                let made_by = Some(uid.clone());
                *resource = Resource { value, made_by, password, ..*resource };
                200
            }
            ("DELETE", Some(_)) => {
                self.resources.remove(&identity);
                self.taken.insert(identity, uid.clone());
                if self.never_done { 202 } else { 204 }
            }
            ("DELETE", None) if self.never_done => 202,
            _ => 404,
        }
    }

    /// Records that a Job was created. It may write at any time, so foreign resources are indistinguishable from its
    /// results.
    pub(crate) fn may_come_of(&mut self, correction: &Correction, uid: &Uid) {
        if correction.action == Action::Delete {
            return;
        }
        let resource = key_of(&correction.resource);
        if let Some(resource) = self.resources.get_mut(&resource) {
            resource.made_by = Some(uid.clone());
        }
        self.may_have_made.insert((uid.clone(), resource));
    }

    /// Performs the work of a Job's Pod. `has` means that its object owns the resource. Returns true if it succeeded.
    pub(crate) fn run(&mut self, work: &Work, uid: &Uid, has: bool) -> bool {
        if self.refuses_credential {
            return false;
        }
        self.writes += 1;
        if self.answers.ignore_writes() {
            return true;
        }
        // A removed note does not change who made the resource.
        let has = has || self.may_have_made.contains(&(uid.clone(), work.resource.clone()));
        let made_by = has.then(|| uid.clone());
        match (work.action.as_str(), self.resources.get_mut(&work.resource)) {
            ("delete", _) => drop(self.resources.remove(&work.resource)),
            ("create", None) => {
                self.taken.remove(&work.resource);
                self.made += 1;
                let (value, incarnation) = (work.value, self.made);
                let made = Resource { value, made_by, password: None, is_unread: true, incarnation };
                self.resources.insert(work.resource.clone(), made);
            }
            ("update", Some(resource)) => {
                resource.value = work.value;
                resource.made_by = resource.made_by.take().or(made_by);
            }
            _ => return false,
        }
        true
    }

    /// Makes a foreign resource unless it exists. `claimants` are the existing objects, the owners first.
    pub(crate) fn make(&mut self, identity: &str, value: i64, claimants: &[Uid]) {
        if self.late.iter().any(|late| resource_of(&late.request) == identity) {
            self.made_meanwhile.insert(identity.to_owned());
        }
        // If an object has a claim and its creation may have succeeded, the maker is unknown. The claim counts.
        let may_have_made = |uid: &&Uid| self.may_have_made.contains(&((*uid).clone(), identity.to_owned()));
        let made_by = claimants.iter().find(may_have_made).cloned();
        self.taken.remove(identity);
        if !self.resources.contains_key(identity) {
            self.posted.retain(|(_, made)| made != identity);
            self.made += 1;
        }
        self.resources.entry(identity.to_owned()).or_insert(Resource {
            value,
            made_by,
            password: None,
            is_unread: false,
            incarnation: self.made,
        });
    }

    /// The object adopts the foreign resource, as the target allows. This includes resources of objects without a
    /// claim, and foreign replacements, because a claim applies to a name. Another check covers two claims of one
    /// resource.
    pub(crate) fn adopt(&mut self, identity: &str, uid: &Uid) {
        if let Some(resource) = self.resources.get_mut(identity) {
            resource.made_by = Some(uid.clone());
        }
        self.may_have_made.insert((uid.clone(), identity.to_owned()));
    }

    /// The process dies while the object claims the resource. If a correction `is_begun`, foreign resources made since
    /// the claim are indistinguishable from its result.
    pub(crate) fn doubt(&mut self, identity: &str, uid: &Uid, is_begun: bool) {
        self.may_have_made.insert((uid.clone(), identity.to_owned()));
        if let Some(resource) = self.resources.get_mut(identity).filter(|_| is_begun) {
            resource.made_by.get_or_insert_with(|| uid.clone());
        }
    }

    /// The object no longer has a claim, so its resources count as foreign.
    pub(crate) fn disown(&mut self, uid: &str) {
        self.may_have_made.retain(|(owner, _)| &**owner != uid);
        for resource in self.resources.values_mut().filter(|resource| resource.made_by.as_deref() == Some(uid)) {
            resource.made_by = None;
        }
    }
}
