//! A request as the gate receives it.

use std::time::Instant;

use axum::http::Method;

/// A request to the API server.
#[derive(Clone, Debug)]
pub struct Asked {
    /// Time of its arrival.
    pub at: Instant,
    /// The HTTP method.
    pub method: Method,
    /// Its path and query.
    pub uri: String,
}

impl Asked {
    /// Returns true for a GET: a read, a list or a watch.
    #[must_use]
    pub fn is_read(&self) -> bool {
        self.method == Method::GET
    }

    /// Returns true for a watch request.
    #[must_use]
    pub fn is_watch(&self) -> bool {
        self.has("watch=true")
    }

    /// Returns true for a page of a list. The programs request pages, and reads of one object have no limit.
    #[must_use]
    pub fn is_list(&self) -> bool {
        self.is_read() && self.uri.contains("limit=")
    }

    /// Returns true for a page of a list after the first.
    #[must_use]
    pub fn is_further_page(&self) -> bool {
        self.is_list() && self.uri.contains("continue=")
    }

    /// Returns true for a request about Leases.
    #[must_use]
    pub fn is_of_leases(&self) -> bool {
        self.uri.contains("/leases")
    }

    /// Returns true if the query contains this part.
    fn has(&self, part: &str) -> bool {
        self.uri.split(['?', '&']).skip(1).any(|each| each == part)
    }
}
