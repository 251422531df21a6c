//! One traversal of a collection: its pages, and the observation of each object.
//!
//! Only a complete traversal can show that an entry is missing. Any failure makes every object of the traversal
//! Unknown. This module sends nothing itself.

use std::collections::HashSet;

use drift_api::requests::http_request::HttpRequest;
use drift_language::cel::{MAX_URL_BYTES, Variables};
use drift_language::{Collection, HttpRead, NextPage};
use drift_systems::HttpReply;
use serde_json::Value;
use url::Url;

use crate::engine::collection::entries::{Entries, Gathering};
use crate::engine::judgement::finding::Failure;
use crate::engine::judgement::observation::{Observation, ReadRules, invalid};
use crate::engine::poll::http_reading::Progress;
use crate::engine::poll::http_reply::judge_page;

/// Maximum pages of one traversal, because a faulty server could name a next page for ever.
const MAX_PAGES: usize = 1_000;

/// A traversal in progress.
#[derive(Debug)]
pub struct Traversal<'r> {
    read: &'r HttpRead,
    collection: &'r Collection,
    request: HttpRequest,
    /// URLs of the requested pages.
    asked: HashSet<String>,
    gathering: Gathering<'r>,
}

impl<'r> Traversal<'r> {
    /// Creates a traversal for the entries of these names, whose first request is running.
    #[must_use]
    pub fn new(read: &'r HttpRead, collection: &'r Collection, request: HttpRequest, wanted: HashSet<String>) -> Self {
        let asked = HashSet::from([request.url.to_string()]);
        Self { read, collection, request, asked, gathering: Gathering::new(&collection.keys, wanted) }
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
        match self.next_url(reply, &variables)? {
            None => Ok(Progress::Done(Ok(self.gathering.finish()))),
            Some(url) => {
                self.request.url = url;
                Ok(Progress::Ask(Box::new(self.request.clone())))
            }
        }
    }

    /// Returns the URL of the next page. It must have the same origin, respect the length limit of template URLs, and
    /// differ from earlier pages.
    fn next_url(&mut self, reply: &HttpReply, variables: &Variables<'_>) -> Result<Option<Url>, Failure> {
        let written = match &self.collection.next {
            // The target treats the first page as the complete collection, so entries of other pages would seem
            // to be missing.
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
        if url.as_str().len() > MAX_URL_BYTES {
            return Err(invalid(&format_args!("next is longer than {MAX_URL_BYTES} bytes")));
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
