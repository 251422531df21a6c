//! Reads a collection of the API server in pages.
//!
//! Pages limit the memory of a list, in bytes instead of objects, whose sizes differ a thousandfold. The sizes in the
//! last page determine the number of objects in the next. A page that is too large is discarded and requested again
//! with fewer objects.

use std::collections::VecDeque;

use kube::api::ListParams;
use kube::core::Request;

use crate::client;
use crate::client::decode::parse_list;
use crate::client::{CallError, Decode, LIST_DEADLINE, LeanObjects, MAX_ANSWER_BYTES, ResolvedKind};
use drift_api::object::field_paths::FieldPaths;
use drift_api::object::{LeanObject, SeenObject};

/// Objects in the first page of a list, and the maximum of any page, the same as in kubectl and controllers.
const MOST_OBJECTS: u32 = 500;

/// Target size of a page: 500 ordinary objects, and a quarter of the maximum response, because sizes differ.
const PAGE_BYTES: usize = MAX_ANSWER_BYTES / 4;

/// Divisor of the number of objects after a page that was too large.
const TOO_LARGE_FACTOR: u32 = 8;

/// One list, page by page.
pub(crate) struct Pages<K> {
    client: kube::Client,
    request: Request,
    label_selector: Option<String>,
    decode: K,
    next: Next,
    limit: u32,
}

/// The continue token.
#[derive(Clone)]
enum Next {
    First,
    Token(String),
    Ended,
}

/// One page of a list.
pub(crate) struct Page<T> {
    /// The decoded objects.
    pub(crate) items: Vec<T>,
    /// The version of the list, from which a watch can start.
    pub(crate) version: String,
}

impl<K: Decode> Pages<K> {
    /// Creates a list of `path`. No request is sent yet.
    pub(crate) fn new(client: kube::Client, path: &str, label_selector: Option<String>, decode: K) -> Self {
        Self { client, request: Request::new(path), label_selector, decode, next: Next::First, limit: MOST_OBJECTS }
    }

    /// Reads the next page. `None` after the last. After an error, the list must start over.
    pub(crate) async fn next(&mut self) -> Result<Option<Page<K::Object>>, CallError> {
        let continue_token = match std::mem::replace(&mut self.next, Next::Ended) {
            Next::Ended => return Ok(None),
            Next::First => None,
            Next::Token(token) => Some(token),
        };
        let bytes = self.read(continue_token).await?;
        let answer = parse_list(&self.decode, &bytes).map_err(client::not_asked_for)?;
        self.limit = next_limit(answer.items.len(), bytes.len());
        if let Some(token) = answer.metadata.next.filter(|token| !token.is_empty()) {
            self.next = Next::Token(token);
        }
        Ok(Some(Page { items: answer.items, version: answer.metadata.resource_version }))
    }

    /// Reads the bytes of one page, with fewer objects if it was too large.
    async fn read(&mut self, continue_token: Option<String>) -> Result<Vec<u8>, CallError> {
        loop {
            let parameters = ListParams {
                label_selector: self.label_selector.clone(),
                limit: Some(self.limit),
                continue_token: continue_token.clone(),
                ..ListParams::default()
            };
            let request = match K::METADATA_ONLY {
                true => self.request.list_metadata(&parameters),
                false => self.request.list(&parameters),
            };
            match client::read_bytes(&self.client, LIST_DEADLINE, request?, MAX_ANSWER_BYTES).await {
                Err(CallError::TooLarge(_)) if self.limit > 1 => self.limit = (self.limit / TOO_LARGE_FACTOR).max(1),
                other => return other,
            }
        }
    }
}

/// One pass over the objects of a kind.
pub struct ObjectPages {
    lists: VecDeque<Pages<LeanObjects>>,
}

impl ObjectPages {
    /// Creates a pass over these namespaces (empty: all) that keeps `fields` of each object. No request is sent yet.
    #[must_use]
    pub fn new(client: &kube::Client, kind: &ResolvedKind, namespaces: &[String], fields: FieldPaths) -> Self {
        let decode = LeanObjects::new(kind.clone(), fields);
        let paths = kind.paths(namespaces).into_iter();
        let lists = paths.map(|path| Pages::new(client.clone(), &path, None, decode.clone())).collect();
        Self { lists }
    }

    /// Lets the API server select by labels, in kubectl's syntax. The empty text selects everything.
    #[must_use]
    pub fn selecting(mut self, labels: &str) -> Self {
        for list in &mut self.lists {
            list.label_selector = (!labels.is_empty()).then(|| labels.to_owned());
        }
        self
    }

    /// Reads the next page, which may be empty. `None` after the last.
    ///
    /// # Errors
    /// Fails if the API server does not answer or refuses. The pass must then start over.
    pub async fn next(&mut self) -> Result<Option<Vec<LeanObject>>, CallError> {
        let page = self.next_seen().await?;
        Ok(page.map(|page| page.into_iter().map(|seen| seen.object).collect()))
    }

    /// Reads the next page, including the labels of each object.
    ///
    /// # Errors
    /// Same as [`Self::next`].
    pub async fn next_seen(&mut self) -> Result<Option<Vec<SeenObject>>, CallError> {
        while let Some(list) = self.lists.front_mut() {
            match list.next().await? {
                Some(page) => return Ok(Some(page.items)),
                None => _ = self.lists.pop_front(),
            }
        }
        Ok(None)
    }
}

/// Returns the limit for the next page, from the objects and bytes of the last one.
fn next_limit(items: usize, bytes: usize) -> u32 {
    let each = (bytes / items.max(1)).max(1);
    u32::try_from(PAGE_BYTES / each).unwrap_or(MOST_OBJECTS).clamp(1, MOST_OBJECTS)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::client::WholeObjects;
    use crate::client::fake_api::{Sent, answering, reply};
    use serde_json::{Value, json};

    /// Returns a number in a query string.
    fn parameter(sent: &Sent, name: &str) -> Option<usize> {
        let (_, rest) = sent.uri.split_once(&format!("&{name}="))?;
        rest.split('&').next()?.parse().ok()
    }

    #[tokio::test]
    async fn pages_of_large_objects_have_few() {
        const SIZE: usize = 1024 * 1024;
        let (client, log) = answering(|sent| {
            let from = parameter(sent, "continue").unwrap_or(0);
            let until = (from + parameter(sent, "limit").unwrap()).min(40);
            let object = |number: usize| json!({"metadata": {"name": number.to_string()}, "spec": "x".repeat(SIZE)});
            let items: Vec<Value> = (from..until).map(object).collect();
            let next = if until < 40 { until.to_string() } else { String::new() };
            reply(200, &json!({"items": items, "metadata": {"resourceVersion": "7", "continue": next}}))
        });
        let mut pages = Pages::new(client, "/api/v1/things", None, WholeObjects);
        let mut names: Vec<usize> = Vec::new();
        while let Some(page) = pages.next().await.unwrap() {
            assert!(page.items.len() * SIZE <= MAX_ANSWER_BYTES, "{} objects at once", page.items.len());
            names.extend(
                page.items.iter().map(|item| item["metadata"]["name"].as_str().unwrap().parse::<usize>().unwrap()),
            );
        }
        assert_eq!(names, (0..40).collect::<Vec<usize>>());
        assert!(log.lines().len() <= 43, "{:?}", log.lines());
    }

    #[test]
    fn the_next_page_follows_the_size_of_the_last() {
        assert_eq!(next_limit(500, 500 * 1024), 500);
        assert_eq!(next_limit(7, 7 * PAGE_BYTES / 10), 10);
        assert_eq!(next_limit(1, MAX_ANSWER_BYTES), 1);
        assert_eq!(next_limit(0, 100), 500);
    }
}
