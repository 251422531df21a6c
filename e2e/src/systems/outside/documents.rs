//! An external system with hundreds of resources: JSON documents by path, kept in memory.
//!
//! It serves storms and outages. There a real system would need a port or a process for each resource, and many
//! resources must change at one instant.
//!
//! `GET` returns a document or 404. `PUT` stores one and returns 201 for a new document, else 200. `POST` merges into
//! an existing one, else returns 404. `DELETE` returns 204 or 404.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::{Value, json};

/// The store of documents. Clones share it.
#[derive(Clone, Debug, Default)]
pub struct Documents {
    by_path: Arc<Mutex<BTreeMap<String, Value>>>,
}

impl Documents {
    /// Returns the document at a path such as `/proxies/web`.
    #[must_use]
    pub fn get(&self, path: &str) -> Option<Value> {
        self.lock().get(path).cloned()
    }

    /// Stores a document as a foreign change.
    pub fn put(&self, path: &str, document: Value) {
        self.lock().insert(path.to_owned(), document);
    }

    /// Removes a document as a foreign change.
    pub fn remove(&self, path: &str) {
        self.lock().remove(path);
    }

    /// Returns the number of documents.
    #[must_use]
    pub fn count(&self) -> usize {
        self.lock().len()
    }

    /// Returns the number of documents that satisfy `wanted`.
    #[must_use]
    pub fn count_of(&self, wanted: impl Fn(&Value) -> bool) -> usize {
        self.lock().values().filter(|document| wanted(document)).count()
    }

    /// Changes all documents at one instant. No request sees only some of the changes.
    pub fn change_all(&self, mut change: impl FnMut(&str, &mut Value)) {
        self.lock().iter_mut().for_each(|(path, document)| change(path, document));
    }

    /// Serves a request. Returns status and body.
    pub(super) fn serve(&self, method: &str, path: &str, body: &[u8]) -> (u16, Option<Value>) {
        let mut documents = self.lock();
        let sent = || serde_json::from_slice::<Value>(body).ok();
        match (method, documents.get_mut(path)) {
            ("GET" | "HEAD", Some(document)) => (200, Some(document.clone())),
            ("PUT", before) => {
                let status = if before.is_some() { 200 } else { 201 };
                let Some(document) = sent() else { return (400, None) };
                documents.insert(path.to_owned(), document.clone());
                (status, Some(document))
            }
            ("POST", Some(document)) => {
                let Some(change) = sent() else { return (400, None) };
                json_patch::merge(document, &change);
                (200, Some(document.clone()))
            }
            ("DELETE", Some(_)) => {
                documents.remove(path);
                (204, None)
            }
            ("GET" | "HEAD" | "POST" | "DELETE", None) => (404, Some(json!({"error": "no such document"}))),
            _ => (405, None),
        }
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, Value>> {
        self.by_path.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_are_made_changed_read_and_taken_away() {
        let documents = Documents::default();
        let status = |method: &str, body: &str| documents.serve(method, "/a/1", body.as_bytes()).0;
        assert_eq!(status("GET", ""), 404);
        assert_eq!(status("POST", "{}"), 404);
        assert_eq!(status("PUT", r#"{"x":1,"y":1}"#), 201);
        assert_eq!(status("POST", r#"{"y":2}"#), 200);
        assert_eq!(documents.get("/a/1"), Some(json!({"x": 1, "y": 2})));
        assert_eq!(status("PUT", r#"{"x":3}"#), 200);
        assert_eq!(status("PUT", "no JSON"), 400);
        assert_eq!(documents.get("/a/1"), Some(json!({"x": 3})));
        assert_eq!((status("DELETE", ""), status("DELETE", ""), documents.count()), (204, 404, 0));
    }
}
