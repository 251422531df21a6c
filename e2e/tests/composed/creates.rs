//! The creates that make another resource each time, and the conditions under which one more is allowed.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use drift_api::identity::Uid;
use drift_api::timing::moment::Moment;

use crate::ledger::Sent;

/// Time after which one more create is allowed without a person.
const REPEATED_AFTER: Duration = Duration::from_secs(3600);

/// A create that was sent.
struct Create {
    at: Moment,
    retry: Option<String>,
    /// Its idempotency key.
    key: String,
    /// True if it was answered with a definite status.
    is_answered: bool,
    /// Number of creates that followed it without a person.
    repeated: u32,
}

/// A create whose result no poll has found yet.
struct OpenCreate {
    target: String,
    resource: String,
    /// True if a create of the object was open before this one.
    was_open: bool,
}

/// The creates by object and resource.
#[derive(Default)]
pub(crate) struct Creates {
    last: HashMap<(Uid, String), Create>,
    /// Resources that a read did not show although they existed.
    hidden: HashSet<String>,
    /// The last create of each object, unless the system refused it.
    open: HashMap<Uid, OpenCreate>,
    /// Targets and objects for which a read was answered with a resource.
    found: (HashSet<String>, HashSet<Uid>),
}

impl Creates {
    /// Records that a read does not show the resource.
    pub(crate) fn note_hidden(&mut self, resource: &str) {
        self.hidden.insert(resource.to_owned());
    }

    /// Records that a read of the target answered with the resource of the object.
    pub(crate) fn note_found(&mut self, target: &str, uid: &Uid) {
        self.found.0.insert(target.to_owned());
        self.found.1.insert(uid.clone());
    }

    /// Records the status of the response to a create. A refused one made nothing.
    pub(crate) fn note_status(&mut self, uid: &Uid, status: u16) {
        if (400..500).contains(&status) {
            self.open.retain(|other, create| other != uid || create.was_open);
        }
    }

    /// Returns another object of the target whose create is open, if no read has found anything yet. `of_target` has the
    /// resources of its objects.
    pub(crate) fn open_beside(&self, uid: &Uid, target: &str, of_target: &HashMap<Uid, String>) -> Option<&Uid> {
        let is_proved = self.found.0.contains(target) || of_target.keys().any(|uid| self.found.1.contains(uid));
        let is_open = |(other, create): &(&Uid, &OpenCreate)| {
            *other != uid && create.target == target && of_target.get(*other) == Some(&create.resource)
        };
        self.open.iter().find(is_open).map(|(other, _)| other).filter(|_| !is_proved)
    }

    /// Returns true if a create may follow the last one although its result may exist.
    pub(crate) fn may_follow(&self, (uid, resource): (&Uid, &str), retry: Option<&str>, at: Moment) -> bool {
        let Some(last) = self.last.get(&(uid.clone(), resource.to_owned())) else { return true };
        let is_late = at.saturating_since(last.at) >= REPEATED_AFTER && last.repeated == 0;
        let is_asked = retry.is_some() && retry != last.retry.as_deref();
        // A read that shows too little proves that an unanswered create made nothing.
        let is_misled = !last.is_answered && self.hidden.contains(resource);
        is_late || is_asked || is_misled
    }

    /// Records the answer of the request with this key.
    pub(crate) fn note_answer(&mut self, key: &str) {
        self.last.values_mut().filter(|last| last.key == key).for_each(|last| last.is_answered = true);
    }

    /// Records a create. `is_second` is true if the result of the last one may exist.
    pub(crate) fn note(&mut self, sent: &Sent<'_>, is_second: bool) {
        let &Sent { asked, resource, key, at, .. } = sent;
        let name = (asked.object.id.uid.clone(), resource.to_owned());
        let retry = asked.object.retry_requested().map(str::to_owned);
        let last = self.last.get(&name).filter(|last| is_second && last.retry == retry);
        let repeated = last.map_or(0, |last| last.repeated + 1);
        let was_open = self.open.contains_key(&name.0);
        let open = OpenCreate { target: asked.target.name.clone(), resource: resource.to_owned(), was_open };
        self.open.insert(name.0.clone(), open);
        self.last.insert(name, Create { at, retry, key: key.to_owned(), is_answered: false, repeated });
    }
}
