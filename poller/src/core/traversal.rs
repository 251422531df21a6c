//! One traversal of a collection: page after page, and what they say together of each object.
//!
//! Only a complete one may say that something is missing; whatever goes wrong on the way leaves every object of the
//! traversal unknown. It sends nothing itself and must not know how an answer came.

use std::collections::{HashMap, HashSet};

use drift_model::http_request::HttpRequest;
use drift_outside::HttpReply;
use drift_target::cel::{EvaluationError, Variables};
use drift_target::{Collection, HttpRead, NextPage};
use serde_json::Value;
use url::Url;

use super::finding::Failure;
use super::reading::Progress;
use super::reply::{Judged, Observation, invalid, judge};

/// Pages of one traversal: a server that always names another would be asked for ever.
const MAX_PAGES: usize = 1_000;
/// Memory that the entries of one traversal may take, bytes: their names, and those that objects asked for as values. An
/// eighth of what a program may use in the manifests, room for 100,000 names and 10,000 entries of some fields.
const MAX_KEPT_BYTES: usize = 16 * 1024 * 1024;
/// What a value takes beside its text, bytes.
const NODE_BYTES: usize = 64;

/// A traversal under way.
#[derive(Debug)]
pub struct Traversal<'r> {
    read: &'r HttpRead,
    collection: &'r Collection,
    request: HttpRequest,
    /// The pages that were asked for.
    asked: HashSet<String>,
    /// What objects call their entries.
    wanted: HashSet<String>,
    entries: Entries,
    /// Bytes that the entries take.
    kept: usize,
}

/// The entries of a collection that was gone through to its end.
#[derive(Debug, Default)]
pub struct Entries {
    /// Those that objects asked for, by name.
    found: HashMap<String, Value>,
    /// The names of all.
    pub names: HashSet<String>,
    /// Names that stand several times.
    repeated: HashSet<String>,
}

impl<'r> Traversal<'r> {
    /// A traversal whose first request is under way, for the entries of these names.
    #[must_use]
    pub fn new(read: &'r HttpRead, collection: &'r Collection, request: HttpRequest, wanted: HashSet<String>) -> Self {
        let asked = HashSet::from([request.url.to_string()]);
        Self { read, collection, request, asked, wanted, entries: Entries::default(), kept: 0 }
    }

    /// Takes in the answer to the request under way.
    #[must_use]
    pub fn take(&mut self, reply: &HttpReply) -> Progress<Entries> {
        self.advance(reply).unwrap_or_else(|failure| Progress::Done(Err(failure)))
    }

    fn advance(&mut self, reply: &HttpReply) -> Result<Progress<Entries>, Failure> {
        let nobody = Value::Null;
        let response = match judge(&self.read.first, reply, &Variables::of_object(&nobody))? {
            Judged::Answered(response) => response,
            // A page has no rule for absence.
            Judged::Absent => return Err(invalid(&"a page is missing")),
        };
        let variables = Variables { response: Some(&response), ..Variables::of_object(&nobody) };
        if let Some(valid) = &self.read.valid_when
            && !valid.evaluate_bool(&variables).map_err(|error| invalid(&error))?
        {
            return Err(invalid(&"validWhen is false"));
        }
        for entry in self.collection.entries(&response).map_err(|error| invalid(&error))? {
            self.take_entry(entry)?;
        }
        match self.next_url(reply, &variables)? {
            None => Ok(Progress::Done(Ok(std::mem::take(&mut self.entries)))),
            Some(url) => {
                self.request.url = url;
                Ok(Progress::Ask(Box::new(self.request.clone())))
            }
        }
    }

    fn take_entry(&mut self, entry: Value) -> Result<(), Failure> {
        let name = self.collection.key_of_item(&entry).map_err(|error| invalid(&error))?;
        if self.entries.names.contains(&name) {
            self.entries.repeated.insert(name);
            return Ok(());
        }
        let is_wanted = self.wanted.contains(&name);
        self.kept += NODE_BYTES + name.len() + if is_wanted { bytes_of(&entry) } else { 0 };
        if self.kept > MAX_KEPT_BYTES {
            return Err(invalid(&"the entries take too much memory"));
        }
        if is_wanted {
            self.entries.found.insert(name.clone(), entry);
        }
        self.entries.names.insert(name);
        Ok(())
    }

    /// Where the next page is: never at another origin, and never a page that was there already.
    fn next_url(&mut self, reply: &HttpReply, variables: &Variables<'_>) -> Result<Option<Url>, Failure> {
        let written = match &self.collection.next {
            // What the target takes for all is a first part: what stands on the others would seem to be missing.
            NextPage::None if next_of_link(reply)?.is_some() => {
                return Err(invalid(&"there is a next page, and the target has no next"));
            }
            NextPage::None => None,
            NextPage::Link => next_of_link(reply)?,
            NextPage::At(rule) => match rule.evaluate(variables).map_err(|error| invalid(&error))? {
                None | Some(Value::Null) => None,
                Some(Value::String(text)) if text.is_empty() => None,
                Some(Value::String(text)) => Some(text),
                Some(_) => return Err(invalid(&"next is no text")),
            },
        };
        let Some(written) = written else { return Ok(None) };
        let mut url = self.request.url.join(&written).map_err(|_| invalid(&"next is no URL"))?;
        url.set_fragment(None);
        let has_userinfo = !url.username().is_empty() || url.password().is_some();
        if url.origin() != self.request.url.origin() || has_userinfo {
            return Err(invalid(&"next leads to another origin"));
        }
        if !self.asked.insert(url.to_string()) {
            return Err(invalid(&"next repeats a page"));
        }
        if self.asked.len() > MAX_PAGES {
            return Err(invalid(&"too many pages"));
        }
        Ok(Some(url))
    }
}

impl Entries {
    /// What a complete traversal says of the object whose entry has that name.
    #[must_use]
    pub fn observe(&self, read: &HttpRead, object: &Value, name: &str) -> Observation {
        self.look_up(read, object, name).unwrap_or_else(Observation::Failed)
    }

    fn look_up(&self, read: &HttpRead, object: &Value, name: &str) -> Result<Observation, Failure> {
        if self.repeated.contains(name) {
            return Err(invalid(&"its key stands twice"));
        }
        let Some(item) = self.found.get(name) else {
            // Which of the two is the missing one under a wrong name cannot be told.
            let spoiled = !self.repeated.is_empty();
            return if spoiled { Err(invalid(&"a key stands twice")) } else { Ok(Observation::Absent) };
        };
        let variables = Variables { item: Some(item), ..Variables::of_object(object) };
        let failed = |error: EvaluationError| invalid(&error);
        let collection = read.collection.as_ref();
        if let Some(absent) = collection.and_then(|collection| collection.absent_when.as_ref())
            && absent.evaluate_bool(&variables).map_err(failed)?
        {
            return Ok(Observation::Absent);
        }
        if let Some(settling) = &read.settling_when
            && settling.evaluate_bool(&variables).map_err(failed)?
        {
            return Err(Failure::of(drift_model::condition::ObservedReason::Settling));
        }
        read.observed.render(&variables).map(Observation::Present).map_err(failed)
    }
}

/// About what a value takes in memory.
fn bytes_of(value: &Value) -> usize {
    NODE_BYTES
        + match value {
            Value::String(text) => text.len(),
            Value::Array(items) => items.iter().map(bytes_of).sum(),
            Value::Object(fields) => fields.iter().map(|(name, field)| NODE_BYTES + name.len() + bytes_of(field)).sum(),
            Value::Null | Value::Bool(_) | Value::Number(_) => 0,
        }
}

/// The target of `rel="next"` in the headers `Link`. One that cannot be read might be it, so nothing is known then.
fn next_of_link(reply: &HttpReply) -> Result<Option<String>, Failure> {
    let unreadable = || invalid(&"the header Link cannot be read");
    for value in reply.headers.get_all(http::header::LINK) {
        let line = value.to_str().map_err(|_| unreadable())?;
        for link in line.split('<').skip(1) {
            let (target, parameters) = link.split_once('>').ok_or_else(unreadable)?;
            if parameters.split([';', ',']).any(is_next) {
                return Ok(Some(target.to_owned()));
            }
        }
    }
    Ok(None)
}

/// Whether a parameter of a link says that it leads to the next page.
fn is_next(parameter: &str) -> bool {
    let Some((name, value)) = parameter.split_once('=') else { return false };
    name.trim().eq_ignore_ascii_case("rel")
        && value.trim().trim_matches('"').split_ascii_whitespace().any(|word| word.eq_ignore_ascii_case("next"))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests;
