//! A collection of the API server, read in pages.
//!
//! Pages bound the memory that a list takes. This file must not know what is listed or why.

use kube::api::ListParams;
use kube::core::Request;
use serde::Deserialize;
use serde_json::Value;

use crate::client;
use crate::client::{CallError, LIST_DEADLINE};

/// Objects in one page of a list: what kubectl and controllers ask for.
const PAGE: u32 = 500;

/// One list, page by page.
pub(crate) struct Pages {
    client: kube::Client,
    request: Request,
    label_selector: Option<String>,
    next: Next,
}

/// Where the list goes on.
enum Next {
    First,
    Token(String),
    Ended,
}

/// One page.
pub(crate) struct Page {
    /// The objects.
    pub(crate) items: Vec<Value>,
    /// The version to watch from, once this was the last page.
    pub(crate) version: String,
}

#[derive(Deserialize)]
struct Answer {
    metadata: Metadata,
    #[serde(default)]
    items: Vec<Value>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Metadata {
    #[serde(default)]
    resource_version: String,
    #[serde(rename = "continue", default)]
    next: Option<String>,
}

impl Pages {
    /// A list of `path`; nothing is asked for yet.
    pub(crate) fn new(client: kube::Client, path: &str, label_selector: Option<String>) -> Self {
        Self { client, request: Request::new(path), label_selector, next: Next::First }
    }

    /// The next page; `None` after the last. After an error the list is to be begun anew.
    pub(crate) async fn next(&mut self) -> Result<Option<Page>, CallError> {
        let continue_token = match std::mem::replace(&mut self.next, Next::Ended) {
            Next::Ended => return Ok(None),
            Next::First => None,
            Next::Token(token) => Some(token),
        };
        let parameters = ListParams {
            label_selector: self.label_selector.clone(),
            limit: Some(PAGE),
            continue_token,
            ..ListParams::default()
        };
        let request = self.request.list(&parameters).map_err(|error| CallError::Transport(error.to_string()))?;
        let answer: Answer = client::request(&self.client, LIST_DEADLINE, request).await?;
        if let Some(token) = answer.metadata.next.filter(|token| !token.is_empty()) {
            self.next = Next::Token(token);
        }
        Ok(Some(Page { items: answer.items, version: answer.metadata.resource_version }))
    }
}
