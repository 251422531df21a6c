//! Requests and responses that a sender records, for a command that shows them to the person who runs it. The programs
//! in the cluster record nothing.

use std::sync::{Arc, Mutex, PoisonError};

use crate::HttpReply;
use drift_language::HttpRequest;

/// One request, and its response if one came.
#[derive(Clone, Debug)]
pub struct RecordedExchange {
    /// The request, without its credential.
    pub request: HttpRequest,
    /// The response. `None` if none came.
    pub reply: Option<HttpReply>,
}

/// The recorded exchanges of a sender, in order. Clones share them.
#[derive(Clone, Debug, Default)]
pub struct RecordedExchanges(Arc<Mutex<Vec<RecordedExchange>>>);

impl RecordedExchanges {
    /// Takes the exchanges since the last call.
    #[must_use]
    pub fn take(&self) -> Vec<RecordedExchange> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub(in crate::http) fn begin(&self, request: &HttpRequest) {
        let exchange = RecordedExchange { request: request.clone(), reply: None };
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(exchange);
    }

    /// Adds the response to the last request. One read has one request at a time.
    pub(in crate::http) fn end(&self, reply: &HttpReply) {
        if let Some(last) = self.0.lock().unwrap_or_else(PoisonError::into_inner).last_mut() {
            last.reply = Some(reply.clone());
        }
    }
}
