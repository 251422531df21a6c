//! One traversal of a collection: its pages, and the observation of each object.
//!
//! Only a complete traversal can show that an entry is missing. Any failure makes every object of the traversal
//! Unknown. This module sends nothing itself.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};

use drift_language::cel::MAX_URL_BYTES;
use drift_language::{Collection, HttpRead, HttpRequest, NextPage, Variables, form_with_fields};
use drift_systems::HttpReply;
use serde_json::{Map, Value};
use url::Url;

use crate::engine::collection::entries::{Entries, Gathering};
use crate::engine::judgement::observation::invalid;
use crate::engine::judgement::{Failure, Observation, ReadRules};
use crate::engine::poll::http_reading::Progress;
use crate::engine::poll::http_reply::judge_page;

/// Maximum pages of one traversal, because a faulty server could name a next page for ever.
const MAX_PAGES: usize = 1_000;

/// Maximum bytes that `next` adds to the body of the first page's request. A cursor has a few hundred.
const MAX_NEXT_BYTES: usize = 64 * 1024;

/// A traversal in progress.
#[derive(Debug)]
pub struct Traversal<'r> {
    read: &'r HttpRead,
    collection: &'r Collection,
    request: HttpRequest,
    /// Fingerprints of the requested pages.
    asked: HashSet<u64>,
    /// Maximum bytes of a request's body.
    max_body: usize,
    gathering: Gathering<'r>,
}

impl<'r> Traversal<'r> {
    /// Creates a traversal for the entries of these names, whose first request is running.
    #[must_use]
    pub fn new(read: &'r HttpRead, collection: &'r Collection, request: HttpRequest, wanted: HashSet<String>) -> Self {
        let asked = HashSet::from([fingerprint(&request)]);
        let max_body = request.body.as_ref().map_or(0, |body| body.len()) + MAX_NEXT_BYTES;
        Self { read, collection, request, asked, max_body, gathering: Gathering::new(&collection.keys, wanted) }
    }

    /// Processes the response to the running request.
    #[must_use]
    pub fn take(&mut self, reply: &HttpReply) -> Progress<Entries> {
        self.advance(reply).unwrap_or_else(|failure| Progress::Done(Err(failure)))
    }

    fn advance(&mut self, reply: &HttpReply) -> Result<Progress<Entries>, Failure> {
        let nobody = Value::Null;
        let response = judge_page(&self.read.first, reply)?;
        let variables = Variables { response: Some(&response), ..Variables::of_object(&nobody) };
        if let Some(valid) = &self.read.valid_when
            && !valid.evaluate_bool(&variables).map_err(|error| invalid(&error))?
        {
            return Err(invalid(&"validWhen is false"));
        }
        for entry in self.collection.entries(&response).map_err(|error| invalid(&error))? {
            self.gathering.take(entry)?;
        }
        let Some(next) = self.next(reply, &variables)? else {
            return Ok(Progress::Done(Ok(self.gathering.finish())));
        };
        match next {
            Next::At(written) => self.request.url = self.next_url(&written)?,
            Next::With(fields) => self.set_fields(&fields)?,
        }
        if !self.asked.insert(fingerprint(&self.request)) {
            return Err(invalid(&"next repeats a page"));
        }
        if self.asked.len() > MAX_PAGES {
            return Err(invalid(&"too many pages"));
        }
        Ok(Progress::Ask(Box::new(self.request.clone())))
    }

    /// Returns the difference of the request for the next page. `None` after the last page.
    fn next(&self, reply: &HttpReply, variables: &Variables<'_>) -> Result<Option<Next>, Failure> {
        match &self.collection.next {
            // The target treats the first page as the complete collection, so entries of other pages would seem
            // to be missing.
            NextPage::None if next_of_link(reply)?.is_some() => {
                Err(invalid(&"there is a next page, and the target has no next"))
            }
            NextPage::None => Ok(None),
            NextPage::Link => Ok(next_of_link(reply)?.map(Next::At)),
            NextPage::At(rule) => match rule.evaluate(variables).map_err(|error| invalid(&error))? {
                None | Some(Value::Null) => Ok(None),
                Some(Value::String(text)) if text.is_empty() => Ok(None),
                Some(Value::String(text)) => Ok(Some(Next::At(text))),
                Some(Value::Object(fields)) => Ok(Some(Next::With(fields))),
                Some(_) => Err(invalid(&"next is no text and no map")),
            },
        }
    }

    /// Returns the URL of the next page. It must have the same origin, and respect the length limit of template URLs.
    fn next_url(&self, written: &str) -> Result<Url, Failure> {
        let mut url = self.request.url.join(written).map_err(|_| invalid(&"next is no URL"))?;
        url.set_fragment(None);
        let has_userinfo = !url.username().is_empty() || url.password().is_some();
        if url.origin() != self.request.url.origin() || has_userinfo {
            return Err(invalid(&"next leads to another origin"));
        }
        if url.as_str().len() > MAX_URL_BYTES {
            return Err(invalid(&format_args!("next is longer than {MAX_URL_BYTES} bytes")));
        }
        Ok(url)
    }

    /// Sets fields of the body. Without a body, sets fields of the query.
    fn set_fields(&mut self, fields: &Map<String, Value>) -> Result<(), Failure> {
        if let Some(body) = &self.read.first.request.body {
            let sent = self.request.body.as_deref().unwrap_or_default();
            let body = body.with_fields(sent, fields).map_err(|cause| invalid(&cause))?;
            if body.len() > self.max_body {
                return Err(invalid(&format_args!("next makes the body more than {MAX_NEXT_BYTES} bytes larger")));
            }
            self.request.body = Some(body);
            return Ok(());
        }
        let sent = self.request.url.query().unwrap_or_default();
        let query = form_with_fields(sent.as_bytes(), fields).map_err(|cause| invalid(&cause))?;
        self.request.url = self.next_url(&format!("?{query}"))?;
        Ok(())
    }
}

/// The difference of the request for the next page.
enum Next {
    /// Another URL.
    At(String),
    /// Other fields of the body or of the query.
    With(Map<String, Value>),
}

/// Identifies a request of the traversal. Equal fingerprints of different requests end it with an error, no more.
fn fingerprint(request: &HttpRequest) -> u64 {
    let mut hasher = DefaultHasher::new();
    (request.url.as_str(), &request.body).hash(&mut hasher);
    hasher.finish()
}

/// Returns the observation of one object's entry.
///
/// # Errors
/// Returns the reason why the observation is unknown.
pub fn observe_item(read: &HttpRead, object: &Value, item: &Value) -> Result<Observation, Failure> {
    let variables = Variables { item: Some(item), ..Variables::of_object(object) };
    let rules = ReadRules {
        absent_when: read.collection.as_ref().and_then(|collection| collection.absent_when.as_ref()),
        // The rule was already evaluated for the page of the entry.
        valid_when: None,
        settling_when: read.settling_when.as_ref(),
        observed: &read.observed,
    };
    rules.observe(&variables)
}

/// Returns the target of `rel="next"` in the `Link` headers. An unreadable header might contain it, so it is an error.
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

/// Returns true if a parameter of a link marks the next page.
fn is_next(parameter: &str) -> bool {
    let Some((name, value)) = parameter.split_once('=') else { return false };
    name.trim().eq_ignore_ascii_case("rel")
        && value.trim().trim_matches('"').split_ascii_whitespace().any(|word| word.eq_ignore_ascii_case("next"))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests;
