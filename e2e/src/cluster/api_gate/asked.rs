//! One request as the gate saw it.

use std::time::Instant;

use axum::http::Method;

/// A request to the API server.
#[derive(Clone, Debug)]
pub struct Asked {
    /// The time at which it came.
    pub at: Instant,
    /// Its method.
    pub method: Method,
    /// Path and query.
    pub uri: String,
}

impl Asked {
    /// A GET: a read, a list or a watch.
    #[must_use]
    pub fn is_read(&self) -> bool {
        self.method == Method::GET
    }

    /// A watch.
    #[must_use]
    pub fn is_watch(&self) -> bool {
        self.has("watch=true")
    }

    /// A list, of which this is a page. The programs ask for pages, and reads of one object have no limit.
    #[must_use]
    pub fn is_list(&self) -> bool {
        self.is_read() && self.uri.contains("limit=")
    }

    /// A page of a list that is not its first.
    #[must_use]
    pub fn is_further_page(&self) -> bool {
        self.is_list() && self.uri.contains("continue=")
    }

    /// Something about a Lease.
    #[must_use]
    pub fn is_of_leases(&self) -> bool {
        self.uri.contains("/leases")
    }

    /// Returns true if the query has this part.
    fn has(&self, part: &str) -> bool {
        self.uri.split(['?', '&']).skip(1).any(|each| each == part)
    }
}
